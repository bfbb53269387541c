//! What programs of the node print.

use super::Limits;
use super::bounded::BoundedOutput;
use crate::linux::{DIRECTORIES, find_program};
use quake_model::redact::scrub;
use std::process::Stdio;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};

/// How much of a complaint is kept, in bytes.
const LONGEST_COMPLAINT: usize = 2 << 10;

/// Runs a program and reads what it prints, as long as it may. What came by then is kept, and the program is killed.
pub(super) async fn run(words: &[&str], limits: Limits) -> (Option<Vec<u8>>, Option<String>) {
    let Some((name, arguments)) = words.split_first() else {
        return (None, None);
    };
    let Some(path) = find_program(name) else {
        return (None, Some(format!("the program {name} is not installed")));
    };
    let started = Command::new(path)
        .args(arguments)
        // Nothing of our own environment, which may hold credentials; and messages that everybody reads.
        .env_clear()
        .env("PATH", DIRECTORIES.join(":"))
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) => return (None, Some(format!("start {name}: {error}"))),
    };
    let (mut printed, mut said) = (
        BoundedOutput::new(limits.size),
        BoundedOutput::new(LONGEST_COMPLAINT),
    );
    let ended = tokio::time::timeout(limits.time, wait(&mut child, &mut printed, &mut said)).await;
    let (bytes, cut) = printed.finish();
    let (complaint, _) = said.finish();
    let complaint = scrub(String::from_utf8_lossy(&complaint).trim());
    let error = match ended {
        Err(_) => {
            let seconds = limits.time.as_secs_f32();
            Some(format!(
                "{name} did not end within {seconds} s, and was stopped"
            ))
        }
        Ok(Err(error)) => Some(format!("read from {name}: {error}")),
        Ok(Ok(status)) if !status.success() => {
            Some(format!("{name} ended with {status}: {complaint}"))
        }
        Ok(Ok(_)) => None,
    };
    let all: Vec<String> = error.into_iter().chain(cut).collect();
    (Some(bytes), (!all.is_empty()).then(|| all.join("; ")))
}

async fn wait(
    child: &mut Child,
    printed: &mut BoundedOutput,
    said: &mut BoundedOutput,
) -> std::io::Result<std::process::ExitStatus> {
    let (output, errors) = (child.stdout.take(), child.stderr.take());
    tokio::try_join!(read(output, printed), read(errors, said))?;
    child.wait().await
}

async fn read(
    from: Option<impl AsyncRead + Unpin>,
    into: &mut BoundedOutput,
) -> std::io::Result<()> {
    let Some(mut from) = from else {
        return Ok(());
    };
    let mut buffer = vec![0; 64 << 10];
    loop {
        match from.read(&mut buffer).await? {
            0 => return Ok(()),
            length => into.take(&buffer[..length]),
        }
    }
}
