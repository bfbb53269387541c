//! What a line of a log names.

/// The resources of AWS that a line names and its meaning does not, as the end of a clause.
pub(super) fn ids(line: &str, means: &str) -> String {
    const KINDS: &[&str] = &[
        "sg-", "subnet-", "vol-", "eni-", "rtb-", "vpc-", "snap-", "ami-",
    ];
    const DIGITS: usize = 8;
    let is_id = |word: &&str| {
        KINDS.iter().any(|kind| {
            let digits = word.strip_prefix(kind);
            digits.is_some_and(|digits| {
                digits.len() >= DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
            })
        })
    };
    let mut found: Vec<&str> = Vec::new();
    for word in line
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
        .filter(is_id)
    {
        if !found.contains(&word) && !means.contains(word) {
            found.push(word);
        }
    }
    match found.is_empty() {
        true => String::new(),
        false => format!(": {}", found.join(", ")),
    }
}
