//! A proxy before an AWS server that makes it as unfriendly as AWS can be: it throttles each service, and
//! it fails now and then.

use crate::http::{Endpoint, Reply, Request, send};
use crate::random::Random;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Which service a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Service {
    /// EC2: signed for it.
    Ec2,
    /// S3: signed for it, or not signed at all, as downloads of assets are.
    S3,
}

impl Service {
    /// The service this request is for.
    pub fn new(request: &Request) -> Self {
        let signed = request.header("authorization").unwrap_or_default();
        if signed.contains("/ec2/aws4_request") {
            Self::Ec2
        } else {
            Self::S3
        }
    }
}

/// What came of the requests of one service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub passed: u64,
    /// Those refused because they came too soon.
    pub throttled: u64,
    /// Those that failed by chance.
    pub failed: u64,
}

impl Counts {
    /// All of them.
    pub fn all(self) -> u64 {
        self.passed + self.throttled + self.failed
    }
}

/// The proxy's rules and what it did.
#[derive(Debug)]
pub struct Unfriendly {
    server: SocketAddr,
    /// The least time between two requests of a service that get through.
    pace: Duration,
    /// Of so many requests one fails, at a place chosen by chance.
    one_in: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    random: Random,
    /// Requests since the last group of `one_in` began, and which of the group fails.
    place: u64,
    unlucky: u64,
    last: BTreeMap<Service, Instant>,
    counts: BTreeMap<Service, Counts>,
}

impl Unfriendly {
    /// A proxy before the server at this address.
    pub fn before(server: SocketAddr, pace: Duration, one_in: u64, mut random: Random) -> Self {
        let state = State {
            unlucky: random.below(one_in),
            place: 0,
            random,
            last: BTreeMap::new(),
            counts: BTreeMap::new(),
        };
        Self {
            server,
            pace,
            one_in,
            state: Mutex::new(state),
        }
    }

    /// Answers a request: with the server's answer, or with a refusal of its own.
    pub fn answer(&self, request: &Request) -> Reply {
        let service = Service::new(request);
        match self.judge(service) {
            None => forward(self.server, request),
            Some(()) => slow_down(service),
        }
    }

    /// What came of the requests of this service so far.
    pub fn counts(&self, service: Service) -> Counts {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.counts.get(&service).copied().unwrap_or_default()
    }

    /// Whether this request is refused, and counts it.
    fn judge(&self, service: Service) -> Option<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let soon = state
            .last
            .get(&service)
            .is_some_and(|last| now.duration_since(*last) < self.pace);
        let unlucky = state.draw(self.one_in);
        let counts = state.counts.entry(service).or_default();
        match (soon, unlucky) {
            (_, true) => counts.failed += 1,
            (true, false) => counts.throttled += 1,
            (false, false) => {
                counts.passed += 1;
                state.last.insert(service, now);
                return None;
            }
        }
        Some(())
    }
}

impl State {
    /// Whether the next request is the unlucky one of its group.
    fn draw(&mut self, one_in: u64) -> bool {
        let is_unlucky = self.place == self.unlucky;
        self.place += 1;
        if self.place == one_in {
            self.place = 0;
            self.unlucky = self.random.below(one_in);
        }
        is_unlucky
    }
}

/// Passes a request on to a server; its answer, or 502 where there is none.
pub fn forward(server: SocketAddr, request: &Request) -> Reply {
    let dropped = ["connection", "content-length", "transfer-encoding"];
    let headers: Vec<(&str, &str)> = request
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .filter(|(name, _)| !dropped.contains(name))
        .collect();
    let sent = send(
        &Endpoint::Tcp(server),
        &request.method,
        &request.target,
        &headers,
        &request.body,
    );
    match sent {
        Ok(answer) => {
            let kept = |(name, _): &(String, String)| !dropped.contains(&name.as_str());
            let headers = answer.headers.into_iter().filter(kept).collect();
            Reply {
                headers,
                ..Reply::new(answer.status, answer.body)
            }
        }
        Err(error) => Reply::new(502, error.to_string()),
    }
}

/// How each service says that it is asked too much (their API references, lists of errors).
pub fn slow_down(service: Service) -> Reply {
    match service {
        Service::Ec2 => refusal(
            service,
            503,
            "RequestLimitExceeded",
            "Request limit exceeded.",
        ),
        Service::S3 => refusal(service, 503, "SlowDown", "Please reduce your request rate."),
    }
}

/// An error as the service words it in XML.
pub fn refusal(service: Service, status: u16, code: &str, message: &str) -> Reply {
    let error = format!("<Code>{code}</Code><Message>{message}</Message>");
    let body = match service {
        Service::Ec2 => format!(
            "<Response><Errors><Error>{error}</Error></Errors><RequestID>r-1</RequestID></Response>"
        ),
        Service::S3 => format!("<Error>{error}<RequestId>r-1</RequestId></Error>"),
    };
    let body = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{body}");
    Reply::new(status, body).with("content-type", "application/xml")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_request_of_each_group_fails_wherever_chance_puts_it() {
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 1));
        for seed in 0..50 {
            let proxy = Unfriendly::before(nowhere, Duration::ZERO, 20, Random::seeded(seed));
            (0..60).for_each(|_| _ = proxy.judge(Service::S3));
            assert_eq!(proxy.counts(Service::S3).failed, 3, "seed {seed}");
        }
    }
}
