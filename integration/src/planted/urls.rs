//! URLs that are signed, and URLs that name a user.

use super::{CAPITALS, LETTERS, Planted, hex, letters};

pub(super) fn urls() -> Vec<Planted> {
    let mut all = signed();
    all.extend(with_users());
    all
}

/// A URL as it stands in the query of another.
fn within(url: &str) -> String {
    let signs = [
        ("%", "%25"),
        (":", "%3A"),
        ("/", "%2F"),
        ("?", "%3F"),
        ("=", "%3D"),
        ("&", "%26"),
        ("@", "%40"),
    ];
    signs
        .iter()
        .fold(url.to_owned(), |url, (sign, code)| url.replace(sign, code))
}

fn signed() -> Vec<Planted> {
    let signature = hex("url");
    let id = format!("AKIA{}", letters("u", CAPITALS, 16));
    let token = letters("url token", LETTERS, 200);
    let bucket = "https://bucket.s3.amazonaws.com/key";
    let today = format!(
        "{bucket}?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={id}%2F20260101%2Feu-west-1%2Fs3%2Faws4_request&X-Amz-Security-Token={token}&X-Amz-Signature={signature}"
    );
    let of_old = format!("{bucket}?AWSAccessKeyId={id}&Expires=1&Signature={signature}");
    let azure = format!("https://account.blob.core.windows.net/c/b?sv=2020&sig={signature}&sp=r");
    let small = (token.to_lowercase(), today.to_lowercase());
    let mut all = forms("signature, signed", &signature, &today);
    all.extend(forms("session, signed", &token, &today));
    all.extend(forms(
        "signature, signed in lower case",
        &signature,
        &small.1,
    ));
    all.extend(forms("session, signed in lower case", &small.0, &small.1));
    all.extend(forms("signature, signed as of old", &signature, &of_old));
    all.extend(forms("signature, signed by Azure", &signature, &azure));
    all
}

fn forms(name: &str, secret: &str, url: &str) -> Vec<Planted> {
    [
        ("a URL", format!("GET {url} gave 403")),
        (
            "a URL in JSON",
            format!("{{\"url\":\"{}\"}}", url.replace('&', "\\u0026")),
        ),
        (
            "a URL in XML",
            format!("<Url>{}</Url>", url.replace('&', "&amp;")),
        ),
        (
            "a URL within a URL",
            format!("https://proxy/get?url={}&a=1", within(url)),
        ),
    ]
    .into_iter()
    .map(|(form, text)| Planted::new(format!("{name}: {form}"), secret, text))
    .collect()
}

fn with_users() -> Vec<Planted> {
    let password = letters("url password", LETTERS, 16);
    let user = letters("url user", LETTERS, 30);
    let slashed = format!("{password}/{user}@{password}");
    let urls = [
        (
            "password",
            &password,
            format!("https://admin:{password}@mirror.example.com/kubelet"),
        ),
        (
            "password of a proxy",
            &password,
            format!("http://admin:{password}@10.0.0.1:3128"),
        ),
        (
            "password of a database",
            &password,
            format!("postgres://admin:{password}@db/x"),
        ),
        (
            "token as a user",
            &user,
            format!("https://{user}@git.example.com/repository.git"),
        ),
        (
            "password with a slash",
            &slashed,
            format!("https://admin:{slashed}@mirror.example.com/x"),
        ),
    ];
    urls.into_iter()
        .flat_map(|(name, secret, url)| {
            let texts = [
                format!("fetch \"{url}\" failed"),
                format!("sha@https://a/b,{url},https://c/d"),
                format!("http://x/?to={}", within(&url)),
            ];
            texts.map(|text| Planted::new(format!("{name} in {text:.12}"), secret, text))
        })
        .collect()
}
