//! Command lines as kops' user data, operators and Go have them.

use super::*;
use crate::args::{Arguments, Command};
use clap::Parser;
use std::ffi::OsString;

fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

fn parsed(line: &str) -> Result<NodeupArguments, clap::Error> {
    let words = spelled(&words(line)).expect("it is nodeup's");
    match Arguments::try_parse_from(words)?.command {
        Command::Nodeup(arguments) => Ok(*arguments),
        other => panic!("it is {other:?}"),
    }
}

#[test]
fn the_command_lines_of_kops_are_read_under_any_name_of_the_program() {
    for line in [
        "./nodeup --install-systemd-unit --conf=/opt/kops/conf/kube_env.yaml --v=8",
        "/opt/kops/bin/nodeup -install-systemd-unit -conf /opt/kops/conf/kube_env.yaml -v 8",
        "quake-agent nodeup -install-systemd-unit=true --conf /opt/kops/conf/kube_env.yaml -v=8",
    ] {
        let read = parsed(line).expect(line);
        assert_eq!(read.conf, "/opt/kops/conf/kube_env.yaml", "{line}");
        assert!(read.install_systemd_unit, "{line}");
        assert_eq!((read.v, read.tries_again()), (8, None), "{line}");
        let unit = ["--conf=/opt/kops/conf/kube_env.yaml", "--v=8"];
        assert_eq!(read.of_unit(&read.conf), unit, "{line}");
    }
}

#[test]
fn what_go_reads_is_read_and_what_it_leaves_out_has_its_default() {
    let read = parsed("nodeup").expect("all have defaults");
    assert_eq!((read.conf.as_str(), read.retries), ("node.yaml", -1));
    assert!(!read.is_dry() && !read.install_systemd_unit);
    let read = parsed("nodeup --retries 3 --dryrun --cache /c").expect("these are nodeup's");
    assert_eq!((read.tries_again(), read.is_dry()), (Some(3), true));
    assert_eq!(parsed("nodeup -retries -1").expect("a number").retries, -1);
    assert!(parsed("nodeup --target dryrun").expect("a target").is_dry());
    assert!(!parsed("nodeup --dryrun=false").expect("a boolean").is_dry());
}

#[test]
fn flags_of_its_logger_are_accepted() {
    let line = "nodeup --logtostderr --alsologtostderr=true --stderrthreshold=INFO -vmodule a=1 --log_dir /l \
        -log_file_max_size 9 --skip_headers --v 9 --conf x --legacy_stderr_threshold_behavior=false";
    let read = parsed(line).expect("klog has these");
    assert_eq!((read.conf.as_str(), read.v), ("x", 9));
}

#[test]
fn a_flag_that_nobody_knows_is_named() {
    for line in [
        "nodeup --no-such --conf x",
        "nodeup -no-such=1",
        "quake-agent nodeup --conf x -no-such",
    ] {
        let error = parsed(line).expect_err(line).to_string();
        assert!(error.contains("--no-such"), "{line}: {error}");
    }
    for line in [
        "nodeup --v=x",
        "nodeup --dryrun=perhaps",
        "nodeup conf=x --dryrun",
    ] {
        assert!(parsed(line).is_err(), "{line}");
    }
}

#[test]
fn other_commands_are_reached_under_its_name_and_others_are_left_alone() {
    let status = spelled(&words("/opt/kops/bin/nodeup status --output json"));
    assert_eq!(status, Some(words("quake-agent status --output json")));
    assert_eq!(spelled(&words("quake-agent status -x")), None);
    assert_eq!(spelled(&words("/usr/local/bin/quake-agent")), None);
    assert_eq!(spelled(&[]), None);
    let help = spelled(&words("nodeup -h"));
    assert_eq!(help, Some(words("quake-agent nodeup -h")));
}
