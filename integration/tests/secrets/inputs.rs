//! Inputs that carry secrets and are broken, or are answers of others.

use crate::node::Node;
use quake_integration::planted::{Planted, made_up};

/// What is broken, the file it is in, and its text then.
type Break = (&'static str, &'static str, fn(&str) -> String);

const BREAKS: [Break; 15] = [
    ("a file that is no YAML", "cluster.spec", |text| {
        format!("{text}\n  token: [unclosed\n")
    }),
    ("a tab beside a secret", "cluster.spec", |text| {
        text.replace("      password: ", "\tpassword: ")
    }),
    ("a line dedented", "cluster.spec", |text| {
        text.replace("      token = ", "token = ")
    }),
    ("a text for a number", "cluster.spec", |text| {
        text.replace("securePort: 443", "securePort: {password: 1}")
    }),
    ("a token for a number", "cluster.spec", |text| {
        let token = format!(
            "{}.{}.{}",
            "eyJhbGciOiJub25lIn0",
            "e30",
            made_up("number", 40)
        );
        text.replacen("logLevel: 2", &format!("logLevel: {token}"), 1)
    }),
    ("a signed URL for a list", "cluster.spec", |text| {
        let url = format!(
            "https://u:{0}@h/x?X-Amz-Signature={0}",
            made_up("number", 40)
        );
        text.replace(
            "    etcdServers:\n    - http://127.0.0.1:4001\n",
            &format!("    etcdServers: {url}\n"),
        )
    }),
    ("an asset whose URL is none", "kube_env.yaml", |text| {
        text.replace("@127.0.0.1", "@[127.0.0.1")
    }),
    ("a list for a text", "cluster.spec", |text| {
        text.replace("    content: |", "    path: [a]\n    content: |")
    }),
    ("cut in the middle of a secret", "cluster.spec", |text| {
        text[..text.len() - 60].to_owned()
    }),
    ("kube_env that is no YAML", "kube_env.yaml", |text| {
        text.replace("ClusterName:", "ClusterName")
    }),
    ("an asset without a digest", "kube_env.yaml", |text| {
        text.replacen("- ", "- x", 1)
    }),
    (
        "a key set that is no YAML",
        "pki/private/ca/keyset.yaml",
        |text| text.replace("    privateMaterial:", "   privateMaterial:"),
    ),
    (
        "a key that is no base64",
        "pki/private/kubelet/keyset.yaml",
        |text| text.replace("privateMaterial: LS0", "privateMaterial: !*"),
    ),
    ("a secret that is no JSON", "secrets/kubelet", |text| {
        text[..text.len() - 1].to_owned()
    }),
    ("a secret that is no base64", "secrets/kube", |text| {
        text.replace("\"Data\":\"", "\"Data\":\"!")
    }),
];

/// Nodes each of which has one input broken, around or beside its secrets.
pub(crate) fn broken() -> Vec<(&'static str, Node)> {
    BREAKS
        .iter()
        .map(|(name, path, broken)| {
            let mut node = Node::whole();
            let number = made_up("number", 40);
            node.planted
                .push(Planted::new("what stands in the wrong place", &number, ""));
            let file = node.store().join(path);
            let text = std::fs::read_to_string(&file).expect("the store has it");
            assert_ne!(broken(&text), text, "{name} breaks nothing");
            std::fs::write(&file, broken(&text)).expect("the directory is ours");
            (*name, node)
        })
        .collect()
}

/// What S3 says when a signature is wrong: everything that it signed.
pub(crate) fn body_of_an_error() -> Planted {
    let secret = made_up("an error's body", 40);
    let text = format!(
        "<Error><Code>SignatureDoesNotMatch</Code><AWSAccessKeyId>AKIA0000000000000000</AWSAccessKeyId><StringToSign>GET /x?X-Amz-Security-Token={secret}</StringToSign><Token>{secret}</Token>token={secret} https://u:{secret}@h/</Error>"
    );
    Planted::new("the body of an error", &secret, text)
}

/// Places that a mirror may send us to, which do not answer.
pub(crate) fn signed_places() -> Vec<String> {
    let secret = made_up("an error's body", 40);
    vec![
        format!("http://127.0.0.1:1/x?X-Amz-Signature={secret}"),
        format!("http://user:{secret}@127.0.0.1:1/x"),
        format!("http://127.0.0.1:1/{secret}/../x?sig={secret}"),
        format!("ftp://user:{secret}@127.0.0.1/x"),
        format!("http://[{secret}"),
    ]
}

/// Variables of the environment, each with a value that is unlike what it should be.
pub(crate) fn unlike() -> Vec<(&'static str, Planted)> {
    let secret = made_up("the environment", 40);
    let planted = |text: String| Planted::new("a variable", &secret, text);
    vec![
        (
            "HTTPS_PROXY",
            planted(format!("http://user:{secret}@:bad:")),
        ),
        (
            "HTTP_PROXY",
            planted(format!("socks5://user:{secret}@127.0.0.1:1")),
        ),
        ("AWS_CA_BUNDLE", planted(format!("/nowhere?token={secret}"))),
        (
            "AWS_ENDPOINT_URL",
            planted(format!("http://user:{secret}@127.0.0.1:1")),
        ),
        ("AWS_SECRET_ACCESS_KEY", planted(secret.clone())),
        ("AWS_SESSION_TOKEN", planted(secret.clone())),
        ("GITHUB_TOKEN", planted(secret.clone())),
    ]
}
