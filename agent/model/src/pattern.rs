//! Patterns in which `*` stands for any text, as in ARNs, in names of units and in paths.

/// Whether a text matches a pattern, in which each `*` stands for any characters.
pub fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut middle: Vec<&str> = parts.collect();
    let Some(last) = middle.pop() else {
        return rest.is_empty();
    };
    for part in middle {
        let Some((_, after)) = rest.split_once(part) else {
            return false;
        };
        rest = after;
    }
    rest.ends_with(last)
}

/// The same for paths: a `*` stands for characters without a slash, as in a shell.
pub fn matches_path(pattern: &str, path: &str) -> bool {
    let (mut patterns, mut parts) = (pattern.split('/'), path.split('/'));
    loop {
        match (patterns.next(), parts.next()) {
            (None, None) => return true,
            (Some(pattern), Some(part)) if matches(pattern, part) => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{matches, matches_path};

    #[test]
    fn a_star_stands_for_any_characters_and_nothing_else_does() {
        for (pattern, text, expected) in [
            ("cluster.spec", "cluster.spec", true),
            ("cluster.spec", "cluster.specs", false),
            ("cluster.spec", "clusterxspec", false),
            ("instancegroup/*", "instancegroup/", true),
            ("instancegroup/*", "instancegroup/a/b", true),
            ("etcd/*/control/*", "etcd/main/control/x", true),
            ("etcd/*/control/*", "etcd/main/x", false),
            ("*", "", true),
            ("*.conf", "a.conf", true),
            ("*.conf", "a.conflist", false),
            ("10-*.conf*", "10-x.conflist", true),
            ("10-*.conf*", "11-x.conf", false),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "ac", false),
            ("a*a", "a", false),
            ("/a/*-b.x", "/a/c-d-b.x", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn a_star_in_a_path_ends_at_a_slash() {
        for (pattern, path, expected) in [
            ("/etc/conf.d/*.toml", "/etc/conf.d/a.toml", true),
            ("/etc/conf.d/*.toml", "/etc/conf.d/a/b.toml", false),
            ("/etc/conf.d/*.toml", "/etc/conf.d/a.conf", false),
            ("/mnt/master-*/*", "/mnt/master-vol-1/var", true),
            ("/mnt/master-*/*", "/mnt/master-vol-1", false),
            ("/etc/hosts", "/etc/hosts", true),
            ("/etc/hosts", "/etc/hosts/a", false),
        ] {
            assert_eq!(matches_path(pattern, path), expected, "{pattern} {path}");
        }
    }
}
