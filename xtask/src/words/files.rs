//! Names of files and of their directories, as modules.

use super::table::FILES;
use std::path::Path;

/// What is wrong with the name of a file.
pub(super) fn finding(path: &str) -> Option<String> {
    let whole = Path::new(path);
    let stem = whole.file_stem()?.to_str()?;
    // A directory is the module's name where the file is not.
    let module = if stem == "mod" {
        whole.parent()?.file_name()?.to_str()?
    } else {
        stem
    };
    let name = FILES.iter().find(|name| name.is(path, module))?;
    Some(format!("{path}: a file {} is now {}", name.old, name.new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_name_of_a_file_or_a_directory_is_found() {
        for path in [
            "agent/x/src/surroundings.rs",
            "agent/x/src/surroundings/mod.rs",
        ] {
            assert!(finding(path).is_some(), "{path}");
        }
        assert_eq!(finding("agent/x/src/environment.rs"), None);
    }
}
