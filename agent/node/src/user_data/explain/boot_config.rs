//! What the agent reads in user data of kops 1.32 and newer: who the node is, and who tells it what it is to be.

use super::{Reading, Walk};
use crate::config::current::{Origin, read_boot_config};
use crate::user_data::UserDataDocuments;

impl Walk<'_> {
    pub(super) fn read_boot_config(&mut self, found: UserDataDocuments) {
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
