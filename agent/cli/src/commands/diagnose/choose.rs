//! Which checks are made.

use crate::args::diagnose::DiagnoseArguments;
use quake_diagnose::checks::{Check, all};

/// The checks that were asked for, in the order of the table.
///
/// # Errors
///
/// Says which name is none of a check, an area or a tag.
pub(super) fn choose(arguments: &DiagnoseArguments) -> Result<Vec<Check>, String> {
    for name in arguments.only.iter().chain(&arguments.skip) {
        if !all().iter().any(|check| is_named(check, name)) {
            return Err(format!(
                "there is no check and no area {name:?}; see diagnose --list"
            ));
        }
    }
    for tag in &arguments.tag {
        if !all().iter().any(|check| check.tags.contains(&tag.as_str())) {
            return Err(format!("no check has the tag {tag:?}; see diagnose --list"));
        }
    }
    let of_any = |check: &Check, names: &[String]| names.iter().any(|name| is_named(check, name));
    let chosen = all().iter().filter(|check| {
        (arguments.only.is_empty() || of_any(check, &arguments.only))
            && !of_any(check, &arguments.skip)
            && (arguments.tag.is_empty()
                || arguments
                    .tag
                    .iter()
                    .any(|tag| check.tags.contains(&tag.as_str())))
    });
    Ok(chosen.copied().collect())
}

fn is_named(check: &Check, name: &str) -> bool {
    check.id == name || check.area() == name
}
