//! Medians, ratios of pairs and straight lines: all the arithmetic of the report.

use serde::{Deserialize, Serialize};

/// Above this ratio of its slowest to its fastest run, a subject is not steady enough to be compared.
pub(crate) const STEADY: f64 = 1.8;

/// How far the largest point may lie above the line through the others before growth is called superlinear.
///
/// A guess: twice the spread seen between rounds on a busy machine.
const SUPERLINEAR: f64 = 1.4;

/// The middle of several values and how far they reach.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spread {
    /// The median; the mean of the middle two when the count is even.
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// The spread of these values; `None` of none.
    pub(crate) fn new(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median = if sorted.len().is_multiple_of(2) {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        } else {
            sorted[middle]
        };
        Some(Self { median, min, max })
    }

    /// Whether the values lie close enough together to compare others with.
    pub(crate) fn is_steady(&self) -> bool {
        self.max <= self.min * STEADY
    }
}

/// What comes of comparing two subjects.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Comparison {
    /// The median of the ratios of the rounds, with their spread; above one, the first is better.
    Ratio(Spread),
    /// The first one's own runs lie too far apart: largest over smallest.
    Unsteady(f64),
    /// There is no round in which both ran well.
    Nothing,
}

/// Compares two subjects round by round: `theirs / ours`, over the rounds in which both have a figure.
///
/// No ratio is told of a figure in which our own runs lie too far apart.
pub(crate) fn compare(ours: &[Option<f64>], theirs: &[Option<f64>]) -> Comparison {
    let own: Vec<f64> = ours.iter().copied().flatten().collect();
    if let Some(own) = Spread::new(&own)
        && !own.is_steady()
    {
        return Comparison::Unsteady(own.max / own.min);
    }
    let ratios: Vec<f64> = ours
        .iter()
        .zip(theirs)
        .filter_map(|(ours, theirs)| Some((*ours)?).zip(*theirs))
        .filter(|(ours, _)| *ours > 0.0)
        .map(|(ours, theirs)| theirs / ours)
        .collect();
    Spread::new(&ratios).map_or(Comparison::Nothing, Comparison::Ratio)
}

/// A straight line through points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Line {
    pub(crate) start: f64,
    /// The growth for each unit.
    pub(crate) slope: f64,
}

impl Line {
    /// The least-squares line; `None` of fewer than two different places.
    pub(crate) fn through(points: &[(f64, f64)]) -> Option<Self> {
        let count = f64::from(u32::try_from(points.len()).ok()?);
        let (sum_x, sum_y) = points
            .iter()
            .fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
        let (mean_x, mean_y) = (sum_x / count, sum_y / count);
        let (mut over, mut under) = (0.0, 0.0);
        for (x, y) in points {
            over += (x - mean_x) * (y - mean_y);
            under += (x - mean_x) * (x - mean_x);
        }
        (under > 0.0).then(|| Self {
            start: mean_y - over / under * mean_x,
            slope: over / under,
        })
    }

    fn at(self, x: f64) -> f64 {
        self.start + self.slope * x
    }
}

/// Whether the last point lies well above the line through the ones before it.
pub(crate) fn is_superlinear(points: &[(f64, f64)]) -> bool {
    let Some((last, before)) = points.split_last() else {
        return false;
    };
    Line::through(before).is_some_and(|line| last.1 > SUPERLINEAR * line.at(last.0))
}

/// The value below which this share of the values lies, by the nearest rank; `None` of no values.
pub(crate) fn percentile(values: &[f64], percent: usize) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

/// A count as a float; the counts here are far below 2^52, so nothing is lost.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of bytes, requests and milliseconds"
)]
pub(crate) fn to_float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(median: f64, min: f64, max: f64) -> Spread {
        Spread { median, min, max }
    }

    #[test]
    fn the_median_of_an_even_count_lies_between_the_middle_two() {
        assert_eq!(Spread::new(&[4.0, 1.0, 3.0]), Some(spread(3.0, 1.0, 4.0)));
        assert_eq!(
            Spread::new(&[4.0, 1.0, 3.0, 2.0]),
            Some(spread(2.5, 1.0, 4.0))
        );
        assert_eq!(Spread::new(&[]), None);
    }

    #[test]
    fn a_ratio_is_of_pairs_and_skips_rounds_that_one_side_lost() {
        let ours = [Some(1.0), Some(1.6), None];
        let theirs = [Some(3.0), Some(3.2), Some(100.0)];
        let ratio = compare(&ours, &theirs);
        assert_eq!(ratio, Comparison::Ratio(spread(2.5, 2.0, 3.0)));
    }

    #[test]
    fn no_ratio_is_told_when_our_own_runs_are_unsteady() {
        let ours = [Some(1.0), Some(2.0)];
        assert_eq!(compare(&ours, &ours), Comparison::Unsteady(2.0));
        let ours = [Some(1.0), Some(1.8)];
        let swing = compare(&ours, &ours);
        assert_eq!(swing, Comparison::Ratio(spread(1.0, 1.0, 1.0)));
    }

    #[test]
    fn a_line_goes_through_points_that_lie_on_one() {
        let line = Line::through(&[(1.0, 5.0), (2.0, 7.0), (4.0, 11.0)]).expect("a line");
        assert!((line.slope - 2.0).abs() < 1e-9 && (line.start - 3.0).abs() < 1e-9);
        assert_eq!(Line::through(&[(1.0, 5.0), (1.0, 6.0)]), None);
    }

    #[test]
    fn growth_with_the_square_is_flagged_and_growth_along_a_line_is_not() {
        let square: Vec<_> = [1.0, 4.0, 16.0, 64.0].map(|x| (x, x * x)).to_vec();
        let straight: Vec<_> = [1.0, 4.0, 16.0, 64.0].map(|x| (x, 2.0 + x)).to_vec();
        assert!(is_superlinear(&square));
        assert!(!is_superlinear(&straight));
    }

    #[test]
    fn a_percentile_is_a_value_that_was_seen() {
        let values: Vec<f64> = (1..=64).map(f64::from).collect();
        assert_eq!(percentile(&values, 50), Some(32.0));
        assert_eq!(percentile(&values, 99), Some(64.0));
        assert_eq!(percentile(&[7.0], 99), Some(7.0));
        assert_eq!(percentile(&[], 50), None);
    }
}
