//! Takes the survey that the checks need: of this machine, each look beside the others and under its own limit, or of
//! a tree that was captured earlier.

use super::journals::{JOURNALS, LINES, SPACES, UNITS};
use super::services::{self, Services};
use super::targets;
use crate::args::diagnose::DiagnoseArguments;
use crate::commands::boot_history::read_record;
use crate::commands::follow::{Follower, Leftovers};
use crate::commands::service::{UNIT, unit_of};
use quake_assets::digest_files;
use quake_diagnose::checks::{Check, WANTED};
use quake_diagnose::log_lines::is_of_kernel;
use quake_host::clock::SystemClock;
use quake_host::survey::{
    CloudLook, Local, limited, limited_blocking, look_at_devices, look_at_journals,
    look_at_members, look_at_network, look_at_probes, look_at_programs, look_at_runtime,
    look_at_units, name_servers, read_captured, read_clock, read_files, read_kernel_log,
    read_listeners, read_log_files, read_names, read_reach, read_spaces,
};
use quake_model::digest::{Algorithm, Digest};
use quake_model::expected::Expected;
use quake_model::facts::{
    InstanceView, PermissionSeen, SURVEY_SCHEMA, Seen, Source, SpaceFacts, Survey, VolumeFacts,
};
use quake_model::ports::{Clock, PortError};
use quake_model::record::Record;
use quake_volumes::volume_at;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

/// Surveys what `chosen` needs.
pub(super) async fn observe(
    arguments: &DiagnoseArguments,
    chosen: &[Check],
) -> Result<Survey, PortError> {
    if arguments.root != Path::new("/") {
        let mut survey = read_captured(&arguments.root, WANTED)?;
        survey.record = read_record(&arguments.root);
        if survey.taken.0 == 0 {
            survey.taken = SystemClock.now();
        }
        return Ok(survey);
    }
    let needed: BTreeSet<Source> = chosen
        .iter()
        .flat_map(|check| check.sources)
        .copied()
        .collect();
    let looks = Looks {
        needed,
        offline: arguments.offline,
        limit: arguments.check_timeout,
    };
    // Of the running agent, else what it left behind; one that hangs must not hold the diagnosis up.
    let mut follower = Follower::new(&arguments.endpoint, &arguments.root, Leftovers::All);
    let answer = tokio::time::timeout(arguments.check_timeout, follower.look(Duration::ZERO)).await;
    let record = match answer {
        Ok(_) => follower.record().cloned(),
        Err(_) => read_record(&arguments.root),
    };
    Ok(looks.take(record).await)
}

/// Volumes, instances and permissions, as AWS shows them.
type Aws = (
    Seen<Vec<VolumeFacts>>,
    Seen<Vec<InstanceView>>,
    Seen<Vec<PermissionSeen>>,
);

struct Looks {
    needed: BTreeSet<Source>,
    offline: bool,
    limit: Duration,
}

impl Looks {
    async fn take(&self, record: Option<Record>) -> Survey {
        let mut survey = self.files().await;
        // Without it an absent file reads as one that nobody looked for.
        SURVEY_SCHEMA.clone_into(&mut survey.schema_version);
        survey.taken = SystemClock.now();
        env!("CARGO_PKG_VERSION").clone_into(&mut survey.agent_version);
        survey.by_root = is_root();
        let mut machine = Survey::default();
        let mut outside = Survey::default();
        outside.texts.clone_from(&survey.texts);
        tokio::join!(
            // Boxed, for a future of all of them in one is deeper than the compiler looks.
            Box::pin(self.systemd(&mut survey, record.as_ref())),
            Box::pin(self.machine(&mut machine, record.as_ref())),
            Box::pin(self.outside(&mut outside, record.as_ref())),
        );
        survey.clock = machine.clock;
        survey.kernel_log = machine.kernel_log;
        survey.programs = machine.programs;
        survey.listeners = machine.listeners;
        survey.digests = machine.digests;
        survey.probes = machine.probes;
        survey.etcd = machine.etcd;
        survey.runtime = machine.runtime;
        survey.metadata = outside.metadata;
        survey.names = outside.names;
        survey.reach = outside.reach;
        survey.volumes = outside.volumes;
        survey.backups = outside.backups;
        survey.bucket = outside.bucket;
        survey.instances = outside.instances;
        survey.permissions = outside.permissions;
        survey.node = outside.node;
        survey.record = record;
        survey
    }

