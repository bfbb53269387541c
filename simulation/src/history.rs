//! What EC2's listings showed before: a stale answer has each object as it was at some moment of the last seconds.

use crate::draw::Draw;
use quake_model::facts::{InstanceView, VolumeFacts};
use quake_testkit::region::GroupState;

/// Versions that are kept: more than change within the longest lag.
const KEPT: usize = 24;

/// One version of all that EC2 lists.
#[derive(Debug, Clone)]
struct Version {
    /// Until when it was so.
    until_ms: u64,
    volumes: Vec<VolumeFacts>,
    instances: Vec<InstanceView>,
}

/// The versions of the last seconds, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct History {
    past: Vec<Version>,
    now: Option<(Vec<VolumeFacts>, Vec<InstanceView>)>,
    /// The Auto Scaling groups as they were, each with the time until when.
    past_groups: Vec<(u64, Vec<GroupState>)>,
    groups: Vec<GroupState>,
}

impl History {
    /// Takes what is so now.
    pub(crate) fn see(&mut self, now_ms: u64, volumes: &[VolumeFacts], instances: &[InstanceView]) {
        if let Some((before, others)) = &self.now
            && before == volumes
            && others == instances
        {
            return;
        }
        let before = self.now.replace((volumes.to_vec(), instances.to_vec()));
        if let Some((volumes, instances)) = before {
            self.past.push(Version {
                until_ms: now_ms,
                volumes,
                instances,
            });
            if self.past.len() > KEPT {
                self.past.remove(0);
            }
        }
    }

    /// Takes how the Auto Scaling groups are now.
    pub(crate) fn see_groups(&mut self, now_ms: u64, groups: &[GroupState]) {
        if self.groups != groups {
            let before = std::mem::replace(&mut self.groups, groups.to_vec());
            self.past_groups.push((now_ms, before));
        }
    }

    /// The groups as they were at some moment of the last `lag_ms`.
    pub(crate) fn stale_groups(
        &self,
        (now_ms, lag_ms): (u64, u64),
        draw: &mut Draw,
    ) -> Option<Vec<GroupState>> {
        let recent = self.past_groups.iter();
        let recent: Vec<_> = recent
            .filter(|(until_ms, _)| until_ms + lag_ms > now_ms)
            .collect();
        recent
            .get(draw.index(recent.len() + 1))
            .map(|(_, groups)| groups.clone())
    }

    /// An answer that shows each object as it was at some moment of the last `lag_ms`.
    pub(crate) fn stale(
        &self,
        (now_ms, lag_ms): (u64, u64),
        draw: &mut Draw,
    ) -> Option<(Vec<VolumeFacts>, Vec<InstanceView>)> {
        let (volumes, instances) = self.now.as_ref()?;
        let recent = self.past.iter();
        let recent: Vec<&Version> = recent
            .filter(|version| version.until_ms + lag_ms > now_ms)
            .collect();
        let mut pick = || draw.index(recent.len() + 1);
        let mut shown = Vec::new();
        for volume in volumes {
            let version = recent.get(pick());
            let Some(version) = version else {
                shown.push(volume.clone());
                continue;
            };
            let mut then = version.volumes.iter();
            shown.extend(then.find(|it| it.volume_id == volume.volume_id).cloned());
        }
        let mut views = Vec::new();
        for view in instances {
            let version = recent.get(pick());
            let Some(version) = version else {
                views.push(view.clone());
                continue;
            };
            let mut then = version.instances.iter();
            views.extend(then.find(|it| it.instance_id == view.instance_id).cloned());
        }
        Some((shown, views))
    }
}
