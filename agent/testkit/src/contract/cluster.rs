//! What every API server must keep, as whoever keeps the cluster's objects may rely on it. The checks work on a ConfigMap of
//! their own in `kube-system`, and leave nothing behind where they end well.

use super::cluster_watch::{deleted, watched};
use super::{Broken, hold, sound};
use quake_model::cluster_object::{ObjectKind, ObjectPlace, ServedKind};
use quake_model::ports::{Change, ClusterApi, Condition, ObjectQuery, PortError};
use quake_model::signal::ApiAccess;
use serde_json::{Value, json};

pub(super) const US: &str = "quake-agent";
const OTHER: &str = "kubectl";

fn config_maps() -> ServedKind {
    ServedKind {
        kind: ObjectKind::from_version("v1", "ConfigMap"),
        plural: "configmaps".to_owned(),
        namespaced: true,
    }
}

pub(super) fn place(name: &str) -> ObjectPlace {
    ObjectPlace {
        served: config_maps(),
        namespace: Some("kube-system".to_owned()),
        name: name.to_owned(),
    }
}

pub(super) fn config_map(name: &str, data: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": "kube-system", "labels": { "contract": name } }, "data": data,
    })
}

pub(super) fn apply(object: Value, manager: &str, force: bool) -> Change {
    Change::Apply {
        object,
        manager: manager.to_owned(),
        force,
    }
}

pub(super) fn create(object: Value) -> Change {
    Change::Create {
        object,
        manager: US.to_owned(),
    }
}

fn replace(object: Value) -> Change {
    Change::Replace {
        object,
        manager: US.to_owned(),
    }
}

pub(super) fn merge(patch: Value, manager: &str) -> Change {
    Change::Merge {
        patch,
        manager: manager.to_owned(),
    }
}

pub(super) fn condition<T>(result: Result<T, PortError>) -> Result<(), Condition> {
    result.map(drop).map_err(|error| error.condition)
}

fn evidence(error: &PortError, name: &str) -> Vec<String> {
    let found = error.evidence.iter().filter(|one| one.name == name);
    found.map(|one| one.value.clone()).collect()
}

/// A server of 1.16 or later: what it serves, and objects that are made, applied, patched, replaced, listed, watched and deleted.
///
/// # Errors
///
/// Returns the first promise that was broken.
pub async fn cluster<H: ClusterApi>(host: &H, access: &ApiAccess) -> Result<(), Broken> {
    discovery(host, access).await?;
    made_once(host, access).await?;
    applied(host, access).await?;
    held_by_another(host, access).await?;
    patched_and_replaced(host, access).await?;
    refused(host, access).await?;
    listed(host, access).await?;
    super::node_status::statuses(host, access, true).await?;
    watched(host, access).await?;
    deleted(host, access).await
}

pub(super) async fn discovery<H: ClusterApi>(host: &H, access: &ApiAccess) -> Result<(), Broken> {
    let version = sound("the version is told", host.ask_version(access).await)?;
    hold("it begins with v1", version.starts_with("v1."), true)?;
    let groups = sound("groups are listed", host.list_groups(access).await)?;
    let has = |group: &str| {
        let mut groups = groups.iter();
        groups.any(|one| one.group == group && one.versions.iter().any(|version| version == "v1"))
    };
    hold("the core is a group", has(""), true)?;
    hold("and apps", has("apps"), true)?;
    let core = sound("kinds are listed", host.list_kinds(access, "", "v1").await)?;
    hold("a kind", core.contains(&config_maps()), true)?;
    let nodes = core.iter().find(|kind| kind.plural == "nodes");
    hold(
        "no namespace",
        nodes.map(|kind| kind.namespaced),
        Some(false),
    )?;
    let parts = core.iter().filter(|kind| kind.plural.contains('/'));
    hold("no subresources", parts.count(), 0)?;
    let none = host.list_kinds(access, "contract.example.com", "v1").await;
    hold("no such group", condition(none), Err(Condition::Missing))
}

