//! What the operating system gives this process: descriptors and threads, taken before anything needs them.

use crate::{output, render};
use quake_model::fault::{Code, Fault};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::time::Duration;

/// The most descriptors that are asked for; whoever may have more has no use for them.
const DESCRIPTORS: u64 = 65_536;

/// How long a thread that has nothing to do is kept: as long as the process lives.
pub(crate) const THREADS_LAST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// Raises the limit of open descriptors as far as this process may by itself. What a shell or a unit sets is often 1024.
pub(crate) fn raise_descriptors() {
    let now = getrlimit(Resource::Nofile);
    let possible = now.maximum.unwrap_or(DESCRIPTORS).min(DESCRIPTORS);
    if now.current.is_some_and(|current| current < possible) {
        let wanted = Rlimit {
            current: Some(possible),
            maximum: now.maximum,
        };
        // Where it is refused, the old limit is what there is.
        let _ = setrlimit(Resource::Nofile, wanted);
    }
}

/// Whether the threads of the runtime can be started now: it takes their absence for a broken program, and ends it.
pub(crate) fn threads_start(count: usize) -> std::io::Result<()> {
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let held = std::sync::Arc::new(std::sync::Mutex::new(held));
    let mut threads = Vec::new();
    let mut started = Ok(());
    for _ in 0..count {
        let held = std::sync::Arc::clone(&held);
        let waits = move || {
            // Until the sender is gone.
            let _ = held.lock().map(|held| held.recv());
        };
        match std::thread::Builder::new().spawn(waits) {
            Ok(thread) => threads.push(thread),
            Err(error) => started = Err(error),
        }
    }
    drop(hold);
    for thread in threads {
        // It has ended, well or not.
        let _ = thread.join();
    }
    started
}

/// Makes a panic for want of memory end the process with the fault that names it.
#[expect(
    clippy::disallowed_methods,
    reason = "the thread that panics is not the one that returns the status, and that one may wait for it"
)]
pub(crate) fn name_exhaustion() {
    let other = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let message = panic.payload_as_str().unwrap_or_default();
        if is_exhaustion(message) {
            let fault = exhausted("the agent gets no memory", message);
            output::error_text(render::fault_text("error", &fault));
            std::process::exit(fault.class().exit_status().into());
        }
        other(panic);
    }));
}

/// Whether a panic's message says that there is no memory: with `ENOMEM` the standard library, whose new threads get no stack
/// for their signals, and with its own name zlib-rs, which asserts that it can begin.
fn is_exhaustion(message: &str) -> bool {
    ["(os error 12)", "left: MemError"]
        .iter()
        .any(|words| message.contains(words))
}

/// The fault of a process that does not get what it needs from this host.
pub(crate) fn exhausted(what: &str, why: &str) -> Fault {
    Fault::new(Code::BootResourcesExhausted, what).caused_by(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_for_want_of_memory_is_told_from_others() {
        let of_std =
            "failed to allocate an alternative stack: Cannot allocate memory (os error 12)";
        assert!(is_exhaustion(of_std));
        let of_zlib = "assertion `left == right` failed\n  left: MemError\n right: Ok";
        assert!(is_exhaustion(of_zlib));
        let of_tokio = "failed to set up: Permission denied (os error 1)";
        assert!(!is_exhaustion(of_tokio));
        assert!(!is_exhaustion("index out of bounds: the len is 12"));
    }

    #[test]
    fn the_limit_is_what_may_be_had() {
        raise_descriptors();
        let now = getrlimit(Resource::Nofile);
        let possible = now.maximum.unwrap_or(DESCRIPTORS).min(DESCRIPTORS);
        assert!(
            now.current.is_none_or(|current| current >= possible),
            "{now:?}"
        );
    }

    #[test]
    fn threads_can_be_started_here() {
        assert!(threads_start(3).is_ok());
    }
}
