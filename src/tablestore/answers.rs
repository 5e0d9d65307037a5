//! Answers that outlive the engine, for clients that may outlive it: those in other tabs.
//!
//! When the tab with the engine dies, its followers do not know which of their calls were done. They ask the next engine
//! again, under the same numbers. So the answer of each of their writes is stored with the write, in one commit. The next
//! engine gives that answer instead of writing twice. A client says which answers it has; their places are used again
//! then. So a client takes about as many rows as it ever had writes in flight.
//!
//! | key of the row | column `answer` (Binary) |
//! |---|---|
//! | Integer: a life, Integer: a client, Integer: a place | [`AnswerRecord`], as protobuf |
//!
//! Clients of one tab have the same life: while the tab lives, it holds a lock of that number.
//!
//! Refused writes have no record: they have changed nothing, so they are decided anew.

use super::failure::Outcome;
use super::prepared::{ReturnedRow, Written, key_value};
use crate::collections::small_map::SmallMap;
use crate::collections::sort::sort_by;
use crate::engine::{Decide, Direction, Engine, KeyRange, Origin, RowView, TreeId, Writes};
use crate::error::Result;
use crate::format::message::{self, Field, Message};
use crate::model::{
    CellChange, CellOp, ChangeKind, Consumed, KeyColumn, KeyReader, KeyType, KeyValue, RowChange, TableSchema, Value,
    ValueRef, encode_key,
};
use crate::storage::Storage;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::{Bound, ControlFlow};
use std::rc::Rc;

/// The tree of the answers' rows.
pub(super) const TREE: TreeId = TreeId::ANSWERS;
const COLUMN: &str = "answer";

/// The answer to the write of a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AnswerRecord {
    /// The client's number of the request.
    request: u64,
    /// The row of a batch, from 0.
    row: u32,
    read: u32,
    write: u32,
    /// Whether a row is returned.
    returns: bool,
    /// The names of its key's columns.
    columns: Vec<String>,
    /// Its key, encoded; empty if only cells are returned.
    key: Vec<u8>,
    cells: Vec<CellRecord>,
}

impl Message for AnswerRecord {
    fn field(&mut self, tag: u32) -> Option<Field<'_>> {
        Some(match tag {
            1 => Field::U64(&mut self.request),
            2 => Field::U32(&mut self.row),
            3 => Field::U32(&mut self.read),
            4 => Field::U32(&mut self.write),
            5 => Field::Bool(&mut self.returns),
            6 => Field::Texts(&mut self.columns),
            7 => Field::Bytes(&mut self.key),
            8 => Field::Messages(&mut self.cells),
            _ => return None,
        })
    }
}

/// A returned cell: the result of an increment.
#[derive(Clone, Debug, Default, PartialEq)]
struct CellRecord {
    column: String,
    version: i64,
    value: i64,
}

impl Message for CellRecord {
    fn field(&mut self, tag: u32) -> Option<Field<'_>> {
        Some(match tag {
            1 => Field::Text(&mut self.column),
            2 => Field::I64(&mut self.version),
            3 => Field::I64(&mut self.value),
            _ => return None,
        })
    }
}

impl AnswerRecord {
    fn of(request: u64, row: u32, written: &Written) -> Self {
        let Consumed { read, write } = written.consumed;
        let mut record = Self { request, row, read, write, ..Self::default() };
        if let Some(ReturnedRow { schema, key, cells }) = &written.row {
            record.returns = true;
            record.columns = schema.key().iter().map(|column| column.name.clone()).collect();
            encode_key(key, &mut record.key);
            let integer = |value: &Value| if let Value::Integer(value) = value { *value } else { 0 };
            let cells = cells.iter();
            let cell = |(column, version, value): &(String, i64, Value)| CellRecord {
                column: column.clone(),
                version: *version,
                value: integer(value),
            };
            record.cells = cells.map(cell).collect();
        }
        record
    }

