//! A name server on the host itself that does not answer while the one behind it does: the fault is not the network's, nor the
//! VPC's. Mostly systemd-resolved was given a setting that the server behind it cannot meet (resolved.conf(5)).

use super::resolvers::{FILE, read};
use crate::checks::check::{Certainty, Finding};
use crate::checks::node::Node;
use crate::checks::quote::quote;
use quake_model::facts::{ActiveState, NameSeen};
use std::net::{IpAddr, Ipv4Addr};

const RESOLVED: &str = "systemd-resolved";
const DNSMASQ: &str = "dnsmasq";
const NODE_LOCAL: &str = "node-local-dns";
const UNKNOWN: &str = "the name server";

/// Where node-local-dns answers (kubernetes/dns).
const OF_NODE_LOCAL: Ipv4Addr = Ipv4Addr::new(169, 254, 20, 10);

/// The port of DNS over TLS (RFC 7858), as `/proc/net/tcp` writes it.
const OVER_TLS: &str = ":0355";

/// A stub that does not answer, and the server that does.
pub(super) struct Silent<'a> {
    pub(super) stub: &'a str,
    pub(super) program: &'static str,
    pub(super) upstream: &'a str,
    /// What it does with a question, as the end of a sentence.
    pub(super) how: &'static str,
    name: &'a str,
}

impl Silent<'_> {
    /// The program with its address.
    pub(super) fn who(&self) -> String {
        match self.program {
            UNKNOWN => format!("{UNKNOWN} at {}", self.stub),
            program => format!("{program} ({})", self.stub),
        }
    }
}

/// The stub that the host asks in vain, where another server has the answer.
pub(super) fn silent<'a>(node: &Node<'a>) -> Option<Silent<'a>> {
    let stub = stub(node)?;
    let names = node.survey().names.ok()?;
    let is_lost = |one: &&NameSeen| one.server.is_empty() && one.addresses.is_empty();
    let (how, answer) = names.iter().filter(is_lost).find_map(|lost| {
        let how = how(lost)?;
        let mut others = names.iter().filter(|other| other.name == lost.name);
        let answers = |other: &&NameSeen| !other.addresses.is_empty() && is_upstream(&other.server);
        Some((how, others.find(answers)?))
    })?;
    let program = program(node, stub)?;
    Some(Silent {
        stub,
        program,
        upstream: &answer.server,
        how,
        name: &answer.name,
    })
}

/// What becomes of a question, by its error (hickory `NetError` and `ResponseCode`); `None` where the name is not known there,
/// which is an answer.
fn how(lost: &NameSeen) -> Option<&'static str> {
    const SILENT: &[&str] = &[
        "no answer",
        "timed out",
        "timeout",
        "no server answered",
        "no connections available",
    ];
    const REFUSES: &[&str] = &[
        "server failure",
        "server failed",
        "servfail",
        "query refused",
    ];
    // Who took the survey did not say why.
    let Some(error) = &lost.error else {
        return Some("does not answer");
    };
    let error = error.to_lowercase();
    let says = |all: &[&str]| all.iter().any(|words| error.contains(words));
    match (says(SILENT), says(REFUSES)) {
        (true, _) => Some("does not answer"),
        (false, true) => Some("refuses the question"),
        (false, false) => None,
    }
}

/// The server of resolv.conf, where all that it names are of this host.
fn stub<'a>(node: &Node<'a>) -> Option<&'a str> {
    let servers = read(node.text(FILE).ok()??).servers;
    let is_own = |server: &&str| server.parse().is_ok_and(is_of_host);
    let first = *servers.first()?;
    servers.iter().all(is_own).then_some(first)
}

fn is_of_host(address: IpAddr) -> bool {
    address.is_loopback() || address == IpAddr::V4(OF_NODE_LOCAL)
}

fn is_upstream(server: &str) -> bool {
    server.parse().is_ok_and(|address| !is_of_host(address))
}

