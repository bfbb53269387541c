//! The innermost contents: what cloud-init would make of them, and the documents that the agent reads.

use super::{Reading, Walk};
use crate::config::current::{Origin, is_boot_config, read_boot_config};
use crate::config::legacy::{self, read_kube_env};
use crate::user_data::UserDataDocuments;
use quake_formats::yaml::parse;
use quake_model::redact::scrub;

/// What other first lines mean to cloud-init (cloud-init's documentation, "User data formats").
const DIRECTIVES: &[(&str, &str)] = &[
    ("#cloud-boothook", "cloud-init boothook"),
    ("#include", "cloud-init list of URLs to include"),
    ("#cloud-config-archive", "cloud-config archive"),
    ("#part-handler", "cloud-init part handler"),
    ("## template:", "cloud-init template"),
];

impl Walk<'_> {
    pub(super) fn look_at_content(&mut self, bytes: &[u8], kind: Option<&str>, depth: usize) {
        let Ok(text) = std::str::from_utf8(bytes) else {
            self.layer(depth, "bytes that are no text", bytes);
            self.wrong(
                "it holds bytes that are neither text nor gzip",
                "it was changed on its way, as by a tool that took it for text: render it again",
            );
            return;
        };
        self.look_for_secrets(text);
        if text.starts_with("#!") {
            self.look_at_script(text, depth);
            return;
        }
        let directive = DIRECTIVES.iter().find(|(start, _)| text.starts_with(start));
        if let Some((_, form)) = directive {
            self.layer(depth, *form, bytes);
            return;
        }
        self.look_at_text(text, kind, depth);
    }

    fn look_at_text(&mut self, text: &str, kind: Option<&str>, depth: usize) {
        let start = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        let known = start.starts_with("#!") || start.starts_with("#cloud-config");
        if known && start.len() != text.len() {
            self.wrong(
                "there is something before its first `#`, such as a blank line or a byte order mark: cloud-init does not see what it is",
                "let it begin with `#!` or `#cloud-config`",
            );
            if start.starts_with("#!") {
                self.look_at_script(start, depth);
            } else {
                self.look_in_cloud_config(start.as_bytes(), depth);
            }
            return;
        }
        let head = start
            .chars()
            .take(64)
            .collect::<String>()
            .to_ascii_lowercase();
        if head.starts_with("content-type:") || head.starts_with("mime-version:") {
            self.layer(depth, "MIME message", text.as_bytes());
            self.wrong(
                "the MIME message has no boundary, or ends within its headers",
                "render the message again",
            );
            return;
        }
        let is_script = kind.is_some_and(|kind| kind.eq_ignore_ascii_case("text/x-shellscript"))
            || ["\ndeliver\n", "<<", "\nset -"]
                .iter()
                .any(|sign| text.contains(sign));
        if is_script {
            self.wrong(
                "it looks like a script and has no `#!` in its first line: cloud-init does not run it",
                "begin it with `#!/bin/sh`",
            );
            self.look_at_script(text, depth);
            return;
        }
        let form = kind.map_or("text".to_owned(), |kind| format!("part {kind}"));
        self.layer(depth, form, text.as_bytes());
        let is_document = depth == 0 && text.contains("InstanceGroupName:");
        if is_document {
            self.wrong(
                "it is a bare kube_env.yaml: neither cloud-init nor the agent looks for one there",
                "`quake-agent user-data render --kube-env FILE` wraps it",
            );
        }
    }

    fn look_for_secrets(&mut self, text: &str) {
        // What a shell expands is no secret itself: `token=$(…)`. The rest is searched as one text, so that
        // the lines of a certificate are seen as such.
        let lines: Vec<&str> = text.lines().filter(|line| !line.contains('$')).collect();
        let fixed = lines.join("\n");
        if scrub(&fixed) != fixed || text.contains("PRIVATE KEY-----") {
            self.doubtful(
                "it holds what looks like a credential",
                "every process on the instance, and everyone who may call ec2:DescribeInstanceAttribute, can read user data: use the instance's role",
            );
        }
    }

    pub(super) fn read_documents(&mut self, found: UserDataDocuments) {
        if parse("kube_env.yaml", &found.kube_env).is_ok_and(|root| is_boot_config(&root)) {
            self.read_boot_config(found);
            return;
        }
        let read = match read_kube_env("kube_env.yaml", &found.kube_env) {
            Ok((read, _)) => read,
            Err(fault) => {
                self.fault(&fault);
                return;
            }
        };
        let mut documents = Vec::new();
        for (name, text) in found.texts() {
            documents.push(name.to_owned());
            match parse(name, text) {
                Ok(root) => legacy::check_named(name, name, &root)
                    .iter()
                    .for_each(|fault| self.fault(fault)),
                Err(fault) => self.fault(&fault),
            }
        }
        if read.assets.is_empty() {
            self.doubtful(
                "it pins no assets: the image must hold the programs of Kubernetes",
                "kops 1.8 to 1.15 pins them in its own user data: `user-data render --kube-env THAT`",
            );
        }
        self.said.reads = Some(Reading {
            form: found.form,
            documents,
            config_base: read.config_base.to_string(),
            cluster: read.cluster,
            instance_group: read.instance_group,
            assets: Some(read.assets.len()),
        });
    }

    /// kops 1.32 and newer: who the node is, and who tells it what it is to be.
    fn read_boot_config(&mut self, found: UserDataDocuments) {
        let boot = match read_boot_config("kube_env.yaml", &found.kube_env) {
            Ok((boot, findings)) => {
                findings.iter().for_each(|fault| self.fault(fault));
                boot
            }
            Err(fault) => {
                self.fault(&fault);
                return;
            }
        };
        let config_base = match &boot.origin {
            Origin::Store(base) => base.to_string(),
            Origin::Server(server) => format!("asked of {}", server.servers.join(", ")),
            Origin::Nowhere => "none, for a bastion needs none".to_owned(),
        };
        if boot.config_hash.is_none() && boot.origin != Origin::Nowhere {
            self.doubtful(
                "it does not say which configuration is the node's (NodeupConfigHash): any would be taken",
                "make it anew: kops update cluster --yes",
            );
        }
        self.said.reads = Some(Reading {
            form: found.form,
            documents: vec!["kube_env.yaml".to_owned()],
            config_base,
            cluster: Some(boot.cluster),
            instance_group: boot.instance_group,
            assets: None,
        });
    }
}
