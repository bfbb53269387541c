//! The arguments of `user-data`.

use super::OutputFormat;
use clap::{Args, Subcommand, ValueEnum};
use quake_model::digest::{Algorithm, Digest};
use quake_node::user_data::render::Form;
use std::path::PathBuf;

/// What is shown below the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  quake-agent user-data render --state-store s3://state --cluster c.example.com --instance-group nodes \\
      --binary-url 's3://releases/quake-agent-{arch}' --sha256 amd64=HEX --sha256 arm64=HEX
  quake-agent user-data render --kube-env old-user-data.txt --format mime --gzip --out user-data.gz \\
      --binary-url https://mirror.example.com/quake-agent --sha256 HEX
  aws ec2 describe-instance-attribute --instance-id I --attribute userData \\
      --query UserData.Value --output text | base64 -d | quake-agent user-data explain -

docs: cloud-init/README.md";

#[derive(Debug, Clone, Args)]
pub(crate) struct UserDataArguments {
    #[command(subcommand)]
    pub(crate) verb: UserDataVerb,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum UserDataVerb {
    /// Render user data with the agent and the node's configuration
    #[command(after_help = EXAMPLES)]
    Render(Box<RenderArguments>),
    /// Explain user data: its form, what it delivers, what the agent would read, and errors
    #[command(after_help = EXAMPLES)]
    Explain(ExplainUserDataArguments),
}

/// A form of user data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum FormArgument {
    /// A shell script
    #[default]
    Script,
    /// A MIME message with the script as a part
    Mime,
    /// A cloud-config that writes the script and runs it
    CloudConfig,
}

impl From<FormArgument> for Form {
    fn from(form: FormArgument) -> Self {
        match form {
            FormArgument::Script => Self::Script,
            FormArgument::Mime => Self::Mime,
            FormArgument::CloudConfig => Self::CloudConfig,
        }
    }
}

/// The architecture of a digest, and the digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PinnedBinary {
    /// `amd64` or `arm64`; `None` for both.
    pub(crate) arch: Option<&'static str>,
    pub(crate) digest: Digest,
}

fn pinned_binary(text: &str) -> Result<PinnedBinary, String> {
    let (arch, hex) = match text.split_once('=') {
        None => (None, text),
        Some(("amd64", hex)) => (Some("amd64"), hex),
        Some(("arm64", hex)) => (Some("arm64"), hex),
        Some((arch, _)) => return Err(format!("{arch:?} is neither amd64 nor arm64")),
    };
    let hex = hex.strip_prefix("sha256:").unwrap_or(hex);
    let digest = Digest::new(Algorithm::Sha256, hex).map_err(|error| error.to_string())?;
    Ok(PinnedBinary { arch, digest })
}

#[derive(Debug, Clone, Args)]
pub(crate) struct RenderArguments {
    /// The state store, as the instance reaches it: s3://bucket[/cluster] or file:///path; since kops 1.32 also a directory
    #[arg(long, value_name = "STORE", required_unless_present = "kube_env")]
    pub(crate) state_store: Option<String>,
    /// The cluster, if the state store has several
    #[arg(long, value_name = "NAME", requires = "state_store")]
    pub(crate) cluster: Option<String>,
    /// The instance group of the instances
    #[arg(long, value_name = "NAME", required_unless_present = "kube_env")]
    pub(crate) instance_group: Option<String>,
    /// A kube_env.yaml or kops' user data; of kops 1.8 to 1.15 only this has the digests of assets
    #[arg(long, value_name = "FILE")]
    pub(crate) kube_env: Option<PathBuf>,
    /// The agent's binary: s3://bucket/key or a URL, with {arch} for amd64 or arm64; may be repeated, and is tried in turn
    #[arg(long, value_name = "URL", required = true)]
    pub(crate) binary_url: Vec<String>,
    /// The binary's SHA-256, for one architecture (amd64=HEX) or for all; may be repeated
    #[arg(long, value_name = "[ARCH=]HEX", value_parser = pinned_binary, required = true)]
    pub(crate) sha256: Vec<PinnedBinary>,
    /// The region of the binary's bucket [default: the instance's region]
    #[arg(long, value_name = "REGION")]
    pub(crate) binary_region: Option<String>,
    /// The form
    #[arg(long, value_enum, default_value_t, value_name = "FORM")]
    pub(crate) format: FormArgument,
    /// Compress it with gzip; cloud-init and the agent decompress it
    #[arg(long)]
    pub(crate) gzip: bool,
    /// The file to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ExplainUserDataArguments {
    /// The user data; - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The output format
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) output: OutputFormat,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_for_one_architecture_or_for_each() {
        let hex = "a".repeat(64);
        let arch = |text: &str| pinned_binary(text).map(|pinned| pinned.arch);
        assert_eq!(arch(&hex), Ok(None));
        assert_eq!(arch(&format!("sha256:{hex}")), Ok(None));
        assert_eq!(arch(&format!("arm64={hex}")), Ok(Some("arm64")));
        assert!(arch(&format!("riscv64={hex}")).is_err());
        assert!(arch(&hex[1..]).is_err());
    }
}
