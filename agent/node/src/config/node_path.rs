//! Texts of a configuration that become paths of the node. What is not sound is told at its place, before any
//! plan is made of it.

/// What a path is of, and what else may stand in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathKind {
    /// A file, a socket or a device.
    File,
    /// A directory; kops itself writes some with a slash at the end.
    Directory,
    /// A file, or nothing: kubelet takes an empty `resolvConf` for none.
    FileOrEmpty,
    /// A file, or `-`: the API server's log may go to standard output.
    FileOrDash,
}

impl PathKind {
    /// What should stand in the place of a text that is not of this kind.
    pub(crate) fn expected(self) -> &'static str {
        match self {
            Self::File => "the absolute path of a file, such as /etc/app/file",
            Self::Directory => "the absolute path of a directory, such as /etc/app",
            Self::FileOrEmpty => "the absolute path of a file, or empty",
            Self::FileOrDash => "the absolute path of a file, or -",
        }
    }

    /// Whether the text is of this kind: absolute, below `/`, every part a name, and on one line.
    pub(crate) fn admits(self, text: &str) -> bool {
        let text = match self {
            Self::FileOrEmpty if text.is_empty() => return true,
            Self::FileOrDash if text == "-" => return true,
            Self::Directory => text.strip_suffix('/').unwrap_or(text),
            Self::File | Self::FileOrEmpty | Self::FileOrDash => text,
        };
        text.strip_prefix('/')
            .is_some_and(|parts| parts.split('/').all(is_name))
    }
}

/// Whether a text has only the letters of names that become parts of paths and of DNS names.
pub(crate) fn has_plain_letters(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// Whether a text can be one part of a path.
pub(crate) fn is_name(text: &str) -> bool {
    !matches!(text, "" | "." | "..") && !text.contains('/') && !text.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What no kind of path admits.
    const BAD: [&str; 14] = [
        "relative", "./here", "../up", "/", "//", "/a/../b", "/a/.", "/..", "//a", "/a//b",
        "/a\0b", "/a\nb", "/a\tb", " /a",
    ];

    #[test]
    fn every_kind_refuses_what_leads_elsewhere_or_nowhere() {
        use PathKind::{Directory, File, FileOrDash, FileOrEmpty};
        for kind in [File, Directory, FileOrEmpty, FileOrDash] {
            for text in BAD {
                assert!(!kind.admits(text), "{kind:?} {text:?}");
            }
            for text in ["/a", "/a/b.c", "/etc/my dir/..x", "/a/...", "/é"] {
                assert!(kind.admits(text), "{kind:?} {text:?}");
            }
        }
    }

    #[test]
    fn each_kind_admits_its_own_exceptions_alone() {
        for (kind, admitted) in [
            (PathKind::File, [false, false, false]),
            (PathKind::Directory, [false, false, true]),
            (PathKind::FileOrEmpty, [true, false, false]),
            (PathKind::FileOrDash, [false, true, false]),
        ] {
            assert_eq!(["", "-", "/a/"].map(|text| kind.admits(text)), admitted);
        }
        assert!(!PathKind::Directory.admits("/a//"));
    }
}
