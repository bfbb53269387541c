//! Security agents that look at every file before it may be opened, and which of them are on a node.

use crate::checks::node::Node;

/// An agent: what it is called, its programs and modules, and parts of paths or pods that it has.
struct Agent {
    name: &'static str,
    /// Parts of the names of its programs, modules, pods and directories.
    signs: &'static [&'static str],
}

const AGENTS: &[Agent] = &[
    Agent {
        name: "Trend Micro Deep Security (ds_agent)",
        signs: &["ds_agent", "ds_am", "dsa_filter", "tmhook", "bmhook"],
    },
    Agent {
        name: "CrowdStrike Falcon (falcon-sensor)",
        signs: &["falcon-sensor", "falcon_lsm", "CrowdStrike"],
    },
    Agent {
        name: "Microsoft Defender (mdatp)",
        signs: &["mdatp", "wdavdaemon"],
    },
    Agent {
        name: "ClamAV (clamd, clamonacc)",
        signs: &["clamonacc", "clamd"],
    },
    Agent {
        name: "fapolicyd",
        signs: &["fapolicyd"],
    },
    Agent {
        name: "Sophos (sophos-spl)",
        signs: &["sophos", "talpa"],
    },
    Agent {
        name: "Trellix (mfetpd)",
        signs: &["mfetpd", "mfe_fanotify", "McAfee"],
    },
    Agent {
        name: "SentinelOne (sentinelone-agent)",
        signs: &["sentinelone", "s1-agent"],
    },
    Agent {
        name: "Prisma Cloud (twistlock-defender)",
        signs: &["twistlock"],
    },
    Agent {
        name: "Kaspersky (kesl)",
        signs: &["kesl"],
    },
];

/// The agents that run on a node, by what listens, its units, pods, modules and logs.
pub(super) fn agents(node: &Node<'_>) -> Vec<&'static str> {
    let survey = node.survey();
    let listeners = survey.listeners.ok().into_iter().flatten();
    let programs = listeners.filter_map(|one| one.program.as_deref());
    let units = survey.units.ok().into_iter().flatten();
    let units = units
        .filter(|unit| unit.found)
        .map(|unit| unit.name.as_str());
    let runtime = survey.runtime.ok();
    let pods = runtime.and_then(|runtime| runtime.pods.as_ref());
    let pods = pods.into_iter().flatten().map(|pod| pod.name.as_str());
    let modules = node.text("/proc/modules").ok().flatten();
    let paths = survey.entries.keys().map(String::as_str);
    let log = survey.kernel_log.ok().into_iter().flatten();
    let seen: Vec<&str> = programs
        .chain(units)
        .chain(pods)
        .chain(modules)
        .chain(paths)
        .chain(log.map(String::as_str))
        .collect();
    let runs = |agent: &&Agent| {
        let mut signs = agent.signs.iter();
        signs.any(|sign| seen.iter().any(|text| text.contains(sign)))
    };
    AGENTS.iter().filter(runs).map(|agent| agent.name).collect()
}
