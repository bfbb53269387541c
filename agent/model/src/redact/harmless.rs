//! Values that are no secret, for all that stands beside them.

/// What no secret is: nothing, the mask, or what switches something on and off.
pub(super) fn is_plain(words: &str) -> bool {
    const SWITCHES: [&str; 22] = [
        "absent", "missing", "empty", "invalid", "true", "false", "null", "none", "nil", "yes",
        "no", "on", "off", "required", "optional", "enabled", "disabled", "~", "{}", "[]", "{",
        "[",
    ];
    let words = words.trim();
    // A backslash at its end goes on with the line.
    let masked = words.strip_suffix('\\').unwrap_or(words).trim_end();
    let said = masked.trim_matches(['<', '>', '[', ']', '(', ')']);
    let withheld = [
        "redacted",
        "hidden",
        "masked",
        "removed",
        "omitted",
        "sensitive",
        "unset",
        "set",
    ];
    masked.bytes().all(|b| b == b'*')
        // `passwd: files systemd`, as in nsswitch.conf
        || said.split([' ', ',']).next() == Some("files")
        || is_complaint(said)
        || said.len() + 2 == masked.len()
            && withheld.iter().any(|word| said.eq_ignore_ascii_case(word))
        || is_size(masked)
        || is_error_code(masked)
        || SWITCHES
            .iter()
            .any(|switch| words.eq_ignore_ascii_case(switch))
}

/// `header missing`: what is said of a secret that is not there.
fn is_complaint(words: &str) -> bool {
    [
        "header missing",
        "header too large",
        "header not",
        "header is",
    ]
    .iter()
    .any(|said| words.starts_with(said))
}

/// `1150 bytes`: how long a value is that is not shown.
fn is_size(words: &str) -> bool {
    words.strip_suffix(" bytes").is_some_and(|number| {
        !number.is_empty() && number.trim().bytes().all(|b| b.is_ascii_digit())
    })
}

/// A word of a language; what is in base64 has other characters among so many.
pub(super) fn is_word(words: &str) -> bool {
    words.len() < 8
        || words.bytes().all(|b| b.is_ascii_lowercase())
        || words.contains(' ')
        || words.contains('/') && words.contains('.')
}

/// `${NAME}`, `$NAME`, `$(command)`, `{{template}}`, `<placeholder>`: what will stand there is elsewhere.
pub(super) fn is_reference(words: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .bytes()
                .all(|b| b.is_ascii_uppercase() || b"_0123456789".contains(&b))
    };
    let braced = words
        .strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'));
    words.starts_with("$(")
        || words.starts_with("{{")
        || braced.is_some_and(is_name)
        || words.strip_prefix('$').is_some_and(is_name)
}

/// A file below a directory that every system has.
pub(super) fn is_path(words: &str) -> bool {
    const FOLDERS: [&str; 11] = [
        "/etc/", "/var/", "/srv/", "/run/", "/opt/", "/usr/", "/home/", "/root/", "/tmp/", "/mnt/",
        "/proc/",
    ];
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b"/._-".contains(&b);
    let is_below =
        |folder: &&str| words.starts_with(*folder) || *words == folder[..folder.len() - 1];
    FOLDERS.iter().any(is_below) && words.bytes().all(is_name)
}

/// Whether it is an error code in the form of AWS, such as `AssumeRoleUnauthorizedAccess`: capitalized words, the last of
/// which says what went wrong.
fn is_error_code(words: &str) -> bool {
    const LAST: [&str; 14] = [
        "Access",
        "Denied",
        "Error",
        "Exception",
        "Exceeded",
        "Expired",
        "Failure",
        "Fault",
        "Found",
        "Mismatch",
        "Operation",
        "Providers",
        "Token",
        "Unavailable",
    ];
    let capitals = words.bytes().filter(u8::is_ascii_uppercase).count();
    let starts = words.bytes().next().is_some_and(|b| b.is_ascii_uppercase());
    starts
        && capitals > 1
        && words.bytes().all(|b| b.is_ascii_alphabetic())
        && LAST.iter().any(|last| words.ends_with(last))
}
