//! A certificate CA of the bench's own, and the server's certificate from it.

use crate::failure::{BenchError, capture, find_program};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The files of the CA and of the server.
#[derive(Debug, Clone)]
pub(crate) struct Ca {
    pub(crate) certificate: PathBuf,
    pub(crate) server_certificate: PathBuf,
    pub(crate) server_key: PathBuf,
}

/// Makes the CA below `folder`: ECDSA on P-256, for 127.0.0.1 and localhost, and for the address that has the
/// server in the network of real machines (`quake-real-systemd`).
///
/// # Errors
///
/// Fails when openssl is missing or refuses.
pub(crate) fn make(folder: &Path) -> Result<Ca, BenchError> {
    if find_program("openssl").is_none() {
        return Err(BenchError::Missing {
            tool: "openssl",
            package: "openssl",
        });
    }
    std::fs::create_dir_all(folder).map_err(BenchError::path(folder))?;
    let extensions = folder.join("server.ext");
    let text = "basicConstraints=CA:FALSE\nkeyUsage=digitalSignature\n\
                extendedKeyUsage=serverAuth\nsubjectAltName=IP:127.0.0.1,IP:172.20.0.1,DNS:localhost\n";
    std::fs::write(&extensions, text).map_err(BenchError::path(&extensions))?;
    let run = |words: &str| {
        let mut command = Command::new("openssl");
        command.args(words.split_whitespace()).current_dir(folder);
        capture(&mut command)
    };
    run(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 \
         -keyout ca.key -out ca.pem -subj /CN=bench-authority \
         -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign",
    )?;
    run(
        "req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
         -keyout server.key -out server.csr -subj /CN=localhost",
    )?;
    run(
        "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 \
         -extfile server.ext -out server.pem",
    )?;
    Ok(Ca {
        certificate: folder.join("ca.pem"),
        server_certificate: folder.join("server.pem"),
        server_key: folder.join("server.key"),
    })
}
