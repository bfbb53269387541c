//! Numbers from a seed: SplitMix64 (Steele, Lea and Flood, 2014), which needs eight bytes of state and passes BigCrush.

/// A source of numbers that is the same wherever the seed is the same.
#[derive(Debug, Clone)]
pub struct Draw(u64);

impl Draw {
    /// The source of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A source for one purpose, which does not depend on what is drawn for others.
    pub fn of(seed: u64, purpose: &[u64]) -> Self {
        let mut draw = Self(seed);
        for part in purpose {
            draw.0 = draw.number() ^ part;
        }
        draw
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from `from` to `to`, both included.
    pub fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.number() % (to.saturating_sub(from) + 1)
    }

    /// Whether something happens that happens in so many of a hundred cases.
    pub fn percent(&mut self, of_hundred: u64) -> bool {
        self.number() % 100 < of_hundred
    }

    /// An index below `length`, which is not 0.
    pub fn index(&mut self, length: usize) -> usize {
        let drawn = self.number() % (length.max(1) as u64);
        usize::try_from(drawn).unwrap_or_default()
    }

    /// One of these.
    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.index(of.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same_and_another_draws_another() {
        let drawn = |seed| {
            let mut draw = Draw::new(seed);
            [draw.number(), draw.number(), draw.between(3, 9)]
        };
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }

    #[test]
    fn a_purpose_has_numbers_of_its_own() {
        let first = |purpose: &[u64]| Draw::of(7, purpose).number();
        assert_ne!(first(&[1]), first(&[2]));
        assert_ne!(first(&[1, 2]), first(&[2, 1]));
    }
}
