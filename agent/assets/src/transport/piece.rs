//! A piece of a file that is fetched ahead of its turn, and waits in memory for it.

use super::pool::Permit;
use super::request::{Servers, ask};
use quake_model::ports::{Condition, ObjectPiece, PortError};
use tokio::task::JoinHandle;

/// How large such a piece is: what waits in memory is at most this for each permit.
pub(super) const PIECE_BYTES: u64 = 512 << 10;

/// A piece on its way. Dropped, it is given up.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) from: u64,
    pub(super) until: u64,
    /// Which mirror it is asked of.
    pub(super) mirror: usize,
    task: JoinHandle<Result<Vec<u8>, PortError>>,
    _permit: Permit,
}

impl Piece {
    /// Begins to fetch what is `wanted`, whose end is known.
    pub(super) fn begin(
        servers: Servers,
        (mirror, url): (usize, String),
        wanted: ObjectPiece,
        permit: Permit,
    ) -> Self {
        let (from, until) = (wanted.from, wanted.until.unwrap_or(wanted.from));
        Self {
            from,
            until,
            mirror,
            task: tokio::spawn(async move { fetch(&servers, &url, &wanted, until).await }),
            _permit: permit,
        }
    }

    /// Its bytes. It may be asked again if the wait for it is given up.
    ///
    /// # Errors
    ///
    /// Those of the request; `Unreachable` when fewer or more bytes came.
    pub(super) async fn bytes(&mut self) -> Result<Vec<u8>, PortError> {
        match (&mut self.task).await {
            Ok(fetched) => fetched,
            Err(error) => Err(PortError::new(
                Condition::Unreachable,
                "the fetch of a piece ended early",
            )
            .because(&error)),
        }
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn fetch(
    servers: &Servers,
    url: &str,
    wanted: &ObjectPiece,
    until: u64,
) -> Result<Vec<u8>, PortError> {
    let mut answer = ask(servers, url, wanted).await?;
    if !answer.is_piece {
        let summary = "a mirror that sent pieces sends the whole file now";
        return Err(PortError::new(Condition::Unreachable, summary));
    }
    let length = usize::try_from(until - wanted.from).unwrap_or(usize::MAX);
    let mut bytes = Vec::with_capacity(length);
    while let Some(chunk) = answer.chunk().await? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > length {
            break;
        }
    }
    let count = bytes.len();
    if count == length {
        return Ok(bytes);
    }
    let summary = format!("{count} bytes came of {length}");
    Err(PortError::new(Condition::Unreachable, summary))
}
