//! Modules of the kernel that a file of modprobe forbids, as guides for hardening do.

use super::modules::is_loaded;
use crate::checks::check::Finding;
use crate::checks::from_journal::QUOTED;
use crate::checks::logs::is_late;
use crate::checks::node::Node;
use crate::checks::quote::quote;
use crate::log_lines::is_plain_name;
use quake_model::facts::Unseen;

/// Modules that pods, services and pod networks load when they need them.
const NEEDED: &[&str] = &[
    "overlay",
    "br_netfilter",
    "bridge",
    "veth",
    "nf_conntrack",
    "nf_nat",
    "nf_tables",
    "ip_tables",
    "ip6_tables",
    "iptable_nat",
    "iptable_filter",
    "iptable_mangle",
    "xt_comment",
    "xt_conntrack",
    "xt_MASQUERADE",
    "xt_nat",
    "xt_mark",
    "xt_set",
    "ip_set",
    "ip_vs",
    "vxlan",
    "ipip",
    "wireguard",
    "cls_bpf",
    "sch_ingress",
    "nvme",
    "ena",
    "xfs",
    "ext4",
];

/// How a program says that the kernel lacks what it asks for: what stands before the name and behind it, and what the names of
/// its modules begin with (iptables `libxtables/xtables.c`, `libiptc.c`; kmod `tools/modprobe.c`).
const ASKS: &[(&str, &str, &[&str])] = &[
    ("Couldn't load match `", "'", OF_XTABLES),
    ("Couldn't load target `", "'", OF_XTABLES),
    ("initialize iptables table `", "'", &["iptable_"]),
    ("initialize ip6tables table `", "'", &["ip6table_"]),
    ("FATAL: Module ", " not found", &[""]),
    ("ERROR: could not insert '", "'", &[""]),
];

/// The kernel asks for `ipt_recent`, which is another name of `xt_recent`.
pub(super) const OF_XTABLES: &[&str] = &["xt_", "ipt_", "ip6t_"];

/// Targets that have a module of another name.
const WITHIN: &[(&str, &str)] = &[("SNAT", "xt_nat"), ("DNAT", "xt_nat")];

/// What some matches are asked for by.
const WHY: &[(&str, &str)] = &[
    ("recent", " (for a Service with sessionAffinity: ClientIP)"),
    ("statistic", " (for a Service with more than one endpoint)"),
];

/// What a program asks the kernel for, and does not get.
struct Request<'a> {
    /// Who asks: the container, or the unit.
    program: &'a str,
    name: &'a str,
    modules: Vec<String>,
    /// What it logged, with the head of a line that goes on.
    line: String,
}

/// A module that may not be loaded, and where that is said.
pub(super) struct Forbidden<'a> {
    module: String,
    path: &'a str,
    line: &'a str,
    request: Option<Request<'a>>,
}

/// A module that pods need, is not loaded, and may not be: one that a program asks for first (modprobe.d(5): `install` runs
/// another program in its place, and `blacklist` keeps the kernel from loading it by another name).
pub(super) fn forbidden<'a>(node: &Node<'a>) -> Result<Option<Forbidden<'a>>, Unseen> {
    let ruled: Vec<Ruled<'a>> = ruled(node);
    for request in requests(node) {
        let is_requested = |rule: &&Ruled<'a>| {
            let mut modules = request.modules.iter();
            modules.any(|module| module.eq_ignore_ascii_case(&rule.module))
        };
        let Some(rule) = ruled.iter().find(is_requested) else {
            continue;
        };
        if !is_loaded(node, &rule.module)? {
            return Ok(Some(rule.forbidden(Some(request))));
        }
    }
    for rule in &ruled {
        let is_needed = !rule.is_alias && NEEDED.contains(&rule.module.as_str());
        if is_needed && !is_loaded(node, &rule.module)? {
            return Ok(Some(rule.forbidden(None)));
        }
    }
    Ok(None)
}

/// A line of modprobe.d that keeps a module out.
struct Ruled<'a> {
    module: String,
    path: &'a str,
    line: &'a str,
    /// Whether it is kept out only where it is loaded by another name.
    is_alias: bool,
}

impl<'a> Ruled<'a> {
    fn forbidden(&self, request: Option<Request<'a>>) -> Forbidden<'a> {
        Forbidden {
            module: self.module.clone(),
            path: self.path,
            line: self.line,
            request,
        }
    }
}

fn ruled<'a>(node: &Node<'a>) -> Vec<Ruled<'a>> {
    let texts = node.survey().texts.iter();
    let files = texts.filter(|(path, _)| path.starts_with("/etc/modprobe.d/"));
    let lines = files.flat_map(|(path, text)| {
        let lines = text.ok().into_iter().flat_map(|text| text.lines());
        lines.map(move |line| (path.as_str(), line))
    });
    let read = |(path, line): (&'a str, &'a str)| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ends = ["/true", "/false", "/nologin"];
        let (module, is_alias) = match words.as_slice() {
            ["install", module, program, ..] if ends.iter().any(|end| program.ends_with(end)) => {
                (module, false)
            }
            ["blacklist", module] => (module, true),
            _ => return None,
        };
        let module = module.replace('-', "_");
        is_plain_name(&module).then_some(Ruled {
            module,
            path,
            line,
            is_alias,
        })
    };
    lines.filter_map(read).collect()
}

