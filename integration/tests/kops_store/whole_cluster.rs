//! `volumes` and `fleet` of a cluster whose state store is at hand.

use quake_integration::agent;
use quake_integration::kops_copy::{CLUSTERS, Copied, SHAPES, first_member, run};

#[test]
fn volumes_are_listed_and_explained_by_the_members_that_the_store_names() {
    for (case, shape) in CLUSTERS.into_iter().zip(SHAPES.into_iter().cycle()) {
        let Some(copied) = Copied::new(case, shape) else {
            return;
        };
        let recorded = copied.volumes();
        let from = ["--state-store", &copied.store, "--recorded", &recorded];
        let json = ["--output", "json"];
        let listed = run(&[&["volumes", "list"], &from[..], &json].concat(), 0);
        let listed = listed.stdout;
        assert!(listed.contains(&copied.cluster), "{case}: {listed}");
        let explained = run(&[&["volumes", "explain"], &from[..], &json].concat(), 0).stdout;
        let (member, _) = first_member(&recorded);
        let slots = ["main", "events"].map(|etcd| format!("{etcd}/{member}"));
        for part in [&slots[0], &slots[1], "master-us-test-1a", "vol-0000"] {
            assert!(explained.contains(part), "{case}: {part} in {explained}");
        }
        let unknown = [
            "which life of the cluster",
            "the cluster spec is not at hand",
        ];
        for part in unknown {
            assert!(!explained.contains(part), "{case}: {part} in {explained}");
        }
    }
}

#[test]
fn every_choice_of_an_operator_is_shown_without_being_written() {
    for case in CLUSTERS {
        let Some(copied) = Copied::new(case, SHAPES[0]) else {
            return;
        };
        let recorded = copied.volumes();
        let (member, main) = first_member(&recorded);
        let (main, slot) = (main.as_str(), format!("main/{member}"));
        let from = ["--state-store", &copied.store, "--recorded", &recorded];
        let pin = ["pin", main, "--slot", &slot];
        let ignore = ["ignore", main, "--reason", "a test"];
        let wipe = ["wipe", main, "--slot", &slot, "--i-know-this-is-empty"];
        for verb in [&pin[..], &ignore, &["adopt", main], &wipe] {
            let words = [&["volumes"], verb, &from[..]].concat();
            let shown = run(&words, 0).stdout;
            assert!(shown.contains(main), "{case} {verb:?}: {shown}");
        }
    }
}

#[test]
fn a_fleet_is_read_from_the_reports_in_the_store() {
    for (case, shape) in CLUSTERS.into_iter().zip(SHAPES.into_iter().cycle()) {
        let Some(copied) = Copied::new(case, shape) else {
            return;
        };
        let fleet = ["fleet", "--state-store", &copied.store];
        let none = run(&fleet, 1);
        let first = none.stdout.lines().next();
        assert_eq!(first, Some("no boot is reported"), "{}", none.text());
        let root = copied.at("root");
        let rehearsed = agent::run(&[
            "rehearse",
            &copied.store,
            "--instance-group",
            "master-us-test-1a",
            "--boot-report",
            "--root",
            &root,
            "--exit-when-ready",
            "--listen",
            "off",
        ]);
        assert_eq!(rehearsed.status, 0, "{case}: {}", rehearsed.text());
        let one = run(&fleet, 0);
        assert!(one.stdout.contains("1 boots: 1 ready") || one.stdout.contains("1 ready"));
    }
}
