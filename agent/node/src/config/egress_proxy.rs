//! The proxy that leaves the cluster's network, which every kops generation describes alike.

use quake_formats::yaml::Yaml;

/// A proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EgressProxy {
    url: String,
    /// What is not sent to it.
    excludes: String,
}

impl EgressProxy {
    /// The proxy that a section has; `None` where it names no host.
    pub(super) fn of_section(section: &Yaml) -> Option<Self> {
        let proxy = section.get("egressProxy")?;
        let http = proxy.get("httpProxy")?;
        let host = http.text_of("host")?;
        let scheme = if host.contains("://") { "" } else { "http://" };
        let port = http.text_of("port").filter(|port| *port != "0");
        let port = port.map_or_else(String::new, |port| format!(":{port}"));
        Some(Self {
            url: format!("{scheme}{host}{port}"),
            excludes: proxy.text_of("excludes").unwrap_or_default().to_owned(),
        })
    }

    /// The names by which programs know a proxy, and what they are to say (`util/pkg/proxy` of kops): lower case for what Go
    /// and libcurl read, and `NO_PROXY` twice.
    pub fn variables(&self) -> [(&'static str, String); 4] {
        [
            ("http_proxy", self.url.clone()),
            ("https_proxy", self.url.clone()),
            ("NO_PROXY", self.excludes.clone()),
            ("no_proxy", self.excludes.clone()),
        ]
    }
}
