//! A node whose every input carries secrets: its state store, its assets' URLs and mirrors, its environment.

use crate::boots::Shown;
use crate::inputs::body_of_an_error;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quake_integration::agent;
use quake_integration::http::{Reply, Request, Server};
use quake_integration::node::{Mirrored, kube_env, write_state_store};
use quake_integration::planted::{Planted, made_up, private_key};
use quake_integration::store::ledgers;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A node to be, and what is planted in its inputs.
pub(crate) struct Node {
    pub(crate) folder: TempDir,
    pub(crate) planted: Vec<Planted>,
    pub(crate) environment: Vec<(&'static str, String)>,
    mirror: Server,
    /// How long a boot may take: one that fails need not try for long.
    deadline: &'static str,
}

impl Node {
    /// A node that boots.
    pub(crate) fn whole() -> Self {
        let files = Mirrored::programs().expect("this machine has programs");
        let served = files.clone();
        Self::new(&files, "45s", move |request| {
            match served.at(request.path()) {
                Some(bytes) => Reply::new(200, bytes),
                None => Reply::new(404, ""),
            }
        })
    }

    /// A node that boots, and has a file asset of each of these texts.
    pub(crate) fn with_files(listed: &[Planted]) -> Self {
        let node = Self::whole();
        let assets: String = listed
            .iter()
            .enumerate()
            .map(|(number, planted)| {
                // A text in quotes of JSON is one of YAML.
                let content = serde_json::Value::from(planted.text.as_str());
                format!("  - name: listed-{number}\n    path: /etc/listed/{number}.conf\n    content: {content}\n")
            })
            .collect();
        let path = node.store().join("cluster.spec");
        let text = std::fs::read_to_string(&path).expect("the node has it");
        let with_assets = text.replace("  fileAssets:\n", &format!("  fileAssets:\n{assets}"));
        std::fs::write(path, with_assets).expect("the directory is ours");
        node
    }

    /// A node whose mirror answers so.
    pub(crate) fn with_mirror(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let files = Mirrored::programs().expect("this machine has programs");
        Self::new(&files, "2s", answer)
    }

    fn new(
        files: &Mirrored,
        deadline: &'static str,
        answer: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let mirror = Server::start(answer).expect("loopback has a free port");
        let mut node = Self {
            folder: tempfile::tempdir().expect("a temporary directory"),
            planted: vec![body_of_an_error()],
            environment: Vec::new(),
            mirror,
            deadline,
        };
        let base = node.mirror.base();
        node.write(files, &base);
        node
    }

    fn plant(&mut self, name: &str) -> String {
        let secret = made_up(name, 40);
        self.planted.push(Planted::new(name, &secret, &*secret));
        secret
    }

    fn write(&mut self, files: &Mirrored, mirror: &str) {
        write_state_store(&self.store()).expect("the directory is ours");
        let user = self.plant("the password in an asset's URL");
        let signature = self.plant("the signature of an asset's URL");
        let token = self.plant("the session of an asset's URL");
        let base = mirror.replace("http://", &format!("http://admin:{user}@"));
        let query = format!(
            "?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Security-Token={token}&X-Amz-Signature={signature}"
        );
        let pins: Vec<String> = files
            .pins(&base)
            .iter()
            .map(|pin| format!("{pin}{query}"))
            .collect();
        std::fs::write(
            self.store().join("kube_env.yaml"),
            kube_env("control-plane", &pins),
        )
        .expect("the directory is ours");
        self.write_additions();
        self.write_keys();
        self.environment = vec![
            (
                "AWS_ACCESS_KEY_ID",
                self.plant("the key id of the environment"),
            ),
            (
                "AWS_SECRET_ACCESS_KEY",
                self.plant("the key of the environment"),
            ),
            (
                "AWS_SESSION_TOKEN",
                self.plant("the session of the environment"),
            ),
            ("NO_PROXY", "127.0.0.1,localhost".to_owned()),
            (
                "HTTPS_PROXY",
                format!(
                    "http://proxy:{}@127.0.0.1:1",
                    self.plant("the password of a proxy")
                ),
            ),
        ];
    }

