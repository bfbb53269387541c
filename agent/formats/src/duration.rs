//! Durations as Go writes and prints them, because kops passes every duration through Go.

use std::time::Duration;

const NANOSECOND: i128 = 1;
const MICROSECOND: i128 = 1_000 * NANOSECOND;
const MILLISECOND: i128 = 1_000 * MICROSECOND;
const SECOND: i128 = 1_000 * MILLISECOND;
const MINUTE: i128 = 60 * SECOND;
const HOUR: i128 = 60 * MINUTE;

/// Reads a duration, such as `90s`, `1h30m` or `1.5s`, and prints it as Go does: `1m30s`, `1h30m0s`, `1.5s`.
///
/// `None` where the text is no duration, or one beyond what Go holds (292 years).
pub fn normalise(text: &str) -> Option<String> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let nanoseconds = magnitude(digits)?;
    let sign = if negative && nanoseconds > 0 { "-" } else { "" };
    Some(format!("{sign}{}", print(nanoseconds)))
}

/// Reads a duration without a sign, such as `90s`, `1h30m` or `850ms`.
///
/// `None` where the text is none, or one beyond what Go holds.
pub fn parse(text: &str) -> Option<Duration> {
    let nanoseconds = u64::try_from(magnitude(text)?).ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

fn magnitude(digits: &str) -> Option<i128> {
    let nanoseconds = if digits == "0" { 0 } else { read(digits)? };
    (nanoseconds <= i128::from(i64::MAX)).then_some(nanoseconds)
}

fn read(text: &str) -> Option<i128> {
    let mut rest = text;
    let mut total = 0_i128;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(end);
        let unit_end = tail
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(tail.len());
        let (unit, next) = tail.split_at(unit_end);
        total = total.checked_add(scale(number, unit_size(unit)?)?)?;
        rest = next;
    }
    Some(total)
}

fn unit_size(unit: &str) -> Option<i128> {
    match unit {
        "ns" => Some(NANOSECOND),
        "us" | "µs" | "μs" => Some(MICROSECOND),
        "ms" => Some(MILLISECOND),
        "s" => Some(SECOND),
        "m" => Some(MINUTE),
        "h" => Some(HOUR),
        _ => None,
    }
}

fn scale(number: &str, unit: i128) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') || whole.len() > 19 {
        return None;
    }
    let whole: i128 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    // Fifteen digits are below a nanosecond for every unit.
    let fraction = &fraction[..fraction.len().min(15)];
    let part: i128 = if fraction.is_empty() {
        0
    } else {
        fraction.parse().ok()?
    };
    let digits = u32::try_from(fraction.len()).ok()?;
    Some(whole * unit + part * unit / 10_i128.pow(digits))
}

fn print(nanoseconds: i128) -> String {
    if nanoseconds == 0 {
        return "0s".to_owned();
    }
    for (unit, name) in [(MICROSECOND, "ns"), (MILLISECOND, "µs"), (SECOND, "ms")] {
        if nanoseconds < unit {
            let size = unit / 1_000;
            return format!("{}{name}", decimal(nanoseconds, size));
        }
    }
    let seconds = format!("{}s", decimal(nanoseconds % MINUTE, SECOND));
    let (hours, minutes) = (nanoseconds / HOUR, nanoseconds % HOUR / MINUTE);
    match (hours, minutes) {
        (0, 0) => seconds,
        (0, _) => format!("{minutes}m{seconds}"),
        _ => format!("{hours}h{minutes}m{seconds}"),
    }
}

/// `amount / unit` as a decimal without trailing zeros.
fn decimal(amount: i128, unit: i128) -> String {
    let (whole, mut rest) = (amount / unit, amount % unit);
    let mut fraction = String::new();
    while rest > 0 && fraction.len() < 9 {
        rest *= 10;
        fraction.push_str(&(rest / unit).to_string());
        rest %= unit;
    }
    if fraction.is_empty() {
        whole.to_string()
    } else {
        format!("{whole}.{fraction}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_print_as_go_prints_them() {
        for (text, wanted) in [
            ("1m0s", "1m0s"),
            ("60s", "1m0s"),
            ("90m", "1h30m0s"),
            ("1.5s", "1.5s"),
            ("1500ms", "1.5s"),
            ("250ms", "250ms"),
            ("1us", "1µs"),
            ("0", "0s"),
            ("0s", "0s"),
            ("24h", "24h0m0s"),
            ("-2s", "-2s"),
            ("1h2.5s", "1h0m2.5s"),
        ] {
            assert_eq!(normalise(text).as_deref(), Some(wanted), "{text}");
        }
    }

    #[test]
    fn a_duration_of_go_is_read_in_seconds() {
        for (text, wanted) in [
            ("1m22.691s", Some(82)),
            ("9.8s", Some(9)),
            ("412.5ms", Some(0)),
            ("1h0m3s", Some(3603)),
            ("soon", None),
            ("-2s", None),
        ] {
            let seconds = parse(text).map(|it| it.as_secs());
            assert_eq!(seconds, wanted, "{text}");
        }
    }

    #[test]
    fn what_go_refuses_is_no_duration() {
        for text in [
            "",
            "-",
            "1",
            "1x",
            "s",
            ".s",
            "1.2.3s",
            "1 s",
            "9999999999h",
        ] {
            assert_eq!(normalise(text), None, "{text:?}");
        }
    }
}
