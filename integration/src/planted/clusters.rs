//! What AWS, image registries and Kubernetes write their secrets in.

use super::{CAPITALS, LETTERS, Planted, bytes, hex, letters};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

pub(super) fn aws() -> Vec<Planted> {
    let id = format!("ASIA{}", letters("id", CAPITALS, 16));
    let secret = format!(
        "{}/{}+",
        letters("key", LETTERS, 20),
        letters("key 2", LETTERS, 18)
    );
    let token = STANDARD.encode(bytes("session", 210));
    let metadata = format!("AQAEA{}==", letters("imds", LETTERS, 49));
    let answer = format!(
        "{{\n  \"Code\" : \"Success\",\n  \"AccessKeyId\" : \"{id}\",\n  \"SecretAccessKey\" : \"{secret}\",\n  \"Token\" : \"{token}\",\n  \"Expiration\" : \"2026-01-01T00:00:00Z\"\n}}"
    );
    let signed = format!(
        "Authorization: AWS4-HMAC-SHA256 Credential={id}/20260101/eu-west-1/s3/aws4_request, SignedHeaders=host, Signature={}",
        hex("signature")
    );
    let header =
        format!("curl -H \"X-aws-ec2-metadata-token: {metadata}\" http://169.254.169.254/");
    vec![
        Planted::new(
            "a key id in a sentence",
            &id[4..],
            format!("the key {id} is not known"),
        ),
        Planted::new("a key beside its id", &secret, format!("{id}:{secret}")),
        Planted::new("a key id of the metadata service", &id[4..], &*answer),
        Planted::new("a key of the metadata service", &secret, &*answer),
        Planted::new("a session of the metadata service", &token, &*answer),
        Planted::new("a signature in a header", &hex("signature"), signed),
        Planted::new("a metadata token in a header", &metadata, header),
        Planted::new(
            "a metadata token in a log",
            &metadata,
            format!("PUT gave {metadata} at once"),
        ),
    ]
}

pub(super) fn registries() -> Vec<Planted> {
    let auth = STANDARD.encode(format!("user:{}", letters("registry", LETTERS, 24)));
    let token = letters("identity", LETTERS, 40);
    let docker = format!(
        "{{\"auths\":{{\"https://index.docker.io/v1/\":{{\"auth\":\"{auth}\",\"email\":\"a@example.com\"}}}}}}"
    );
    let old =
        format!("{{\n\t\"https://index.docker.io/v1/\": {{\n\t\t\"auth\": \"{auth}\"\n\t}}\n}}");
    let encoded = STANDARD.encode(&docker);
    let toml = format!(
        "[plugins.\"io.containerd.grpc.v1.cri\".registry.configs.\"r\".auth]\n  username = \"u\"\n  auth = \"{auth}\"\n  identitytoken = \"{token}\"\n"
    );
    vec![
        Planted::new("auth in dockerconfig", &auth, docker),
        Planted::new("auth in .dockercfg", &auth, old),
        Planted::new(
            "a dockerconfig in base64",
            &encoded,
            format!(".dockerconfigjson: {encoded}\n"),
        ),
        Planted::new("auth in containerd's configuration", &auth, &*toml),
        Planted::new("identity token in containerd's configuration", &token, toml),
    ]
}

pub(super) fn kubernetes() -> Vec<Planted> {
    let value = STANDARD.encode(bytes("value", 30));
    let plain = letters("plain", LETTERS, 24);
    let encryption = format!(
        "resources:\n- providers:\n  - aescbc:\n      keys:\n      - name: key1\n        secret: {value}\n  - identity: {{}}\n"
    );
    let secret = format!(
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\ndata:\n  some: {value}\n  other: |-\n    {plain}\n---\nkind: ConfigMap\n"
    );
    let variable = format!("env:\n- name: DB_PASSWORD\n  value: {plain}\n- name: B\n  value: b\n");
    let json = format!(
        "\"env\":[{{\"name\":\"API_TOKEN\",\"value\":\"{plain}\"}},{{\"name\":\"B\",\"value\":\"b\"}}]"
    );
    vec![
        Planted::new("a key of EncryptionConfiguration", &value, encryption),
        Planted::new("a value of a Secret", &value, &*secret).of_lines(),
        Planted::new("a block of a Secret", &plain, secret).of_lines(),
        Planted::new("a variable of a container", &plain, variable),
        Planted::new("a variable of a container in JSON", &plain, json),
    ]
}
