//! The machine's programs keep the contract of every host: programs that stand for a distribution's own, each a few lines of
//! shell with the exit statuses and the words of the real ones, over the lists of a scratch root.
//! What is real of this machine is only asked, never changed.

use quake_host::provision::Programs;
use quake_model::item::{Package, User};
use quake_model::ports::{Condition, Provision};
use quake_testkit::contract::{self, Provisioned};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A distribution below a scratch directory.
struct Distribution(tempfile::TempDir);

/// apt and dpkg: a package is there when its name is a line of the list, and one called `no-…` is in no source.
const APT: &[(&str, &str)] = &[
    (
        "dpkg-query",
        r#"for name; do :; done; grep -qx "$name" "$LIST" && printf installed"#,
    ),
    (
        "apt-get",
        r#"echo "$*" >>"$LOG"
if [ -s "$LOCK" ]; then echo "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process $(cat "$LOCK") (unattended-upgr)" >&2; exit 100; fi
[ "$1" = update ] && exit 0
for word; do case $word in -*|install) ;; no-*) echo "E: Unable to locate package $word" >&2; exit 100 ;; *) echo "$word" >>"$LIST" ;; esac; done"#,
    ),
];

/// dnf and rpm, in the same way.
const DNF: &[(&str, &str)] = &[
    ("rpm", r#"for name; do :; done; grep -qx "$name" "$LIST""#),
    (
        "dnf",
        r#"echo "$*" >>"$LOG"
if [ -s "$LOCK" ]; then echo "Existing lock /var/cache/dnf/metadata_lock.pid: another copy is running as pid $(cat "$LOCK")." >&2; exit 200; fi
for word; do case $word in -*|install) ;; no-*) echo "Error: No match for argument: $word" >&2; exit 1 ;; *) echo "$word" >>"$LIST" ;; esac; done"#,
    ),
];

/// shadow: names and numbers are lines of a list; 4 is a number that is taken, 9 a name (useradd(8), groupadd(8)).
const SHADOW: &[(&str, &str)] = &[
    (
        "groupadd",
        r#"for name; do :; done; grep -q "^$name:" "$USERS" && exit 9; grep -q ":$3\$" "$USERS" && exit 4; exit 0"#,
    ),
    (
        "useradd",
        r#"[ -s "$LOCK" ] && { echo "useradd: cannot lock /etc/passwd; try again later." >&2; exit 1; }
for name; do :; done; grep -q "^$name:" "$USERS" && exit 9; grep -q ":$3\$" "$USERS" && exit 4; echo "$name:$3" >>"$USERS""#,
    ),
    // systemd-run --wait: what follows `--` is run, and its status is its own.
    (
        "systemd-run",
        r#"echo "outside: $*" >>"$LOG"; while [ "$1" != -- ]; do shift; done; shift; exec "$@""#,
    ),
    ("true", "exit 0"),
    ("false", "echo 'it did not' >&2; exit 1"),
];

impl Distribution {
    fn new(packages: &[(&str, &str)]) -> Self {
        let made = Self(tempfile::tempdir().expect("a scratch directory"));
        fs::create_dir_all(made.path("bin")).expect("a directory");
        fs::create_dir_all(made.path("root/usr/bin")).expect("a directory");
        for list in ["list", "users", "log", "lock", "root/usr/bin/tool"] {
            fs::write(made.path(list), "").expect("a file");
        }
        for (name, script) in packages.iter().chain(SHADOW) {
            let lists = ["list", "users", "log", "lock"].map(|list| {
                let path = made.path(list);
                format!("{}='{}'\n", list.to_uppercase(), path.display())
            });
            let text = format!(
                "#!/bin/sh\nPATH=/usr/bin:/bin\n{}{script}\n",
                lists.concat()
            );
            let path = made.path("bin").join(name);
            fs::write(&path, text).expect("a program");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it may run");
        }
        made
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn programs(&self) -> Programs {
        Programs::of_directory(&self.path("bin"), &self.path("root"))
    }

    fn lock(&self, holder: &str) {
        fs::write(self.path("lock"), holder).expect("a file");
    }

    fn log(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path("log")).expect("a file");
        text.lines().map(str::to_owned).collect()
    }
}

