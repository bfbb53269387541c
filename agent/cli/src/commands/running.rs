//! Runs one boot with its sinks and its endpoint, and stays until told to stop.

use super::below::found_below;
use super::notify;
use super::run_lock::lock_root;
use crate::args::{ConfigurationArguments, Listen, OutputFormat, RunArguments};
use crate::commands::boot_history::{BOOTS, STATUS_FILE};
use crate::host::NodeHost;
use crate::output;
use crate::render::{Live, closing_text, summary_json};
use crate::serve::{Served, serve};
use crate::sinks::{NotifySystemd, published};
use crate::{exit, render};
use quake_engine::{
    Configuration, Emitter, Request, Stop, StopHandle, Verdict, boot, keep_looking, stop_signal,
};
use quake_host::clock::{KernelClock, SystemClock, kernel_clock};
use quake_host::sinks::{Console, Journal, Ledger, StatusFile};
use quake_model::boot::BootId;
use quake_model::event::Event;
use quake_model::phase::Phase;
use quake_model::ports::{Clock, Sink, SinkError};
use quake_model::record::Record;
use quake_model::signal::SignalConfig;
use quake_node::config::legacy::Document;
use quake_tree::{Last, locate};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// The port of the endpoint.
pub(crate) const PORT: u16 = 9105;

/// How long those that stay with a node may take to end once they are told to, so that what is under way ends and the lease of
/// whoever applies the cluster's add-ons is given back. A request is given up sooner; systemd waits for a stop far longer.
const LETTING_GO: Duration = Duration::from_secs(15);

/// What a run of either kind needs beside the engine's request.
pub(crate) struct Run {
    pub(crate) host: NodeHost,
    pub(crate) request: Request,
    /// Where the node's files are.
    pub(crate) root: PathBuf,
    pub(crate) listen: Listen,
    /// Whether another port is taken when the usual one is not free, as beside a running agent.
    pub(crate) any_port: bool,
    pub(crate) socket: Option<PathBuf>,
    /// Whether what the boot touched is noted.
    pub(crate) record: bool,
    /// Whether the boot's report is left in the state store.
    pub(crate) report: bool,
    /// What else is told of its end.
    pub(crate) signals: SignalConfig,
    pub(crate) output: OutputFormat,
    /// Whether this is the machine's own boot, which reports to journal, console and systemd.
    pub(crate) is_machine: bool,
}

