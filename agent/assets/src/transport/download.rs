//! The bytes of one asset, in order.
//!
//! The piece whose turn it is streams through. While permits are to spare and the network is what is waited for, the ones
//! behind it are fetched ahead. A piece that was cut off is asked for again from where it ended, of the next mirror if
//! there is one.

use super::breaker::Breakers;
use super::download_plan::{DownloadPlan, DownloadState, Mirror, StopReason};
use super::learn::Learned;
use super::pace::Pace;
use super::patience::{SLOW_AFTER, SLOW_BYTES, silent, slow};
use super::piece::Piece;
use super::pool::Pool;
use super::request::{Answer, Servers, ask};
use crate::ingest::Ingest;
use crate::ingest_reader::Spilled;
use crate::room::{Room, too_many};
use crate::staging::Staging;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use quake_http::shown;
use quake_model::ports::{Arriving, Condition, ObjectPiece, PortError, ReportBytes};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;
use tokio::time::timeout;

/// How many failures are too many, beside one for each mebibyte that came.
const FAILURES: u64 = 16;

/// One asset on its way.
pub(crate) struct Download<'a> {
    pub(crate) servers: &'a Servers,
    pub(crate) pool: &'a Arc<Pool>,
    pub(crate) breakers: &'a Breakers,
    /// Where pieces wait for their turn.
    pub(super) staging: &'a Arc<Staging>,
    pub(crate) course: DownloadPlan,
    pub(crate) known: DownloadState,
    pub(crate) report: ReportBytes<'a>,
    /// How long the file may be.
    pub(crate) room: Room,
    /// The same, as far as the mirrors are believed.
    pub(super) limit: u64,
    pub(super) ahead: VecDeque<Piece>,
    pub(super) pace: Pace,
    /// How many requests were made.
    pub(crate) requests: u64,
    /// Every failure, with the number of its mirror.
    pub(crate) failed: Vec<(usize, PortError)>,
}

