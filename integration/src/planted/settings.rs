//! Secrets beside a name: every name in every way to write a setting.

use super::{LETTERS, Planted, letters};

/// How settings are written: `KEY` and `VALUE` stand for both.
const SYNTAXES: &[(&str, &str)] = &[
    ("environment", "KEY=VALUE"),
    ("shell", "export KEY='VALUE'"),
    (
        "shell, one of many",
        "PATH=/bin KEY=VALUE exec program --flag",
    ),
    ("unit", "Environment=\"KEY=VALUE\""),
    ("ini", "[default]\nKEY = VALUE\nregion = eu-west-1"),
    ("toml", "  KEY = \"VALUE\""),
    ("json", "{\"a\":1,\"KEY\":\"VALUE\",\"b\":2}"),
    ("spaced json", "{\n  \"KEY\" : \"VALUE\",\n  \"b\" : 2\n}"),
    ("yaml", "a: 1\nKEY: VALUE\nb: 2"),
    ("yaml in a list", "- a: 1\n- KEY: VALUE\n  b: 2"),
    ("quoted yaml", "a: 1\nKEY: \"VALUE\"\nb: 2"),
    ("yaml in single quotes", "a: 1\nKEY:   'VALUE'\nb: 2"),
    ("flow yaml", "{KEY: VALUE, b: 2}"),
    ("block yaml", "a: 1\nKEY: |-\n    VALUE\nb: 2"),
    ("folded yaml", "- KEY: >\n    VALUE\n  b: 2"),
    ("yaml on the next line", "KEY:\n  VALUE\nb: 2"),
    ("flag", "program --KEY=VALUE --other"),
    ("flag and word", "program --KEY VALUE --other"),
    ("go", "&{A:1 KEY:VALUE B:2}"),
    ("rust", "Settings { a: 1, KEY: Some(\"VALUE\") }"),
    ("sentence", "the server was given KEY=VALUE, and refused"),
    ("query", "GET /path?a=1&KEY=VALUE&b=2 HTTP/1.1"),
];

pub(super) fn settings() -> Vec<Planted> {
    const NAMES: &[&str] = &[
        "AWS_SECRET_ACCESS_KEY",
        "aws_secret_access_key",
        "SecretAccessKey",
        "AWS_SESSION_TOKEN",
        "aws_security_token",
        "SessionToken",
        "password",
        "DB_PASSWORD",
        "passwd",
        "token",
        "githubToken",
        "secret",
        "client-secret",
        "api-key",
        "API_KEY",
        "private_key",
        "identitytoken",
        "client-key-data",
        "X-aws-ec2-metadata-token",
    ];
    let each = NAMES.iter().flat_map(|name| {
        SYNTAXES.iter().map(move |(syntax, text)| {
            let secret = letters(&format!("{name} {syntax}"), LETTERS, 40);
            let text = text.replace("KEY", name).replace("VALUE", &secret);
            Planted::new(format!("{name} in {syntax}"), &secret, text)
        })
    });
    each.chain(ugly_passwords()).collect()
}

/// Passwords as people make them, where a reader stops too early.
fn ugly_passwords() -> Vec<Planted> {
    let word = |seed: &str| letters(seed, LETTERS, 12);
    let ugly = format!("{},{};{}&{}", word("1"), word("2"), word("3"), word("4"));
    let phrase = format!("{} {} {}", word("5"), word("6"), word("7"));
    let quote = format!("{}\\\"{}\\\\{}", word("8"), word("9"), word("10"));
    vec![
        Planted::new(
            "a password of signs in YAML",
            &ugly,
            format!("a: 1\npassword: {ugly}\n"),
        ),
        Planted::new(
            "a password of signs in a file",
            &ugly,
            format!("A=1\nPASSWORD={ugly}\n"),
        ),
        Planted::new(
            "a password of signs in JSON",
            &ugly,
            format!("{{\"password\":\"{ugly}\"}}"),
        ),
        Planted::new(
            "a phrase in YAML",
            &phrase,
            format!("user: a\npassword: {phrase}\n"),
        ),
        Planted::new(
            "a phrase in INI",
            &phrase,
            format!("user = a\npassword = {phrase}\n"),
        ),
        Planted::new(
            "a phrase in JSON",
            &phrase,
            format!("{{\"a\":1,\"password\": \"{phrase}\"}}"),
        ),
        Planted::new(
            "a quote in JSON",
            &quote,
            format!("{{\"a\":1,\"password\": \"{quote}\"}}"),
        ),
    ]
}