    /// `None` if the stored key is damaged.
    fn written(&self) -> Option<Written> {
        let consumed = Consumed { read: self.read, write: self.write };
        if !self.returns {
            return Some(Written { consumed, row: None });
        }
        let mut keys = KeyReader::default();
        let key: Vec<KeyValue> = keys.read(&self.key)?.iter().map(|value| key_value(*value)).collect();
        // Only the names of the columns are returned with the values.
        let columns = self.columns.iter().map(|name| KeyColumn::new(name.clone(), KeyType::String));
        let schema = Rc::new(TableSchema::of_index(columns.collect()).ok()?);
        let cells = self.cells.iter();
        let cells = cells.map(|cell| (cell.column.clone(), cell.version, Value::Integer(cell.value)));
        Some(Written { consumed, row: Some(ReturnedRow { schema, key, cells: cells.collect() }) })
    }
}

/// The clients whose answers are stored.
#[derive(Default)]
pub(super) struct Answers(RefCell<SmallMap<u64, Client>>);

/// A client, and the places of its answers.
#[derive(Default)]
struct Client {
    /// The number by which its tab is known to live.
    life: u64,
    /// Whether it may outlive the engine.
    stores: bool,
    /// Places in use, with their requests, in the order of the writes.
    used: VecDeque<(u64, u32)>,
    free: Vec<u32>,
    /// The number of all places.
    places: u32,
    /// Answers that an earlier engine stored, or an earlier session of this one, by request and row.
    known: Vec<AnswerRecord>,
}

/// These are gates of [`Module::Answers`](crate::modules::Module::Answers): most tabs have no followers.
impl Client {
    #[inline(never)]
    fn store(&mut self, origin: Origin, row: u32, written: &Written, stamp: i64, writes: &mut Writes<'_>) {
        let place = self.free.pop().unwrap_or(self.places);
        self.places = self.places.max(place + 1);
        self.used.push_back((origin.request, place));
        let record = message::encode(&mut AnswerRecord::of(origin.request, row, written));
        let cell = CellChange { column: COLUMN, op: CellOp::Put(stamp, ValueRef::Binary(&record)) };
        writes.replace(TREE, &key([self.life, origin.client], place), Some(stamp), stamp, &[cell]);
    }

    #[inline(never)]
    fn recall(&self, request: u64, row: u32) -> Option<Written> {
        let place = self.known.binary_search_by(|record| (record.request, record.row).cmp(&(request, row))).ok()?;
        self.known.get(place)?.written()
    }

    /// The rows of a request.
    #[inline(never)]
    fn recall_all(&self, request: u64) -> Option<Vec<Outcome<Written>>> {
        let rows = self.known.iter().filter(|record| record.request == request);
        let rows: Vec<_> = rows.map(|record| record.written().map(Ok)).collect::<Option<_>>()?;
        (!rows.is_empty()).then_some(rows)
    }

    #[inline(never)]
    fn acknowledge(&mut self, below: u64) {
        while let Some((_, place)) = self.used.pop_front_if(|(request, _)| *request < below) {
            self.free.push(place);
        }
        self.known.retain(|record| record.request >= below);
    }
}

impl Answers {
    /// Whether the client is known.
    pub(super) fn has(&self, client: u64) -> bool {
        self.0.borrow().contains_key(&client)
    }

    /// Whether the answer to this write is to be stored.
    pub(super) fn keep(&self, origin: Option<Origin>) -> bool {
        origin.is_some_and(|origin| self.0.borrow().get(&origin.client).is_some_and(|client| client.stores))
    }

    /// Whether a row of the request was written before.
    pub(super) fn knows(&self, origin: Option<Origin>) -> bool {
        origin.is_some_and(|Origin { client, request }| {
            let clients = self.0.borrow();
            clients.get(&client).is_some_and(|client| client.known.iter().any(|record| record.request == request))
        })
    }

    /// The answer to a write that was done before.
    pub(super) fn recall(&self, origin: Option<Origin>, row: u32) -> Option<Written> {
        let Origin { client, request } = origin?;
        self.0.borrow().get(&client)?.recall(request, row)
    }

    /// The answers to all rows of a batch that was done as a whole.
    pub(super) fn recall_all(&self, origin: Option<Origin>) -> Option<Vec<Outcome<Written>>> {
        let Origin { client, request } = origin?;
        self.0.borrow().get(&client)?.recall_all(request)
    }

    /// Stores the answer with the write, if its client's answers are stored.
    pub(super) fn put(&self, origin: Option<Origin>, row: u32, written: &Written, stamp: i64, writes: &mut Writes<'_>) {
        if let Some(origin) = origin
            && let Some(client) = self.0.borrow_mut().get_mut(&origin.client)
            && client.stores
        {
            client.store(origin, row, written, stamp, writes);
        }
    }

