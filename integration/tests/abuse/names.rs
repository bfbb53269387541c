//! A name server that lies about a mirror: another mirror makes the node ready, and without one the boot ends at its
//! deadline, with the host's name.

use crate::lies::{LIES, MIRROR, Row, TROUBLES, right};
use crate::node::{Node, undisturbed};
use crate::resolver::{Answers, Resolver, configuration};
use quake_integration::agent::{self, Ended, Running};
use quake_integration::http::{Reply, Server};
use quake_integration::mirror::{self, Manners};
use quake_integration::namespace::{METADATA, Namespace};
use quake_integration::node::Mirrored;
use quake_integration::skip::{SetUpError, unless_missing};
use quake_integration::store::wrong_in_store;
use quake_integration::tree::Tree;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The mirror whose name is lied about.
const HOST: &str = "assets.mirror.test";

/// Boots at once: each mostly waits.
const LANES: usize = 8;

/// How long a boot with that mirror alone may wait.
const DEADLINE: &str = "8s";

/// Within this such a boot ends, with what starting it takes on a busy machine.
const LONGEST: Duration = Duration::from_secs(20);

/// A network with a good mirror, one that has the name, a web page, and a metadata service.
struct Fixture {
    namespace: Namespace,
    files: Mirrored,
    whole: Tree,
    good: Server,
    _others: Vec<Server>,
}

impl Fixture {
    fn make() -> Result<Self, SetUpError> {
        let namespace = Namespace::make()?;
        let wrong = |error: std::io::Error| SetUpError::Failed(error.to_string());
        // A link whose other end takes everything and answers nothing.
        namespace.ip(&["link", "add", "dead", "type", "veth", "peer", "name", "end"])?;
        namespace.ip(&["address", "add", "10.255.255.254/8", "dev", "dead"])?;
        for link in ["dead", "end"] {
            namespace.ip(&["link", "set", link, "arp", "off", "up"])?;
        }
        let files = mirror::large(1).map_err(wrong)?;
        let serve = |address: String| {
            let listener = namespace.listen(&address).map_err(wrong)?;
            let answer = mirror::answering(files.clone(), Box::new(|_| Manners::Right));
            Server::on(listener, answer).map_err(wrong)
        };
        let (good, named) = (serve("127.0.2.1:0".into())?, serve(format!("{MIRROR}:80"))?);
        let page = namespace.listen("127.0.0.1:80").map_err(wrong)?;
        let page = Server::on(page, |_| Reply::new(200, "<html>Sign in</html>")).map_err(wrong)?;
        let metadata = namespace.listen(METADATA).map_err(wrong)?;
        // What IMDSv2 says to a request without a token.
        let metadata = Server::on(metadata, |_| Reply::new(401, "")).map_err(wrong)?;
        Ok(Self {
            whole: undisturbed(&files),
            namespace,
            files,
            good,
            _others: vec![named, page, metadata],
        })
    }

    /// Boots with these name servers.
    fn boot(&self, servers: &[Ipv4Addr], mirrors: &[String], root: &Path, deadline: &str) -> Ended {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let file = folder.path().join("resolv.conf");
        std::fs::write(&file, configuration(servers)).expect("ours");
        let node = Node::new(&self.files, mirrors);
        let boot = node.command(root);
        let mut command = Command::new("sh");
        let script = r#"mount --bind "$1" /etc/resolv.conf || exit 99; shift; exec "$@""#;
        command.args(["-c", script, "sh"]).arg(&file);
        command.arg(boot.get_program()).args(boot.get_args());
        command.args(["--deadline", deadline]);
        Running::start(self.namespace.inside(&command)).end(agent::LIMIT)
    }

    /// What is wrong with a boot that should be ready.
    fn not_ready(&self, servers: &[Ipv4Addr], mirrors: &[String]) -> Vec<String> {
        let root = tempfile::tempdir().expect("a temporary directory");
        let ended = self.boot(servers, mirrors, root.path(), "40s");
        if ended.status != 0 {
            return vec![format!("exit {}: {}", ended.status, ended.summary())];
        }
        let tree = Tree::of_node(root.path()).expect("the tree can be read");
        let mut found = self.whole.differences(&tree);
        found.extend(wrong_in_store(root.path()));
        found
    }

