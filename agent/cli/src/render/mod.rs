//! What people and programs are shown.

mod addon_status;
pub(crate) mod addons;
mod certificates;
pub(crate) mod diagnose;
mod drift;
pub(crate) mod etcd;
mod event;
mod fault;
pub(crate) mod fleet;
pub(crate) mod fleet_consoles;
mod live;
mod node;
mod plan;
pub(crate) mod preview;
mod repair;
pub(crate) mod seed;
mod status;
pub(crate) mod store;
mod summary;
mod table;
mod throttled;
mod timeline;
mod transfer;
pub(crate) mod user_data;
pub(crate) mod volumes;

pub(crate) use addon_status::addons_note;
pub(crate) use drift::drift_json;
pub(crate) use event::event_json;
pub(crate) use fault::{fault_json, fault_text};
pub(crate) use live::Live;
pub(crate) use plan::{changes, plan_json, plan_text};
pub(crate) use status::{status_json, status_text};
pub(crate) use summary::{closing_text, summary_json};
pub(crate) use timeline::{timeline_chrome, timeline_json, timeline_text};
