//! The page of one code: what `quake-agent explain` prints, with links.

use crate::escape;
use crate::wrap::wrapped;
use quake_model::fault::{Code, Page};
use std::fmt::Write as _;

/// Renders the page.
pub(super) fn page_of(code: Code) -> String {
    let page = code.page();
    let (class, exit) = (page.class, page.class.exit_status());
    let mut text = format!("# {code}\n\nClass **{class}**, exit status **{exit}**");
    text.push_str(match code.only_warns() {
        true => " of a command that ends with it; no boot does.\n",
        false => ".\n",
    });
    if let Some(sample) = page.sample_line() {
        let _ = write!(text, "\n```\nerror: {sample}\n```\n");
    }
    let _ = write!(
        text,
        "\n- **Why it matters:** {}\n- **What to do:** {}\n",
        escape(page.why),
        escape(page.remedy)
    );
    let _ = writeln!(text, "- **What {class} means:** {}", page.class.meaning());
    let _ = writeln!(text, "- **What the agent does:** it {}", page.handling());
    let _ = writeln!(text, "- **Phase:** {}", phase(&page));
    text.push_str(&grants(&page));
    let near: Vec<String> = page
        .near
        .iter()
        .map(|near| format!("[{near}]({near}.md)"))
        .collect();
    let _ = write!(
        text,
        "\nStep by step: [the runbook](../../operations.md#{}). See also {}. All codes: [the index](../faults.md).\n",
        code.anchor(),
        near.join(", ")
    );
    let _ = write!(
        text,
        "\nOn a node, without the network: `quake-agent explain {code}`\n"
    );
    wrapped(&text)
}

fn phase(page: &Page) -> String {
    let blocked = page.blocks();
    let blocked: Vec<&str> = blocked.iter().map(|phase| phase.name()).collect();
    match blocked.is_empty() {
        true => page.phase_text(),
        false => format!("{}; it holds up {}", page.phase_text(), blocked.join(", ")),
    }
}

/// The actions that IAM has to allow, and what the agent does with them.
fn grants(page: &Page) -> String {
    let grants = page.grants();
    if grants.is_empty() {
        return String::new();
    }
    let mut text =
        String::from("- **IAM:** `quake-agent iam policy` prints the statements; the role needs\n");
    for (action, grant) in grants {
        let _ = writeln!(text, "  - `{action}` (`{}`), {}", grant.sid, grant.why);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page, with one space where a line was wrapped.
    fn unwrapped(code: Code) -> String {
        let text = page_of(code);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_page_says_class_exit_status_why_remedy_and_phase() {
        let text = unwrapped(Code::AssetsDigestMismatch);
        let entry = Code::AssetsDigestMismatch.entry();
        for part in [
            "Class **invalid**, exit status **78**.",
            entry.why,
            entry.remedy,
            "- **Phase:** assets, which is done when",
            "../../operations.md#assets-digest-mismatch",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn a_page_of_what_only_warns_says_that_no_boot_ends_with_it() {
        let text = unwrapped(Code::AddonsPodForeign);
        assert!(text.contains("exit status **80** of a command that ends with it; no boot does."));
        assert!(!text.contains("ends the boot"), "{text}");
    }

    #[test]
    fn a_page_of_what_iam_denies_names_the_action_and_its_statement() {
        let text = unwrapped(Code::StorageAttachDenied);
        let wanted = "- `ec2:AttachVolume` (`QuakeAttachVolume`), storage: attach";
        assert!(text.contains(wanted), "{text}");
    }

    #[test]
    fn a_placeholder_is_not_lost_as_html() {
        let text = page_of(Code::IdentityImdsDisabled);
        assert!(text.contains("&lt;id&gt;"), "{text}");
    }
}
