//! The services that a worker of kops 1.36 meets at its first boot: the metadata service, and kops-controller.
//! `cargo xtask bench` runs it beside the programs that it measures.
//!
//! usage: `quake-kops-worker PINS DIRECTORY`, where PINS has a line `SHA256@URL` for each asset. It writes
//! `DIRECTORY/kube_env.yaml`, listens on 169.254.169.254:80 and 127.0.0.1:3988, prints `ready`, and ends with its input.
//! kops-controller's name has to mean 127.0.0.1 where it runs.

use quake_integration::ca::Ca;
use quake_integration::http::Server;
use quake_integration::imds::SESSION_TOKEN;
use quake_integration::kops_worker::{Documents, controller};
use quake_integration::machine::Facts;
use quake_integration::namespace::METADATA;
use std::io::Read;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [pins, directory] = words.as_slice() else {
        eprintln!("usage: quake-kops-worker PINS DIRECTORY");
        return ExitCode::from(64);
    };
    match serve(Path::new(pins), Path::new(directory)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn serve(pins: &Path, directory: &Path) -> Result<(), String> {
    let pins =
        std::fs::read_to_string(pins).map_err(|error| format!("{}: {error}", pins.display()))?;
    let pins: Vec<&str> = pins.lines().collect();
    let ca = Ca::new().map_err(|error| format!("{error:?}"))?;
    let documents = Documents::new(&pins, &[], &ca.certificate()?);
    let path = directory.join("kube_env.yaml");
    std::fs::write(&path, &documents.kube_env)
        .map_err(|error| format!("{}: {error}", path.display()))?;
    let facts = Facts {
        instance: "i-0123456789abcdef0".to_owned(),
        address: Ipv4Addr::new(10, 0, 0, 10),
    };
    let metadata = facts.service(b"", SESSION_TOKEN);
    let _metadata = Server::on(listen(METADATA)?, move |request| metadata.answer(request))
        .map_err(|error| error.to_string())?;
    let controller = controller(listen("127.0.0.1:3988")?, ca, &facts, documents.config)?;
    println!("ready");
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    for why in controller.refusals() {
        eprintln!("kops-controller refused: {why}");
    }
    Ok(())
}

fn listen(address: &str) -> Result<TcpListener, String> {
    TcpListener::bind(address).map_err(|error| format!("{address}: {error}"))
}
