//! An etcd in a scratch directory. It listens on sockets in that directory, which only this user can
//! enter: on a loopback port every process of the host could read the cluster's secrets.

use super::programs::command;
use crate::linux::not_started;
use quake_model::ports::{Condition, EtcdTools, KeyCount, PortError, ScratchEtcd};
use serde_json::Value;
use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use std::sync::Mutex;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::Child;

/// etcd wants a host and a port; the socket has that name in the directory that it runs in
/// (etcd's `client/pkg/types/urls.go`).
const CLIENT: &str = "127.0.0.1:1";
const PEER: &str = "127.0.0.1:2";

/// Its name as a member of a cluster of its own.
pub(super) const NAME: &str = "scratch";

/// How long one question may take. A guess: counting a million keys takes a tenth of a second.
const DEADLINE: Duration = Duration::from_secs(20);

/// The longest answer that is read.
const LONGEST: u64 = 64 << 10;

pub(super) fn start(
    tools: &EtcdTools,
    scratch: &str,
    data_directory: &str,
) -> Result<ScratchEtcd, PortError> {
    let failed = |error: std::io::Error| not_started(&tools.server, &error);
    let log = File::create(Path::new(scratch).join("etcd.log")).map_err(failed)?;
    let errors = log.try_clone().map_err(failed)?;
    let (client, peer) = (format!("unix://{CLIENT}"), format!("unix://{PEER}"));
    let advertised = format!("http://{PEER}");
    let child = command(Path::new(&tools.server))
        .args(["--name", NAME, "--data-dir", data_directory])
        .args([
            "--listen-client-urls",
            &client,
            "--advertise-client-urls",
            &client,
        ])
        .args(["--listen-peer-urls", &peer])
        .args(["--initial-advertise-peer-urls", &advertised])
        .args(["--initial-cluster", &format!("{NAME}={advertised}")])
        .current_dir(scratch)
        .stdout(Stdio::from(log))
        .stderr(Stdio::from(errors))
        .spawn()
        .map_err(failed)?;
    Ok(ScratchEtcd {
        socket: format!("{scratch}/{CLIENT}"),
        api: api_of(&tools.version),
        guard: Box::new(Mutex::new(child)),
    })
}

/// The name of the API (etcd's `Documentation/dev-guide/api_grpc_gateway.md`).
fn api_of(version: &str) -> &'static str {
    match version.split('.').nth(1) {
        Some("0" | "1" | "2") => "v3alpha",
        Some("3") => "v3beta",
        _ => "v3",
    }
}

pub(super) async fn count(etcd: &ScratchEtcd) -> Result<KeyCount, PortError> {
    if let Some(child) = etcd.guard.downcast_ref::<Mutex<Child>>()
        && let Ok(mut child) = child.lock()
        && let Ok(Some(status)) = child.try_wait()
    {
        return Err(ended(etcd, &status.to_string()));
    }
    let requested = tokio::time::timeout(DEADLINE, ask(etcd)).await;
    let not_ready = || PortError::new(Condition::NotReady, "the restored etcd does not answer yet");
    let answer = match requested {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => return Err(not_ready().because(&error)),
        Err(_) => return Err(not_ready()),
    };
    read_count(&answer).ok_or_else(|| not_ready().seen("answer", answer.trim()))
}

/// The keys and the revision in an answer. protobuf leaves a zero out, and writes 64-bit numbers as
/// strings.
fn read_count(answer: &str) -> Option<KeyCount> {
    let body = answer.get(answer.find('{')?..=answer.rfind('}')?)?;
    let value: Value = serde_json::from_str(body).ok()?;
    let number = |value: &Value| value.as_str()?.parse::<u64>().ok();
    Some(KeyCount {
        revision: number(value.get("header")?.get("revision")?)?,
        keys: match value.get("count") {
            Some(count) => number(count)?,
            None => 0,
        },
    })
}

async fn ask(etcd: &ScratchEtcd) -> std::io::Result<String> {
    // Every key: from the byte zero, which is also the end that means all.
    let body = r#"{"key":"AA==","range_end":"AA==","count_only":true}"#;
    let (api, length) = (etcd.api, body.len());
    let request = format!(
        "POST /{api}/kv/range HTTP/1.1\r\nHost: etcd\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    let mut stream = UnixStream::connect(&etcd.socket).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(LONGEST).read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn ended(etcd: &ScratchEtcd, status: &str) -> PortError {
    let directory = Path::new(&etcd.socket).parent().unwrap_or(Path::new("/"));
    let log = std::fs::read(directory.join("etcd.log")).unwrap_or_default();
    let text = String::from_utf8_lossy(&log);
    let is_cause =
        |line: &&str| line.contains("panic") || line.contains("fatal") || line.contains("| C ");
    let cause = text.lines().find(is_cause).or_else(|| text.lines().last());
    let summary = format!("the restored etcd ended with {status}");
    PortError::new(Condition::Io, summary).seen("said", cause.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_with_and_without_a_count() {
        let answer = |count: &str| {
            format!("HTTP/1.1 200 OK\r\n\r\n{{\"header\":{{\"revision\":\"15\"}}{count}}}")
        };
        let read = |count| read_count(&answer(count)).map(|read| (read.keys, read.revision));
        assert_eq!(read(",\"count\":\"11\""), Some((11, 15)));
        assert_eq!(read(""), Some((0, 15)));
        assert_eq!(read(",\"count\":\"x\""), None);
        let error = "HTTP/1.1 503\r\n\r\n{\"error\":\"etcdserver: no leader\"}";
        assert_eq!(read_count(error), None);
    }

    #[test]
    fn the_api_has_the_name_of_its_version() {
        let names = ["3.2.24", "3.3.10", "3.4.23", "3.6.12"].map(api_of);
        assert_eq!(names, ["v3alpha", "v3beta", "v3", "v3"]);
    }
}
