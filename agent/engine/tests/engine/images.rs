//! Container images that a seed left: imported by digest, before kubelet starts, never twice.

use crate::common::{failing_boot, host, request, run, run_unanswered, strike};
use quake_model::digest::{Algorithm, Digest};
use quake_model::fault::{Code, Fault};
use quake_model::outcome::Outcome;
use quake_model::ports::Condition;
use quake_model::record::Record;
use quake_model::spec::{AssetKind, AssetSpec, ImageSpec};
use quake_model::step::Need;
use quake_testkit::{Script, ScriptedFault, SimHost, Timing, When};
use std::sync::Arc;

fn image(name: &str, number: u8, need: Need) -> ImageSpec {
    let archive = AssetSpec {
        name: format!("{name}.tar"),
        digest: Digest::from_bytes(Algorithm::Sha256, &[number; 32]),
        urls: Vec::new(),
        kind: AssetKind::Plain,
    };
    let name = format!("registry.example/{name}:1");
    ImageSpec {
        name,
        archive,
        need,
    }
}

/// A worker whose store a seed filled with two images.
fn seeded(need: Need) -> Arc<SimHost> {
    let host = host("workers", Timing::default());
    host.seed_image(image("pause", 1, need), "pause");
    host.seed_image(image("proxy", 2, need), "proxy");
    host
}

fn imports(record: &Record) -> Vec<Outcome> {
    let steps = record.steps.iter();
    let imports = steps.filter(|step| step.step.starts_with("services:image/"));
    imports.map(|step| step.outcome).collect()
}

/// Warnings of the services; a worker of the example also warns of its stand-in credentials.
fn warnings(record: &Record) -> Vec<&Fault> {
    let of_services = record.warnings.iter();
    of_services
        .filter(|fault| fault.code.area() == "services")
        .collect()
}

fn codes(faults: &[&Fault]) -> Vec<Code> {
    faults.iter().map(|fault| fault.code).collect()
}

#[tokio::test(start_paused = true)]
async fn seeded_images_are_imported_after_the_runtime_and_before_kubelet() {
    let host = seeded(Need::Optional);
    let (verdict, record) = run(&host, &request("workers")).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(imports(&record), [Outcome::Changed, Outcome::Changed]);
    assert_eq!(host.region().images.len(), 2);
    let place = |step: &str| record.steps.iter().position(|done| done.step == step);
    let import = record
        .steps
        .iter()
        .rposition(|done| done.step.starts_with("services:image/"));
    assert!(place("services:docker.service") < import);
    assert!(import < place("services:kubelet.service"));
    assert_eq!(host.port_calls_of("reload_units"), 1, "as without images");
}

#[tokio::test(start_paused = true)]
async fn a_second_boot_imports_nothing_and_looks_at_no_archive() {
    let host = seeded(Need::Optional);
    run(&host, &request("workers")).await;
    host.lose_asset(&image("pause", 1, Need::Optional).archive.digest);
    host.next_boot(Script::default());
    let (verdict, record) = run(&host, &request("workers")).await;
    assert_eq!((verdict.fault, record.writes()), (None, 0));
    assert_eq!(imports(&record), [Outcome::Unchanged, Outcome::Unchanged]);
    assert_eq!(host.port_calls_of("import_images"), 0);
}

#[tokio::test(start_paused = true)]
async fn an_image_that_cannot_be_imported_is_left_to_kubelet() {
    let host = seeded(Need::Optional);
    let fails = strike("import_images", 1..=1, Condition::Io);
    host.next_boot(Script::new(vec![fails]));
    let (verdict, record) = run(&host, &request("workers")).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(host.port_calls_of("import_images"), 2, "one try for each");
    let warned = warnings(&record);
    assert_eq!(codes(&warned), [Code::ServicesImageFailed]);
    assert!(warned[0].evidence_named("image").is_some());
}

#[tokio::test(start_paused = true)]
async fn an_image_that_is_required_and_cannot_be_imported_ends_the_boot() {
    let host = seeded(Need::Required);
    let fails = strike("import_images", 1..=2, Condition::Malformed);
    host.next_boot(Script::new(vec![fails]));
    let (fault, record) = failing_boot(&host, &request("workers")).await;
    assert_eq!(
        (fault.code, record.exit_status()),
        (Code::ServicesImageUnusable, 78)
    );
}

#[tokio::test(start_paused = true)]
async fn an_import_whose_answer_was_lost_is_seen_to_have_happened() {
    let host = seeded(Need::Required);
    let lost = ScriptedFault {
        when: When::After,
        ..strike("import_images", 1..=2, Condition::TimedOut)
    };
    host.next_boot(Script::new(vec![lost]));
    let (verdict, record) = run(&host, &request("workers")).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(imports(&record), [Outcome::Changed, Outcome::Changed]);
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_does_not_answer_at_first_is_asked_again() {
    let host = seeded(Need::Required);
    let silent = strike("has_image", 1..=3, Condition::Unreachable);
    host.next_boot(Script::new(vec![silent]));
    let (verdict, _) = run(&host, &request("workers")).await;
    assert_eq!(verdict.fault, None);
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_answers_and_lists_no_images_is_asked_ever_more_rarely() {
    let host = seeded(Need::Optional);
    let torn = strike("has_image", 1..=100_000, Condition::Unreachable);
    host.next_boot(Script::new(vec![torn]));
    let (verdict, record) = run(&host, &request("workers")).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(warnings(&record).len(), 2, "kubelet has to pull them");
    let looks = host.port_calls_of("has_image");
    assert!((10..80).contains(&looks), "{looks}");
}

#[tokio::test(start_paused = true)]
async fn a_seeded_archive_that_is_gone_is_left_to_kubelet() {
    let host = seeded(Need::Optional);
    host.lose_asset(&image("pause", 1, Need::Optional).archive.digest);
    let (verdict, record) = run(&host, &request("workers")).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(host.port_calls_of("import_images"), 1);
    assert_eq!(codes(&warnings(&record)), [Code::ServicesImageFailed]);
}

#[tokio::test(start_paused = true)]
async fn a_list_of_images_that_cannot_be_read_is_a_warning() {
    let host = seeded(Need::Required);
    let torn = strike("list_seeded", 1..=1, Condition::Malformed);
    host.next_boot(Script::new(vec![torn]));
    let (verdict, record) = run(&host, &request("workers")).await;
    assert_eq!(verdict.fault, None);
    assert_eq!(codes(&warnings(&record)), [Code::ServicesImageUnusable]);
}

#[tokio::test(start_paused = true)]
async fn a_boot_interrupted_at_any_call_imports_each_image_twice_at_most() {
    let whole = seeded(Need::Required);
    run(&whole, &request("workers")).await;
    let (calls, tree) = (whole.port_calls(), whole.tree());
    for when in [When::Before, When::After] {
        for call in 1..=calls {
            let host = seeded(Need::Required);
            let request = request("workers");
            let _ = run_unanswered(&host, &request, call, when).await;
            let before = host.port_calls_of("import_images");
            host.next_boot(Script::default());
            let (verdict, _) = run(&host, &request).await;
            assert_eq!(verdict.fault, None, "after a halt {when:?} call {call}");
            let imports = before + host.port_calls_of("import_images");
            assert!(
                (2..=4).contains(&imports) && host.region().images.len() == 2,
                "{imports} imports after a halt {when:?} call {call}"
            );
            assert!(host.tree() == tree, "after a halt {when:?} call {call}");
        }
    }
}
