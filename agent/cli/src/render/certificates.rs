//! Until when the node's certificates are valid, for programs and for people.

use quake_model::certificates::{CertificateDates, first_to_end};
use quake_model::record::Record;
use serde_json::{Value, json};

/// Each certificate that the node was issued; `renewedFrom` is null for what the agent does not renew.
pub(crate) fn certificates_json(record: &Record) -> Value {
    let one = |dates: &CertificateDates| {
        json!({
            "name": dates.name,
            "endsAt": dates.ends.to_string(),
            "renewedFrom": dates.renewed_from.map(|from| from.to_string()),
        })
    };
    record.certificates.iter().map(one).collect()
}

/// The one that ends first, in a line; nothing while none is known.
pub(crate) fn certificates_text(record: &Record) -> String {
    let Some(first) = first_to_end(&record.certificates) else {
        return String::new();
    };
    let count = record.certificates.len();
    let then = match first.renewed_from {
        Some(from) => format!("the agent renews it from {} on", day(from)),
        None => "only kops-controller signs it, for a new instance".to_owned(),
    };
    format!(
        "{:<9} {count}; {} expires first, on {}; {then}\n",
        "certs",
        first.name,
        day(first.ends)
    )
}

fn day(instant: quake_model::time::Timestamp) -> String {
    let text = instant.to_string();
    text.split('T').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::time::Timestamp;

    const DAY: u64 = 86_400_000;

    fn dates(name: &str, ends: u64, renewed_from: Option<u64>) -> CertificateDates {
        CertificateDates {
            name: name.to_owned(),
            ends: Timestamp(ends * DAY),
            renewed_from: renewed_from.map(|day| Timestamp(day * DAY)),
        }
    }

    #[test]
    fn the_first_to_expire_is_shown_with_who_renews_it() {
        let mut record = Record::default();
        assert_eq!(certificates_text(&record), "");
        record.certificates = vec![
            dates("kubelet", 460, Some(305)),
            dates("master", 455, Some(303)),
        ];
        assert_eq!(
            certificates_text(&record),
            "certs     2; master expires first, on 1971-04-01; the agent renews it from 1970-10-31 on\n"
        );
        record.certificates = vec![dates("kubelet", 455, None)];
        let text = certificates_text(&record);
        assert!(
            text.ends_with("; only kops-controller signs it, for a new instance\n"),
            "{text}"
        );
    }

    #[test]
    fn programs_get_every_certificate() {
        let record = Record {
            certificates: vec![dates("kubelet", 455, None), dates("master", 455, Some(303))],
            ..Record::default()
        };
        assert_eq!(
            certificates_json(&record),
            json!([
                { "name": "kubelet", "endsAt": "1971-04-01T00:00:00.000Z", "renewedFrom": null },
                { "name": "master", "endsAt": "1971-04-01T00:00:00.000Z", "renewedFrom": "1970-10-31T00:00:00.000Z" },
            ])
        );
    }
}
