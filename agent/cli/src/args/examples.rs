//! What is shown below the help of each command: command lines that do something an operator wants. Each is parsed by a test,
//! and so are those in the documents. What follows ` # ` is a remark.

pub(crate) const BOOT: &str = "\
Examples:
  quake-agent boot
  quake-agent boot --on-fatal abandon:launch,set-unhealthy --on-ready continue:launch --node-event
  quake-agent boot --on-unhealthy set-unhealthy --repair-share 5% # a node that stays unhealthy is replaced
  quake-agent boot --deadline 20m --accept-empty main/a # etcd starts empty on an empty volume
  quake-agent boot --assets cache # only from the store, which a seed filled";

pub(crate) const REHEARSE: &str = "\
Examples:
  quake-agent rehearse # a bundled example cluster of kops 1.36
  quake-agent rehearse --legacy-example --instance-group workers # a cluster of kops 1.8 to 1.15
  quake-agent rehearse ./state-store --instance-group nodes --root /tmp/node --exit-when-ready
  quake-agent rehearse s3://state-store/c.example.com --instance-group nodes --output json --exit-when-ready
  quake-agent rehearse ./state-store --instance-group nodes --os-release ./os-release --root /tmp/node
  quake-agent rehearse ./state-store --kube-env kube_env.yaml --identity identity.json \\
      --ca-dir ./ca --root /tmp/node --exit-when-ready # with the boot configuration of real user data";

pub(crate) const PLAN: &str = "\
Examples:
  quake-agent plan # what the next boot of this host would change, and drift since the last boot
  quake-agent plan --detailed-exitcode --output json
  quake-agent plan ./state-store --instance-group nodes --root /tmp/node";

pub(crate) const CHECK: &str = "\
Examples:
  quake-agent check cluster.spec instancegroup/nodes
  quake-agent check cluster-completed.spec igconfig/node/nodes/nodeupconfig.yaml # kops 1.32 and newer
  quake-agent check --output json kube_env.yaml";

pub(crate) const EXPLAIN: &str = "\
Examples:
  quake-agent explain storage.volume-held
  quake-agent explain storage # every code in an area
  quake-agent explain 'error: storage.volume-held: vol-0a1b of main/a is attached to i-0f9e8d'
  quake-agent explain 'kubelet[812]: cni plugin not initialized' # a line of another program
  quake-agent explain --all --output json";

pub(crate) const STATUS: &str = "\
Examples:
  quake-agent status
  quake-agent status --output json
  quake-agent status --root /mnt/rescue # a boot of another host, from its disk";

pub(crate) const WAIT: &str = "\
Examples:
  quake-agent wait --for=ready --timeout 10m
  quake-agent wait --for=storage,assets --timeout 90s";

pub(crate) const IAM: &str = "\
Examples:
  quake-agent iam policy --role control-plane --cluster c.example.com --state-store s3://state-store
  quake-agent iam policy --role worker --cluster c.example.com --state-store s3://state-store \\
      --region eu-west-1 --account 123456789012 > policy.json
  quake-agent iam policy --role worker --cluster c.example.com --state-store s3://state-store --with-signals
  quake-agent iam policy --role worker --cluster c.example.com --state-store s3://state-store --with-repair";

pub(crate) const VOLUMES: &str = "\
Examples:
  quake-agent volumes explain # on a node: its decision
  quake-agent volumes list --cluster c.example.com --state-store s3://state-store --region eu-west-1

docs: docs/volumes.md";

pub(crate) const VOLUMES_LIST: &str = "\
Examples:
  quake-agent volumes list # on a node: those of its cluster
  quake-agent volumes list --cluster c.example.com --state-store s3://state-store --region eu-west-1 --all";

pub(crate) const VOLUMES_EXPLAIN: &str = "\
Examples:
  quake-agent volumes explain --cluster c.example.com --state-store s3://state-store --slot main/a
  quake-agent volumes explain --cluster c.example.com --cluster-born 2020-01-03T10:05:11Z --output json";

pub(crate) const VOLUMES_PIN: &str = "\
Examples:
  quake-agent volumes pin vol-0a1b --slot main/a # shows what would change
  quake-agent volumes pin vol-0a1b --slot main/a --instead-of vol-0c2d --yes";

pub(crate) const VOLUMES_UNPIN: &str = "\
Examples:
  quake-agent volumes unpin vol-0a1b --yes";

pub(crate) const VOLUMES_IGNORE: &str = "\
Examples:
  quake-agent volumes ignore vol-0a1b --reason 'copy of 2020-01-03' --yes";

pub(crate) const VOLUMES_UNIGNORE: &str = "\
Examples:
  quake-agent volumes unignore vol-0a1b --yes";

pub(crate) const VOLUMES_ADOPT: &str = "\
Examples:
  quake-agent volumes adopt vol-0a1b --yes
  quake-agent volumes adopt vol-0a1b --slot main/a --cluster c.example.com --state-store s3://state-store";

pub(crate) const VOLUMES_WIPE: &str = "\
Examples:
  quake-agent volumes wipe vol-0a1b --slot main/a --i-know-this-is-empty --yes";

