//! The versions that the store assigns, called stamps (V1, V10).
//!
//! A row's stamps strictly increase, even if the clock stands still or jumps back. To read a row for its newest stamp
//! would cost every write a read. So a [`Stamper`] remembers only what it needs. Its invariant:
//!
//! > The stamps of a row that the map does not hold are all below `floor`.
//!
//! So a row outside the map gets the clock's time if that is at or past `floor`. A row in the map gets a stamp above its
//! last one. Only if the clock is behind `floor` and the row is unknown, the store has to read the row ([`Draw::Read`]).
//! Until that read has [settled](Stamper::settle), later writes of the row take the same path and wait behind it. Stamps
//! have to increase in the order in which writes take effect.
//!
//! A row of which nothing is stored any more, not even a deletion, starts anew.
//!
//! A 64-bit hash stands for a row. Two rows with one hash share an entry, which can only raise a stamp by one.

use crate::engine::TreeId;
use rustc_hash::FxHashMap;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Rows that a stamper remembers.
const ROWS: usize = 65_536;

/// A row, as the stamper knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RowHash(u64);

impl RowHash {
    /// The hash of a row.
    pub(crate) fn of(tree: TreeId, key: &[u8]) -> Self {
        Self(xxh3_64_with_seed(key, u64::from(tree.0)))
    }
}

/// The stamp of a write, or how to get it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Draw {
    /// The stamp.
    Stamp(i64),
    /// The stamp must be above the stored row's newest one: read the row, then call [`Stamper::settle`].
    Read,
}

#[derive(Clone, Copy, Debug)]
struct StampEntry {
    /// The newest stamp, if this stamper gave one.
    last: Option<i64>,
    /// Writes that still have to read the row.
    reading: u32,
}

/// Gives each write its stamp.
#[derive(Debug)]
pub(crate) struct Stamper {
    floor: i64,
    newest: i64,
    rows: FxHashMap<RowHash, StampEntry>,
    capacity: usize,
    reading: usize,
}

impl Stamper {
    /// A stamper for a store whose newest stamp is `newest`.
    pub(crate) fn new(newest: i64) -> Self {
        Self::with_capacity(newest, ROWS)
    }

    fn with_capacity(newest: i64, capacity: usize) -> Self {
        Self { floor: newest.saturating_add(1), newest, rows: FxHashMap::default(), capacity, reading: 0 }
    }

    /// Draws the stamp of a write on `row`, at the time `now`. Call it in the order in which writes take effect.
    pub(crate) fn draw(&mut self, row: RowHash, now: i64) -> Draw {
        if now > self.newest {
            self.forget(now);
        } else if self.rows.len() >= self.capacity {
            self.forget(self.newest.saturating_add(1));
        }
        let stamp = match self.rows.get(&row) {
            Some(StampEntry { last: Some(last), reading: 0 }) => now.max(last.saturating_add(1)),
            None if now >= self.floor => now,
            _ => {
                let entry = self.rows.entry(row).or_insert(StampEntry { last: None, reading: 0 });
                entry.reading += 1;
                self.reading += 1;
                return Draw::Read;
            }
        };
        self.give(row, stamp, 0);
        Draw::Stamp(stamp)
    }

    /// The stamp of a write that had to read its row, whose newest stored stamp is `stored`.
    pub(crate) fn settle(&mut self, row: RowHash, now: i64, stored: Option<i64>) -> i64 {
        let entry = self.rows.get(&row).copied();
        let last = entry.and_then(|entry| entry.last).max(stored);
        let stamp = last.map_or(now, |last| now.max(last.saturating_add(1)));
        self.give(row, stamp, entry.map_or(0, |entry| entry.reading));
        stamp
    }

    /// Whether stamps are more than a day ahead of the clock, because the clock was wrong once. Loaded rows would be
    /// stamped ahead of it too, and live longer by that time.
    pub(crate) fn is_far_ahead(&self, now: i64) -> bool {
        self.newest.saturating_sub(now) > 86_400_000
    }

    /// Draws the stamp of rows that are loaded at the time `now`. It is above every other stamp so far. Stamps of the
    /// same load, whose last one was `before`, may be equal, because a load has no row twice. No write may be reading one
    /// of the rows.
    pub(crate) fn load(&mut self, now: i64, before: Option<i64>) -> i64 {
        let all_known = self.rows.is_empty();
        let stamp = match before {
            Some(before) if before == self.newest && before >= now && all_known => before,
            _ if now > self.newest || (now >= self.floor && all_known) => now,
            _ => self.newest.saturating_add(1),
        };
        self.newest = self.newest.max(stamp);
        self.forget(self.newest.saturating_add(1));
        stamp
    }

