//! How much of a file is asked for, and the pieces of it that are fetched ahead of their turn.

use super::download::Download;
use super::download_plan::StopReason;
use super::patience::silent;
use super::piece::{Fetching, MOST_BYTES, Piece};
use crate::ingest::Ingest;
use quake_model::ports::{Condition, ObjectPiece};
use std::sync::Arc;
use std::time::Instant;

impl Download<'_> {
    /// Takes the piece that was fetched ahead, as far as it comes. What is lacking is asked for in its turn.
    pub(super) async fn take_piece(&mut self, arrival: &mut Ingest) -> Result<(), StopReason> {
        let Some(mut piece) = self.ahead.pop_front() else {
            return Ok(());
        };
        let (number, from) = (piece.mirror, piece.from);
        while piece.from < piece.until {
            let since = Instant::now();
            let more = self.patiently(number, arrival.received, piece.more());
            let more = more.await.unwrap_or_else(|| Err(silent()));
            self.pace.waited(since.elapsed());
            let more = match more {
                Ok(more) => more,
                Err(error) if matches!(error.condition, Condition::NoSpace | Condition::Io) => {
                    // Whether the disk takes the bytes at all, their own file tells.
                    self.pace.stop_fetching_ahead();
                    return Ok(());
                }
                Err(error) => {
                    self.fail(number, error);
                    return Ok(());
                }
            };
            if arrival.received == from {
                self.gave(number);
            }
            self.hand_over_piece(number, arrival, more).await?;
        }
        self.pace.pass_on();
        drop(piece);
        self.fetch_ahead(arrival.received);
        Ok(())
    }

    /// What is asked for next.
    pub(super) fn wanted(&self, received: u64) -> ObjectPiece {
        if self.course.is_whole && received == 0 {
            // Without a range: some servers and proxies only ever send the whole file right.
            return ObjectPiece::default();
        }
        let most = if self.pool.has_spare() && self.pace.is_network_bound() {
            let mirror = self.course.mirrors.first();
            let host = mirror.map_or("", |mirror| mirror.host.as_str());
            self.pool.next_piece(host, self.left(received))
        } else {
            MOST_BYTES
        };
        let next = self.ahead.front().map(|piece| piece.from);
        let end = next.unwrap_or(received + most);
        let until = self.known.total.map_or(end, |total| end.min(total));
        ObjectPiece {
            from: received,
            until: (!self.course.is_whole).then_some(until),
            tag: None,
        }
    }

    /// Fetches the pieces behind the last one, as long as permits are to spare and the network is what is waited for.
    pub(super) fn fetch_ahead(&mut self, behind: u64) {
        if !self.pace.is_network_bound() {
            return;
        }
        let (Some(total), false) = (self.known.total, self.course.is_whole) else {
            return;
        };
        let Some(mirror) = self.course.mirrors.first().cloned() else {
            return;
        };
        let most = self.pool.most_ahead();
        if !self.room.has_room_for(self.left(behind), most) {
            return;
        }
        let mut from = self.ahead.back().map_or(behind, |piece| piece.until);
        while from < total {
            let Some(permit) = self.pool.spare() else {
                return;
            };
            let until = (from + self.pool.next_piece(&mirror.host, total - from)).min(total);
            let wanted = ObjectPiece {
                from,
                until: Some(until),
                tag: self.known.validators.get(&mirror.number).cloned(),
            };
            let by = Fetching {
                servers: self.servers.clone(),
                pool: Arc::clone(self.pool),
                staging: Arc::clone(self.staging),
            };
            self.requests += 1;
            self.ahead
                .push_back(Piece::begin(by, mirror.clone(), wanted, permit));
            from = until;
        }
    }
}
