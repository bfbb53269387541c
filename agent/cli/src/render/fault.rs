//! A fault, as an operator and as a program reads it.

use crate::output::style;
use quake_model::fault::Fault;
use serde_json::{Value, json};
use std::fmt::Write;

/// The fault with its evidence, why it matters and what to do.
pub(crate) fn fault_text(label: &str, fault: &Fault) -> String {
    let entry = fault.code.entry();
    let (label, code) = (label_of(label), style::strong(fault.code));
    let mut text = format!("{label}: {code}: {}\n", fault.summary);
    for cause in &fault.causes {
        let _ = writeln!(text, "  cause: {cause}");
    }
    for piece in &fault.evidence {
        let mut lines = piece.value.lines();
        let first = lines.next().unwrap_or_default();
        let _ = writeln!(text, "  {}: {first}", piece.name);
        for line in lines {
            let _ = writeln!(text, "    {line}");
        }
    }
    let _ = writeln!(text, "  why: {}", entry.why);
    let _ = writeln!(text, "  fix: {}", fault.remedy_text());
    let _ = writeln!(text, "  see: quake-agent explain {}", entry.code);
    text
}

fn label_of(label: &str) -> String {
    match label {
        "warning" => style::warning(label).to_string(),
        _ => style::bad(label).to_string(),
    }
}

/// The fault with what the catalogue says of its code.
pub(crate) fn fault_json(fault: &Fault) -> Value {
    let entry = fault.code.entry();
    json!({
        "code": entry.code,
        "class": entry.class.name(),
        "exitStatus": entry.class.exit_status(),
        "summary": fault.summary,
        "causes": fault.causes,
        "evidence": fault.evidence,
        "why": entry.why,
        "remedy": fault.remedy_text(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::fault::Code;

    #[test]
    fn a_fault_names_its_evidence_why_and_remedy() {
        let fault = Fault::new(Code::AssetsDigestMismatch, "kubelet has another digest")
            .seen("expected", "sha1:aa")
            .seen("actual", "sha1:bb");
        let text = anstream::adapter::strip_str(&fault_text("error", &fault)).to_string();
        for part in [
            "error: assets.digest-mismatch: kubelet",
            "expected: sha1:aa",
            "why: ",
            "fix: ",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
