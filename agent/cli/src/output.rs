//! Standard output, which has results and nothing else, and standard error, which has all other talk. Either may be
//! closed, as by `| head`: then there is nobody left to tell, and no harm.
//!
//! Text comes here with its styles (see [`style`]), and this is the one place that decides whether they are shown: as
//! `--color` says, else as `NO_COLOR` and `CLICOLOR_FORCE` say, else only on a terminal.

pub(crate) mod style;

use anstream::adapter::strip_str;
use anstream::{AutoStream, ColorChoice};
use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt::Display;
use std::io::Write;

pub(crate) fn line(text: impl Display) {
    let _ = writeln!(anstream::stdout(), "{text}");
}

/// Prints text that brings its own line ends.
pub(crate) fn text(text: impl Display) {
    let _ = write!(anstream::stdout(), "{text}");
}

/// Prints a line to standard error.
pub(crate) fn error_line(text: impl Display) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// Prints text to standard error that brings its own line ends.
pub(crate) fn error_text(text: impl Display) {
    let _ = write!(anstream::stderr(), "{text}");
}

/// The text without its styles, for what goes into a file.
pub(crate) fn without_style(text: &str) -> String {
    strip_str(text).to_string()
}

/// The text as standard output shows it, for what has to print it in a way of its own.
pub(crate) fn as_shown(text: &str) -> Cow<'_, str> {
    match AutoStream::choice(&std::io::stdout()) {
        ColorChoice::Never => Cow::Owned(strip_str(text).to_string()),
        ColorChoice::Auto | ColorChoice::Always | ColorChoice::AlwaysAnsi => Cow::Borrowed(text),
    }
}

/// Follows `--color` among the words of a command line. They are looked through before they are parsed, so that help and
/// complaints about the command line follow it too.
pub(crate) fn follow_color(words: &[OsString]) {
    color_asked(words).write_global();
}

fn color_asked(words: &[OsString]) -> ColorChoice {
    let mut words = words.iter().skip(1).map(|word| word.to_string_lossy());
    let mut requested = ColorChoice::Auto;
    while let Some(word) = words.next() {
        let when = match word.as_ref() {
            "--" => break,
            "--color" => words.next(),
            word => word
                .strip_prefix("--color=")
                .map(|when| when.to_owned().into()),
        };
        match when.as_deref() {
            Some("always") => requested = ColorChoice::Always,
            Some("never") => requested = ColorChoice::Never,
            Some("auto") => requested = ColorChoice::Auto,
            // What is none of them is refused by the parser.
            Some(_) | None => {}
        }
    }
    requested
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn color_is_as_the_command_line_says_wherever_it_says_so() {
        let table = [
            ("status", ColorChoice::Auto),
            ("--color=never status", ColorChoice::Never),
            ("status --color always", ColorChoice::Always),
            ("status --color=always --color never", ColorChoice::Never),
            ("explain -- --color=always", ColorChoice::Auto),
            ("status --color=sometimes", ColorChoice::Auto),
        ];
        for (line, wanted) in table {
            let words: Vec<OsString> = std::iter::once("quake-agent")
                .chain(line.split(' '))
                .map(Into::into)
                .collect();
            assert_eq!(color_asked(&words), wanted, "{line}");
        }
    }
}
