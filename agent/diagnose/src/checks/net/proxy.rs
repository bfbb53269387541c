//! The check of proxies: whom they must not stand before.

use super::ranges::cluster_ranges;
use crate::checks::check::{Check, Finding, Severity, Source, Verdict};
use crate::checks::images::UNREACHED;
use crate::checks::logs::is_late;
use crate::checks::node::Node;
use crate::log_lines::unescaped;
use quake_model::facts::Unseen;
use std::net::Ipv4Addr;

pub(in crate::checks) const CHECKS: &[Check] = &[Check {
    id: "net.proxy",
    title: "the metadata service and the cluster's names are not behind a proxy",
    severity: Severity::Warning,
    tags: &["network", "proxy"],
    sources: &[Source::Files, Source::Journals],
    because: &[],
    why: "the proxy would return its own instance metadata, and often cannot reach the API server",
    remedy: "add the names to NO_PROXY beside the proxy's setting, or to egressProxy.excludes of the cluster's spec",
    judge: proxy,
}];

/// A place where proxy variables are set for the node's services.
struct Setting {
    path: String,
    /// The variables that name a proxy, with the address in each.
    proxies: Vec<(String, String)>,
    no_proxy: String,
}

impl Setting {
    fn is_proxied(&self) -> bool {
        !self.proxies.is_empty()
    }
}

/// Every variable that names a proxy: the file that sets it, its name, and the address in it; of a file the last one first, as it
/// counts.
fn proxies(settings: &[Setting]) -> impl Iterator<Item = (&str, &str, &str)> {
    settings.iter().flat_map(|setting| {
        let all = setting.proxies.iter().rev();
        all.map(|(name, value)| (setting.path.as_str(), name.as_str(), value.as_str()))
    })
}

/// What no proxy may stand before, whatever the cluster.
const METADATA: &str = "169.254.169.254";

fn proxy(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let expected = node.expected().ok();
    let direct: Vec<&str> = match expected {
        Some(expected) if !expected.no_proxy.is_empty() => {
            expected.no_proxy.iter().map(String::as_str).collect()
        }
        _ => vec![METADATA],
    };
    let settings = settings(node)?;
    let broken = without_tls(node, &settings)
        .or_else(|| refused(node, &settings))
        .or_else(|| unreached(node, &settings));
    if let Some(finding) = broken {
        return finding.fail();
    }
    for setting in settings.iter().filter(|setting| setting.is_proxied()) {
        let missing: Vec<&str> = direct
            .iter()
            .copied()
            .filter(|host| !covers(&setting.no_proxy, host))
            .collect();
        if !missing.is_empty() {
            let finding = lacking(setting, &missing);
            return match harm(node) {
                Some(harm) => finding.seen("what it does", harm).fail(),
                None => finding.warn(),
            };
        }
    }
    if let Some(finding) =
        before_api_server(node, &settings).or_else(|| before_plugin(node, &settings))
    {
        return finding.fail();
    }
    let proxied = settings.iter().any(Setting::is_proxied);
    match (proxied, expected.is_some_and(|expected| expected.proxied)) {
        (true, _) => Verdict::ok(format!("a proxy, and not before {}", direct.join(", "))),
        (false, true) => Verdict::ok("a proxy of the cluster's spec"),
        (false, false) => Verdict::ok("no proxy is set"),
    }
}

/// What a proxy before the metadata service does already: the agent or kubelet does not come to it.
fn harm(node: &Node<'_>) -> Option<String> {
    if let Err(Unseen::Failed(_) | Unseen::TimedOut(_)) = node.survey().metadata.get() {
        return Some("the metadata service does not answer".to_owned());
    }
    kubelet_says(node, &["EC2Metadata", "EC2 Metadata", "EC2 IMDS"])
}

/// The last line of kubelet's journal that has one of these words.
fn kubelet_says(node: &Node<'_>, words: &[&str]) -> Option<String> {
    let mut lines = node.journal("kubelet.service").iter().rev();
    let line = lines.find(|line| words.iter().any(|word| line.contains(word)))?;
    Some(quake_formats::yaml::shorten(line, 300))
}

/// The latest line of any journal that says so, if it is late.
fn late_line<'a>(node: &Node<'a>, says: impl Fn(&str) -> bool) -> Option<&'a String> {
    let journals = node.survey().journals.ok()?;
    let mut lines = journals.values().flatten().rev();
    lines.find(|line| says(line) && is_late(line, node))
}

/// What a client says whose proxy answers without TLS (Go, `net/http` and `crypto/tls`).
const NO_TLS: &[&str] = &[
    "proxyconnect tcp: tls: first record does not look like a TLS handshake",
    "server gave HTTP response to HTTPS client",
];

