//! Quantities of Kubernetes (`k8s.io/apimachinery/pkg/api/resource`), printed as the plain numbers that flags want.

/// Reads a quantity, such as `3140m`, `1.5Ki` or `2e3`, and prints it as a decimal without trailing zeros: `3.14`, `1536`,
/// `2000`. `None` where the text is none, or one beyond 38 digits.
pub(super) fn decimal(text: &str) -> Option<String> {
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let digits = format!("{whole}{fraction}").parse::<i128>().ok()?;
    let scale = i32::try_from(fraction.len()).ok()?;
    let printed = match factor(suffix)? {
        Factor::Binary(shift) => print(digits.checked_mul(1_i128 << shift)?, -scale)?,
        Factor::Decimal(exponent) => print(digits, exponent.checked_sub(scale)?)?,
    };
    Some(if printed == "0" {
        printed
    } else {
        format!("{sign}{printed}")
    })
}

/// What a suffix multiplies by.
enum Factor {
    /// Two to this power.
    Binary(u32),
    /// Ten to this power.
    Decimal(i32),
}

fn factor(suffix: &str) -> Option<Factor> {
    const DECIMAL: &[(&str, i32)] = &[
        ("n", -9),
        ("u", -6),
        ("m", -3),
        ("", 0),
        ("k", 3),
        ("M", 6),
        ("G", 9),
        ("T", 12),
        ("P", 15),
        ("E", 18),
    ];
    const BINARY: &[&str] = &["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    if let Some((_, exponent)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        return Some(Factor::Decimal(*exponent));
    }
    if let Some(at) = BINARY.iter().position(|name| *name == suffix) {
        return Some(Factor::Binary(10 * (u32::try_from(at).ok()? + 1)));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    Some(Factor::Decimal(exponent))
}

/// Prints `digits` times ten to the power of `exponent`.
fn print(digits: i128, exponent: i32) -> Option<String> {
    let Ok(places) = usize::try_from(-exponent) else {
        let power = 10_i128.checked_pow(u32::try_from(exponent).ok()?)?;
        return Some(digits.checked_mul(power)?.to_string());
    };
    // Beyond the digits that any number here has.
    if places > 64 {
        return None;
    }
    let padded = format!("{digits:0>width$}", width = places + 1);
    let (whole, fraction) = padded.split_at(padded.len() - places);
    let fraction = fraction.trim_end_matches('0');
    Some(if fraction.is_empty() {
        whole.to_owned()
    } else {
        format!("{whole}.{fraction}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_print_as_plain_numbers() {
        for (text, wanted) in [
            ("3140m", "3.14"),
            ("42", "42"),
            ("3.14", "3.14"),
            ("0.10", "0.1"),
            ("1.5Ki", "1536"),
            ("2e3", "2000"),
            ("2E-3", "0.002"),
            ("5k", "5000"),
            ("-250m", "-0.25"),
            ("0m", "0"),
            ("-0", "0"),
            (".5", "0.5"),
            ("100n", "0.0000001"),
        ] {
            assert_eq!(decimal(text).as_deref(), Some(wanted), "{text}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_none() {
        for text in ["", "m", ".", "1.2.3", "1x", "1 k", "e3", "9e99", "1e-99"] {
            assert_eq!(decimal(text), None, "{text:?}");
        }
    }
}