/// The program that answers at a stub's address; `None` where it does not run, which other findings tell.
fn program(node: &Node<'_>, stub: &str) -> Option<&'static str> {
    let runs = |unit: &str| {
        let unit = node.unit(unit).ok().flatten();
        unit.map(|unit| unit.active == ActiveState::Active)
    };
    if stub.starts_with("127.0.0.5") {
        return (runs("systemd-resolved.service") != Some(false)).then_some(RESOLVED);
    }
    if stub.parse() == Ok(OF_NODE_LOCAL) {
        return Some(NODE_LOCAL);
    }
    let mut listeners = node.survey().listeners.ok().into_iter().flatten();
    let listens = listeners.any(|one| one.port == 53 && one.program.as_deref() == Some(DNSMASQ));
    match listens || runs("dnsmasq.service") == Some(true) {
        true => Some(DNSMASQ),
        false => Some(UNKNOWN),
    }
}

/// What is to blame where a stub does not answer, with the lines that say so.
pub(super) fn finding(node: &Node<'_>) -> Option<Finding> {
    let silent = silent(node)?;
    let finding = match silent.program {
        RESOLVED => of_resolved(node, &silent),
        program => of_other(program, &silent),
    };
    let (stub, upstream, how) = (silent.stub, silent.upstream, silent.how);
    let finding = finding.by(Certainty::Likely).seen(
        silent.name,
        format_args!("{stub}: {how}; {upstream}: answers"),
    );
    let said = said(node, stub);
    Some(said.into_iter().take(4).fold(finding, |finding, line| {
        finding.seen("log", quote(line, 300))
    }))
}

/// The latest line of each log that tells of a question to the stub without an answer (Go `net/dnsclient_unix.go`).
fn said<'a>(node: &Node<'a>, stub: &str) -> Vec<&'a str> {
    let mark = format!("on {stub}:53: ");
    let tells = |line: &&String| line.contains(&mark) && line.contains("i/o timeout");
    let units = ["kubelet.service", "containerd.service"];
    let journals = units.iter().map(|unit| node.journal(unit));
    let pods = node.pods().map(|pod| pod.log.as_slice());
    let logs = journals.chain(pods);
    logs.filter_map(|log| log.iter().rfind(tells))
        .map(String::as_str)
        .collect()
}

fn of_resolved(node: &Node<'_>, silent: &Silent<'_>) -> Finding {
    let Silent {
        stub,
        upstream,
        how,
        name,
        ..
    } = silent;
    let directly = format!("asked directly {upstream} answers");
    let then = format!("systemctl restart systemd-resolved; resolvectl query {name}");
    let is_strict = |value: &str| matches!(value, "yes" | "true" | "on" | "1");
    if let Some((file, _)) = setting(node, "DNSOverTLS").filter(|(_, value)| is_strict(value)) {
        let count = over_tls(node);
        let sockets = match count {
            0 => String::new(),
            count => format!(" ({count} connections to port 853 are in SYN_SENT)"),
        };
        return Finding::new(
            format!("{file} sets DNSOverTLS=yes, and {upstream} does not speak TLS on port 853{sockets}, so that systemd-resolved ({stub}) {how}; {directly}"),
            format!("write DNSOverTLS=no into {file} (opportunistic falls back to port 53), and into what writes that file; then: {then}; the name server of a VPC speaks no TLS; the VPC and its security groups are not the cause"),
        )
        .seen("file", file);
    }
    if let Some((file, _)) = setting(node, "DNSSEC").filter(|(_, value)| is_strict(value)) {
        return Finding::new(
            format!("{file} sets DNSSEC=yes, and systemd-resolved ({stub}) refuses answers that it cannot validate; {directly}"),
            format!("write DNSSEC=no into {file} (allow-downgrade where the server does not sign), and into what writes that file; then: {then}"),
        )
        .seen("file", file);
    }
    let foreign =
        setting(node, "DNS").filter(|(_, value)| !value.is_empty() && !value.contains(upstream));
    if let Some((file, servers)) = foreign {
        return Finding::new(
            format!(
                "{file} lets systemd-resolved ({stub}) ask {servers}, and {how} itself; {directly}"
            ),
            format!("take DNS= out of {file}, and out of what writes that file; then: {then}"),
        )
        .seen("file", file);
    }
    Finding::new(
        format!("systemd-resolved ({stub}) {how}; {directly}"),
        format!(
            "resolvectl query {name} and journalctl -b -u systemd-resolved say why; {then}; until then: ln -sf /run/systemd/resolve/resolv.conf /etc/resolv.conf"
        ),
    )
}

fn of_other(program: &str, silent: &Silent<'_>) -> Finding {
    let Silent {
        stub,
        upstream,
        how,
        name,
        ..
    } = silent;
    let look = match program {
        NODE_LOCAL => {
            "read the log of its pod: /var/log/pods/kube-system_node-local-dns-*/*/*.log; dig @"
        }
        UNKNOWN => {
            "ss -ulpn 'sport = :53' names the program: read its log, and which servers it asks; dig @"
        }
        _ => {
            "systemctl status dnsmasq, and ss -lunp 'sport = :53': whether it runs and which servers it asks (server= and resolv-file= in /etc/dnsmasq.conf and /etc/dnsmasq.d); dig @"
        }
    };
    Finding::new(
        format!("{} {how}; asked directly {upstream} answers", silent.who()),
        format!(
            "{look}{stub} {name}; until it answers write nameserver {upstream} into /etc/resolv.conf"
        ),
    )
}

