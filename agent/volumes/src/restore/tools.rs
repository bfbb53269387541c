//! Which programs of etcd restore a snapshot.

use super::version::EtcdVersion;
use quake_model::ports::EtcdTools;

/// The programs that restore data of this version: of its own minor version, else of the next one. A
/// snapshot that says no version is restored by the newest.
pub fn choose_tools(found: &[EtcdTools], data: Option<EtcdVersion>) -> Option<&EtcdTools> {
    let version = |tools: &EtcdTools| EtcdVersion::parse(&tools.version);
    let reads = |tools: &&EtcdTools| {
        let reads = |version: EtcdVersion| data.is_none_or(|data| version.reads(data));
        tools.restorer.is_some() && version(tools).is_some_and(reads)
    };
    let rank = |tools: &&EtcdTools| {
        let version = version(tools);
        let is_same = version.zip(data).is_some_and(|(a, b)| a.is_of_minor(b));
        (is_same, version)
    };
    found.iter().filter(reads).max_by_key(rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_the_snapshots_own_minor_version_come_first() {
        let tools = |version: &str, restores: bool| EtcdTools {
            server: version.to_owned(),
            restorer: restores.then(|| "etcdutl".to_owned()),
            version: version.to_owned(),
        };
        let found = [
            tools("3.5.1", true),
            tools("3.4.23", true),
            tools("3.5.21", true),
            tools("3.6.12", false),
        ];
        for (data, wanted) in [
            ("3.4.0", Some("3.4.23")),
            ("3.5.0", Some("3.5.21")),
            ("3.3.0", Some("3.4.23")),
            ("3.6.0", None),
            ("3.2.0", None),
        ] {
            let chosen = choose_tools(&found, EtcdVersion::parse(data));
            assert_eq!(chosen.map(|it| it.version.as_str()), wanted, "{data}");
        }
        let newest = choose_tools(&found, None).map(|it| it.version.as_str());
        assert_eq!(newest, Some("3.5.21"));
    }
}