/// Runs the boot; returns the process's exit status.
pub(crate) async fn run(run: Run) -> u8 {
    // Held to the end of the process: two agents on one root would undo each other's half-done work.
    let _lock = match lock_root(&run.root) {
        Ok(lock) => lock,
        Err(status) => return status,
    };
    let (publish, published) = published();
    let mut served = serve(&published, run.listen, run.socket.as_deref()).await;
    if served.address.is_none() && run.any_port && run.listen != Listen::Off {
        let any = Listen::At(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        let again = serve(&published, any, None).await;
        served.adopt(again);
    }
    announce(&served, run.output);
    let mut sinks = sinks(&run);
    sinks.push(Box::new(publish));
    let emitter = Emitter::new(Box::new(|| SystemClock.now()), sinks);
    let (handle, stop) = stop_signal();
    // One listener for the whole run: a signal between the boot and the wait after it must not be lost.
    let signals = tokio::spawn(stop_on_signals(handle));
    let watchdog = run.is_machine.then(|| tokio::spawn(feed_watchdog()));
    let verdict = boot_reading_ahead(&run, &emitter, stop.clone()).await;
    // The verdict stands and systemd has it. The summary is told after this, for it is the last thing that is told.
    notify::notify_ended(&run, &emitter, &verdict, stop.clone()).await;
    let record = emitter.record();
    if record.is_ready() && (run.record || run.host.is_note_wanted()) {
        note_touched(&run, &record).await;
    }
    if !prints_to_journal() {
        close(&record, &run.root, run.output);
    }
    if record.is_ready() && !run.request.exit_when_ready {
        say_that_it_stays(&served, run.output);
        let mut staying = pin!(stay(&run, &emitter, &verdict, stop));
        tokio::select! {
            // The signal has told those that stay to end, and they give back what they hold.
            _ = signals => drop(tokio::time::timeout(LETTING_GO, staying).await),
            () = &mut staying => {}
        }
    }
    if let Some(watchdog) = watchdog {
        watchdog.abort();
    }
    record.exit_status()
}

/// Boots, and meanwhile reads ahead what earlier boots touched; what is not read by the end of the boot is not read.
async fn boot_reading_ahead(run: &Run, emitter: &Emitter, stop: Stop) -> Verdict {
    let reading = run.host.begin_reading_ahead(&run.root);
    let booting = boot(&run.host, emitter, &run.request, stop);
    tokio::pin!(booting);
    // The first event is the boot's own; this one follows as soon as the boot waits for anything.
    tokio::select! {
        biased;
        verdict = &mut booting => return verdict,
        () = std::future::ready(()) => tell_kernel(run, emitter),
    }
    if let Some(mut reading) = reading {
        tokio::select! {
            verdict = &mut booting => return verdict,
            warmed = reading.ended() => emitter.emit(Event::ReadAhead {
                extents: warmed.extents,
                bytes: warmed.bytes,
                skipped: warmed.skipped,
                took_ms: u64::try_from(warmed.took.as_millis()).unwrap_or(u64::MAX),
            }),
        }
    }
    booting.await
}

/// Tells how long this machine's kernel has run; below a scratch root that would be another machine's.
fn tell_kernel(run: &Run, emitter: &Emitter) {
    let clock = run.is_machine.then(|| kernel_clock(&run.root).ok());
    if let Some(KernelClock { boot, uptime_ms }) = clock.flatten() {
        emitter.emit(Event::KernelKnown { boot, uptime_ms });
    }
}

/// Notes what the boot touched, and says what came of it.
async fn note_touched(run: &Run, record: &Record) {
    let steps = record.steps.iter();
    let placed = steps
        .filter(|step| step.phase == Phase::Files)
        .filter_map(|step| step.step.split_once(":/"))
        .filter_map(|(_, path)| found_below(&run.root, path));
    match run.host.note_touched(&run.root, placed.collect()).await {
        Ok(noted) => {
            output::error_line(format_args!(
                "noted for read-ahead: {} bytes in {} extents of {} files",
                noted.bytes, noted.extents, noted.files
            ));
            if !record.transfers.fetched.is_empty() {
                output::error_line(format_args!(
                    "warning: this boot fetched assets itself, so all of them count as touched; \
                     note a boot from a sealed image instead"
                ));
            }
        }
        Err(error) => output::error_line(format_args!("warning: nothing was noted: {error}")),
    }
}

fn announce(served: &Served, output: OutputFormat) {
    for problem in &served.problems {
        output::error_line(format_args!("warning: {problem}"));
    }
    // Beside JSON the places go to standard error: a port may have been chosen only now.
    let say = |line: String| match output {
        OutputFormat::Text => output::line(line),
        OutputFormat::Json => output::error_line(line),
    };
    if let Some(address) = served.address {
        say(format!("readiness: http://{address}/readyz?verbose"));
    }
    if let Some(socket) = &served.socket {
        say(format!("readiness: unix:{}", socket.display()));
    }
}

fn close(record: &Record, root: &Path, output: OutputFormat) {
    let root = root.display().to_string();
    match output {
        OutputFormat::Text => output::text(closing_text(record, &root)),
        OutputFormat::Json => output::line(summary_json(record, &root)),
    }
}

/// The sinks of a run: the live view and the ledger always, the machine's own places on a machine.
fn sinks(run: &Run) -> Vec<Box<dyn Sink>> {
    let mut sinks: Vec<Box<dyn Sink>> = Vec::new();
    if !prints_to_journal() {
        sinks.push(Box::new(Live::new(run.output)));
    }
    let mut add = |sink: Result<Box<dyn Sink>, SinkError>| match sink {
        Ok(sink) => sinks.push(sink),
        Err(error) => {
            let cause =
                std::error::Error::source(&error).map_or_else(String::new, ToString::to_string);
            output::error_line(format_args!("warning: {error}: {cause}"));
        }
    };
    let boots = place("ledger", &run.root, BOOTS);
    let ledger = boots.and_then(|boots| Ledger::create(&boots, &run.request.boot));
    add(ledger.map(|sink| Box::new(sink) as Box<dyn Sink>));
    let status = place("status-file", &run.root, STATUS_FILE);
    let status = status.and_then(|status| StatusFile::create(&status));
    add(status.map(|sink| Box::new(sink) as Box<dyn Sink>));
    if run.is_machine {
        add(Console::open().map(|sink| Box::new(sink) as Box<dyn Sink>));
        if let Some(journal) = Journal::connect() {
            add(Ok(Box::new(journal)));
        }
        add(Ok(Box::new(NotifySystemd::default())));
    }
    sinks
}

/// Where a sink writes below the root.
fn place(sink: &'static str, root: &Path, path: &str) -> Result<PathBuf, SinkError> {
    locate(root, path, Last::Followed).map_err(|error| SinkError {
        sink,
        source: std::io::Error::other(error),
    })
}

/// Whether standard output is the journal, which has a sink of its own. systemd says which file it
/// connected (systemd.exec(5), `JOURNAL_STREAM`); the variable alone is inherited by much that is not.
fn prints_to_journal() -> bool {
    use std::os::unix::fs::MetadataExt;
    let Ok(stream) = std::env::var("JOURNAL_STREAM") else {
        return false;
    };
    let Ok(found) = std::fs::metadata("/proc/self/fd/1") else {
        return false;
    };
    stream == format!("{}:{}", found.dev(), found.ino())
}

async fn stop_on_signals(handle: StopHandle) {
    let reason = wait_for_signal().await;
    handle.stop(reason);
}

/// Waits for a signal that ends the process; its name.
pub(super) async fn wait_for_signal() -> &'static str {
    let (Ok(mut terminate), Ok(mut interrupt)) = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
    ) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
    }
}

