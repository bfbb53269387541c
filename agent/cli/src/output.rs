//! Standard output and error, either of which may be closed, as by `| head`: then there is nobody left to
//! tell, and no harm.

use std::fmt::Display;
use std::io::Write;

/// Prints a line.
pub(crate) fn line(text: impl Display) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Prints text that brings its own line ends.
pub(crate) fn text(text: impl Display) {
    let _ = write!(std::io::stdout(), "{text}");
}

/// Prints a line to standard error.
pub(crate) fn error_line(text: impl Display) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Prints text to standard error that brings its own line ends.
pub(crate) fn error_text(text: impl Display) {
    let _ = write!(std::io::stderr(), "{text}");
}
