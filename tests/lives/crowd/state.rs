//! The possible rows of one partition key: plain rows, and the effects of a write or a transaction.

/// When a cell was written: ms since 1970, then a number that tells apart what the store stamps within one ms. It is 0 for
/// a version that a client gave.
pub(crate) type Time = i64;

/// Bits of the number behind the ms.
const PLACE_BITS: u32 = 16;

/// The store stamps a row above its last stamp, so its stamp may be behind the clock by so many ms.
const STAMP_SLACK: i64 = 90;

/// The time of a version that a client gives.
pub(crate) fn given(version: i64) -> Time {
    version << PLACE_BITS
}

/// The next time that the store may stamp, at the clock `now` and behind `last`.
pub(crate) fn stamped(now: i64, last: Time) -> Time {
    ((now << PLACE_BITS) + 1).max(last + 1)
}

/// The version that a client gave, if it did.
pub(crate) fn version(time: Time) -> Option<i64> {
    (given(ms(time)) == time).then(|| ms(time))
}

/// The ms of a cell's version, or a little less if the store stamped it.
pub(crate) fn ms(time: Time) -> i64 {
    time >> PLACE_BITS
}

fn second(time: Time) -> i64 {
    ms(time).div_euclid(1000)
}

/// A number stands for a column, and for a value of that column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    column: usize,
    time: Time,
    value: i64,
}

/// A row, whether it exists or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    /// How old a PutRow left it.
    marker: Option<Time>,
    /// Ascending by column, then the newest first.
    cells: Vec<Cell>,
}

/// The effect of an update on a column.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Put(Time, i64),
    Delete,
    Add(Time, i64),
}

/// The effect of a write on its row.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// The row is replaced: it is as old as its newest cell, or as the given time.
    Put(Time, Vec<(usize, Time, i64)>),
    Update(Vec<(usize, Op)>),
    Delete,
}

/// The state that a write expects of its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    Anything,
    Row,
    NoRow,
    /// A column has this value.
    Value(usize, i64),
}

/// A write of a row, asked for at a second of the clock.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) row: usize,
    pub(crate) expected: Expected,
    pub(crate) change: Change,
    pub(crate) second: i64,
}

/// The table's options of visibility.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) time_to_live: i64,
    pub(crate) max_versions: usize,
}

/// A row as it was read: column, version, value; nothing if there was none.
pub(crate) type Seen = Option<Vec<(usize, i64, i64)>>;

impl Rules {
    fn alive(self, time: Time, now: i64) -> bool {
        self.time_to_live == -1 || second(time) >= now - self.time_to_live
    }
}

impl Row {
    fn visible(&self, rules: Rules, now: i64) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(move |cell| rules.alive(cell.time, now))
    }

    fn exists(&self, rules: Rules, now: i64) -> bool {
        self.marker.is_some_and(|time| rules.alive(time, now)) || self.visible(rules, now).next().is_some()
    }

    fn newest(&self, column: usize, rules: Rules, now: i64) -> Option<i64> {
        self.visible(rules, now).find(|cell| cell.column == column).map(|cell| cell.value)
    }

    /// Whether a reader at that second sees the row so.
    pub(crate) fn is_seen(&self, seen: &Seen, rules: Rules, now: i64) -> bool {
        let Some(cells) = seen else { return !self.exists(rules, now) };
        let agrees = |(cell, &(column, read, value)): (&Cell, &(usize, i64, i64))| {
            let slack = if version(cell.time).is_some() { 0 } else { STAMP_SLACK };
            (cell.column, cell.value) == (column, value) && (0..=slack).contains(&(read - ms(cell.time)))
        };
        self.exists(rules, now)
            && self.visible(rules, now).count() == cells.len()
            && self.visible(rules, now).zip(cells).all(agrees)
    }

    fn holds(&self, expected: Expected, rules: Rules, now: i64) -> bool {
        match expected {
            Expected::Anything => true,
            Expected::Row => self.exists(rules, now),
            Expected::NoRow => !self.exists(rules, now),
            Expected::Value(column, value) => self.newest(column, rules, now) == Some(value),
        }
    }

    fn put(&mut self, column: usize, time: Time, value: i64, rules: Rules) {
        let at = self.cells.partition_point(|cell| (cell.column, -cell.time) < (column, -time));
        match self.cells.get_mut(at) {
            Some(cell) if (cell.column, cell.time) == (column, time) => cell.value = value,
            _ => self.cells.insert(at, Cell { column, time, value }),
        }
        // Hidden cells stay hidden: no life deletes single versions.
        let first = self.cells.partition_point(|cell| cell.column < column);
        if self.cells.get(first + rules.max_versions).is_some_and(|cell| cell.column == column) {
            self.cells.remove(first + rules.max_versions);
        }
    }
}

impl Write {
    /// Whether its condition holds for these rows at this second.
    pub(crate) fn holds(&self, rows: &[Row], rules: Rules, now: i64) -> bool {
        rows[self.row].holds(self.expected, rules, now)
    }

    /// Changes its row at this second. Gives what an increment came to.
    pub(crate) fn apply(&self, rows: &mut [Row], rules: Rules, now: i64) -> Option<i64> {
        let row = &mut rows[self.row];
        let mut sum = None;
        match &self.change {
            Change::Put(stamp, cells) => {
                let newest = cells.iter().map(|cell| cell.1).max();
                *row = Row { marker: Some(newest.unwrap_or(*stamp)), cells: Vec::new() };
                cells.iter().for_each(|&(column, time, value)| row.put(column, time, value, rules));
            }
            Change::Update(ops) => {
                for &(column, op) in ops {
                    match op {
                        Op::Put(time, value) => row.put(column, time, value, rules),
                        Op::Delete => row.cells.retain(|cell| cell.column != column),
                        Op::Add(time, delta) => {
                            let value = row.newest(column, rules, now).unwrap_or(0) + delta;
                            sum = Some(value);
                            row.put(column, time, value, rules);
                        }
                    }
                }
            }
            Change::Delete => *row = Row::default(),
        }
        sum
    }
}
