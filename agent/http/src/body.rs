//! The bytes of an answer, as they come, with limits on how long they may take.

use super::failure::HttpFailure;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};

/// The body of an answer. It fails when nothing comes for too long.
#[derive(Debug)]
pub struct AnswerBody {
    incoming: Incoming,
    /// How long nothing may come.
    silence: Option<Duration>,
    /// When everything must have come.
    ends: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
    /// Whether the timer runs for the wait under way.
    is_waiting: bool,
}

impl AnswerBody {
    pub(crate) fn new(
        incoming: Incoming,
        silence: Option<Duration>,
        ends: Option<Instant>,
    ) -> Self {
        Self {
            incoming,
            silence,
            ends,
            timer: None,
            is_waiting: false,
        }
    }

    /// Whether the wait for more is over its limit. The timer is set only where there is a wait: most bytes of a fast
    /// peer are there when they are asked for.
    fn poll_late(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if !self.is_waiting {
            let Some(end) = earliest(self.silence, self.ends) else {
                return Poll::Pending;
            };
            match &mut self.timer {
                Some(timer) => timer.as_mut().reset(end),
                None => self.timer = Some(Box::pin(timer(end))),
            }
            self.is_waiting = true;
        }
        match &mut self.timer {
            Some(timer) => timer.as_mut().poll(context),
            None => Poll::Pending,
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "it limits a wait for a peer, and paces nothing"
)]
fn timer(end: Instant) -> Sleep {
    sleep_until(end)
}

/// When a wait that begins now is over: after `silence`, or at `ends`.
pub(crate) fn earliest(silence: Option<Duration>, ends: Option<Instant>) -> Option<Instant> {
    let quiet = silence.map(|silence| Instant::now() + silence);
    quiet.into_iter().chain(ends).min()
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = HttpFailure;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpFailure>>> {
        match Pin::new(&mut self.incoming).poll_frame(context) {
            Poll::Ready(frame) => {
                self.is_waiting = false;
                Poll::Ready(frame.map(|frame| frame.map_err(HttpFailure::body)))
            }
            Poll::Pending => {
                let late = self.poll_late(context);
                late.map(|()| Some(Err(HttpFailure::silent())))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
