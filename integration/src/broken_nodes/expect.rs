//! What a broken node has to be found to have.

use serde::Deserialize;

/// What has to be found.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// The check that comes first.
    pub first: String,
    pub code: Option<String>,
    /// Checks that must be among the findings.
    #[serde(default)]
    pub also: Vec<String>,
    /// Whether it is a warning only.
    #[serde(default)]
    pub warns: bool,
    /// Parts of its summary: the cause by name, not only the check.
    #[serde(default)]
    pub says: Vec<String>,
    /// Parts of its remedy.
    #[serde(default)]
    pub remedy: Vec<String>,
    /// Parts that neither its summary nor its remedy may have.
    #[serde(default)]
    pub never: Vec<String>,
}

impl Expect {
    /// What the first finding lacks, or has too much, of what it has to say.
    pub fn unsaid(&self, summary: &str, remedy: &str) -> Vec<String> {
        let lacks = |parts: &[String], text: &str| -> Vec<String> {
            let missing = parts.iter().filter(|part| !text.contains(part.as_str()));
            missing.cloned().collect()
        };
        let says = lacks(&self.says, summary);
        let does = lacks(&self.remedy, remedy);
        let whole = format!("{summary}\n{remedy}");
        let never = self
            .never
            .iter()
            .filter(|part| whole.contains(part.as_str()));
        says.iter()
            .map(|part| format!("the summary lacks {part:?}: {summary}"))
            .chain(
                does.iter()
                    .map(|part| format!("the remedy lacks {part:?}: {remedy}")),
            )
            .chain(never.map(|part| format!("it has {part:?}: {whole}")))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_lacks_or_may_not_be_there_is_named() {
        let expect: Expect = serde_json::from_value(serde_json::json!({
            "first": "a.b", "says": ["no apples"], "remedy": ["plant"], "never": ["<id>"],
        }))
        .expect("it is sound");
        assert!(expect.unsaid("no apples", "plant a tree").is_empty());
        let unsaid = expect.unsaid("no pears", "look at <id>");
        assert_eq!(unsaid.len(), 3, "{unsaid:?}");
    }
}
