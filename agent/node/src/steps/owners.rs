//! Numbers of the users and groups that files belong to.

use quake_model::facts::Owner;
use quake_model::fault::{Code, Fault};
use quake_model::item::{FileOwner, Item};
use quake_model::spec::NodeSpec;
use std::collections::BTreeMap;

/// Users and groups by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Owners {
    users: BTreeMap<String, u32>,
    groups: BTreeMap<String, u32>,
}

impl Owners {
    /// Reads `/etc/passwd` and `/etc/group`; users that the node makes are known even where they are not in them yet, as in a
    /// plan.
    pub fn read(spec: &NodeSpec, passwd: &str, group: &str) -> Self {
        let mut owners = Self {
            users: numbers(passwd),
            groups: numbers(group),
        };
        for item in &spec.items {
            if let Item::User(user) = item {
                owners.users.entry(user.name.clone()).or_insert(user.uid);
                owners.groups.entry(user.name.clone()).or_insert(user.uid);
            }
        }
        owners
    }

    /// The numbers of an owner.
    ///
    /// # Errors
    ///
    /// `files.owner-unknown` for a name that the machine does not have.
    pub fn number(&self, path: &str, owner: &FileOwner) -> Result<Owner, Fault> {
        let find = |names: &BTreeMap<String, u32>, name: &str| match name {
            "root" => Ok(0),
            _ => names.get(name).copied().ok_or_else(|| {
                let summary = format!("{path} must belong to {name}, and this host has no {name}");
                Fault::new(Code::FilesOwnerUnknown, summary).seen("path", path)
            }),
        };
        Ok(Owner {
            uid: find(&self.users, &owner.user)?,
            gid: find(&self.groups, &owner.group)?,
        })
    }
}

/// Names and numbers of `/etc/passwd` or `/etc/group`, which share their first and third fields.
fn numbers(text: &str) -> BTreeMap<String, u32> {
    let lines = text.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?.to_owned();
        Some((name, fields.nth(1)?.parse().ok()?))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_known_by_the_machine_and_a_stranger_is_refused() {
        let owners = Owners {
            users: numbers(
                "root:x:0:0:root:/root:/bin/sh\nadmin:x:1000:1000::/home/admin:/bin/sh\n",
            ),
            groups: numbers("root:x:0:\n"),
        };
        let owner = |user: &str| FileOwner {
            user: user.to_owned(),
            ..FileOwner::default()
        };
        let wanted = Owner { uid: 1000, gid: 0 };
        assert_eq!(owners.number("/x", &owner("admin")), Ok(wanted));
        assert!(owners.number("/x", &owner("nobody-here")).is_err());
    }
}