    fn write_additions(&mut self) {
        let (hidden, key) = private_key("RSA PRIVATE KEY");
        self.planted
            .push(Planted::new("the private key of a file", &hidden, &*key));
        let key = key.trim_end().replace('\n', "\n      ");
        let additions = format!(
            "  fileAssets:\n  - name: settings\n    path: /etc/settings.conf\n    content: |\n      [api]\n      token = {}\n      password: {}\n      url = https://admin:{}@api.example.com/\n      {key}\n  hooks:\n  - name: variables.service\n    execContainer:\n      image: registry.example/hook:1\n      command: [sh, -c, \"curl -H 'Authorization: Bearer {}' https://example.com\"]\n      environment:\n        API_TOKEN: {}\n  - name: manifest.service\n    manifest: |\n      [Service]\n      Environment=\"DB_PASSWORD={}\"\n      ExecStart=/bin/true --token={}\n",
            self.plant("the token of a file"),
            self.plant("the password of a file"),
            self.plant("the user of a URL in a file"),
            self.plant("the bearer of a hook"),
            self.plant("the variable of a hook"),
            self.plant("the variable of a unit"),
            self.plant("the flag of a unit"),
        );
        let path = self.store().join("cluster.spec");
        let text = std::fs::read_to_string(&path).expect("the example has it");
        std::fs::write(path, format!("{text}{additions}")).expect("the directory is ours");
    }

    fn write_keys(&mut self) {
        for name in ["admin", "kube", "kubelet", "kube-proxy", "system:dns"] {
            let secret = self.plant(&format!("the secret {name}"));
            self.write_object(&format!("secrets/{name}"), &secret_object(&secret));
        }
        let auth = STANDARD.encode(format!("user:{}", made_up("registry", 30)));
        self.planted
            .push(Planted::new("the auth of dockerconfig", &auth, ""));
        let docker = format!("{{\"auths\":{{\"registry.example\":{{\"auth\":\"{auth}\"}}}}}}");
        self.write_object("secrets/dockerconfig", &secret_object(&docker));
        for name in [
            "ca",
            "kubelet",
            "kube-proxy",
            "kube-scheduler",
            "master",
            "kubecfg",
        ] {
            let (hidden, key) = private_key(&format!(
                "{} PRIVATE KEY",
                name.to_uppercase().replace('-', " ")
            ));
            let encoded = STANDARD.encode(&key);
            self.planted
                .push(Planted::new(format!("the private key {name}"), &hidden, ""));
            self.planted.push(Planted::new(
                format!("the private key {name} in base64"),
                &encoded,
                "",
            ));
            let keyset = format!(
                "apiVersion: kops.k8s.io/v1alpha2\nkind: Keyset\nmetadata:\n  name: {name}\nspec:\n  keys:\n  - id: \"1\"\n    privateMaterial: {encoded}\n    publicMaterial: {}\n  type: Keypair\n",
                STANDARD.encode("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"),
            );
            self.write_object(&format!("pki/private/{name}/keyset.yaml"), &keyset);
            self.write_object(&format!("pki/issued/{name}/keyset.yaml"), &keyset);
        }
    }

    fn write_object(&self, path: &str, text: &str) {
        let path = self.store().join(path);
        std::fs::create_dir_all(path.parent().expect("it has a directory"))
            .expect("the directory is ours");
        std::fs::write(path, text).expect("the directory is ours");
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    fn common(&self, command: &str) -> Vec<String> {
        let (store, root) = (self.store(), self.root());
        [
            command,
            plain(&store),
            "--root",
            plain(&root),
            "--assets",
            "fetch",
            "--deadline",
            self.deadline,
            "--denied-grace",
            "100ms",
        ]
        .map(str::to_owned)
        .to_vec()
    }

    /// A boot that ends.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let mut arguments = self.common("rehearse");
        arguments.extend(["--exit-when-ready", "--listen", "off"].map(str::to_owned));
        arguments
    }