async fn made_once<H: ClusterApi>(host: &H, access: &ApiAccess) -> Result<(), Broken> {
    let place = place("quake-contract");
    let none = sound(
        "an absent object is no error",
        host.get_object(access, &place).await,
    )?;
    hold("and is nothing", none.is_none(), true)?;
    let object = config_map("quake-contract", &json!({ "x": "1" }));
    let change = create(object);
    let would = host.change_object(access, &place, &change, true).await;
    sound("a dry run is answered", would)?;
    let none = sound("and looked after", host.get_object(access, &place).await)?;
    hold("it makes nothing", none.is_none(), true)?;
    let made = host.change_object(access, &place, &change, false).await;
    let made = sound("an object is made", made)?;
    let has_identity = made.uid().is_some() && made.resource_version().is_some();
    hold("it has an identity", has_identity, true)?;
    let found = sound("it is read", host.get_object(access, &place).await)?;
    hold("as it was answered", found.as_ref() == Some(&made), true)?;
    let again = host.change_object(access, &place, &change, false).await;
    hold(
        "it is made once",
        condition(again),
        Err(Condition::Conflict),
    )?;
    sound(
        "it is deleted",
        host.delete_object(access, &place, made.uid()).await,
    )
}

async fn applied<H: ClusterApi>(host: &H, access: &ApiAccess) -> Result<(), Broken> {
    let place = place("quake-contract");
    let change = apply(
        config_map("quake-contract", &json!({ "x": "1", "y": "1" })),
        US,
        false,
    );
    let first = host.change_object(access, &place, &change, false).await;
    let first = sound("what is not there is made", first)?;
    let second = host.change_object(access, &place, &change, false).await;
    let second = sound("it is applied again", second)?;
    hold(
        "nothing was written",
        second.resource_version(),
        first.resource_version(),
    )?;
    let less = apply(
        config_map("quake-contract", &json!({ "x": "1" })),
        US,
        false,
    );
    let would = host.change_object(access, &place, &less, true).await;
    let would = sound("a dry run is answered", would)?;
    hold(
        "with what it would be",
        would.at("/data"),
        Some(&json!({ "x": "1" })),
    )?;
    let still = sound("it is read", host.get_object(access, &place).await)?;
    let still = still.ok_or("it is there")?;
    hold(
        "and is as it was",
        still.resource_version(),
        first.resource_version(),
    )?;
    let third = host.change_object(access, &place, &less, false).await;
    let third = sound("less is applied", third)?;
    hold(
        "what nobody asks for is gone",
        third.at("/data"),
        Some(&json!({ "x": "1" })),
    )
}

async fn held_by_another<H: ClusterApi>(host: &H, access: &ApiAccess) -> Result<(), Broken> {
    let place = place("quake-contract");
    let theirs = merge(json!({ "data": { "x": "2" } }), OTHER);
    sound(
        "another changes a field",
        host.change_object(access, &place, &theirs, false).await,
    )?;
    let ours = config_map("quake-contract", &json!({ "x": "1" }));
    let refused = host
        .change_object(access, &place, &apply(ours.clone(), US, false), false)
        .await;
    let Err(error) = refused else {
        return Err("another's field: it was taken without force".to_owned());
    };
    hold("another's field", error.condition, Condition::Conflict)?;
    hold(
        "the reason",
        evidence(&error, "reason"),
        vec!["Conflict".to_owned()],
    )?;
    hold(
        "the field",
        evidence(&error, "field"),
        vec![".data.x".to_owned()],
    )?;
    let answer = evidence(&error, "answer").concat();
    hold(
        "who holds it is named",
        answer.contains("conflict with \"kubectl\""),
        true,
    )?;
    let forced = host
        .change_object(access, &place, &apply(ours, US, true), false)
        .await;
    let forced = sound("it is taken by force", forced)?;
    hold("and is ours", forced.text("/data/x"), "1")
}

