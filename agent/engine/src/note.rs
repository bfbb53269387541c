//! What was refused for good is the same on each boot of an instance: a note on the disk remembers it, so that it is news
//! once.

use quake_model::fault::{Class, Fault};
use quake_model::ports::Files;
use quake_model::step::WriteFile;

/// The longest note that is read: it is one place.
const NOTE_BYTES: u64 = 4096;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Note(pub(crate) &'static str);

impl Note {
    /// Says of a failure whether an earlier boot had it already, and remembers it; `to` is the place that refused.
    /// After a success it is forgotten, so that a permission that is taken away again is told again.
    pub(crate) async fn judge<H: Files>(
        self,
        host: &H,
        to: &str,
        ended: Result<(), Fault>,
    ) -> Result<(), (Fault, bool)> {
        let noted = self.read(host).await;
        match ended {
            Ok(()) => {
                if noted.is_some_and(|noted| !noted.is_empty()) {
                    self.write(host, "").await;
                }
                Ok(())
            }
            Err(fault) if fault.class() == Class::Denied => {
                let known = noted.as_deref() == Some(to);
                if !known {
                    self.write(host, to).await;
                }
                Err((fault, known))
            }
            Err(fault) => Err((fault, false)),
        }
    }

    async fn read<H: Files>(self, host: &H) -> Option<String> {
        let looked = host.look_file(self.0, NOTE_BYTES).await.ok()??;
        let text = String::from_utf8(looked.contents?).ok()?;
        Some(text.trim().to_owned())
    }

    /// Where it cannot be noted, the next boot warns once more.
    async fn write<H: Files>(self, host: &H, to: &str) {
        let text = format!("{to}\n").trim_start().to_owned();
        let _ = host
            .write_file(&WriteFile::plain(self.0, 0o644, text))
            .await;
    }
}
