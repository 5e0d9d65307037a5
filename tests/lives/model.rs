//! The right contents of a table: the simplest model that follows the rules.
//!
//! The model keeps every cell that was put and not deleted, and computes the visible ones. A cell that was hidden once
//! (too many versions, expired) may be removed in the background at any time. So with background compaction it is only
//! *maybe* there when it would become visible again (V3, V5).

use std::cmp::Reverse;
use std::collections::BTreeMap;
use tabstore::model::TableOptions;

/// A cell as it is read: column, version, value.
pub(crate) type Seen = (String, i64, i64);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) value: i64,
    maybe: bool,
}

/// A row: cells by column and version, newest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    /// When a PutRow made it exist, and whether that may be forgotten.
    marker: Option<(i64, bool)>,
    pub(crate) cells: BTreeMap<(String, Reverse<i64>), Cell>,
    /// The newest stamp on the row.
    pub(crate) last_stamp: i64,
}

/// A table's rows by id, and its options.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) options: TableOptions,
    pub(crate) rows: BTreeMap<i64, Row>,
    /// Whether hidden cells may go at any time.
    pub(crate) background: bool,
}

fn second(ms: i64) -> i64 {
    ms.div_euclid(1000)
}

impl Table {
    fn alive(&self, version: i64, now: i64) -> bool {
        self.options.time_to_live == -1 || second(version) >= second(now) - self.options.time_to_live
    }

    /// The visible cells, if the row exists, taking every maybe for a yes.
    pub(crate) fn visible(&self, id: i64, now: i64) -> Option<Vec<Seen>> {
        let row = self.rows.get(&id)?;
        let mut seen: Vec<Seen> = Vec::new();
        for ((column, Reverse(version)), cell) in &row.cells {
            let of_column = seen.iter().filter(|(name, _, _)| name == column).count();
            if self.alive(*version, now) && (of_column as i64) < self.options.max_versions {
                seen.push((column.clone(), *version, cell.value));
            }
        }
        let marked = row.marker.is_some_and(|(time, _)| self.alive(time, now));
        (marked || !seen.is_empty()).then_some(seen)
    }

    /// Notes which cells are hidden now: they may not come back.
    pub(crate) fn note_hidden(&mut self, now: i64) {
        if !self.background {
            return;
        }
        let ids: Vec<i64> = self.rows.keys().copied().collect();
        for id in ids {
            let visible = self.visible(id, now).unwrap_or_default();
            let gone = self.rows.get(&id).and_then(|row| row.marker).is_some_and(|(time, _)| !self.alive(time, now));
            let Some(row) = self.rows.get_mut(&id) else { continue };
            for ((column, Reverse(version)), cell) in &mut row.cells {
                cell.maybe |= !visible.iter().any(|(name, seen, _)| name == column && seen == version);
            }
            if let Some((_, maybe)) = &mut row.marker {
                *maybe |= gone;
            }
        }
    }

    /// The rest after an explicit compaction: only visible cells. Cells may have been kept if those that hide them are
    /// only maybe there.
    pub(crate) fn compact(&mut self, now: i64) {
        if self.background {
            return self.note_hidden(now);
        }
        let ids: Vec<i64> = self.rows.keys().copied().collect();
        for id in ids {
            let visible = self.visible(id, now).unwrap_or_default();
            let alive = |time| self.alive(time, now);
            let marker = self.rows.get(&id).and_then(|row| row.marker).filter(|(time, _)| alive(*time));
            let Some(row) = self.rows.get_mut(&id) else { continue };
            row.cells.retain(|(column, version), _| {
                visible.iter().any(|(name, seen, _)| name == column && *seen == version.0)
            });
            row.marker = marker;
            if row.cells.is_empty() && marker.is_none() {
                // Nothing remembers the row, nor its stamps.
                row.last_stamp = 0;
            }
        }
    }

