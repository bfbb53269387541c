//! What an instance's console says of its last boot.
//!
//! The agent ends each boot with one line for machines (`quake-agent: READY …`, `FAILED …`, `STOPPED …`).
//! The console also has the kernel's lines, cloud-init's, those of earlier boots, and what others print. EC2
//! keeps the last 64 KiB of it and sends them in base64. Whoever runs as root on the instance can print such a
//! line: it is evidence for an operator, never an input to the agent.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use quake_model::boot::BootState;
use quake_model::fault::{Class, Code};
use quake_model::phase::Phase;

/// How much of a console EC2 keeps (GetConsoleOutput, EC2 API reference, 2026-11).
const KEPT: usize = 64 << 10;

/// What each of the agent's lines begins with.
const MARK: &str = "quake-agent: ";

/// What the kernel says first when the machine starts.
const KERNEL: &str = "] Linux version ";

/// EC2's padding is right, but other services that play EC2 leave it out.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// What a console says of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Console {
    /// There is no output yet.
    Empty,
    /// There is output, and no line of the agent in it.
    Silent {
        /// Whether EC2 has dropped older output, where the lines may have been.
        is_cut: bool,
    },
    /// The agent spoke, and did not say yet how the instance's last boot ended.
    Unfinished {
        /// Its last line.
        said: String,
    },
    /// The last boot ended.
    Ended(Ending),
}

/// How a boot ended, as its last line says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ending {
    pub(super) result: BootState,
    /// The instance that a ready node names.
    pub(super) instance: Option<String>,
    /// The cluster that a ready node names.
    pub(super) cluster: Option<String>,
    /// The role that a ready node names.
    pub(super) role: Option<String>,
    /// How long the boot of a ready node took.
    pub(super) elapsed_ms: Option<u64>,
    /// The code of what failed or stopped.
    pub(super) code: Option<String>,
    pub(super) phase: Option<String>,
    /// The exit status; 0 of a ready node.
    pub(super) exit_status: u8,
    /// What was said before the line: why the boot failed.
    pub(super) summary: String,
}

impl Ending {
    /// The name of the fault's class: the code's, or for a code of a newer agent that of the exit status.
    pub(super) fn class(&self) -> &'static str {
        match self.code.as_deref().map(Code::from_name) {
            None | Some(Code::Unrecognised) => {
                let by_status = |class: &&Class| class.exit_status() == self.exit_status;
                let class = Class::ALL.iter().find(by_status);
                class.map_or("unknown", |class| class.name())
            }
            Some(code) => code.entry().class.name(),
        }
    }
}

/// Reads console output as EC2 sends it, in base64.
///
/// # Errors
///
/// Says why it is no base64.
pub(super) fn read_console(encoded: &str) -> Result<Console, String> {
    let mut digits: String = encoded.split_ascii_whitespace().collect();
    // A single digit behind the last whole byte holds nothing.
    if digits.trim_end_matches('=').len() % 4 == 1 {
        digits.truncate(digits.trim_end_matches('=').len() - 1);
    }
    let bytes = LENIENT
        .decode(digits)
        .map_err(|error| format!("the console output is no base64: {error}"))?;
    Ok(read_text(&bytes))
}

fn read_text(bytes: &[u8]) -> Console {
    let text = String::from_utf8_lossy(bytes);
    let mut ended: Option<Ending> = None;
    let mut said = None;
    let mut story = "";
    // Lines end in CR LF, and progress bars in CR alone.
    for line in text.split(['\r', '\n']) {
        if line.contains(KERNEL) {
            ended = None;
        }
        let Some(own) = line.split_once(MARK).map(|(_, own)| clean(own)) else {
            continue;
        };
        said = Some(own);
        match ending(own) {
            Some(ending) => {
                let why = ending.code.as_ref().map(|_| story.to_owned());
                let summary = why.unwrap_or_default();
                ended = Some(Ending { summary, ..ending });
                story = "";
            }
            // A phase after the end of a boot is one of the next boot.
            None if is_of_a_phase(own) => (ended, story) = (None, own),
            None if own.starts_with("fix: ") => {}
            None => story = own,
        }
    }
    let has_output = text.chars().any(|c| !c.is_whitespace() && c != '\0');
    match (ended, said) {
        (Some(ending), _) => Console::Ended(ending),
        (None, Some(said)) => Console::Unfinished {
            said: said.to_owned(),
        },
        (None, None) if has_output => Console::Silent {
            is_cut: bytes.len() >= KEPT,
        },
        (None, None) => Console::Empty,
    }
}

