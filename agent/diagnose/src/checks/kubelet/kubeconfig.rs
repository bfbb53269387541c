//! `kubelet.kubeconfig`: which server, which CA, which certificate. Nothing of its text is ever shown.

use super::flags;
use crate::checks::check::{Finding, Verdict};
use crate::checks::node::Node;
use crate::checks::stage;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use quake_formats::pem::certificates;
use quake_formats::syntax;
use quake_formats::yaml::Yaml;
use quake_model::facts::Unseen;
use quake_model::phase::Phase;
use quake_model::redact::Secret;
use quake_model::signal::ApiAccess;

/// Where a survey looks at it.
pub(super) const KUBECONFIG: &str = "/var/lib/kubelet/kubeconfig";

const RESTORE: &str =
    "systemctl restart quake-agent.service writes it anew; then: systemctl restart kubelet.service";

/// A kubeconfig: what its current context leads to.
pub struct Kubeconfig {
    cluster: Option<Yaml>,
    user: Option<Yaml>,
}

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let expected = stage::kubernetes(node)?;
    let Some(text) = text(node)? else {
        return absent(node);
    };
    let kubeconfig = match of_text(text) {
        Ok(kubeconfig) => kubeconfig,
        Err(wrong) => {
            return Finding::new(format!("{KUBECONFIG} cannot be read: {wrong}"), RESTORE).fail();
        }
    };
    let wrong = [
        no_server(&kubeconfig),
        no_ca(&kubeconfig),
        no_client(&kubeconfig),
    ];
    if let Some(wrong) = wrong.into_iter().flatten().next() {
        return Finding::new(format!("{KUBECONFIG} {wrong}"), RESTORE).fail();
    }
    let server = kubeconfig.server().unwrap_or_default();
    let wanted = expected.api_servers.iter().map(|url| host(url));
    if !expected.api_servers.is_empty() && wanted.clone().all(|wanted| wanted != host(server)) {
        return Finding::new(
            format!(
                "{KUBECONFIG} leads to {}, and the cluster's API server is {}",
                host(server),
                host(&expected.api_servers[0])
            ),
            RESTORE,
        )
        .seen("server", server)
        .fail();
    }
    Verdict::ok(format!("it leads to {server}"))
}

fn absent(node: &Node<'_>) -> Result<Verdict, Unseen> {
    if flags(node)?.get("bootstrap-kubeconfig").is_some() {
        return Verdict::skip("kubelet writes it once its certificate is signed");
    }
    stage::done(node, Phase::Files)?;
    Finding::new(format!("there is no {KUBECONFIG}"), RESTORE).fail()
}

/// The text of kubelet's kubeconfig.
///
/// # Errors
///
/// `NotTaken` where kubelet reads another file than the one that is looked at.
pub(super) fn text<'a>(node: &Node<'a>) -> Result<Option<&'a str>, Unseen> {
    let path = &stage::kubernetes(node)?.kubeconfig;
    match path == KUBECONFIG {
        true => node.text(KUBECONFIG),
        false => Err(Unseen::NotTaken(format!("{path} was not looked at"))),
    }
}

/// Reads a kubeconfig; the error names the place and never the text, which holds a key.
pub(super) fn of_text(text: &str) -> Result<Kubeconfig, String> {
    let document = syntax::yaml(text)
        .map_err(|misread| format!("line {}, column {}", misread.line, misread.column))?;
    let named = |list: &str, name: &str| {
        let items = document.items_of(list).iter();
        let found = items
            .clone()
            .find(|item| item.text_of("name") == Some(name));
        found.cloned()
    };
    let current = document
        .text_of("current-context")
        .ok_or("it has no current-context")?;
    let context =
        named("contexts", current).ok_or_else(|| format!("it has no context {current:?}"))?;
    let context = context
        .get("context")
        .cloned()
        .ok_or("its context is empty")?;
    let part = |kind: &str, list: &str| {
        let name = context.text_of(kind)?;
        named(list, name)?.get(kind).cloned()
    };
    Ok(Kubeconfig {
        cluster: part("cluster", "clusters"),
        user: part("user", "users"),
    })
}

