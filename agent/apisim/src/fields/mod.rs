//! Who holds which field: the paths of an object's fields, how lists are told apart, and what apply does with both
//! (kubernetes-sigs/structured-merge-diff, v6).

mod apply;
mod managers;
mod path;
mod shape;

pub(crate) use apply::{merge, prune};
pub(crate) use managers::{Compared, Holder, Managers, Operation, given};
pub(crate) use path::{Path, is_below};
pub(crate) use shape::{Shape, keys_of, merge_keys, shape};
