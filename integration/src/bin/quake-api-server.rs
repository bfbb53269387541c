//! Serves the stand-in of an API server in the clear on loopback, for trying by hand, until it is ended.
//!
//! usage: `quake-api-server [VERSION]`, such as `v1.35.0`. It prints its URL, and every second what it was asked since.

use quake_apisim::ApiServer;
use quake_integration::api_server::ApiStandIn;
use quake_integration::waiting::pause;
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let version = std::env::args().nth(1);
    let model = ApiServer::new(version.as_deref().unwrap_or("v1.35.0"));
    let served = match ApiStandIn::plain(model) {
        Ok(served) => served,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    println!("{}", served.url());
    loop {
        pause(Duration::from_secs(1));
        let requested = served.cluster(|cluster| {
            let requested = cluster.journal().clone();
            cluster.clear_journal();
            requested
        });
        for entry in requested.entries() {
            let (verb, code) = (entry.verb.name(), entry.code.unwrap_or_default());
            println!("{code} {verb} {} wrote={}", entry.object(), entry.wrote);
        }
    }
}