    /// Ends a write that had to read its row, with or without a stamp.
    pub(crate) fn release(&mut self, row: RowHash) {
        self.reading = self.reading.saturating_sub(1);
        if let Some(entry) = self.rows.get_mut(&row) {
            entry.reading = entry.reading.saturating_sub(1);
            if entry.reading == 0 && entry.last.is_none() {
                self.rows.remove(&row);
            }
        }
    }

    fn give(&mut self, row: RowHash, stamp: i64, reading: u32) {
        self.newest = self.newest.max(stamp);
        self.rows.insert(row, StampEntry { last: Some(stamp), reading });
    }

    /// Every stamp so far is below `floor`, so only the rows that are being read must be remembered.
    fn forget(&mut self, floor: i64) {
        self.floor = floor;
        if self.reading == 0 {
            self.rows.clear();
        } else {
            self.rows.retain(|_, entry| entry.reading > 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn row(id: u8) -> RowHash {
        RowHash::of(TreeId(1), &[id])
    }

    #[test]
    fn v1_the_stamp_is_the_clock() {
        let mut stamper = Stamper::new(10);
        assert_eq!(stamper.draw(row(1), 11), Draw::Stamp(11));
        assert_eq!(stamper.draw(row(2), 11), Draw::Stamp(11), "rows do not push each other");
        assert_eq!(stamper.draw(row(1), 500), Draw::Stamp(500));
    }

    #[test]
    fn v10_a_clock_that_stands_still_bumps_single_rows() {
        let mut stamper = Stamper::new(0);
        let stamps = [(); 3].map(|()| stamper.draw(row(1), 7));
        assert_eq!(stamps, [Draw::Stamp(7), Draw::Stamp(8), Draw::Stamp(9)]);
        assert_eq!(stamper.draw(row(2), 7), Draw::Stamp(7));
    }

    #[test]
    fn v10_a_clock_behind_the_stored_stamps_makes_the_store_read() {
        let mut stamper = Stamper::new(100);
        assert_eq!(stamper.draw(row(1), 50), Draw::Read);
        assert_eq!(
            stamper.draw(row(1), 200),
            Draw::Read,
            "a later write waits behind the reader, whatever the clock says"
        );
        assert_eq!(stamper.settle(row(1), 50, Some(99)), 100);
        stamper.release(row(1));
        assert_eq!(stamper.settle(row(1), 200, Some(100)), 200);
        stamper.release(row(1));
        assert_eq!(stamper.draw(row(1), 60), Draw::Stamp(201), "now it is known");
        assert_eq!(stamper.draw(row(2), 60), Draw::Read);
        assert_eq!(stamper.settle(row(2), 60, None), 60, "a new row gets the clock, which has travelled");
    }

    #[derive(Clone, Debug)]
    enum Step {
        Clock(i64),
        Write(u8),
        Settle,
        Fail,
    }

    proptest! {
        /// V10, for any clock, any failures, a map far too small, and reads that settle late.
        #[test]
        fn v10_stamps_of_a_row_strictly_increase(
            steps in proptest::collection::vec(prop_oneof![
                2 => (0i64..40).prop_map(Step::Clock),
                6 => (0u8..6).prop_map(Step::Write),
                3 => Just(Step::Settle),
                1 => Just(Step::Fail),
            ], 1..200),
        ) {
            let mut stamper = Stamper::with_capacity(20, 3);
            let mut stored = [None, Some(20), Some(3), None, None, None];
            let (mut clock, mut reading) = (0, std::collections::VecDeque::new());
            for step in steps {
                match step {
                    Step::Clock(at) => clock = at,
                    Step::Write(id) => match stamper.draw(row(id), clock) {
                        Draw::Stamp(stamp) => {
                            prop_assert!(reading.iter().all(|&(waiting, _)| waiting != id), "nothing overtakes a reader");
                            prop_assert!(Some(stamp) > stored[usize::from(id)] && stamp >= clock);
                            stored[usize::from(id)] = Some(stamp);
                        }
                        Draw::Read => reading.push_back((id, clock)),
                    },
                    Step::Settle => if let Some((id, at)) = reading.pop_front() {
                        let before = stored[usize::from(id)];
                        let stamp = stamper.settle(row(id), at, before);
                        stamper.release(row(id));
                        prop_assert!(Some(stamp) > before && stamp >= at);
                        stored[usize::from(id)] = Some(stamp);
                    },
                    Step::Fail => if let Some((id, _)) = reading.pop_front() {
                        stamper.release(row(id));
                    },
                }
            }
        }
    }
}