/// A proxy that is asked with TLS and speaks none.
fn without_tls(node: &Node<'_>, settings: &[Setting]) -> Option<Finding> {
    let line = late_line(node, |line| {
        line.contains("proxyconnect") && NO_TLS.iter().any(|words| line.contains(words))
    })?;
    let mut all = proxies(settings);
    let (path, name, value) = all.find(|(_, _, value)| value.starts_with("https://"))?;
    let (_, host) = user_and_host(value);
    let finding = Finding::new(
        format!(
            "{path} sets {name} with https://, and the proxy {host} speaks plain HTTP: whatever goes through it fails"
        ),
        format!(
            "write http:// in the place of https:// in {name} (and in its other spelling) in {path}; systemctl daemon-reload; restart what reads it (containerd.service, kubelet.service); correct it where the file comes from, too: spec.egressProxy in kops edit cluster, the image, or configuration management"
        ),
    );
    Some(finding.seen("journal", quake_formats::yaml::shorten(line, 300)))
}

/// The user and the host of a proxy's URL. Of a user without a password nothing is said: it may be a token.
fn user_and_host(url: &str) -> (Option<&str>, &str) {
    let address = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (user, host) = match address.rsplit_once('@') {
        Some((user, host)) => (user.split_once(':'), host),
        None => (None, address),
    };
    let user = user.filter(|(_, password)| !password.is_empty());
    let host = host.split(['/', '?']).next().unwrap_or_default();
    (user.map(|(user, _)| user), host)
}

/// What a proxy answers that does not know who asks (RFC 9110, status 407).
const UNKNOWN_USER: &str = "Proxy Authentication Required";

/// A proxy that refuses the user and password which are set for it, or wants some.
fn refused(node: &Node<'_>, settings: &[Setting]) -> Option<Finding> {
    let line = late_line(node, |line| line.contains(UNKNOWN_USER))?;
    let (path, _, url) = proxies(settings).next()?;
    let (user, host) = user_and_host(url);
    let what = match user {
        Some(user) => format!(
            "the proxy {host} refuses the user {user} and the password of {path} (407): they were changed, or are expired or locked"
        ),
        None => format!(
            "the proxy {host} wants another user and password than {path} has, or one at all (407)"
        ),
    };
    let finding = Finding::new(
        what,
        format!(
            "write http://USER:PASSWORD@{host} with the present ones into {path} (both spellings of each variable; special characters percent-encoded); correct it where the file comes from, too; systemctl daemon-reload; systemctl restart containerd.service kubelet.service; or let the proxy admit the nodes without a password, as spec.egressProxy of kops has none; curl -x http://USER:PASSWORD@{host} -I https://registry.k8s.io shows it"
        ),
    );
    Some(finding.seen("journal", quake_formats::yaml::shorten(line, 300)))
}

/// A proxy that does not answer: no host behind it is at fault.
fn unreached(node: &Node<'_>, settings: &[Setting]) -> Option<Finding> {
    fn reported(line: &str) -> Option<(&str, &'static str)> {
        let (_, rest) = line.split_once("proxyconnect tcp: dial tcp ")?;
        let (address, after) = rest.split_once(": ")?;
        let words = UNREACHED.iter().find(|words| after.contains(*words))?;
        Some((address, words))
    }
    let line = late_line(node, |line| reported(line).is_some())?;
    let (address, words) = reported(line)?;
    let (path, name, url) = proxies(settings).next()?;
    let (_, host) = user_and_host(url);
    let finding = Finding::new(
        format!(
            "the proxy {host}, which {name} of {path} names, does not answer at {address}: {words}; whatever goes through it fails, pulls of images too"
        ),
        format!(
            "start the proxy there, or let this node in (its security group, its list of clients); or name one that answers in {path} (both spellings of each variable), then: systemctl daemon-reload; systemctl restart containerd.service kubelet.service; correct it where the file comes from, too: spec.egressProxy in kops edit cluster, or the image; curl -x http://{host} -I https://registry.k8s.io shows it; the registries are not at fault"
        ),
    );
    Some(finding.seen("journal", quake_formats::yaml::shorten(line, 300)))
}

/// A proxy by which kubelet goes to its API server in vain.
fn before_api_server(node: &Node<'_>, settings: &[Setting]) -> Option<Finding> {
    let line = kubelet_says(node, &["proxyconnect"])?;
    let host = node.api_server_host()?;
    let mut proxied = settings.iter().filter(|setting| setting.is_proxied());
    let setting = proxied.find(|setting| !covers(&setting.no_proxy, host))?;
    Some(lacking(setting, &[host]).seen("journal", line))
}

/// What a proxy answers in the place of the API server, of which a client in Go says no more than the words of the status.
const ANSWERS: &[&str] = &[
    ": Forbidden",
    ": Service Unavailable",
    ": Bad Gateway",
    ": Gateway Time",
    ": Method Not Allowed",
    "proxyconnect tcp",
];

