//! Paths with stars, and what they stand for in a tree.

/// Whether a name fits a pattern in which `*` stands for any part.
pub(super) fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(first) = parts.next() else {
        return false;
    };
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// The paths that a pattern stands for; `names` lists a directory. A pattern without a star is its own only path.
pub(super) fn expand(pattern: &str, names: &mut dyn FnMut(&str) -> Vec<String>) -> Vec<String> {
    let mut paths = vec![String::new()];
    for component in pattern.split('/').filter(|component| !component.is_empty()) {
        let mut next = Vec::new();
        for path in &paths {
            if component.contains('*') {
                let directory = if path.is_empty() { "/" } else { path };
                let found = names(directory);
                let fitting = found.iter().filter(|name| fits(component, name));
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
    fn a_star_stands_for_any_part_of_a_name() {
        let table = [
            ("*", "", true),
            ("*", "a.conf", true),
            ("*.conf", "a.conf", true),
            ("*.conf", "a.conflist", false),
            ("10-*.conf*", "10-x.conflist", true),
            ("10-*.conf*", "11-x.conf", false),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "ac", false),
            ("same", "same", true),
            ("same", "same2", false),
        ];
        for (pattern, name, wanted) in table {
            assert_eq!(fits(pattern, name), wanted, "{pattern} {name}");
        }
    }

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
