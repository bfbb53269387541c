//! Each form on an instance: what `user-data render` made is the instance's user data, and the agent finds its group in it.

use quake_integration::agent::{self, Running};
use quake_integration::http::{Reply, Server};
use quake_integration::imds::Metadata;
use quake_integration::namespace::{METADATA, Namespace};
use quake_integration::node::EXAMPLE;
use quake_integration::skip::unless_missing;
use std::path::Path;

fn rendered(folder: &Path, form: &str, gzip: bool) -> Vec<u8> {
    let out = folder.join("user-data").to_string_lossy().into_owned();
    let store = format!("file://{EXAMPLE}").replace("/integration/..", "");
    let digest = "a".repeat(64);
    let mut arguments = vec!["user-data", "render", "--state-store", &store];
    arguments.extend(["--instance-group", "workers", "--sha256", &digest]);
    arguments.extend([
        "--binary-url",
        "https://mirror.example/x",
        "--format",
        form,
        "--out",
        &out,
    ]);
    if gzip {
        arguments.push("--gzip");
    }
    let ended = agent::run(&arguments);
    assert_eq!(ended.status, 0, "{}", ended.text());
    std::fs::read(&out).expect("it was written")
}

#[test]
fn a_boot_finds_its_configuration_in_every_form() {
    for (form, gzip) in ["script", "mime", "cloud-config"]
        .into_iter()
        .flat_map(|form| [(form, false), (form, true)])
    {
        let folder = tempfile::tempdir().expect("a directory can be made");
        let bytes = rendered(folder.path(), form, gzip);
        let Some(namespace) = unless_missing(Namespace::make()) else {
            return;
        };
        let metadata = Metadata::new("i-0123456789abcdef0", "");
        let listener = namespace
            .listen(METADATA)
            .expect("the address is on loopback");
        let _server = Server::on(listener, move |request| {
            let reply = metadata.answer(request);
            match (request.path(), reply.status) {
                ("/latest/user-data", 200) => Reply::new(200, bytes.clone()),
                _ => reply,
            }
        });
        let root = folder.path().join("root");
        std::fs::create_dir_all(root.join("etc")).expect("the directory is ours");
        let release = "ID=debian\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\n";
        std::fs::write(root.join("etc/os-release"), release).expect("the directory is ours");
        let root = root.to_string_lossy().into_owned();
        let arguments = [
            "boot",
            "--root",
            &root,
            "--simulate",
            "cloud,disks,kernel,units,probes",
            "--stand-in-credentials",
            "--output",
            "json",
            "--listen",
            "off",
        ];
        let mut boot = Running::start(namespace.inside(&agent::command(&arguments)));
        let known = boot
            .wait_for("\"spec-known\"")
            .unwrap_or_else(|text| panic!("{form}, gzip {gzip}: {text}"));
        assert!(
            known.contains("\"workers\""),
            "{form}, gzip {gzip}: {known}"
        );
        boot.kill();
    }
}

#[test]
fn what_was_rendered_is_explained_and_checked_without_a_complaint() {
    let folder = tempfile::tempdir().expect("a directory can be made");
    for (form, gzip) in [("script", false), ("mime", true), ("cloud-config", false)] {
        rendered(folder.path(), form, gzip);
        let file = folder
            .path()
            .join("user-data")
            .to_string_lossy()
            .into_owned();
        let explained = agent::run(&["user-data", "explain", &file]);
        assert_eq!(explained.status, 0, "{}", explained.text());
        assert!(
            explained
                .stdout
                .contains("shell script that delivers quake-agent")
        );
        let checked = agent::run(&["check", &file]);
        assert_eq!(checked.status, 0, "{}", checked.text());
    }
}

#[test]
fn what_ec2_would_refuse_is_not_rendered() {
    let folder = tempfile::tempdir().expect("a directory can be made");
    let pins: String = (0..200)
        .map(|number| {
            format!(
                "- {}@https://mirror.example/{number}\n",
                format!("{number:04}").repeat(16)
            )
        })
        .collect();
    let file = folder.path().join("kube_env.yaml");
    let text = format!("Assets:\n{pins}ConfigBase: s3://b/c\nInstanceGroupName: n\n");
    std::fs::write(&file, text).expect("the directory is ours");
    let file = file.to_string_lossy().into_owned();
    let digest = "a".repeat(64);
    let mut arguments = vec![
        "user-data",
        "render",
        "--kube-env",
        &file,
        "--sha256",
        &digest,
    ];
    arguments.extend(["--binary-url", "https://mirror.example/x"]);
    let plain = agent::run(&arguments);
    assert_eq!((plain.status, plain.stdout.as_str()), (78, ""));
    assert!(
        plain.stderr.contains("EC2 takes 16384") && plain.stderr.contains("--gzip"),
        "{}",
        plain.stderr
    );
    arguments.push("--gzip");
    assert_eq!(agent::run(&arguments).status, 0);
}
