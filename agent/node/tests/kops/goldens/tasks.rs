//! nodeup's tasks and our items, each as what it is about and what it says.

use super::cluster::BuiltCluster;
use crate::parsed::parsed;
use crate::pem;
use quake_model::item::{
    AlternateName, Autostart, CertificateOrder, FileOwner, Issuer, Item, Source, UnitState, Usage,
};
use quake_node::builders::Built;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// What is wanted, by its subject: a path, or a kind and a name.
type Wanted = BTreeMap<String, Value>;

/// What is ordered of certificates, by the order's name.
type Orders = BTreeMap<String, Value>;

/// What differs, by subject: what is wanted, and what is made.
pub(super) struct Compared {
    differences: BTreeMap<String, (Value, Value)>,
}

impl Compared {
    /// Compares what all builders make with the tasks, and the tasks with what the golden's builders make.
    pub(super) fn new(tasks: &[Value], cluster: &BuiltCluster, builders: &[&str]) -> Self {
        let tasks: Wanted = tasks.iter().filter_map(of_task).collect();
        let built = &cluster.built;
        for name in builders {
            let is_there = quake_node::builders::builders().any(|builder| builder.name == *name);
            assert!(is_there, "no builder is called {name}");
        }
        let every = || built.iter().flat_map(|built| built.items.iter());
        let orders: Orders = every()
            .filter_map(|item| match item {
                Item::Certificate(order) => Some((order.name.clone(), ordered(order))),
                _ => None,
            })
            .collect();
        let items = |is_taken: &dyn Fn(&Built) -> bool| -> Wanted {
            let taken = built.iter().filter(|built| is_taken(built));
            taken
                .flat_map(|built| {
                    built
                        .items
                        .iter()
                        .flat_map(|item| of_item(item, &orders, cluster))
                })
                .collect()
        };
        let all = items(&|_| true);
        let own = items(&|built| builders.contains(&built.builder));
        let mut differences = BTreeMap::new();
        for (subject, wanted) in &tasks {
            // Directories are made on the way to what is in them.
            let is_on_the_way = wanted == &of_folder(0o755, "root")
                && all
                    .keys()
                    .any(|path| path.starts_with(&format!("{subject}/")));
            let made = all.get(subject).cloned().unwrap_or_default();
            if made != *wanted && !is_on_the_way {
                differences.insert(subject.clone(), (wanted.clone(), made));
            }
        }
        for (subject, made) in own
            .into_iter()
            .filter(|(subject, _)| !tasks.contains_key(subject))
        {
            differences.insert(subject, (Value::Null, made));
        }
        Self { differences }
    }

    /// Takes a difference for good, or only that in one `field` of it; whether there was one.
    pub(super) fn forgive(&mut self, subject: &str, field: Option<&str>) -> bool {
        let Some((wanted, made)) = self.differences.get_mut(subject) else {
            return false;
        };
        if let Some(field) = field {
            wanted[field] = made[field].clone();
        }
        if field.is_none() || wanted == made {
            self.differences.remove(subject);
        }
        true
    }

    /// A line for each difference that is left.
    pub(super) fn lines(&self, file: &str) -> Vec<String> {
        let lines = self.differences.iter();
        lines
            .map(|(subject, (wanted, made))| {
                format!("{file}: {subject}: wanted {wanted}\n    made   {made}")
            })
            .collect()
    }
}

fn of_folder(mode: u32, owner: &str) -> Value {
    json!({"mode": format!("{mode:o}"), "owner": owner, "contents": null})
}

/// `None` for what is told by the task it is part of.
fn of_task(task: &Value) -> Option<(String, Value)> {
    let text = |key: &str| task[key].as_str().map(str::to_owned);
    if let Some(path) = text("path") {
        let is_folder = task["type"] == "directory";
        let mode = text("mode").map_or(if is_folder { 0o755 } else { 0o644 }, |mode| {
            u32::from_str_radix(&mode, 8).expect("octal")
        });
        let contents = if is_folder {
            Value::Null
        } else {
            of_contents(&path, &task["contents"])
        };
        let owner = text("owner").unwrap_or_else(|| "root".to_owned());
        let value = json!({"mode": format!("{mode:o}"), "owner": owner, "contents": contents});
        return Some((path, value));
    }
    let name = text("Name")?;
    if task.get("signer").is_some() {
        return Some((format!("certificate/{name}"), of_order(task)));
    }
    if task.get("uid").is_some() {
        let home = text("home").filter(|home| !home.is_empty());
        let value = json!({
            "uid": task["uid"],
            "home": home.unwrap_or_else(|| "/nonexistent".to_owned()),
            "shell": task["shell"],
        });
        return Some((format!("user/{name}"), value));
    }
    if let Some(definition) = text("definition") {
        let value = json!({
            "text": parsed(&name, &definition),
            "running": task["running"],
            "enabled": task["enabled"],
        });
        return Some((format!("unit/{name}"), value));
    }
    // A kubeconfig is a task of its own, and the contents of the file that it is for.
    task.get("ServerURL")
        .is_none()
        .then(|| (format!("package/{name}"), Value::Null))
}

