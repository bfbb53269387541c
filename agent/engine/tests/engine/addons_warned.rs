//! What is odd about channels and manifests is told once, and stops nothing.

use crate::addons::{Agent, CHANNEL, MINUTE, host};
use quake_model::event::Event;
use quake_model::fault::Code;
use quake_testkit::SimHost;

const LIMITS: &str = "limit-range.addons.k8s.io";

/// Changes the channel, as an editor would.
fn edit(host: &SimHost, change: impl Fn(&str) -> String) {
    let channel = host.object(CHANNEL).expect("it is there");
    let channel = String::from_utf8(channel).expect("it is a text");
    let changed = change(&channel);
    assert_ne!(changed, channel);
    host.put_object(CHANNEL, changed);
}

/// What was told of warnings: of each how it began or was over, by its code.
fn reported(agent: &Agent) -> Vec<(&'static str, Code)> {
    let events = agent.events.lock().expect("no other holder panics");
    let reported = events.iter().flat_map(|event| match event {
        Event::AddonsWarned { fault } => vec![("warned", fault.code)],
        Event::AddonsWarningsCleared { faults } => {
            faults.iter().map(|fault| ("over", fault.code)).collect()
        }
        _ => Vec::new(),
    });
    reported.collect()
}

#[tokio::test(start_paused = true)]
async fn what_is_odd_about_a_channel_is_told_once_and_once_more_when_it_is_over() {
    let Some(host) = host("minimal-1.35") else {
        return;
    };
    edit(&host, |channel| {
        let odd = "  addons:\n  - {name: odd, manifest: odd.yaml, kubernetesVersion: '~x'}\n";
        let channel = channel.replacen("  addons:\n", odd, 1);
        channel.replacen("spec:\n", "colour: blue\nspec:\n", 1)
    });
    let agent = Agent::new(&host, "i-1");
    let record = agent.looks_on(&host, MINUTE * 30).await;
    assert!(
        record.is_applied() && record.addons.len() == 9,
        "{record:?}"
    );
    let warned = [
        ("warned", Code::ConfigUnknownKey),
        ("warned", Code::AddonsChannelInvalid),
    ];
    assert_eq!(reported(&agent), warned);
    let odd = record.warnings[1].evidence_named("addon");
    assert_eq!((odd, record.warnings.len()), (Some("odd"), 2));
    // Another agent leads once this one has gone, and this one stands by.
    let second = Agent::new(&host, "i-2");
    let (took, stands_by) = tokio::join!(
        second.looks_on(&host, MINUTE * 5),
        agent.looks_on(&host, MINUTE * 3)
    );
    assert_eq!((took.warnings.len(), stands_by.warnings.len()), (2, 0));
    edit(&host, |channel| channel.replacen("colour: blue\n", "", 1));
    let record = second.looks_on(&host, MINUTE * 5).await;
    assert_eq!(record.warnings.len(), 1, "the line of the other moved");
    assert!(reported(&second).contains(&("over", Code::ConfigUnknownKey)));
}

#[tokio::test(start_paused = true)]
async fn a_manifest_that_is_applied_though_it_is_another_says_so_until_the_channel_names_it() {
    let Some(host) = host("minimal-1.35") else {
        return;
    };
    let hash = "686cc69e559a1c6f5e8b94e38de54a575a25c432ed5ceec565244b965fb5f07f";
    edit(&host, |channel| {
        channel.replace(hash, &hash.replace("686c", "0000"))
    });
    let agent = Agent::new(&host, "i-1");
    let record = agent.looks_on(&host, MINUTE * 30).await;
    assert!(record.is_applied(), "{record:?}");
    let codes = |warnings: &[quake_model::fault::Fault]| -> Vec<Code> {
        warnings.iter().map(|fault| fault.code).collect()
    };
    let mismatch = [Code::AddonsManifestMismatch];
    assert_eq!(codes(&record.addons[LIMITS].warnings), mismatch);
    // Who looks on after this knows what was told.
    let reported = agent.looks_on(&host, MINUTE * 5).await;
    assert_eq!(codes(&reported.addons[LIMITS].warnings), mismatch);
    edit(&host, |channel| {
        channel.replace(&hash.replace("686c", "0000"), hash)
    });
    let record = agent.looks_on(&host, MINUTE * 5).await;
    assert!(record.is_applied() && record.addons[LIMITS].warnings.is_empty());
}