fn user() -> User {
    User {
        name: "contract".to_owned(),
        uid: 64_017,
        home: "/nonexistent".to_owned(),
        shell: "/usr/sbin/nologin".to_owned(),
    }
}

/// What every distribution here has.
fn provisioned(user: &User) -> Provisioned<'_> {
    Provisioned {
        package: "tool",
        unknown: "no-such-package",
        there: "/usr/bin/tool",
        user,
        succeeds: "true",
        fails: "false",
    }
}

#[tokio::test]
async fn the_programs_of_each_distribution_keep_the_contract() {
    for (packages, name) in [(APT, "apt"), (DNF, "dnf")] {
        let distribution = Distribution::new(packages);
        let user = user();
        let kept = contract::provision(&distribution.programs(), &provisioned(&user)).await;
        assert_eq!(kept, Ok(()), "{name}");
    }
}

#[tokio::test]
async fn below_a_unit_that_takes_rights_away_what_changes_the_system_runs_outside_of_it() {
    for (packages, installer) in [(APT, "apt-get"), (DNF, "dnf")] {
        let distribution = Distribution::new(packages);
        let programs = distribution.programs().confined();
        let user = user();
        let kept = contract::provision(&programs, &provisioned(&user)).await;
        assert_eq!(kept, Ok(()), "{installer}");
        let log = distribution.log();
        let outside = |name: &str| {
            let words = format!("/bin/{name} ");
            log.iter()
                .any(|line| line.starts_with("outside: ") && line.contains(&words))
        };
        for name in [installer, "groupadd", "useradd"] {
            assert!(outside(name), "{name}: {log:#?}");
        }
        // What only asks needs no rights.
        assert!(!outside("dpkg-query") && !outside("rpm"), "{log:#?}");
    }
}

#[tokio::test]
async fn a_lock_that_another_holds_is_a_conflict_that_names_it() {
    for (packages, holder) in [(APT, "unattended-upgr (process 812)"), (DNF, "process 812")] {
        let distribution = Distribution::new(packages);
        distribution.lock("812");
        let (programs, names) = (distribution.programs(), ["tool".to_owned()]);
        let error = programs.install_packages(&names).await.unwrap_err();
        assert_eq!(error.condition, Condition::Conflict, "{error:?}");
        let named = error.evidence.iter().find(|piece| piece.name == "holder");
        assert_eq!(named.map(|piece| piece.value.as_str()), Some(holder));
        assert_eq!(distribution.log().len(), 1, "it is one attempt");
    }
}

#[tokio::test]
async fn an_index_is_read_only_after_a_package_was_not_found() {
    let distribution = Distribution::new(APT);
    let programs = distribution.programs();
    let install = async |name: &str| programs.install_packages(&[name.to_owned()]).await;
    assert_eq!(install("tool").await, Ok(()));
    assert_eq!(distribution.log().len(), 1);
    assert!(install("no-such-package").await.is_err());
    let log = distribution.log();
    assert_eq!(log.len(), 4);
    assert_eq!(log[2], "update");
}

#[tokio::test]
async fn lists_of_users_that_are_locked_are_a_conflict() {
    let distribution = Distribution::new(APT);
    distribution.lock("812");
    let made = distribution.programs().make_user(&user()).await;
    assert_eq!(made.unwrap_err().condition, Condition::Conflict);
}

#[tokio::test]
async fn what_this_machine_has_is_seen_by_its_own_programs() {
    let programs = Programs::of_this_machine();
    let known = ["/usr/bin/dpkg-query", "/usr/bin/rpm"];
    if !known.iter().any(|path| Path::new(path).exists()) {
        println!("skipped: this machine has neither dpkg nor rpm");
        return;
    }
    let packages = ["no-such-package-anywhere"].map(Package::required);
    let missing = programs.missing_packages(&packages).await;
    assert_eq!(missing, Ok(vec!["no-such-package-anywhere".to_owned()]));
}
