//! The unit's text, its variables, and what is asked of systemd.

use super::*;
use crate::unit_health::tests::installed;
use std::collections::BTreeMap;

fn command(words: &[&str], retries: Option<u32>) -> Command {
    Command {
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        retries,
    }
}

fn lines_of<'a>(text: &'a str, key: &str) -> Vec<&'a str> {
    let begin = format!("{key}=");
    text.lines()
        .filter_map(|line| line.strip_prefix(&begin))
        .collect()
}

#[test]
fn the_command_of_kops_user_data_is_in_the_unit_as_nodeup_has_it() {
    let words = [
        "/opt/kops/bin/nodeup",
        "--conf=/opt/kops/conf/kube_env.yaml",
        "--v=8",
    ];
    let text = unit_text(&command(&words, None));
    assert_eq!(lines_of(&text, "ExecStart"), [words.join(" ")]);
    assert_eq!(lines_of(&text, "StartLimitIntervalSec"), ["0"]);
    assert!(!text.contains('@'), "nothing of the template is left");
}

#[test]
fn only_a_temporary_failure_starts_it_again_and_no_file_of_variables_has_to_be_there() {
    let text = unit_text(&command(&["/n"], None));
    assert_eq!(lines_of(&text, "Type"), ["notify"]);
    assert_eq!(lines_of(&text, "Restart"), ["on-failure"]);
    let never = lines_of(&text, "RestartPreventExitStatus");
    assert_eq!(never, ["2 64 70 77 78 80"]);
    let files = lines_of(&text, "EnvironmentFile");
    assert!(files.iter().all(|file| file.starts_with("-/")), "{files:?}");
    assert_eq!(files.last(), Some(&"-/etc/environment"), "the proxy's wins");
    assert_eq!(files[1], format!("-{ENVIRONMENT}"));
}

#[test]
fn a_number_of_retries_is_a_number_of_starts() {
    let text = unit_text(&command(&["/n"], Some(3)));
    assert_eq!(lines_of(&text, "StartLimitBurst"), ["4"]);
    assert_eq!(lines_of(&text, "StartLimitIntervalSec"), ["3600"]);
}

#[test]
fn words_that_systemd_would_change_are_quoted() {
    for (word, wanted) in [
        ("--conf=s3://b/k", "--conf=s3://b/k"),
        ("a b", "\"a b\""),
        ("50%$x", "50%%$$x"),
        ("", "\"\""),
        ("a\"\\", "\"a\\\"\\\\\""),
    ] {
        let text = unit_text(&command(&["/n", word], None));
        assert_eq!(lines_of(&text, "ExecStart"), [format!("/n {wanted}")]);
    }
}

fn environment(pairs: &[(&str, &str)]) -> Result<String, &'static str> {
    let set: BTreeMap<&str, &str> = pairs.iter().copied().collect();
    environment_text(|name| set.get(name).map(|value| (*value).to_owned()))
}

#[test]
fn variables_have_one_order_and_those_of_a_store_come_with_its_endpoint() {
    let all = [
        ("S3_SECRET_ACCESS_KEY", "s/+="),
        ("S3_ACCESS_KEY_ID", "id"),
        ("S3_REGION", "r"),
        ("S3_ENDPOINT", "https://store.example:9000"),
        ("AWS_REGION", "us-test-1"),
        ("AWS_SECRET_ACCESS_KEY", "not ours to pass on"),
    ];
    let wanted = "AWS_REGION=us-test-1\nS3_ENDPOINT=https://store.example:9000\nS3_REGION=r\nS3_ACCESS_KEY_ID=id\nS3_SECRET_ACCESS_KEY=s/+=\n";
    assert_eq!(environment(&all), Ok(wanted.to_owned()));
    let without: Vec<_> = all.iter().filter(|it| it.0 != "S3_ENDPOINT").collect();
    let without: Vec<_> = without.into_iter().copied().collect();
    assert_eq!(
        environment(&without),
        Ok("AWS_REGION=us-test-1\n".to_owned())
    );
    assert_eq!(environment(&[]), Ok(String::new()));
}

#[test]
fn a_value_is_read_back_as_it_was_and_one_with_a_line_end_is_refused() {
    let odd = [("AWS_REGION", "a b\"$`\\")];
    let wanted = "AWS_REGION=\"a b\\\"\\$\\`\\\\\"\n";
    assert_eq!(environment(&odd), Ok(wanted.to_owned()));
    assert_eq!(environment(&[("AWS_REGION", "a\nX=1")]), Err("AWS_REGION"));
}

fn unit(active: ActiveState, main_started_us: u64) -> UnitFacts {
    UnitFacts {
        enabled: true,
        main_started_us,
        ..installed(UNIT, active)
    }
}

#[test]
fn what_runs_is_left_alone_until_something_newer_is_installed() {
    let running = |written_us, is_this_program| Running {
        written_us,
        is_this_program,
    };
    for active in [ActiveState::Active, ActiveState::Activating] {
        let unit = unit(active, 10);
        for (written, program, wanted) in [
            (5, Some(true), Start::Leave),
            (5, None, Start::Leave),
            (5, Some(false), Start::Restart),
            (11, Some(true), Start::Restart),
        ] {
            assert_eq!(decide_start(&unit, running(written, program)), wanted);
        }
    }
}

#[test]
fn what_does_not_run_is_started_and_what_systemd_will_start_again_is_left_to_it() {
    let installed = Running {
        written_us: 20,
        is_this_program: None,
    };
    for active in [
        ActiveState::Inactive,
        ActiveState::Failed,
        ActiveState::Deactivating,
    ] {
        assert_eq!(decide_start(&unit(active, 10), installed), Start::Start);
    }
    let pausing = UnitFacts {
        main_ended: Some("exit status 75".to_owned()),
        notifies: false,
        ..unit(ActiveState::Activating, 10)
    };
    assert_eq!(decide_start(&pausing, installed), Start::Leave);
    // Queued, and nothing of it runs yet.
    let queued = unit(ActiveState::Activating, 0);
    assert_eq!(decide_start(&queued, installed), Start::Leave);
}
