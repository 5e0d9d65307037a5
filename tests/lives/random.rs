//! Random operations on keys and values of any script against the model: puts, loads, updates, deletions, increments,
//! conditions, reads, filters, ranges, flushes, compactions, crashes, clock jumps, changes of options.

mod foreign;
mod loads;

use crate::judged::{self, Judge};
use crate::model::{Seen, Table};
use crate::partitioning;
use crate::store::{self, Store};
use crate::texts;
use std::collections::BTreeMap;
use tabstore::engine::{ClockMode, Direction, Options, Shape};
use tabstore::model::filter::Filter;
use tabstore::model::select::VersionQuery;
use tabstore::model::{KeyInput, KeyType, KeyValue, TableOptions, Value};
use tabstore::storage::{LogNumber, Storage};
use tabstore::tablestore::{
    ColumnChange, ColumnOp, Existence, GetRange, InstanceOptions, OptionsChange, PutCell, ReadOptions, ReturnContent,
    RowWrite,
};

const IDS: u64 = 40;
const COLUMNS: [&str; 3] = ["a", "b", "c"];

/// So small that a life of a thousand steps fills several levels. In some lives even a row of a few cells lies in several
/// blocks.
fn tiny(auto_compact: bool, seed: u64) -> Options {
    let block_bytes = if seed.is_multiple_of(4) { 10 } else { 400 };
    let shape = Shape { block_bytes, segment_bytes: 2000, ..Shape::TINY };
    // The device's clock may be wrong for a while, and right again.
    let clock = if seed % 4 < 2 { ClockMode::Injected } else { ClockMode::Device };
    Options {
        memtable_bytes: 4000,
        cache_bytes: 8000,
        reserve_bytes: 1000,
        clock,
        auto_compact,
        shape,
        ..Options::default()
    }
}

struct Life {
    store: Store,
    table: Table,
    seed: u64,
    step: u32,
    now: i64,
    /// Above every stamp so far.
    stamps: i64,
    /// Every value written is another text, so that a read tells which write it saw.
    next_value: i64,
    /// Which of all key texts the first one is.
    first_key: i64,
    done: u64,
}

impl Life {
    fn new(seed: u64, background: bool) -> Self {
        let store = Store::shuffled(InstanceOptions::default(), tiny(background, seed), seed);
        let options = OptionsChange { max_versions: Some(2), ..OptionsChange::default() };
        store.create("t", &[("id", KeyType::String)], options);
        store.env.take_us(crate::work_us(seed));
        let options = TableOptions { max_versions: 2, ..TableOptions::default() };
        let table = Table { options, rows: BTreeMap::new(), background };
        Self {
            store,
            table,
            seed,
            step: 0,
            now: store::NOW,
            stamps: 0,
            next_value: 1,
            first_key: (seed % (texts::KEYS as u64 - IDS - 2)).cast_signed() + 1,
            done: 0,
        }
    }

    fn pick(&self, count: u64) -> u64 {
        self.store.env.random() % count
    }

    fn id(&self) -> i64 {
        self.pick(IDS).cast_signed()
    }

