//! How the bytes of an asset are to be had, what is known of it, and why they may not come.

use super::claims::Claims;
use quake_model::ports::PortError;
use std::collections::BTreeMap;

/// Where an asset may be had.
#[derive(Debug, Clone)]
pub(crate) struct Mirror {
    /// Its place in the asset's list.
    pub(crate) number: usize,
    pub(crate) url: String,
    /// Host and port, for the breaker.
    pub(crate) host: String,
}

/// How the bytes are to be had.
#[derive(Debug, Clone)]
pub(crate) struct DownloadPlan {
    /// In the order in which they are asked.
    pub(crate) mirrors: Vec<Mirror>,
    /// As one answer, and not in pieces.
    pub(crate) is_whole: bool,
    /// Whether other mirrors are asked in courses of their own, so that a slow one is given up.
    pub(crate) has_alternative: bool,
}

/// What is known of the file.
#[derive(Debug, Clone, Default)]
pub(crate) struct DownloadState {
    /// How many bytes it has.
    pub(super) total: Option<u64>,
    /// How many bytes each mirror says that it has.
    pub(crate) claims: Claims,
    /// What tells it, on each mirror, from a later one of the same name.
    pub(super) validators: BTreeMap<usize, String>,
    /// The mirrors whose bytes are in what came so far.
    pub(crate) sources: Vec<usize>,
    /// How many answers those bytes came in.
    pub(crate) answers: u32,
}

impl DownloadState {
    /// Nothing, but `received` bytes that an earlier try left, and what mirrors said before.
    pub(crate) fn after(received: u64, claims: Claims) -> Self {
        Self {
            claims,
            answers: u32::from(received > 0),
            ..Self::default()
        }
    }
}

/// Why a flow ended before its bytes did.
#[derive(Debug)]
pub(crate) enum StopReason {
    /// No mirror goes on; what each did is in [`Download::failed`](super::Download::failed).
    Mirrors,
    /// What came so far is not of the file that the mirrors have now.
    Anew,
    /// This machine does not take the bytes: the arrival knows why.
    Here,
    /// This mirror sends more bytes than the file can have; its bytes are in what came so far.
    TooMany(usize, PortError),
}
