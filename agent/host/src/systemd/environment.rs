//! The environment of a service's process: of the one that runs, else as the unit would set it.

use super::bus::Properties;
use super::facts::text_of;
use super::units::Systemd;
use quake_model::ports::PortError;
use std::collections::BTreeMap;
use std::path::Path;
use zbus::{OwnedObjectPath, Variant};

/// Where a service's own properties are.
const SERVICE: &str = "org.freedesktop.systemd1.Service";

impl Systemd {
    /// The process that is the main one of a service now; `None` where there is none.
    ///
    /// # Errors
    ///
    /// As those of a look at a unit, when the manager cannot be asked.
    pub async fn main_process(&self, unit: &str) -> Result<Option<u32>, PortError> {
        let path: OwnedObjectPath = self.bus.manage("LoadUnit", &unit).await?;
        Ok(main_process(&self.bus.properties(&path, SERVICE).await?))
    }

    /// The variables that the main process of a service has. Of one that does not run: those of `Environment=`, and over
    /// them those of its files, as systemd.exec(5) orders them.
    ///
    /// # Errors
    ///
    /// As those of a look at a unit, when the manager cannot be asked.
    pub async fn read_environment(
        &self,
        unit: &str,
    ) -> Result<BTreeMap<String, String>, PortError> {
        let path: OwnedObjectPath = self.bus.manage("LoadUnit", &unit).await?;
        let service = self.bus.properties(&path, SERVICE).await?;
        let running =
            main_process(&service).and_then(|id| std::fs::read(format!("/proc/{id}/environ")).ok());
        Ok(match running {
            Some(bytes) => of_process(&bytes),
            None => of_unit(&service),
        })
    }
}

fn main_process(service: &Properties) -> Option<u32> {
    match service.get("MainPID").map(|value| &**value) {
        Some(Variant::U32(id)) if *id > 0 => Some(*id),
        _ => None,
    }
}

/// Variables as the kernel has them: each ends with a zero (proc(5), `environ`).
fn of_process(bytes: &[u8]) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(bytes);
    text.split('\0').filter_map(assigned).collect()
}

fn of_unit(service: &Properties) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    if let Some(Variant::Array(set)) = service.get("Environment").map(|value| &**value) {
        found.extend(set.iter().filter_map(|value| assigned(text_of(value))));
    }
    if let Some(Variant::Array(files)) = service.get("EnvironmentFiles").map(|value| &**value) {
        for file in files.iter() {
            let Variant::Structure(file) = file else {
                continue;
            };
            let path = file.fields().first().map(text_of).unwrap_or_default();
            // One that may be absent is; one that may not keeps the unit from starting, which other checks tell.
            let text = std::fs::read_to_string(Path::new(&path)).unwrap_or_default();
            found.extend(of_file(&text));
        }
    }
    found
}

/// Variables of an `EnvironmentFile=`: a line each, comments begin with `#` or `;`, values may be quoted.
fn of_file(text: &str) -> impl Iterator<Item = (String, String)> {
    let lines = text.lines().map(str::trim);
    let set = lines.filter(|line| !line.starts_with(['#', ';']));
    set.filter_map(|line| {
        let (name, value) = assigned(line)?;
        let value = value.trim();
        let bare = ['"', '\'']
            .iter()
            .find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
        Some((name.trim().to_owned(), bare.unwrap_or(value).to_owned()))
    })
}

fn assigned(text: impl AsRef<str>) -> Option<(String, String)> {
    let (name, value) = text.as_ref().split_once('=')?;
    (!name.is_empty()).then(|| (name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processes_variables_end_with_zeros_and_a_files_are_lines() {
        let process = of_process(b"A=1\0B=x=y\0=C\0D\0");
        let wanted = [("A", "1"), ("B", "x=y")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(process, wanted.clone().into());
        let file = "# A=2\n; A=3\n\n A = \"1\"\nB='x=y'\nnothing\n";
        assert_eq!(of_file(file).collect::<BTreeMap<_, _>>(), wanted.into());
    }

    #[test]
    fn files_win_over_what_the_unit_sets_itself() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = folder.path().join("default");
        std::fs::write(&path, "A=of-the-file\n").expect("the directory is ours");
        let files = vec![
            (path.display().to_string(), true),
            ("/none".to_owned(), true),
        ];
        let own = |value: Variant<'static>| value.try_to_owned().expect("a value");
        let service = Properties::from([
            ("MainPID".to_owned(), own(Variant::new(0_u32))),
            (
                "Environment".to_owned(),
                own(Variant::new(vec!["A=of-the-unit", "B=1"])),
            ),
            ("EnvironmentFiles".to_owned(), own(Variant::new(files))),
        ]);
        assert_eq!(main_process(&service), None);
        let found = of_unit(&service);
        assert_eq!(found["A"], "of-the-file");
        assert_eq!(found["B"], "1");
    }
}
