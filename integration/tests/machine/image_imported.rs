//! A container image that was baked into a machine image as an archive: docker has it when kubelet starts, without a
//! registry, and is not given it a second time.

use quake_integration::machine::{
    BAKE, Container, Kind, Lab, MIRROR, MachineBackend, OperatorOutput,
};
use quake_integration::node::archive;
use quake_integration::tree::sha256;
use serde_json::json;

/// What kubelet asks for.
const NAME: &str = "registry.example/pause:3.9";

#[test]
fn image_imported() {
    let Some(lab) = Lab::open("image-imported", Kind::Containers) else {
        return;
    };
    let cluster = lab.cluster();
    let (bytes, id) = saved();
    let pin = format!("{}@{}/pause.tar", sha256(&bytes), MIRROR);
    lab.vpc().serve("/pause.tar", bytes);
    let facts = cluster.launch("workers");
    let layer = lab
        .unprovisioned()
        .file("/root/kube_env.yaml", 0o600, cluster.kube_env("workers"));
    let mut machine = lab.container(&facts, layer);
    machine.output(&format!(
        "{BAKE} -- --kube-env /root/kube_env.yaml --image {pin}"
    ));
    assert_eq!(image(&machine), "", "the machine image has none in docker");
    machine.reboot().expect("the image boots");
    machine.becomes_ready(90).expect("a worker becomes ready");
    assert_eq!(image(&machine), format!("sha256:{id}"));
    assert_eq!(
        imports(&machine).len(),
        1,
        "by one step: {:?}",
        machine.changed_steps()
    );
    let tagged = last_tag(&machine);
    machine.output("systemctl restart --no-block quake-agent.service");
    let again = "test $(ls /var/lib/quake-agent/boots/*.jsonl | wc -l) -gt 1";
    assert!(machine.comes_true(again, 30), "it looks once more");
    machine.becomes_ready(90).expect("and is ready again");
    assert_eq!(
        imports(&machine),
        Vec::<String>::new(),
        "docker is asked, and given nothing"
    );
    assert_eq!(last_tag(&machine), tagged);
}

/// The id of the image in docker; nothing where there is none.
fn image(machine: &Container) -> String {
    let ask = format!("docker image inspect --format '{{{{.Id}}}}' {NAME} 2>/dev/null || :");
    machine.output(&ask).trim().to_owned()
}

/// When docker was last given the name.
fn last_tag(machine: &Container) -> String {
    machine.output(&format!(
        "docker image inspect --format '{{{{.Metadata.LastTagTime}}}}' {NAME}"
    ))
}

/// The steps of the newest boot that gave docker an image.
fn imports(machine: &Container) -> Vec<String> {
    let mut steps = machine.changed_steps();
    steps.retain(|step| step.starts_with("services:image/"));
    steps
}

/// An image of one file as `docker save` writes it, and its id.
fn saved() -> (Vec<u8>, String) {
    let mut layer = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_ustar();
    header.set_size(5);
    header.set_mode(0o755);
    layer
        .append_data(&mut header, "pause", b"pause".as_slice())
        .expect("memory holds it");
    let layer = layer.into_inner().expect("memory holds it");
    let config = json!({
        "architecture": "amd64", "os": "linux", "config": {"Entrypoint": ["/pause"]},
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{}", sha256(&layer))]},
    });
    let config = config.to_string().into_bytes();
    let id = sha256(&config);
    let name = format!("{id}.json");
    let manifest = json!([{"Config": name, "RepoTags": [NAME], "Layers": ["0/layer.tar"]}]);
    let members = [
        (name.as_str(), config),
        ("0/layer.tar", layer),
        ("manifest.json", manifest.to_string().into_bytes()),
    ];
    (archive(&members).expect("memory holds it"), id)
}