    /// The client has all its answers to requests below this number.
    pub(super) fn acknowledge(&self, client: u64, below: u64) {
        if let Some(client) = self.0.borrow_mut().get_mut(&client) {
            client.acknowledge(below);
        }
    }

    /// Begins with a client. `found` are its stored answers, with their places. `stores` tells whether more are stored.
    pub(super) fn start(&self, [life, number]: [u64; 2], stores: bool, mut found: Vec<(u32, AnswerRecord)>) {
        let places = found.iter().enumerate();
        let mut order: Vec<_> = places.map(|(at, (_, record))| (record.request, record.row, at)).collect();
        sort_by(&mut order, Ord::cmp);
        let mut client = Client { life, stores, ..Client::default() };
        for (request, _, at) in order {
            let Some((place, record)) = found.get_mut(at) else { continue };
            client.places = client.places.max(*place + 1);
            client.used.push_back((request, *place));
            client.known.push(std::mem::take(record));
        }
        self.0.borrow_mut().insert(number, client);
    }

    /// Forgets a client.
    pub(super) fn end(&self, client: u64) {
        self.0.borrow_mut().remove(&client);
    }
}

/// The stored answers of a client, with their places. `life` is the number by which its tab is known to live.
pub(super) async fn stored<S: Storage>(engine: &Engine<S>, life: u64, client: u64) -> Result<Vec<(u32, AnswerRecord)>> {
    let mut found = Vec::new();
    let mut keys = KeyReader::default();
    let mut see = |key: &[u8], row: &RowView<'_>| {
        if let Some([_, _, ValueRef::Integer(place)]) = keys.read(key).as_deref()
            && let Some(ValueRef::Binary(record)) = row.cells().first().map(|cell| cell.value)
            && let Ok(record) = message::decode(record)
        {
            found.push((u32::try_from(*place).unwrap_or(u32::MAX), record));
        }
        ControlFlow::Continue(())
    };
    let [lower, upper] = [0, u32::MAX].map(|place| Bound::Included(key([life, client], place)));
    engine.scan(TREE, KeyRange { lower, upper }, Direction::Forward, &mut see).await?;
    Ok(found)
}

/// Deletes the answers of clients that are not kept: `keeps` gets the life and the client. Rows with another key go too.
pub(super) async fn remove<S: Storage>(engine: &Engine<S>, keeps: &dyn Fn(u64, u64) -> bool) -> Result<()> {
    let mut ended = Vec::new();
    let mut keys = KeyReader::default();
    let mut see = |key: &[u8], _: &RowView<'_>| {
        let is_kept = match keys.read(key).as_deref() {
            Some([ValueRef::Integer(life), ValueRef::Integer(client), _]) => {
                keeps(life.cast_unsigned(), client.cast_unsigned())
            }
            _ => false,
        };
        if !is_kept {
            ended.push(key.to_vec());
        }
        ControlFlow::Continue(())
    };
    let all = KeyRange { lower: Bound::Unbounded, upper: Bound::Unbounded };
    engine.scan(TREE, all, Direction::Forward, &mut see).await?;
    if ended.is_empty() {
        return Ok(());
    }
    let rows: Vec<_> = ended.iter().map(|key| (TREE, &key[..])).collect();
    engine.write_unseen(&rows, None, &mut Removal { rows: &rows, stamp: engine.last_stamp() }).await
}

/// Deletes rows.
struct Removal<'a> {
    rows: &'a [(TreeId, &'a [u8])],
    stamp: i64,
}

impl Decide for Removal<'_> {
    fn see(&mut self, _: usize, _: Option<&RowView<'_>>) -> Result<()> {
        Ok(())
    }

    fn write(&mut self, writes: &mut Writes<'_>) {
        for (tree, key) in self.rows {
            writes.change(*tree, key, &RowChange { kind: ChangeKind::Delete, stamp: self.stamp, cells: &[] });
        }
    }
}

/// The row of a place.
fn key(client: [u64; 2], place: u32) -> Vec<u8> {
    let [life, client] = client.map(|number| KeyValue::Integer(number.cast_signed()));
    let mut key = Vec::with_capacity(27);
    encode_key(&[life, client, KeyValue::Integer(i64::from(place))], &mut key);
    key
}
