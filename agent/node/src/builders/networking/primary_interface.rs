//! Which network interface is the instance's own.

use crate::builders::Context;
use quake_model::fault::{Code, Fault};

/// The name of the physical interface that has the address the metadata gives the primary one.
///
/// # Errors
///
/// `network.unreadable` where there is none, or more than one: to take another for it would cut the node off.
pub(super) fn primary_interface<'a>(context: &Context<'a>) -> Result<&'a str, Fault> {
    let (machine, mac) = (context.machine, &context.instance.mac);
    let fitting = machine.interfaces.iter();
    let fitting = fitting.filter(|(_, found)| found.eq_ignore_ascii_case(mac));
    let names: Vec<&str> = fitting.map(|(name, _)| name.as_str()).collect();
    let [name] = names[..] else {
        let seen: Vec<&str> = machine.interfaces.keys().map(String::as_str).collect();
        let summary = format!("{} physical interfaces have the address {mac}", names.len());
        return Err(Fault::new(Code::NetworkUnreadable, summary)
            .seen("mac", mac)
            .seen("interfaces", seen.join(" ")));
    };
    Ok(name)
}
