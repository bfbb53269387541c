//! Quantities of Kubernetes (`k8s.io/apimachinery/pkg/api/resource`), printed as the numbers that
//! flags and configuration files want.
//!
//! nodeup prints a quantity of a flag with `Quantity.AsDec().String()` (`pkg/flagbuilder`, kops v1.36.2).
//! That text keeps every decimal place that the quantity was written with: `3140m` is `3.140`.

/// Digits of a quantity that Go reads into 64 bits; longer ones go by way of its big decimals.
const SHORT: usize = 18;

/// Decimal places of the smallest quantity, a billionth; a big decimal is always rounded up to it.
const PLACES: i32 = 9;

/// The largest quantity with a binary suffix.
const LARGEST_BINARY: i128 = i64::MAX as i128;

/// Exponents beyond this are none that a setting has.
const EXPONENTS: i32 = 64;

/// Reads a quantity, such as `3140m`, `1.5Ki` or `2e3`, and prints it as nodeup prints it into a flag:
/// `3.140`, `1536.000000000`, `2000`. `None` where the text is none, or one beyond 38 digits.
pub fn flag_text(text: &str) -> Option<String> {
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
    let amount = amount(whole.trim_start_matches('0'), fraction, factor(suffix)?)?;
    let printed = amount.print()?;
    Some(match amount.unscaled {
        0 => printed,
        _ => format!("{sign}{printed}"),
    })
}

/// Reads a quantity and prints it as a decimal without trailing zeros: `3.14`, `1536`, `2000`.
pub fn decimal(text: &str) -> Option<String> {
    let text = flag_text(text)?;
    Some(match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    })
}

/// `unscaled` divided by ten to the power of `scale`.
struct Amount {
    unscaled: i128,
    scale: i32,
}

/// The amount with the decimal places that Go's `ParseQuantity` leaves it with. `whole` begins with no zero.
fn amount(whole: &str, fraction: &str, factor: Factor) -> Option<Amount> {
    let digits = format!("0{whole}{fraction}").parse::<i128>().ok()?;
    let (length, places) = (whole.len().max(1), i32::try_from(fraction.len()).ok()?);
    match factor {
        Factor::Decimal(exponent) => {
            let scale = places.checked_sub(exponent)?;
            let is_short = length + fraction.len() <= SHORT && scale <= PLACES;
            let amount = Amount {
                unscaled: digits,
                scale,
            };
            if is_short {
                Some(amount)
            } else {
                amount.round_up()
            }
        }
        Factor::Binary(shift) => {
            let unscaled = digits.checked_mul(1_i128 << shift)?;
            let is_short = places == 0 && length + usize::try_from(shift * 3 / 10).ok()? <= 14;
            let amount = Amount {
                unscaled,
                scale: places,
            };
            if is_short {
                return Some(amount);
            }
            let rounded = amount.round_up()?;
            let largest = LARGEST_BINARY * 10_i128.pow(PLACES.unsigned_abs());
            Some(match rounded.unscaled > largest {
                true => Amount {
                    unscaled: LARGEST_BINARY,
                    scale: 0,
                },
                false => rounded,
            })
        }
    }
}

impl Amount {
    /// The same amount with nine decimal places, rounded away from zero; nothing stays as it is.
    fn round_up(self) -> Option<Self> {
        if self.unscaled == 0 {
            return Some(self);
        }
        let power = 10_i128.checked_pow((PLACES - self.scale).unsigned_abs())?;
        let unscaled = match self.scale > PLACES {
            true => (self.unscaled - 1) / power + 1,
            false => self.unscaled.checked_mul(power)?,
        };
        Some(Self {
            unscaled,
            scale: PLACES,
        })
    }

    fn print(&self) -> Option<String> {
        let Ok(places @ 1..) = usize::try_from(self.scale) else {
            let power = 10_i128.checked_pow(self.scale.unsigned_abs())?;
            return Some(self.unscaled.checked_mul(power)?.to_string());
        };
        let padded = format!("{:0>width$}", self.unscaled, width = places + 1);
        let (whole, fraction) = padded.split_at(padded.len() - places);
        Some(format!("{whole}.{fraction}"))
    }
}

/// What a suffix multiplies by.
#[derive(Clone, Copy)]
enum Factor {
    Binary(u32),
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
    let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    (exponent.abs() <= EXPONENTS).then_some(Factor::Decimal(exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A quantity, its text in a flag, and its plain number.
    const TABLE: &[(&str, &str, &str)] = &[
        ("3140m", "3.140", "3.14"),
        ("3.14", "3.14", "3.14"),
        ("42", "42", "42"),
        ("0.10", "0.10", "0.1"),
        (".5", "0.5", "0.5"),
        ("007.50", "7.50", "7.5"),
        ("1500m", "1.500", "1.5"),
        ("2e3", "2000", "2000"),
        ("2E-3", "0.002", "0.002"),
        ("5k", "5000", "5000"),
        ("0.5k", "500", "500"),
        ("-250m", "-0.250", "-0.25"),
        ("+1", "1", "1"),
        ("100n", "0.000000100", "0.0000001"),
        ("0", "0", "0"),
        ("-0", "0", "0"),
        ("0m", "0.000", "0"),
        // Less than a billionth is rounded up to one.
        ("0.1n", "0.000000001", "0.000000001"),
        ("15e-10", "0.000000002", "0.000000002"),
        // What Go reads by way of its big decimals has nine decimal places.
        ("1.5Ki", "1536.000000000", "1536"),
        (
            "1234567890123456789",
            "1234567890123456789.000000000",
            "1234567890123456789",
        ),
        ("5Pi", "5629499534213120.000000000", "5629499534213120"),
        ("5Gi", "5368709120", "5368709120"),
        ("5Ti", "5497558138880", "5497558138880"),
        ("9Ei", "9223372036854775807", "9223372036854775807"),
    ];

    #[test]
    fn a_quantity_is_printed_into_a_flag_with_the_decimal_places_that_nodeup_prints() {
        for (text, wanted, _) in TABLE {
            assert_eq!(flag_text(text).as_deref(), Some(*wanted), "{text}");
        }
    }

    #[test]
    fn a_plain_number_has_no_trailing_zeros() {
        for (text, _, wanted) in TABLE {
            assert_eq!(decimal(text).as_deref(), Some(*wanted), "{text}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_none() {
        for text in ["", "m", ".", "1.2.3", "1x", "1 k", "e3", "9e99", "1e-99"] {
            assert_eq!(flag_text(text), None, "{text:?}");
            assert_eq!(decimal(text), None, "{text:?}");
        }
    }
}