impl<'a> Download<'a> {
    /// A flow that has not begun.
    pub(crate) fn new(
        (servers, pool, breakers): (&'a Servers, &'a Arc<Pool>, &'a Breakers),
        (staging, room): (&'a Arc<Staging>, Room),
        course: DownloadPlan,
        known: DownloadState,
        report: ReportBytes<'a>,
    ) -> Self {
        Self {
            servers,
            pool,
            breakers,
            staging,
            course,
            known,
            report,
            limit: room.limit(),
            room,
            ahead: VecDeque::new(),
            pace: Pace::default(),
            requests: 0,
            failed: Vec::new(),
        }
    }

    /// Moves bytes into `arrival` until there are no more.
    pub(crate) async fn run(&mut self, arrival: &mut Ingest) -> Result<(), StopReason> {
        while self
            .known
            .total
            .is_none_or(|total| arrival.received < total)
        {
            let mebibytes = arrival.received >> 20;
            if self.failed.len() as u64 > FAILURES + mebibytes || self.course.mirrors.is_empty() {
                return Err(StopReason::Mirrors);
            }
            let next = self.ahead.front().map(|piece| piece.from);
            if next == Some(arrival.received) {
                self.take_piece(arrival).await?;
            } else {
                self.take_answer(arrival).await?;
            }
        }
        Ok(())
    }

    /// Asks for what comes next, and takes it as it comes.
    async fn take_answer(&mut self, arrival: &mut Ingest) -> Result<(), StopReason> {
        let permit = self.pool.acquire(self.left(arrival.received)).await;
        let wanted = self.wanted(arrival.received);
        let (mirror, mut answer) = self.open(&wanted).await?;
        if self.learn(&mirror, &answer, arrival.received)? == Learned::Aside {
            return Ok(());
        }
        self.gave(mirror.number);
        let mut skip = if answer.is_piece { 0 } else { arrival.received };
        let until = match answer.is_piece {
            true => wanted.until.into_iter().chain(self.known.total).min(),
            // What a server sends beyond the file's length is none of it.
            false => self.known.total,
        };
        if answer.is_piece {
            let end = until.unwrap_or(arrival.received);
            self.fetch_ahead(end.max(arrival.received));
        } else {
            // A server that sends whole files has nothing to fetch ahead.
            self.ahead.clear();
        }
        let (before, begun) = (arrival.received, Instant::now());
        let ended = self
            .stream((mirror.number, &mut answer), arrival, &mut skip, until)
            .await?;
        drop(permit);
        self.pace.pass_on();
        let is_short = until
            .or(self.known.total)
            .is_some_and(|end| arrival.received < end);
        match ended {
            Some(error) => self.fail(mirror.number, error),
            None if is_short => {
                let summary = format!("{} ended its answer early", shown(&mirror.url));
                self.fail(
                    mirror.number,
                    PortError::new(Condition::Unreachable, summary),
                );
            }
            None => {
                if until.is_none() {
                    self.known.total = Some(arrival.received);
                }
                let bytes = arrival.received - before;
                self.pool.note_speed(&mirror.host, bytes, begun.elapsed());
            }
        }
        if before == arrival.received && self.known.total != Some(before) {
            self.course.mirrors.retain(|it| it.number != mirror.number);
        }
        Ok(())
    }

    /// Streams an answer; returns how it failed, if it did.
    async fn stream(
        &mut self,
        (number, answer): (usize, &mut Answer),
        arrival: &mut Ingest,
        skip: &mut u64,
        until: Option<u64>,
    ) -> Result<Option<PortError>, StopReason> {
        let (mut began, mut at) = (Instant::now(), arrival.received);
        loop {
            if until.is_some_and(|until| arrival.received >= until) {
                return Ok(None);
            }
            let since = Instant::now();
            let chunk = self.patiently(number, arrival.received, answer.chunk());
            let chunk = chunk.await;
            self.pace.waited(since.elapsed());
            let mut bytes = match chunk {
                Some(Ok(Some(bytes))) => bytes,
                Some(Ok(None)) => return Ok(None),
                Some(Err(error)) => return Ok(Some(error)),
                None => return Ok(Some(silent())),
            };
            let skipped = (*skip).min(bytes.len() as u64);
            *skip -= skipped;
            let _ = bytes.split_to(usize::try_from(skipped).unwrap_or(bytes.len()));
            if let Some(until) = until {
                let most = usize::try_from(until - arrival.received).unwrap_or(usize::MAX);
                bytes.truncate(most);
            }
            self.hand_over(number, arrival, &bytes).await?;
            if began.elapsed() >= SLOW_AFTER {
                let rate = (arrival.received - at) / began.elapsed().as_secs().max(1);
                if rate < SLOW_BYTES && *skip == 0 {
                    if self.has_other(number) {
                        return Ok(Some(slow(rate)));
                    }
                    self.tell_slow(number, arrival.received, rate);
                }
                (began, at) = (Instant::now(), arrival.received);
            }
        }
    }

    async fn hand_over(
        &mut self,
        number: usize,
        arrival: &mut Ingest,
        bytes: &[u8],
    ) -> Result<(), StopReason> {
        self.admit(number, arrival, bytes.len() as u64)?;
        let begun = Instant::now();
        let taken = arrival.take(bytes).await;
        self.took(arrival, begun, taken)
    }

    pub(super) async fn hand_over_piece(
        &mut self,
        number: usize,
        arrival: &mut Ingest,
        piece: Spilled,
    ) -> Result<(), StopReason> {
        self.admit(number, arrival, piece.len())?;
        let begun = Instant::now();
        let taken = arrival.take_spilled(piece).await;
        self.took(arrival, begun, taken)
    }

    /// Whether so many more bytes can be of the file.
    fn admit(&self, number: usize, arrival: &Ingest, more: u64) -> Result<(), StopReason> {
        if arrival.received + more <= self.limit {
            return Ok(());
        }
        let mirror = self.course.mirrors.iter().find(|it| it.number == number);
        let url = mirror.map_or("", |mirror| mirror.url.as_str());
        Err(StopReason::TooMany(number, too_many(url, self.limit)))
    }

    fn took(
        &mut self,
        arrival: &Ingest,
        begun: Instant,
        taken: Result<(), PortError>,
    ) -> Result<(), StopReason> {
        self.pace.took(begun.elapsed());
        taken.map_err(|_| StopReason::Here)?;
        (self.report)(Arriving {
            done: arrival.received,
            total: self.known.total,
            slow: None,
        });
        Ok(())
    }

    /// Asks the mirrors in turn, and the next one as well when one is slow; the first answer counts.
    async fn open(&mut self, wanted: &ObjectPiece) -> Result<(Mirror, Answer), StopReason> {
        let mut waiting = self.course.mirrors.clone().into_iter();
        let (servers, validators) = (self.servers, self.known.validators.clone());
        let ask_it = |mirror: Mirror| {
            let wanted = ObjectPiece {
                tag: validators.get(&mirror.number).cloned(),
                ..wanted.clone()
            };
            async move {
                let answer = ask(servers, &mirror.url, &wanted).await;
                (mirror, answer)
            }
        };
        let mut requested = FuturesUnordered::new();
        let mut latest = 0;
        loop {
            if requested.is_empty() {
                let Some(next) = waiting.next() else {
                    return Err(StopReason::Mirrors);
                };
                latest = next.number;
                self.requests += 1;
                requested.push(ask_it(next));
            }
            match timeout(SLOW_AFTER, requested.next()).await {
                Ok(Some((mirror, Ok(answer)))) => return Ok((mirror, answer)),
                Ok(Some((_, Err(error)))) if error.condition == Condition::Conflict => {
                    return Err(StopReason::Anew);
                }
                Ok(Some((mirror, Err(error)))) => {
                    let is_final =
                        matches!(error.condition, Condition::Missing | Condition::Denied);
                    self.fail(mirror.number, error);
                    if is_final {
                        self.course.mirrors.retain(|it| it.number != mirror.number);
                    }
                }
                Ok(None) => {}
                Err(_) => match waiting.next() {
                    Some(next) => {
                        latest = next.number;
                        self.requests += 1;
                        requested.push(ask_it(next));
                    }
                    None if self.course.has_alternative => {
                        self.fail(latest, silent());
                        return Err(StopReason::Mirrors);
                    }
                    None => self.tell_slow(latest, wanted.from, 0),
                },
            }
        }
    }

    /// How many bytes are to come behind this one, as far as the length is known.
    pub(super) fn left(&self, received: u64) -> u64 {
        let total = self.known.total;
        total.map_or(u64::MAX, |total| total.saturating_sub(received))
    }

    pub(super) fn gave(&mut self, number: usize) {
        self.known.answers += 1;
        if !self.known.sources.contains(&number) {
            self.known.sources.push(number);
        }
        if let Some(host) = self.host_of(number) {
            self.breakers.note(&host, true, Instant::now());
        }
    }

    /// Notes a failure, and lets the other mirrors go first.
    pub(super) fn fail(&mut self, number: usize, error: PortError) {
        let is_slow = error.condition == Condition::TimedOut;
        self.failed.push((number, error));
        if let Some(host) = self.host_of(number) {
            self.breakers.note(&host, false, Instant::now());
        }
        if is_slow && self.course.has_alternative {
            self.course.mirrors.clear();
        }
        let mirrors = &mut self.course.mirrors;
        if let Some(at) = mirrors.iter().position(|it| it.number == number) {
            let mirror = mirrors.remove(at);
            mirrors.push(mirror);
        }
    }

    fn host_of(&self, number: usize) -> Option<String> {
        let mut mirrors = self.course.mirrors.iter();
        let mirror = mirrors.find(|mirror| mirror.number == number);
        mirror.map(|mirror| mirror.host.clone())
    }
}
