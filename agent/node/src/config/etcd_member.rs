//! One member of an etcd cluster, which every kops version writes alike.

use quake_formats::yaml::Yaml;
use quake_model::fault::{Code, Fault};
use quake_model::spec::EtcdMember;

/// Reads one member of an etcd cluster.
///
/// # Errors
///
/// `config.missing-key` for a member without a name.
pub(super) fn etcd_member(source: &str, member: &Yaml) -> Result<EtcdMember, Fault> {
    const NAME: &str = "etcdClusters.etcdMembers.name";
    let name = member.text_of("name").ok_or_else(|| {
        let summary = format!("{NAME} is not given");
        member
            .fault(source, Code::ConfigMissingKey, summary)
            .seen("path", NAME)
    })?;
    Ok(EtcdMember {
        name: name.to_owned(),
        instance_group: member.text_of("instanceGroup").map(str::to_owned),
        encrypted: member.boolean_of("encryptedVolume").unwrap_or_default(),
    })
}