pub(crate) const ETCD: &str = "\
Examples:
  quake-agent etcd backups # on a node: those of its cluster
  quake-agent etcd restore --plan --cluster c.example.com --state-store s3://state-store

docs: docs/runbook/etcd.md";

pub(crate) const ETCD_BACKUPS: &str = "\
Examples:
  quake-agent etcd backups --cluster c.example.com --state-store s3://state-store
  quake-agent etcd backups --etcd main --verify 2026-11-26T02:00:00Z-000012";

pub(crate) const ETCD_RESTORE: &str = "\
Examples:
  quake-agent etcd restore --plan # of main, from the newest backup
  quake-agent etcd restore --rehearse --etcd events --backup 2026-11-26T02:00:00Z-000012
  quake-agent etcd restore --execute --consent main@2026-11-26T02:00:00Z-000012
  quake-agent etcd restore --plan --snapshot /root/main.db # kops legacy without etcd-manager";

pub(crate) const SEED: &str = "\
Examples:
  quake-agent seed build --kube-env user-data.txt --root /mnt/image
  quake-agent seed verify --root /mnt/image # exits with 0, or with 1 and what to fix

docs: docs/seeding.md";

pub(crate) const SEED_BUILD: &str = "\
Examples:
  quake-agent seed build --kube-env user-data.txt --root /mnt/image
  quake-agent seed build --state-store s3://state-store/c.example.com --instance-group nodes --root /mnt/image
  quake-agent seed build --kops-version 1.15.3 --kubernetes-version 1.15.12 --root /mnt/image --record";

pub(crate) const SEED_BUNDLE: &str = "\
Examples:
  quake-agent seed bundle --kube-env user-data.txt --root /var/empty --out assets.qb";

pub(crate) const SEED_LOAD: &str = "\
Examples:
  quake-agent seed load assets.qb --root /mnt/image
  ssh builder cat assets.qb | quake-agent seed load -";

pub(crate) const SEED_VERIFY: &str = "\
Examples:
  quake-agent seed verify --root /mnt/image
  quake-agent seed verify --root /mnt/image --allow authorized-keys --output json";

pub(crate) const SEED_SHOW: &str = "\
Examples:
  quake-agent seed show --kube-env user-data.txt --root /mnt/image";

pub(crate) const STORE: &str = "\
Examples:
  quake-agent store list # assets, and the sets that need them
  quake-agent store gc --yes

docs: docs/assets.md";

pub(crate) const STORE_LIST: &str = "\
Examples:
  quake-agent store list
  quake-agent store list --root /mnt/image --output json";

pub(crate) const STORE_VERIFY: &str = "\
Examples:
  quake-agent store verify
  quake-agent store verify sha256:9f86d081 --remove # the next boot downloads it again";

pub(crate) const STORE_GC: &str = "\
Examples:
  quake-agent store gc # dry run
  quake-agent store gc --yes";

pub(crate) const VERSION: &str = "\
Examples:
  quake-agent version # and the kops versions whose nodes it boots
  quake-agent version --output json";

pub(crate) const COMPLETIONS: &str = "\
Examples:
  quake-agent completions bash > /usr/share/bash-completion/completions/quake-agent
  quake-agent completions zsh > /usr/share/zsh/site-functions/_quake-agent
  quake-agent completions fish > /usr/share/fish/vendor_completions.d/quake-agent.fish";

pub(crate) const MAN: &str = "\
Examples:
  quake-agent man | man -l -
  quake-agent man --out /usr/share/man/man1 # one page for each command";

#[cfg(test)]
mod tests {
    use crate::args::Arguments;
    use clap::error::ErrorKind;
    use clap::{Command, CommandFactory, Parser};
    use std::path::Path;

    /// Every command line of the agent in a text: continued lines joined, remarks and redirections left out.
    fn lines_of(text: &str) -> Vec<Vec<String>> {
        let joined = text.replace("\\\n", " ");
        let segments = joined.lines().flat_map(|line| {
            let line = line.split(" #").next().unwrap_or_default();
            line.split(['|', ';']).map(str::trim)
        });
        let words = segments.map(words_of);
        words
            .filter(|words| {
                let first = words.first().map(String::as_str);
                matches!(first, Some("quake-agent" | "./quake-agent")) && words.len() > 1
            })
            .collect()
    }

    /// The words of a line as a shell splits them, up to a redirection.
    fn words_of(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
        for c in line.chars().chain([' ']) {
            match (c, quote) {
                (c, Some(open)) if c == open => quote = None,
                (c, Some(_)) => word.push(c),
                ('\'' | '"', None) => quote = Some(c),
                (c, None) if c.is_whitespace() => {
                    if !word.is_empty() {
                        words.push(std::mem::take(&mut word));
                    }
                }
                (c, None) => word.push(c),
            }
        }
        let end = words.iter().position(|word| word == ">");
        words.truncate(end.unwrap_or(words.len()));
        words
    }

