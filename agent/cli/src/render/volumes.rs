//! Volumes and the choice among them, as an operator and as a program reads them.

mod change;
mod explanation;
mod list;

pub(crate) use change::{Shown, change_json, change_text};
pub(crate) use explanation::{explanation_json, explanation_text};
pub(crate) use list::{list_json, list_text};
