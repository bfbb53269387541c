//! Makes user data: the script that delivers the agent, with the documents that the agent reads in it, in each form
//! that cloud-init takes. Compressing it is left to who sends it.

use super::document_named;
use quake_model::digest::{Algorithm, Digest};
use quake_model::redact::scrub;
use std::fmt::Write as _;

/// The script, with empty settings. It is code for the POSIX shell and passes shellcheck as it is.
pub const SCRIPT: &str = include_str!("../../../../cloud-init/deliver.sh");

/// The settings end with this line of [`SCRIPT`], and the documents follow it.
const LAST_SETTING: &str = "console=/dev/console\n";
/// Where a cloud-config puts the script: a place that is kept, for who wants to run it by hand.
const SCRIPT_PATH: &str = "/var/lib/quake-agent/deliver.sh";
/// What separates the parts of a message.
const BOUNDARY: &str = "==quake-agent==";
/// What stands for the architecture in a URL.
const ARCH: &str = "{arch}";

/// A form of user data that cloud-init takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Script,
    /// A MIME message with the script as its one part; other parts can be added.
    Mime,
    /// A cloud-config that writes the script and runs it.
    CloudConfig,
}

/// What the user data is to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Where the binary is, in the order they are tried: `s3://BUCKET/KEY` or a URL; `{arch}` stands for `amd64` or `arm64`.
    pub urls: Vec<String>,
    /// The SHA-256 of the binary for x86-64.
    pub amd64: Option<Digest>,
    /// The SHA-256 of the binary for 64-bit ARM.
    pub arm64: Option<Digest>,
    /// The region of the bucket; the instance's own where it is not given.
    pub region: Option<String>,
    /// The documents that the agent reads, by their names: `kube_env.yaml`, and others where they are wanted.
    pub documents: Vec<(String, String)>,
}

/// Renders user data.
///
/// # Errors
///
/// What could not be delivered, in words: no URL or digest, a URL with what the script's quoting could not hold or with a
/// password, digests of two binaries under one URL.
pub fn render(delivery: &Delivery, form: Form) -> Result<String, String> {
    let script = script(delivery)?;
    Ok(match form {
        Form::Script => script,
        Form::Mime => message(&script),
        Form::CloudConfig => cloud_config(&script),
    })
}

fn script(delivery: &Delivery) -> Result<String, String> {
    if delivery.urls.is_empty() {
        return Err("nothing says where the binary is: name at least one URL".to_owned());
    }
    for url in &delivery.urls {
        check_url(url, delivery)?;
    }
    if let Some(region) = &delivery.region {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if region.is_empty() || !region.chars().all(plain) {
            return Err(format!("{region:?} is not the name of a region"));
        }
    }
    let (amd64, arm64) = (hex(&delivery.amd64)?, hex(&delivery.arm64)?);
    if amd64.is_empty() && arm64.is_empty() {
        return Err("nothing says which binary is the right one: name its SHA-256".to_owned());
    }
    let settings = [
        ("urls", delivery.urls.join(" ")),
        ("amd64", amd64.to_owned()),
        ("arm64", arm64.to_owned()),
        ("region", delivery.region.clone().unwrap_or_default()),
    ];
    let mut script = SCRIPT.to_owned();
    for (name, value) in settings {
        script = script.replacen(
            &format!("\n{name}=''\n"),
            &format!("\n{name}='{value}'\n"),
            1,
        );
    }
    let mut documents = String::new();
    for (name, text) in &delivery.documents {
        documents.push_str(&here_document(name, text)?);
    }
    Ok(script.replacen(LAST_SETTING, &format!("{LAST_SETTING}{documents}"), 1))
}

fn hex(digest: &Option<Digest>) -> Result<&str, String> {
    let Some(digest) = digest else {
        return Ok("");
    };
    match digest.algorithm() {
        Algorithm::Sha256 => Ok(digest.hex()),
        other => Err(format!(
            "the binary is pinned by SHA-256, and {} was given",
            other.name()
        )),
    }
}

