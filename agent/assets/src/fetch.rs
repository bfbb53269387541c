//! Fetches one asset: from all its mirrors together first, and from each alone where together they gave something
//! wrong.

use super::buckets::object_of;
use super::commit::Committer;
use super::destination::{Destination, WORTH_KEEPING};
use super::failed::{FailedMirror, mismatch, same_digest, sum_up};
use super::failure::on_blocking_thread;
use super::ingest::{Arrived, Ingest, IngestStats};
use super::room::{MOST_BYTES, Room};
use super::transport::{
    Breakers, Claims, Download, DownloadPlan, DownloadState, Mirror, Pool, Servers, StopReason,
};
use quake_http::{Url, shown};
use quake_model::ports::{AssetFetched, Condition, PortError, ReportBytes};
use quake_model::spec::AssetSpec;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// How often a mirror may give the same wrong bytes, in one answer each, before the pin is what is wrong. A guess: a
/// broken cache behind it is seldom hit three times.
const SAME_WRONG: usize = 3;

/// How often a mirror is asked alone. A guess.
const ALONE: usize = 5;

/// What all fetches share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) pool: Arc<Pool>,
    pub(super) breakers: Breakers,
    /// More bytes than this no asset has.
    pub(super) most_bytes: u64,
    /// Arrivals that were cut off, for the next try.
    suspended: Mutex<BTreeMap<String, (Ingest, DownloadState)>>,
}

impl Shared {
    /// For `requests` at once.
    pub(super) fn new(requests: usize) -> Self {
        Self {
            pool: Pool::new(requests),
            breakers: Breakers::default(),
            most_bytes: MOST_BYTES,
            suspended: Mutex::default(),
        }
    }

    fn suspend(&self, key: String, arrival: Ingest, known: DownloadState) {
        self.lock().insert(key, (arrival, known));
    }

