//! Where the value begins and ends that stands beside a name: quoted, plain, a block of lines, a header, a parameter.

use super::block::{Column, length_of_block};
use super::harmless::{is_path, is_plain, is_reference, is_word};
use super::hex::is_key_of_file;
use super::label::{Form, Parting, Sign};
use super::line::{Margin, blanks, end_of_line, length_of_break};
use super::opaque::{is_odd, is_opaque, is_opaque_word};
use super::parameter::{behind_scheme, is_escape, parameter};
use super::quote::{
    backslashes_at_break, backslashes_before, between_many, close, closed, length_of_header, quoted,
};
use super::shape::run;
use super::word::{break_before, is_prose, length_of_word, length_of_wrapping, trimmed};
use std::ops::Range;

/// How far back the start of a line is looked for: no name stands deeper.
const LONGEST_INDENTATION: usize = 128;

/// How far back the start of a line is looked for whose column matters.
const LONGEST_LINE: usize = 1024;

/// A name in a text, and what parts it from its value.
#[derive(Debug)]
pub(super) struct Place<'text> {
    pub(super) text: &'text str,
    pub(super) name: Range<usize>,
    pub(super) quoted: bool,
    pub(super) parting: &'text Parting,
}

/// The part of the value that must not be seen, or nothing if there is none.
pub(super) fn find_value(place: &Place<'_>, form: Form) -> Option<Range<usize>> {
    if !place.is_parted(form) {
        return None;
    }
    let bytes = place.text.as_bytes();
    let value = match form {
        Form::Parameter | Form::Query => parameter(bytes, place.parting),
        _ => place.read(form)?,
    };
    let value = match form {
        Form::Header => behind_scheme(bytes, value),
        _ => value,
    };
    let words = place.text.get(value.clone())?;
    // `token: 1150 bytes`
    let is_size =
        words.bytes().all(|b| b.is_ascii_digit()) && place.text[value.end..].starts_with(" bytes");
    if !is_size && (is_secret(words, form) || place.is_key_of_file(words)) {
        return Some(value);
    }
    // `KEY=value program`: what looks like no secret in whole may begin with one.
    let (first, _) = words.split_once(' ')?;
    let is_of_value = |b: u8| b.is_ascii_alphanumeric() || b"+/=_-.".contains(&b);
    let is_first = matches!(place.parting.sign, Sign::Equals | Sign::Word)
        && form.is_doubtful()
        && first.bytes().all(is_of_value)
        && is_secret(first, form);
    is_first.then(|| value.start..value.start + first.len())
}

/// Whether a value that is read so is worth a mask.
pub(super) fn is_secret(words: &str, form: Form) -> bool {
    let doubtful = |words| !is_reference(words) && !is_path(words);
    !is_plain(words)
        && match form {
            Form::Encoded => !is_word(words),
            Form::Doubtful => doubtful(words),
            Form::Secretive => doubtful(words) && !begins_with_number(words),
            Form::Code => is_number(&words.replace(['-', ' '], "")) || is_opaque(words, true),
            Form::Typed => is_number(&words.replace(['-', ' '], "")) || is_odd(words),
            Form::Odd => doubtful(words) && (is_odd(words) || is_opaque(words, false)),
            Form::Opaque => is_opaque(words, false),
            Form::OpaqueOrHex => is_opaque(words, true),
            Form::Setting | Form::Header | Form::Parameter | Form::Query => true,
        }
}

/// `12`, `12 fail: 3`
fn begins_with_number(words: &str) -> bool {
    let first = words.split(' ').next().unwrap_or_default();
    first.bytes().all(|b| b.is_ascii_digit())
}

/// Whether it is a number long enough to be a PIN.
fn is_number(words: &str) -> bool {
    words.len() >= 4 && words.bytes().all(|b| b.is_ascii_digit())
}

/// How the line begins that a name stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// With the name, but for its margin, its indentation and what a list puts there.
    Whole,
    /// With the name, behind an escaped line break of a text in quotes that have so many backslashes.
    Escaped {
        depth: usize,
    },
    Within,
}

