//! What an exit status means.

use super::catalogues::Explanation;
use crate::exit;
use quake_model::fault::Class;
use serde_json::json;

/// A status, and what it means in every command.
struct Status {
    number: u8,
    meaning: &'static str,
    remedy: &'static str,
}

/// Those that no class of faults gives.
const OWN: &[Status] = &[
    Status {
        number: exit::DONE,
        meaning: "done",
        remedy: "nothing to do",
    },
    Status {
        number: exit::NO,
        meaning: "the answer is no: a check failed, a wait timed out, or a previewed change breaks something",
        remedy: "read what the command printed; then: quake-agent diagnose",
    },
    Status {
        number: exit::PENDING,
        meaning: "changes are pending (plan or preview --detailed-exitcode), or the command line of nodeup is wrong",
        remedy: "plan: read the changes, then: quake-agent boot; nodeup: correct its flags",
    },
    Status {
        number: exit::USAGE,
        meaning: "the command line is wrong",
        remedy: "quake-agent help <command>",
    },
];

/// Every status as it is typed, in order.
pub(crate) const STATUSES: &[&str] = &["0", "1", "2", "64", "70", "75", "77", "78", "80"];

/// The status that is asked for: a number alone, or after `exit` or `exit status`.
pub(super) fn status_in(query: &str) -> Option<u8> {
    let query = query.trim().to_ascii_lowercase();
    let query = query.trim_start_matches("exit").trim_start();
    let number = query.trim_start_matches("status").trim_start();
    let number = number.trim_start_matches(['=', ':']).trim();
    number.parse().ok()
}

/// What a status means; `None` for one that the agent does not give.
pub(super) fn explain_status(number: u8) -> Option<Explanation> {
    let own = OWN.iter().find(|status| status.number == number);
    let classes: Vec<&Class> = Class::ALL
        .iter()
        .filter(|class| class.exit_status() == number)
        .collect();
    let meaning = match (own, classes.first()) {
        (Some(status), _) => status.meaning,
        (None, Some(class)) => class.meaning(),
        (None, None) => return None,
    };
    let names: Vec<&str> = classes.iter().map(|class| class.name()).collect();
    let mut lines = vec![("meaning", meaning.to_owned())];
    if let Some(status) = own {
        lines.push(("fix", status.remedy.to_owned()));
    }
    for class in &classes {
        lines.push(("class", class.name().to_owned()));
        lines.push(("the agent", class.handling().to_owned()));
        lines.push(("fix", "the fault has more: quake-agent status".to_owned()));
    }
    Some(Explanation {
        name: number.to_string(),
        headline: "exit status".to_owned(),
        gist: meaning.to_owned(),
        lines,
        json: json!({
            "schemaVersion": "quake-agent/explain/v1",
            "kind": "exit-status",
            "exitStatus": number,
            "meaning": meaning,
            "classes": names,
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_status_is_explained_and_no_other_number() {
        let own = OWN.iter().map(|status| status.number);
        let classes = Class::ALL.iter().map(|class| class.exit_status());
        let given: BTreeSet<u8> = own.chain(classes).collect();
        let listed = STATUSES.iter().filter_map(|status| status.parse().ok());
        assert_eq!(given, listed.collect());
        for number in given {
            let explained = explain_status(number).expect("the agent gives it");
            assert!(!explained.gist.is_empty(), "{number}");
        }
        assert!(explain_status(3).is_none());
        assert!(explain_status(255).is_none());
    }

    #[test]
    fn a_status_is_asked_for_by_its_number_with_or_without_words() {
        for query in ["75", "exit 75", "exit status 75", "status=75", " Exit: 75 "] {
            assert_eq!(status_in(query), Some(75), "{query}");
        }
        for query in [
            "",
            "exit",
            "try 2",
            "storage.volume-held",
            "300",
            "exit 75 of 80",
        ] {
            assert_eq!(status_in(query), None, "{query}");
        }
    }
}
