//! The same commands on a bucket that holds two clusters.

use quake_integration::agent::{self, Ended};
use quake_integration::kops_copy::{Copied, Shape};
use quake_integration::moto::Moto;
use quake_integration::skip::{SetUpError, unless_missing};
use std::fs;

const BUCKET: &str = "clusters";

/// Which directories of a store the commands need: a bucket of moto takes a call for each object.
const NEEDED: [&str; 5] = [
    "cluster-completed.spec",
    "igconfig",
    "pki",
    "manifests",
    "backups",
];

struct Aws {
    moto: Moto,
    clusters: [Copied; 2],
}

impl Aws {
    /// `None`, with the reason printed, where something is missing here.
    fn start() -> Option<Self> {
        let clusters = [
            Copied::new("minimal-1.35", Shape::Cluster)?,
            Copied::new("privatecalico", Shape::Cluster)?,
        ];
        unless_missing(Self::with(clusters))
    }

    fn with(clusters: [Copied; 2]) -> Result<Self, SetUpError> {
        let moto = Moto::start()?;
        for copied in &clusters {
            for name in NEEDED {
                let (key, path) = (format!("{}/{name}", copied.cluster), copied.base.join(name));
                let put = match path.is_dir() {
                    true => moto.put_folder(BUCKET, &key, &path),
                    false => {
                        fs::read(&path).and_then(|bytes| moto.put_object(BUCKET, &key, &bytes))
                    }
                };
                put.map_err(|error| format!("{key}: {error}"))?;
            }
        }
        Ok(Self { moto, clusters })
    }

    fn run(&self, words: &[&str], status: i32) -> Ended {
        let mut command = agent::command(words);
        let endpoint = format!("http://{}", self.moto.address());
        command.env("AWS_ENDPOINT_URL", endpoint);
        command.env("AWS_ACCESS_KEY_ID", "test");
        command.env("AWS_SECRET_ACCESS_KEY", "test");
        command.env("AWS_REGION", "us-east-1");
        let ended = agent::run_command(command);
        assert_eq!(ended.status, status, "{words:?}\n{}", ended.text());
        ended
    }
}

#[test]
fn every_command_works_on_each_of_two_clusters_in_a_bucket() {
    let Some(aws) = Aws::start() else { return };
    let bucket = format!("s3://{BUCKET}");
    let [one, other] = &aws.clusters;
    let several = aws.run(&["rehearse", &bucket, "--instance-group", "nodes"], 64);
    let both = format!("{}, {}", one.cluster, other.cluster);
    assert!(several.stderr.contains(&both), "{}", several.stderr);
    let absent = [
        "fleet",
        "--state-store",
        &bucket,
        "--cluster",
        "none.example",
    ];
    let absent = aws.run(&absent, 78);
    assert!(absent.stderr.contains("config.cluster-spec-missing"));
    for copied in &aws.clusters {
        let cluster = copied.cluster.as_str();
        let of = ["--state-store", bucket.as_str(), "--cluster", cluster];
        for group in ["nodes", "master-us-test-1a"] {
            let root = copied.at(&format!("root-{group}"));
            let place = ["--root", &root, "--exit-when-ready", "--listen", "off"];
            let words = ["rehearse", &bucket, "--cluster", cluster];
            let named = ["--instance-group", group];
            let ended = aws.run(&[&words[..], &named, &place].concat(), 0);
            assert!(ended.stderr.contains("assumed: "), "{}", ended.stderr);
            let image = copied.at("image");
            fs::create_dir_all(&image).expect("a directory of ours");
            let show = [&["seed", "show", "--root", &image], &of[..], &named].concat();
            assert!(aws.run(&show, 0).stdout.contains("kubelet"));
            let out = copied.at("user-data");
            let render = ["user-data", "render", "--out", &out];
            let binary = ["--binary-url", "s3://releases/quake-agent", "--sha256"];
            let digest = "a".repeat(64);
            let words = [&render[..], &of, &named, &binary, &[&digest]].concat();
            aws.run(&words, 0);
            aws.run(&["user-data", "explain", &out], 0);
        }
        let base = format!("{bucket}/{cluster}");
        let recorded = copied.volumes();
        let from = ["--state-store", &base, "--recorded", &recorded];
        let explained = aws.run(&[&["volumes", "explain"], &from[..]].concat(), 0);
        assert!(explained.stdout.contains("main/"), "{}", explained.stdout);
        let none = aws.run(&[&["fleet"], &of[..]].concat(), 1);
        let first = none.stdout.lines().next();
        assert_eq!(first, Some("no boot is reported"));
        let plan = ["plan", &base, "--instance-group", "nodes"];
        aws.run(&plan, 0);
    }
}
