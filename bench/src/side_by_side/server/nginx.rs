//! The one nginx: started from a configuration of the bench's own, ended with it.

use super::Profile;
use super::ca::Ca;
use super::log::{self, FORMAT, Traffic};
use crate::failure::{BenchError, capture, find_program};
use crate::waiting::wait_until;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long nginx may take to listen, or to write a line.
const PATIENCE: Duration = Duration::from_secs(5);

/// A running nginx.
#[derive(Debug)]
pub(crate) struct Nginx {
    child: Child,
    log: PathBuf,
    ports: Ports,
    /// What it is, such as `nginx/1.22.1`.
    pub(crate) version: String,
}

#[derive(Debug, Clone, Copy)]
struct Ports {
    /// https without a limit.
    fast: u16,
    /// https with a limit on each connection.
    limited: u16,
    /// http, for the marks in the log.
    marks: u16,
}

impl Nginx {
    /// Starts nginx over the files below `served`; its own files go to `folder`.
    ///
    /// # Errors
    ///
    /// Fails when nginx is missing, or does not listen.
    pub(crate) fn start(folder: &Path, served: &Path, ca: &Ca) -> Result<Self, BenchError> {
        let program = find_program("nginx").ok_or(BenchError::Missing {
            tool: "nginx",
            package: "nginx-light",
        })?;
        std::fs::create_dir_all(folder).map_err(BenchError::path(folder))?;
        let ports = free_ports().map_err(BenchError::path("127.0.0.1"))?;
        let configuration = folder.join("nginx.conf");
        let text = configure(folder, served, ca, ports);
        std::fs::write(&configuration, text).map_err(BenchError::path(&configuration))?;
        let log = folder.join("access.log");
        std::fs::write(&log, "").map_err(BenchError::path(&log))?;
        let version = version_of(&program);
        let mut command = pinned(&program);
        command.arg("-p").arg(folder).arg("-c").arg(&configuration);
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|source| BenchError::Start {
                command: "nginx".to_owned(),
                source,
            })?;
        let started = Self {
            child,
            log,
            ports,
            version,
        };
        let listens = || TcpStream::connect((Ipv4Addr::LOCALHOST, ports.marks)).is_ok();
        if wait_until(PATIENCE, listens) {
            return Ok(started);
        }
        let errors = std::fs::read_to_string(folder.join("error.log")).unwrap_or_default();
        Err(BenchError::Unfit(format!(
            "nginx does not listen: {errors}"
        )))
    }

    /// The port of a profile.
    pub(crate) fn port(&self, profile: Profile) -> u16 {
        match profile {
            Profile::Loop | Profile::Rtt | Profile::Flaky => self.ports.fast,
            Profile::Ec2 => self.ports.limited,
        }
    }

    /// The end of the log, to count from.
    pub(crate) fn log_end(&self) -> u64 {
        std::fs::metadata(&self.log).map_or(0, |metadata| metadata.len())
    }

    /// What was asked on a profile's port since `start`.
    ///
    /// nginx writes a line when an answer ends. A mark, asked for now, shows how far the log has come; each
    /// worker has its own pace, so the mark is asked for twice.
    ///
    /// # Errors
    ///
    /// Fails when the mark never shows.
    pub(crate) fn traffic_since(
        &self,
        start: u64,
        profile: Profile,
    ) -> Result<Traffic, BenchError> {
        for _ in 0..2 {
            self.mark(start)?;
        }
        let text = self.log_since(start).map_err(BenchError::path(&self.log))?;
        Ok(log::sum(&text, self.port(profile)))
    }

    fn mark(&self, start: u64) -> Result<(), BenchError> {
        let end = self.log_end();
        let name = format!("/mark-{start}-{end}");
        let ask = || -> std::io::Result<()> {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.ports.marks))?;
            stream.set_read_timeout(Some(PATIENCE))?;
            write!(stream, "GET {name} HTTP/1.0\r\n\r\n")?;
            stream.read_to_end(&mut Vec::new()).map(|_| ())
        };
        ask().map_err(BenchError::path("127.0.0.1"))?;
        let shows = || {
            self.log_since(end)
                .is_ok_and(|text| text.lines().any(|line| line.ends_with(&name)))
        };
        if wait_until(PATIENCE, shows) {
            return Ok(());
        }
        Err(BenchError::Unfit("nginx's log lags behind".to_owned()))
    }

    fn log_since(&self, start: u64) -> std::io::Result<String> {
        let file = std::fs::File::open(&self.log)?;
        let size = usize::try_from(file.metadata()?.len().saturating_sub(start)).unwrap_or(0);
        let mut bytes = vec![0; size];
        file.read_exact_at(&mut bytes, start)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The processor time that nginx has used so far, in seconds.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        let own = self.child.id();
        let listed = std::fs::read_to_string(format!("/proc/{own}/task/{own}/children"));
        let workers = listed.unwrap_or_default();
        workers
            .split_whitespace()
            .filter_map(|pid| std::fs::read_to_string(format!("/proc/{pid}/stat")).ok())
            .filter_map(|stat| ticks(&stat))
            .sum::<f64>()
            / TICKS
    }
}

