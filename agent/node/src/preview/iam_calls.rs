//! The calls to AWS that a node makes, from the table that policies are written from: those of its role, and of these only what
//! its configuration makes it call.

use quake_model::iam::{Caller, GRANTS, Grant, NAMES_GRANTS, NEWER_GRANTS, OLDER_STORE, Reach};
use quake_model::item::Item;
use quake_model::spec::{KopsGeneration, NamesPlace, NodeSpec, Role};
use std::collections::{BTreeMap, BTreeSet};

/// The actions, and what each reaches.
pub(super) fn iam_calls(spec: &NodeSpec) -> BTreeMap<String, String> {
    let Some(caller) = caller(spec.role) else {
        return BTreeMap::new();
    };
    let mut calls: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for grant in grants(spec).filter(|grant| grant.callers.contains(&caller)) {
        for action in grant.actions {
            calls.entry(action).or_default().extend(reach(grant));
        }
    }
    let joined = |reached: BTreeSet<&str>| Vec::from_iter(reached).join(", ");
    let calls = calls.into_iter();
    calls
        .map(|(action, reached)| (action.to_owned(), joined(reached)))
        .collect()
}

/// Who the node is to the table; a bastion calls nothing.
fn caller(role: Role) -> Option<Caller> {
    match role {
        Role::ControlPlane => Some(Caller::ControlPlane),
        Role::Worker | Role::ApiServer => Some(Caller::Worker),
        Role::Bastion => None,
    }
}

fn grants(spec: &NodeSpec) -> impl Iterator<Item = &'static Grant> {
    let is_newer = spec.generation == KopsGeneration::Current;
    let in_zone = spec.names.as_ref().map(|names| &names.place);
    let in_zone = matches!(in_zone, Some(NamesPlace::Zone { .. }));
    let has = |wanted: fn(&Item) -> bool| spec.items.iter().any(wanted);
    let unused = [
        (has(|item| *item == Item::Ipv6Prefix), "QuakeAssignPrefix"),
        (has(is_hook), "QuakeDescribeHooks"),
        (has(is_hook), "QuakeCompleteHook"),
    ];
    let unused = unused.into_iter().filter(|(is_used, _)| !is_used);
    let unused: Vec<&str> = unused.map(|(_, sid)| sid).collect();
    let older = GRANTS
        .iter()
        .filter(move |grant| !(is_newer && OLDER_STORE.contains(&grant.sid)));
    let newer = NEWER_GRANTS.iter().filter(move |_| is_newer);
    let names = NAMES_GRANTS.iter().filter(move |_| in_zone);
    // Whether an operator asks for signals is no part of a state store, and so their calls are on neither side.
    let all = older.chain(newer).chain(names);
    all.filter(move |grant| !unused.contains(&grant.sid))
}

fn is_hook(item: &Item) -> bool {
    matches!(item, Item::LifecycleHook(_))
}

/// What a grant reaches, in words and paths.
fn reach(grant: &Grant) -> Vec<&'static str> {
    let word = match grant.reach {
        Reach::Objects(paths) | Reach::Names(paths) => return paths.to_vec(),
        Reach::Everything => "everything",
        Reach::Cluster(_) => "what the cluster owns",
        Reach::OwnTags(_) => "tags of the agent",
        Reach::Groups => "groups of the cluster",
        Reach::Bucket => "the bucket of the state store",
        Reach::Zone => "the hosted zone",
        Reach::Changes => "changes of names",
        Reach::Interfaces => "network interfaces",
    };
    vec![word]
}
