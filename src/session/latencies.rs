//! Latencies by their size, in bounded memory: a histogram for each of the last seconds, which percentiles are read from.
//!
//! A histogram is log-linear: 16 cells for each doubling, and a cell for each microsecond below 32. So a percentile is at
//! most 1/32 away from the exact one.

/// The cells of each doubling, as a power of two.
const STEPS: u32 = 4;
/// Cells up to [`MOST_US`].
const CELLS: usize = 384;
/// Longer latencies count as this one: 134 seconds.
const MOST_US: u64 = (1 << 27) - 1;

/// The cells of a second.
type Cells = [u32; CELLS];

/// The latencies of one operation in each of `SECONDS` seconds: 1.5 KB for each of them, from the first request on.
#[derive(Debug)]
pub(super) struct Latencies<const SECONDS: usize>(Option<Box<[Cells; SECONDS]>>);

impl<const SECONDS: usize> Default for Latencies<SECONDS> {
    fn default() -> Self {
        Self(None)
    }
}

/// The cell of a latency.
fn cell(latency_us: u64) -> usize {
    let latency = latency_us.min(MOST_US);
    let shift = (latency | (1 << STEPS)).ilog2() - STEPS;
    ((u64::from(shift) << STEPS) + (latency >> shift)) as usize
}

/// The middle of a cell, in microseconds.
fn middle(cell: usize) -> u64 {
    let shift = (cell >> STEPS).saturating_sub(1);
    ((cell - (shift << STEPS)) << shift) as u64 + ((1 << shift) - 1) / 2
}

impl<const SECONDS: usize> Latencies<SECONDS> {
    /// Requests of the second at `place` took this long.
    pub(super) fn add(&mut self, place: usize, latency_us: u64, requests: u64) {
        let seconds = self.0.get_or_insert_with(|| Box::new([[0; CELLS]; SECONDS]));
        let count = &mut seconds[place][cell(latency_us)];
        *count = count.saturating_add(requests as u32);
    }

    /// Another second takes this place.
    pub(super) fn forget(&mut self, place: usize) {
        if let Some(seconds) = &mut self.0 {
            seconds[place].fill(0);
        }
    }
}

/// The latencies of several seconds and operations together.
#[derive(Default)]
pub(super) struct Spread(Vec<u64>);

impl Spread {
    /// Adds the latencies of the second at `place`.
    pub(super) fn add<const SECONDS: usize>(&mut self, latencies: &Latencies<SECONDS>, place: usize) {
        let Some(seconds) = &latencies.0 else { return };
        self.0.resize(CELLS, 0);
        for (sum, count) in self.0.iter_mut().zip(&seconds[place]) {
            *sum += u64::from(*count);
        }
    }

    /// The latency, in microseconds, that this many in a hundred did not exceed: the nearest rank. 0 without requests.
    pub(super) fn percentile(&self, percent: u64) -> u64 {
        let rank = (self.0.iter().sum::<u64>() * percent).div_ceil(100).max(1);
        let mut seen = 0;
        let place = self.0.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        place.map_or(0, middle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The exact percentile by the nearest rank.
    fn exact(mut latencies: Vec<u64>, percent: usize) -> u64 {
        latencies.sort_unstable();
        latencies[(latencies.len() * percent).div_ceil(100).max(1) - 1]
    }

    #[test]
    fn i5_the_cells_follow_each_other_and_end_with_the_longest_latency() {
        assert!((0..32).all(|us| cell(us) == us as usize && middle(us as usize) == us), "exact below 32 µs");
        assert!((1..1 << 20).all(|us| (0..=1).contains(&(cell(us) - cell(us - 1)))), "no cell is left out");
        assert_eq!((cell(MOST_US), cell(MOST_US + 1), cell(u64::MAX)), (CELLS - 1, CELLS - 1, CELLS - 1));
    }

    #[test]
    fn i5_no_latency_has_no_percentile() {
        assert_eq!(Spread::default().percentile(50), 0);
        let mut spread = Spread::default();
        let mut latencies = Latencies::<2>::default();
        spread.add(&latencies, 0);
        assert_eq!(spread.percentile(99), 0);
        latencies.add(1, 700, 3);
        spread.add(&latencies, 0);
        assert_eq!(spread.percentile(99), 0, "of another second");
        latencies.forget(1);
        spread.add(&latencies, 1);
        assert_eq!(spread.percentile(99), 0, "forgotten");
    }

    proptest! {
        #[test]
        fn i5_percentiles_are_within_a_32nd_of_the_exact_ones(
            latencies in prop::collection::vec((0_usize..5, (0_u32..27).prop_flat_map(|bits| 0..(2_u64 << bits))), 1..300),
        ) {
            let mut seconds = Latencies::<5>::default();
            latencies.iter().for_each(|&(place, latency)| seconds.add(place, latency, 1));
            let mut spread = Spread::default();
            (0..5).for_each(|place| spread.add(&seconds, place));
            for percent in [1, 50, 99, 100] {
                let wanted = exact(latencies.iter().map(|(_, latency)| *latency).collect(), percent);
                let told = spread.percentile(percent as u64);
                prop_assert!(told.abs_diff(wanted) * 32 <= wanted, "{told} for {wanted}");
            }
        }
    }
}
