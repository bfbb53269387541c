//! What the outside is told once a boot has ended.

use super::running::Run;
use quake_engine::{Emitter, Verdict, report_boot};
use quake_model::digest::{Algorithm, Digest};
use std::io;

/// This process's own binary, even where its file was replaced meanwhile.
const OWN_BINARY: &str = "/proc/self/exe";

/// Tells the outside how the boot ended, as far as it was asked to.
pub(super) async fn tell(run: &Run, emitter: &Emitter, verdict: &Verdict) {
    if run.report {
        let digest = own_digest().await.map(|digest| digest.to_string());
        let digest = digest.as_deref();
        // Boxed, as what it holds is nested too deeply for the compiler to lay out within the whole command.
        Box::pin(report_boot(
            &run.host,
            emitter,
            &run.request,
            verdict,
            digest,
        ))
        .await;
    }
}

/// Digest over this binary; `None` where it cannot be read, which is no reason to tell nothing.
async fn own_digest() -> Option<Digest> {
    let hashed = tokio::task::spawn_blocking(|| digest_of(OWN_BINARY)).await;
    hashed.ok()?.ok()
}

fn digest_of(path: &str) -> io::Result<Digest> {
    use sha2::Digest as _;
    let mut hasher = sha2::Sha256::new();
    let mut file = std::fs::File::open(path)?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let length = io::Read::read(&mut file, &mut buffer)?;
        if length == 0 {
            return Ok(Digest::from_bytes(Algorithm::Sha256, &hasher.finalize()));
        }
        hasher.update(&buffer[..length]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_that_of_the_whole_file() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = folder.path().join("binary");
        // Longer than what is read at once.
        std::fs::write(&path, vec![b'a'; 200_000]).expect("the folder is ours");
        let digest = digest_of(path.to_str().expect("a plain name"));
        use sha2::Digest as _;
        let whole = sha2::Sha256::digest(vec![b'a'; 200_000]);
        let whole = Digest::from_bytes(Algorithm::Sha256, &whole);
        assert_eq!(digest.ok(), Some(whole));
    }
}