    pub(crate) fn put(&mut self, id: i64, cells: &[Seen], stamp: i64) {
        let time = cells.iter().map(|cell| cell.1).max().unwrap_or(stamp);
        let row = self.rows.entry(id).or_default();
        row.cells.clear();
        row.marker = Some((time, false));
        self.add(id, cells, stamp);
    }

    pub(crate) fn add(&mut self, id: i64, cells: &[Seen], stamp: i64) {
        let row = self.rows.entry(id).or_default();
        for (column, version, value) in cells {
            row.cells.insert((column.clone(), Reverse(*version)), Cell { value: *value, maybe: false });
        }
        row.last_stamp = row.last_stamp.max(stamp);
    }

    pub(crate) fn delete_column(&mut self, id: i64, column: &str) {
        if let Some(row) = self.rows.get_mut(&id) {
            row.cells.retain(|(name, _), _| name != column);
        }
    }

    /// With a visible version go the older ones that the number of versions hides (V2), expired or not. Among cells that
    /// are only maybe there, it is not always known which ones are hidden.
    pub(crate) fn delete_version(&mut self, id: i64, column: &str, version: i64) {
        let most = usize::try_from(self.options.max_versions).unwrap_or(usize::MAX);
        let Some(row) = self.rows.get_mut(&id) else { return };
        let mut deleted = None;
        let (mut newer, mut sure) = (0, 0);
        row.cells.retain(|(name, Reverse(at)), cell| {
            if name != column {
                return true;
            }
            let goes = *at == version || (deleted == Some(true) && sure >= most);
            if *at == version {
                deleted = (newer < most).then_some(!cell.maybe);
            }
            cell.maybe |= deleted.is_some() && newer >= most;
            newer += 1;
            sure += usize::from(!cell.maybe);
            !goes
        });
    }

    pub(crate) fn delete(&mut self, id: i64, stamp: i64) {
        if let Some(row) = self.rows.get_mut(&id) {
            row.cells.clear();
            row.marker = None;
            row.last_stamp = row.last_stamp.max(stamp);
        }
    }

    /// Says what is wrong with what was read of a row, if anything is.
    pub(crate) fn check(&self, id: i64, now: i64, read: Option<&[Seen]>) -> Result<(), String> {
        let expected = self.visible(id, now);
        if !self.background {
            let same = read == expected.as_deref();
            return if same { Ok(()) } else { Err(format!("row {id} is {read:?}, expected {expected:?}")) };
        }
        let wrong = |what: &str| Err(format!("row {id} is {read:?}: {what}; at most {expected:?}"));
        let none = Row::default();
        let row = self.rows.get(&id).unwrap_or(&none);
        let cells = read.unwrap_or_default();
        let limit = usize::try_from(self.options.max_versions).unwrap_or(usize::MAX);
        for (column, version, value) in cells {
            match row.cells.get(&(column.clone(), Reverse(*version))) {
                Some(cell) if cell.value == *value && self.alive(*version, now) => {}
                other => {
                    return wrong(&format!("nobody put {column} {version} {value}, or it expired: {other:?}"));
                }
            }
        }
        for ((column, Reverse(version)), cell) in &row.cells {
            let of_column: Vec<i64> = cells.iter().filter(|(name, _, _)| name == column).map(|cell| cell.1).collect();
            if of_column.len() > limit || !of_column.is_sorted_by(|a, b| a > b) {
                return wrong("too many versions, or in the wrong order");
            }
            let displaced = of_column.len() == limit && of_column.iter().all(|newer| newer > version);
            if !cell.maybe && self.alive(*version, now) && !of_column.contains(version) && !displaced {
                return wrong("a cell is missing");
            }
        }
        let marked = row.marker.filter(|(time, _)| self.alive(*time, now));
        match (read, marked) {
            (None, Some((_, false))) => wrong("the row is missing"),
            (Some([]), None) => wrong("the row should not exist"),
            _ => Ok(()),
        }
    }
}