fn check_url(url: &str, delivery: &Delivery) -> Result<(), String> {
    let refused = |reason| Err(format!("{} {reason}", scrub(url)));
    let Some((scheme, rest)) = url.split_once("://") else {
        return refused("is not a URL: s3://BUCKET/KEY or https://HOST/PATH");
    };
    if !matches!(scheme, "s3" | "https" | "http") {
        return refused("is neither s3:// nor https://");
    }
    // What the shell or curl's options could read as something else. The list is split at blanks and not quoted.
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._~:/?@!&(),;=+%{}".contains(c);
    let names = url.replace(ARCH, "");
    if !names.chars().all(plain) || names.contains(['{', '}']) {
        return refused("has a character that must be percent-encoded");
    }
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    if host.contains('@') {
        return refused("has a user name: everyone on the instance can read user data");
    }
    let path = rest.split_once('/').map_or("", |(_, path)| path);
    if host.is_empty() || path.is_empty() {
        return refused("names no file");
    }
    if scheme == "s3" && url.contains('?') {
        return refused("has a query, which an object of S3 has not");
    }
    let two = delivery.amd64.is_some() && delivery.arm64.is_some();
    if two && delivery.amd64 != delivery.arm64 && !url.contains(ARCH) {
        return refused(
            "is one file, and two digests are given: put {arch} where amd64 or arm64 belongs",
        );
    }
    Ok(())
}

/// A document as the script carries it: for the agent to read, while the shell does nothing with it.
fn here_document(name: &str, text: &str) -> Result<String, String> {
    let refused = |reason| Err(format!("{name} cannot be carried in user data: {reason}"));
    if document_named(name) != Some(name) {
        return refused("the agent looks for kube_env.yaml, cluster_spec.yaml and ig_spec.yaml");
    }
    // A cloud-config can hold no others (YAML 1.2, section 5.1), and no shell keeps a NUL.
    if text
        .chars()
        .any(|c| c.is_control() && !matches!(c, '\n' | '\t'))
    {
        return refused("it has control characters");
    }
    let stem = name.trim_end_matches(".yaml").to_ascii_uppercase();
    let mut marker = format!("__EOF_{stem}");
    while text.lines().any(|line| line == marker) {
        marker.push('_');
    }
    let end = if text.ends_with('\n') { "" } else { "\n" };
    Ok(format!(": {name} <<'{marker}'\n{text}{end}{marker}\n"))
}

/// RFC 2046, as much of it as cloud-init needs.
fn message(script: &str) -> String {
    let encoding = if script.is_ascii() { "7bit" } else { "8bit" };
    format!(
        "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"{BOUNDARY}\"\n\n\
         --{BOUNDARY}\nContent-Type: text/x-shellscript; charset=\"utf-8\"\n\
         Content-Transfer-Encoding: {encoding}\n\
         Content-Disposition: attachment; filename=\"quake-agent.sh\"\n\n\
         {script}\n--{BOUNDARY}--\n"
    )
}