    /// Units, journals, and what the ports of a boot show too.
    async fn systemd(&self, survey: &mut Survey, record: Option<&Record>) {
        let local = Local::default();
        let units = units(survey, record);
        // The journal knows one name of a unit, and checks another.
        let of_agent = unit_of(Path::new("/"));
        let named = |unit: &&'static str| if *unit == UNIT { of_agent } else { *unit }.to_owned();
        let journals: BTreeSet<String> = JOURNALS.iter().map(named).collect();
        let journals: Vec<String> = journals.into_iter().collect();
        let (spaces, units, journals, logs, network, devices) = tokio::join!(
            self.look(Source::Spaces, self.spaces(mounted_volumes(survey))),
            self.look(
                Source::Units,
                limited(self.limit, look_at_units(&local, &units))
            ),
            self.look(
                Source::Journals,
                limited(self.limit, look_at_journals(&local, &journals, LINES))
            ),
            self.look(
                Source::Journals,
                limited_blocking(self.limit, || read_log_files(Path::new("/")))
            ),
            self.look(
                Source::Network,
                limited(self.limit, look_at_network(&local))
            ),
            self.look(
                Source::Devices,
                limited(self.limit, look_at_devices(&local))
            ),
        );
        survey.spaces = spaces;
        survey.units = units;
        survey.journals = journals;
        survey.logs = logs;
        if let Seen::Yes(read) = &mut survey.journals {
            let lines = read.remove(of_agent).unwrap_or_default();
            read.insert(UNIT.to_owned(), lines);
        }
        survey.network = network;
        survey.devices = devices;
    }

    /// What the kernel and programs on this machine tell.
    async fn machine(&self, survey: &mut Survey, record: Option<&Record>) {
        let expected = record.and_then(|record| record.expected.as_ref());
        let runtime = expected.map_or("", |expected| expected.runtime.as_str());
        let probes = expected.map_or(&[][..], |expected| &expected.probes);
        let members = expected.map_or(&[][..], |expected| &expected.etcd);
        // A peer that is silent must not hide the member of this node.
        let each = self.limit * 3 / 4;
        let (clock, log, programs, listeners, digests, probes, etcd, runtime) = tokio::join!(
            self.look(Source::Clock, limited(self.limit, read_clock())),
            self.look(
                Source::KernelLog,
                limited_blocking(self.limit, || read_kernel_log(is_of_kernel))
            ),
            self.look(
                Source::Programs,
                limited(self.limit, look_at_programs(Path::new("/")))
            ),
            self.look(
                Source::Listeners,
                limited_blocking(self.limit, read_listeners)
            ),
            self.look(Source::Digests, self.digests(expected)),
            self.look(Source::Probes, look_at_probes(probes, self.limit)),
            self.look(
                Source::Probes,
                Box::pin(limited(
                    self.limit,
                    look_at_members(members, !self.offline, each)
                ))
            ),
            self.look(Source::Runtime, async {
                match runtime {
                    "" => Seen::NotTaken("no boot came as far as to know the runtime".to_owned()),
                    runtime => limited(self.limit, look_at_runtime(runtime)).await,
                }
            }),
        );
        survey.clock = clock;
        survey.kernel_log = log;
        survey.programs = programs;
        survey.listeners = listeners;
        survey.digests = digests;
        survey.probes = probes;
        survey.etcd = etcd;
        survey.runtime = runtime;
    }

    /// What services and hosts around this machine tell.
    async fn outside(&self, survey: &mut Survey, record: Option<&Record>) {
        let services = Services::wire(self.limit);
        let known = record.and_then(|record| Some((record, record.expected.as_ref()?)));
        let way = targets::WayOut::of_environment();
        let targets = known.map(|(record, expected)| targets::targets(record, expected, &way));
        let names = known.map(|(record, expected)| targets::names(record, expected, &way));
        let resolvers = survey.texts.get("/etc/resolv.conf").and_then(Seen::ok);
        let servers = resolvers.map(|text| name_servers(text)).unwrap_or_default();
        let unknown = || "no boot came as far as to know what is needed".to_owned();
        let (metadata, names, reach, cloud, backups, bucket, node) = tokio::join!(
            self.look(Source::Metadata, Box::pin(services.metadata())),
            self.look(Source::Names, async {
                match &names {
                    Some(names) => {
                        limited(self.limit, async { Ok(read_names(names, &servers).await) }).await
                    }
                    None => Seen::NotTaken(unknown()),
                }
            }),
            self.look(Source::Reach, async {
                match &targets {
                    // Each has its own limit inside, so that one that is silent hides no other.
                    Some(targets) => Seen::Yes(read_reach(targets, self.limit).await),
                    None => Seen::NotTaken(unknown()),
                }
            }),
            Box::pin(self.aws(&services, record)),
            self.look(Source::Volumes, Box::pin(services.backups(record))),
            self.look(Source::Permissions, Box::pin(services.bucket(record))),
            self.look(Source::Node, services::node(record, self.limit)),
        );
        survey.metadata = metadata;
        survey.names = names;
        survey.reach = reach;
        (survey.volumes, survey.instances, survey.permissions) = cloud;
        survey.backups = backups;
        survey.bucket = bucket;
        survey.node = node;
    }

