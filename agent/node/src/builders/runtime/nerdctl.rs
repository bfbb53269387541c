//! nerdctl, which looks into the container runtime as people know it from docker.

use super::operator_tool::tool;
use crate::builders::Context;
use quake_model::fault::Fault;
use quake_model::item::Item;

/// The program, where it is pinned.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    Ok(tool(context, "nerdctl", "installNerdCtl"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;

    const DIGEST: &str = "8b1e7a8f5e0cf0f0a1a2a3a4a5a6a7a8b1e7a8f5e0cf0f0a1a2a3a4a5a6a7a80";

    #[test]
    fn it_alone_is_taken_out_of_its_archive() {
        let asset = format!("{DIGEST}@https://a/nerdctl-2.2.1-linux-amd64.tar.gz");
        let keys = "containerdConfig: {skipInstall: true, installNerdCtl: true}\n";
        let mut sample = Sample::worker(&format!("Assets: {{amd64: [\"{asset}\"]}}\n{keys}"));
        let digest = sample.config.assets[0].digest.clone();
        let names = ["containerd-rootless.sh", "nerdctl"].map(str::to_owned);
        sample.members.insert(digest, names.into());
        let found = sample.subjects(build);
        assert_eq!(found, ["/usr/local/bin/nerdctl"]);
    }
}