/// A proxy of containerd that its children go by, too: the pod network's plugin asks for the API server's Service there.
fn before_plugin(node: &Node<'_>, settings: &[Setting]) -> Option<Finding> {
    const OF_RUNTIME: &[&str] = &["containerd", "docker"];
    fn requested(line: &str) -> Option<(String, bool)> {
        let plain = unescaped(line);
        let (_, rest) = plain.split_once("plugin type=\"")?;
        let (_, rest) = rest.split_once("\"https://")?;
        let (url, answer) = rest.split_once('"')?;
        let host = url.split(['/', ':']).next()?;
        let is_answer = ANSWERS.iter().any(|words| answer.contains(words));
        Some((host.to_owned(), is_answer))
    }
    let is_answered = |line: &str| requested(line).is_some_and(|(_, is_answer)| is_answer);
    let line = late_line(node, is_answered)?;
    let (host, _) = requested(line)?;
    let mut proxied = settings.iter().filter(|setting| setting.is_proxied());
    let setting = proxied.find(|setting| {
        let is_of_runtime = OF_RUNTIME.iter().any(|name| setting.path.contains(name));
        is_of_runtime && !covers(&setting.no_proxy, &host)
    })?;
    let range = cluster_ranges(node).into_iter().map(|(_, range)| range);
    let mut range = range.filter(|range| host.parse().is_ok_and(|address| range.holds(address)));
    let missing = range.next().map_or(host.clone(), |range| range.to_string());
    let finding = lacking(setting, &[&missing]);
    let summary = format!(
        "{}: the pod network's plugin, which containerd starts, asks it for the API server ({host}), so no pod starts",
        finding.summary
    );
    let finding = Finding { summary, ..finding };
    Some(finding.seen("journal", quake_formats::yaml::shorten(line, 300)))
}

fn lacking(setting: &Setting, missing: &[&str]) -> Finding {
    let given = setting
        .no_proxy
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty());
    let whole: Vec<&str> = given.chain(missing.iter().copied()).collect();
    let whole = whole.join(",");
    Finding::new(
        format!("{} sends {} through a proxy", setting.path, missing.join(" and ")),
        format!("set NO_PROXY={whole} and no_proxy={whole} in {}; then: systemctl daemon-reload and restart what reads it", setting.path),
    )
    .seen("NO_PROXY", match setting.no_proxy.as_str() {
        "" => "(not set)",
        given => given,
    })
}

/// Where the node's services get variables from: their units, and the files these read.
fn settings(node: &Node<'_>) -> Result<Vec<Setting>, Unseen> {
    let mut found = Vec::new();
    for (path, text) in &node.survey().texts {
        let is_unit = path.starts_with("/etc/systemd/system/");
        let is_file = path.starts_with("/etc/sysconfig/")
            || path == "/etc/environment"
            || path.starts_with("/etc/default/");
        if !is_unit && !is_file {
            continue;
        }
        let Some(text) = text.ok() else { continue };
        let mut setting = Setting {
            path: path.clone(),
            proxies: Vec::new(),
            no_proxy: String::new(),
        };
        for (name, value) in text.lines().flat_map(|line| variables(line, is_unit)) {
            match name.to_ascii_lowercase().as_str() {
                "http_proxy" | "https_proxy" if !value.is_empty() => {
                    setting.proxies.push((name, value));
                }
                "no_proxy" => setting.no_proxy = value,
                _ => {}
            }
        }
        found.push(setting);
    }
    if found.is_empty() {
        node.was_surveyed("/etc/environment")?;
    }
    Ok(found)
}

/// The variables of a line: `Environment="A=b" "C=d"` of a unit (systemd.exec(5)), `A="b"` of a file.
fn variables(line: &str, is_unit: bool) -> Vec<(String, String)> {
    let line = line.trim();
    let rest = match is_unit {
        true => match line.strip_prefix("Environment=") {
            Some(rest) => rest,
            None => return Vec::new(),
        },
        false => line.strip_prefix("export ").unwrap_or(line),
    };
    if rest.starts_with('#') {
        return Vec::new();
    }
    let words: Vec<&str> = match is_unit && rest.starts_with('"') {
        true => rest
            .split('"')
            .filter(|word| !word.trim().is_empty())
            .collect(),
        false if is_unit => rest.split_whitespace().collect(),
        false => vec![rest],
    };
    let pairs = words.iter().filter_map(|word| word.split_once('='));
    pairs
        .map(|(name, value)| {
            (
                name.trim().to_owned(),
                value.trim().trim_matches(['"', '\'']).to_owned(),
            )
        })
        .collect()
}

/// Whether a list of exceptions covers a host, or with a leading dot all names below it.
fn covers(no_proxy: &str, host: &str) -> bool {
    let suffix = host.trim_start_matches('.');
    no_proxy.split(',').map(str::trim).any(|exception| {
        let name = exception.trim_start_matches("*.").trim_start_matches('.');
        exception == "*"
            || name == suffix
            || (!name.is_empty() && suffix.ends_with(&format!(".{name}")))
            || within(exception, suffix)
    })
}

/// Whether an IPv4 address is in a range such as `169.254.0.0/16`.
fn within(range: &str, address: &str) -> bool {
    let parsed = || {
        let (base, length) = range.split_once('/')?;
        let (base, address): (Ipv4Addr, Ipv4Addr) = (base.parse().ok()?, address.parse().ok()?);
        let length: u32 = length.parse().ok().filter(|length| *length <= 32)?;
        let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
        Some((base.to_bits() ^ address.to_bits()) & mask == 0)
    };
    parsed().unwrap_or(false)
}
