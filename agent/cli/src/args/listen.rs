//! Where the endpoint listens, as the command line says it.

use std::net::SocketAddr;

/// Where to listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listen {
    Off,
    At(SocketAddr),
}

pub(super) fn listen(text: &str) -> Result<Listen, String> {
    if text == "off" {
        return Ok(Listen::Off);
    }
    let address: SocketAddr = text
        .parse()
        .map_err(|_| format!("{text:?} is not an address such as 127.0.0.1:9105"))?;
    if address.ip().is_loopback() {
        Ok(Listen::At(address))
    } else {
        Err(format!(
            "{address} is not a loopback address, and the endpoint has no authentication"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_listened_on() {
        assert!(listen("127.0.0.1:9105").is_ok());
        assert!(listen("[::1]:9105").is_ok());
        assert!(listen("0.0.0.0:9105").is_err());
    }
}
