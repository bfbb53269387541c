//! Signatures of AWS, version 4, checked from their description (IAM user guide, "Create a signed AWS API request") and by
//! nothing that makes them for the agent.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// How far a signature's time may be off, in seconds (the same guide, "Troubleshoot").
pub const WINDOW: u64 = 15 * 60;

/// Who may sign, and for what.
#[derive(Debug, Clone)]
pub struct Signer {
    /// The id of the key.
    pub key_id: String,
    pub secret: String,
    /// The token of the session that the key belongs to.
    pub session: Option<String>,
    pub region: String,
    pub service: String,
}

/// A request that was signed, as its receiver has it: names of headers in lower case.
#[derive(Debug, Clone)]
pub struct Signed<'a> {
    pub method: &'a str,
    /// The headers, those included that the sender's library adds.
    pub headers: BTreeMap<String, String>,
    pub body: &'a [u8],
}

/// Checks a request for `/` without a query at this time, in seconds since 1970; says what is wrong. The names of the headers that
/// are signed.
///
/// # Errors
///
/// Says what is wrong with it.
pub fn check(signer: &Signer, request: &Signed<'_>, now: u64) -> Result<Vec<String>, String> {
    let header = |name: &str| {
        let value = request.headers.get(name).map(String::as_str);
        value.ok_or_else(|| format!("there is no {name}"))
    };
    let authorization = header("authorization")?
        .strip_prefix("AWS4-HMAC-SHA256 ")
        .ok_or("another algorithm")?;
    let part = |name: &str| {
        let mut parts = authorization.split(", ");
        let found = parts.find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
        found.ok_or_else(|| format!("there is no {name}"))
    };
    let date = header("x-amz-date")?;
    let scope = signer.scope(date, part("Credential")?)?;
    if seconds(date).ok_or("no date")?.abs_diff(now) > WINDOW {
        return Err("it is of another time".to_owned());
    }
    let session = request.headers.get("x-amz-security-token");
    if session != signer.session.as_ref() {
        return Err("another session".to_owned());
    }
    let names = part("SignedHeaders")?;
    let signature = signer.signature(request, "", names, (date, &scope))?;
    match signature == part("Signature")? {
        true => Ok(names.split(';').map(str::to_owned).collect()),
        false => Err("another signature".to_owned()),
    }
}

/// Checks a presigned request for `/` with this query at this time, in seconds since 1970: the parameters as they are once
/// decoded. The names of the headers that are signed.
///
/// # Errors
///
/// Says what is wrong with it.
pub fn check_presigned(
    signer: &Signer,
    request: &Signed<'_>,
    query: &[(String, String)],
    now: u64,
) -> Result<Vec<String>, String> {
    let parameter = |name: &str| {
        let mut of_name = query.iter().filter(|(known, _)| known == name);
        let found = of_name
            .next()
            .ok_or_else(|| format!("there is no {name}"))?;
        match of_name.next() {
            None => Ok(found.1.as_str()),
            Some(_) => Err(format!("{name} is there twice")),
        }
    };
    if parameter("X-Amz-Algorithm")? != "AWS4-HMAC-SHA256" {
        return Err("another algorithm".to_owned());
    }
    let date = parameter("X-Amz-Date")?;
    let scope = signer.scope(date, parameter("X-Amz-Credential")?)?;
    if seconds(date).ok_or("no date")?.abs_diff(now) > WINDOW {
        return Err("it is of another time".to_owned());
    }
    if parameter("X-Amz-Security-Token").ok() != signer.session.as_deref() {
        return Err("another session".to_owned());
    }
    let signed = query.iter().filter(|(name, _)| name != "X-Amz-Signature");
    let mut pairs: Vec<(String, String)> = signed
        .map(|(name, value)| (encoded(name), encoded(value)))
        .collect();
    pairs.sort();
    let pairs: Vec<String> = pairs
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let names = parameter("X-Amz-SignedHeaders")?;
    let signature = signer.signature(request, &pairs.join("&"), names, (date, &scope))?;
    match signature == parameter("X-Amz-Signature")? {
        true => Ok(names.split(';').map(str::to_owned).collect()),
        false => Err("another signature".to_owned()),
    }
}

