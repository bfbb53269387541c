//! What is masked, what stays, and what is counted.

use super::*;

#[test]
fn credentials_in_urls_are_masked() {
    let url = "https://user:pa55@host/x?X-Amz-Signature=abc&X-Amz-Credential=AKIA1/x&part=1";
    let scrubbed = "https://***@host/x?X-Amz-Signature=***&X-Amz-Credential=***&part=1";
    assert_eq!(scrub(url), scrubbed);
}

#[test]
fn private_keys_are_masked_and_certificates_are_not() {
    let text = "a -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb";
    assert_eq!(scrub(text), "a ***\nb");
    let certificate = "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----";
    assert_eq!(scrub(certificate), certificate);
}

#[test]
fn key_ids_and_tokens_are_masked() {
    let text = "key ASIAQWERTYUIOPASDFGH, Authorization: Bearer abc.def.ghi, --token=t0k3n x";
    let scrubbed = "key ASIA***, Authorization: Bearer ***, --token=*** x";
    assert_eq!(scrub(text), scrubbed);
}

#[test]
fn what_is_masked_is_counted_by_the_rule_that_found_it() {
    let (_, counts) = scrub_counted("with password=a1 secret=b2 https://u:p@h/");
    let counts: Vec<_> = counts.by_rule().collect();
    assert_eq!(
        counts,
        [("kubeconfig", 1), ("secret-setting", 1), ("url-user", 1)]
    );
}

#[test]
fn only_the_value_is_masked_and_what_stands_around_it_stays() {
    for (text, scrubbed) in [
        (
            "{\"password\": \"a b\", \"c\": 1}",
            "{\"password\": \"***\", \"c\": 1}",
        ),
        (
            "a: 1\npassword: x y # why\nb: 2",
            "a: 1\npassword: *** # why\nb: 2",
        ),
        ("- token: |\n    x\n    y\n  b: 2", "- token: ***\n  b: 2"),
        ("(given token=x1, then b)", "(given token=***, then b)"),
        ("run --token x1 --b 2", "run --token *** --b 2"),
        (
            "- name: A_TOKEN\n  value: x1\n- name: B",
            "- name: A_TOKEN\n  value: ***\n- name: B",
        ),
        (
            "Authorization: AWS4-HMAC-SHA256 Credential=x, Signature=y\nB: c",
            "Authorization: AWS4-HMAC-SHA256 ***\nB: c",
        ),
    ] {
        assert_eq!(scrub(text), scrubbed);
    }
}

/// What looks a little like a secret and is none.
const HARMLESS: &[&str] = &[
    "GET s3://bucket/key as arn:aws:sts::1:assumed-role/x/i-0 -> 403 AccessDenied",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "da39a3ee5e6b4b0d3255bfef95601890afd80709@https://a.example/kubelet,https://b.example/kubelet",
    "registry.k8s.io/pause:3.9@sha256:7031c1b283388d2c2e09b57badb803c05ebed362dc88d84b480cc47f72a21097",
    "--token-auth-file=/srv/kubernetes/known_tokens.csv --authorization-mode=Node,RBAC",
    "--authentication-token-webhook=true --service-account-key-file=/srv/kubernetes/sa.pub",
    "--use-service-account-credentials --tls-private-key-file=/srv/kubernetes/server.key",
    "tokenFile: /var/lib/kubelet/token\nrotateCertificates: true",
    "token: /var/run/secrets/kubernetes.io/serviceaccount/token",
    "serviceAccountToken:\n  expirationSeconds: 3607\n  path: token",
    "secret:\n  secretName: pull\n  optional: true",
    "imagePullSecrets:\n- name: pull",
    "automountServiceAccountToken: false",
    "controllers: -tokencleaner,bootstrapsigner tokenCleaner=on",
    "authorization:\n  mode: Webhook\n  webhook:\n    cacheAuthorizedTTL: 0s",
    "authorization:\n  rbac: {}",
    "TOKEN=$(curl -X PUT http://169.254.169.254/latest/api/token) PASSWORD=${PASSWORD}",
    "X-aws-ec2-metadata-token-ttl-seconds: 21600",
    "HttpTokens: required, HttpPutResponseHopLimit: 2",
    "certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUMKLS0tLS0K",
    "client-certificate-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUMKLS0tLS0K",
    "ssh://git@git.example.com/repository and git@git.example.com:repository",
    "http://127.0.0.1:2381/health?serializable=true http://[::1]:80/a@b",
    "https://host:8443/x@2.png oci://registry/image:1@sha256:0",
    "the metadata service gives no token: it is turned off",
    "cannot read the token: open /var/x: no such file",
    "basic.target - Basic System. Bearer authentication is off; basic authentication too",
    "coredns-abcde.17a1b2c3d4e5f6a7 12345.1234567890123456 kubelet.service",
    "kind: ConfigMap\ndata:\n  a: b",
    "std::token::Token and secret::Secret are paths",
    "arn:aws:secretsmanager:eu-west-1:1:secret:name",
];

#[test]
fn what_is_no_secret_is_unchanged() {
    for text in HARMLESS {
        assert_eq!(scrub(text), *text);
    }
}
