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

/// What a line means and what to do, with the call that AWS refuses in it, and to which role, where neither has it:
/// `User: arn:aws:sts::1:assumed-role/ROLE/i-0 is not authorized to perform: ec2:DescribeVpcs because …`.
pub(super) fn refused(line: &str, means: String, fix: String) -> (String, String) {
    const REFUSAL: &str = " is not authorized to perform: ";
    let Some((who, rest)) = line.split_once(REFUSAL) else {
        return (means, fix);
    };
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == ':' || c == '-';
    let action = rest.split(|c| !is_part(c)).next().unwrap_or_default();
    if !action.contains(':') || means.contains(action) || fix.contains(action) {
        return (means, fix);
    }
    let role = who.rsplit_once("assumed-role/").map(|(_, rest)| rest);
    let role = role.and_then(|rest| rest.split('/').next());
    let who = match role {
        Some(role) => format!("the role {role}"),
        None => who.rsplit(' ').next().unwrap_or_default().to_owned(),
    };
    // A policy that denies wins over all that allow.
    if rest.contains("explicit deny") {
        return (
            format!("{means}: a policy denies {action} to {who}"),
            format!("take the denial of {action} out of the policy that the line names; {fix}"),
        );
    }
    (
        format!("{means}: {who} may not {action}"),
        format!(
            "allow {action} to {who} (additionalPolicies of its instance groups in kops edit cluster, or the policy of a role of your own); {fix}"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::refused;

    #[test]
    fn a_call_that_aws_refuses_is_named_with_its_role() {
        let line = "UnauthorizedOperation: User: arn:aws:sts::1:assumed-role/masters.c/i-0 is not authorized to perform: ec2:DescribeVpcs because no identity-based policy allows it";
        let named = |line: &str, means: &str| refused(line, means.to_owned(), "look".to_owned());
        let (means, fix) = named(line, "it fails");
        assert_eq!(
            means,
            "it fails: the role masters.c may not ec2:DescribeVpcs"
        );
        assert!(
            fix.starts_with("allow ec2:DescribeVpcs to the role masters.c"),
            "{fix}"
        );
        let same = "ec2:DescribeVpcs is denied";
        assert_eq!(named(line, same), (same.to_owned(), "look".to_owned()));
        assert_eq!(named("denied", "it fails").0, "it fails");
    }
}
