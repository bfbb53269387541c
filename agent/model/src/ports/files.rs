//! Files of the node.

use super::PortError;
use crate::facts::{FileFacts, FileStamp, OsFacts, Owner};
use crate::step::WriteFile;
use std::future::Future;

/// A watch on a directory, as [`Files::watch_directory`] began it.
pub trait DirectoryWatch: Send {
    /// Returns after something in the directory was created, written, renamed or deleted, or the directory itself came or
    /// went. What changed since the watch began or since this last returned counts, and several changes may be one. It may
    /// be dropped at any await.
    ///
    /// # Errors
    ///
    /// Of a watch that has ended.
    fn changed(&mut self) -> impl Future<Output = Result<(), PortError>> + Send;
}

/// Files of the node. Paths are absolute, as the node sees them.
pub trait Files: Sync {
    /// Whether owners can be set here: as root on a node, not in an unprivileged rehearsal.
    fn sets_owners(&self) -> bool;

    /// Reads which operating system this is.
    ///
    /// # Errors
    ///
    /// `Missing` when there is no `os-release`, `Io` when it cannot be read.
    fn read_os(&self) -> impl Future<Output = Result<OsFacts, PortError>> + Send;

    /// Looks at a path; contents are read up to `limit` bytes.
    ///
    /// # Errors
    ///
    /// `Io` or `Denied`; a path where nothing stands is `Ok(None)`.
    fn look_file(
        &self,
        path: &str,
        limit: u64,
    ) -> impl Future<Output = Result<Option<FileFacts>, PortError>> + Send;

    /// Looks at many paths as [`Files::look_file`] does, and returns what was seen of each, in their order: one answer for each path.
    fn look_files(
        &self,
        paths: &[String],
        limit: u64,
    ) -> impl Future<Output = Vec<Result<Option<FileFacts>, PortError>>> + Send {
        async move {
            let mut looked = Vec::with_capacity(paths.len());
            for path in paths {
                looked.push(self.look_file(path, limit).await);
            }
            looked
        }
    }

    /// Stamps each of the paths, in their order, reading none of them; `None` where nothing stands. It is asked for many at
    /// once and often.
    ///
    /// # Errors
    ///
    /// `Io` or `Denied`, of the first path that cannot be looked at.
    fn stamp_files(
        &self,
        paths: &[String],
    ) -> impl Future<Output = Result<Vec<Option<FileStamp>>, PortError>> + Send;

    /// Lists the names in a directory, sorted; empty when it does not exist.
    ///
    /// # Errors
    ///
    /// `Io` or `Denied`.
    fn list_directory(
        &self,
        path: &str,
    ) -> impl Future<Output = Result<Vec<String>, PortError>> + Send;

    /// Watches a directory, which need not exist yet. A caller looks at it after this returned, and so misses nothing.
    ///
    /// # Errors
    ///
    /// `NoSpace` or `Io` where the kernel has no watch left, `Denied`.
    fn watch_directory(
        &self,
        path: &str,
    ) -> impl Future<Output = Result<impl DirectoryWatch, PortError>> + Send;

    /// Writes a file atomically with its mode and owner: a reader sees the old one or the new one,
    /// whole. Makes missing parents with mode 0755.
    ///
    /// # Errors
    ///
    /// `NoSpace`, `Denied`, `Occupied` (a directory stands there) or `Io`.
    fn write_file(&self, file: &WriteFile) -> impl Future<Output = Result<(), PortError>> + Send {
        async move {
            let written = self.write_files(std::slice::from_ref(file)).await;
            written.into_iter().collect()
        }
    }

    /// Writes files as [`Files::write_file`] does, and returns what came of each, in their order, up to the first that
    /// cannot be written: none behind it is touched. One wait for the disk serves many. After a crash in between any of
    /// them may be the old one and any the new one, each whole.
    fn write_files(
        &self,
        files: &[WriteFile],
    ) -> impl Future<Output = Vec<Result<(), PortError>>> + Send;

    /// Sets mode and owner of what stands at a path.
    ///
    /// # Errors
    ///
    /// As [`Files::write_file`].
    fn set_permissions(
        &self,
        file: &WriteFile,
    ) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Removes what writers that are gone left half-written in these directories; one that does not exist
    /// holds nothing.
    ///
    /// # Errors
    ///
    /// `Io` or `Denied` when a directory cannot be read.
    fn remove_leftovers(
        &self,
        directories: &[String],
    ) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Makes a directory with its mode and owner, and its missing parents. Where somebody else than root owns it, no link that
    /// such a one could have made is followed on the way.
    ///
    /// # Errors
    ///
    /// As [`Files::write_file`].
    fn make_directory(
        &self,
        path: &str,
        mode: u32,
        owner: Owner,
    ) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Where the symbolic link at `path` points; `None` where nothing, or something else, stands.
    ///
    /// # Errors
    ///
    /// `Io`.
    fn read_link(
        &self,
        path: &str,
    ) -> impl Future<Output = Result<Option<String>, PortError>> + Send;

    /// Puts a symbolic link to `target` at `path` in the place of nothing or of another link, with the directories above.
    ///
    /// # Errors
    ///
    /// `Occupied` where something else stands there, `NoSpace`, `Io`.
    fn make_link(
        &self,
        path: &str,
        target: &str,
    ) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Removes the file at a path, if it still holds these bytes; a path where nothing stands is no error. Between the last look
    /// and the removal a writer may be lost: of two that want different things at one path one always is.
    ///
    /// # Errors
    ///
    /// `Conflict` where the file holds other bytes by now, `Occupied` where something else than a file stands there, `Denied`,
    /// `Io`.
    fn remove_file(
        &self,
        path: &str,
        seen: &[u8],
    ) -> impl Future<Output = Result<(), PortError>> + Send;
}
