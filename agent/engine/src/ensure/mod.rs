//! Look, decide, act, look again: one function per action, by the grid's words.

pub(crate) mod assets;
pub(crate) mod batch;
pub(crate) mod certificates;
pub(crate) mod controller;
pub(crate) mod devices;
pub(crate) mod dns;
pub(crate) mod fetch_watch;
pub(crate) mod files;
pub(crate) mod images;
pub(crate) mod lifecycle;
pub(crate) mod network;
pub(crate) mod packages;
pub(crate) mod prefix;
pub(crate) mod ready;
pub(crate) mod retired;
pub(crate) mod services;
pub(crate) mod system;
pub(crate) mod unit_watch;
pub(crate) mod wait_for;
