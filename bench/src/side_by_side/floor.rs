//! The floor: what the bytes of a workload cost this machine when nothing else is done with them.
//!
//! Each part is measured alone, in the sitting that it is compared with: receiving over TLS, hashing,
//! inflating, and writing into the page cache. No program that does all four can be faster than the slowest
//! resource they need.

use crate::failure::BenchError;
use crate::run::Bench;
use crate::server::Profile;
use crate::supervise;
use crate::workload::{Kind, Workload};
use flate2::read::GzDecoder;
use nix::sys::resource::{UsageWho, getrusage};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// How often each part is measured; the fastest counts, since a floor is what is possible.
const TIMES: usize = 3;

/// What is read, hashed or written at a time.
const CHUNK: usize = 256 << 10;

/// A limit for what takes seconds.
const LIMIT: Duration = Duration::from_secs(600);

/// The parts, in seconds; `*_cpu` is processor time, `*_wall` time by the clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Floor {
    pub(crate) receive_cpu: f64,
    pub(crate) receive_wall: f64,
    pub(crate) hash_cpu: f64,
    pub(crate) inflate_cpu: f64,
    pub(crate) write_cpu: f64,
    pub(crate) write_wall: f64,
    /// The server's own processor time for the same bytes, on the same processors where there are only two.
    pub(crate) server_cpu: f64,
    /// Processors that the subjects have.
    pub(crate) cores: f64,
}

impl Floor {
    /// Processor time of all parts.
    pub(crate) fn cpu(&self) -> f64 {
        self.receive_cpu + self.hash_cpu + self.inflate_cpu + self.write_cpu
    }

    /// The least time by the clock: the network's, the processors' shared evenly, or the page cache's.
    pub(crate) fn wall(&self) -> f64 {
        let shared = self.cpu() / self.cores;
        self.receive_wall.max(shared).max(self.write_wall)
    }

    /// The same with the server's own work on the same processors, which loopback cannot avoid.
    pub(crate) fn wall_with_server(&self) -> f64 {
        self.wall().max((self.cpu() + self.server_cpu) / self.cores)
    }
}

/// Measures the floor of a workload.
///
/// # Errors
///
/// Fails when curl is missing, or a file cannot be read or written.
pub(crate) fn measure(bench: &Bench<'_>, workload: &Workload) -> Result<Floor, BenchError> {
    let (receive_cpu, _, _) = receive(bench, workload, 1)?;
    let (_, receive_wall, server_cpu) = receive(bench, workload, 6)?;
    let (write_cpu, write_wall) = best(|| write(bench, workload.landing_bytes()))?;
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    Ok(Floor {
        receive_cpu,
        receive_wall,
        hash_cpu: best(|| hash(workload))?.0,
        inflate_cpu: best(|| inflate(workload))?.0,
        write_cpu,
        write_wall,
        server_cpu,
        cores: if count == 1 { 1.0 } else { 2.0 },
    })
}

/// The least of several measurements, each of the two figures by itself.
fn best(
    mut once: impl FnMut() -> Result<(f64, f64), BenchError>,
) -> Result<(f64, f64), BenchError> {
    let mut least = (f64::INFINITY, f64::INFINITY);
    for _ in 0..TIMES {
        let (cpu, wall) = once()?;
        least = (least.0.min(cpu), least.1.min(wall));
    }
    Ok(least)
}

/// Processor time, time by the clock, and the server's processor time of receiving everything.
fn receive(
    bench: &Bench<'_>,
    workload: &Workload,
    lanes: usize,
) -> Result<(f64, f64, f64), BenchError> {
    let notes = bench.folder("notes")?;
    let base = bench.base(workload, Profile::Loop);
    let mut command = Command::new("curl");
    command.args(["--silent", "--fail", "--cacert"]);
    command.arg(&bench.ca.certificate);
    if lanes > 1 {
        command.args(["--parallel", "--parallel-immediate", "--parallel-max"]);
        command.arg(lanes.to_string());
    }
    for asset in &workload.assets {
        command.args(["--output", "/dev/null"]);
        command.arg(format!("{base}/{}", asset.name));
    }
    let mut server = f64::INFINITY;
    let (cpu, wall) = best(|| {
        let before = bench.nginx.cpu_seconds();
        let usage = supervise::start(&command, &notes, "floor")?.finish(LIMIT)?;
        if usage.status != 0 {
            let text = format!("curl ended with {}", usage.status);
            return Err(BenchError::Unfit(text));
        }
        server = server.min(bench.nginx.cpu_seconds() - before);
        Ok((usage.user + usage.system, usage.wall))
    })?;
    Ok((cpu, wall, server))
}

