//! Moves the bytes of assets here: over kept connections, several pieces of a large file at once, from whichever
//! mirror answers, and on from where it was cut off.
//!
//! | part | what it knows |
//! |---|---|
//! | [`pool`] | how many requests run at once, and whose turn is next |
//! | [`breaker`] | which hosts failed lately |
//! | [`request`] | one request for a piece of a file, and what its answer means |
//! | [`patience`] | how long a mirror is waited for |
//! | [`piece`] | a piece that is fetched ahead of its turn |
//! | [`claims`] | how long the mirrors say that a file is, and whose word is taken |
//! | [`course`] | which mirrors are asked, in which order, and what is known of the file |
//! | [`learn`] | what an answer says of the file, and whether that is believed |
//! | [`flow`] | the bytes of one asset, in order |

mod breaker;
mod claims;
mod download;
mod download_plan;
mod learn;
mod patience;
mod piece;
mod pool;
mod request;

pub(crate) use breaker::Breakers;
pub(crate) use claims::Claims;
pub(crate) use download::Download;
pub(crate) use download_plan::{DownloadPlan, DownloadState, Mirror, StopReason};
pub(crate) use pool::Pool;
pub(crate) use request::Servers;