pub(super) async fn patched_and_replaced<H: ClusterApi>(
    host: &H,
    access: &ApiAccess,
) -> Result<(), Broken> {
    let place = place("quake-contract");
    let noted = merge(
        json!({ "metadata": { "annotations": { "note": "a" } } }),
        US,
    );
    let noted = host.change_object(access, &place, &noted, false).await;
    let before = sound("an annotation is added", noted)?;
    hold(
        "it is there",
        before.text("/metadata/annotations/note"),
        "a",
    )?;
    let gone = merge(
        json!({ "metadata": { "annotations": { "note": null } } }),
        US,
    );
    let gone = host.change_object(access, &place, &gone, false).await;
    let after = sound("an annotation is removed", gone)?;
    hold(
        "it is gone",
        after.annotations().contains_key("note"),
        false,
    )?;
    let stale = replace(before.value().clone());
    let stale = host.change_object(access, &place, &stale, false).await;
    hold("an older state", condition(stale), Err(Condition::Conflict))?;
    let mut next = after.value().clone();
    next["data"] = json!({ "z": "9" });
    let replaced = host
        .change_object(access, &place, &replace(next), false)
        .await;
    let replaced = sound("the last state is replaced", replaced)?;
    hold("whole", replaced.at("/data"), Some(&json!({ "z": "9" })))
}

async fn refused<H: ClusterApi>(host: &H, access: &ApiAccess) -> Result<(), Broken> {
    let absent = place("quake-contract-absent");
    let patch = merge(json!({ "data": { "x": "1" } }), US);
    let missing = host.change_object(access, &absent, &patch, false).await;
    hold(
        "no object to patch",
        condition(missing),
        Err(Condition::Missing),
    )?;
    let nowhere = ObjectPlace {
        namespace: Some("quake-contract-nowhere".to_owned()),
        ..absent.clone()
    };
    let object =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": nowhere.name } });
    let missing = host
        .change_object(access, &nowhere, &apply(object, US, true), false)
        .await;
    hold(
        "no such namespace",
        condition(missing),
        Err(Condition::Missing),
    )?;
    let mut unknown = absent.clone();
    unknown.served.kind = ObjectKind::from_version("contract.example.com/v1", "Thing");
    "things".clone_into(&mut unknown.served.plural);
    let object = json!({ "apiVersion": "contract.example.com/v1", "kind": "Thing", "metadata": { "name": unknown.name } });
    let missing = host
        .change_object(access, &unknown, &apply(object, US, true), false)
        .await;
    hold("no such kind", condition(missing), Err(Condition::Missing))?;
    let wrong = config_map("quake-contract-absent", &json!({ "x": 5 }));
    for change in [create(wrong.clone()), apply(wrong, US, true)] {
        let refused = host.change_object(access, &absent, &change, false).await;
        hold(
            "another type",
            condition(refused),
            Err(Condition::Malformed),
        )?;
    }
    Ok(())
}

async fn listed<H: ClusterApi>(host: &H, access: &ApiAccess) -> Result<(), Broken> {
    let names = ["quake-contract-1", "quake-contract-2"];
    for name in names {
        let object = apply(config_map(name, &json!({})), US, true);
        let made = host
            .change_object(access, &place(name), &object, false)
            .await;
        sound("an object is made", made)?;
    }
    let ask = async |namespace: Option<&str>, labels: &str, fields: &str| {
        let query = ObjectQuery {
            served: config_maps(),
            namespace: namespace.map(str::to_owned),
            labels: labels.to_owned(),
            fields: fields.to_owned(),
        };
        let found = sound(
            "objects are listed",
            host.list_cluster_objects(access, &query).await,
        )?;
        let kinds = found
            .iter()
            .filter(|object| object.kind() == query.served.kind);
        hold("each says its kind", kinds.count(), found.len())?;
        let names = found.iter().map(|object| object.name().to_owned());
        Ok::<Vec<String>, Broken>(names.collect())
    };
    let both = "contract in (quake-contract-1, quake-contract-2)";
    hold(
        "by label",
        ask(Some("kube-system"), both, "").await?,
        names.map(str::to_owned).to_vec(),
    )?;
    hold("everywhere", ask(None, both, "").await?.len(), 2)?;
    hold("elsewhere", ask(Some("default"), both, "").await?.len(), 0)?;
    let one = ask(Some("kube-system"), "", "metadata.name=quake-contract-2").await?;
    hold("by name", one, vec![names[1].to_owned()])?;
    for name in names {
        sound(
            "it is deleted",
            host.delete_object(access, &place(name), None).await,
        )?;
    }
    Ok(())
}
