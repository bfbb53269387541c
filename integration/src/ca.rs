//! A certificate CA run by openssl: what it signs and what it believes is not of the agent's making.

use crate::machine::program;
use crate::skip::SetUpError;
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use tempfile::TempDir;

/// A CA, and a directory for what it is asked.
#[derive(Debug)]
pub struct Ca {
    certificate: PathBuf,
    key: PathBuf,
    folder: TempDir,
}

/// What is to be in a certificate.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Its subject, as openssl takes it: `/O=system:nodes/CN=system:node:i-0a`.
    pub subject: String,
    /// `clientAuth` or `serverAuth`.
    pub usage: &'static str,
    /// Names and addresses, as openssl takes them: `DNS:i-0a`, `IP:10.0.0.1`.
    pub names: Vec<String>,
}

/// Whom a server listens to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Callers {
    Anybody,
    /// Those alone whom its own CA certified.
    Certified,
}

impl Ca {
    /// The one whose certificate and key are `crt` and `key` in this directory.
    ///
    /// # Errors
    ///
    /// Says that openssl is missing here, or what failed.
    pub fn open(folder: &Path) -> Result<Self, SetUpError> {
        if program("openssl").is_none() {
            return Err(SetUpError::Missing("missing here: openssl".to_owned()));
        }
        let own = tempfile::tempdir().map_err(|error| error.to_string())?;
        Ok(Self {
            certificate: folder.join("crt"),
            key: folder.join("key"),
            folder: own,
        })
    }

    /// A new one of the name that every cluster's has.
    ///
    /// # Errors
    ///
    /// As [`Ca::open`].
    pub fn new() -> Result<Self, SetUpError> {
        let made = Self::open(Path::new(""))?;
        let (certificate, key) = (
            made.folder.path().join("crt"),
            made.folder.path().join("key"),
        );
        openssl(&[
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-subj",
            "/CN=kubernetes-ca",
            "-days",
            "730",
            "-keyout",
            plain(&key),
            "-out",
            plain(&certificate),
        ])?;
        Ok(Self {
            certificate,
            key,
            ..made
        })
    }

    /// Its certificate, PEM.
    ///
    /// # Errors
    ///
    /// Returns the error of the file.
    pub fn certificate(&self) -> Result<String, String> {
        let read = std::fs::read_to_string(&self.certificate);
        read.map_err(|error| error.to_string())
    }

    /// Its key, PEM.
    ///
    /// # Errors
    ///
    /// Returns the error of the file.
    pub fn key(&self) -> Result<String, String> {
        std::fs::read_to_string(&self.key).map_err(|error| error.to_string())
    }

    /// Signs a certificate for a public key, PEM.
    ///
    /// # Errors
    ///
    /// What openssl says.
    pub fn issue(&self, wanted: &Wanted, public: &str) -> Result<String, String> {
        let files = tempfile::tempdir_in(&self.folder).map_err(|error| error.to_string())?;
        let file = |name: &str| files.path().join(name);
        let mut extensions = format!(
            "basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage={}\n",
            wanted.usage
        );
        if !wanted.names.is_empty() {
            extensions.push_str(&format!("subjectAltName={}\n", wanted.names.join(",")));
        }
        for (name, text) in [("public", public), ("extensions", &extensions)] {
            std::fs::write(file(name), text).map_err(|error| error.to_string())?;
        }
        let (public, extensions, out) = (file("public"), file("extensions"), file("out"));
        openssl(&[
            "x509",
            "-new",
            "-force_pubkey",
            plain(&public),
            "-subj",
            &wanted.subject,
            "-CA",
            plain(&self.certificate),
            "-CAkey",
            plain(&self.key),
            "-days",
            "455",
            "-extfile",
            plain(&extensions),
            "-out",
            plain(&out),
        ])?;
        std::fs::read_to_string(out).map_err(|error| error.to_string())
    }

