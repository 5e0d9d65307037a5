//! The right contents of a table with indexes and transactions: rows of values, each with the time of its write.

use crate::texts;
use std::collections::BTreeMap;

/// A value; sorted as the store sorts those of one type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Val {
    Int(i64),
    Text(String),
}

/// A row's key: the partition key, and the rest. The numbers stand for texts, which ascend as they do.
pub(crate) type Id = (i64, i64);

/// The cells of a row as they are read, sorted by column.
pub(crate) type Cells = Vec<(String, Val)>;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Row {
    /// When a PutRow made it exist.
    put: Option<i64>,
    cells: BTreeMap<&'static str, (Val, i64)>,
}

/// The effect of one write on a column.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Put(Val),
    Delete,
    Add(i64),
}

/// The effect of one write on a row.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Put(Vec<(&'static str, Val)>),
    Update(Vec<(&'static str, Op)>),
    Delete,
}

/// The rows of a table, or those that a transaction sees.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rows(BTreeMap<Id, Row>);

impl Val {
    /// The key text of that number.
    pub(crate) fn key(number: i64) -> Self {
        Self::Text(texts::key(number).to_owned())
    }

    /// The key of a row as it is read.
    pub(crate) fn of(id: Id) -> Vec<Self> {
        vec![Self::key(id.0), Self::key(id.1)]
    }

    /// One of few texts of any script.
    pub(crate) fn word(number: i64) -> Self {
        Self::Text(texts::word(number).to_owned())
    }
}

/// Seconds; -1 is for ever.
fn alive(time: i64, now: i64, time_to_live: i64) -> bool {
    time_to_live == -1 || time.div_euclid(1000) >= now.div_euclid(1000) - time_to_live
}

impl Row {
    /// The cells, if it exists.
    fn visible(&self, now: i64, time_to_live: i64) -> Option<Cells> {
        let alive = |time: i64| alive(time, now, time_to_live);
        let cells: Cells = self
            .cells
            .iter()
            .filter(|(_, (_, time))| alive(*time))
            .map(|(name, (value, _))| ((*name).to_owned(), value.clone()))
            .collect();
        (!cells.is_empty() || self.put.is_some_and(alive)).then_some(cells)
    }
}

impl Rows {
    pub(crate) fn get(&self, id: Id, now: i64, time_to_live: i64) -> Option<Cells> {
        self.0.get(&id)?.visible(now, time_to_live)
    }

    /// All rows, in the order of their keys.
    pub(crate) fn all(&self, now: i64, time_to_live: i64) -> Vec<(Vec<Val>, Cells)> {
        self.0.iter().filter_map(|(id, row)| Some((Val::of(*id), row.visible(now, time_to_live)?))).collect()
    }

    /// Does what a write asks for. Says what an increment came to.
    pub(crate) fn apply(&mut self, id: Id, change: &Change, now: i64) -> Option<i64> {
        let row = self.0.entry(id).or_default();
        let mut sum = None;
        match change {
            Change::Put(cells) => {
                *row = Row {
                    put: Some(now),
                    cells: cells.iter().map(|(name, value)| (*name, (value.clone(), now))).collect(),
                };
            }
            Change::Update(ops) => {
                for (name, op) in ops {
                    let value = match op {
                        Op::Put(value) => value.clone(),
                        Op::Delete => {
                            row.cells.remove(name);
                            continue;
                        }
                        Op::Add(delta) => {
                            let old = match row.cells.get(name) {
                                Some((Val::Int(old), _)) => *old,
                                _ => 0,
                            };
                            sum = Some(old + delta);
                            Val::Int(old + delta)
                        }
                    };
                    row.cells.insert(name, (value, now));
                }
            }
            Change::Delete => *row = Row::default(),
        }
        sum
    }

    /// Those of one partition key.
    pub(crate) fn partition(&self, p: i64) -> Self {
        Self(self.0.range((p, i64::MIN)..=(p, i64::MAX)).map(|(id, row)| (*id, row.clone())).collect())
    }

    /// Takes the rows of a partition key as a transaction left them.
    pub(crate) fn take(&mut self, p: i64, rows: &Self) {
        self.0.retain(|id, _| id.0 != p);
        self.0.extend(rows.0.iter().map(|(id, row)| (*id, row.clone())));
    }

    /// Takes one row as it is there.
    pub(crate) fn take_row(&mut self, id: Id, rows: &Self) {
        match rows.0.get(&id) {
            Some(row) => self.0.insert(id, row.clone()),
            None => self.0.remove(&id),
        };
    }

    /// Forgets what has expired, as a compaction does.
    pub(crate) fn forget(&mut self, now: i64, time_to_live: i64) {
        let alive = |time: i64| alive(time, now, time_to_live);
        for row in self.0.values_mut() {
            row.cells.retain(|_, (_, time)| alive(*time));
            row.put = row.put.filter(|time| alive(*time));
        }
    }

    /// Whether something is about to expire, so that a version that is off by a little would count.
    pub(crate) fn on_the_edge(&self, now: i64, time_to_live: i64) -> bool {
        let near = |time: i64| time_to_live != -1 && (now - time - time_to_live * 1000).abs() < 200_000;
        self.0.values().any(|row| row.put.is_some_and(near) || row.cells.values().any(|(_, time)| near(*time)))
    }
}

/// An index as it was defined: its whole key, and the columns that it carries besides.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    pub(crate) name: &'static str,
    pub(crate) key: &'static [&'static str],
    pub(crate) columns: &'static [&'static str],
    pub(crate) time_to_live: i64,
}

impl Index {
    /// The right index rows for these rows: one for each that has all columns of the key.
    pub(crate) fn derive(&self, rows: Vec<(Vec<Val>, Cells)>) -> Vec<(Vec<Val>, Cells)> {
        let mut derived = Vec::new();
        for (id, cells) in rows {
            let value = |name: &str| match name {
                "p" => Some(id[0].clone()),
                "id" => Some(id[1].clone()),
                _ => cells.iter().find(|cell| cell.0 == name).map(|cell| cell.1.clone()),
            };
            let carried = cells.iter().filter(|cell| self.columns.contains(&cell.0.as_str())).cloned();
            if let Some(key) = self.key.iter().map(|name| value(name)).collect::<Option<Vec<_>>>() {
                derived.push((key, carried.collect()));
            }
        }
        derived.sort_by(|a, b| a.0.cmp(&b.0));
        derived
    }
}
