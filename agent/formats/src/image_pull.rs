//! Lines of the journal about images that cannot be pulled: what each means and what to do.

use crate::journal::{KnownLine, Reason};

/// What the answers of registries and runtimes mean.
const REASONS: &[KnownLine] = &[
    KnownLine {
        parts: &["ecr:GetAuthorizationToken", "not authorized"],
        means: "the node's role lacks ecr:GetAuthorizationToken",
        fix: "allow ecr:GetAuthorizationToken on \"*\" to the node's role, and ecr:BatchGetImage and ecr:GetDownloadUrlForLayer on the repository",
    },
    KnownLine {
        parts: &["uthorization token has expired"],
        means: "the registry's token is expired",
        fix: "for ECR: give kubelet its credential provider (--image-credential-provider-config), which asks anew; a token in /root/.docker/config.json or in an imagePullSecret lasts twelve hours; compare the clock: chronyc tracking",
    },
    KnownLine {
        parts: &["credential provider plugin", "executable file not found"],
        means: "kubelet's credential provider is not installed",
        fix: "place ecr-credential-provider in the directory of --image-credential-provider-bin-dir: systemctl restart quake-agent.service",
    },
    // awslabs/amazon-ecr-credential-helper issue 616.
    KnownLine {
        parts: &["error execing credential provider plugin docker-credential-"],
        means: "kubelet's credential provider is a helper of docker, which does not understand what kubelet asks it, so images are pulled without credentials",
        fix: "install kubelet's own plugin, for ECR ecr-credential-provider (kubernetes/cloud-provider-aws), into the directory of --image-credential-provider-bin-dir; put its name in the place of the helper's into the file of --image-credential-provider-config, and take args: [get] out; systemctl restart kubelet.service; kops 1.24 and later do both by themselves",
    },
    KnownLine {
        parts: &["error execing credential provider plugin"],
        means: "kubelet's credential provider fails",
        fix: "the line's end says why; run it by hand: echo '{\"kind\":\"CredentialProviderRequest\",\"apiVersion\":\"credentialprovider.kubelet.k8s.io/v1\",\"image\":\"<image>\"}' | /usr/local/bin/ecr-credential-provider",
    },
    KnownLine {
        parts: &["no such host"],
        means: "the registry's name does not resolve",
        fix: "getent hosts <registry>; quake-agent diagnose --only dns; or a mirror in /etc/containerd/certs.d",
    },
    KnownLine {
        parts: &["toomanyrequests"],
        means: "the registry's limit of pulls is reached",
        fix: "pull with credentials, or by a mirror (an ECR pull-through cache) in /etc/containerd/certs.d",
    },
    KnownLine {
        parts: &["TOOMANYREQUESTS"],
        means: "the registry's limit of pulls is reached",
        fix: "pull with credentials, or by a mirror (an ECR pull-through cache) in /etc/containerd/certs.d",
    },
    KnownLine {
        parts: &["429 Too Many Requests"],
        means: "the registry's limit of pulls is reached",
        fix: "pull with credentials, or by a mirror (an ECR pull-through cache) in /etc/containerd/certs.d",
    },
    KnownLine {
        parts: &["no basic auth credentials"],
        means: "the registry wants credentials, and there are none",
        fix: "for ECR: allow ecr:GetAuthorizationToken, ecr:BatchGetImage and ecr:GetDownloadUrlForLayer to the node's role, and give kubelet its credential provider",
    },
    KnownLine {
        parts: &["401 Unauthorized"],
        means: "the registry does not accept the credentials",
        fix: "fix /root/.docker/config.json or the pod's imagePullSecrets; for ECR: ecr:GetAuthorizationToken to the node's role",
    },
    KnownLine {
        parts: &["403 Forbidden"],
        means: "the registry refuses this image to the node",
        fix: "for ECR: ecr:BatchGetImage and ecr:GetDownloadUrlForLayer to the node's role, and the repository's own policy; for S3 behind ECR: the gateway endpoint's policy",
    },
    KnownLine {
        parts: &["pull access denied"],
        means: "the image does not exist, or wants credentials",
        fix: "check its name; or give credentials: /root/.docker/config.json or the pod's imagePullSecrets",
    },
    KnownLine {
        parts: &["authorization failed"],
        means: "the registry does not accept the credentials",
        fix: "fix /root/.docker/config.json or the pod's imagePullSecrets",
    },
    KnownLine {
        parts: &["manifest unknown"],
        means: "the registry has no such tag",
        fix: "check the tag, and that a mirror has it too",
    },
    KnownLine {
        parts: &["no match for platform in manifest"],
        means: "the image is not made for this processor",
        fix: "use an image of several architectures, or nodes of the image's own",
    },
    KnownLine {
        parts: &["exec format error"],
        means: "the image is for another processor",
        fix: "use an image of several architectures, or nodes of the image's own",
    },
    KnownLine {
        parts: &["x509: negative serial number"],
        means: "the registry's certificate has a negative serial number, which programs built with Go 1.23 and newer refuse",
        fix: "let its CA issue it again with a positive serial number (certificates of the same CA, such as of an OIDC issuer, have the same fault); until then GODEBUG=x509negativeserial=1 in a drop-in of containerd.service and in the environment of kube-apiserver",
    },
    KnownLine {
        parts: &["x509: certificate has expired or is not yet valid"],
        means: "its certificate has expired, or the host's bundle of CAs is so old that a root in it has expired",
        fix: "openssl s_client -connect <registry>:443 </dev/null shows the dates; where other hosts accept it, the bundle is too old (ca-certificates of before 2021 have DST Root CA X3 and lack ISRG Root X1 of Let's Encrypt): apt-get install --only-upgrade ca-certificates (dnf update), update-ca-certificates, then restart the runtime; and use a newer image; a wrong clock says the same",
    },
    KnownLine {
        parts: &["x509:"],
        means: "the registry's certificate is not trusted",
        fix: "give its CA as ca in the registry's hosts.toml, or put it among the system's (update-ca-certificates)",
    },
    KnownLine {
        parts: &["server gave HTTP response to HTTPS client"],
        means: "the registry speaks http",
        fix: "name it with http:// in its hosts.toml",
    },
    KnownLine {
        parts: &["no space left on device"],
        means: "there is no room for it",
        fix: "crictl rmi --prune; or grow the volume",
    },
    KnownLine {
        parts: &["Proxy Authentication Required"],
        means: "the proxy refuses the user and password that the runtime has, or wants some",
        fix: "write the present ones into the proxy's URL (/etc/environment), then: systemctl restart containerd.service",
    },
    KnownLine {
        parts: &["lookup ", ":53: i/o timeout"],
        means: "the registry's name does not resolve: the name server gives no answer",
        fix: "quake-agent diagnose --only dns; getent hosts <registry>",
    },
    KnownLine {
        parts: &["i/o timeout"],
        means: "the registry does not answer",
        fix: "routes, NAT, security groups and the proxy: curl -v https://<registry>/v2/",
    },
    KnownLine {
        parts: &["connection refused"],
        means: "nothing listens at the registry's address",
        fix: "curl -v https://<registry>/v2/; a mirror that is down is taken out of /etc/containerd/certs.d",
    },
    KnownLine {
        parts: &["not found"],
        means: "the registry has no such image",
        fix: "check its name and tag, and that a mirror has it too",
    },
    KnownLine {
        parts: &["image", "ailed"],
        means: "the pull failed",
        fix: "the line says why; crictl pull <image> shows it again",
    },
];

