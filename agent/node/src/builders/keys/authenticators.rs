//! Who else verifies tokens of people for the API server: aws-iam-authenticator or kopeio, each asked as a webhook.

use super::stored;
use crate::builders::Context;
use crate::builders::context::KUBERNETES_CA;
use crate::builders::control_plane::AUTHENTICATION;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use quake_model::fault::Fault;
use quake_model::item::{AlternateName, File, IssuedPart, Item, Source, Subject, Usage};
use serde_json::{Value, json};

/// The order, the user and the container.
const AWS: &str = "aws-iam-authenticator";

/// The number of the user that aws-iam-authenticator's image has built in.
const AWS_UID: u32 = 10000;

/// The webhook's configuration; for aws-iam-authenticator its user and its serving certificate, too.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    if !context.has_api_server() {
        return Ok(Vec::new());
    }
    // A cluster has one of them; were there both, kops would take kopeio.
    if context.authenticates_by("kopeio") {
        let cluster = json!({"server": "http://127.0.0.1:9001/hooks/authn"});
        let file = File::plain(AUTHENTICATION, config("webhook", &cluster));
        return Ok(vec![Item::File(file)]);
    }
    match context.authenticates_by("aws") {
        true => aws(context),
        false => Ok(Vec::new()),
    }
}

fn aws(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    let folder = context.srv(AWS);
    let cluster = json!({
        "server": "https://127.0.0.1:21362/authenticate",
        "certificate-authority-data": STANDARD.encode(context.ca_bundle(KUBERNETES_CA)?),
    });
    let mut order = context.order(AWS, KUBERNETES_CA, Subject::named(AWS), Usage::Server)?;
    order.names = ["localhost", "127.0.0.1"]
        .map(AlternateName::from_text)
        .into();
    let parts = [("cert", IssuedPart::Certificate), ("key", IssuedPart::Key)];
    let parts = parts.map(|(name, part)| {
        let order = AWS.to_owned();
        let path = format!("{folder}/{name}.pem");
        Item::File(File::secret(&path, Source::Issued { order, part }))
    });
    let mut items = stored::given_to(AWS, AWS, parts);
    let file = File::plain(AUTHENTICATION, config(AWS, &cluster)).mode(0o600);
    items.extend([
        Item::File(file),
        Item::Certificate(order),
        stored::container_user(AWS, AWS_UID, &folder),
    ]);
    Ok(items)
}

/// A kubeconfig, which is how the API server is told where a webhook is; JSON is YAML, too.
fn config(name: &str, cluster: &Value) -> String {
    const USER: &str = "kube-apiserver";
    let document = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": USER, "user": {}}],
        "contexts": [{"name": "webhook", "context": {"cluster": name, "user": USER}}],
        "current-context": "webhook",
    });
    format!("{document:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;

    fn sample(authentication: &str) -> Sample {
        Sample::control_plane(&format!(
            "KeypairIDs: {{kubernetes-ca: \"7\"}}\nCAs: {{kubernetes-ca: CAs}}\n\
             APIServerConfig: {{Authentication: {authentication}}}\n"
        ))
    }

    fn server(sample: &Sample) -> Value {
        let text = sample.file(build, AUTHENTICATION);
        let document: Value = serde_saphyr::from_str(&text).expect("it is YAML");
        document["clusters"][0]["cluster"].clone()
    }

    #[test]
    fn the_api_server_trusts_the_clusters_ca_about_the_authenticator() {
        let cluster = server(&sample("{aws: {}}"));
        assert_eq!(cluster["server"], "https://127.0.0.1:21362/authenticate");
        let wanted = STANDARD.encode("CAs");
        assert_eq!(cluster["certificate-authority-data"], wanted);
    }

    #[test]
    fn its_key_is_its_users_alone() {
        for file in sample("{aws: {}}").all(build, Item::file) {
            assert_eq!(file.mode, 0o600, "{}", file.path);
            let owner = if file.path == AUTHENTICATION {
                "root"
            } else {
                AWS
            };
            assert_eq!([&*file.owner.user, &*file.owner.group], [owner, owner]);
        }
    }

    #[test]
    fn kopeio_is_asked_without_encryption_on_the_same_host() {
        let cluster = server(&sample("{kopeio: {}}"));
        assert_eq!(
            cluster,
            json!({"server": "http://127.0.0.1:9001/hooks/authn"})
        );
    }

    #[test]
    fn without_an_authenticator_there_is_no_webhook() {
        for authentication in ["null", "{oidc: {issuerURL: \"https://x\"}}"] {
            assert_eq!(sample(authentication).items(build), [], "{authentication}");
        }
    }
}
