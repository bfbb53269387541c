//! The running agent, asked through its endpoint.

use crate::args::EndpointArguments;
use quake_http::{HttpFailure, build_endpoint_client};
use std::time::Duration;

/// The longest answer that is read: events of a boot are some hundred bytes each, and there are some hundreds.
const MOST_BYTES: usize = 64 << 20;

/// Asks the running agent; the HTTP status and the body.
///
/// # Errors
///
/// Returns the client's error when no agent answers in time.
pub(crate) async fn ask(
    endpoint: &EndpointArguments,
    path: &str,
    timeout: Duration,
) -> Result<(u16, String), HttpFailure> {
    let (socket, base) = match endpoint.address {
        Some(address) => (None, format!("http://{address}")),
        None => (
            Some(endpoint.socket.as_path()),
            "http://localhost".to_owned(),
        ),
    };
    let client = build_endpoint_client(socket, timeout);
    let answer = client.get(&format!("{base}{path}")).send().await?;
    let status = answer.status().as_u16();
    Ok((status, answer.text(MOST_BYTES).await?))
}
