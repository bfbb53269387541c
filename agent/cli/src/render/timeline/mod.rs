//! Where the time of a start went, for people, for programs, and for Chrome and Perfetto.

mod chrome;
mod json;
mod text;

pub(crate) use chrome::timeline_chrome;
pub(crate) use json::timeline_json;
pub(crate) use text::timeline_text;
