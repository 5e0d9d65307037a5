//! The reads of a crowd: rows, batches of rows, ranges. Their results go to the histories of their partition keys.

use super::Life;
use super::ask::{Clients, slot, tell};
use super::history::{Entry, Sight, Slot};
use super::state::Seen;
use super::transactions::Transaction;
use super::world::{self, COLUMNS, PARTITIONS, ROWS, Table};
use crate::store;
use std::rc::Rc;
use tabstore::Code;
use tabstore::engine::Direction;
use tabstore::model::{Consumed, KeyInput, KeyPart, KeyValue, TableName, ValueRef};
use tabstore::tablestore::{GetRange, GetRow, Outcome, RangeRead, TableRead};

/// Rows that were read, with the places of their keys.
type Placed = Vec<((usize, usize), Seen)>;

/// The keys of a table, for those who wait longer than the borrow of a life.
pub(super) type Keys = Rc<Table>;

pub(super) fn name(table: &str) -> TableName<'_> {
    TableName::parse(table).expect("a name")
}

pub(super) fn key_value(value: ValueRef<'_>) -> KeyValue {
    match value {
        ValueRef::Integer(value) => KeyValue::Integer(value),
        ValueRef::String(text) => KeyValue::String(text.into()),
        ValueRef::Binary(bytes) => KeyValue::Binary(bytes.into()),
        other => panic!("{other:?} in a key"),
    }
}

impl Table {
    pub(super) fn key(&self, partition: usize, row: usize) -> KeyInput<'static> {
        store::key(&[("p", self.partitions[partition]), ("id", self.rows[row])])
    }

    /// Where a key as it was read lies.
    fn place(&self, key: &[KeyValue]) -> Option<(usize, usize)> {
        let of = |all: &[ValueRef<'_>], key: &KeyValue| all.iter().position(|own| key_value(*own) == *key);
        Some((of(&self.partitions, key.first()?)?, of(&self.rows, key.get(1)?)?))
    }
}

impl Clients {
    /// The result of a read, if it did not fail.
    fn seen<T>(&self, outcome: Outcome<T>, may_be_over: bool, consumed: impl Fn(&T) -> Consumed) -> Option<T> {
        match outcome {
            Ok(found) => {
                self.used(consumed(&found));
                Some(found)
            }
            Err(failure) => {
                self.used(failure.consumed);
                if !may_be_over || failure.error.code() != Code::SessionNotExist {
                    self.explains(&failure.error, "a read");
                }
                None
            }
        }
    }

    /// The cells of a row, each as numbers.
    fn cells(&self, cells: &[store::Cell]) -> Vec<(usize, i64, i64)> {
        let one = |cell: &store::Cell| {
            let column = COLUMNS.iter().position(|own| *own == cell.0)?;
            Some((column, cell.1, world::number_of(column, &cell.2)?))
        };
        let mut all = Vec::with_capacity(cells.len());
        for cell in cells {
            match one(cell) {
                Some(cell) => all.push(cell),
                None => self.is_wrong(format!("{cell:?} was never written")),
            }
        }
        all.sort_by_key(|&(column, version, _)| (column, -version));
        all
    }

    fn place(&self, table: &Table, rows: &[store::Row]) -> Placed {
        let mut placed = Vec::with_capacity(rows.len());
        for (key, cells) in rows {
            match table.place(key) {
                Some(place) => placed.push((place, Some(self.cells(cells)))),
                None => self.is_wrong(format!("{}: {key:?} was never written", table.name)),
            }
        }
        placed
    }

    fn sight(&self, from: usize, rows: Vec<(usize, Seen)>) -> Sight {
        Sight { rows, seconds: self.seconds.borrow()[from..].to_vec() }
    }

    /// The rows of a range by partition key, for those keys that it has read to their ends.
    fn tell_range(
        &self,
        slots: &[(usize, Slot<Option<Sight>>)],
        from: usize,
        read: Option<(Placed, RangeRead)>,
        direction: Direction,
    ) {
        let Some((placed, read)) = read else {
            return slots.iter().for_each(|(_, slot)| tell(slot, None));
        };
        let places: Vec<_> = placed.iter().map(|row| row.0).collect();
        let ascends = match direction {
            Direction::Forward => places.is_sorted_by(|a, b| a < b),
            Direction::Backward => places.is_sorted_by(|a, b| a > b),
        };
        if !ascends {
            self.is_wrong(format!("a range came in the order {places:?}"));
        }
        let last = places.last().map(|place| place.0);
        for (partition, slot) in slots {
            let whole = read.next.is_none()
                || last.is_some_and(|last| match direction {
                    Direction::Forward => *partition < last,
                    Direction::Backward => *partition > last,
                });
            let of =
                |row: usize| placed.iter().find(|placed| placed.0 == (*partition, row)).and_then(|row| row.1.clone());
            tell(slot, whole.then(|| self.sight(from, (0..ROWS).map(|row| (row, of(row))).collect())));
        }
    }
}

