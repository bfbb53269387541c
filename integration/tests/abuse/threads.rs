//! A machine on which no further process or thread can be started: a boot ends well or says so, and never aborts.

use quake_integration::agent;
use quake_integration::machine::program;
use quake_integration::skip::{SetUpError, is_root, unless_missing};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::process::Command;

/// A user to whom nothing else belongs here. Limits of processes and threads do not hold for root.
const USER: u32 = 54_321;

/// How many processes and threads the user may have, from none beside the agent's first to more than it needs.
const LIMITS: [usize; 9] = [1, 2, 3, 4, 5, 6, 7, 8, 40];

fn needed() -> Result<(), SetUpError> {
    match (is_root(), program("setpriv"), program("prlimit")) {
        (true, Some(_), Some(_)) => Ok(()),
        _ => {
            let what = "another user's limits: this needs root, setpriv and prlimit";
            Err(SetUpError::Missing(what.to_owned()))
        }
    }
}

#[test]
fn a_boot_that_may_start_few_threads_is_ready_or_says_why_it_is_not() {
    if unless_missing(needed()).is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary directory");
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).expect("it is ours");
    // The directories above the built binary may be closed to others.
    let binary = folder.path().join("quake-agent");
    let built = agent::binary().expect("the agent's binary is built before its tests");
    std::fs::copy(built, &binary).expect("there is room for it");
    let mut ready = Vec::new();
    for limit in LIMITS {
        let root = folder.path().join(limit.to_string());
        std::fs::create_dir(&root).expect("it is not there yet");
        chown(&root, Some(USER), Some(USER)).expect("this is root");
        let mut command = Command::new("setpriv");
        agent::clean(&mut command);
        let user = USER.to_string();
        command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
        command
            .args(["prlimit", &format!("--nproc={limit}")])
            .arg(&binary);
        command.args(["rehearse", "--exit-when-ready", "--listen", "off", "--root"]);
        command.arg(&root);
        let ended = agent::run_command(command);
        let reported = ended.text();
        assert!(!reported.contains("panicked"), "{limit}: {reported}");
        match ended.status {
            0 => ready.push(limit),
            75 => assert!(
                reported.contains("boot.resources-exhausted"),
                "{limit}: {reported}"
            ),
            other => assert_eq!(other, 0, "{limit}: {reported}"),
        }
    }
    assert!(ready.ends_with(&[8, 40]), "{ready:?}");
    assert!(!ready.contains(&1), "{ready:?}");
}
