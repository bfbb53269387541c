//! What every request passes: a web page of a stranger must not read the node's state by a name that it has resolved to here.

use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;
use std::sync::Arc;

/// The names of this machine, in lower case.
pub(super) type Names = Arc<Vec<String>>;

/// The names by which this machine may be asked: those of loopback, and its own.
pub(super) fn names() -> Names {
    let mut names = vec!["localhost".to_owned()];
    if let Ok(own) = std::fs::read_to_string("/proc/sys/kernel/hostname") {
        let own = own.trim().to_ascii_lowercase();
        names.extend(own.split('.').next().map(str::to_owned));
        names.push(own);
    }
    Arc::new(names)
}

/// Refuses a request that names another host, and has browsers take each answer for what it says it is.
pub(super) async fn guarded(names: Option<Names>, request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST);
    let is_ours = match (&names, host) {
        (Some(names), Some(host)) => host.to_str().is_ok_and(|host| is_of(host, names)),
        _ => true,
    };
    let mut answer = match is_ours {
        true => next.run(request).await,
        false => {
            let text = "this is not the host of that name\n";
            (StatusCode::MISDIRECTED_REQUEST, text).into_response()
        }
    };
    let nosniff = HeaderValue::from_static("nosniff");
    answer
        .headers_mut()
        .insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    answer
}

/// Whether a `Host` header names this machine: an address, which no foreign name can stand for, or one of its names.
fn is_of(host: &str, names: &[String]) -> bool {
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    name.parse::<IpAddr>().is_ok() || names.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_own_names_are_ours_and_no_other_name_is() {
        let names = ["localhost", "ip-10-0-0-10", "ip-10-0-0-10.ec2.internal"].map(str::to_owned);
        for host in [
            "localhost",
            "LOCALHOST:9105",
            "127.0.0.1",
            "127.0.0.1:9105",
            "10.0.0.10:9105",
            "[::1]:9105",
            "[::1]",
            "ip-10-0-0-10:9105",
            "ip-10-0-0-10.ec2.internal.",
        ] {
            assert!(is_of(host, &names), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:9105",
            "localhost.evil.example",
            "127.0.0.1.evil.example:9105",
            "[evil.example]:9105",
            "127.0.0.1@evil.example",
        ] {
            assert!(!is_of(host, &names), "{host}");
        }
    }
}
