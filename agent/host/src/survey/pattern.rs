//! Paths with stars, and what they stand for in a tree.

use quake_model::pattern::matches;

/// The paths that a pattern stands for; `names` lists a directory. A pattern without a star is its own only path.
pub(super) fn expand(pattern: &str, names: &mut dyn FnMut(&str) -> Vec<String>) -> Vec<String> {
    let mut paths = vec![String::new()];
    for component in pattern.split('/').filter(|component| !component.is_empty()) {
        let mut next = Vec::new();
        for path in &paths {
            if component.contains('*') {
                let directory = if path.is_empty() { "/" } else { path };
                let found = names(directory);
                let fitting = found.iter().filter(|name| matches(component, name));
                next.extend(fitting.map(|name| format!("{path}/{name}")));
            } else {
                next.push(format!("{path}/{component}"));
            }
        }
        paths = next;
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_in_any_component() {
        let mut names = |directory: &str| -> Vec<String> {
            let found: &[&str] = match directory {
                "/mnt" => &["master-vol-1", "other"],
                "/mnt/master-vol-1" => &["var"],
                _ => &[],
            };
            found.iter().map(ToString::to_string).collect()
        };
        let found = expand("/mnt/master-*/*", &mut names);
        assert_eq!(found, ["/mnt/master-vol-1/var"]);
        assert_eq!(expand("/etc/hosts", &mut names), ["/etc/hosts"]);
    }
}
