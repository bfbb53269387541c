//! Metrics as text, read: strictly, for a scraper forgives what another does not.

/// A format of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The text format 0.0.4.
    Text,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

/// All samples of one declared name.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// The name it is declared under.
    pub name: String,
    /// `counter`, `gauge`, …
    pub kind: String,
    pub help: String,
    /// Its samples, in their order.
    pub samples: Vec<Sample>,
}

/// One sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Its name, which may have a suffix beside the family's.
    pub name: String,
    /// Names and values of its labels.
    pub labels: Vec<(String, String)>,
    pub value: f64,
}

/// Reads families; each has one HELP, one TYPE and then its samples, one after the other.
///
/// # Errors
///
/// Returns the first line that is not so.
pub fn read_families(text: &str, format: Format) -> Result<Vec<Family>, String> {
    let mut lines = text
        .strip_suffix('\n')
        .ok_or("no line end at the end")?
        .split('\n');
    let mut families: Vec<Family> = Vec::new();
    let mut help: Option<(String, String)> = None;
    let mut has_ended = false;
    for line in &mut lines {
        if has_ended {
            return Err(format!("after # EOF: {line}"));
        }
        if line.is_empty() {
            return Err("an empty line".to_owned());
        } else if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, words) = rest.split_once(' ').unwrap_or((rest, ""));
            help = Some((name.to_owned(), words.to_owned()));
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap_or((rest, ""));
            let help = help
                .take()
                .filter(|(of, words)| of == name && !words.is_empty());
            let (_, help) = help.ok_or(format!("no HELP before the TYPE of {name}"))?;
            families.push(begun(&families, name, kind, help)?);
        } else if line == "# EOF" && format == Format::OpenMetrics {
            has_ended = true;
        } else if line.starts_with('#') {
            return Err(format!("a comment that is neither HELP nor TYPE: {line}"));
        } else {
            let sample = sample(line).map_err(|why| format!("{why}: {line}"))?;
            let family = families
                .last_mut()
                .filter(|family| help.is_none() && family.takes(&sample, format));
            let family = family.ok_or(format!("no TYPE of its own right before: {line}"))?;
            family.samples.push(sample);
        }
    }
    match (format, has_ended) {
        (Format::OpenMetrics, false) => Err("no # EOF at the end".to_owned()),
        (Format::OpenMetrics, true) | (Format::Text, _) => Ok(families),
    }
}

fn begun(families: &[Family], name: &str, kind: &str, help: String) -> Result<Family, String> {
    if families.iter().any(|family| family.name == name) {
        return Err(format!("{name} is declared twice"));
    }
    Ok(Family {
        name: name.to_owned(),
        kind: kind.to_owned(),
        help,
        samples: Vec::new(),
    })
}

impl Family {
    /// Whether the sample's name is the family's, with the suffix that the format gives its kind.
    fn takes(&self, sample: &Sample, format: Format) -> bool {
        let suffix = match (format, self.kind.as_str()) {
            (Format::OpenMetrics, "counter") => "_total",
            (Format::OpenMetrics, "info") => "_info",
            _ => "",
        };
        sample.name == format!("{}{suffix}", self.name)
    }
}

fn sample(line: &str) -> Result<Sample, String> {
    let end = line.find(['{', ' ']).ok_or("a sample without a value")?;
    let (name, mut rest) = line.split_at(end);
    let mut labels = Vec::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        loop {
            let (label, after) = rest.split_once("=\"").ok_or("labels that do not end")?;
            let (value, after) = quoted(after)?;
            labels.push((label.to_owned(), value));
            match (after.strip_prefix(','), after.strip_prefix('}')) {
                (Some(after), _) => rest = after,
                (None, Some(after)) => {
                    rest = after;
                    break;
                }
                (None, None) => return Err("labels that do not end".to_owned()),
            }
        }
    }
    let value = rest.strip_prefix(' ').ok_or("no blank before the value")?;
    let value = value.parse().map_err(|_| "a value that is no number")?;
    Ok(Sample {
        name: name.to_owned(),
        labels,
        value,
    })
}

/// A label's value up to its closing quote, and what follows it.
fn quoted(text: &str) -> Result<(String, &str), String> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, found)) = characters.next() {
        match found {
            '"' => return Ok((value, &text[at + 1..])),
            '\\' => value.push(match characters.next() {
                Some((_, 'n')) => '\n',
                Some((_, plain @ ('\\' | '"'))) => plain,
                _ => return Err("an invalid escape".to_owned()),
            }),
            plain => value.push(plain),
        }
    }
    Err("a quote that does not end".to_owned())
}
