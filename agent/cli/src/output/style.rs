//! How parts of a text are told apart, by what they mean. Only for text that goes to standard output or standard error
//! through [`crate::output`], which takes the styles out where nobody would see them; never for JSON or for HTTP.
//!
//! No meaning rests on a colour alone: the words say the same.

use clap::builder::styling::{AnsiColor, Effects, Style};
use std::fmt;

/// A text and its style; width and alignment count what is seen.
pub(crate) struct Styled<T> {
    style: Style,
    text: T,
}

/// What is as it should be.
pub(crate) fn good<T: fmt::Display>(text: T) -> Styled<T> {
    styled(AnsiColor::Green.on_default(), text)
}

/// What is wrong: an error, a failed check, a removed line.
pub(crate) fn bad<T: fmt::Display>(text: T) -> Styled<T> {
    styled(AnsiColor::Red.on_default() | Effects::BOLD, text)
}

/// What an operator should know and that stops nothing.
pub(crate) fn warning<T: fmt::Display>(text: T) -> Styled<T> {
    styled(AnsiColor::Yellow.on_default() | Effects::BOLD, text)
}

/// What the eye should find first: a name, a heading.
pub(crate) fn strong<T: fmt::Display>(text: T) -> Styled<T> {
    styled(Style::new() | Effects::BOLD, text)
}

/// What matters less: a label, a time, what was skipped.
pub(crate) fn faint<T: fmt::Display>(text: T) -> Styled<T> {
    styled(Style::new() | Effects::DIMMED, text)
}

fn styled<T>(style: Style, text: T) -> Styled<T> {
    Styled { style, text }
}

impl<T: fmt::Display> fmt::Display for Styled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.style.render())?;
        match (f.width(), f.precision()) {
            (None, None) => write!(f, "{}", self.text)?,
            // Padding belongs to the text, whose escapes have no width.
            _ => f.pad(&self.text.to_string())?,
        }
        write!(f, "{}", self.style.render_reset())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_style_surrounds_its_text_and_has_no_width() {
        assert_eq!(good("ok").to_string(), "\u{1b}[32mok\u{1b}[0m");
        assert_eq!(format!("{:<4}|", strong("ab")), "\u{1b}[1mab  \u{1b}[0m|");
    }

    #[test]
    fn what_is_not_shown_in_colour_is_plain() {
        let text = format!("{} {} {}", bad("a"), warning("b"), faint("c"));
        assert_eq!(anstream::adapter::strip_str(&text).to_string(), "a b c");
    }
}