/// Stays with a node that is ready, until told to stop.
async fn stay(run: &Run, emitter: &Emitter, verdict: &Verdict, stop: Stop) {
    let stop_reporting = stop.clone();
    let looking = keep_looking(&run.host, emitter, &run.request, verdict, stop);
    let reporting = notify::notify_api_server(run, emitter, stop_reporting);
    tokio::join!(settle(&run.host), looking, reporting);
}

/// Brings what was fetched onto the disk, which nobody waits for: it is used from memory long before.
async fn settle(host: &NodeHost) {
    if let Err(error) = host.settle_assets().await {
        output::error_line(format_args!("warning: {error}"));
    }
}

/// Says where a boot that became ready is told of from now on.
fn say_that_it_stays(served: &Served, output: OutputFormat) {
    if output == OutputFormat::Text {
        match served.address {
            Some(address) => {
                output::line(format_args!(
                    "serving http://{address}/readyz?verbose until Ctrl-C"
                ));
            }
            None => output::line(format_args!("staying until Ctrl-C")),
        }
    }
}

/// Tells systemd, as often as its watchdog wants, that the process lives.
async fn feed_watchdog() {
    let Some(limit) = sd_notify::watchdog_enabled() else {
        return;
    };
    let mut beats = tokio::time::interval(limit / 2);
    loop {
        beats.tick().await;
        // Without a listener there is nobody to tell, and no harm.
        let _ = sd_notify::notify(&[sd_notify::NotifyState::Watchdog]);
    }
}

/// A name for this run.
pub(crate) fn boot_id() -> BootId {
    BootId::new(SystemClock.now(), std::process::id())
}

/// Reads the configuration named on the command line.
pub(crate) fn configuration(arguments: &ConfigurationArguments) -> Result<Configuration, u8> {
    Ok(Configuration {
        kube_env: arguments.kube_env.as_deref().map(document).transpose()?,
        inline_cluster: arguments
            .cluster_spec
            .as_deref()
            .map(document)
            .transpose()?,
        inline_instance_group: arguments.ig_spec.as_deref().map(document).transpose()?,
        kube_env_at: None,
        config_base: None,
    })
}

/// Reads one document of the configuration, or user data, which may be compressed.
///
/// # Errors
///
/// As [`configuration`]; a file that is not text is a fault of the configuration.
pub(crate) fn document(path: &Path) -> Result<Document, u8> {
    let source = path.display().to_string();
    let cannot =
        |error: &dyn std::fmt::Display| usage(&format!("{source} cannot be read: {error}"));
    let bytes = std::fs::read(path).map_err(|error| cannot(&error))?;
    let bytes = quake_host::imds::decompress(bytes).map_err(|error| cannot(&error))?;
    match quake_formats::yaml::as_text(&source, &bytes) {
        Ok(text) => Ok(Document {
            source,
            text: text.to_owned(),
        }),
        Err(fault) => Err(fail(&fault)),
    }
}

/// Prints what is wrong with the command line; the exit status for it.
pub(crate) fn usage(message: &str) -> u8 {
    output::error_line(format_args!("error: {message}"));
    exit::USAGE
}

/// Prints a fault; the exit status of its class.
pub(crate) fn fail(fault: &quake_model::fault::Fault) -> u8 {
    output::error_text(format_args!("{}", render::fault_text("error", fault)));
    fault.class().exit_status()
}

/// Where to listen when nothing is said.
pub(crate) fn listen(arguments: &RunArguments) -> Listen {
    arguments
        .listen
        .unwrap_or(Listen::At(SocketAddr::from((Ipv4Addr::LOCALHOST, PORT))))
}
