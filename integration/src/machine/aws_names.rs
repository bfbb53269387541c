//! AWS by its own names and over TLS, for programs that cannot be told of another endpoint: EC2, S3 and
//! Route 53 as they are on the region's plain port, and STS, which tells one instance from another.

use super::metadata::{Facts, REGION};
use super::vpc::{Place, ROUTER, Region, Vpc};
use crate::ca::{Ca, Callers};
use crate::http::{Reply, Request, Server};
use crate::imds::SESSION_TOKEN;
use crate::skip::SetUpError;
use crate::sts::{self, ACCOUNT};
use crate::waiting::unix_now;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// The names, which are served for as long as this lives.
#[derive(Debug)]
pub struct AwsNames {
    _server: Server,
    certificate: String,
    names: Vec<String>,
}

impl AwsNames {
    /// Serves them in this network, with virtual-hosted names of these buckets.
    ///
    /// # Errors
    ///
    /// Says what is missing here, or what failed.
    pub fn serve(vpc: &Vpc, buckets: &[&str]) -> Result<Self, SetUpError> {
        let mut names = vec![
            format!("ec2.{REGION}.amazonaws.com"),
            format!("sts.{REGION}.amazonaws.com"),
            format!("s3.{REGION}.amazonaws.com"),
            format!("s3.dualstack.{REGION}.amazonaws.com"),
            "route53.amazonaws.com".to_owned(),
        ];
        for bucket in buckets {
            names.push(format!("{bucket}.s3.{REGION}.amazonaws.com"));
            names.push(format!("{bucket}.s3.dualstack.{REGION}.amazonaws.com"));
        }
        let ca = Ca::new()?;
        let of_certificate: Vec<String> = names.iter().map(|name| format!("DNS:{name}")).collect();
        let of_certificate: Vec<&str> = of_certificate.iter().map(String::as_str).collect();
        let config = ca.serve(&of_certificate, Callers::Anybody)?;
        let listener = vpc.namespace().listen(&format!("{ROUTER}:443"));
        let listener = listener.map_err(|error| error.to_string())?;
        let region = Arc::clone(vpc.region());
        let answer = move |client: IpAddr, request: &Request| answer(&region, client, request);
        let server = Server::by_tls_and_client(listener, config, answer);
        Ok(Self {
            _server: server.map_err(|error| error.to_string())?,
            certificate: ca.certificate()?,
            names,
        })
    }

    /// The certificate of the CA that signs for them, PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Where each of them is.
    pub fn addresses(&self) -> BTreeMap<String, Ipv4Addr> {
        let router: Ipv4Addr = ROUTER.parse().expect("a literal");
        let names = self.names.iter().cloned();
        names.map(|name| (name, router)).collect()
    }
}

/// By what session each instance is known to STS.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    /// Whether sessions tell one instance from another.
    differ: bool,
    /// The ARN of each.
    callers: BTreeMap<String, String>,
}

impl Sessions {
    /// The token of an instance's session.
    pub(super) fn token(&self, instance: &str) -> String {
        match self.differ {
            true => format!("{SESSION_TOKEN}{instance}"),
            false => SESSION_TOKEN.to_owned(),
        }
    }
}

impl Vpc {
    /// Has the credentials of instances that are launched from now on differ, as those of AWS do: STS tells
    /// one from another by them.
    pub fn tell_instances_apart(&self) {
        self.region().inner().sessions.differ = true;
    }

    /// Lets STS know an instance by this role.
    pub fn assume(&self, facts: &Facts, role: &str) {
        let sessions = &mut self.region().inner().sessions;
        let instance = &facts.instance;
        let arn = format!("arn:aws:sts::{ACCOUNT}:assumed-role/{role}/{instance}");
        sessions.callers.insert(sessions.token(instance), arn);
    }
}

fn answer(region: &Region, client: IpAddr, request: &Request) -> Reply {
    let host = request.header("host").unwrap_or_default();
    if !host.starts_with("sts.") {
        return region.answer(Place::Aws, client, request);
    }
    let callers = region.inner().sessions.callers.clone();
    let reply = sts::answer(request, REGION, &callers, unix_now());
    region.note_request("Sts", client, request, reply.status);
    reply
}
