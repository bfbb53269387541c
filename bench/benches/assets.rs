//! `cargo bench -p quake-bench --bench assets`: the libraries that all bytes of assets pass through, and those that were
//! measured against them. With `--features zlib-ng` the gzip figure is that of zlib-ng. See docs/adr/0013.

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::io::Read;
use std::path::PathBuf;
use std::process::Command;

/// Enough that no cache holds it, and little enough that the slowest library ends.
const SAMPLE_BYTES: usize = 32 << 20;

/// What the agent reads at once.
const CHUNK_BYTES: usize = 256 << 10;

criterion_main!(assets);
criterion_group!(name = assets; config = Criterion::default().sample_size(10); targets = hash, unpack);

/// Machine code compresses to about 0.3 of its size, as assets do: the library of the compiler that built this bench,
/// or where that is not found, this bench itself, again and again.
fn sample() -> Vec<u8> {
    let found = compiler_library().or_else(|| std::env::current_exe().ok());
    let bytes = found
        .and_then(|path| std::fs::read(path).ok())
        .unwrap_or_default();
    assert!(
        !bytes.is_empty(),
        "neither the compiler's library nor this program can be read"
    );
    bytes.into_iter().cycle().take(SAMPLE_BYTES).collect()
}

fn compiler_library() -> Option<PathBuf> {
    let output = Command::new("rustc")
        .args(["--print", "sysroot"])
        .output()
        .ok()?;
    let root = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim_end());
    let files = std::fs::read_dir(root.join("lib")).ok()?.flatten();
    let paths = files.map(|file| file.path());
    paths.max_by_key(|path| path.metadata().map_or(0, |metadata| metadata.len()))
}

fn hash(criterion: &mut Criterion) {
    let bytes = sample();
    let mut group = criterion.benchmark_group("hash");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    let chunks = || bytes.chunks(CHUNK_BYTES);
    group.bench_function("sha256/sha2", |bencher| {
        bencher.iter(|| digest::<sha2::Sha256>(&bytes));
    });
    group.bench_function("sha512/sha2", |bencher| {
        bencher.iter(|| digest::<sha2::Sha512>(&bytes));
    });
    group.bench_function("sha1/sha1", |bencher| {
        bencher.iter(|| digest::<sha1::Sha1>(&bytes));
    });
    for (name, algorithm) in [
        ("sha256/aws-lc-rs", &aws_lc_rs::digest::SHA256),
        ("sha512/aws-lc-rs", &aws_lc_rs::digest::SHA512),
        (
            "sha1/aws-lc-rs",
            &aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY,
        ),
    ] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let mut context = aws_lc_rs::digest::Context::new(algorithm);
                chunks().for_each(|chunk| context.update(chunk));
                black_box(context.finish());
            });
        });
    }
    group.bench_function("check/blake3", |bencher| {
        bencher.iter(|| {
            let mut hasher = blake3::Hasher::new();
            for chunk in chunks() {
                hasher.update(chunk);
            }
            black_box(hasher.finalize());
        });
    });
    group.bench_function("check/crc32fast", |bencher| {
        bencher.iter(|| {
            let mut hasher = crc32fast::Hasher::new();
            chunks().for_each(|chunk| hasher.update(chunk));
            black_box(hasher.finalize());
        });
    });
    group.finish();
}

fn digest<D: sha2::Digest>(bytes: &[u8]) {
    let mut hasher = D::new();
    bytes
        .chunks(CHUNK_BYTES)
        .for_each(|chunk| hasher.update(chunk));
    black_box(hasher.finalize());
}

fn unpack(criterion: &mut Criterion) {
    let bytes = sample();
    let mut group = criterion.benchmark_group("unpack");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    let gzip = packed(flate2::bufread::GzEncoder::new(
        bytes.as_slice(),
        flate2::Compression::new(6),
    ));
    let name = if cfg!(feature = "zlib-ng") {
        "gzip/zlib-ng"
    } else {
        "gzip/zlib-rs"
    };
    read_all(&mut group, name, || {
        flate2::bufread::MultiGzDecoder::new(gzip.as_slice())
    });
    let xz = packed(liblzma::bufread::XzEncoder::new(bytes.as_slice(), 6));
    read_all(&mut group, "xz/liblzma", || {
        liblzma::bufread::XzDecoder::new_multi_decoder(xz.as_slice())
    });
    read_all(&mut group, "xz/lzma-rust2", || {
        lzma_rust2::XzReader::new(xz.as_slice(), true)
    });
    for level in [3, 19] {
        let Ok(packed) = zstd::encode_all(bytes.as_slice(), level) else {
            continue;
        };
        read_all(&mut group, &format!("zstd-{level}/zstd"), || {
            zstd::Decoder::with_buffer(packed.as_slice()).expect("memory holds a decoder")
        });
        read_all(&mut group, &format!("zstd-{level}/ruzstd"), || {
            ruzstd::decoding::StreamingDecoder::new(packed.as_slice())
                .expect("it begins with a frame")
        });
    }
    group.finish();
}

/// All that an encoder gives.
fn packed(mut encoder: impl Read) -> Vec<u8> {
    let mut packed = Vec::new();
    encoder.read_to_end(&mut packed).expect("memory takes it");
    packed
}

fn read_all<R: Read>(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, open: impl Fn() -> R) {
    let mut chunk = vec![0; CHUNK_BYTES];
    group.bench_function(name, |bencher| {
        bencher.iter(|| {
            let (mut reader, mut sum) = (open(), 0);
            while let Ok(count) = reader.read(&mut chunk) {
                if count == 0 {
                    break;
                }
                sum += count;
            }
            assert_eq!(sum, SAMPLE_BYTES, "{name} brings all bytes back");
        });
    });
}
