//! Readers of the event stream.

use crate::event::Envelope;
use crate::record::Record;

/// A sink could not take an event.
#[derive(Debug, thiserror::Error)]
#[error("{sink} did not take an event")]
pub struct SinkError {
    /// Which sink, such as `ledger`.
    pub sink: &'static str,
    #[source]
    pub source: std::io::Error,
}

/// Takes every event in order. A sink that fails costs a warning, never a boot.
pub trait Sink: Send {
    /// Takes one event, and the record as it is after it.
    ///
    /// # Errors
    ///
    /// Returns [`SinkError`] when the event could not be recorded; it is not offered again.
    fn accept(&mut self, envelope: &Envelope, record: &Record) -> Result<(), SinkError>;
}
