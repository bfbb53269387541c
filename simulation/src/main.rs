//! `cargo xtask simulate`: runs worlds until so many boots were made, or for so many minutes.

use mimalloc::MiMalloc;
use quake_simulation::{Bug, Options, Plan, WorldEnd, report, run, schedule};
use std::collections::BTreeMap;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// A boot allocates some hundred thousand times.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

const USAGE: &str = "\
usage: simulate [--seed S] [--boots N] [--minutes M] [--jobs J] [--bug NAME] [--trace]
       simulate --table

  --seed S     the seed of the first world; the next worlds have the seeds after it. Without one: a fresh one, printed
  --boots N    ends once so many boots were made; 500 if neither this nor --minutes is given, one world with --seed
  --minutes M  ends after so many minutes
  --jobs J     runs so many worlds at once; prints the same as with one
  --bug NAME   plants a bug; ends when it is found
  --trace      prints every line of the trace
  --table      plants every bug in turn and prints after how many boots each was found";

/// What is asked for.
#[derive(Default)]
struct Arguments {
    seed: Option<u64>,
    boots: Option<u64>,
    minutes: Option<u64>,
    jobs: Option<u64>,
    bug: Option<Bug>,
    traces: bool,
}

impl Arguments {
    fn parse(words: &[String]) -> Option<Self> {
        let mut read = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--seed" => read.seed = Some(words.next()?.parse().ok()?),
                "--boots" => read.boots = Some(words.next()?.parse().ok()?),
                "--minutes" => read.minutes = Some(words.next()?.parse().ok()?),
                "--jobs" => read.jobs = Some(words.next()?.parse().ok()?),
                "--bug" => read.bug = Some(Bug::from_name(words.next()?)?),
                "--trace" => read.traces = true,
                _ => return None,
            }
        }
        Some(read)
    }

    /// Whether enough was done.
    fn is_done(&self, sum: &Sum, started: Instant) -> bool {
        let minutes = self
            .minutes
            .map(|minutes| Duration::from_secs(60 * minutes));
        let most = match (self.boots, self.minutes, self.seed) {
            (Some(boots), _, _) => boots,
            (None, Some(_), _) => u64::MAX,
            (None, None, Some(_)) => 1,
            (None, None, None) => 500,
        };
        let is_found = self.bug.is_some() && sum.broken > 0;
        is_found || sum.boots >= most || minutes.is_some_and(|most| started.elapsed() >= most)
    }
}

#[derive(Default)]
struct Sum {
    worlds: u64,
    boots: u64,
    ready: usize,
    simulated: Duration,
    broken: u64,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words == ["--table"] {
        return table();
    }
    let Some(arguments) = Arguments::parse(&words) else {
        eprintln!("{USAGE}");
        return ExitCode::from(64);
    };
    let first = arguments.seed.unwrap_or_else(fresh);
    println!("seeds from {first}");
    let started = Instant::now();
    let options = Options {
        bug: arguments.bug,
        keeps_lines: arguments.traces,
    };
    let sum = run_worlds(first, &arguments, options, started);
    print_progress(&sum, started);
    match sum.broken {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// A world that was run: how many came before it, its plan and its end.
type Ended = (u64, Plan, WorldEnd);

/// Worlds that are run before those ahead of them are reported, for each thread: enough that none waits for a long world.
const AHEAD: usize = 64;

/// Runs worlds from the seed `first` on until enough was done.
fn run_worlds(first: u64, arguments: &Arguments, options: Options, started: Instant) -> Sum {
    let jobs = usize::try_from(arguments.jobs.unwrap_or(1)).unwrap_or(1);
    if jobs <= 1 {
        let ended = (0..).map(|number| run_one(first, number, options));
        return add_up(ended, arguments, options, started);
    }
    let next = AtomicU64::new(0);
    thread::scope(|scope| {
        let (sender, ended) = sync_channel(jobs * AHEAD);
        for _ in 0..jobs {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    // Nobody listens any more once enough was done.
                    if sender.send(run_one(first, number, options)).is_err() {
                        return;
                    }
                }
            });
        }
        add_up(ended.into_iter(), arguments, options, started)
    })
}

