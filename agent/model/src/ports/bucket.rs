//! Objects of buckets that are read in pieces, as assets are.

use super::PortError;
use crate::location::Location;
use std::fmt;
use std::future::Future;
use std::pin::Pin;

/// What a method of these traits returns: they are used as `dyn`, for the store of assets is one type.
pub type Reading<'a, T> = Pin<Box<dyn Future<Output = Result<T, PortError>> + Send + 'a>>;

/// Which bytes of an object are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ObjectPiece {
    /// The first byte.
    pub from: u64,
    /// The byte after the last; `None` for everything that follows.
    pub until: Option<u64>,
    /// The object's `ETag` as it was when bytes before these were taken.
    pub tag: Option<String>,
}

impl ObjectPiece {
    /// The value of the `Range` header; `None` when the whole object is wanted.
    pub fn range(&self) -> Option<String> {
        match (self.from, self.until) {
            (0, None) => None,
            (from, None) => Some(format!("bytes={from}-")),
            (from, Some(until)) => Some(format!("bytes={from}-{}", until.saturating_sub(1))),
        }
    }
}

/// An object, or a piece of it, whose bytes are still to come.
pub struct OpenObject {
    /// How long the object is, where the server says.
    pub total: Option<u64>,
    /// What tells this version of the object from others.
    pub tag: Option<String>,
    /// Whether the piece was sent, and not the whole object.
    pub is_piece: bool,
    /// The bytes.
    pub bytes: Box<dyn ObjectBytes>,
}

impl fmt::Debug for OpenObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("OpenObject");
        shown.field("total", &self.total).field("tag", &self.tag);
        shown.finish_non_exhaustive()
    }
}

/// Bytes as they come.
pub trait ObjectBytes: Send {
    /// The next bytes; `None` at the end.
    ///
    /// # Errors
    ///
    /// `Unreachable` when the server stops.
    fn chunk(&mut self) -> Reading<'_, Option<Vec<u8>>>;
}

/// Reads objects of any size from buckets, piece by piece.
pub trait BucketReader: fmt::Debug + Send + Sync {
    /// Asks for a piece of an object: one attempt, signed with the credentials of this moment.
    ///
    /// # Errors
    ///
    /// `Missing` without the object, `Unknown` without the bucket, `Denied` (naming the exact action
    /// and resource in its remedy), `Conflict` when the object has another tag or ends before the
    /// piece begins, `Throttled`, `ClockSkew` or `Unreachable`.
    fn open_object<'a>(
        &'a self,
        location: &'a Location,
        piece: &'a ObjectPiece,
    ) -> Reading<'a, OpenObject>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_asked_for_only_where_it_is_one() {
        let piece = |from, until| ObjectPiece {
            from,
            until,
            tag: None,
        };
        assert_eq!(ObjectPiece::default().range(), None);
        assert_eq!(piece(0, Some(8)).range().as_deref(), Some("bytes=0-7"));
        assert_eq!(piece(8, None).range().as_deref(), Some("bytes=8-"));
    }
}