impl Kubeconfig {
    fn server(&self) -> Option<&str> {
        self.cluster.as_ref()?.text_of("server")
    }

    /// The client's certificates in it, as PEM; `None` where it names a file or another way.
    pub(super) fn certificate(&self) -> Option<Vec<u8>> {
        decoded(self.user.as_ref()?, "client-certificate-data")
    }

    /// The file of the client's certificate, where it names one.
    pub(super) fn certificate_file(&self) -> Option<&str> {
        self.user.as_ref()?.text_of("client-certificate")
    }
}

/// Reads a kubeconfig; `file` reads the files that it names. `None` when it cannot be read, or names no certificate.
pub fn api_access(text: &str, file: impl Fn(&str) -> Option<Vec<u8>>) -> Option<ApiAccess> {
    Kubeconfig::read(text)?.api_access(file)
}

impl Kubeconfig {
    /// Reads a kubeconfig; `None` where it cannot be read.
    pub fn read(text: &str) -> Option<Self> {
        of_text(text).ok()
    }

    /// How it leads to its API server; `file` reads the files that it names. `None` when it names no certificate.
    pub fn api_access(&self, file: impl Fn(&str) -> Option<Vec<u8>>) -> Option<ApiAccess> {
        let part = |node: &Yaml, name: &str| {
            let inside = decoded(node, &format!("{name}-data"));
            inside.or_else(|| file(node.text_of(name)?))
        };
        let server = self.server()?.to_owned();
        let is_plain = server.starts_with("http://");
        let (cluster, user) = (self.cluster.as_ref()?, self.user.as_ref());
        let of_user = |name: &str| user.and_then(|user| part(user, name));
        let or_nothing = |found: Option<Vec<u8>>| match is_plain {
            true => Some(found.unwrap_or_default()),
            false => found,
        };
        Some(ApiAccess {
            server,
            ca_bundle: or_nothing(part(cluster, "certificate-authority"))?,
            certificate: or_nothing(of_user("client-certificate"))?,
            key: Secret::new(or_nothing(of_user("client-key"))?),
        })
    }
}

fn no_server(kubeconfig: &Kubeconfig) -> Option<String> {
    match &kubeconfig.cluster {
        None => Some("names no cluster in its current context".to_owned()),
        Some(_) if kubeconfig.server().is_none() => Some("names no server".to_owned()),
        Some(_) => None,
    }
}

fn no_ca(kubeconfig: &Kubeconfig) -> Option<String> {
    let cluster = kubeconfig.cluster.as_ref()?;
    let is_plain = kubeconfig.server()?.starts_with("http://");
    let is_trusting = cluster.boolean_of("insecure-skip-tls-verify") == Some(true);
    let has_file = cluster.has("certificate-authority");
    if is_plain || is_trusting || has_file {
        return None;
    }
    let Some(pem) = decoded(cluster, "certificate-authority-data") else {
        return Some("has no certificate-authority-data that can be decoded".to_owned());
    };
    let text = String::from_utf8_lossy(&pem);
    certificates(&text)
        .is_empty()
        .then(|| "has no certificate in its certificate-authority-data".to_owned())
}

fn no_client(kubeconfig: &Kubeconfig) -> Option<String> {
    let Some(user) = &kubeconfig.user else {
        return Some("names no user in its current context".to_owned());
    };
    let other_ways = ["token", "tokenFile", "exec", "auth-provider", "username"];
    if other_ways.iter().any(|way| user.has(way)) || kubeconfig.server()?.starts_with("http://") {
        return None;
    }
    let has = |part: &str| user.has(&format!("{part}-data")) || user.has(part);
    let missing = ["client-certificate", "client-key"]
        .into_iter()
        .find(|part| !has(part))?;
    Some(format!("has no {missing}"))
}

fn decoded(node: &Yaml, key: &str) -> Option<Vec<u8>> {
    let text = node.text_of(key)?;
    let plain: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    STANDARD.decode(plain).ok()
}

/// The host of a URL.
pub(in crate::checks) fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let address = rest.split('/').next().unwrap_or_default();
    match address.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        Some(_) | None => address,
    }
}
