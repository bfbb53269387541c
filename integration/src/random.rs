//! Chance that can be had again: a seeded generator, and where the seed comes from.

/// A small seeded generator (SplitMix64).
#[derive(Debug, Clone)]
pub struct Random(u64);

/// The seed when none is asked for.
const SEED: u64 = 0x5eed;

impl Random {
    /// A generator with this seed.
    pub fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// A generator with the seed that the environment variable `QUAKE_SEED` gives, else with a constant
    /// one; printed, so that a failed run can be had again.
    pub fn from_environment() -> Self {
        let requested = std::env::var("QUAKE_SEED").ok();
        let seed = requested.and_then(|text| text.parse().ok()).unwrap_or(SEED);
        println!("QUAKE_SEED={seed}");
        Self::seeded(seed)
    }

    /// The next number.
    pub fn next_number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// The next number below `end`, which is not zero.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next_number() % end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let draw = |seed| {
            let mut random = Random::seeded(seed);
            (0..4).map(|_| random.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}
