//! Chooses the hosted zone among those of one name.

use quake_model::dns::{Publication, ZoneFacts, ZoneKind};
use quake_model::fault::{Code, Fault};

/// Chooses the zone of this name and kind.
///
/// Where the spec does not say which kind, a public zone wins over a private one, which is kops' default. Of several private
/// ones that count is the one associated with `vpc`, as far as their VPCs are known. The order of `zones` does not matter.
///
/// # Errors
///
/// `dns.zone-missing` and `dns.zone-ambiguous`.
pub fn choose_zone<'a>(
    name: &str,
    kind: Option<ZoneKind>,
    zones: &'a [ZoneFacts],
    vpc: Option<&str>,
) -> Result<&'a ZoneFacts, Fault> {
    let of = |kind: ZoneKind| {
        let of_kind = zones
            .iter()
            .filter(move |zone| zone.kind == kind && zone.name == name);
        of_kind.collect::<Vec<_>>()
    };
    let public = of(ZoneKind::Public);
    let wanted = kind.unwrap_or(if public.is_empty() {
        ZoneKind::Private
    } else {
        ZoneKind::Public
    });
    let mut found = of(wanted);
    if found.len() > 1 && wanted == ZoneKind::Private {
        let ours = |zone: &&ZoneFacts| vpc.is_some_and(|vpc| zone.vpcs.iter().any(|it| it == vpc));
        let near: Vec<&ZoneFacts> = found.iter().copied().filter(ours).collect();
        if !near.is_empty() {
            found = near;
        }
    }
    match found.as_slice() {
        [zone] => Ok(zone),
        [] => {
            let kind = kind.map_or_else(String::new, |kind| format!("{} ", kind.name()));
            let summary = format!("there is no {kind}hosted zone {name}");
            Err(Fault::new(Code::DnsZoneMissing, summary))
        }
        several => {
            let mut ids: Vec<&str> = several.iter().map(|zone| zone.id.as_str()).collect();
            ids.sort();
            let (count, kind, ids) = (ids.len(), wanted.name(), ids.join(", "));
            let summary = format!("{count} {kind} zones are called {name}: {ids}");
            Err(Fault::new(Code::DnsZoneAmbiguous, summary))
        }
    }
}

/// Checks that the names of a publication are below a zone's name.
///
/// # Errors
///
/// `dns.zone-missing` with the first that is not.
pub fn holds_names(zone: &ZoneFacts, publication: &Publication) -> Result<(), Fault> {
    let suffix = format!(".{}", zone.name);
    let names = publication.names().into_iter();
    match names
        .filter(|name| *name != zone.name && !name.ends_with(&suffix))
        .min()
    {
        None => Ok(()),
        Some(name) => {
            let ZoneFacts { name: of, id, .. } = zone;
            let summary = format!("{name} is not below {of}, the name of the zone {id}");
            Err(Fault::new(Code::DnsZoneMissing, summary))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dns::sample;
    use ZoneKind::{Private, Public};

    fn zone(id: &str, kind: ZoneKind, vpcs: &[&str]) -> ZoneFacts {
        ZoneFacts {
            id: id.to_owned(),
            name: "example.com".to_owned(),
            kind,
            vpcs: vpcs.iter().map(ToString::to_string).collect(),
        }
    }

    fn chosen(kind: Option<ZoneKind>, zones: &[ZoneFacts]) -> Result<String, Fault> {
        choose_zone("example.com", kind, zones, Some("vpc-1")).map(|zone| zone.id.clone())
    }

    #[test]
    fn a_zone_of_the_asked_kind_is_chosen_and_a_public_one_where_nothing_is_asked() {
        let both = [zone("Z1", Private, &[]), zone("Z2", Public, &[])];
        assert_eq!(chosen(None, &both), Ok("Z2".into()));
        assert_eq!(chosen(Some(Private), &both), Ok("Z1".into()));
        assert_eq!(chosen(None, &both[..1]), Ok("Z1".into()));
        let fault = chosen(Some(Public), &both[..1]).expect_err("it is private");
        assert_eq!(fault.code, Code::DnsZoneMissing);
        assert_eq!(fault.summary, "there is no public hosted zone example.com");
    }

    #[test]
    fn of_several_private_zones_the_one_of_our_network_is_chosen() {
        let two = [
            zone("Z1", Private, &["vpc-2"]),
            zone("Z2", Private, &["vpc-1"]),
        ];
        assert_eq!(chosen(Some(Private), &two), Ok("Z2".into()));
        let unknown = [zone("Z2", Private, &[]), zone("Z1", Private, &[])];
        let fault = chosen(None, &unknown).expect_err("nobody knows");
        assert_eq!(fault.code, Code::DnsZoneAmbiguous);
        assert_eq!(
            fault.summary,
            "2 private zones are called example.com: Z1, Z2"
        );
    }

    #[test]
    fn two_public_zones_of_one_name_are_ambiguous() {
        let two = [zone("Z1", Public, &[]), zone("Z2", Public, &[])];
        let fault = chosen(None, &two).expect_err("either may be meant");
        assert_eq!(fault.code, Code::DnsZoneAmbiguous);
    }

    #[test]
    fn names_must_be_below_the_zone() {
        let zone = zone("Z1", Public, &[]);
        let below = sample("etcd-a.internal.c.example.com", "10.0.0.1");
        assert_eq!(holds_names(&zone, &below), Ok(()));
        let beside = sample("etcd-a.internal.c.notexample.com", "10.0.0.1");
        let fault = holds_names(&zone, &beside).expect_err("it is beside");
        assert_eq!(fault.code, Code::DnsZoneMissing);
    }
}