fn cloud_config(script: &str) -> String {
    let mut text = format!(
        "#cloud-config\nwrite_files:\n- path: {SCRIPT_PATH}\n  permissions: '0700'\n  content: |\n"
    );
    for line in script.lines() {
        let _ = match line {
            "" => writeln!(text),
            line => writeln!(text, "    {line}"),
        };
    }
    let _ = write!(text, "runcmd:\n- [sh, {SCRIPT_PATH}]\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sha256(digit: &str) -> Option<Digest> {
        Some(Digest::new(Algorithm::Sha256, &digit.repeat(64)).expect("64 digits"))
    }

    fn delivery(url: &str) -> Delivery {
        Delivery {
            urls: vec![url.to_owned()],
            amd64: sha256("a"),
            arm64: None,
            region: None,
            documents: vec![(
                "kube_env.yaml".to_owned(),
                "ConfigBase: s3://b/c\n".to_owned(),
            )],
        }
    }

    #[test]
    fn the_script_has_every_setting_and_the_documents_before_its_code() {
        let mut delivery = delivery("s3://b/quake-agent-{arch}");
        delivery.arm64 = sha256("b");
        delivery.region = Some("eu-west-1".to_owned());
        let script = render(&delivery, Form::Script).expect("a good delivery");
        let (settings, code) = script.split_once("__EOF_KUBE_ENV\n\n").expect("documents");
        for part in [
            "\nurls='s3://b/quake-agent-{arch}'\n",
            &format!("\namd64='{}'\n", "a".repeat(64)),
            &format!("\narm64='{}'\n", "b".repeat(64)),
            "\nregion='eu-west-1'\n",
            "\n: kube_env.yaml <<'__EOF_KUBE_ENV'\nConfigBase: s3://b/c\n",
        ] {
            assert!(settings.contains(part), "{part} in {settings}");
        }
        assert!(code.ends_with("\ndeliver\n"), "{code}");
    }

    #[test]
    fn the_script_leaves_twelve_kibibytes_for_the_documents() {
        assert!(SCRIPT.len() < 4096, "{} bytes", SCRIPT.len());
    }

    #[test]
    fn a_url_that_a_shell_could_misread_or_that_names_a_secret_is_refused() {
        for url in [
            "quake-agent",
            "ftp://h/x",
            "https://h/a b",
            "https://h/'x",
            "https://h/$(reboot)",
            "https://h/\"x",
            "https://h/\\x",
            "https://h/*",
            "https://h/{os}",
            "https://user:secret@h/x",
            "https://h",
            "s3://b/",
            "s3://b/k?versionId=1",
        ] {
            let error = render(&delivery(url), Form::Script).expect_err(url);
            assert!(error.starts_with(&scrub(url)), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn two_binaries_are_not_expected_under_one_url() {
        let mut two = delivery("https://h/x");
        two.arm64 = sha256("b");
        assert!(render(&two, Form::Script).is_err());
        two.urls = vec!["https://h/{arch}/x".to_owned()];
        assert!(render(&two, Form::Script).is_ok());
        two.urls = vec!["https://h/x".to_owned()];
        two.arm64 = sha256("a");
        assert!(render(&two, Form::Script).is_ok());
    }

    #[test]
    fn what_is_missing_is_named() {
        let mut empty = delivery("https://h/x");
        empty.amd64 = None;
        let refused =
            |delivery: &Delivery| render(delivery, Form::Script).expect_err("something is missing");
        let no_digest = "nothing says which binary is the right one: name its SHA-256";
        assert_eq!(refused(&empty), no_digest);
        empty.urls.clear();
        let no_url = "nothing says where the binary is: name at least one URL";
        assert_eq!(refused(&empty), no_url);
        let mut sha1 = delivery("https://h/x");
        sha1.amd64 = Digest::new(Algorithm::Sha1, &"a".repeat(40)).ok();
        let no_sha256 = "the binary is pinned by SHA-256, and sha1 was given";
        assert_eq!(refused(&sha1), no_sha256);
        let mut region = delivery("https://h/x");
        region.region = Some("eu'west".to_owned());
        let no_region = "\"eu'west\" is not the name of a region";
        assert_eq!(refused(&region), no_region);
    }

    #[test]
    fn a_document_that_holds_the_marker_gets_another() {
        let text = "a: |\n__EOF_KUBE_ENV\n";
        let here = here_document("kube_env.yaml", text).expect("a document");
        assert!(
            here.ends_with("\n__EOF_KUBE_ENV\n__EOF_KUBE_ENV_\n"),
            "{here}"
        );
        assert!(here_document("other.yaml", "").is_err());
        assert!(here_document("kube_env.yaml", "a\u{7}").is_err());
    }
}