impl Signer {
    /// The scope of a credential that is this signer's, on the day of this date.
    fn scope(&self, date: &str, credential: &str) -> Result<String, String> {
        let day = date.get(..8).ok_or("no date")?;
        let scope = format!("{day}/{}/{}/aws4_request", self.region, self.service);
        match credential == format!("{}/{scope}", self.key_id) {
            true => Ok(scope),
            false => Err("another credential or scope".to_owned()),
        }
    }

    /// The signature of a request for `/` with this query, in its canonical form.
    pub(crate) fn signature(
        &self,
        request: &Signed<'_>,
        query: &str,
        names: &str,
        (date, scope): (&str, &str),
    ) -> Result<String, String> {
        let mut canonical = format!("{}\n/\n{query}\n", request.method);
        for name in names.split(';') {
            let value = request.headers.get(name);
            let value = value.ok_or_else(|| format!("there is no {name}"))?;
            canonical.push_str(&format!("{name}:{}\n", value.trim()));
        }
        let body = hex(&Sha256::digest(request.body));
        canonical.push_str(&format!("\n{names}\n{body}"));
        let hash = hex(&Sha256::digest(canonical));
        let message = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{hash}");
        let day = date.get(..8).unwrap_or_default();
        let mut key = format!("AWS4{}", self.secret).into_bytes();
        for step in [day, &self.region, &self.service, "aws4_request"] {
            key = keyed(&key, step.as_bytes());
        }
        Ok(hex(&keyed(&key, message.as_bytes())))
    }
}

/// Percent-encoded as the guide has it: all but letters, digits and `-._~`.
fn encoded(text: &str) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    let one = |byte: u8| match plain(&byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}

fn keyed(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length will do");
    mac.update(message);
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Seconds since 1970 of a time such as `20240518T131902Z`.
fn seconds(text: &str) -> Option<u64> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u64>().ok();
    let (year, month, day) = (number(0, 4)?, number(4, 6)?, number(6, 8)?);
    let (hour, minute, second) = (number(9, 11)?, number(11, 13)?, number(13, 15)?);
    // Days of a year that begins in March, so that the day a leap year adds is its last.
    let (year, month) = match month {
        1 | 2 => (year - 1, month + 9),
        _ => (year, month - 3),
    };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day;
    let days = days.checked_sub(719_469)?;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Go's SDK signs for these credentials, as kops' own test has it.
    fn example() -> (Signer, BTreeMap<String, String>) {
        let signer = Signer {
            key_id: "fakeaccesskey".into(),
            secret: "fakesecretkey".into(),
            session: None,
            region: "us-east-1".into(),
            service: "sts".into(),
        };
        let headers = [
            (
                "authorization",
                "AWS4-HMAC-SHA256 Credential=fakeaccesskey/20240518/us-east-1/sts/aws4_request, SignedHeaders=content-length;content-type;host;x-amz-date;x-kops-request-sha, Signature=198684464845d2d52947df10171b6291e1b2223ce4bd82a380087761d91246f9",
            ),
            ("content-length", "43"),
            (
                "content-type",
                "application/x-www-form-urlencoded; charset=utf-8",
            ),
            ("host", "sts.amazonaws.com"),
            ("x-amz-date", "20240518T131902Z"),
            (
                "x-kops-request-sha",
                "2dhlzFTsYGePGxGQhK15rn+TV9HEUZxkV94zFLf7uoo",
            ),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        (signer, headers.into())
    }

    fn checked(signer: &Signer, headers: BTreeMap<String, String>, now: u64) -> Result<(), String> {
        let request = Signed {
            method: "POST",
            headers,
            body: b"Action=GetCallerIdentity&Version=2011-06-15",
        };
        check(signer, &request, now).map(drop)
    }

    #[test]
    fn what_others_signed_is_good_and_nothing_else_is() {
        let (signer, headers) = example();
        let at = 1_716_038_342;
        assert_eq!(checked(&signer, headers.clone(), at), Ok(()));
        assert!(checked(&signer, headers.clone(), at + WINDOW + 1).is_err());
        let other = Signer {
            secret: "another".into(),
            ..signer.clone()
        };
        assert!(checked(&other, headers.clone(), at).is_err());
        for name in ["content-length", "host", "x-kops-request-sha"] {
            let mut changed = headers.clone();
            changed.insert(name.to_owned(), "other".to_owned());
            assert!(checked(&signer, changed, at).is_err(), "{name}");
        }
    }
}
