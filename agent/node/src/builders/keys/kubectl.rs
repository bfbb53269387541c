//! kubectl, and kubeconfigs of an administrator for it: root's, and that of the user that people log in as.

use super::stored;
use crate::builders::{Context, LoginUser};
use quake_model::fault::Fault;
use quake_model::item::{Directory, File, FileOwner, Item, Subject};

/// The administrators' group, which the API server lets do everything.
const ADMINISTRATORS: &str = "system:masters";

/// The program, the kubeconfig, and a copy in the home of the first of the distribution's login users that exists.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    const ORDER: &str = "kubecfg";
    if !context.has_api_server() {
        return Ok(Vec::new());
    }
    let program = format!("{}/kubectl", context.distribution.operator_programs());
    let mut items = vec![context.place("kubectl", &program)?];
    let subject = Subject::named(ORDER).with_organization(ADMINISTRATORS);
    items.extend(context.kubeconfig(ORDER, subject, "/var/lib/kubectl/kubeconfig")?);
    if let Some(user) = login_user(context) {
        let folder = format!("{}/.kube", user.home);
        let source = context.kubeconfig_of(ORDER)?;
        let file = File::secret(&format!("{folder}/config"), source).mode(0o400);
        // Each of these users has a group of its own, of the same name: their distributions make them so.
        items.extend(stored::given_to(&user.name, &user.name, [Item::File(file)]));
        items.push(Item::Directory(Directory {
            path: folder,
            mode: 0o700,
            owner: FileOwner {
                user: user.name.clone(),
                group: user.name.clone(),
            },
        }));
    }
    Ok(items)
}

fn login_user<'a>(context: &Context<'a>) -> Option<&'a LoginUser> {
    let users = &context.machine.login_users;
    let names = context.distribution.login_users().iter();
    let mut found = names.filter_map(|name| users.get(*name));
    found.find(|user| !user.home.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;
    use crate::distribution::Project;

    const KEYS: &str = "Assets:\n  amd64:\n  - 8b1e7a8f5e0cf0f0a1a2a3a4a5a6a7a8b1e7a8f5e0cf0f0a1a2a3a4a5a6a7a80@https://a/kubectl\n\
                        KeypairIDs: {kubernetes-ca: \"7\"}\nCAs: {kubernetes-ca: CAs}\n";

    fn sample(users: &[(&str, &str)]) -> Sample {
        let mut sample = Sample::control_plane(KEYS);
        for (name, home) in users {
            let user = LoginUser {
                name: (*name).to_owned(),
                home: (*home).to_owned(),
            };
            sample.machine.login_users.insert(user.name.clone(), user);
        }
        sample
    }

    #[test]
    fn the_first_login_user_that_exists_and_has_a_home_gets_a_kubeconfig() {
        for (users, wanted) in [
            (
                &[("root", "/root"), ("admin", "/home/admin")][..],
                Some("/home/admin/.kube/config"),
            ),
            (
                &[("root", "/root"), ("admin", "")],
                Some("/root/.kube/config"),
            ),
            (&[("root", "/root")], Some("/root/.kube/config")),
            (&[("ubuntu", "/home/ubuntu")], None),
            (&[], None),
        ] {
            let found = sample(users).subjects(build).into_iter();
            let mut found = found.filter(|path| path.ends_with("/config"));
            assert_eq!(found.next().as_deref(), wanted, "{users:?}");
        }
    }

    #[test]
    fn an_administrators_kubeconfig_is_for_its_user_alone() {
        let items = sample(&[("admin", "/home/admin")]).items(build);
        let found = items.iter().filter_map(|item| match item {
            Item::File(file) => Some((file.path.as_str(), file.mode, file.owner.user.as_str())),
            Item::Directory(it) => Some((it.path.as_str(), it.mode, it.owner.user.as_str())),
            _ => None,
        });
        let wanted = [
            ("/var/lib/kubectl/kubeconfig", 0o400, "root"),
            ("/home/admin/.kube/config", 0o400, "admin"),
            ("/home/admin/.kube", 0o700, "admin"),
        ];
        assert_eq!(found.collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn the_program_is_where_the_distribution_can_be_written() {
        let mut sample = sample(&[]);
        assert!(
            sample
                .subjects(build)
                .contains(&"/usr/local/bin/kubectl".to_owned())
        );
        sample = sample.on(Project::Flatcar, (0, 0));
        assert!(
            sample
                .subjects(build)
                .contains(&"/opt/kops/bin/kubectl".to_owned())
        );
    }
}