    fn resume(&self, key: &str) -> Option<(Ingest, DownloadState)> {
        self.lock().remove(key)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, (Ingest, DownloadState)>> {
        self.suspended
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct Fetch<'a> {
    pub(super) asset: &'a AssetSpec,
    pub(super) servers: &'a Servers,
    pub(super) shared: &'a Shared,
    pub(super) committer: Committer,
    pub(super) report: ReportBytes<'a>,
    /// The last failure of each mirror.
    failed: BTreeMap<usize, FailedMirror>,
    /// How long each mirror says that the file is.
    claims: Claims,
    requests: u64,
}

/// What a course came to.
enum Ended {
    Kept {
        bytes: u64,
        from: Vec<usize>,
    },
    Wrong(IngestStats, DownloadState),
    Failed,
    Anew,
    /// This mirror sent more than the file can have.
    TooMany(usize),
}

impl<'a> Fetch<'a> {
    /// A fetch that has not begun.
    pub(super) fn new(
        asset: &'a AssetSpec,
        servers: &'a Servers,
        shared: &'a Shared,
        committer: Committer,
        report: ReportBytes<'a>,
    ) -> Self {
        Self {
            asset,
            servers,
            shared,
            committer,
            report,
            failed: BTreeMap::new(),
            claims: Claims::default(),
            requests: 0,
        }
    }

    pub(super) async fn run(mut self) -> Result<AssetFetched, PortError> {
        let mut left = self.mirrors();
        // Of a file that changed under us, once; then its mirrors contradict each other.
        let mut may_begin_anew = true;
        while !left.is_empty() {
            let course = DownloadPlan {
                mirrors: left.clone(),
                is_whole: false,
                has_alternative: false,
            };
            match self.follow(course).await? {
                Ended::Kept { bytes, from } => return Ok(self.fetched(bytes, &from)),
                Ended::Failed => break,
                Ended::TooMany(number) => left.retain(|mirror| mirror.number != number),
                Ended::Anew if may_begin_anew => {
                    may_begin_anew = false;
                    left.sort_by_key(|mirror| self.failed.contains_key(&mirror.number));
                }
                Ended::Anew => {
                    for mirror in &left {
                        self.note(mirror.number, changing());
                    }
                    break;
                }
                Ended::Wrong(tally, known) => match (known.sources.as_slice(), known.answers) {
                    (&[source], 1) => {
                        self.note_wrong(source, &tally);
                        left.retain(|mirror| !self.failed.contains_key(&mirror.number));
                    }
                    // Whose fault it is, nobody knows.
                    (sources, _) => {
                        for &source in sources {
                            self.claims.forget(source);
                            self.note(source, mismatch(self.asset, &tally));
                        }
                        break;
                    }
                },
            }
        }
        self.ask_alone().await
    }

    /// Asks each mirror that may have the right bytes for all of them, in one answer.
    async fn ask_alone(mut self) -> Result<AssetFetched, PortError> {
        let is_doubtful = |failed: &FailedMirror| {
            failed.error.condition == Condition::DigestMismatch
                || failed.error.condition == Condition::Conflict
        };
        let failed: Vec<FailedMirror> = self.failed.values().cloned().collect();
        let mut doubtful: Vec<Mirror> = self.mirrors();
        // One that was not asked yet, because the one before it gave wrong bytes, may have the right ones.
        doubtful.retain(|it| self.failed.get(&it.number).is_none_or(is_doubtful));
        if same_digest(&failed).is_some() {
            return Err(sum_up(self.asset, &failed));
        }
        let mut wrong: BTreeMap<(usize, String), usize> = BTreeMap::new();
        for _ in 0..ALONE {
            self.claims.sort(&mut doubtful);
            for mirror in doubtful.clone() {
                let number = mirror.number;
                let course = DownloadPlan {
                    mirrors: vec![mirror],
                    is_whole: true,
                    has_alternative: doubtful.len() > 1,
                };
                match self.follow(course).await? {
                    Ended::Kept { bytes, from } => return Ok(self.fetched(bytes, &from)),
                    Ended::Wrong(tally, _) => {
                        let key = (number, tally.digest.to_string());
                        let count = wrong.entry(key).or_default();
                        *count += 1;
                        if *count >= SAME_WRONG {
                            doubtful.retain(|it| it.number != number);
                        }
                        self.note_wrong(number, &tally);
                    }
                    Ended::Failed | Ended::TooMany(_) => {
                        doubtful.retain(|it| it.number != number);
                    }
                    Ended::Anew => {}
                }
            }
        }
        let failed: Vec<FailedMirror> = self.failed.into_values().collect();
        Err(sum_up(self.asset, &failed))
    }

    /// Follows one course to its end.
    ///
    /// # Errors
    ///
    /// What no mirror can heal: this machine's failures, and an archive that is dangerous.
    async fn follow(&mut self, course: DownloadPlan) -> Result<Ended, PortError> {
        let key = format!("{:?}", self.asset);
        let resumed = if course.is_whole {
            None
        } else {
            self.shared.resume(&key)
        };
        let (mut arrival, known) = match resumed {
            Some(resumed) => resumed,
            None => {
                let arrival = self.begin(course.is_whole).await?;
                let known = DownloadState::after(arrival.received, self.claims.clone());
                (arrival, known)
            }
        };
        let folder = self.committer.layout.folder();
        let room = Room::new(folder, self.shared.most_bytes, arrival.received);
        let network = (self.servers, &self.shared.pool, &self.shared.breakers);
        let disk = (&self.committer.staging, room);
        let mut flow = Download::new(network, disk, course, known, self.report);
        let moved = flow.run(&mut arrival).await;
        let (failed, known) = (std::mem::take(&mut flow.failed), flow.known.clone());
        self.requests += flow.requests;
        drop(flow);
        self.claims = known.claims.clone();
        for (number, error) in failed {
            self.note(number, error);
        }
        match moved {
            Ok(()) => self.judge(arrival.finish().await?, known).await,
            Err(StopReason::Mirrors) if arrival.received >= WORTH_KEEPING => {
                self.shared.suspend(key, arrival, known);
                Ok(Ended::Failed)
            }
            Err(StopReason::Mirrors) => {
                // Its worker removes what it has before the failure is told.
                drop(arrival.finish().await);
                Ok(Ended::Failed)
            }
            Err(StopReason::Anew) => {
                arrival.finish().await?.content.discard();
                Ok(Ended::Anew)
            }
            Err(StopReason::TooMany(number, error)) => {
                arrival.finish().await?.content.discard();
                self.note(number, error);
                Ok(Ended::TooMany(number))
            }
            Err(StopReason::Here) => {
                let reason = arrival.finish().await;
                Err(reason.err().unwrap_or_else(|| {
                    PortError::new(Condition::Io, "the bytes of an asset were not taken")
                }))
            }
        }
    }

    /// Keeps what arrived, if it is what was pinned.
    async fn judge(&mut self, arrived: Arrived, known: DownloadState) -> Result<Ended, PortError> {
        if arrived.tally.digest != self.asset.digest {
            return on_blocking_thread(move || {
                arrived.content.discard();
                Ok(Ended::Wrong(arrived.tally, known))
            })
            .await;
        }
        let bytes = arrived.tally.size;
        let source = known.sources.last().copied().unwrap_or_default();
        let url = shown(self.url(source));
        let (committer, asset) = (self.committer.clone(), self.asset.clone());
        on_blocking_thread(move || {
            let kept = committer.keep(&asset, &url, arrived);
            kept.map_err(|error| FailedMirror::new(&asset, &url, error).error)
        })
        .await?;
        Ok(Ended::Kept {
            bytes,
            from: known.sources,
        })
    }

    async fn begin(&self, is_whole: bool) -> Result<Ingest, PortError> {
        let (committer, asset) = (self.committer.clone(), self.asset.clone());
        let landing = on_blocking_thread(move || {
            if is_whole {
                super::staging::remove(&committer.layout.partial(&asset.digest));
            }
            Destination::open(&committer.layout, &committer.staging, &asset)
        });
        Ok(Ingest::begin(landing.await?, self.asset.digest.algorithm()))
    }

    fn note_wrong(&mut self, number: usize, tally: &IngestStats) {
        self.claims.forget(number);
        let failed = FailedMirror::mismatch(self.asset, self.url(number), tally);
        self.failed.insert(number, failed);
    }

    fn note(&mut self, number: usize, error: PortError) {
        let failed = FailedMirror::new(self.asset, self.url(number), error);
        self.failed.insert(number, failed);
    }

    fn url(&self, number: usize) -> &'a str {
        self.asset.urls.get(number).map_or("", String::as_str)
    }

    /// The mirrors that can be asked, those of hosts that failed lately last.
    fn mirrors(&mut self) -> Vec<Mirror> {
        let mut mirrors = Vec::new();
        for (number, url) in self.asset.urls.iter().enumerate() {
            match host_of(url) {
                Ok(host) => mirrors.push(Mirror {
                    number,
                    url: url.clone(),
                    host,
                }),
                Err(error) => self.note(number, error),
            }
        }
        let now = Instant::now();
        mirrors.sort_by_key(|mirror| self.shared.breakers.is_open(&mirror.host, now));
        mirrors
    }

    fn fetched(&self, bytes: u64, from: &[usize]) -> AssetFetched {
        let last = from.last().copied().unwrap_or_default();
        let others = self.failed.iter().filter(|(number, _)| **number != last);
        AssetFetched {
            url: shown(self.url(last)),
            bytes,
            requests: self.requests,
            failed_mirrors: others.map(|(_, failed)| failed.line()).collect(),
        }
    }
}

/// The failure of mirrors that do not have one and the same file.
fn changing() -> PortError {
    let summary = "the file changed while it was fetched, or its mirrors have different ones";
    PortError::new(Condition::Conflict, summary)
}

/// The host and port of a URL that can be asked, or its bucket.
fn host_of(url: &str) -> Result<String, PortError> {
    if let Some(object) = object_of(url)? {
        return Ok(format!("s3://{}", object.bucket()));
    }
    let parsed = Url::parse(url).map_err(|error| {
        let summary = format!("{} is not a url", shown(url));
        PortError::new(Condition::Missing, summary).because(&error)
    })?;
    match parsed.scheme() {
        "http" | "https" => Ok(format!(
            "{}:{}",
            parsed.host_str().unwrap_or_default(),
            parsed.port_or_known_default().unwrap_or_default()
        )),
        scheme => {
            let summary = format!("{}: assets are not fetched over {scheme}", shown(url));
            Err(PortError::new(Condition::Missing, summary))
        }
    }
}