impl Place<'_> {
    /// Whether the sign makes a name and a value of what stands beside it.
    fn is_parted(&self, form: Form) -> bool {
        let bytes = self.text.as_bytes();
        let before = self.name.start.checked_sub(1).map(|at| bytes[at]);
        let next = bytes.get(self.parting.end).copied();
        match (self.parting.sign, form) {
            (Sign::Equals, Form::Query) | (Sign::EncodedEquals, Form::Query) => {
                matches!(before, Some(b'?' | b'&' | b'%' | b';' | b'\\'))
                    || is_escape(bytes, self.name.start)
            }
            (Sign::Equals, _) => match next {
                // A comparison, of which the other side is in quotes.
                Some(b'=') => self.is_compared(),
                // `--env=NAME=value`
                _ => before != Some(b'=') || self.is_behind_flag(),
            },
            (Sign::EncodedEquals, _) => true,
            (Sign::Colon | Sign::Blank, Form::Parameter | Form::Query) => false,
            (Sign::Colon, _) => {
                let path = match before {
                    Some(b':') => !self.quoted && !self.is_qualified(),
                    Some(b'/') => !self.quoted && !self.is_before_opaque(),
                    _ => false,
                };
                !path && next != Some(b':') && next != Some(b'=') && !self.begins_address()
            }
            (_, Form::Parameter | Form::Query) => false,
            (Sign::Blank, _) => {
                let rest = &bytes[self.parting.end..];
                let next = rest.get(blanks(rest)).copied();
                next.is_some_and(|b| b != b'-' && b != b'\n')
            }
            (Sign::Tag, _) => {
                let rest = &bytes[self.parting.end..];
                rest[run(rest, |b| !b"<\n\r".contains(&b))..].starts_with(b"</")
            }
            (Sign::Quote | Sign::Verb | Sign::Word | Sign::Item | Sign::Directive, _) => true,
        }
    }

    fn is_key_of_file(&self, words: &str) -> bool {
        let is_setting = self.parting.sign == Sign::Equals && self.line() == Line::Whole;
        is_setting && is_key_of_file(&self.text[self.name.clone()], words)
    }

    /// `/var/lib/rabbitmq/.erlang.cookie: value`
    fn is_before_opaque(&self) -> bool {
        let rest = &self.text[self.parting.end..];
        let word = rest
            .strip_prefix(' ')
            .map(|rest| &rest[..length_of_word(rest.as_bytes())]);
        word.is_some_and(|word| is_opaque(word, true))
    }

    /// `class::name: 'value'`, as in data of Puppet.
    fn is_qualified(&self) -> bool {
        let bytes = self.text.as_bytes();
        let rest = &bytes[self.parting.end..];
        bytes[..self.name.start].ends_with(b"::")
            && (rest.starts_with(b" '") || rest.starts_with(b" \"") || rest.starts_with(b" \\\""))
    }

    fn is_behind_flag(&self) -> bool {
        let before = &self.text.as_bytes()[..self.name.start - 1];
        let is_of_flag = |b: &&u8| b.is_ascii_alphanumeric() || **b == b'-';
        let length = before.iter().rev().take(32).take_while(is_of_flag).count();
        let is_variable = |b: &&u8| b.is_ascii_uppercase() || **b == b'_';
        let variable = before.iter().rev().take(48).take_while(is_variable).count();
        before[before.len() - length..].starts_with(b"-") || variable >= 3
    }

    fn is_compared(&self) -> bool {
        let rest = &self.text.as_bytes()[self.parting.end..];
        let signs = run(rest, |b| b == b'=' || b == b' ');
        matches!(rest.get(signs), Some(b'"' | b'\''))
    }

    fn begins_address(&self) -> bool {
        self.text.as_bytes()[self.parting.end..].starts_with(b"//")
    }

    fn read(&self, form: Form) -> Option<Range<usize>> {
        let bytes = self.text.as_bytes();
        let line = self.line();
        let mut start = self.parting.end;
        // `name => value`
        start += usize::from(bytes.get(start) == Some(&b'>'));
        // `name == "value"`
        start += run(&bytes[start..], |b| {
            b == b'=' && self.parting.sign == Sign::Equals
        });
        start += blanks(&bytes[start..]);
        start += length_of_wrapping(&bytes[start..]);
        start += length_of_continuation(&bytes[start..]);
        let rest = &bytes[start..];
        if matches!(rest.first(), None | Some(b'\n' | b'\r')) {
            return self.on_next_line(line, start);
        }
        if self.ends_in_quotes(start) {
            // `"password:" "value"`
            let next = start + 1;
            let next = next + run(&bytes[next..], |b| b == b' ' || b == b',');
            let inner = closed(&bytes[next..])?;
            return Some(next + inner.start..next + inner.end);
        }
        if let Some(inner) = between_many(rest).or_else(|| quoted(rest)) {
            return Some(start + inner.start..start + inner.end);
        }
        if matches!(rest, [b'|' | b'>', ..]) && self.parting.sign == Sign::Colon {
            return self.block(line, start);
        }
        Some(start..start + self.plain(line, form, start))
    }

    /// Whether a text in quotes ends here that began with the name.
    fn ends_in_quotes(&self, start: usize) -> bool {
        let bytes = self.text.as_bytes();
        let outer = self.name.start.checked_sub(1).map(|at| bytes[at]);
        let is_quote = matches!(outer, Some(b'"' | b'\''));
        is_quote
            && !self.quoted
            && outer.as_ref() == bytes.get(start)
            && start <= self.parting.end + 1
    }

    /// The length of a value without quotes.
    fn plain(&self, line: Line, form: Form, start: usize) -> usize {
        let bytes = self.text.as_bytes();
        let rest = &bytes[start..];
        // `"NAME=a value"`: the quotes are around both.
        let outer = self.name.start.checked_sub(1).map(|at| bytes[at]);
        if let (Some(quote @ (b'"' | b'\'')), false) = (outer, self.quoted) {
            let depth = backslashes_before(bytes, self.name.start - 1);
            return close(rest, quote, depth);
        }
        match line {
            _ if self.parting.sign == Sign::Tag => run(rest, |b| !b"<\n\r\\".contains(&b)),
            _ if matches!(self.parting.sign, Sign::Verb | Sign::Word) => length_of_word(rest),
            _ if self.parting.sign == Sign::Directive => {
                run(rest, |b| b.is_ascii_graphic() && !b"\"'\\".contains(&b))
            }
            Line::Whole => {
                let end = end_of_line(rest);
                match self.text[start..start + end].find(" #") {
                    Some(comment) => trimmed(rest, comment),
                    None => trimmed(rest, end) + self.folded(line, &rest[end..]).unwrap_or(0),
                }
            }
            Line::Escaped { depth } => {
                let end = close(rest, b'"', depth);
                trimmed(rest, break_before(&rest[..end]))
            }
            Line::Within if form == Form::Header => trimmed(rest, length_of_header(rest)),
            Line::Within if self.is_prose(rest) => 0,
            Line::Within => length_of_word(rest),
        }
    }

    /// Whether what follows a colon is the rest of a sentence, or of a chain of errors.
    fn is_prose(&self, rest: &[u8]) -> bool {
        self.parting.sign == Sign::Colon && is_prose(rest)
    }

    fn line(&self) -> Line {
        let bytes = self.text.as_bytes();
        let start = self.name.start - usize::from(self.quoted && self.name.start > 0);
        let near = &bytes[start.saturating_sub(LONGEST_INDENTATION)..start];
        let near = near.strip_suffix(b"export ").unwrap_or(near);
        for (back, byte) in near.iter().rev().enumerate() {
            let before = &near[..near.len() - back];
            match byte {
                b'\n' | b'\r' => return Line::Whole,
                b'n' if before.ends_with(b"\\n") => {
                    let slashes = backslashes_before(before, before.len() - 1);
                    return Line::Escaped { depth: slashes - 1 };
                }
                b' ' if before.ends_with(b"]: ") => return Line::Whole,
                b' ' | b'\t' | b'-' | b'+' | b'|' | b'>' | b'#' | b'*' | b'0'..=b'9' => {}
                _ => return Line::Within,
            }
        }
        match near.len() < LONGEST_INDENTATION {
            true => Line::Whole,
            false => Line::Within,
        }
    }

    /// Where the name stands if its line begins with it, else where its line begins.
    fn column(&self, line: Line) -> Option<Column> {
        let bytes = self.text.as_bytes();
        let from = self.name.start.saturating_sub(LONGEST_LINE);
        let near = &bytes[from..self.name.start];
        let start = near.iter().rposition(|b| b"\n\r".contains(b));
        if start.is_none() && from > 0 {
            return None;
        }
        let said = &near[start.map_or(0, |at| at + 1)..];
        let (margin, length) = Margin::of(said);
        let column = match line {
            Line::Whole => said.len().checked_sub(length + usize::from(self.quoted))?,
            Line::Within => blanks(&said[length..]),
            Line::Escaped { .. } => return None,
        };
        Some(Column { margin, column })
    }

    /// The length of the lines that go on with a plain value of YAML, for they stand deeper and say no name.
    fn folded(&self, line: Line, rest: &[u8]) -> Option<usize> {
        if self.parting.sign != Sign::Colon {
            return None;
        }
        let column = self.column(line)?;
        let mut length = 0;
        loop {
            let start = length + length_of_break(&rest[length..]);
            let next = &rest[start..];
            let next = &next[..end_of_line(next)];
            let goes_on = start > length
                && column
                    .deeper(next)
                    .is_some_and(|said| !said.is_empty() && !is_nested(said));
            if !goes_on {
                return (length > 0).then_some(length);
            }
            length = start + trimmed(next, next.len());
        }
    }

    /// A value that stands alone on the line below its name.
    fn on_next_line(&self, line: Line, end: usize) -> Option<Range<usize>> {
        if self.parting.sign != Sign::Colon {
            return None;
        }
        let bytes = self.text.as_bytes();
        let start = end + length_of_break(&bytes[end..]);
        let next = &bytes[start..];
        let next = &next[..end_of_line(next)];
        let column = self.column(line)?;
        let said = match column.deeper(next) {
            Some(said) => said,
            // A heading, and below it one word that chance made.
            None => column.level(next).filter(|said| is_opaque_word(said))?,
        };
        if is_nested(said) || said.is_empty() {
            return None;
        }
        let value = start + next.len() - said.len();
        match quoted(&bytes[value..]) {
            Some(quoted) => Some(value + quoted.start..value + quoted.end),
            None => Some(value..value + trimmed(said, said.len())),
        }
    }

    /// A block scalar of YAML, from its header on: all lines that stand deeper than the name.
    fn block(&self, line: Line, start: usize) -> Option<Range<usize>> {
        let rest = &self.text.as_bytes()[start..];
        let header = end_of_line(rest);
        if let Line::Escaped { depth } = line {
            // Up to the end of the text in quotes, for its lines are not told apart here.
            return Some(start..start + close(rest, b'"', depth));
        }
        let is_header = |b: &u8| b"|>+-0123456789 ".contains(b);
        let said = rest[..header].split(|b| *b == b'#').next();
        if !said.is_some_and(|said| said.iter().all(is_header)) {
            let depth = backslashes_at_break(rest);
            let quoted = close(&rest[..header], b'"', depth);
            return Some(start..start + trimmed(rest, quoted));
        }
        let length = header + length_of_block(&rest[header..], self.column(line)?);
        (length > header).then_some(start..start + length)
    }
}

/// A backslash at the end of a line, what breaks it, and what stands before the next word; all of it may be escaped.
fn length_of_continuation(bytes: &[u8]) -> usize {
    let slashes = run(bytes, |b| b == b'\\');
    let end = match bytes.get(slashes) {
        Some(b'\n') if slashes == 1 => 2,
        Some(b'n') if slashes >= 3 => slashes + 1,
        Some(_) | None => return 0,
    };
    let rest = &bytes[end..];
    let line = &rest[..end_of_line(rest)];
    let number = Margin::Number.length_in(line).unwrap_or(0);
    let sign = usize::from(matches!(line, [b'+' | b'-', b' ', ..]));
    let margin = number.max(sign);
    end + margin + blanks(&line[margin..])
}

/// Whether a line says names of its own, or nothing at all.
fn is_nested(said: &[u8]) -> bool {
    said.starts_with(b"- ")
        || said.starts_with(b"#")
        || said.trim_ascii_end().ends_with(b":")
        || said.windows(2).any(|pair| pair == b": ")
}