    /// The key of a row: its ids ascend as their texts do.
    fn key(&self, id: i64) -> KeyInput<'static> {
        store::key(&[("id", store::text(texts::key(self.first_key + id)))])
    }

    fn id_of(&self, key: &str) -> i64 {
        texts::key_number(key).map_or_else(|| self.fail(&format!("{key:?} is no id")), |at| at - self.first_key)
    }

    fn ids_of(&self, rows: &[store::Row]) -> Vec<i64> {
        let id = |row: &store::Row| match &row.0[..] {
            [KeyValue::String(key)] => self.id_of(key),
            other => self.fail(&format!("{other:?} is no key")),
        };
        rows.iter().map(id).collect()
    }

    fn value(&mut self) -> i64 {
        self.next_value += 1;
        self.next_value
    }

    /// The store drew a stamp that nothing tells: at the clock, or just above the row's last.
    fn drawn(&mut self) {
        self.stamps = self.stamps.max(self.now) + 1;
    }

    fn set_now(&mut self, now: i64) {
        self.now = now;
        self.store.env.set_now(now);
        self.table.note_hidden(now);
    }

    /// A version that a client gives: mostly inside the window, sometimes not.
    fn version(&self) -> i64 {
        let offset = self.table.options.max_version_offset * 1000;
        match self.pick(20) {
            0 => self.now + offset,
            1 => self.now - offset - 1000,
            2 => self.now + offset - 1000,
            _ => self.now - (self.pick(200).cast_signed() * 500).min(offset),
        }
    }

    fn accepts(&self, version: i64) -> bool {
        let TableOptions { time_to_live, max_version_offset, .. } = self.table.options;
        let (now, second) = (self.now / 1000, version.div_euclid(1000));
        let oldest =
            if time_to_live == -1 { now - max_version_offset } else { now - max_version_offset.min(time_to_live) };
        (oldest..now + max_version_offset).contains(&second)
    }

    fn fail(&self, what: &str) -> ! {
        panic!("seed {} step {}: {what}", self.seed, self.step)
    }

    fn read(&self, id: i64) -> Option<Vec<Seen>> {
        self.store.all(self.key(id)).map(|cells| seen(&cells))
    }

    fn check(&self, id: i64) {
        let read = self.read(id);
        if let Err(wrong) = self.table.check(id, self.now, read.as_deref()) {
            self.fail(&wrong);
        }
    }

    /// Which version the store stamped on the cells that were written without one: found by their values. A stamp that
    /// cannot be seen (newer versions hide it) is forgotten by deleting its column.
    fn stamp_of(&mut self, id: i64, stamped: &[(&'static str, i64)]) -> Option<i64> {
        let read = self.read(id).unwrap_or_default();
        let found = stamped.iter().find_map(|(column, value)| {
            read.iter().find(|(name, _, seen)| name == column && seen == value).map(|cell| cell.1)
        });
        let before = self.table.rows.get(&id).map_or(0, |row| row.last_stamp);
        match found {
            Some(stamp) => {
                if stamp < self.now || stamp <= before || (self.now > self.stamps && stamp != self.now) {
                    self.fail(&format!("row {id} was stamped {stamp} at {}, after {before}", self.now));
                }
                self.stamps = self.stamps.max(stamp);
                Some(stamp)
            }
            None => {
                for (column, _) in stamped {
                    self.store.update(self.key(id), &[store::change(column, ColumnOp::DeleteColumn)]);
                    self.table.delete_column(id, column);
                }
                self.drawn();
                None
            }
        }
    }

    fn random_cells(&mut self) -> Vec<(&'static str, Option<i64>, i64)> {
        let mut cells = Vec::new();
        for column in COLUMNS {
            if self.pick(2) == 0 {
                let version = (self.pick(3) > 0).then(|| self.version());
                cells.push((column, version, self.value()));
            }
        }
        cells
    }

    fn write(&mut self) {
        let (id, put) = (self.id(), self.pick(2) == 0);
        let cells = self.random_cells();
        // Nothing tells the stamp of a row without cells, so it must be certain: the clock.
        if cells.is_empty() && (!put || self.now <= self.stamps) {
            return;
        }
        let accepted = cells.iter().all(|(_, version, _)| version.is_none_or(|version| self.accepts(version)));
        let stamped: Vec<_> =
            cells.iter().filter(|cell| cell.1.is_none()).map(|&(column, _, value)| (column, value)).collect();
        let condition = [Existence::Ignore, Existence::Ignore, Existence::ExpectExist, Existence::ExpectNotExist]
            [self.pick(4) as usize];
        // Where cells may be there or not, so may the row; a condition is tried only where it is certain.
        let condition = if self.table.background { Existence::Ignore } else { condition };
        let stored = self.table.visible(id, self.now);
        let exists = stored.is_some();
        let judge = (!self.table.background && self.pick(4) == 0)
            .then(|| Judge::random(&self.store.env, &COLUMNS, stored.as_deref().unwrap_or_default()));
        let judged =
            judge.as_ref().is_none_or(|judge| judge.holds(self.first_key + id, stored.as_deref().unwrap_or_default()));
        let holds = judged
            && match condition {
                Existence::Ignore => true,
                Existence::ExpectExist => exists,
                Existence::ExpectNotExist => !exists,
            };
        let (key, column_condition) = (self.key(id), judge.as_ref().map(Judge::filter).map(Box::new));
        let outcome = if put {
            let cells: Vec<PutCell<'_>> = cells
                .iter()
                .map(|&(column, version, value)| PutCell {
                    version,
                    ..store::cell(column, store::text(texts::word(value)))
                })
                .collect();
            let write = store::expecting(condition, store::put("t", key, &cells));
            self.store.write(&RowWrite { column_condition, ..write })
        } else {
            let changes: Vec<ColumnChange<'_>> =
                cells.iter().map(|&(column, version, value)| add(column, version, value)).collect();
            let write = store::expecting(condition, store::update("t", key, &changes));
            self.store.write(&RowWrite { column_condition, ..write })
        };
        let allowed = put || self.table.options.allow_update;
        if outcome.is_ok() != (accepted && holds && allowed) {
            self.fail(&format!("row {id}: {outcome:?}, accepted {accepted}, holds {holds}, {cells:?}, {judge:?}"));
        }
        if outcome.is_err() {
            // A refused write may have drawn a stamp all the same.
            self.drawn();
            return self.check(id);
        }
        let explicit: Vec<Seen> =
            cells.iter().filter_map(|&(column, version, value)| Some((column.to_owned(), version?, value))).collect();
        if cells.is_empty() {
            self.drawn();
            self.table.put(id, &[], self.now);
        } else if put && !stamped.is_empty() {
            // The model must know the row before the stamp is looked for, for it may have to forget columns.
            let before = self.table.rows.get(&id).map_or(0, |row| row.last_stamp);
            self.table.put(id, &explicit, before);
            if let Some(stamp) = self.stamp_of(id, &stamped) {
                let mut all = explicit;
                all.extend(stamped.iter().map(|&(column, value)| (column.to_owned(), stamp, value)));
                self.table.put(id, &all, stamp);
            } else {
                // Without the stamp the row's time is not known either: make it known.
                self.store.write(&store::delete("t", self.key(id))).expect("deleted");
                self.table.delete(id, before);
                self.drawn();
            }
        } else if put {
            let before = self.table.rows.get(&id).map_or(0, |row| row.last_stamp);
            self.table.put(id, &explicit, before);
            self.drawn();
        } else {
            let before = self.table.rows.get(&id).map_or(0, |row| row.last_stamp);
            self.table.add(id, &explicit, before);
            if stamped.is_empty() {
                self.drawn();
            } else if let Some(stamp) = self.stamp_of(id, &stamped) {
                let all: Vec<Seen> = stamped.iter().map(|&(column, value)| (column.to_owned(), stamp, value)).collect();
                self.table.add(id, &all, stamp);
            }
        }
        self.table.note_hidden(self.now);
        self.check(id);
    }

    fn delete_cells(&mut self) {
        let (id, column) = (self.id(), COLUMNS[self.pick(3) as usize]);
        let versions: Vec<i64> = self.table.rows.get(&id).map_or_else(Vec::new, |row| {
            row.cells.keys().filter(|(name, _)| name == column).map(|(_, version)| version.0).collect()
        });
        if !self.table.options.allow_update {
            return;
        }
        match versions.get(self.pick(3) as usize) {
            Some(&version) => {
                self.store.update(self.key(id), &[store::change(column, ColumnOp::DeleteVersion(version))]);
                self.table.delete_version(id, column, version);
            }
            None => {
                self.store.update(self.key(id), &[store::change(column, ColumnOp::DeleteColumn)]);
                self.table.delete_column(id, column);
            }
        }
        self.drawn();
        self.check(id);
    }

    fn delete_row(&mut self) {
        let id = self.id();
        self.store.write(&store::delete("t", self.key(id))).expect("deleted");
        self.drawn();
        self.table.delete(id, 0);
        self.check(id);
    }

    fn increment(&mut self) {
        let (id, delta) = (self.id(), self.pick(100).cast_signed() - 50);
        if self.table.background || !self.table.options.allow_update {
            return;
        }
        let visible = self.table.visible(id, self.now).unwrap_or_default();
        let newest = visible.iter().find(|cell| cell.0 == "n").map_or(0, |cell| cell.2);
        let mut write = store::update("t", self.key(id), &[store::increment("n", delta)]);
        write.returns = ReturnContent::AfterModify(vec![store::column("n")]);
        let written = self.store.write(&write).unwrap_or_else(|error| self.fail(&format!("increment: {error}")));
        let Some((_, version, Value::Integer(value))) = written.row.and_then(|row| row.cells.into_iter().next()) else {
            self.fail("an increment returned nothing");
        };
        if value != newest + delta {
            self.fail(&format!("{newest} + {delta} came to {value}"));
        }
        self.stamps = self.stamps.max(version);
        self.drawn();
        let before = self.table.rows.get(&id).map_or(0, |row| row.last_stamp);
        self.table.add(id, &[("n".to_owned(), version, value)], before);
        self.table.note_hidden(self.now);
        self.check(id);
    }

    /// Reads with options, where the model is exact.
    fn read_selected(&self) {
        let id = self.id();
        if self.table.background {
            return self.check(id);
        }
        let visible = self.table.visible(id, self.now);
        let column = COLUMNS[self.pick(3) as usize];
        let (start, count) = (self.now - 40_000, self.pick(2) as usize + 1);
        let named = self.pick(2) == 0;
        let mut options = ReadOptions {
            versions: VersionQuery {
                max_versions: Some(count as i64),
                range: Some((start, self.now + 1)),
                version: None,
            },
            ..ReadOptions::default()
        };
        if named {
            options.columns = vec![store::column(column)];
        }
        let mut expected: Vec<Seen> = Vec::new();
        for cell in visible.iter().flatten().filter(|cell| (start..=self.now).contains(&cell.1)) {
            let of_column = expected.iter().filter(|other| other.0 == cell.0).count();
            if of_column < count && (!named || cell.0 == column) {
                expected.push(cell.clone());
            }
        }
        let mut expected = visible.is_some_and(|_| !named || !expected.is_empty()).then_some(expected);
        // The filter judges what is selected, then a page of its columns is given.
        let judge = (self.pick(2) == 0).then(|| {
            let cells = expected.as_deref().unwrap_or_default();
            Judge::random(&self.store.env, &["a", "b", "c", "n", "id"], cells)
        });
        let paged = (self.pick(4) == 0).then(|| (self.pick(3) as usize, self.pick(2) as usize + 1));
        if let Some(judge) = &judge {
            expected = expected.filter(|cells| judge.holds(self.first_key + id, cells));
            options.filter = Some(judge.filter());
        }
        if let Some((offset, limit)) = paged {
            expected = expected.map(|cells| judged::page(&cells, offset, limit));
            let page = Filter::Page { offset: offset as i64, limit: limit as i64 };
            options.filter = Some(match options.filter.take() {
                Some(filter) => Filter::And(vec![filter, page]),
                None => page,
            });
        }
        let read = self.store.get("t", self.key(id), options).map(|cells| seen(&cells));
        if read != expected {
            self.fail(&format!(
                "row {id} from {start}, {count} versions, {judge:?}, page {paged:?}: {read:?}, expected {expected:?}"
            ));
        }
    }

    /// Pages through a range by its continuation keys, and checks each row and that none is left out.
    fn range(&self) {
        let (a, b) = (self.id(), self.id());
        let forward = self.pick(2) == 0;
        let (start, end) = if forward { (a.min(b), a.max(b) + 1) } else { (a.max(b), a.min(b) - 1) };
        let direction = if forward { Direction::Forward } else { Direction::Backward };
        let (mut from, mut found) = (start, Vec::new());
        loop {
            let request = GetRange {
                start: self.key(from),
                end: self.key(end),
                limit: Some(self.pick(10).cast_signed() + 1),
                options: store::versions(i64::MAX),
                ..store::range("t", direction)
            };
            let (rows, read) = self.store.range(&request);
            if !self.table.background && self.pick(2) == 0 {
                self.check_page(&request, &rows);
            }
            found.extend(rows);
            match read.next.as_deref() {
                Some([KeyValue::String(next)]) => from = self.id_of(next),
                Some(other) => self.fail(&format!("{other:?} is no id")),
                None => break,
            }
        }
        let ids = self.ids_of(&found);
        if !ids.is_sorted_by(|a, b| if forward { a < b } else { a > b }) {
            self.fail(&format!("the range came as {ids:?}"));
        }
        for id in start.min(end)..=start.max(end) {
            if id == end {
                continue;
            }
            let cells = ids.iter().position(|found| *found == id).map(|at| seen(&found[at].1));
            if let Err(wrong) = self.table.check(id, self.now, cells.as_deref()) {
                self.fail(&format!("in a range: {wrong}"));
            }
        }
    }

    fn change_options(&mut self) {
        let mut change = OptionsChange::default();
        match self.pick(4) {
            0 => {
                let versions = self.pick(4).cast_signed() + 1;
                change.max_versions = Some(versions);
                self.table.options.max_versions = versions;
            }
            1 => {
                let days = self.pick(4).cast_signed();
                let ttl = if days == 0 { -1 } else { days * 86_400 };
                change.time_to_live = Some(ttl);
                self.table.options.time_to_live = ttl;
            }
            2 => {
                let offset = (self.pick(4).cast_signed() + 1) * 40_000;
                change.max_version_offset = Some(offset);
                self.table.options.max_version_offset = offset;
            }
            _ => {
                let allow = self.pick(3) > 0;
                change.allow_update = Some(allow);
                self.table.options.allow_update = allow;
            }
        }
        self.store.set_options("t", change);
        self.table.note_hidden(self.now);
    }

    fn jump(&mut self) {
        let jump = match self.pick(6) {
            0 => self.pick(200_000).cast_signed() * 1000,
            1 if !self.table.background => -(self.pick(100_000).cast_signed() * 1000),
            2 if !self.table.background => -(self.pick(2000).cast_signed()),
            _ => self.pick(3000).cast_signed(),
        };
        self.set_now(self.now + jump);
        if self.pick(4) == 0 {
            self.store.reopen();
        }
    }

    fn live(&mut self, steps: u32) {
        for step in 0..steps {
            self.step = step;
            self.done += 1;
            if self.table.background {
                // Deleted rows may be forgotten at any time, and their stamps with them.
                self.set_now(self.now.max(self.stamps + 1));
            }
            match self.pick(100) {
                0..42 => self.write(),
                42..45 => self.load(),
                45..53 => self.delete_cells(),
                53..57 => self.delete_row(),
                57..63 => self.increment(),
                63..75 => self.read_selected(),
                75..85 => self.range(),
                85..90 => self.jump(),
                90..93 => self.change_options(),
                93 => self.foreign_names(),
                94 => self.store.env.run(self.store.instance.flush()).expect("flushed"),
                95 => {
                    self.store.compact();
                    self.table.compact(self.now);
                    // Rows that are gone are forgotten, with their stamps.
                    let ahead = self.stamps + 1;
                    self.set_now(self.now.max(ahead));
                }
                96 => self.store.env.run_until_idle(),
                97..99 => {
                    let (env, instance) = (&self.store.env, &self.store.instance);
                    let changed = if self.table.background {
                        env.run(partitioning::change(env, instance))
                    } else {
                        // A merge may compact, and the model is told of each compaction.
                        let id = (env.random() % IDS).cast_signed();
                        let at = KeyValue::String(texts::key(self.first_key + id).to_owned());
                        env.run(instance.split_partition("t", &at))
                    };
                    changed.expect("changed");
                }
                _ => self.store.reopen(),
            }
        }
    }
}

/// A put of UpdateRow.
fn add(column: &'static str, version: Option<i64>, value: i64) -> ColumnChange<'static> {
    store::change(column, ColumnOp::Put { version, value: store::text(texts::word(value)) })
}

fn seen(cells: &[store::Cell]) -> Vec<Seen> {
    let cell = |(column, version, value): &store::Cell| match value {
        Value::Integer(value) if column == "n" => (column.clone(), *version, *value),
        Value::String(text) if column != "n" => {
            let value = texts::word_number(text).unwrap_or_else(|| panic!("{text:?} was never written"));
            (column.clone(), *version, value)
        }
        other => panic!("{other:?} was never written"),
    };
    cells.iter().map(cell).collect()
}

fn lives(background: bool, seeds: std::ops::Range<u64>, steps: u32) -> u64 {
    seeds
        .map(|seed| {
            let mut life = Life::new(seed, background);
            life.live(steps);
            life.done
        })
        .sum()
}

/// R1, R3, R6, V1 to V6, V8, V10, T5: 110,000 operations. Only explicit compaction removes hidden cells, so that the
/// model is exact. Injected clocks and the device's jump both ways, also between two openings.
#[test]
fn lives_without_background_compaction_agree_with_the_model_exactly() {
    assert!(lives(false, 1..1 + 110 * crate::times(), 1000) >= 110_000);
}

/// R1, R3, V2 to V5, T5: 110,000 operations where compaction runs by itself.
#[test]
fn lives_with_background_compaction_agree_with_the_model() {
    assert!(lives(true, 1000..1000 + 110 * crate::times(), 1000) >= 110_000);
}

/// One seed replays one life, to the byte.
#[test]
fn a_life_can_be_replayed() {
    let image = || {
        let mut life = Life::new(77, true);
        life.live(300);
        let storage = &life.store.storage;
        life.store.env.run(storage.load(&|_| Ok(LogNumber(1)))).expect("loaded")
    };
    assert_eq!(image(), image());
}
