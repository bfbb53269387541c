//! Paths of an image as the image itself would follow them.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

/// How many links are followed, as by the kernel.
const MOST_LINKS: u32 = 40;

/// How deep directories are searched.
const MOST_DEPTH: u32 = 12;

/// An image by its root.
pub(super) struct Image<'a> {
    root: &'a Path,
}

impl<'a> Image<'a> {
    pub(super) fn new(root: &'a Path) -> Self {
        Self { root }
    }

    /// What `path` of the image is on this machine: links on the way lead to where they would in the image. The last
    /// part is not followed.
    pub(super) fn find(&self, path: &str) -> std::io::Result<Option<PathBuf>> {
        let mut parts: VecDeque<PathBuf> = Path::new(path).components().map(part).collect();
        let (mut at, mut links) = (PathBuf::new(), 0);
        while let Some(part) = parts.pop_front() {
            match part.to_str() {
                Some("/") => at = PathBuf::new(),
                Some("..") => {
                    at.pop();
                }
                _ => {
                    let next = self.root.join(&at).join(&part);
                    let found = match next.symlink_metadata() {
                        Ok(found) => found,
                        Err(error) if is_absent(error.kind()) => return Ok(None),
                        Err(error) => return Err(error),
                    };
                    if found.is_symlink() && !parts.is_empty() {
                        links += 1;
                        if links > MOST_LINKS {
                            return Ok(None);
                        }
                        let target = std::fs::read_link(&next)?;
                        for part in target.components().rev() {
                            parts.push_front(self::part(part));
                        }
                    } else {
                        at.push(&part);
                    }
                }
            }
        }
        Ok(Some(self.root.join(at)))
    }

    /// What is directly in the directory `path` of the image, in order; nothing where it is none.
    pub(super) fn list(&self, path: &str) -> std::io::Result<Vec<PathBuf>> {
        match self.find_followed(path)? {
            Some(folder) => list(&folder),
            None => Ok(Vec::new()),
        }
    }

    /// A path of this machine as it is below the image's root.
    pub(super) fn below<'p>(&self, path: &'p Path) -> &'p Path {
        path.strip_prefix(self.root).unwrap_or(path)
    }

    /// Every file below the directory `path` of the image; links are not followed.
    pub(super) fn files(&self, path: &str) -> std::io::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        let mut waiting: Vec<(PathBuf, u32)> =
            self.list(path)?.into_iter().map(|path| (path, 0)).collect();
        while let Some((path, depth)) = waiting.pop() {
            let found = path.symlink_metadata()?;
            if found.is_dir() && depth < MOST_DEPTH {
                waiting.extend(list(&path)?.into_iter().map(|path| (path, depth + 1)));
            } else if found.is_file() {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }

    fn find_followed(&self, path: &str) -> std::io::Result<Option<PathBuf>> {
        let mut path = path.to_owned();
        for _ in 0..MOST_LINKS {
            let Some(found) = self.find(&path)? else {
                return Ok(None);
            };
            if !found.is_symlink() {
                return Ok(Some(found));
            }
            let target = std::fs::read_link(&found)?;
            let parent = found.parent().unwrap_or(self.root);
            path = self
                .below(parent)
                .join(target)
                .to_string_lossy()
                .into_owned();
        }
        Ok(None)
    }
}

fn part(part: Component<'_>) -> PathBuf {
    PathBuf::from(part.as_os_str())
}

fn list(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let listed = match std::fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error) if is_absent(error.kind()) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut paths = Vec::new();
    for entry in listed {
        paths.push(entry?.path());
    }
    paths.sort();
    Ok(paths)
}

fn is_absent(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Whether a file has any of these texts in it.
pub(super) fn holds(path: &Path, texts: &[&str]) -> std::io::Result<bool> {
    let longest = texts.iter().map(|text| text.len()).max().unwrap_or(0);
    let mut file = File::open(path)?;
    let mut buffer = vec![0_u8; 256 << 10];
    let mut kept = 0;
    loop {
        let count = file.read(&mut buffer[kept..])?;
        if count == 0 {
            return Ok(false);
        }
        let seen = &buffer[..kept + count];
        for text in texts {
            if seen.windows(text.len()).any(|at| at == text.as_bytes()) {
                return Ok(true);
            }
        }
        // A text may begin in this portion and end in the next.
        let from = seen.len().saturating_sub(longest.saturating_sub(1));
        let until = seen.len();
        buffer.copy_within(from..until, 0);
        kept = until - from;
    }
}
