//! A library that the loader refuses: of all programs where `/etc/ld.so.preload` names it (ld.so(8)). The library is the one
//! behind "required by" in the loader's message, not the program in front.

use super::super::check::{Certainty, Finding};
use super::super::logs::is_late;
use super::super::node::Node;
use crate::log_lines::is_plain_name;
use quake_formats::yaml::shorten;
use std::collections::BTreeSet;

const PRELOAD: &str = "/etc/ld.so.preload";

/// What the loader says of a library that it cannot bind.
struct Refusal<'a> {
    library: &'a str,
    program: &'a str,
    why: String,
    line: &'a str,
}

/// The library that keeps programs from starting, where one is to blame.
pub(super) fn refused(node: &Node<'_>) -> Option<Finding> {
    let all: Vec<Refusal<'_>> = lines(node).filter_map(read).collect();
    let last = all.last()?;
    let library = last.library;
    let of_it = all.iter().filter(|one| one.library == library);
    let programs: BTreeSet<&str> = of_it.map(|one| name(one.program)).collect();
    let names: Vec<&str> = programs.iter().copied().collect();
    let preload = node.text(PRELOAD).ok().flatten().unwrap_or_default();
    let finding = match entries(preload).any(|entry| entry == library) {
        true => Finding::new(
            format!(
                "{PRELOAD} loads {library} into every program, and the loader refuses it ({}): no program of the host that is linked dynamically starts any more, such as {}",
                last.why,
                names.join(", ")
            ),
            without_preload(node, library, preload),
        )
        .seen(PRELOAD, preload.trim()),
        // One program alone may be the wrong one itself.
        false if programs.len() > 1 => Finding::new(
            format!(
                "the loader refuses the library {library} ({}), and with it the programs {}",
                last.why,
                names.join(", ")
            ),
            format!(
                "install the build of {library} that is for this distribution (dpkg -S {library} or rpm -qf {library} names its package), or take its directory out of /etc/ld.so.conf.d and run ldconfig; the programs are right"
            ),
        )
        .by(Certainty::Likely),
        false => return None,
    };
    Some(finding.seen("journal", shorten(last.line, 300)))
}

/// What kubelet says of a program of a pod, whose libraries are of its image.
const OF_PODS: &[&str] = &["Probe failed", "Readiness", "Liveness"];

/// The late lines of the host's programs.
fn lines<'a>(node: &Node<'a>) -> impl Iterator<Item = &'a str> {
    let journals = node.survey().journals.ok().into_iter().flatten();
    let lines = journals.flat_map(|(_, lines)| lines.iter().map(String::as_str));
    let is_own = |line: &&str| !OF_PODS.iter().any(|words| line.contains(words));
    lines.filter(move |line| is_own(line) && is_late(line, node))
}

/// Reads a message of the loader (glibc `elf/dl-version.c` and `elf/dl-lookup.c`):
/// ``umount: /lib/libc.so.6: version `GLIBC_2.38' not found (required by /x.so)`` or
/// `umount: symbol lookup error: /x.so: undefined symbol: f`.
fn read(line: &str) -> Option<Refusal<'_>> {
    let of_version = || {
        let (before, rest) = line.split_once(": version `")?;
        let (version, after) = rest.split_once("' not found (required by ")?;
        let (library, _) = after.split_once(')')?;
        let before = before.rsplit_once(": ").map_or("", |(program, _)| program);
        Some((
            before,
            library,
            format!("it needs {version}, which this host lacks"),
        ))
    };
    let of_symbol = || {
        let (before, rest) = line.split_once(": symbol lookup error: ")?;
        let (library, rest) = rest.split_once(": undefined symbol: ")?;
        let symbol = rest.split([',', ' ']).next()?;
        Some((before, library, format!("it needs the symbol {symbol}")))
    };
    let (before, library, why) = of_version().or_else(of_symbol)?;
    let program = before.rsplit([' ', '"']).next()?;
    let is_library = library.starts_with('/') && library.contains(".so") && is_plain_name(library);
    (is_library && !program.is_empty()).then_some(Refusal {
        library,
        program,
        why,
        line,
    })
}

/// The last part of a path.
fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The libraries that the file names: blanks and colons part them, and a `#` begins a comment (glibc `elf/rtld.c`).
fn entries(preload: &str) -> impl Iterator<Item = &str> {
    let lines = preload.lines();
    let bare = lines.map(|line| line.split_once('#').map_or(line, |(before, _)| before));
    let words = bare.flat_map(|line| line.split([' ', '\t', ':']));
    words.filter(|word| !word.is_empty())
}