    /// Why a command line is not accepted.
    fn complaint(words: &[String]) -> Option<String> {
        // A digest in an example stands for one.
        let words = words
            .iter()
            .map(|word| word.replace("HEX", &"a".repeat(64)));
        match Arguments::try_parse_from(words.clone()) {
            Ok(_) => None,
            Err(error) if error.kind() == ErrorKind::DisplayHelp => None,
            Err(error) => Some(format!("{}\n{error}", words.collect::<Vec<_>>().join(" "))),
        }
    }

    fn visit(command: &Command, path: &str, found: &mut Vec<(String, String)>) {
        for sub in command.get_subcommands() {
            let path = format!("{path} {}", sub.get_name());
            let help = sub.get_after_help().map(ToString::to_string);
            found.push((path.clone(), help.unwrap_or_default()));
            visit(sub, &path, found);
        }
    }

    #[test]
    fn every_command_has_examples_and_each_is_accepted() {
        let mut found = Vec::new();
        visit(&Arguments::command(), "quake-agent", &mut found);
        assert!(found.len() > 20, "the commands are seen: {found:?}");
        for (path, help) in found {
            let lines = lines_of(&help);
            let begin = format!("{path} ");
            let own = lines.iter().filter(|words| {
                let line = format!("{} ", words.join(" "));
                line.trim_start_matches("./").starts_with(&begin)
            });
            assert!(own.count() > 0, "{path} has no example of its own");
            for words in lines {
                assert_eq!(complaint(&words), None);
            }
        }
    }

    #[test]
    fn every_command_line_of_the_documents_is_accepted() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut seen = 0;
        for file in [
            "README.md",
            "docs/addons.md",
            "docs/assets.md",
            "docs/operations.md",
            "docs/replace-nodeup.md",
            "docs/contributing/how-to.md",
            "docs/dns.md",
            "docs/seeding.md",
            "docs/start-here.md",
            "docs/testing.md",
            "docs/volumes.md",
            "cloud-init/README.md",
            "images/README.md",
        ] {
            let text = std::fs::read_to_string(root.join(file)).expect("the documents are beside");
            for block in text.split("\n```sh\n").skip(1) {
                let block = block.split("\n```").next().unwrap_or_default();
                for words in lines_of(block) {
                    assert_eq!(complaint(&words), None, "{file}");
                    seen += 1;
                }
            }
        }
        assert!(seen > 60, "the documents' command lines are seen: {seen}");
    }

    /// Prose names commands without all they need; what it names must be there.
    #[test]
    fn every_command_that_the_documents_name_is_there() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let named = [
            "README.md",
            "docs/addons.md",
            "docs/operations.md",
            "docs/replace-nodeup.md",
            "docs/contributing/how-to.md",
            "docs/start-here.md",
            "docs/testing.md",
            "docs/volumes.md",
            "docs/phases.md",
        ];
        let runbook = std::fs::read_dir(root.join("docs/runbook")).expect("it is beside");
        let runbook = runbook.map(|entry| entry.expect("it can be listed").path());
        for path in named.map(|file| root.join(file)).into_iter().chain(runbook) {
            let text = std::fs::read_to_string(&path).expect("the documents are beside");
            let file = path.display();
            for span in text.split('`').skip(1).step_by(2) {
                // A line of the delivery script begins with the agent's name too.
                let lines = lines_of(span).into_iter();
                for words in lines.filter(|words| !words[1].ends_with(':')) {
                    let parsed = Arguments::try_parse_from(&words).map(drop);
                    let kind = parsed.map_err(|error| error.kind());
                    let is_there = !matches!(
                        kind,
                        Err(ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand)
                    );
                    assert!(is_there, "{file}: {span}: {kind:?}");
                }
            }
        }
    }

    #[test]
    fn what_is_for_tests_is_accepted_and_not_shown() {
        let hidden = [
            ("boot", "--simulate"),
            ("boot", "--stand-in-credentials"),
            ("boot", "stub"),
            ("timeline", "--save-systemd"),
            ("volumes explain", "--settled"),
            ("volumes explain", "--recorded"),
            ("volumes explain", "--scenarios"),
            ("volumes list", "--recorded-instances"),
        ];
        for (command, word) in hidden {
            let words = format!("quake-agent {command} --help");
            let help = Arguments::try_parse_from(words.split(' ')).expect_err("help is shown");
            let help = help.to_string();
            assert!(help.contains("Options:"), "{help}");
            assert!(!help.contains(word), "{command} shows {word}: {help}");
        }
        for line in [
            "boot --simulate disks,units --stand-in-credentials --assets stub --root /tmp/node",
            "timeline --save-systemd times.json",
            "volumes explain --recorded v.json --recorded-instances i.json --settled=false",
            "volumes explain --scenarios worlds.json",
        ] {
            let words = format!("quake-agent {line}");
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            assert_eq!(complaint(&words), None);
        }
    }

    #[test]
    fn a_command_line_is_found_between_others_and_ends_at_a_remark() {
        let text =
            "aws x | quake-agent seed load - # y\n  quake-agent iam \\\n    'a b' > f\nfoo\n";
        let wanted = vec![
            vec!["quake-agent", "seed", "load", "-"],
            vec!["quake-agent", "iam", "a b"],
        ];
        assert_eq!(lines_of(text), wanted);
    }
}