    /// What a server speaks TLS by: with a key of its own, and a certificate of these names, as openssl takes them.
    ///
    /// # Errors
    ///
    /// What openssl says.
    pub fn serve(
        &self,
        names: &[&str],
        callers: Callers,
    ) -> Result<Arc<rustls::ServerConfig>, String> {
        let (certificate, key) = self.server_pair("server", names)?;
        let key =
            PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|error| error.to_string())?;
        let begun = rustls::ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let config = match callers {
            Callers::Anybody => begun.with_no_client_auth(),
            Callers::Certified => begun.with_client_cert_verifier(self.judge_of_clients()?),
        };
        let config = config.with_single_cert(vec![read(&certificate)?], key);
        config.map(Arc::new).map_err(|error| error.to_string())
    }

    /// What a client speaks TLS by that shows this certificate, PEM, and believes those of this CA alone.
    ///
    /// # Errors
    ///
    /// Says what is wrong with either.
    pub fn introduce(
        &self,
        certificate: &str,
        key: &str,
    ) -> Result<Arc<rustls::ClientConfig>, String> {
        let key =
            PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|error| error.to_string())?;
        let config = rustls::ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(self.roots()?)
            .with_client_auth_cert(vec![read(certificate)?], key);
        config.map(Arc::new).map_err(|error| error.to_string())
    }

    /// A key, and a certificate for it; both PEM, the certificate first.
    ///
    /// # Errors
    ///
    /// What openssl says.
    pub fn pair(&self, wanted: &Wanted) -> Result<(String, String), String> {
        self.pair_of(wanted, "EC", "ec_paramgen_curve:P-256")
    }

    /// The same with an RSA key, as kops makes them: kube-apiserver reads public keys of service accounts from no other key
    /// in PKCS #8.
    ///
    /// # Errors
    ///
    /// What openssl says.
    pub fn rsa_pair(&self, wanted: &Wanted) -> Result<(String, String), String> {
        self.pair_of(wanted, "RSA", "rsa_keygen_bits:2048")
    }

    fn pair_of(
        &self,
        wanted: &Wanted,
        algorithm: &str,
        option: &str,
    ) -> Result<(String, String), String> {
        let key = openssl(&["genpkey", "-algorithm", algorithm, "-pkeyopt", option])?;
        let files = tempfile::tempdir_in(&self.folder).map_err(|error| error.to_string())?;
        let kept = files.path().join("key");
        std::fs::write(&kept, &key).map_err(|error| error.to_string())?;
        let public = openssl(&["pkey", "-in", plain(&kept), "-pubout"])?;
        Ok((self.issue(wanted, &public)?, key))
    }

    /// The pair of a server of these names, each as `DNS:…` or `IP:…`.
    ///
    /// # Errors
    ///
    /// What openssl says.
    pub fn server_pair(
        &self,
        common_name: &str,
        names: &[&str],
    ) -> Result<(String, String), String> {
        self.pair(&Wanted {
            subject: format!("/CN={common_name}"),
            usage: "serverAuth",
            names: names.iter().map(|name| (*name).to_owned()).collect(),
        })
    }

    /// The pair of a client with this subject, such as `/O=system:masters/CN=kubecfg`.
    ///
    /// # Errors
    ///
    /// What openssl says.
    pub fn client_pair(&self, subject: &str) -> Result<(String, String), String> {
        self.pair(&Wanted {
            subject: subject.to_owned(),
            usage: "clientAuth",
            names: Vec::new(),
        })
    }

    /// One that is known by its certificate, PEM, and can only judge.
    ///
    /// # Errors
    ///
    /// As [`Ca::open`].
    pub fn known(certificate: &str) -> Result<Self, SetUpError> {
        let made = Self::open(Path::new(""))?;
        let file = made.folder.path().join("crt");
        std::fs::write(&file, certificate).map_err(|error| error.to_string())?;
        Ok(Self {
            certificate: file,
            ..made
        })
    }

    /// Whether a strict client believes a server with this certificate to be `name`: by the names and the usage in it alone, and
    /// never by its subject.
    ///
    /// # Errors
    ///
    /// Says why not.
    pub fn accepts_server(&self, certificate: &str, name: &str) -> Result<(), String> {
        let judge = WebPkiServerVerifier::builder_with_provider(self.roots()?, provider())
            .build()
            .map_err(|error| error.to_string())?;
        let name = ServerName::try_from(name.to_owned()).map_err(|error| error.to_string())?;
        let judged =
            judge.verify_server_cert(&read(certificate)?, &[], &name, &[], UnixTime::now());
        judged.map(drop).map_err(|error| error.to_string())
    }

    /// Whether a strict server believes a client with this certificate.
    ///
    /// # Errors
    ///
    /// Says why not.
    pub fn accepts_client(&self, certificate: &str) -> Result<(), String> {
        let judge = self.judge_of_clients()?;
        let judged = judge.verify_client_cert(&read(certificate)?, &[], UnixTime::now());
        judged.map(drop).map_err(|error| error.to_string())
    }

    fn judge_of_clients(&self) -> Result<Arc<dyn ClientCertVerifier>, String> {
        let judge = WebPkiClientVerifier::builder_with_provider(self.roots()?, provider());
        judge.build().map_err(|error| error.to_string())
    }

    fn roots(&self) -> Result<Arc<RootCertStore>, String> {
        let mut roots = RootCertStore::empty();
        let added = roots.add(read(&self.certificate()?)?);
        added.map_err(|error| error.to_string())?;
        Ok(Arc::new(roots))
    }

    /// Whether openssl takes this certificate for one of this CA's, for this purpose, such as `sslclient`; what it says
    /// where it does not.
    ///
    /// # Errors
    ///
    /// What openssl says.
    pub fn verify(&self, certificate: &str, more: &[&str]) -> Result<(), String> {
        let files = tempfile::tempdir_in(&self.folder).map_err(|error| error.to_string())?;
        let file = files.path().join("certificate");
        std::fs::write(&file, certificate).map_err(|error| error.to_string())?;
        let mut arguments = vec!["verify", "-CAfile", plain(&self.certificate)];
        arguments.extend(more);
        arguments.push(plain(&file));
        openssl(&arguments).map(drop)
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

/// The first certificate of a PEM text.
fn read(pem: &str) -> Result<CertificateDer<'static>, String> {
    CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|error| error.to_string())
}

/// The public key of a certificate, and of the private key beside it: equal where they are a pair.
///
/// # Errors
///
/// What openssl says.
pub fn public_keys(pem: &str) -> Result<(String, String), String> {
    let file = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    std::fs::write(file.path(), pem).map_err(|error| error.to_string())?;
    let path = plain(file.path());
    let of_certificate = openssl(&["x509", "-in", path, "-noout", "-pubkey"])?;
    Ok((of_certificate, openssl(&["pkey", "-in", path, "-pubout"])?))
}

fn plain(path: &Path) -> &str {
    path.to_str()
        .expect("a temporary directory has a plain name")
}

/// What openssl writes.
fn openssl(arguments: &[&str]) -> Result<String, String> {
    let run = Command::new("openssl")
        .args(arguments)
        .stdin(Stdio::null())
        .output();
    let output = run.map_err(|error| format!("openssl cannot be run: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(format!(
        "openssl {}: {said}",
        arguments.first().unwrap_or(&"")
    ))
}