/// How a library is taken out where no program starts: by a builtin of a shell that runs, or from a pod that mounts no service account,
/// for kubelet cannot mount one either.
fn without_preload(node: &Node<'_>, library: &str, preload: &str) -> String {
    let others: Vec<String> = entries(preload)
        .filter(|entry| *entry != library)
        .map(|entry| match is_plain_name(entry) {
            true => entry.to_owned(),
            false => format!("'{entry}'"),
        })
        .collect();
    let pattern = library.replace('.', "[.]");
    let by_shell = match others.is_empty() {
        true => format!(": >{PRELOAD}"),
        false => format!("printf '%s\\n' {} >{PRELOAD}", others.join(" ")),
    };
    let name_of_node = node.expected().map(|expected| expected.node_name.as_str());
    let name_of_node = name_of_node.ok().filter(|name| !name.is_empty());
    let name_of_node = name_of_node.unwrap_or("NODE");
    let pod = format!(
        "kubectl run preload-off --restart=Never --image=busybox --overrides='{{\"apiVersion\":\"v1\",\"spec\":{{\"nodeName\":\"{name_of_node}\",\"automountServiceAccountToken\":false,\"volumes\":[{{\"name\":\"etc\",\"hostPath\":{{\"path\":\"/etc\"}}}}],\"containers\":[{{\"name\":\"preload-off\",\"image\":\"busybox\",\"command\":[\"sed\",\"-E\",\"-i\",\"s#(^|[ :]){pattern}([ :]|$)#\\\\1\\\\2#g\",\"/host/ld.so.preload\"],\"volumeMounts\":[{{\"name\":\"etc\",\"mountPath\":\"/host\"}}]}}]}}}}'"
    );
    format!(
        "take {library} out of {PRELOAD} without starting a program of the host: in a shell that is open already its builtins still work: {by_shell}; else from a pod that mounts no service account: {pod} (or another image that has sed); then install the build of {library} that is for this distribution, and take it out of what copied it here, or it comes back; kubelet needs no restart"
    )
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;

    const ID: &str = "assets.binaries";
    const OF_MOUNT: &str = "Output: umount: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required by /usr/local/lib/libsnoopy.so)";

    #[test]
    fn a_preloaded_library_that_the_loader_refuses_is_the_cause() {
        let mut node = Sample::worker();
        node.journal("kubelet.service", &[OF_MOUNT]);
        node.text("/etc/ld.so.preload", "/usr/local/lib/libsnoopy.so\n");
        let says = "/etc/ld.so.preload loads /usr/local/lib/libsnoopy.so into every program";
        node.assert(ID, Status::Fail, says);
        node.assert(
            ID,
            Status::Fail,
            "builtins still work: : >/etc/ld.so.preload",
        );
        node.assert(ID, Status::Fail, "GLIBC_2.38, which this host lacks");
        node.text(
            "/etc/ld.so.preload",
            "libjemalloc.so /usr/local/lib/libsnoopy.so:/x/y.so # /x/z.so\n",
        );
        node.assert(
            ID,
            Status::Fail,
            "printf '%s\\n' libjemalloc.so /x/y.so >/etc/ld.so.preload",
        );
        node.assert(ID, Status::Fail, "/usr/local/lib/libsnoopy[.]so([ :]|$)");
        let probe = format!("Readiness probe: Probe failed: {OF_MOUNT}");
        node.journal("kubelet.service", &[&probe]);
        let finding = node.judge(ID).finding;
        assert!(!finding.is_some_and(|finding| finding.summary.contains("libsnoopy")));
    }

    #[test]
    fn a_library_that_several_programs_name_is_the_cause_and_they_are_not() {
        let mut node = Sample::worker();
        let lines = [
            OF_MOUNT,
            "iptables: symbol lookup error: /usr/local/lib/libsnoopy.so: undefined symbol: f",
        ];
        node.journal("kubelet.service", &lines);
        node.assert(
            ID,
            Status::Fail,
            "refuses the library /usr/local/lib/libsnoopy.so",
        );
        node.journal("kubelet.service", &lines[..1]);
        assert_ne!(
            node.judge(ID)
                .finding
                .map(|finding| finding.summary.contains("libsnoopy.so (it")),
            Some(true)
        );
    }
}
