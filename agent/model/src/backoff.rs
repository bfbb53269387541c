//! Back-off as data: how long to wait before another try. The one loop that sleeps is the engine's.

use std::time::Duration;

/// A back-off policy with full jitter: the n-th pause is drawn evenly from zero to
/// `min(cap, base * 2^n)`, and never less than `floor`.
///
/// Full jitter spreads a thousand nodes that failed at one moment over the whole interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// Upper bound of the first pause.
    pub base: Duration,
    /// Upper bound of every pause.
    pub cap: Duration,
    /// Lower bound of every pause.
    pub floor: Duration,
}

/// For calls the world answers in moments: throttles, 5xx, dropped connections.
pub const TRANSIENT_RETRY: Backoff = Backoff {
    base: Duration::from_millis(500),
    cap: Duration::from_secs(20),
    floor: Duration::from_millis(100),
};

/// For things that come by themselves: late tags, devices, services that start.
pub const ARRIVAL: Backoff = Backoff {
    base: Duration::from_secs(1),
    cap: Duration::from_secs(15),
    floor: Duration::from_millis(200),
};

/// For what another instance has to give up first: half an hour of looks that mostly cost one call each.
pub const WATCH: Backoff = Backoff {
    base: Duration::from_secs(1),
    cap: Duration::from_secs(20),
    floor: Duration::from_millis(500),
};

/// For a conflict that a person has to resolve: some hundred looks an hour, most of them one call.
pub const CONFLICT: Backoff = Backoff {
    base: Duration::from_secs(15),
    cap: Duration::from_secs(60),
    floor: Duration::from_secs(10),
};

impl Backoff {
    /// The pause before try number `attempt + 1`, for a `draw` taken evenly from `0.0..1.0`.
    pub fn pause(&self, attempt: u32, draw: f64) -> Duration {
        let ceiling = self.base.saturating_mul(1 << attempt.min(16)).min(self.cap);
        ceiling.mul_f64(draw.clamp(0.0, 1.0)).max(self.floor)
    }
}

/// A small seeded generator for jitter (SplitMix64): the same instance draws the same pauses, two
/// instances draw different ones, and tests can repeat a run.
#[derive(Debug, Clone)]
pub struct Jitter(u64);

impl Jitter {
    /// A generator seeded by any text that differs between nodes, such as the instance id.
    pub fn seeded(text: &str) -> Self {
        // FNV-1a: spreads short, similar texts over the whole state.
        let seed = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(seed)
    }

    /// The next draw, evenly from `0.0..1.0`.
    pub fn draw(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        // 53 bits are what an f64 holds exactly.
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_stay_between_floor_and_cap() {
        let mut jitter = Jitter::seeded("i-0123456789abcdef0");
        for attempt in 0..200 {
            let pause = TRANSIENT_RETRY.pause(attempt, jitter.draw());
            assert!(
                pause >= TRANSIENT_RETRY.floor && pause <= TRANSIENT_RETRY.cap,
                "{attempt}: {pause:?}"
            );
        }
    }

    #[test]
    fn two_instances_draw_different_pauses() {
        assert_ne!(
            Jitter::seeded("i-1").draw().to_bits(),
            Jitter::seeded("i-2").draw().to_bits()
        );
    }
}
