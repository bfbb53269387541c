//! A node's items as the tree of files they come to.

use crate::pem;
use crate::support::Assets;
use quake_model::item::{CertificateOrder, File, FileOwner, HostRecord, Item, Kubeconfig, Source};
use quake_node::builders::{Built, hosts_text};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The builder that wants it; `-` for directories that are made on the way.
    pub(crate) builder: &'static str,
    /// `file`, `directory` or `symlink`.
    pub(crate) kind: &'static str,
    pub(crate) mode: u32,
    /// Its user's and its group's number.
    pub(crate) owner: (u32, u32),
    pub(crate) target: Option<String>,
    /// A file's text, with PEM blocks described.
    pub(crate) content: Option<String>,
}

/// A tree of files, by path.
pub(crate) type Tree = BTreeMap<String, Entry>;

/// The tree that items come to.
pub(crate) fn render(built: &[Built], assets: &Assets) -> Tree {
    let items = || built.iter().flat_map(|built| built.items.iter());
    let orders = items()
        .filter_map(Item::certificate)
        .map(|order| (order.name.as_str(), order));
    let users = items().filter_map(|item| match item {
        Item::User(user) => Some((user.name.as_str(), user.uid)),
        _ => None,
    });
    let renderer = Renderer {
        assets,
        orders: orders.collect(),
        users: users.chain([("root", 0)]).collect(),
    };
    let mut tree = Tree::new();
    for built in built {
        for item in &built.items {
            if let Some((path, entry)) = renderer.entry(built.builder, item) {
                let path = path.trim_end_matches('/').to_owned();
                if let Some(earlier) = tree.insert(path.clone(), entry) {
                    let again = &tree[&path];
                    assert_eq!(earlier.content, again.content, "{path} is wanted twice");
                }
            }
        }
    }
    tree.extend(hosts(built));
    let paths: Vec<String> = tree.keys().cloned().collect();
    for path in paths {
        for (at, _) in path.match_indices('/').filter(|(at, _)| *at > 0) {
            tree.entry(path[..at].to_owned()).or_insert_with(directory);
        }
    }
    tree
}

/// `/etc/hosts` with the records of all items, on a machine whose own is empty.
fn hosts(built: &[Built]) -> Option<(String, Entry)> {
    let record = |item: &Item| match item {
        Item::HostRecord(record) => Some(record.clone()),
        _ => None,
    };
    let of = |built: &Built| built.items.iter().filter_map(record).collect::<Vec<_>>();
    let records: Vec<HostRecord> = built.iter().flat_map(of).collect();
    let requested = built.iter().find(|built| !of(built).is_empty())?;
    let entry = Entry {
        builder: requested.builder,
        kind: "file",
        mode: 0o644,
        content: Some(hosts_text("", &records)),
        ..directory()
    };
    Some(("/etc/hosts".to_owned(), entry))
}

fn directory() -> Entry {
    Entry {
        builder: "-",
        kind: "directory",
        mode: 0o755,
        owner: (0, 0),
        target: None,
        content: None,
    }
}

struct Renderer<'a> {
    assets: &'a Assets,
    orders: BTreeMap<&'a str, &'a CertificateOrder>,
    users: BTreeMap<&'a str, u32>,
}

impl Renderer<'_> {
    fn entry(&self, builder: &'static str, item: &Item) -> Option<(String, Entry)> {
        let file = |mode: u32, owner: (u32, u32), content: String| Entry {
            builder,
            kind: "file",
            mode,
            owner,
            target: None,
            content: Some(content),
        };
        match item {
            Item::File(wanted) => {
                let entry = file(wanted.mode, self.owner(&wanted.owner), self.content(wanted));
                Some((wanted.path.clone(), entry))
            }
            Item::Unit(unit) => {
                let wanted = unit.file.as_ref()?;
                Some((
                    wanted.path.clone(),
                    file(0o644, (0, 0), wanted.text.clone()),
                ))
            }
            Item::Program(place) => {
                let name = place.member.clone().unwrap_or_default();
                let bytes = &self.assets.files[&place.asset][&name];
                let text = String::from_utf8_lossy(bytes).into_owned();
                Some((place.path.clone(), file(place.mode, (0, 0), text)))
            }
            Item::Directory(wanted) => {
                let entry = Entry {
                    builder,
                    mode: wanted.mode,
                    owner: self.owner(&wanted.owner),
                    ..directory()
                };
                Some((wanted.path.clone(), entry))
            }
            Item::Link(link) => {
                let entry = Entry {
                    builder,
                    kind: "symlink",
                    target: Some(link.target.clone()),
                    ..directory()
                };
                Some((link.path.clone(), entry))
            }
            _ => None,
        }
    }

    fn owner(&self, owner: &FileOwner) -> (u32, u32) {
        // A user's group has its name and its number.
        let number = |name: &String| {
            let number = self.users.get(name.as_str()).copied();
            number.unwrap_or_else(|| panic!("the user {name} is made by nobody"))
        };
        (number(&owner.user), number(&owner.group))
    }

    fn order(&self, name: &str) -> &CertificateOrder {
        let order = self.orders.get(name);
        order.unwrap_or_else(|| panic!("nobody orders the certificate {name}"))
    }

    fn content(&self, file: &File) -> String {
        match &file.source {
            Source::Bytes(contents) => pem::normalise(&String::from_utf8_lossy(&contents.0)),
            Source::Issued { order, part } => pem::ordered(self.order(order), *part),
            Source::Kubeconfig(kubeconfig) => self.kubeconfig(kubeconfig).to_string(),
        }
    }

    /// JSON, which is YAML, too.
    fn kubeconfig(&self, wanted: &Kubeconfig) -> Value {
        use quake_model::item::IssuedPart;
        let order = self.order(&wanted.order);
        let part = |part| pem::encoded(&pem::ordered(order, part));
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{
                "name": "local",
                "cluster": {
                    "certificate-authority-data": pem::encoded(&wanted.ca_bundle),
                    "server": wanted.server,
                },
            }],
            "users": [{
                "name": wanted.order,
                "user": {
                    "client-certificate-data": part(IssuedPart::Certificate),
                    "client-key-data": part(IssuedPart::Key),
                },
            }],
            "contexts": [{
                "name": "service-account-context",
                "context": {"cluster": "local", "user": wanted.order},
            }],
            "current-context": "service-account-context",
        })
    }
}