/// What programs ask for of late, the latest of each log.
fn requests<'a>(node: &Node<'a>) -> Vec<Request<'a>> {
    let journals = node.survey().journals.ok().into_iter().flatten();
    let of_units = journals.map(|(unit, lines)| (unit.as_str(), lines.as_slice()));
    let of_pods = node
        .pods()
        .map(|pod| (pod.container.as_str(), pod.log.as_slice()));
    let logs = of_pods.chain(of_units);
    logs.filter_map(|(program, lines)| {
        let places = (0..lines.len()).rev();
        let (at, name, modules) = places.into_iter().find_map(|at| {
            let (name, modules) = requested_in(&lines[at])?;
            Some((at, name, modules))
        })?;
        // A line of klog that goes on in lines of its own has its time in the first.
        let goes_on = |line: &String| line.starts_with(char::is_whitespace);
        let head = (0..=at).rev().find(|at| !goes_on(&lines[*at]))?;
        let line = match head == at {
            true => lines[at].clone(),
            false => format!("{} {}", lines[head], lines[at].trim()),
        };
        is_late(&lines[head], node).then_some(Request {
            program,
            name,
            modules,
            line,
        })
    })
    .collect()
}

/// The name that a line asks for, and the modules that would have it.
fn requested_in(line: &str) -> Option<(&str, Vec<String>)> {
    let mut requested = ASKS.iter().filter_map(|(before, behind, prefixes)| {
        let (_, rest) = line.split_once(before)?;
        Some((rest.split_once(behind)?.0, *prefixes))
    });
    let of_extension = || Some((extension_in(line)?, OF_XTABLES));
    let (name, prefixes) = requested
        .find(|(name, _)| is_plain_name(name))
        .or_else(of_extension)?;
    let own = prefixes.iter().map(|prefix| format!("{prefix}{name}"));
    let within = WITHIN.iter().filter(|(target, _)| *target == name);
    let within = within.map(|(_, module)| (*module).to_owned());
    Some((name, own.chain(within).collect()))
}

/// The extension of iptables that a line says the kernel lacks (libxtables).
pub(super) fn extension_in(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("Extension ")?;
    let (name, rest) = rest.split_once(" revision")?;
    (is_plain_name(name) && rest.contains("missing kernel module")).then_some(name)
}

impl Forbidden<'_> {
    /// The finding; `missing` is the module that is seen to be missing.
    pub(super) fn finding(&self, missing: Option<&str>) -> Finding {
        let (module, path) = (&self.module, self.path);
        if let Some(request) = &self.request {
            return self.finding_of(request);
        }
        let lacks = match missing {
            Some(missing) => format!(", and the kernel lacks {missing}"),
            None => String::new(),
        };
        let load = missing.unwrap_or(module);
        Finding::new(
            format!("{path} forbids the module {module}, which pods need{lacks}"),
            format!("take the line out of {path}; modprobe {load}; systemctl restart systemd-sysctl.service, then the runtime and kube-proxy's pod"),
        )
        .seen("line", self.line)
    }

    /// The finding of a module that a program asks for.
    fn finding_of(&self, request: &Request<'_>) -> Finding {
        let (module, path, program) = (&self.module, self.path, request.program);
        let why = WHY.iter().find(|(name, _)| *name == request.name);
        let why = why.map_or("", |(_, why)| why);
        let harm = match program {
            "kube-proxy" => {
                ": all its rules are written at once, so no Service of this node is updated any more"
            }
            _ => ": what it writes together with that is not written",
        };
        Finding::new(
            format!("{path} forbids the module {module}, which {program} asks for{why}{harm}"),
            format!("take the line of {module} out of {path}, and of what writes that file (the image, the user data); then modprobe {module}: {program} writes its rules at its next try, without a restart"),
        )
        .seen("line", self.line)
        .seen(program, quote(&request.line, QUOTED))
    }
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;

    fn node(rule: &str, log: &[&str]) -> Sample {
        let mut node = Sample::worker();
        node.text("/etc/modprobe.d/40-less.conf", rule);
        node.text("/proc/filesystems", "nodev\toverlay\n");
        node.text("/proc/sys/net/bridge/bridge-nf-call-iptables", "1\n");
        node.text("/proc/sys/net/netfilter/nf_conntrack_max", "131072\n");
        node.pod("kube-proxy", "running").log = log.iter().map(|line| (*line).to_owned()).collect();
        node
    }

    const HEAD: &str = "E1121 03:21:40.100000       1 proxier.go:1432] \"Failed to execute iptables-restore\" err=<";

    #[test]
    fn a_module_that_is_asked_for_and_forbidden_is_named_with_its_file() {
        for (rule, line) in [
            (
                "install xt_statistic /bin/true\n",
                "\texit status 2: Couldn't load match `statistic':No such file or directory",
            ),
            (
                "blacklist xt_mark\n",
                "\tWarning: Extension MARK revision 0 not supported, missing kernel module?",
            ),
            (
                "install ip6table_nat /sbin/nologin\n",
                "\tcan't initialize ip6tables table `nat': Table does not exist",
            ),
        ] {
            let report = node(rule, &[HEAD, line]).judge("host.modules");
            assert_eq!(report.status, Status::Warn, "{rule} {}", report.note);
            let says = "40-less.conf forbids the module ";
            assert!(
                report.note.contains(says) && report.note.contains("no Service"),
                "{}",
                report.note
            );
        }
    }

    #[test]
    fn what_nothing_asks_for_may_be_forbidden() {
        let rule = "install xt_recent /bin/false\nblacklist xt_mark\n";
        for log in [&[][..], &[HEAD, "\tCouldn't load match `u32':No such file"]] {
            let report = node(rule, log).judge("host.modules");
            assert_eq!(report.status, Status::Ok, "{}", report.note);
        }
    }
}
