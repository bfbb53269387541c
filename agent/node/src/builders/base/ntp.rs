//! The clock: AWS refuses requests whose signature is more than five minutes off.

use super::packages::package;
use crate::builders::Context;
use crate::distribution::Packaging;
use quake_model::fault::Fault;
use quake_model::item::{File, Item, Unit};

/// chrony's settings. The server is Amazon's at a link-local address, which every instance reaches; the rest is what kops'
/// nodes have (nodeup's ntp builder).
const SETTINGS: &str = "\
# Written by quake-agent; changes are lost at the next boot.

# Amazon Time Sync, which needs no route out of the VPC.
pool 169.254.169.123 prefer iburst
driftfile /var/lib/chrony/drift
leapsectz right/UTC
logdir /var/log/chrony
# A clock that is far off at the start is set at once, and never later.
makestep 1.0 3
maxupdateskew 100.0
rtcsync
";

/// chrony, its settings and its unit; nothing where the operator, or the image, keeps the clock.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    if context.config.whole.is_set("NTPUnmanaged") {
        return Ok(Vec::new());
    }
    let (path, unit) = match context.distribution.packaging() {
        Packaging::Deb => ("/etc/chrony/chrony.conf", "chrony.service"),
        Packaging::Rpm => ("/etc/chrony.conf", "chronyd.service"),
        Packaging::Image => return Ok(Vec::new()),
    };
    Ok(vec![
        package("chrony"),
        Item::File(File::plain(path, SETTINGS)),
        Item::Unit(Unit::packaged(unit).reading([path])),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;
    use crate::distribution::Project;

    #[test]
    fn chrony_is_called_and_configured_as_the_distribution_does() {
        for (project, version, wanted) in [
            (
                Project::Ubuntu,
                (24, 4),
                &[
                    "package/chrony",
                    "/etc/chrony/chrony.conf",
                    "chrony.service",
                ][..],
            ),
            (
                Project::AmazonLinux,
                (2023, 0),
                &["package/chrony", "/etc/chrony.conf", "chronyd.service"],
            ),
            (Project::Flatcar, (0, 0), &[]),
        ] {
            let sample = Sample::worker("").on(project, version);
            let found = sample.subjects(build);
            assert_eq!(found, wanted, "{project:?}");
        }
    }

    #[test]
    fn new_settings_restart_it() {
        let units = Sample::worker("").all(build, Item::unit);
        assert_eq!(units[0].inputs, ["/etc/chrony/chrony.conf"]);
    }

    #[test]
    fn a_clock_that_the_operator_keeps_is_left_alone() {
        assert_eq!(Sample::worker("NTPUnmanaged: true\n").items(build), []);
    }
}
