//! `user-data render`: the script that delivers the agent, with what the agent reads, in the form that is asked for.

use super::kube_env::kube_env;
use crate::args::user_data::RenderArguments;
use crate::commands::running::usage;
use crate::exit;
use crate::output;
use quake_host::imds::compress;
use quake_model::digest::Digest;
use quake_model::fault::Class;
use quake_node::user_data::render::{Delivery, render};
use quake_node::user_data::{LIMIT_BYTES, NEAR_LIMIT_BYTES};
use std::io::{IsTerminal, Write};

/// Renders; the exit status.
pub(super) async fn run(arguments: &RenderArguments) -> Result<u8, u8> {
    let kube_env = kube_env(arguments).await?;
    let delivery = Delivery {
        urls: arguments.binary_url.clone(),
        amd64: digest_for(arguments, "amd64")?,
        arm64: digest_for(arguments, "arm64")?,
        region: arguments.binary_region.clone(),
        documents: vec![("kube_env.yaml".to_owned(), kube_env)],
    };
    if let Some(url) = delivery.urls.iter().find(|url| url.starts_with("http://")) {
        output::error_line(format_args!(
            "warning: {url} is not encrypted: the digest proves the binary, and anyone on the way sees the request"
        ));
    }
    let text = render(&delivery, arguments.format.into()).map_err(|error| usage(&error))?;
    let bytes = match arguments.gzip {
        true => compress(&text).map_err(|error| {
            output::error_line(format_args!("error: {error}"));
            exit::BUG
        })?,
        false => text.into_bytes(),
    };
    judge_size(bytes.len(), arguments.gzip)?;
    write(arguments, &bytes)?;
    Ok(exit::DONE)
}

/// The digest of the binary for one architecture: the one named for it, else the one for each.
fn digest_for(arguments: &RenderArguments, arch: &str) -> Result<Option<Digest>, u8> {
    let of = |wanted: Option<&str>| {
        let mut named = arguments.sha256.iter().filter(|pin| pin.arch == wanted);
        match (named.next(), named.next()) {
            (Some(first), Some(other)) if first.digest != other.digest => {
                let whose = wanted.unwrap_or("every architecture");
                Err(usage(&format!("two digests are given for {whose}")))
            }
            (first, _) => Ok(first.map(|pin| pin.digest.clone())),
        }
    };
    Ok(of(Some(arch))?.or(of(None)?))
}

fn judge_size(size: usize, is_packed: bool) -> Result<(), u8> {
    let advice = match is_packed {
        true => "shorten the kube_env.yaml: a seeded image needs no mirrors in it",
        false => "--gzip makes it smaller",
    };
    if size > LIMIT_BYTES {
        output::error_line(format_args!(
            "error: the user data has {size} bytes, and EC2 takes {LIMIT_BYTES} before base64\n  fix: {advice}"
        ));
        return Err(Class::Invalid.exit_status());
    }
    if size > NEAR_LIMIT_BYTES {
        output::error_line(format_args!(
            "warning: the user data has {size} of the {LIMIT_BYTES} bytes that EC2 takes before base64; {advice}"
        ));
    }
    Ok(())
}

fn write(arguments: &RenderArguments, bytes: &[u8]) -> Result<(), u8> {
    if let Some(file) = &arguments.out {
        return std::fs::write(file, bytes)
            .map_err(|error| usage(&format!("{} cannot be written: {error}", file.display())));
    }
    let mut stdout = std::io::stdout();
    if arguments.gzip && stdout.is_terminal() {
        return Err(usage("gzip is not for a terminal: name a file with --out"));
    }
    let written = stdout.write_all(bytes).and_then(|()| stdout.flush());
    written.map_err(|error| {
        output::error_line(format_args!(
            "error: the user data could not be written: {error}"
        ));
        Class::Transient.exit_status()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_host::imds::decompress;
    use std::path::{Path, PathBuf};

    fn golden(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../cloud-init/golden")
            .join(name)
    }

    fn render_to(out: &Path, more: &[&str]) -> u8 {
        let kube_env = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../testkit/example/kube_env-workers.yaml"
        );
        let (amd64, arm64) = (
            format!("amd64={}", "a".repeat(64)),
            format!("arm64={}", "b".repeat(64)),
        );
        let out = out.to_string_lossy().into_owned();
        let mut arguments = vec!["quake-agent", "user-data", "render", "--kube-env", kube_env];
        // What may be given once is given here only where the test does not.
        for (name, value) in [
            ("--state-store", "s3://quake-example-state"),
            ("--cluster", "demo.quake.example"),
            ("--instance-group", "workers"),
            ("--binary-region", "us-east-1"),
            ("--out", &out),
        ] {
            if !more.contains(&name) {
                arguments.extend([name, value]);
            }
        }
        for (name, value) in [
            ("--sha256", amd64.as_str()),
            ("--sha256", &arm64),
            (
                "--binary-url",
                "s3://quake-example-releases/v0.1.0/quake-agent-{arch}",
            ),
            (
                "--binary-url",
                "https://releases.quake.example/v0.1.0/quake-agent-{arch}",
            ),
        ] {
            arguments.extend([name, value]);
        }
        arguments.extend(more);
        crate::run(arguments.into_iter().map(Into::into))
    }

    /// `QUAKE_BLESS=1 cargo test` writes them anew.
    #[test]
    fn every_form_is_as_its_golden() {
        let folder = tempfile::tempdir().expect("a directory");
        for (form, name) in [
            ("script", "user-data.sh"),
            ("mime", "user-data.mime"),
            ("cloud-config", "user-data.yaml"),
        ] {
            let (plain, packed) = (golden(name), golden(&format!("{name}.gz")));
            if std::env::var_os("QUAKE_BLESS").is_some() {
                assert_eq!(render_to(&plain, &["--format", form]), exit::DONE);
                assert_eq!(
                    render_to(&packed, &["--format", form, "--gzip"]),
                    exit::DONE
                );
            }
            let (wanted, packed) = (std::fs::read(plain), std::fs::read(packed));
            let (wanted, packed) = (wanted.expect("a golden"), packed.expect("a golden"));
            let out = folder.path().join(name);
            assert_eq!(render_to(&out, &["--format", form]), exit::DONE);
            let made = std::fs::read(&out).expect("it was written");
            let differs = "differs from its golden; QUAKE_BLESS=1 writes it anew";
            assert!(made == wanted, "{name} {differs}");
            // Another release of the compressor may write other bytes for the same text.
            assert_eq!(
                decompress(packed).as_ref(),
                Ok(&wanted),
                "{name}.gz {differs}"
            );
            assert_eq!(render_to(&out, &["--format", form, "--gzip"]), exit::DONE);
            let made = std::fs::read(&out).expect("it was written");
            assert!(
                made.len() < wanted.len() && decompress(made) == Ok(wanted),
                "{name}.gz"
            );
        }
    }

    #[test]
    fn what_contradicts_itself_is_a_wrong_command_line() {
        let folder = tempfile::tempdir().expect("a directory");
        let out = folder.path().join("out");
        let third = format!("amd64={}", "c".repeat(64));
        for wrong in [
            &["--instance-group", "masters"][..],
            &["--state-store", "s3://other/demo.quake.example"],
            &["--sha256", &third],
            &["--sha256", "abc"],
            &["--binary-url", "https://user:secret@h/x-{arch}"],
            &["--format", "ignition"],
        ] {
            assert_eq!(render_to(&out, wrong), exit::USAGE, "{wrong:?}");
            assert!(!out.exists(), "{wrong:?}");
        }
    }
}
