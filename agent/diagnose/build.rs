//! Packs the tables of known log lines, one text each: 1.1 MB of words are 0.3 MB of the binary.

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a build script reads and writes files; the crate does not"
)]

use flate2::{Compression, write::DeflateEncoder};
use std::fs::File;
use std::io::{Error, Result, Write};
use std::path::PathBuf;

const FOLDER: &str = "src/log_lines";

const KNOWN: &[&str] = &[
    "kubelet",
    "runtime",
    "cluster",
    "host",
    "network",
    "cloud",
    "control_plane",
    "machine",
    "data_plane",
    "rarer",
    "network_plugins",
    "containers",
    "etcd_and_api",
    "volumes_and_devices",
    "operating_system",
    "kops",
];

fn main() -> Result<()> {
    println!("cargo::rerun-if-changed={FOLDER}");
    pack("known", KNOWN)?;
    pack("usual", &["usual"])
}

/// Writes `<name>.deflate`: these tables, with an empty line between two.
fn pack(name: &str, tables: &[&str]) -> Result<()> {
    let texts = tables
        .iter()
        .map(|table| std::fs::read_to_string(format!("{FOLDER}/{table}.txt")));
    let text = texts.collect::<Result<Vec<_>>>()?.join("\n");
    let folder =
        std::env::var_os("OUT_DIR").ok_or_else(|| Error::other("cargo names no OUT_DIR"))?;
    let file = File::create(PathBuf::from(folder).join(format!("{name}.deflate")))?;
    let mut packed = DeflateEncoder::new(file, Compression::best());
    // The lines that they are compared with have no escapes of quotation marks.
    packed.write_all(text.replace("\\\"", "\"").as_bytes())?;
    packed.finish()?;
    Ok(())
}
