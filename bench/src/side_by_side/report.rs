//! The report: figures with their spread, what they were measured on, and what favours whom.

mod boot;
mod machine;
mod scaling;
mod systemd;
mod tables;
mod targets;
mod wrap;

pub(crate) use machine::Machine;
pub(crate) use tables::section;

use crate::results::{Binary, RealSystemd, Results, Scaling, StartUp};
use crate::server::Profile;
use crate::statistics::STEADY;
use std::fmt::Write;

/// The figures of the report.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) binary: &'a Binary,
    pub(crate) start_up: &'a StartUp,
    /// The start of nodeup, where one was given.
    pub(crate) peer: Option<&'a StartUp>,
    pub(crate) results: &'a [Results],
    pub(crate) scaling: Option<&'a Scaling>,
    pub(crate) systemd: Option<&'a RealSystemd>,
}

impl Report<'_> {
    /// The report as Markdown.
    pub(crate) fn render(&self) -> String {
        let mut text = String::from(HEAD);
        self.machine.render(&mut text);
        let _ = write!(text, "\n## Targets\n\n{}", targets::table(self));
        for results in self.results {
            text.push_str(&section(results));
        }
        text.push_str(&systemd::section(self.systemd));
        text.push_str(&scaling::section(self.scaling));
        let _ = write!(text, "{}", how(self));
        wrap::wrapped(&text)
    }

    /// The page of whole boots; `None` where none was measured.
    pub(crate) fn render_boots(&self) -> Option<String> {
        let boots = &self.systemd?.boots;
        (!boots.is_empty()).then(|| boot::page(boots))
    }

    /// The results of a scenario.
    fn for_scenario(&self, name: &str) -> Option<&Results> {
        self.results
            .iter()
            .find(|results| results.scenario.name == name && results.unavailable.is_none())
    }
}

const HEAD: &str = "\
# Side by side

Written by `cargo xtask bench`; [README.md](README.md) says how. A figure is the median of the rounds
[smallest, largest]. A ratio is the median over the rounds of what the other needed divided by what quake-agent
needed in the same round: above 1, quake-agent is better. MB are 10^6 bytes, MiB 2^20.

## Machine

";

/// How it was measured, and what favours whom.
fn how(report: &Report<'_>) -> String {
    let mut text = String::from("\n## Servers\n\n");
    for profile in [Profile::Loop, Profile::Ec2, Profile::Rtt, Profile::Flaky] {
        let _ = writeln!(text, "- `{}`: {}", profile.name(), profile.meaning());
    }
    let _ = write!(
        text,
        "\n## Commands\n\n```\n\
         A  k1, k5: quake-agent boot --kube-env KUBE_ENV --root TARGET --simulate disks,kernel,units,probes\n   \
         --exit-when-ready --no-boot-report --output json --listen off\n   \
         others: quake-agent rehearse NODE --root TARGET --assets fetch --exit-when-ready --output json --listen off\n\
         B  PEER_NODEUP --conf=KUBE_ENV --retries=0, below a root of its own\n\
         C  bash bench/src/side_by_side/subject/serial.sh LIST AUTHORITY\n\
         D  bash bench/src/side_by_side/subject/piped.sh LIST AUTHORITY\n\
         E  bash bench/src/side_by_side/subject/aria2.sh LIST AUTHORITY\n```\n\n\
         A has `AWS_CA_BUNDLE` set to the CA. The binary: {} bytes, sha256 {}...\n",
        report.binary.size, report.binary.sha256
    );
    let _ = writeln!(text, "{NOTES} {STEADY}.");
    text
}

const NOTES: &str = "
## What favours whom

- In k1 and k5, A and B do the same: both read `kube_env.yaml`, ask the same metadata service and the same stand-in for
  kops-controller, and download the same files. systemd is simulated for A; `systemctl`, `sysctl`, `modprobe` and `apt-get`
  do nothing for B. After each run every large file is hashed: each program, plugin and archive must be in its place with
  the right bytes.
- Against B: it has its root mounted first, which takes some 10 ms.
- For B: it never waits for its data to be on the disk. It also puts every file of its cache into `/opt/cni/bin`, which is
  why it writes more.
- Against quake-agent: A is a whole boot, with its record, its small files, its volumes and its units; C, D and E only
  download and unpack. A writes durably (fsync); the others do not.
- For quake-agent: systemd takes no time where it is simulated.
- Under a real systemd nodeup's figure ends when it has started its units, and so does the one beside it; READY comes
  later. kubelet and containerd are scripts.
- The server runs on this machine: with two processors it takes its share of them from every subject alike.
  It speaks HTTP/1.1.
- C, D and E try a file again up to seven times, and check it each time. When they run over what is there, C and
  E download nothing that is right already, but unpack again; D cannot know, and downloads everything.
- Peak memory is that of the largest single process; pages of the program's own file count. A process is never
  seen smaller than the process that started it, here about 3 MiB.
- Bytes are those that the kernel counts for the process and its children at the block layer (`/proc/PID/io`); what
  is read from the page cache is not read there. Read calls are counted apart in a run over what is there.
- No ratio is given for a figure whose largest among quake-agent's own runs is more than this many times the smallest:";