/// Words that a line about a pull that failed has.
const PULLS: &[&str] = &[
    "ErrImagePull",
    "ImagePullBackOff",
    "Failed to pull image",
    "failed to pull image",
    "failed to pull and unpack image",
    "credential provider plugin",
    "exec format error",
];

/// Whether a line is about a pull that failed.
pub fn is_pull(line: &str) -> bool {
    // kubelets with docker name the image in between.
    let is_of_service = line.contains("PullImage ") && line.contains("from image service failed");
    is_of_service || PULLS.iter().any(|words| line.contains(words))
}

/// A pull that was refused, by a line of a journal.
pub struct Refused<'a> {
    pub what: String,
    pub means: &'static str,
    pub fix: &'static str,
    pub line: &'a str,
}

/// The latest pull that a journal tells of as refused, among the lines that are about what is asked for.
pub fn pull_refused(journal: &[String], is_of: impl Fn(&str) -> bool) -> Option<Refused<'_>> {
    let mut lines = journal.iter().rev();
    let line = lines.find(|line| is_pull(line) && is_of(line))?;
    let reason = reason(line)?;
    let what = match image_in(line) {
        Some(image) => format!("{image} cannot be pulled"),
        None => "an image cannot be pulled".to_owned(),
    };
    Some(Refused {
        what,
        means: reason.known.means,
        fix: reason.known.fix,
        line: reason.line,
    })
}

/// The known reason for which a pull failed, by its line.
pub fn reason(line: &str) -> Option<Reason<'_>> {
    let fits = |known: &&KnownLine| known.parts.iter().all(|part| line.contains(part));
    let known = REASONS.iter().find(fits)?;
    Some(Reason { known, line })
}

/// The image that a line is about.
pub fn image_in(line: &str) -> Option<&str> {
    let starts = [
        "PullImage \\\"",
        "PullImage \"",
        "image=\"",
        "image \\\\\\\"",
        "image \\\"",
        "image \"",
    ];
    let (_, rest) = starts.iter().find_map(|start| line.split_once(start))?;
    let end = rest.find(|c: char| c == '"' || c == '\\' || c.is_whitespace())?;
    let image = &rest[..end];
    (image.contains(['/', ':']) && !image.is_empty()).then_some(image)
}