impl Life {
    /// Reads a row, perhaps in a transaction.
    pub(super) fn get(&mut self, at: usize, partition: usize, inside: Option<Rc<Transaction>>) {
        let (table, row) = (Rc::clone(&self.tables[at]), self.pick(ROWS as u64) as usize);
        let (slot, from) = (slot(), self.clock());
        let number = inside.as_ref().map(|open| open.number);
        self.histories[at][partition].ask(Entry::Read(number, Rc::clone(&slot)));
        let (instance, clients) = (Rc::clone(&self.world.instance), Rc::clone(&self.clients));
        self.launch("a read", async move {
            let _busy = inside.as_ref().map(|open| open.busy());
            let mut rows = store::Rows::default();
            let key = table.key(partition, row);
            let request = GetRow { table: name(table.name), key, options: store::versions(i64::MAX) };
            let outcome = instance.get_row_in(inside.as_ref().map(|open| &*open.id), &request, &mut rows).await;
            let may_be_over = inside.as_ref().is_some_and(|open| open.may_be_over(instance.now_ms()));
            let found = clients.seen(outcome, may_be_over, |found| found.consumed);
            let seen = |_| vec![(row, rows.0.pop().map(|row| clients.cells(&row.1)))];
            tell(&slot, found.map(seen).map(|rows| clients.sight(from, rows)));
        });
    }

    /// Reads rows of a table, all at one instant.
    pub(super) fn batch_get(&mut self) {
        let (at, _) = self.place();
        let (table, from) = (Rc::clone(&self.tables[at]), self.clock());
        let mut places: Vec<(usize, usize)> = (0..2 + self.pick(6))
            .map(|_| (self.pick(PARTITIONS as u64) as usize, self.pick(ROWS as u64) as usize))
            .collect();
        places.sort_unstable();
        places.dedup();
        let mut slots: Vec<(usize, Slot<Option<Sight>>)> = Vec::new();
        for &(partition, _) in &places {
            if slots.last().is_none_or(|last| last.0 != partition) {
                slots.push((partition, slot()));
                let entry = Entry::Read(None, Rc::clone(&slots[slots.len() - 1].1));
                self.histories[at][partition].ask(entry);
            }
        }
        let (instance, clients) = (Rc::clone(&self.world.instance), Rc::clone(&self.clients));
        self.launch("a batch of reads", async move {
            let keys = places.iter().map(|place| table.key(place.0, place.1)).collect();
            let request = TableRead { table: name(table.name), keys, options: store::versions(i64::MAX) };
            let mut sinks = [store::Rows::default()];
            let outcome = instance.batch_get_row(&[request], &mut sinks).await;
            let [rows] = sinks;
            let mut whole = true;
            match outcome {
                Ok(founds) => {
                    for found in founds.into_iter().flatten() {
                        whole &= clients.seen(found, false, |found| found.consumed).is_some();
                    }
                }
                Err(failure) => whole &= clients.seen(Err::<(), _>(failure), false, |()| Consumed::default()).is_some(),
            }
            let placed = clients.place(&table, &rows.0);
            for (partition, slot) in slots {
                let of = |row: usize| {
                    placed.iter().find(|placed| placed.0 == (partition, row)).and_then(|row| row.1.clone())
                };
                let asked = places.iter().filter(|place| place.0 == partition);
                let rows = asked.map(|place| (place.1, of(place.1))).collect();
                tell(&slot, whole.then(|| clients.sight(from, rows)));
            }
        });
    }

    /// Reads a table or a part of it, or the rows of a partition key, perhaps in a transaction.
    pub(super) fn range(&mut self, at: usize, partition: Option<usize>, inside: Option<Rc<Transaction>>) {
        let (table, from) = (Rc::clone(&self.tables[at]), self.clock());
        let direction = [Direction::Forward, Direction::Backward][self.pick(2) as usize];
        let limit = (self.pick(3) == 0).then(|| 1 + self.pick(12) as i64);
        let number = inside.as_ref().map(|open| open.number);
        let of = partition.map_or(0..PARTITIONS, |partition| partition..partition + 1);
        let slots: Vec<(usize, Slot<Option<Sight>>)> = of.map(|partition| (partition, slot())).collect();
        for (partition, slot) in &slots {
            self.histories[at][*partition].ask(Entry::Read(number, Rc::clone(slot)));
        }
        let (instance, clients) = (Rc::clone(&self.world.instance), Rc::clone(&self.clients));
        self.launch("a range", async move {
            let _busy = inside.as_ref().map(|open| open.busy());
            let end = |part: KeyPart<'static>| {
                let mut key = KeyInput::new();
                if let Some(partition) = partition {
                    key.push("p", KeyPart::Value(table.partitions[partition]));
                    key.push("id", part);
                }
                key
            };
            let (start, end) = match direction {
                Direction::Forward => (end(KeyPart::InfMin), end(KeyPart::InfMax)),
                Direction::Backward => (end(KeyPart::InfMax), end(KeyPart::InfMin)),
            };
            let options = store::versions(i64::MAX);
            let request = GetRange { start, end, limit, options, ..store::range(table.name, direction) };
            let mut rows = store::Rows::default();
            let outcome = instance.get_range_in(inside.as_ref().map(|open| &*open.id), &request, &mut rows).await;
            let may_be_over = inside.as_ref().is_some_and(|open| open.may_be_over(instance.now_ms()));
            let read = clients.seen(outcome, may_be_over, |read| read.consumed);
            let placed = clients.place(&table, &rows.0);
            clients.tell_range(&slots, from, read.map(|read| (placed, read)), direction);
        });
    }
}
