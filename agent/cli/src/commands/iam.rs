//! `iam`: what the agent needs of AWS, as policies.

use super::running::usage;
use crate::args::iam::{IamArguments, IamCommand, PolicyArguments};
use crate::exit;
use crate::output;
use quake_model::iam::policy::{Request, policy};

pub(crate) fn run(arguments: IamArguments) -> u8 {
    match arguments.command {
        IamCommand::Policy(arguments) => print_policy(arguments),
    }
}

/// Prints the policy as JSON and nothing else, so that it can be piped into what applies it.
fn print_policy(arguments: PolicyArguments) -> u8 {
    let request = Request {
        caller: arguments.role.into(),
        cluster: arguments.cluster,
        state_store: arguments.state_store,
        region: arguments.region,
        account: arguments.account,
        partition: arguments.partition,
        with_signals: arguments.with_signals,
        with_repair: arguments.with_repair,
        with_newer_kops: arguments.with_newer_kops,
        zone: arguments.zone,
        assets: arguments.assets,
    };
    let policy = match policy(&request) {
        Ok(policy) => policy,
        Err(error) => return usage(&error.to_string()),
    };
    match serde_json::to_string_pretty(&policy) {
        Ok(text) => {
            output::line(text);
            exit::DONE
        }
        Err(error) => {
            output::error_line(format_args!("error: the policy is not JSON: {error}"));
            exit::BUG
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::exit;
    use quake_model::facts::BucketFacts;
    use quake_model::iam::{
        GRANTS, NAMES_GRANTS, NEWER_GRANTS, PREVIEW_GRANTS, REPAIR_GRANTS, SIGNAL_GRANTS,
    };
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    /// The IAM action that an operation, as the meter counts it, is judged by. They differ in two cases: the S3
    /// reference asks `s3:ListBucket` of whoever calls ListObjectsV2, and `s3:ListBucketVersions` for ListObjectVersions.
    fn action_of(operation: &str) -> &str {
        match operation {
            "s3:ListObjectsV2" => "s3:ListBucket",
            "s3:ListObjectVersions" => "s3:ListBucketVersions",
            operation => operation,
        }
    }

    /// The sources of the AWS ports, without their tests.
    fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("the sources are beside") {
            let path = entry.expect("a readable directory").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() {
                sources(&path, found);
            } else if name.ends_with(".rs") && name != "tests.rs" && name != "testing.rs" {
                found.push(path);
            }
        }
    }

    /// The actions that `source` names in literals such as "ec2:AttachVolume", comments and tests apart.
    fn actions_in(source: &str) -> BTreeSet<String> {
        let code = source.split("#[cfg(test)]").next().unwrap_or_default();
        let lines = code
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        let literals = lines.flat_map(|line| line.split('"').skip(1).step_by(2));
        let is_action = |literal: &&str| {
            let verb = ["ec2:", "s3:", "autoscaling:", "route53:"]
                .iter()
                .find_map(|service| literal.strip_prefix(service));
            verb.is_some_and(|verb| {
                verb.starts_with(|c: char| c.is_ascii_uppercase())
                    && verb.chars().all(|c| c.is_ascii_alphanumeric())
            })
        };
        // The looks at a bucket take their actions from the facts that the table names, too.
        let shared = code.contains("BucketFacts::ACTIONS");
        let shared = shared.then_some(BucketFacts::ACTIONS).into_iter().flatten();
        literals
            .filter(is_action)
            .map(action_of)
            .chain(shared)
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn the_agent_calls_every_action_of_the_table_and_no_other() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/src/aws");
        let mut files = Vec::new();
        sources(&folder, &mut files);
        let called: BTreeSet<String> = files
            .iter()
            .map(|file| std::fs::read_to_string(file).expect("a readable file"))
            .flat_map(|source| actions_in(&source))
            .collect();
        let rows = GRANTS.iter().chain(SIGNAL_GRANTS).chain(NEWER_GRANTS);
        let rows = rows.chain(REPAIR_GRANTS).chain(NAMES_GRANTS);
        let rows = rows.chain(PREVIEW_GRANTS);
        let table = rows.flat_map(|grant| grant.actions.iter());
        let table: BTreeSet<String> = table.map(|&action| action.to_owned()).collect();
        assert_eq!(
            called, table,
            "called on the left, in the table on the right"
        );
    }

    #[test]
    fn an_action_is_seen_in_code_and_not_in_comments_or_tests() {
        let source = "// \"ec2:A\"\ncount(\"ec2:DetachVolume\"); x(\"s3:ListObjectsV2\", \"the ec2:B\");\n#[cfg(test)]\n\"ec2:C\"";
        let seen: Vec<String> = actions_in(source).into_iter().collect();
        assert_eq!(seen, ["ec2:DetachVolume", "s3:ListBucket"]);
    }

    fn status(arguments: &[&str]) -> u8 {
        let words = ["quake-agent", "iam", "policy"].iter().chain(arguments);
        crate::run(words.map(Into::into))
    }

    #[test]
    fn a_policy_is_printed_and_a_wrong_command_line_is_a_usage_error() {
        let good = [
            "--role=worker",
            "--cluster=c.example",
            "--state-store=s3://b",
        ];
        assert_eq!(status(&good), exit::DONE);
        for wrong in [
            &good[1..],
            &good[..2],
            &["--role=king", good[1], good[2]],
            &[good[0], "--cluster=*", good[2]],
            &[good[0], good[1], "--state-store=file:///srv"],
            &[good[0], good[1], "--state-store=bucket"],
            &[good[0], good[1], good[2], "--assets=https://files.example"],
            &[good[0], good[1], good[2], "--assets=file:///srv"],
        ] {
            assert_eq!(status(wrong), exit::USAGE, "{wrong:?}");
        }
    }
}
