//! Moves the bytes of assets here: over kept connections, several pieces of a large file at once, from whichever
//! mirror answers, and on from where it was cut off.
//!
//! | part | what it knows |
//! |---|---|
//! | [`pool`] | how many requests run at once, and whose turn is next |
//! | [`breaker`] | which hosts failed lately |
//! | [`request`] | one request for a piece of a file, and what its answer means |
//! | [`patience`] | how long a mirror is waited for |
//! | [`pace`] | whether the network is what takes the time |
//! | [`ahead`] | how much is asked for, and what is fetched ahead of its turn |
//! | [`piece`] | a piece that is fetched ahead of its turn, and how large it is |
//! | [`claims`] | how long the mirrors say that a file is, and whose word is taken |
//! | [`download_plan`] | which mirrors are asked, in which order, and what is known of the file |
//! | [`learn`] | what an answer says of the file, and whether that is believed |
//! | [`download`] | the bytes of one asset, in order |

mod ahead;
mod breaker;
mod claims;
mod download;
mod download_plan;
mod learn;
mod pace;
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