fn hash(workload: &Workload) -> Result<(f64, f64), BenchError> {
    let mut cpu = 0.0;
    let begin = Instant::now();
    for asset in &workload.assets {
        let path = workload.folder.join(&asset.name);
        cpu += hash_file(&path).map_err(BenchError::path(&path))?;
    }
    Ok((cpu, begin.elapsed().as_secs_f64()))
}

/// Processor time of the hashing alone; reading is not part of it.
fn hash_file(path: &Path) -> io::Result<f64> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; CHUNK];
    let mut digest = Sha256::new();
    let mut cpu = 0.0;
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok(cpu);
        }
        let before = own_cpu();
        digest.update(&buffer[..count]);
        cpu += own_cpu() - before;
    }
}

fn inflate(workload: &Workload) -> Result<(f64, f64), BenchError> {
    let (begin, before) = (Instant::now(), own_cpu());
    let packed = workload
        .assets
        .iter()
        .filter(|asset| asset.kind == Kind::TarGz);
    for asset in packed {
        let path = workload.folder.join(&asset.name);
        let inflated = || -> io::Result<()> {
            let file = BufReader::with_capacity(CHUNK, File::open(&path)?);
            let mut inflating = GzDecoder::new(file);
            let mut buffer = vec![0; CHUNK];
            while inflating.read(&mut buffer)? > 0 {}
            Ok(())
        };
        inflated().map_err(BenchError::path(&path))?;
    }
    Ok((own_cpu() - before, begin.elapsed().as_secs_f64()))
}

/// Writes as many bytes as must land into new files, which are removed again.
fn write(bench: &Bench<'_>, bytes: u64) -> Result<(f64, f64), BenchError> {
    /// Larger workloads are written as several files of this size.
    const FILE: u64 = 64_000_000;
    let folder = bench.folder("floor")?;
    nix::unistd::sync();
    let chunk = vec![0x5a; CHUNK];
    let (begin, before) = (Instant::now(), own_cpu());
    let written = || -> io::Result<()> {
        let mut left = bytes;
        let mut number = 0;
        while left > 0 {
            let mut file = File::create(folder.join(number.to_string()))?;
            let mut size = left.min(FILE);
            left -= size;
            number += 1;
            while size > 0 {
                let count = chunk.len().min(usize::try_from(size).unwrap_or(usize::MAX));
                file.write_all(&chunk[..count])?;
                size -= count as u64;
            }
        }
        Ok(())
    };
    written().map_err(BenchError::path(&folder))?;
    let figures = (own_cpu() - before, begin.elapsed().as_secs_f64());
    std::fs::remove_dir_all(&folder).map_err(BenchError::path(&folder))?;
    Ok(figures)
}

/// Processor time of this thread so far, in seconds.
fn own_cpu() -> f64 {
    getrusage(UsageWho::RUSAGE_THREAD).map_or(0.0, |usage| {
        supervise::seconds(usage.user_time()) + supervise::seconds(usage.system_time())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_is_the_slowest_resource() {
        let floor = Floor {
            receive_cpu: 0.2,
            receive_wall: 0.15,
            hash_cpu: 0.1,
            inflate_cpu: 0.4,
            write_cpu: 0.1,
            write_wall: 0.1,
            server_cpu: 0.2,
            cores: 2.0,
        };
        assert!((floor.wall() - 0.4).abs() < 1e-9);
        assert!((floor.wall_with_server() - 0.5).abs() < 1e-9);
        let slow_network = Floor {
            receive_wall: 3.0,
            ..floor
        };
        assert!((slow_network.wall() - 3.0).abs() < 1e-9);
    }
}
