//! Standard output has results and nothing else, whatever the command and however it ends; all other talk is on standard
//! error. With `--output json` every line of it is JSON. Colour is shown only to those who see it.

use quake_integration::agent::{self, Ended};
use serde_json::Value;
use std::path::Path;
use tempfile::TempDir;

/// What the commands are tried on.
struct Ground {
    folder: TempDir,
}

impl Ground {
    /// A node that was rehearsed to its end, a good file and a bad one.
    fn make() -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let ground = Self { folder };
        let good = "apiVersion: kops/v1alpha2\nkind: InstanceGroup\nmetadata:\n  name: nodes\nspec:\n  role: Node\n";
        ground.write("good.yaml", good);
        ground.write(
            "bad.yaml",
            &good.replace("role: Node", "role: King\n  rloe: x"),
        );
        let ended = ground.run("rehearse --root ROOT --exit-when-ready --listen off --output json");
        assert_eq!(ended.status, 0, "{}", ended.text());
        ground
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).expect("the directory is ours");
    }

    /// Runs a command line, in which capitals stand for places of this ground.
    fn run(&self, line: &str) -> Ended {
        let at = |name: &str| plain(&self.folder.path().join(name));
        let words: Vec<String> = line
            .split(' ')
            .map(|word| match word {
                "ROOT" => at("root"),
                "EMPTY" => at("empty"),
                "GOOD" => at("good.yaml"),
                "BAD" => at("bad.yaml"),
                "NONE" => at("none.yaml"),
                word => word.to_owned(),
            })
            .collect();
        agent::run(&words)
    }
}

fn plain(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Command lines with `--output json`, their exit statuses, and whether standard error has something to say.
const JSON: &[(&str, i32, bool)] = &[
    ("version --output json", 0, false),
    ("explain storage.volume-held --output json", 0, false),
    ("explain storage --output json", 0, false),
    ("explain --all --output json", 0, false),
    ("explain storage.volume-hold --output json", 1, true),
    ("check GOOD BAD --output json", 78, false),
    ("check NONE --output json", 64, true),
    ("plan --root ROOT --output json", 0, false),
    (
        "plan --root EMPTY --detailed-exitcode --output json",
        2,
        false,
    ),
    (
        "rehearse --root ROOT --exit-when-ready --listen off --output json",
        0,
        false,
    ),
    ("status --root ROOT --socket NONE --output json", 0, false),
    ("status --root EMPTY --socket NONE --output json", 1, true),
    (
        "iam policy --role worker --cluster c.example.com --state-store s3://b",
        0,
        false,
    ),
    ("store list --root ROOT --output json", 0, false),
    ("store verify --root ROOT --output json", 0, false),
    (
        "store verify --root ROOT sha256:0123 --output json",
        64,
        true,
    ),
    ("store gc --root ROOT --output json", 0, false),
    ("seed verify --root EMPTY --output json", 1, false),
    ("user-data explain GOOD --output json", 78, false),
    ("volumes list --recorded NONE --output json", 64, true),
    ("version --output yaml", 64, true),
];

#[test]
fn standard_output_is_json_and_nothing_else_however_a_command_ends() {
    let ground = Ground::make();
    let mut broken = Vec::new();
    for (line, status, talks) in JSON {
        let ended = ground.run(line);
        let values = serde_json::Deserializer::from_str(&ended.stdout).into_iter::<Value>();
        let values: Result<Vec<Value>, _> = values.collect();
        let is_json =
            values.is_ok_and(|values| values.iter().all(|it| it.is_object() || it.is_array()));
        let says = !ended.stderr.is_empty();
        if !is_json || ended.status != *status || (*talks && !says) {
            broken.push(format!("{line}: {}\n{}", ended.status, ended.text()));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n---\n"));
}

#[test]
fn colour_is_for_those_who_ask_for_it_where_nobody_looks() {
    let table = [
        ("", "", false),
        ("", "--color=always", true),
        ("CLICOLOR_FORCE", "--color=auto", true),
        ("CLICOLOR_FORCE NO_COLOR", "", false),
        ("CLICOLOR_FORCE", "--color=never", false),
        ("NO_COLOR", "--color=always", true),
    ];
    for (variables, option, wanted) in table {
        let words = ["explain", "no.such-code", option];
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let mut command = agent::command(&words);
        command.envs(variables.split_whitespace().map(|name| (name, "1")));
        let said = agent::run_command(command).stderr;
        assert_eq!(said.contains('\u{1b}'), wanted, "{variables} {option}");
    }
}