    /// A boot that stays and serves.
    pub(crate) fn arguments_to_stay(&self) -> Vec<String> {
        let mut arguments = self.common("rehearse");
        arguments.retain(|word| word != "--deadline" && word != self.deadline);
        arguments.extend(["--listen", "127.0.0.1:0"].map(str::to_owned));
        arguments
    }

    pub(crate) fn plan(&self) -> Shown {
        let ended = agent::run(&self.common("plan"));
        Shown::new("the plan", ended.text())
    }

    pub(crate) fn ledger(&self) -> String {
        let read = |path: &PathBuf| std::fs::read_to_string(path).unwrap_or_default();
        ledgers(&self.root()).iter().map(read).collect()
    }

    pub(crate) fn status_file(&self) -> String {
        let path = self.root().join("run/quake-agent/status.json");
        std::fs::read_to_string(path).unwrap_or_default()
    }

    /// What `check` says of every file of the state store.
    pub(crate) fn checks(&self) -> Vec<Shown> {
        files_below(&self.store())
            .iter()
            .map(|path| {
                let ended = agent::run(&["check", plain(path)]);
                Shown::new(format!("check {}", path.display()), ended.text())
            })
            .collect()
    }

    /// Whether a file of the node has it.
    pub(crate) fn renders(&self, planted: &Planted) -> bool {
        self.has_file(|text| planted.is_seen_in(text))
    }

    /// Whether a file of the node has this text, whole.
    pub(crate) fn renders_text(&self, whole: &str) -> bool {
        self.has_file(|text| text.contains(whole))
    }

    fn has_file(&self, is: impl Fn(&str) -> bool) -> bool {
        let rendered = [
            "etc",
            "srv",
            "root",
            "lib",
            "var/lib/kubelet",
            "var/lib/kube-proxy",
            "var/lib/kube-scheduler",
        ];
        rendered
            .iter()
            .flat_map(|folder| files_below(&self.root().join(folder)))
            .any(|path| {
                let text = std::fs::read(path).unwrap_or_default();
                is(&String::from_utf8_lossy(&text))
            })
    }

    /// Puts a line of its own before each file of the node.
    pub(crate) fn change_every_file(&self) {
        for folder in ["etc", "srv", "var/lib/kubelet"] {
            for path in files_below(&self.root().join(folder)) {
                if let Ok(text) = std::fs::read_to_string(&path) {
                    std::fs::write(&path, format!("changed: 1\n{text}"))
                        .expect("the directory is ours");
                }
            }
        }
    }

    /// User data that delivers this node's documents, and a secret of its own.
    pub(crate) fn user_data(&self) -> Planted {
        let secret = made_up("user data", 40);
        let read =
            |name: &str| std::fs::read_to_string(self.store().join(name)).unwrap_or_default();
        let text = format!(
            "#!/bin/bash\nexport AWS_SECRET_ACCESS_KEY={secret}\nNODEUP_URL=https://u:{secret}@h/x?X-Amz-Signature={secret}\ncat > cluster_spec.yaml << '__EOF_CLUSTER_SPEC'\n{}\n__EOF_CLUSTER_SPEC\ncat > kube_env.yaml << '__EOF_KUBE_ENV'\n{}\n__EOF_KUBE_ENV\n",
            read("cluster.spec"),
            read("kube_env.yaml"),
        );
        Planted::new("a secret of user data", &secret, text)
    }
}

/// Whether it goes into a file of the node.
pub(crate) fn is_rendered(planted: &Planted) -> bool {
    [
        "of a file",
        "in a file",
        "of a hook",
        "of a unit",
        "of dockerconfig",
    ]
    .iter()
    .any(|end| planted.name.ends_with(end))
}

fn secret_object(text: &str) -> String {
    format!("{{\"Data\":\"{}\"}}", STANDARD.encode(text))
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files.extend(files_below(&entry.path())),
            Ok(kind) if kind.is_file() => files.push(entry.path()),
            Ok(_) | Err(_) => {}
        }
    }
    files.sort();
    files
}

fn plain(path: &Path) -> &str {
    path.to_str()
        .expect("a temporary directory has a plain name")
}
