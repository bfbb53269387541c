//! Reads the key that signs a source of packages.

use quake_http::{HttpSettings, describe_failure};
use quake_model::ports::{Condition, PortError};

/// The longest key that is read, in bytes. A guess: keyrings of whole distributions have some tens of kilobytes.
const LONGEST: usize = 1 << 20;

/// What an armoured key starts with (RFC 9580, 6.2). apt reads such a one from a file that ends in `.asc`.
const ARMOUR: &str = "-----BEGIN PGP PUBLIC KEY BLOCK-----";

/// One attempt. Over https alone: nobody says which key it must be.
pub(super) async fn fetch(url: &str) -> Result<Vec<u8>, PortError> {
    if !url.starts_with("https://") {
        let summary = format!("{url} is not read over https");
        return Err(PortError::new(Condition::Malformed, summary));
    }
    let client = HttpSettings::from_environment().build_client()?;
    let sent = client.get(url).send().await;
    let response = sent.map_err(|failure| describe_failure(url, &failure))?;
    let status = response.status().as_u16();
    let condition = match status {
        200 => None,
        401 | 403 => Some(Condition::Denied),
        404 | 410 => Some(Condition::Missing),
        429 => Some(Condition::Throttled),
        _ => Some(Condition::Unreachable),
    };
    if let Some(condition) = condition {
        return Err(PortError::new(
            condition,
            format!("{url} answered {status}"),
        ));
    }
    let text = response.text(LONGEST).await;
    let text = text.map_err(|failure| describe_failure(url, &failure))?;
    key(url, text)
}

fn key(url: &str, text: String) -> Result<Vec<u8>, PortError> {
    if text.trim_start().starts_with(ARMOUR) {
        Ok(text.into_bytes())
    } else {
        let summary = format!("{url} is no armoured OpenPGP key");
        Err(PortError::new(Condition::Malformed, summary))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_armoured_key_is_one() {
        let good = format!("\n{ARMOUR}\n\nmQ==\n");
        assert!(key("https://x", good).is_ok());
        for text in ["", "<html>sign in</html>", "-----BEGIN CERTIFICATE-----"] {
            let refused = key("https://x", text.to_owned()).unwrap_err();
            assert_eq!(refused.condition, Condition::Malformed, "{text}");
        }
    }

    #[tokio::test]
    async fn a_key_is_read_over_https_alone() {
        let refused = fetch("http://127.0.0.1:1/key").await.unwrap_err();
        assert_eq!(refused.condition, Condition::Malformed);
    }
}