/// The agent's words, without control characters and what follows them.
fn clean(own: &str) -> &str {
    let end = own.find(char::is_control).unwrap_or(own.len());
    own[..end].trim_end()
}

fn is_of_a_phase(own: &str) -> bool {
    let mut words = own.split(' ');
    let phase = words.next().and_then(Phase::from_name);
    phase.is_some() && matches!(words.next(), Some("done," | "failed:" | "has"))
}

/// How a boot ended, if this is the line that says so and it is whole.
fn ending(own: &str) -> Option<Ending> {
    // The kernel may begin a message where the line ends.
    let own = own.split('[').next().unwrap_or(own);
    let (word, fields) = own.split_once(' ')?;
    let field = |name: &str| {
        let pairs = fields
            .split(' ')
            .filter_map(|field| field.split_once('='))
            .find(|(key, _)| *key == name);
        let known = pairs.filter(|(_, value)| !matches!(*value, "" | "-"));
        known.map(|(_, value)| value.to_owned())
    };
    let result = match word {
        "READY" => BootState::Ready,
        "FAILED" => BootState::Failed,
        "STOPPED" => BootState::Stopped,
        _ => return None,
    };
    let is_ready = result == BootState::Ready;
    let number = |name: &str| field(name)?.parse::<u64>().ok();
    let elapsed_ms = number("elapsed_ms");
    let exit_status = number("exit").and_then(|status| u8::try_from(status).ok());
    let code = field("code");
    let is_whole = match is_ready {
        true => elapsed_ms.is_some(),
        false => code.is_some() && exit_status.is_some(),
    };
    is_whole.then(|| Ending {
        result,
        instance: field("instance"),
        cluster: field("cluster"),
        role: field("role"),
        elapsed_ms,
        code,
        phase: field("phase"),
        exit_status: exit_status.unwrap_or_default(),
        summary: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const READY: &str =
        "quake-agent: READY instance=i-0a cluster=c.example role=worker elapsed_ms=41234\r\n";
    const FAILED: &str = "quake-agent: the boot failed in storage: storage.volume-conflict: two volumes\r\n\
        quake-agent: fix: find out which one has the data\r\n\
        quake-agent: FAILED code=storage.volume-conflict phase=storage exit=80\r\n";
    const KERNEL_STARTS: &str = "[    0.000000] Linux version 6.1.0-18-cloud-amd64\r\n";
    const DONE: &str = "quake-agent: files done, 3 changed (at 41.2 s)\r\n";

    fn read(text: &str) -> Console {
        read_console(&LENIENT.encode(text)).expect("it is base64")
    }

    fn ended(text: &str) -> Ending {
        match read(text) {
            Console::Ended(ending) => ending,
            other => panic!("{other:?} of {text}"),
        }
    }

    #[test]
    fn the_last_line_says_who_is_ready_and_after_how_long() {
        let ending = ended(&format!("{KERNEL_STARTS}{DONE}{READY}login: "));
        assert_eq!(ending.result, BootState::Ready);
        assert_eq!(ending.instance.as_deref(), Some("i-0a"));
        assert_eq!(ending.cluster.as_deref(), Some("c.example"));
        assert_eq!(ending.role.as_deref(), Some("worker"));
        assert_eq!((ending.elapsed_ms, ending.exit_status), (Some(41_234), 0));
        let nameless = "quake-agent: READY instance=- cluster=- role=- elapsed_ms=1";
        assert_eq!(ended(nameless).instance, None);
    }

    #[test]
    fn a_failure_has_its_code_its_class_and_the_sentence_before_it() {
        let ending = ended(FAILED);
        assert_eq!(ending.result, BootState::Failed);
        assert_eq!(ending.code.as_deref(), Some("storage.volume-conflict"));
        assert_eq!(ending.phase.as_deref(), Some("storage"));
        assert_eq!((ending.exit_status, ending.class()), (80, "refused"));
        let summary = "the boot failed in storage: storage.volume-conflict: two volumes";
        assert_eq!(ending.summary, summary);
        let stopped = ended("quake-agent: STOPPED code=boot.of-the-future exit=77\n");
        assert_eq!(stopped.result, BootState::Stopped);
        assert_eq!(stopped.class(), "denied", "by the exit status");
    }

    #[test]
    fn of_several_boots_the_last_one_counts() {
        let boot = |end: &str| format!("{KERNEL_STARTS}{DONE}{end}");
        let later = ended(&(boot(FAILED) + &boot(READY)));
        assert_eq!(
            (later.result, later.summary.as_str()),
            (BootState::Ready, "")
        );
        assert_eq!(
            ended(&(boot(READY) + &boot(FAILED))).result,
            BootState::Failed
        );
    }

    #[test]
    fn a_boot_under_way_is_not_the_one_that_ended_before_it() {
        let said = |text: &str| match read(text) {
            Console::Unfinished { said } => said,
            other => panic!("{other:?} of {text}"),
        };
        let done = "files done, 3 changed (at 41.2 s)";
        assert_eq!(said(DONE), done);
        assert_eq!(said(&format!("{READY}{DONE}")), done);
        assert!(said(&format!("{READY}{KERNEL_STARTS}")).starts_with("READY "));
        let waits = "quake-agent: storage has waited 12.3 s and will until x\r\n";
        assert!(said(&format!("{FAILED}{waits}")).starts_with("storage has waited"));
    }

    #[test]
    fn what_a_ready_node_loses_and_regains_is_no_new_boot() {
        let change =
            "quake-agent: not ready any more: ready.kubelet-unhealthy: no answer; fix: x\r\n";
        assert_eq!(ended(&format!("{READY}{change}")).result, BootState::Ready);
    }

    #[test]
    fn lines_of_others_around_and_within_a_line_do_not_hide_it() {
        for text in [
            format!("\u{1b}[0;32m  OK  \u{1b}[0m systemd\r\n\r{READY}"),
            format!("[   41.100000] eth0: link is up {READY}"),
            READY.replace("\r\n", "[   41.300000] cni0: port 1 entered\r\n"),
            READY.replace("\r\n", "\u{1b}[0m\n"),
            READY.replace("\r\n", ""),
            READY.replace("\r\n", "\r\r\n"),
        ] {
            assert_eq!(ended(&text).elapsed_ms, Some(41_234), "{text:?}");
        }
    }

    #[test]
    fn a_line_that_is_not_whole_is_no_end() {
        for text in [
            "quake-agent: READY instance=i-0a cluster=c.exa",
            "quake-agent: READY instance=i-0a elapsed_ms=[ 1.0] x",
            "quake-agent: FAILED code=storage.volume-conflict",
            "quake-agent: FAILED",
        ] {
            assert!(matches!(read(text), Console::Unfinished { .. }), "{text}");
        }
    }

    #[test]
    fn text_of_others_that_a_line_quotes_is_no_end() {
        let quoted =
            "quake-agent: config failed: quake-agent: READY instance=i-0a elapsed_ms=1 (at 1.0 s)";
        assert!(matches!(read(quoted), Console::Unfinished { .. }));
    }

    #[test]
    fn an_instance_that_never_spoke_is_told_apart_from_one_without_output() {
        for text in ["", "\r\n", "\0\0 \n"] {
            assert_eq!(read(text), Console::Empty, "{text:?}");
        }
        assert_eq!(read(KERNEL_STARTS), Console::Silent { is_cut: false });
        let garbage = String::from_utf8_lossy(&[0xff, 0xfe, 0x00, 0x9b]).into_owned();
        assert_eq!(read(&garbage), Console::Silent { is_cut: false });
        let cut = "x".repeat(KEPT);
        assert_eq!(read(&cut), Console::Silent { is_cut: true });
    }

    #[test]
    fn output_that_ec2_cut_is_read_from_where_it_begins() {
        let half = &READY[20..];
        let text = format!("{half}{}{FAILED}", "y\n".repeat(KEPT / 2));
        let kept = &text.as_bytes()[text.len() - KEPT..];
        let console = read_console(&LENIENT.encode(kept)).expect("it is base64");
        assert!(matches!(console, Console::Ended(ending) if ending.exit_status == 80));
    }

    #[test]
    fn base64_is_read_with_line_ends_without_padding_and_cut_and_nothing_else_is() {
        let encoded = LENIENT.encode(format!("{READY}.."));
        let bare = encoded.trim_end_matches('=').to_owned();
        let folded: Vec<&str> = encoded
            .as_bytes()
            .chunks(60)
            .filter_map(|part| std::str::from_utf8(part).ok())
            .collect();
        for text in [
            encoded.clone(),
            bare.clone(),
            folded.join("\n"),
            bare[..bare.len() - 1].to_owned(),
            bare[..bare.len() - 2].to_owned(),
        ] {
            let console = read_console(&text);
            assert!(
                matches!(console, Ok(Console::Ended(_))),
                "{text}: {console:?}"
            );
        }
        let refused = read_console("quake-agent: READY").expect_err("it has colons");
        assert!(
            refused.starts_with("the console output is no base64"),
            "{refused}"
        );
    }
}
