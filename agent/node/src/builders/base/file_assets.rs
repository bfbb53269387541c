//! Files that the operator adds.

use crate::builders::Context;
use crate::config::current::Section;
use crate::config::node_path::PathKind;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use quake_model::fault::{Code, Fault};
use quake_model::item::{Directory, File, Item, Source};
use quake_model::step::Contents;
use std::collections::BTreeSet;

/// The permission bits of a file whose own are not given.
const MODE: u32 = 0o440;

/// The files, of two for one path the first, which is the instance group's; and the directory for those without a path.
///
/// They may hold passwords, so their contents are never shown. Directories above them are made and otherwise left as they are:
/// nodeup makes each 0755, be it `/tmp` or `/root/.ssh`.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    let folder = context.srv("assets");
    let mut items = vec![Item::Directory(Directory::plain(&folder))];
    let mut seen = BTreeSet::new();
    for asset in &context.config.file_assets {
        let reader = Reader { context, asset };
        let path = reader.path(&folder)?;
        if seen.insert(path.clone()) {
            let source = Source::Bytes(reader.contents()?);
            let file = File::secret(&path, source).mode(reader.mode()?);
            items.push(Item::File(file));
        }
    }
    Ok(items)
}

struct Reader<'a> {
    context: &'a Context<'a>,
    asset: &'a Section,
}

impl Reader<'_> {
    fn wrong(&self, key: &str, summary: &str) -> Fault {
        let path = format!("FileAssets.{key}");
        let summary = format!("{path} {summary}");
        self.context
            .fault_at(self.asset, &path, Code::ConfigWrongType, summary)
    }

    fn path(&self, folder: &str) -> Result<String, Fault> {
        let name = self.asset.text("name").unwrap_or_default();
        let (key, path) = match self.asset.text("path") {
            Some(path) => ("path", path.to_owned()),
            None => ("name", format!("{folder}/{name}")),
        };
        if !PathKind::File.admits(&path) {
            let summary = format!("comes to {path:?}, and should to the absolute path of a file");
            return Err(self.wrong(key, &summary));
        }
        Ok(path)
    }

    fn contents(&self) -> Result<Contents, Fault> {
        let text = self.asset.text("content").unwrap_or_default();
        if !self.asset.is_set("isBase64") {
            return Ok(text.into());
        }
        // nodeup refuses padding, which every tool but its own writes.
        let digits: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
        let bytes = STANDARD_NO_PAD.decode(digits.trim_end_matches('='));
        let bytes =
            bytes.map_err(|_| self.wrong("content", "is not base64, as isBase64 says it is"))?;
        Ok(Contents(bytes))
    }

    fn mode(&self) -> Result<u32, Fault> {
        let Some(text) = self.asset.text("mode") else {
            return Ok(MODE);
        };
        let mode = u32::from_str_radix(text, 8).ok();
        let summary = format!("is {text:?}, and should be octal, such as 0644");
        let mode = mode.filter(|mode| *mode <= 0o7777);
        mode.ok_or_else(|| self.wrong("mode", &summary))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;
    use quake_model::step::Visibility;

    fn files(keys: &str) -> Vec<File> {
        let sample = Sample::worker(&format!("FileAssets: [{keys}]\n"));
        sample.all(build, Item::file)
    }

    #[test]
    fn a_file_without_path_or_mode_goes_to_the_folder_and_is_for_root_and_its_group() {
        let found = files("{name: a, content: x}");
        let [file] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!(file.path, "/srv/kubernetes/assets/a");
        assert_eq!(file.mode, 0o440);
        assert_eq!(file.visibility, Visibility::Secret);
    }

    #[test]
    fn of_two_files_for_one_path_the_first_wins() {
        let found =
            files("{name: a, path: /x, content: one, mode: \"0644\"}, {path: /x, content: two}");
        let [file] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!(file.source, Source::Bytes("one".into()));
        assert_eq!(file.mode, 0o644);
    }

    #[test]
    fn base64_is_read_with_and_without_padding_and_over_lines() {
        for text in ["eHk=", "eHk", "\"eH\\nk=\\n\""] {
            let found = files(&format!("{{path: /x, content: {text}, isBase64: true}}"));
            assert_eq!(found[0].source, Source::Bytes("xy".into()), "{text}");
        }
    }

    #[test]
    fn what_can_be_no_name_mode_or_content_is_refused_at_its_place() {
        for (keys, path) in [
            ("{name: ../a}", "FileAssets.name"),
            ("{name: \"a\\nb\"}", "FileAssets.name"),
            ("{content: x}", "FileAssets.name"),
            ("{path: /x, mode: \"0888\"}", "FileAssets.mode"),
            ("{path: /x, mode: \"77777\"}", "FileAssets.mode"),
            (
                "{path: /x, isBase64: true, content: \"?\"}",
                "FileAssets.content",
            ),
        ] {
            let sample = Sample::worker(&format!("FileAssets:\n- {keys}\n"));
            let fault = sample.try_items(build).expect_err(keys);
            assert_eq!(fault.code, Code::ConfigWrongType, "{keys}");
            assert_eq!(fault.evidence_named("path"), Some(path), "{keys}");
            assert_eq!(fault.evidence_named("line"), Some("4"), "{keys}");
        }
    }
}