fn run_one(first: u64, number: u64, options: Options) -> Ended {
    let plan = Plan::new(first.wrapping_add(number));
    let end = run(&plan, options);
    (number, plan, end)
}

/// Reports worlds in the order of their seeds, whichever ends first.
fn add_up(
    ended: impl Iterator<Item = Ended>,
    arguments: &Arguments,
    options: Options,
    started: Instant,
) -> Sum {
    let mut sum = Sum::default();
    let mut printed = started;
    let mut early = BTreeMap::new();
    for (number, plan, end) in ended {
        early.insert(number, (plan, end));
        while let Some((plan, end)) = early.remove(&sum.worlds) {
            take(&plan, end, options, &mut sum);
            if printed.elapsed() > Duration::from_secs(60) {
                printed = Instant::now();
                print_progress(&sum, started);
            }
            if arguments.is_done(&sum, started) {
                return sum;
            }
        }
    }
    sum
}

/// Counts a world, and reports what it broke.
fn take(plan: &Plan, end: WorldEnd, options: Options, sum: &mut Sum) {
    let seed = plan.seed;
    sum.worlds += 1;
    sum.boots += end.boots;
    sum.ready += end.ready;
    sum.simulated += end.simulated;
    if options.keeps_lines {
        println!("{}{}", schedule(plan), end.trace.lines());
        println!("seed {seed}: digest {:016x}", end.trace.digest());
    }
    if let Some(found) = end.violation {
        sum.broken += 1;
        if let Some(bug) = options.bug {
            println!(
                "seed {seed}: {} is found: {}: {}",
                bug.name(),
                found.law,
                found.seen
            );
            return;
        }
        println!("{}", report(plan, &found, &commit(), options));
    }
}

/// Boots after which a planted bug counts as not found.
const MOST_BOOTS: u64 = 20_000;

/// Plants every bug in turn; from seed 1 on.
fn table() -> ExitCode {
    println!("| bug | what | found by | seed | boots |\n|---|---|---|---|---|");
    let mut is_complete = true;
    for bug in Bug::ALL.iter().copied() {
        let options = Options {
            bug: Some(bug),
            keeps_lines: false,
        };
        let (mut seed, mut boots) = (0, 0);
        let law = loop {
            seed += 1;
            let end = run(&Plan::new(seed), options);
            boots += end.boots;
            match end.violation {
                Some(found) => break found.law,
                None if boots > MOST_BOOTS => {
                    is_complete = false;
                    break "none";
                }
                None => {}
            }
        };
        println!(
            "| `{}` | {} | `{law}` | {seed} | {boots} |",
            bug.name(),
            bug.what()
        );
    }
    match is_complete {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn print_progress(sum: &Sum, started: Instant) {
    let seconds = started.elapsed().as_secs_f64();
    let hours = sum.simulated.as_secs_f64() / 3600.0;
    println!(
        "{} worlds, {} boots, {} nodes ready, {hours:.1} simulated hours, {} broken; {seconds:.0} s: {:.1} boots/s, {:.3} simulated h/s",
        sum.worlds,
        sum.boots,
        sum.ready,
        sum.broken,
        sum.boots as f64 / seconds,
        hours / seconds
    );
}

/// A seed that nobody chose.
fn fresh() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    // Seconds and not less: the seed is typed by people.
    now.map_or(1, |now| now.as_secs() * 1000)
}

/// The commit that is checked out; a seed means the same world only there.
fn commit() -> String {
    let output = Command::new("git")
        .args(["rev-parse", "--short", "HEAD"])
        .output();
    let output = output.ok().filter(|output| output.status.success());
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.unwrap_or_else(|| "unknown".to_owned())
}
