//! Secrets that read like words, which chance did not make: each is found by the one rule that is meant for it.

use super::{Planted, letters};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const ALPHABET: &[u8] = b"abcdefghijklmnopqrstuvwxyz";

/// So many small letters.
fn word(seed: &str, count: usize) -> String {
    letters(seed, ALPHABET, count)
}

pub(super) fn words() -> Vec<Planted> {
    let mut all = encoded();
    all.extend(named());
    all.extend(beside_names());
    all.extend(placed());
    all
}

fn encoded() -> Vec<Planted> {
    let body = word("body", 60);
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{body}\n{body}\n-----END PRIVATE KEY-----\n");
    let short = STANDARD.encode(&pem);
    let lines: Vec<&str> = short
        .as_bytes()
        .chunks(48)
        .map(|line| std::str::from_utf8(line).expect("base64 is ASCII"))
        .collect();
    let inner = STANDARD.encode(format!(
        "settings:\n  password: {}\n  port: 1\n",
        word("inner", 40)
    ));
    let user = STANDARD.encode(format!("admin:{}", word("user", 12)));
    vec![
        Planted::new("words in PEM", &body, pem),
        Planted::new(
            "words in PEM in short lines of base64",
            &lines.join(" "),
            format!("content: |\n    {}\nnext: 1\n", lines.join("\n    ")),
        ),
        Planted::new("a setting in base64", &inner, format!("content: {inner}\n")),
        Planted::new("a user in base64", &user, format!("it sent {user} twice")),
    ]
}

fn named() -> Vec<Planted> {
    let short = word("short", 24);
    let key = word("secret key", 40);
    let id = format!("AKIA{}", letters("an id", b"ABCDEFGH234567", 16));
    let metadata = format!("AQAEA{}==", word("metadata", 49));
    let vendor = format!("dop_v1_{}", letters("vendor", b"0123456789abcdef", 64));
    let texts = [
        ("beside an id of AWS", &key, format!("{id},{key}")),
        (
            "of the metadata service",
            &metadata,
            format!("PUT gave {metadata}"),
        ),
        (
            "of a vendor",
            &vendor,
            format!("the server saw {vendor} and left"),
        ),
        (
            "of a Secret",
            &short,
            format!(
                "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\ndata:\n  some: {short}\n---\nkind: ConfigMap\n"
            ),
        ),
        (
            "of a URL's user",
            &short,
            format!("ftp://me:{short}@host/x"),
        ),
        ("that is a hash", &short, format!("me:$6$salt${short}:1")),
        ("of curl", &short, format!("curl -u me:{short} https://h/")),
        (
            "of a cookie",
            &short,
            format!("Set-Cookie: a={short}; Path=/\n"),
        ),
        ("of a bearer", &short, format!("sent bearer {short} to it")),
    ];
    texts.map(planted).into()
}

/// Words with a name beside them, in the forms that programs and manifests use.
fn beside_names() -> Vec<Planted> {
    let short = word("short", 24);
    let small = word("small", 20);
    let docker = format!("Word{}", word("docker", 30));
    let texts = [
        (
            "of a registry",
            &docker,
            format!(".dockerconfigjson: {docker}\n"),
        ),
        (
            "of a kubeconfig",
            &small,
            format!("client-key-data: {small}\n"),
        ),
        ("of a variable", &short, format!("DB_PASSPHRASE={short}")),
        (
            "of a container",
            &short,
            format!("- name: DB_PASSWORD\n  value: {short}\n"),
        ),
        (
            "before its name",
            &short,
            format!("- value: {short}\n  name: DB_PASSWORD\n"),
        ),
        (
            "of a signed URL",
            &short,
            format!("GET https://h/x?sv=1&sig={short}&x=1"),
        ),
    ];
    texts.map(planted).into()
}

fn planted((name, secret, text): (&str, &String, String)) -> Planted {
    let planted = Planted::new(format!("a word {name}"), secret, text);
    match name {
        "of a Secret" => planted.of_lines(),
        _ => planted,
    }
}

/// Words that no name beside them tells of, but what they stand in does.
fn placed() -> impl Iterator<Item = Planted> {
    let short = word("placed", 24);
    let (first, second) = short.split_at(12);
    let code = format!("7{}", &short[..11]);
    let time = "2026-01-01T00:00:00.123456789Z stdout";
    let texts = [
        (
            "a unit",
            format!("[Service]\nEnvironment=\"SETTING={short}\"\nUser=me\n"),
        ),
        (
            "a comparison",
            format!("if (\"{short}\" == password) {{ ok }}"),
        ),
        ("a command", format!("ran redis-cli -h r -a {short} ping")),
        (
            "a continued line",
            format!("run --password \\\n    {short} --next\n"),
        ),
        (
            "an item",
            format!("argc=3 a0=\"app\" a1=\"--password\" a2=\"{short}\""),
        ),
        (
            "a file",
            format!("- path: /etc/app/password\n  owner: root\n  content: {short}\n"),
        ),
        ("an access list", format!("user me on >{short} ~*")),
        (
            "a list of codes",
            format!("two-factor recovery codes: {code}"),
        ),
        ("a tag", format!("<a><password>{short}</password></a>")),
        ("a sentence", format!("the password is \"{short}\" now")),
        ("an entry", format!("machine h login me password {short}\n")),
        (
            "a record in parts",
            format!("{time} P a password={first}\n{time} F {second} b\n"),
        ),
    ];
    texts
        .map(|(place, text)| {
            let name = format!("a word in {place}");
            match place {
                "a record in parts" => {
                    Planted::new(name, &format!("{first} {second}"), text).of_lines()
                }
                "a list of codes" => Planted::new(name, &code, text),
                "a continued line" => Planted::new(name, &short, text).of_lines(),
                _ => Planted::new(name, &short, text),
            }
        })
        .into_iter()
}