    /// What is wrong with a boot whose only mirror is lied about.
    fn wrong_end(&self, server: Ipv4Addr, (_, _, code, status): &Row) -> Vec<String> {
        let root = tempfile::tempdir().expect("a temporary directory");
        let began = Instant::now();
        let mirrors = [format!("http://{HOST}")];
        let ended = self.boot(&[server], &mirrors, root.path(), DEADLINE);
        let (summary, took) = (ended.summary(), began.elapsed());
        let fault = &summary["fault"];
        let is_well = fault["code"] == *code
            && ended.status == *status
            && fault.to_string().contains(HOST)
            && took < LONGEST
            && !ended.text().contains("panicked");
        let found = format!("alone: exit {} after {took:.1?}: {fault}", ended.status);
        let mut all = wrong_in_store(root.path());
        all.extend((!is_well).then_some(found));
        all
    }
}

/// Tries each row, several at once, with a name server of its own at its own address; all that is wrong then.
fn try_rows<R: Sync>(
    fixture: &Fixture,
    rows: &[R],
    of: fn(&R) -> (&'static str, Answers),
    findings: impl Fn(&Fixture, &R, Ipv4Addr) -> Vec<String> + Sync,
) -> Vec<String> {
    let (waiting, found) = (Mutex::new(rows.iter().enumerate()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().expect("no lane ended badly").next();
                    let Some((number, row)) = next else { return };
                    let number = u8::try_from(number).unwrap_or(u8::MAX);
                    let address = Ipv4Addr::new(127, 0, 1, number + 1);
                    let (name, answers) = of(row);
                    let resolver = Resolver::start(&fixture.namespace, address, answers);
                    let resolver = resolver.expect("nobody else listens inside");
                    let all = findings(fixture, row, address).into_iter();
                    drop(resolver);
                    let all = all.map(|line| format!("{name}: {line}"));
                    found.lock().expect("no lane ended badly").extend(all);
                }
            });
        }
    });
    found.into_inner().expect("no lane ended badly")
}

#[test]
fn whatever_a_name_server_says_of_a_mirror_another_one_makes_the_node_ready() {
    let Some(fixture) = unless_missing(Fixture::make()) else {
        return;
    };
    let mirrors = [format!("http://{HOST}"), fixture.good.base()];
    let of = |row: &Row| (row.0, row.1);
    let found = try_rows(&fixture, LIES, of, |fixture, _, server| {
        fixture.not_ready(&[server], &mirrors)
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn an_only_mirror_whose_name_is_lied_about_ends_the_boot_in_time_and_is_named() {
    let Some(fixture) = unless_missing(Fixture::make()) else {
        return;
    };
    let of = |row: &Row| (row.0, row.1);
    let found = try_rows(&fixture, LIES, of, |fixture, row, server| {
        fixture.wrong_end(server, row)
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_troubled_name_server_that_knows_the_mirror_is_enough() {
    let Some(fixture) = unless_missing(Fixture::make()) else {
        return;
    };
    let mirrors = [format!("http://{HOST}")];
    let of = |row: &(&'static str, Answers)| *row;
    let mut found = try_rows(&fixture, TROUBLES, of, |fixture, _, server| {
        fixture.not_ready(&[server], &mirrors)
    });
    let good = Ipv4Addr::new(127, 0, 4, 1);
    let resolver = Resolver::start(&fixture.namespace, good, right).expect("nobody else is there");
    for first in [Ipv4Addr::new(10, 9, 9, 9), Ipv4Addr::new(127, 0, 4, 9)] {
        let all = fixture.not_ready(&[first, good], &mirrors).into_iter();
        found.extend(all.map(|line| format!("behind the dead server {first}: {line}")));
    }
    drop(resolver);
    assert!(found.is_empty(), "{}", found.join("\n"));
}
