//! Documents that a script unpacks: `echo "…" | base64 -d | gzip -d > conf/kube_env.yaml`, as kops writes them where user data
//! would else be too large (`compressUserData`).

use super::{MOST_BYTES, document_named, target};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use std::io::Read as _;

/// The name of the document that a line of a script unpacks, and its bytes, or in words why it has none; `None` for a line that
/// unpacks nothing of ours.
pub(super) fn read(line: &str) -> Option<(&'static str, Result<Vec<u8>, &'static str>)> {
    let (command, rest) = line.trim_start().split_once(' ')?;
    let mut stages = rest.split('|').map(str::trim);
    let text = stages.next()?.trim_matches(['"', '\'']);
    let is_packed = command == "echo"
        && matches!(stages.next()?, "base64 -d" | "base64 --decode")
        && stages.next()?.starts_with("gzip -d");
    let name = document_named(target(rest)?)?;
    is_packed.then(|| (name, unpack(text)))
}

fn unpack(text: &str) -> Result<Vec<u8>, &'static str> {
    let packed = STANDARD.decode(text).map_err(|_| "is not base64")?;
    let mut content = Vec::new();
    let most = u64::try_from(MOST_BYTES).unwrap_or(u64::MAX);
    let mut reader = GzDecoder::new(packed.as_slice()).take(most + 1);
    let read = reader.read_to_end(&mut content);
    read.map_err(|_| "is not gzip, or is cut short")?;
    if content.len() > MOST_BYTES {
        return Err("unpacks to more than a document may have");
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write as _;

    fn pack(bytes: &[u8]) -> String {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).expect("memory takes it");
        STANDARD.encode(encoder.finish().expect("memory takes it"))
    }

    fn line(text: &str) -> String {
        format!("echo \"{text}\" | base64 -d | gzip -d > conf/kube_env.yaml")
    }

    #[test]
    fn a_packed_document_is_read_whole() {
        let (name, content) = read(&line(&pack(b"ClusterName: c\n"))).expect("it is ours");
        assert_eq!(name, "kube_env.yaml");
        assert_eq!(content.as_deref(), Ok(&b"ClusterName: c\n"[..]));
    }

    #[test]
    fn other_commands_unpack_nothing_of_ours() {
        for line in [
            "echo \"x\" | base64 -d | gzip -d > conf/other.yaml",
            "echo kube_env.yaml",
            "cat x | base64 -d | gzip -d > conf/kube_env.yaml",
            "echo x > conf/kube_env.yaml",
            "",
        ] {
            assert!(read(line).is_none(), "{line}");
        }
    }

    #[test]
    fn what_cannot_be_unpacked_is_told_and_never_fills_the_memory() {
        let whole = pack(&vec![b'a'; 100_000]);
        let bomb = pack(&vec![0; MOST_BYTES + 1]);
        // Four digits stand for three bytes, so that it is base64 still.
        let cut = &whole[..whole.len() / 8 * 4];
        for text in ["%%%", "AAAA", cut, &bomb] {
            let (_, content) = read(&line(text)).expect("it is ours");
            assert!(content.is_err());
        }
    }
}
