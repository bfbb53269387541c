//! What builders know of the machine beside its identity and its distribution.

pub use quake_model::facts::EniCapacity;
use std::collections::BTreeMap;

/// Where an instance of a warm pool is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lifecycle {
    /// It serves, or is about to.
    #[default]
    InService,
    /// It is set up now and stopped until it is needed.
    Warming,
}

impl Lifecycle {
    /// Reads the metadata's `autoscaling/target-lifecycle-state`, which is absent outside a group.
    pub fn of_target_state(state: Option<&str>) -> Self {
        match state {
            Some(state) if state.starts_with("Warmed:") => Self::Warming,
            _ => Self::InService,
        }
    }
}

/// A user that people log in as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginUser {
    pub name: String,
    pub home: String,
}

/// What was observed of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Machine {
    pub public_ip: Option<String>,
    pub ipv6: Option<String>,
    /// Where it is in its life.
    pub lifecycle: Lifecycle,
    /// Whether `/run/systemd/resolve/resolv.conf` exists.
    pub runs_resolved: bool,
    /// Whether a BPF filesystem is mounted at `/sys/fs/bpf` by the distribution.
    pub has_bpf_filesystem: bool,
    pub has_nvidia_gpu: bool,
    /// What its type can give to pods, where that was asked for.
    pub eni_capacity: Option<EniCapacity>,
    /// Names of its network interfaces and their hardware addresses; physical ones alone.
    pub interfaces: BTreeMap<String, String>,
    /// Users of `/etc/passwd` that people log in as, by name.
    pub login_users: BTreeMap<String, LoginUser>,
    /// The startup taint that its operator asks for, `key=value:Effect`.
    pub startup_taint: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_instance_on_its_way_into_the_pool_warms() {
        for (state, wanted) in [
            (Some("Warmed:Stopped"), Lifecycle::Warming),
            (Some("Warmed:Running"), Lifecycle::Warming),
            (Some("InService"), Lifecycle::InService),
            (None, Lifecycle::InService),
        ] {
            assert_eq!(Lifecycle::of_target_state(state), wanted, "{state:?}");
        }
    }
}
