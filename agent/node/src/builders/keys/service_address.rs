//! The address of the service `kubernetes`.

use crate::builders::Context;
use quake_model::fault::{Code, Fault};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The first address of the services' range, which every cluster gives to its API server.
pub(super) fn service_address(context: &Context<'_>) -> Result<IpAddr, Fault> {
    const KEY: &str = "Networking.serviceClusterIPRange";
    let range = context.config.network.service_cidr.as_deref();
    let range = range.ok_or_else(|| context.missing(KEY))?;
    first_address(range).ok_or_else(|| {
        let summary = format!("{range:?} is not a range of addresses");
        Fault::new(Code::ConfigWrongType, summary)
            .seen("source", &context.config.source)
            .seen("path", KEY)
    })
}

/// The address after the base of a range; `None` for what is no range, or one of a single address.
fn first_address(range: &str) -> Option<IpAddr> {
    let (base, length) = range.split_once('/')?;
    let length: u32 = length.parse().ok()?;
    match base.parse().ok()? {
        IpAddr::V4(base) => {
            let host = 32_u32.checked_sub(length).filter(|bits| *bits > 0)?;
            let mask = u32::MAX.checked_shl(host).unwrap_or(0);
            Some(Ipv4Addr::from_bits((base.to_bits() & mask) + 1).into())
        }
        IpAddr::V6(base) => {
            let host = 128_u32.checked_sub(length).filter(|bits| *bits > 0)?;
            let mask = u128::MAX.checked_shl(host).unwrap_or(0);
            Some(Ipv6Addr::from_bits((base.to_bits() & mask) + 1).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;

    #[test]
    fn the_first_address_follows_the_base_of_the_range() {
        for (range, wanted) in [
            ("100.64.0.0/13", Some("100.64.0.1")),
            ("100.64.3.7/13", Some("100.64.0.1")),
            ("0.0.0.0/0", Some("0.0.0.1")),
            ("10.0.0.255/31", Some("10.0.0.255")),
            ("fd00:5e4f:ce::/108", Some("fd00:5e4f:ce::1")),
            ("::/0", Some("::1")),
            ("10.0.0.0/32", None),
            ("10.0.0.0/33", None),
            ("10.0.0.0", None),
            ("services", None),
        ] {
            let wanted = wanted.and_then(|text| text.parse().ok());
            assert_eq!(first_address(range), wanted, "{range}");
        }
    }

    #[test]
    fn a_range_that_is_none_is_refused_by_its_key() {
        for (range, code) in [
            ("", Code::ConfigMissingKey),
            ("services", Code::ConfigWrongType),
        ] {
            let keys = format!("Networking: {{serviceClusterIPRange: \"{range}\"}}\n");
            let sample = Sample::control_plane(&keys);
            let found = sample.try_items(|context| service_address(context).map(|_| Vec::new()));
            let fault = found.expect_err("there is no range");
            assert_eq!(fault.code, code, "{range}");
            let path = fault.evidence_named("path");
            assert_eq!(path, Some("Networking.serviceClusterIPRange"));
        }
    }
}