    /// EC2's view first, for some permissions can be tried only on a volume.
    async fn aws(&self, services: &Services, record: Option<&Record>) -> Aws {
        let cloud = self
            .look(Source::Volumes, Box::pin(services.cloud(record)))
            .await;
        let (volumes, instances) = match cloud {
            Seen::Yes(CloudLook { volumes, instances }) => (
                volumes.map_or_else(
                    || Seen::NotTaken("no member of etcd runs on this node".to_owned()),
                    Seen::Yes,
                ),
                Seen::Yes(instances),
            ),
            Seen::NotTaken(why) => (Seen::NotTaken(why.clone()), Seen::NotTaken(why)),
            Seen::Denied(why) => (Seen::Denied(why.clone()), Seen::Denied(why)),
            Seen::Failed(why) => (Seen::Failed(why.clone()), Seen::Failed(why)),
            Seen::TimedOut(millis) => (Seen::TimedOut(millis), Seen::TimedOut(millis)),
        };
        let permissions = Box::pin(services.permissions(record, &volumes));
        let permissions = self.look(Source::Permissions, permissions).await;
        (volumes, instances, permissions)
    }

    async fn digests(&self, expected: Option<&Expected>) -> Seen<BTreeMap<String, String>> {
        let assets = expected.into_iter().flat_map(|expected| &expected.assets);
        let placed: Vec<(String, Algorithm)> = assets
            .filter_map(|asset| Some((asset.digest.parse::<Digest>().ok()?.algorithm(), asset)))
            .flat_map(|(algorithm, asset)| {
                asset
                    .paths
                    .iter()
                    .map(move |path| (path.clone(), algorithm))
            })
            .collect();
        limited_blocking(self.limit, move || digest_files(Path::new("/"), &placed)).await
    }

    /// Takes a look that is needed and allowed.
    async fn look<T>(&self, source: Source, look: impl Future<Output = Seen<T>>) -> Seen<T> {
        if !self.needed.contains(&source) {
            return Seen::NotTaken("no check that was asked for needs it".to_owned());
        }
        if self.offline && source.uses_network() {
            return Seen::NotTaken("--offline".to_owned());
        }
        look.await
    }

    async fn files(&self) -> Survey {
        let read = limited_blocking(self.limit, || {
            let mut survey = Survey::default();
            read_files(Path::new("/"), WANTED, &mut survey);
            Ok(survey)
        });
        match read.await {
            Seen::Yes(survey) => survey,
            Seen::NotTaken(why) | Seen::Denied(why) => all_unreadable(&why),
            Seen::Failed(why) => all_unreadable(&why.text),
            Seen::TimedOut(millis) => all_unreadable(&format!("no answer within {millis} ms")),
        }
    }

    /// Of the filesystems of any node, and of etcd's volumes.
    async fn spaces(&self, volumes: Vec<String>) -> Seen<Vec<SpaceFacts>> {
        limited_blocking(self.limit, move || {
            let volumes = volumes.iter().map(String::as_str);
            let paths: Vec<&str> = SPACES.iter().copied().chain(volumes).collect();
            read_spaces(Path::new("/"), &paths)
        })
        .await
    }
}

/// Where etcd's volumes are mounted.
fn mounted_volumes(survey: &Survey) -> Vec<String> {
    let table = survey.texts.get("/proc/self/mountinfo").and_then(Seen::ok);
    let targets = table.into_iter().flat_map(|text| text.lines());
    targets
        .filter_map(|line| line.split(' ').nth(4))
        .filter(|target| volume_at(target).is_some())
        .map(str::to_owned)
        .collect()
}

/// A survey in which nothing could be read.
fn all_unreadable(why: &str) -> Survey {
    let mut survey = Survey::default();
    for file in WANTED {
        survey
            .unreadable
            .insert(file.path.to_owned(), why.to_owned());
    }
    survey
}

/// The units to look at: those of any node, those that this one is expected to have, and those in `/etc`.
fn units(survey: &Survey, record: Option<&Record>) -> Vec<String> {
    let mut units: BTreeSet<String> = UNITS.iter().map(ToString::to_string).collect();
    let expected = record.and_then(|record| record.expected.as_ref());
    units.extend(
        expected
            .into_iter()
            .flat_map(|expected| expected.units.clone()),
    );
    let in_etc = survey.entries.keys().filter_map(|path| {
        let name = path.strip_prefix("/etc/systemd/system/")?;
        (!name.contains('/')).then(|| name.to_owned())
    });
    units.extend(in_etc);
    units.into_iter().collect()
}

fn is_root() -> bool {
    quake_host::linux::OwnerPolicy::of_this_process() == quake_host::linux::OwnerPolicy::Set
}
