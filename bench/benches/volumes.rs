//! `cargo bench -p quake-bench --bench volumes`: what the choice of volumes comes to, and what it costs.

use quake_bench::legacy;
use quake_bench::orders::{count, decided, settle};
use quake_bench::product::product;
use quake_bench::worlds::{Large, duplicates, large, three_members};
use quake_volumes::select_volumes;
use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

const RUNS: usize = 50;
const SIZES: [usize; 2] = [2_000, 10_000];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(size) = arguments
        .iter()
        .find_map(|it| it.strip_prefix("--memory-of="))
    {
        measure_memory(size.parse().unwrap_or_default());
        return;
    }
    print_outcomes();
    for size in SIZES {
        print_time(size);
        print_memory(size);
    }
    print_product();
}

fn print_outcomes() {
    let worlds = [
        ("2 main + 2 events duplicates, 24 orders", duplicates()),
        ("3 members in one zone, 720 orders", three_members()),
    ];
    for (name, world) in worlds {
        println!("{name}: distinct outcomes");
        for (agent, taken) in [
            ("protokube", count(&world, legacy::protokube)),
            ("etcd-manager", count(&world, legacy::etcd_manager)),
            (
                "quake-agent, volumes it ends up with",
                count(&world, settle),
            ),
        ] {
            let split = taken.iter().filter(|(taken, _)| {
                let mut members = taken.values().filter_map(|id| id.rsplit('-').next());
                let first = members.next();
                members.any(|member| Some(member) != first)
            });
            let (outcomes, all) = (taken.len(), taken.values().sum::<usize>());
            let split: usize = split.map(|(_, count)| count).sum();
            println!("  {agent}: {outcomes}; of two kinds in {split} of {all} orders");
        }
        println!("  quake-agent, decisions: {}", count(&world, decided).len());
    }
}

fn print_time(size: usize) {
    let listing = large(size);
    let entries: usize = listing.pages.iter().map(Vec::len).sum();
    let pages = listing.pages.len();
    let times: Vec<(Duration, Duration)> = (0..RUNS).map(|_| time_of(listing.clone())).collect();
    let spread = |mut times: Vec<Duration>| {
        times.sort_unstable();
        format!("median {:?}, worst {:?}", times[RUNS / 2], times[RUNS - 1])
    };
    let whole = spread(times.iter().map(|(join, decide)| *join + *decide).collect());
    let decide = spread(times.iter().map(|(_, decide)| *decide).collect());
    println!("{size} volumes, {entries} entries in {pages} pages, {RUNS} runs:");
    println!("  world and decision: {whole}; the decision alone: {decide}");
}

fn time_of(listing: Large) -> (Duration, Duration) {
    let start = Instant::now();
    let world = listing.join();
    let joined = start.elapsed();
    black_box(select_volumes(black_box(&world)));
    (joined, start.elapsed().saturating_sub(joined))
}

/// A process's peak never falls, so each size is measured in its own.
fn print_memory(size: usize) {
    let output = std::env::current_exe().and_then(|program| {
        let mut child = Command::new(program);
        child.arg(format!("--memory-of={size}")).output()
    });
    match output {
        Ok(output) => print!("{}", String::from_utf8_lossy(&output.stdout)),
        Err(error) => println!("  memory not measured: {error}"),
    }
}

fn measure_memory(size: usize) {
    let before = status_kib("VmRSS:");
    let world = large(size).join();
    // Sets the peak back to what is resident now; without it the making of the world would hide the decision.
    let reset = std::fs::write("/proc/self/clear_refs", "5").is_ok();
    let listed = status_kib("VmRSS:");
    for _ in 0..RUNS {
        black_box(select_volumes(black_box(&world)));
    }
    let peak = status_kib("VmHWM:");
    let (listing, deciding) = (listed.saturating_sub(before), peak.saturating_sub(listed));
    let note = if reset { "" } else { " (peak not reset)" };
    println!(
        "  resident: the listing {listing} KiB; {RUNS} decisions on top of it {deciding} KiB{note}"
    );
}

/// A figure of this process, in KiB; 0 where the kernel does not give it.
fn status_kib(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let figure = line.and_then(|line| line.split_whitespace().next());
    figure.and_then(|figure| figure.parse().ok()).unwrap_or(0)
}

fn print_product() {
    let worlds = product();
    let start = Instant::now();
    for world in &worlds {
        black_box(select_volumes(black_box(world)));
    }
    let took = start.elapsed();
    let each = took / u32::try_from(worlds.len()).unwrap_or(1).max(1);
    println!(
        "all {} worlds of one volume: {took:?}, {each:?} each",
        worlds.len()
    );
}