fn of_contents(path: &str, contents: &Value) -> Value {
    if let Some(text) = contents.as_str() {
        return parsed(path, &pem::normalise(text));
    }
    let task = &contents["task"];
    if let Some(server) = task.get("ServerURL") {
        let certificate = of_order(&task["Cert"]["task"]);
        return json!({"server": server, "certificate": certificate});
    }
    if task.get("signer").is_some() {
        return json!({"certificate": of_order(task)});
    }
    match contents.get("Asset") {
        Some(asset) => json!({"asset": asset["Key"]}),
        None => parsed(path, ""),
    }
}

fn of_order(task: &Value) -> Value {
    let strings = |value: &Value| -> BTreeSet<String> {
        let values = value.as_array().cloned().unwrap_or_default();
        let texts = values.iter().filter_map(Value::as_str);
        texts.map(str::to_owned).collect()
    };
    json!({
        "signer": task["signer"],
        "name": task["subject"]["CommonName"],
        "organizations": strings(&task["subject"]["Organization"]),
        "names": strings(&task["alternateNames"]),
        "usage": task["type"],
    })
}

fn of_item(item: &Item, orders: &Orders, cluster: &BuiltCluster) -> Option<(String, Value)> {
    let file = |mode: u32, owner: &FileOwner, contents: Value| json!({"mode": format!("{mode:o}"), "owner": owner.user, "contents": contents});
    match item {
        Item::File(wanted) => {
            let contents = match &wanted.source {
                Source::Bytes(bytes) => {
                    let text = String::from_utf8_lossy(&bytes.0);
                    parsed(&wanted.path, &pem::normalise(&text))
                }
                Source::Issued { order, .. } => json!({"certificate": orders[order]}),
                Source::Kubeconfig(kubeconfig) => {
                    json!({"server": kubeconfig.server, "certificate": orders[&kubeconfig.order]})
                }
            };
            let value = file(wanted.mode, &wanted.owner, contents);
            Some((wanted.path.clone(), value))
        }
        Item::Directory(wanted) => {
            let value = of_folder(wanted.mode, &wanted.owner.user);
            Some((wanted.path.clone(), value))
        }
        Item::Program(place) => {
            let asset = place.member.as_ref();
            let contents = json!({"asset": asset.or_else(|| cluster.assets.get(&place.asset))});
            let value = file(place.mode, &FileOwner::default(), contents);
            Some((place.path.clone(), value))
        }
        Item::Certificate(order) => Some((format!("certificate/{}", order.name), ordered(order))),
        Item::User(user) => {
            let value = json!({"uid": user.uid, "home": user.home, "shell": user.shell});
            Some((format!("user/{}", user.name), value))
        }
        Item::Unit(unit) => {
            let text = unit
                .file
                .as_ref()
                .map(|file| parsed(&unit.name, &file.text));
            let value = json!({
                "text": text,
                "running": unit.state == UnitState::Running,
                "enabled": unit.autostart == Autostart::Enabled,
            });
            Some((format!("unit/{}", unit.name), value))
        }
        Item::Package(package) => Some((format!("package/{}", package.name), Value::Null)),
        _ => None,
    }
}

fn ordered(order: &CertificateOrder) -> Value {
    let (Issuer::Ca { keyset, .. } | Issuer::Controller { keyset, .. }) = &order.issuer;
    let name = |name: &AlternateName| match name {
        AlternateName::Dns(name) => name.clone(),
        AlternateName::Ip(address) => address.to_string(),
    };
    let organizations: BTreeSet<&String> = order.subject.organizations.iter().collect();
    json!({
        "signer": keyset,
        "name": order.subject.common_name,
        "organizations": organizations,
        "names": order.names.iter().map(name).collect::<BTreeSet<String>>(),
        "usage": match order.usage {
            Usage::Client => "client",
            Usage::Server => "server",
        },
    })
}
