//! Who serves the assets: one nginx with several faces, and a server that misbehaves on purpose.

pub(crate) mod ca;
pub(crate) mod flaky;
pub(crate) mod log;
pub(crate) mod nginx;

/// How the server behaves.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub(crate) enum Profile {
    /// As fast as it can.
    Loop,
    /// Each connection is held to 60 MB/s.
    Ec2,
    /// Every packet takes 10 ms each way.
    Rtt,
    /// Every seventh request goes wrong.
    Flaky,
}

impl Profile {
    /// Its name on the command line and in the report.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Loop => "loop",
            Self::Ec2 => "ec2",
            Self::Rtt => "rtt",
            Self::Flaky => "flaky",
        }
    }

    /// The profile of this name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        [Self::Loop, Self::Ec2, Self::Rtt, Self::Flaky]
            .into_iter()
            .find(|profile| profile.name() == name)
    }

    /// What it stands for, in the report's words.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Loop => "nginx on loopback, https (TLS 1.3, ECDSA P-256), unlimited",
            Self::Ec2 => "the same, each connection held to 60 MB/s (`limit_rate 60m`)",
            Self::Rtt => "the same, every packet 10 ms late in each direction (netem)",
            Self::Flaky => {
                "plain http; every 7th request is reset, refused with 503, cut at half, or answered with wrong bytes, in turn"
            }
        }
    }
}
