//! How many bytes a fetch may take before their digest is known. What a mirror says of a file's length is a claim: it
//! must not fill the disk of a node.

use super::failure::free_bytes;
use quake_http::shown;
use quake_model::ports::{Condition, PortError};
use std::path::{Path, PathBuf};

/// More bytes than any asset has. A guess: the largest are archives of container images, of one or two GiB.
pub(crate) const MOST_BYTES: u64 = 4 << 30;

/// Bytes of every eight free ones that a file may take before it is verified; the rest stays free for the other files.
const SHARE_OF_EIGHT: u64 = 7;

/// The limits for one file.
#[derive(Debug, Clone)]
pub(crate) struct Room {
    folder: PathBuf,
    free: Option<u64>,
    most: u64,
    kept: u64,
}

impl Room {
    /// The room in the filesystem of `folder`, for a file of `most` bytes at most, of which `kept` are there.
    pub(crate) fn new(folder: &Path, most: u64, kept: u64) -> Self {
        Self {
            folder: folder.to_owned(),
            free: free_bytes(folder),
            most,
            kept,
        }
    }

    /// How long the file may become before its digest is verified.
    pub(crate) fn limit(&self) -> u64 {
        let share = self.free.map(share_of);
        let share = share.map_or(u64::MAX, |share| share.saturating_add(self.kept));
        self.most.min(share)
    }

    /// Whether pieces of so many bytes may wait on the disk beside the bytes of the file that are to come.
    pub(crate) fn has_room_for(&self, to_come: u64, pieces: u64) -> bool {
        let free = free_bytes(&self.folder);
        free.is_none_or(|free| to_come.saturating_add(pieces) <= share_of(free))
    }

    /// Judges the length that the mirror at `url` claims.
    ///
    /// # Errors
    ///
    /// `Impossible` for a length that no asset has, `NoSpace` for one that could be true and does not fit.
    pub(crate) fn judge(&self, url: &str, claimed: u64) -> Result<(), PortError> {
        let url = shown(url);
        if claimed > self.most {
            let most = self.most;
            let summary =
                format!("{url} claims {claimed} bytes, and no asset has more than {most}");
            let error = PortError::new(Condition::Impossible, summary);
            return Err(error
                .seen("claimed-bytes", claimed)
                .seen("limit-bytes", most));
        }
        let limit = self.limit();
        if claimed <= limit {
            return Ok(());
        }
        let (folder, free) = (self.folder.display(), self.free.unwrap_or_default());
        let summary = format!(
            "{url} claims {claimed} bytes; {folder} has {free} free, and {limit} for a file that is not verified"
        );
        Err(PortError::new(Condition::NoSpace, summary)
            .seen("needed-bytes", claimed)
            .seen("free-bytes", free))
    }
}

/// The error of a mirror that sends more than `limit` bytes.
pub(crate) fn too_many(url: &str, limit: u64) -> PortError {
    let summary = format!(
        "{} sent more than {limit} bytes, which is more than the file can have",
        shown(url)
    );
    PortError::new(Condition::Impossible, summary).seen("limit-bytes", limit)
}

/// The bytes of `free` that a file may take before it is verified.
fn share_of(free: u64) -> u64 {
    free / 8 * SHARE_OF_EIGHT
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn room(free: Option<u64>, kept: u64) -> Room {
        Room {
            folder: "/store".into(),
            free,
            most: MOST_BYTES,
            kept,
        }
    }

    #[test]
    fn a_length_is_believed_that_an_asset_can_have_and_that_fits() {
        let (no, full) = (Condition::Impossible, Condition::NoSpace);
        for (free, kept, claimed, expected) in [
            (Some(800 * MIB), 0, 120 * MIB, None),
            (Some(800 * MIB), 0, 700 * MIB, None),
            (Some(800 * MIB), 0, 701 * MIB, Some(full)),
            // What is on the disk already takes no more of it.
            (Some(800 * MIB), MIB, 701 * MIB, None),
            (Some(800 * MIB), 0, MOST_BYTES + 1, Some(no)),
            (Some(u64::MAX), u64::MAX, MOST_BYTES, None),
            (Some(0), 0, u64::MAX, Some(no)),
            (None, 0, MOST_BYTES, None),
            (None, 0, MOST_BYTES + 1, Some(no)),
        ] {
            let judged = room(free, kept).judge("https://m/kubelet", claimed);
            let condition = judged.err().map(|error| error.condition);
            assert_eq!(condition, expected, "{claimed} of {free:?}");
        }
    }

    #[test]
    fn pieces_wait_on_the_disk_only_where_they_fit_beside_the_file() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let room = Room::new(folder.path(), MOST_BYTES, 0);
        assert!(room.has_room_for(MIB, MIB));
        assert!(!room.has_room_for(u64::MAX, MIB));
    }

    #[test]
    fn the_error_names_the_mirror_and_its_claim() {
        let room = room(Some(800), 0);
        for claimed in [701, u64::MAX] {
            let url = "https://user:secret@m/kubelet?signature=1";
            let error = room.judge(url, claimed).expect_err("too long");
            let needed = format!("https://m/kubelet claims {claimed} bytes");
            assert!(error.summary.starts_with(&needed), "{error}");
        }
    }
}
