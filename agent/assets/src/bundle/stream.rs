//! The bytes of a bundle as they come.

use super::format::{
    Bundled, END_BYTES, MANIFEST, MAX_MANIFEST_BYTES, header, malformed, padding, read_manifest,
};
use quake_model::ports::PortError;
use std::io::{BufReader, ErrorKind, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tar::Header;
use zstd::stream::read::Decoder;

/// What the agent gives for decompressing, as a power of two: 16 MiB. What it writes needs 2.
const WINDOW_LOG: u32 = 24;

type Source = Box<dyn Read + Send>;

/// A bundle that is being read.
pub(super) struct Stream {
    decoder: Decoder<'static, BufReader<Source>>,
    /// How many bytes of the member at hand are still to come.
    left: u64,
    /// Why the bytes ended early.
    broken: Option<String>,
}

/// A bundle whose manifest was read.
#[derive(Clone)]
pub(super) struct Shared(Arc<Mutex<Stream>>);

/// The bytes of the member at hand.
pub(super) struct Body(Shared);

impl Shared {
    /// Opens a bundle and reads its manifest.
    pub(super) fn open(source: Source) -> Result<(Self, Vec<Bundled>), PortError> {
        let none = |error: std::io::Error| malformed("it is no zstd file").because(&error);
        let mut decoder = Decoder::with_buffer(BufReader::with_capacity(128 << 10, source))
            .map_err(none)?
            .single_frame();
        decoder.window_log_max(WINDOW_LOG).map_err(none)?;
        let mut stream = Stream {
            decoder,
            left: 0,
            broken: None,
        };
        let mut block = vec![0; header(MANIFEST, 0).len()];
        stream.exactly(&mut block)?;
        let size = Header::from_byte_slice(&block).entry_size().unwrap_or(0);
        if size > MAX_MANIFEST_BYTES || block != header(MANIFEST, size) {
            return Err(malformed(&format!(
                "{} stands where {MANIFEST} belongs",
                describe(&block)
            )));
        }
        let mut text = vec![0; usize::try_from(size).unwrap_or_default()];
        stream.exactly(&mut text)?;
        stream.zeros(padding(size))?;
        let assets = read_manifest(&text)?;
        Ok((Self(Arc::new(Mutex::new(stream))), assets))
    }

    /// Begins the member of `asset`, which must be what comes next.
    pub(super) fn begin(&self, asset: &Bundled) -> Result<Body, PortError> {
        let expected = header(&asset.member(), asset.size);
        let mut found = vec![0; expected.len()];
        let mut stream = self.lock();
        stream.exactly(&mut found)?;
        if found != expected {
            return Err(malformed(&format!(
                "{} stands where {} of {} bytes belongs",
                describe(&found),
                asset.member(),
                asset.size
            )));
        }
        stream.left = asset.size;
        drop(stream);
        Ok(Body(self.clone()))
    }

    /// Ends the member of `asset`.
    ///
    /// # Errors
    ///
    /// `Malformed`, also where its bytes ended early.
    pub(super) fn end(&self, asset: &Bundled) -> Result<(), PortError> {
        let mut stream = self.lock();
        if let Some(why) = stream.broken.take() {
            return Err(malformed(&why).seen("member", asset.member()));
        }
        if stream.left > 0 {
            // Whoever took the bytes gave up, and knows why.
            return Ok(());
        }
        stream.zeros(padding(asset.size))
    }

    /// Proves that nothing comes any more.
    pub(super) fn finish(&self) -> Result<(), PortError> {
        let mut stream = self.lock();
        stream.zeros(END_BYTES)?;
        let more = |count: std::io::Result<usize>| match count {
            Ok(0) => Ok(()),
            Ok(_) => Err(malformed("something stands behind its end")),
            Err(error) => Err(malformed("its end is damaged").because(&error)),
        };
        more(stream.decoder.read(&mut [0]))?;
        more(stream.decoder.get_mut().read(&mut [0]))
    }

    fn lock(&self) -> MutexGuard<'_, Stream> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stream {
    fn exactly(&mut self, buffer: &mut [u8]) -> Result<(), PortError> {
        let read = self.decoder.read_exact(buffer);
        read.map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => malformed("it ends early"),
            _ => malformed("it cannot be decompressed").because(&error),
        })
    }

    /// Reads `count` zeros, at most two blocks of them.
    fn zeros(&mut self, count: u64) -> Result<(), PortError> {
        let mut buffer = vec![0; usize::try_from(count).unwrap_or_default()];
        self.exactly(&mut buffer)?;
        if buffer.iter().all(|byte| *byte == 0) {
            Ok(())
        } else {
            Err(malformed("something stands between its members"))
        }
    }
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let mut stream = self.0.lock();
        let most = usize::try_from(stream.left).unwrap_or(usize::MAX);
        let most = most.min(buffer.len());
        if most == 0 {
            return Ok(0);
        }
        let count = match stream.decoder.read(&mut buffer[..most]) {
            Ok(0) => Err(std::io::Error::from(ErrorKind::UnexpectedEof)),
            read => read,
        };
        match &count {
            Ok(count) => stream.left -= *count as u64,
            Err(error) => stream.broken = Some(format!("it ends early or is damaged: {error}")),
        }
        count
    }
}

/// What a block that should be another looks like.
fn describe(block: &[u8]) -> String {
    if block.iter().all(|byte| *byte == 0) {
        return "the end".to_owned();
    }
    // The header of a long name stands before it, and the name in front of the last block.
    let blocks: Vec<&[u8]> = block.chunks_exact(512).collect();
    let Some(last) = blocks.last() else {
        return "nothing".to_owned();
    };
    let header = Header::from_byte_slice(last);
    let path = match blocks.as_slice() {
        [.., name, _] => name.to_vec(),
        _ => header.path_bytes().into_owned(),
    };
    let path: Vec<u8> = path.into_iter().take_while(|byte| *byte != 0).collect();
    let size = header.entry_size().unwrap_or(0);
    format!("{:?} of {size} bytes", String::from_utf8_lossy(&path))
}
