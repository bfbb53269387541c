//! Readers of the event stream on this machine: the ledger on disk, the journal, the console and the
//! status file. Each takes events in order; one that fails costs a warning, never a boot.

mod console;
mod journal;
mod ledger;
mod sentence;
mod status_file;
mod waits;

pub use console::Console;
pub use journal::Journal;
pub use ledger::{Ledger, latest, ledger_of, ledgers, read_ledger};
pub use status_file::StatusFile;
