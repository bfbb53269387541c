//! What an apply makes of an object: the given fields over it, without those that nobody asks for any longer.

use super::path::{FieldSet, Part, Path};
use super::shape::{Shape, keys_of, shape};
use crate::kinds::Kind;
use serde_json::Value;

/// `given` over `live`.
pub(crate) fn merge(kind: &Kind, names: &[&str], live: &Value, given: &Value) -> Value {
    match (shape(kind, names, given), live, given) {
        (Shape::Map, Value::Object(live), Value::Object(given)) => {
            let mut merged = live.clone();
            for (name, value) in given {
                let deeper: Vec<&str> = names.iter().copied().chain([name.as_str()]).collect();
                let under = merged.entry(name.clone()).or_insert(Value::Null);
                *under = merge(kind, &deeper, under, value);
            }
            Value::Object(merged)
        }
        (Shape::Keyed(keys), Value::Array(live), Value::Array(given)) => {
            let mut merged = live.clone();
            for item in given {
                let wanted = keys_of(item, keys);
                let found = merged
                    .iter_mut()
                    .find(|other| wanted.is_some() && keys_of(other, keys) == wanted);
                match found {
                    Some(found) => *found = merge(kind, names, found, item),
                    None => merged.push(item.clone()),
                }
            }
            Value::Array(merged)
        }
        (Shape::Set, Value::Array(live), Value::Array(given)) => {
            let mut merged = live.clone();
            merged.extend(given.iter().filter(|item| !live.contains(item)).cloned());
            Value::Array(merged)
        }
        _ => given.clone(),
    }
}

/// Removes the fields of `former` that no one holds: those of `held` are held. What is left without a held field below it
/// goes whole, with what the server itself had put there.
pub(crate) fn prune(kind: &Kind, object: &mut Value, former: &FieldSet, held: &FieldSet) {
    for path in former.difference(held) {
        let is_held = |prefix: &[Part]| {
            let mut from = held.range(prefix.to_vec()..);
            from.next().is_some_and(|next| next.starts_with(prefix))
        };
        let mut prefixes = (1..=path.len()).map(|length| &path[..length]);
        if let Some(free) = prefixes.find(|prefix| !is_held(prefix)) {
            remove(kind, object, &free.to_vec(), &mut Vec::new());
        }
    }
}

/// Removes what is at a path; whether anything of a list was left is not looked at.
fn remove<'p>(kind: &Kind, at: &mut Value, path: &'p Path, names: &mut Vec<&'p str>) {
    let Some((first, rest)) = path.split_first() else {
        return;
    };
    let rest = rest.to_vec();
    match (first, at) {
        (Part::Field(name), Value::Object(map)) => {
            if rest.is_empty() {
                map.shift_remove(name);
            } else if let Some(below) = map.get_mut(name) {
                names.push(name);
                let names: Vec<&str> = names.clone();
                remove_below(kind, below, &rest, &names);
            }
        }
        (part, at) => remove_item(kind, at, part, &rest, names),
    }
}

fn remove_below(kind: &Kind, at: &mut Value, path: &Path, names: &[&str]) {
    let mut names: Vec<&str> = names.to_vec();
    remove(kind, at, path, &mut names);
}

fn remove_item(kind: &Kind, at: &mut Value, part: &Part, rest: &Path, names: &[&str]) {
    let keys = match shape(kind, names, at) {
        Shape::Keyed(keys) => keys,
        _ => &[],
    };
    let Value::Array(items) = at else {
        return;
    };
    let is_it = |item: &Value| match part {
        Part::Value(value) => serde_json::from_str(value).is_ok_and(|value: Value| value == *item),
        Part::Key(_) => keys_of(item, keys).is_some_and(|found| Part::key(&found) == *part),
        Part::Field(_) => false,
    };
    if rest.is_empty() {
        items.retain(|item| !is_it(item));
        return;
    }
    for item in items.iter_mut().filter(|item| is_it(item)) {
        remove_below(kind, item, rest, names);
    }
}
