//! Tokens, alone and in headers.

use super::{LETTERS, Planted, SMALL, letters};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

fn web_token() -> String {
    let part =
        |seed: &str| URL_SAFE_NO_PAD.encode(format!("{{\"{}\":1}}", letters(seed, LETTERS, 40)));
    format!(
        "{}.{}.{}",
        part("head"),
        part("claims"),
        letters("sign", LETTERS, 86)
    )
}

fn bare(name: &str, secret: &str) -> Planted {
    Planted::new(
        format!("{name} alone"),
        secret,
        format!("the server saw {secret} and left"),
    )
}

/// Tokens and keys that only their vendor's form tells.
pub(super) fn forms_of_vendors() -> Vec<Planted> {
    let hex = |seed: &str, length| letters(seed, b"0123456789abcdef", length);
    let product = (0..4)
        .map(|group| letters(&format!("product {group}"), b"K7M2PQ9X", 8))
        .collect::<Vec<_>>()
        .join("-");
    let braintree = format!(
        "access_token$production${}${}",
        hex("merchant", 16),
        hex("gateway", 32)
    );
    let saml = STANDARD.encode(format!(
        "<samlp:Response ID=\"{}\">",
        letters("saml", LETTERS, 40)
    ));
    let snitch = hex("snitch", 10);
    vec![
        bare("a key of a product", &product),
        bare("a token of Braintree", &braintree),
        bare("a response of SAML", &saml),
        Planted::new(
            "an address of a snitch",
            &snitch,
            format!("curl -s https://nosnch.in/{snitch}?m=alive"),
        ),
    ]
}

pub(super) fn tokens() -> Vec<Planted> {
    let jwt = web_token();
    let bootstrap = format!(
        "{}.{}",
        letters("join", SMALL, 6),
        letters("joining", SMALL, 16)
    );
    let github = format!("ghp_{}", letters("github", LETTERS, 36));
    let opaque = letters("opaque", LETTERS, 32);
    let basic = STANDARD.encode(format!("admin:{}", letters("basic", LETTERS, 16)));
    let header = |scheme: &str, secret: &str| {
        let text = format!("> GET / HTTP/1.1\n> Authorization: {scheme}{secret}\n> Accept: */*");
        Planted::new(format!("a header Authorization: {scheme}"), secret, text)
    };
    vec![
        bare("a web token", &jwt),
        bare("a bootstrap token", &bootstrap),
        bare("a token of GitHub", &github),
        header("Bearer ", &opaque),
        header("Basic ", &basic),
        header("Digest username=\"a\", response=", &opaque),
        header("Custom ", &opaque),
        header("", &opaque),
        Planted::new(
            "a header as Go prints it",
            &opaque,
            format!("map[Authorization:[Bearer {opaque}] Accept:[*/*]]"),
        ),
        Planted::new(
            "a header in TOML",
            &basic,
            format!("[host.x.header]\n  authorization = \"Basic {basic}\""),
        ),
        Planted::new(
            "a header in JSON",
            &opaque,
            format!("{{\"headers\":{{\"Authorization\":\"Custom {opaque}\"}}}}"),
        ),
        Planted::new(
            "a cookie",
            &opaque,
            format!("< Set-Cookie: session={opaque}; Path=/\n"),
        ),
        Planted::new(
            "bearer in a sentence",
            &opaque,
            format!("sent bearer {opaque} to it"),
        ),
        Planted::new(
            "basic in a sentence",
            &basic,
            format!("sent Basic {basic} to it"),
        ),
        Planted::new(
            "kubeadm join",
            &bootstrap,
            format!("kubeadm join 10.0.0.1:6443 --token {bootstrap}"),
        ),
    ]
    .into_iter()
    .chain(of_vendors())
    .chain(passwords())
    .collect()
}

/// Tokens that begin as their vendor's do.
fn of_vendors() -> impl Iterator<Item = Planted> {
    let prefixes = [
        ("Slack", "xoxs-"),
        ("Google", "AIzaSy"),
        ("Stripe", "sk_live_"),
        ("PyPI", "pypi-"),
        ("Vault", "hvb."),
        ("GitLab's runners", "glrt-"),
        ("DigitalOcean", "dop_v1_"),
    ];
    prefixes.into_iter().map(|(vendor, prefix)| {
        let secret = format!("{prefix}{}", letters(vendor, LETTERS, 64));
        let text = format!("the server saw {secret} and left");
        Planted::new(format!("a token of {vendor}"), &secret, text)
    })
}

/// Passwords where no name tells of them.
fn passwords() -> impl Iterator<Item = Planted> {
    let password = letters("typed", LETTERS, 20);
    let hash = letters("hashed", LETTERS, 40);
    let texts = [
        (
            "of curl",
            &password,
            format!("ran curl -u admin:{password} https://h/x"),
        ),
        (
            "of mysql",
            &password,
            format!("ran mysql -h db -u root -p{password} app"),
        ),
        (
            "of an address",
            &password,
            format!("to app:{password}@db.example:5432 in vain"),
        ),
        (
            "of a driver",
            &password,
            format!("dsn app:{password}@tcp(db:3306)/x is bad"),
        ),
        (
            "hashed",
            &hash,
            format!("root:$6$abcdefgh${hash}:19000:0:99999:7:::"),
        ),
        ("in a variable", &password, format!("DB_PASS={password}")),
        ("in a field", &password, format!("dbPwd: {password}")),
    ];
    texts
        .map(|(name, secret, text)| Planted::new(format!("a password {name}"), secret, text))
        .into_iter()
}