/// A setting of systemd-resolved, and the file that has it: the last file counts, and drop-ins come after the main file.
fn setting<'a>(node: &Node<'a>, key: &str) -> Option<(&'a str, &'a str)> {
    let texts = node.survey().texts.iter();
    let own = texts.filter(|(path, _)| path.starts_with("/etc/systemd/resolved.conf"));
    let mut values = own.filter_map(|(path, text)| {
        let lines = text.ok()?.lines();
        let mut value = lines.filter_map(|line| {
            let (name, value) = line.trim().split_once('=')?;
            (name.trim_end() == key).then_some(value.trim())
        });
        Some((path.as_str(), value.next_back()?))
    });
    values.next_back()
}

/// How many connections to port 853 wait for an answer to their first packet (proc(5), `/proc/net/tcp`).
fn over_tls(node: &Node<'_>) -> usize {
    const SYN_SENT: &str = "02";
    let files = ["/proc/net/tcp", "/proc/net/tcp6"];
    let texts = files.iter().filter_map(|path| node.text(path).ok()?);
    let lines = texts.flat_map(str::lines);
    let waits = |line: &&str| {
        let mut fields = line.split_whitespace().skip(2);
        let is_tls = fields
            .next()
            .is_some_and(|remote| remote.ends_with(OVER_TLS));
        is_tls && fields.next() == Some(SYN_SENT)
    };
    lines.filter(waits).count()
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;
    use quake_model::facts::{NameSeen, Seen};

    fn seen(server: &str, addresses: &[&str]) -> NameSeen {
        NameSeen {
            name: "api.internal.x".to_owned(),
            purpose: "api-server".to_owned(),
            server: server.to_owned(),
            addresses: addresses.iter().map(|it| (*it).to_owned()).collect(),
            error: None,
            took_ms: 1,
        }
    }

    fn node(stub: &str) -> Sample {
        let mut node = Sample::worker();
        node.text("/etc/resolv.conf", &format!("nameserver {stub}\n"));
        let names = vec![seen("", &[]), seen("10.0.0.2", &["10.0.0.11"])];
        node.survey.names = Seen::Yes(names);
        node
    }

    #[test]
    fn a_stub_that_is_silent_is_at_fault_where_the_server_behind_it_answers() {
        let drop_in = "/etc/systemd/resolved.conf.d/60-dns.conf";
        for (setting, words) in [
            ("[Resolve]\nDNSOverTLS=yes\n", "sets DNSOverTLS=yes"),
            ("[Resolve]\nDNSSEC = yes\n", "DNSSEC=yes"),
            ("[Resolve]\nDNS=9.9.9.9\n", "ask 9.9.9.9"),
            ("[Resolve]\n#DNSOverTLS=yes\n", "does not answer"),
        ] {
            let mut node = node("127.0.0.53");
            node.text("/etc/systemd/resolved.conf", "[Resolve]\nDNSOverTLS=no\n");
            node.text(drop_in, setting);
            node.assert("dns.resolvers", Status::Fail, words);
            node.assert("dns.names", Status::Fail, "10.0.0.2 answers");
        }
        for (stub, words) in [
            ("127.0.0.1", "the name server at 127.0.0.1 does not answer"),
            ("169.254.20.10", "node-local-dns"),
        ] {
            node(stub).assert("dns.resolvers", Status::Fail, words);
        }
    }

    #[test]
    fn a_name_that_the_stub_does_not_know_is_an_answer() {
        for (error, status, words) in [
            ("request timed out", Status::Fail, "does not answer"),
            (
                "DNS error: error response: Server Failure",
                Status::Fail,
                "refuses the question",
            ),
            (
                "DNS error: no records found for Query",
                Status::Ok,
                "127.0.0.1",
            ),
        ] {
            let mut node = node("127.0.0.1");
            let mut lost = seen("", &[]);
            lost.error = Some(error.to_owned());
            node.survey.names = Seen::Yes(vec![lost, seen("10.0.0.2", &["10.0.0.11"])]);
            node.assert("dns.resolvers", status, words);
        }
    }

    #[test]
    fn a_server_behind_that_is_silent_too_is_no_fault_of_the_stub() {
        let mut node = node("127.0.0.1");
        node.survey.names = Seen::Yes(vec![seen("", &[]), seen("10.0.0.2", &[])]);
        node.assert("dns.resolvers", Status::Ok, "127.0.0.1");
    }

    #[test]
    fn connections_to_the_port_of_tls_are_counted() {
        let mut node = node("127.0.0.53");
        node.text("/etc/systemd/resolved.conf", "[Resolve]\nDNSOverTLS=yes\n");
        node.text(
            "/proc/net/tcp",
            "  sl\n 4: 0A00000A:B1A2 0200000A:0355 02 0\n 5: 0A00000A:B1A3 0200000A:0355 01 0\n",
        );
        node.assert("dns.resolvers", Status::Fail, "1 connections to port 853");
    }
}
