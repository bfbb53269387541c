//! Writes the first inputs of each target: `seeds <folder>` makes `<folder>/archive` and `<folder>/asset_string`.

use std::io::{self, Write};
use std::path::Path;
use tar::{Builder, EntryType, Header};

fn main() -> io::Result<()> {
    let folder = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "corpus".to_owned());
    let folder = Path::new(&folder);
    for (name, seeds) in [("archive", archives()?), ("asset_string", asset_strings())] {
        let folder = folder.join(name);
        std::fs::create_dir_all(&folder)?;
        for (number, seed) in seeds.iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{number:03}")), seed)?;
        }
    }
    Ok(())
}

/// Small archives of every format that is taken, plain and in every compression.
fn archives() -> io::Result<Vec<Vec<u8>>> {
    let mut plain = vec![Builder::new(Vec::new()).into_inner()?];
    for header in [Header::new_gnu(), Header::new_ustar(), Header::new_old()] {
        plain.push(mixed(&header)?);
    }
    plain.push(long_names()?);
    plain.push(with_records(
        b"30 mtime=1350244992.023960108\n11 size=5\n17 path=pax/name\n",
    )?);
    plain.push(with_records(b"22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n21 GNU.sparse.name=s\n28 GNU.sparse.realsize=5000\n")?);
    plain.push(gnu_sparse()?);
    let mut all = Vec::new();
    for archive in plain {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        gzip.write_all(&archive)?;
        all.push(gzip.finish()?);
        let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 0);
        xz.write_all(&archive)?;
        all.push(xz.finish()?);
        all.push(zstd::encode_all(archive.as_slice(), 1)?);
        all.push(archive);
    }
    Ok(all)
}

fn append(
    builder: &mut Builder<Vec<u8>>,
    header: &Header,
    (name, kind, link): (&str, EntryType, &str),
    bytes: &[u8],
) -> io::Result<()> {
    let mut header = header.clone();
    let old = header.as_old_mut();
    old.name[..name.len()].copy_from_slice(name.as_bytes());
    old.linkname[..link.len()].copy_from_slice(link.as_bytes());
    header.set_entry_type(kind);
    header.set_mode(0o755);
    header.set_size(bytes.len() as u64);
    header.set_cksum();
    builder.append(&header, bytes)
}

fn mixed(header: &Header) -> io::Result<Vec<u8>> {
    let mut builder = Builder::new(Vec::new());
    append(
        &mut builder,
        header,
        ("bin/", EntryType::Directory, ""),
        b"",
    )?;
    append(
        &mut builder,
        header,
        ("bin/tool", EntryType::Regular, ""),
        b"program",
    )?;
    append(
        &mut builder,
        header,
        ("link", EntryType::Symlink, "bin/tool"),
        b"",
    )?;
    append(
        &mut builder,
        header,
        ("same", EntryType::Link, "bin/tool"),
        b"",
    )?;
    append(
        &mut builder,
        header,
        ("text", EntryType::Regular, ""),
        &[b'x'; 1500],
    )?;
    builder.into_inner()
}

fn long_names() -> io::Result<Vec<u8>> {
    let mut builder = Builder::new(Vec::new());
    let mut header = Header::new_gnu();
    header.set_size(1);
    header.set_mode(0o644);
    builder.append_data(&mut header, "directory/".repeat(20) + "file", b"x".as_slice())?;
    header.set_size(0);
    header.set_entry_type(EntryType::Symlink);
    builder.append_link(&mut header, "link", "target/".repeat(20))?;
    builder.into_inner()
}

/// A file that could be a map of sparse pieces, behind these pax records.
fn with_records(records: &[u8]) -> io::Result<Vec<u8>> {
    let mut builder = Builder::new(Vec::new());
    let header = Header::new_ustar();
    append(
        &mut builder,
        &header,
        ("PaxHeaders/x", EntryType::XHeader, ""),
        records,
    )?;
    let mut bytes = b"2\n1000\n3\n4000\n3\n".to_vec();
    bytes.resize(512, 0);
    bytes.extend_from_slice(b"onetwo");
    append(
        &mut builder,
        &header,
        ("file", EntryType::Regular, ""),
        &bytes,
    )?;
    builder.into_inner()
}

fn gnu_sparse() -> io::Result<Vec<u8>> {
    let mut header = Header::new_gnu();
    header.set_path("sparse")?;
    header.set_entry_type(EntryType::GNUSparse);
    header.set_mode(0o644);
    header.set_size(6);
    if let Some(gnu) = header.as_gnu_mut() {
        gnu.set_real_size(5000);
        for (piece, offset) in gnu.sparse.iter_mut().zip([1000, 4000]) {
            piece.set_offset(offset);
            piece.set_length(3);
        }
    }
    header.set_cksum();
    let mut builder = Builder::new(Vec::new());
    builder.append(&header, b"onetwo".as_slice())?;
    builder.into_inner()
}

fn asset_strings() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for digits in [32, 40, 64, 128] {
        let hex = "0123456789abcdef".repeat(8)[..digits].to_owned();
        for prefix in ["", "sha1:", "sha256:", "sha512:", "md5:"] {
            seeds.push(format!("{prefix}{hex}@https://host.example/path/kubelet").into_bytes());
        }
        let urls = "https://a.example/x/cni-plugins.tgz,http://u@b.example:8080/y.tar.xz?v=1#f";
        seeds.push(format!("{hex}@{urls}").into_bytes());
    }
    seeds.extend(
        ["", "https://a.example/x", "@", "\"\\\"", "[a, b]", "{a: b}"]
            .map(|text| text.as_bytes().to_vec()),
    );
    seeds
}
