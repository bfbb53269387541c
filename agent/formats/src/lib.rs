//! Readers and writers of text formats. Pure: text in, a tree or text out.
//!
//! Nothing here knows what a node needs. `quake_node` does.

pub mod duration;
pub mod flags;
pub mod image_pull;
pub mod journal;
pub mod pem;
pub mod quantity;
pub mod syntax;
pub mod tags;
pub mod toml_text;
pub mod unit_text;
pub mod yaml;
pub mod yaml_text;