/// Clock ticks a second in /proc; 100 on every Linux architecture that EC2 has (proc(5), `USER_HZ`).
const TICKS: f64 = 100.0;

/// User and system ticks of `/proc/PID/stat`, whose second field may hold spaces.
fn ticks(stat: &str) -> Option<f64> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let user: f64 = fields.get(11)?.parse().ok()?;
    let system: f64 = fields.get(12)?.parse().ok()?;
    Some(user + system)
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = kill(
            Pid::from_raw(self.child.id().cast_signed()),
            Signal::SIGTERM,
        );
        let _ = self.child.wait();
    }
}

/// nginx ends with the harness, even one that is killed, and leaves the first two processors to the subjects
/// where there are more.
fn pinned(program: &Path) -> Command {
    let count = std::thread::available_parallelism().map_or(1, usize::from);
    let mut words: Vec<OsString> = Vec::new();
    if find_program("setpriv").is_some() {
        words.extend(["setpriv", "--pdeathsig", "TERM"].map(OsString::from));
    }
    if count > 2 && find_program("taskset").is_some() {
        words.extend([
            "taskset".into(),
            "-c".into(),
            format!("2-{}", count - 1).into(),
        ]);
    }
    words.push(program.into());
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

fn version_of(program: &Path) -> String {
    let mut command = Command::new("sh");
    command.args(["-c", "\"$0\" -v 2>&1"]).arg(program);
    let said = capture(&mut command).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    said.trim()
        .rsplit(' ')
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// Three ports that were free a moment ago.
fn free_ports() -> std::io::Result<Ports> {
    let held = [(); 3].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
    let mut ports = [0; 3];
    for (port, listener) in ports.iter_mut().zip(held) {
        *port = listener?.local_addr()?.port();
    }
    let [fast, limited, marks] = ports;
    Ok(Ports {
        fast,
        limited,
        marks,
    })
}

fn configure(folder: &Path, served: &Path, ca: &Ca, ports: Ports) -> String {
    let user = if Uid::effective().is_root() {
        "user root;\n"
    } else {
        ""
    };
    let (folder, served) = (folder.display(), served.display());
    let (certificate, key) = (ca.server_certificate.display(), ca.server_key.display());
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("  {kind}_temp_path {folder}/{kind};\n"))
        .concat();
    let Ports {
        fast,
        limited,
        marks,
    } = ports;
    format!(
        "{user}daemon off;\nworker_processes auto;\npid {folder}/nginx.pid;\n\
         error_log {folder}/error.log warn;\nevents {{ worker_connections 4096; }}\nhttp {{\n\
         {temporary}  log_format bench '{FORMAT}';\n  access_log {folder}/access.log bench;\n\
         \x20 default_type application/octet-stream;\n  sendfile on;\n  tcp_nopush on;\n\
         \x20 keepalive_requests 100000;\n  open_file_cache max=1000;\n  root {served};\n\
         \x20 ssl_certificate {certificate};\n  ssl_certificate_key {key};\n\
         \x20 ssl_protocols TLSv1.3;\n  ssl_session_cache shared:bench:10m;\n\
         \x20 server {{ listen 127.0.0.1:{fast} ssl; }}\n\
         \x20 server {{ listen 127.0.0.1:{limited} ssl; limit_rate 60m; }}\n\
         \x20 server {{ listen 127.0.0.1:{marks}; location / {{ return 204; }} }}\n}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_found_behind_a_name_with_spaces() {
        let stat = "12 (nginx: worker) S 1 1 1 0 -1 4194624 1 0 0 0 150 50 0 0 20 0 1 0";
        assert_eq!(ticks(stat), Some(200.0));
    }
}
