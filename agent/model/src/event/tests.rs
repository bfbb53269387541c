use super::*;

#[test]
fn an_event_from_a_newer_agent_reads_as_unknown() {
    let line = r#"{"seq":9,"at":1,"elapsedMs":2,"event":"warp-engaged","factor":9}"#;
    let envelope: Envelope = serde_json::from_str(line).expect("it reads");
    assert_eq!((envelope.seq, envelope.event), (9, Event::Unknown));
}

#[test]
fn an_asset_that_came_in_is_one_flat_object() {
    let line = r#"{"seq":3,"at":"1970-01-01T00:00:00.001Z","elapsedMs":2,"event":"asset-fetched","step":"assets:a","bytes":9,"tookMs":4,"source":"https://example.com/a","mirror":1,"requests":3}"#;
    let envelope: Envelope = serde_json::from_str(line).expect("it reads");
    assert!(matches!(&envelope.event, Event::AssetFetched(fetched) if fetched.bytes == 9));
    assert_eq!(
        serde_json::to_string(&envelope).expect("it serialises"),
        line
    );
    // As an earlier agent wrote it.
    let earlier = line.replace(",\"requests\":3", "");
    let earlier: Envelope = serde_json::from_str(&earlier).expect("it reads");
    assert!(matches!(&earlier.event, Event::AssetFetched(fetched) if fetched.requests == 0));
}

#[test]
fn events_survive_a_round_trip() {
    let event = Event::PhaseDone {
        phase: Phase::Assets,
        changed: 4,
    };
    let envelope = Envelope {
        seq: 1,
        at: Timestamp(5),
        elapsed_ms: 0,
        event,
    };
    let line = serde_json::to_string(&envelope).expect("it serialises");
    assert_eq!(
        serde_json::from_str::<Envelope>(&line).expect("it reads"),
        envelope
    );
}

#[test]
fn events_that_were_written_under_a_former_name_are_read() {
    let formers = [
        (
            r#""event":"told","what":"boot-report","to":"s3://a/b","took_ms":7"#,
            "notification-sent",
        ),
        (
            r#""event":"withheld","what":"boot-report","why":"c""#,
            "notification-skipped",
        ),
        (
            r#""event":"addons-kept","keeper":{"who":"me"},"channels":[]"#,
            "addons-reconciled",
        ),
        (
            r#""event":"addons-forgotten","names":["a"]"#,
            "addon-forgotten",
        ),
        (
            r#""event":"names-kept","zone":"Z1","names":["a"]"#,
            "dns-published",
        ),
        (
            r#""event":"node-identified","node":"a","says":[]"#,
            "node-labelled",
        ),
    ];
    for (fields, name) in formers {
        let line = format!(r#"{{"seq":9,"at":1,"elapsed_ms":2,{fields}}}"#);
        let read: Envelope = serde_json::from_str(&line).expect(&line);
        let written = serde_json::to_value(&read).expect("it serialises");
        assert_eq!(written["event"], name, "{line}");
    }
}

#[test]
fn an_outcome_that_was_written_under_its_former_name_is_read() {
    let line = r#"{"seq":9,"at":1,"elapsedMs":2,"event":"step-done","phase":"files","step":"files:/a","outcome":"held","took_ms":1}"#;
    let read: Envelope = serde_json::from_str(line).expect("it reads");
    let written = serde_json::to_value(&read).expect("it serialises");
    assert_eq!(written["outcome"], "unchanged");
}

#[test]
fn every_kind_has_a_message_id_of_128_bits() {
    let changed = 0;
    for event in [Event::BootReady { changed }, Event::Unknown] {
        let id = event.kind().message_id;
        let is_hex = id.bytes().all(|byte| byte.is_ascii_hexdigit());
        assert!(id.len() == 32 && is_hex, "{id}");
    }
}

#[test]
fn an_addon_that_failed_and_a_notification_that_is_known_have_a_priority_of_their_own() {
    let failed = |known| Event::NotificationFailed {
        what: Notification::BootReport,
        fault: Fault::new(Code::AssetsNoSpace, "no space"),
        known,
    };
    assert_eq!(failed(false).kind().priority, Priority::Warning);
    assert_eq!(failed(true).kind().priority, Priority::Info);
}
