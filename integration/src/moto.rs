//! An S3 and EC2 server of others: moto, in a virtual environment of its own, ended with its value.

use crate::agent::{Running, clean};
use crate::http::{Answer, Endpoint, send};
use crate::machine::program;
use crate::skip::SetUpError;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// What is installed; the version that these tests were written against.
const PACKAGE: &str = "moto[server,ec2,s3]==5.2.5";

/// What pip says of a package of which its index shows no version at all: the index cannot be reached.
const NO_INDEX: &str = "(from versions: none)";

/// One installation at a time; it is kept for later runs.
static INSTALLING: Mutex<()> = Mutex::new(());

/// A running server.
#[derive(Debug)]
pub struct Moto {
    address: SocketAddr,
    _running: Running,
}

/// A bucket's encryption as S3 sets it.
const ENCRYPTED: &str = "<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>AES256</SSEAlgorithm></ApplyServerSideEncryptionByDefault></Rule></ServerSideEncryptionConfiguration>";

impl Moto {
    /// Installs moto if it is not there yet, and starts it on a free port of loopback.
    ///
    /// # Errors
    ///
    /// Says what is missing here, which is Python with venv, or a package index where moto is not installed yet; or why it
    /// cannot be installed or does not start.
    pub fn start() -> Result<Self, SetUpError> {
        let program = installed()?;
        // A killed test run leaves no server behind.
        let mut command = Command::new("setpriv");
        clean(&mut command);
        command.args(["--pdeathsig", "KILL"]).arg(program);
        command.args(["-H", "127.0.0.1", "-p", "0"]);
        let mut running = Running::start(command);
        let address = running.wait_for_error("Running on http://");
        let address = address.map_err(|said| format!("moto does not start: {said}"))?;
        let address = address
            .trim()
            .parse()
            .map_err(|error| format!("moto listens at {address:?}: {error}"))?;
        Ok(Self {
            address,
            _running: running,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Puts an object that anyone may read; its bucket, which only the account may list, is made on the way.
    ///
    /// # Errors
    ///
    /// Returns the error of the connection, or the answer when it is a refusal.
    pub fn put_object(&self, bucket: &str, key: &str, bytes: &[u8]) -> io::Result<()> {
        let headers = [
            ("authorization", authorization("s3")),
            ("x-amz-acl", "public-read".to_owned()),
        ];
        let headers = headers
            .each_ref()
            .map(|(name, value)| (*name, value.as_str()));
        let made = self.send("PUT", &format!("/{bucket}"), &headers[..1], b"")?;
        accepted(&made)?;
        // S3 does so by itself with every bucket since 2023.
        let encryption = format!("/{bucket}?encryption");
        let set = self.send("PUT", &encryption, &headers[..1], ENCRYPTED.as_bytes())?;
        accepted(&set)?;
        accepted(&self.send("PUT", &format!("/{bucket}/{key}"), &headers, bytes)?)
    }

    /// Puts every file below a directory, each under its path in that directory behind `key`.
    ///
    /// # Errors
    ///
    /// As [`Moto::put_object`], or that of reading a file.
    pub fn put_folder(&self, bucket: &str, key: &str, folder: &Path) -> io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let key = format!("{key}/{}", entry.file_name().to_string_lossy());
            match entry.file_type()?.is_dir() {
                true => self.put_folder(bucket, &key, &entry.path())?,
                false => self.put_object(bucket, &key, &std::fs::read(entry.path())?)?,
            }
        }
        Ok(())
    }

    /// Calls an action of EC2 with its parameters; the answer's XML.
    ///
    /// # Errors
    ///
    /// As [`Moto::put_object`].
    pub fn call_ec2(&self, action: &str, parameters: &[(&str, &str)]) -> io::Result<String> {
        self.call(("ec2", "2016-11-15"), action, parameters)
    }

    /// Calls the Auto Scaling API for a test; the answer's XML.
    ///
    /// # Errors
    ///
    /// As [`Moto::put_object`].
    pub fn call_autoscaling(
        &self,
        action: &str,
        parameters: &[(&str, &str)],
    ) -> io::Result<String> {
        self.call(("autoscaling", "2011-01-01"), action, parameters)
    }

    /// Calls a service that has paths, as Route 53, for a test; the answer's text.
    ///
    /// # Errors
    ///
    /// As [`Moto::put_object`].
    pub fn call_rest(
        &self,
        service: &str,
        method: &str,
        path: &str,
        body: &str,
    ) -> io::Result<String> {
        let authorization = authorization(service);
        let headers = [
            ("authorization", authorization.as_str()),
            ("content-type", "application/xml"),
        ];
        let answer = self.send(method, path, &headers, body.as_bytes())?;
        accepted(&answer)?;
        Ok(answer.text())
    }

    fn call(
        &self,
        (service, version): (&str, &str),
        action: &str,
        parameters: &[(&str, &str)],
    ) -> io::Result<String> {
        let pairs = parameters
            .iter()
            .map(|(name, value)| format!("&{name}={}", encoded(value)));
        let body = format!(
            "Action={action}&Version={version}{}",
            pairs.collect::<String>()
        );
        let authorization = authorization(service);
        let headers = [
            ("authorization", authorization.as_str()),
            ("content-type", "application/x-www-form-urlencoded"),
        ];
        let answer = self.send("POST", "/", &headers, body.as_bytes())?;
        accepted(&answer)?;
        Ok(answer.text())
    }

    /// Launches an instance with these tags; its id.
    ///
    /// # Errors
    ///
    /// As [`Moto::put_object`].
    pub fn run_instance(&self, tags: &[(&str, &str)]) -> io::Result<String> {
        self.run_instance_at(tags, None)
    }

    /// The same at this private address, where there is one.
    ///
    /// # Errors
    ///
    /// As [`Moto::put_object`].
    pub fn run_instance_at(
        &self,
        tags: &[(&str, &str)],
        address: Option<&str>,
    ) -> io::Result<String> {
        let mut parameters = vec![
            ("ImageId".to_owned(), "ami-12c6146b"),
            ("InstanceType".to_owned(), "m5.large"),
            ("MinCount".to_owned(), "1"),
            ("MaxCount".to_owned(), "1"),
            ("Placement.AvailabilityZone".to_owned(), "us-east-1a"),
            ("TagSpecification.1.ResourceType".to_owned(), "instance"),
        ];
        parameters.extend(address.map(|address| ("PrivateIpAddress".to_owned(), address)));
        for (index, (name, value)) in tags.iter().enumerate() {
            let number = index + 1;
            parameters.push((format!("TagSpecification.1.Tag.{number}.Key"), name));
            parameters.push((format!("TagSpecification.1.Tag.{number}.Value"), value));
        }
        let parameters: Vec<_> = parameters
            .iter()
            .map(|(name, value)| (name.as_str(), *value))
            .collect();
        let answer = self.call_ec2("RunInstances", &parameters)?;
        let id = answer
            .split("<instanceId>")
            .nth(1)
            .and_then(|rest| rest.split('<').next());
        id.map(str::to_owned)
            .ok_or_else(|| io::Error::other(answer.clone()))
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> io::Result<Answer> {
        send(&Endpoint::Tcp(self.address), method, path, headers, body)
    }
}

/// moto reads only the scope of a signature, to know which service is meant.
fn authorization(service: &str) -> String {
    format!(
        "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/{service}/aws4_request, SignedHeaders=host, Signature=0"
    )
}

fn accepted(answer: &Answer) -> io::Result<()> {
    match answer.status {
        200..=299 => Ok(()),
        status => Err(io::Error::other(format!(
            "moto answered {status}: {}",
            answer.text()
        ))),
    }
}

fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let one = |byte: u8| {
        if plain(byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    text.bytes().map(one).collect()
}

/// The server's program, installed where it is kept from run to run.
fn installed() -> Result<PathBuf, SetUpError> {
    let _one_at_a_time = INSTALLING.lock();
    let folder = match std::env::var_os("HOME") {
        Some(home) => PathBuf::from(home).join(".cache/quake-agent-venv"),
        None => std::env::temp_dir().join("quake-agent-venv"),
    };
    let server = folder.join("bin/moto_server");
    if server.is_file() {
        return Ok(server);
    }
    if program("python3").is_none() || run("python3", &["-c", "import ensurepip, venv"]).is_err() {
        let what = "missing here: python3 with venv, to install moto";
        return Err(SetUpError::Missing(what.to_owned()));
    }
    run("python3", &["-m", "venv", &folder.to_string_lossy()])?;
    let pip = folder.join("bin/pip");
    let installed = run(
        &pip.to_string_lossy(),
        &["install", "--quiet", "--disable-pip-version-check", PACKAGE],
    );
    match installed {
        Ok(()) => Ok(server),
        Err(said) if said.contains(NO_INDEX) => Err(SetUpError::Missing(said)),
        Err(said) => Err(SetUpError::Failed(said)),
    }
}

/// Runs a step of the installation, which has to succeed.
fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output();
    let output = output.map_err(|error| format!("{program} cannot be run: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let reported = String::from_utf8_lossy(&output.stderr);
    let last: Vec<&str> = reported.lines().rev().take(3).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    Err(format!(
        "moto cannot be installed: {program} {}: {}",
        arguments.join(" "),
        last.join(" / ")
    ))
}
