//! Answers that outlive the engine, for clients that may outlive it: those in other tabs.
//!
//! When the tab with the engine dies, its followers do not know which of their calls were done. They ask the next engine
//! again, under the same numbers. So the answer of each of their writes is stored with the write, in one commit. The next
//! engine gives that answer instead of writing twice. A client says which answers it has; their places are used again
//! then. So a client takes about as many rows as it ever had writes in flight.
//!
//! Rows of a load have no place in the log, so their answers are stored in the load's segments: one record for each
//! request that the load took rows of. Each has a place of its own, so that memory has nothing about it. A later load
//! deletes those that are not needed any more.
//!
//! A change of the catalog has its answer in its commit too: that it is done, with the row of the catalog that it stored last.
//! What it returned can be made of that row.
//!
//! | key of the row | column `answer` (Binary) |
//! |---|---|
//! | Integer: a life, Integer: a client, Integer: a place | [`AnswerRecord`], as protobuf |
//! | the same, the place is 2^32 and the number of a request | that to the rows of the request that a load took |
//!
//! Clients of one tab have the same life: while the tab lives, it holds a lock of that number.
//!
//! A refused write changes nothing, and is not stored by itself: asked again, it is decided anew. But a later write of its
//! client may have been done since. So the record of that one carries the refusals before it, whatever their reason.

use crate::collections::small_map::SmallMap;
use crate::collections::sort::sort_by;
use crate::engine::{Decide, Direction, Engine, KeyRange, Origin, RowView, RowsBehind, TreeId, Writes};
use crate::error::{Code, Error, Result};
use crate::format::message::{self, Field, Message};
use crate::model::{
    CellChange, CellOp, ChangeKind, Consumed, KeyColumn, KeyReader, KeyType, KeyValue, RowChange, TableSchema, Value,
    ValueRef, encode_key,
};
use crate::tablestore::rows::prepared::{PreparedRow, ReturnedRow, Written, key_value};
use crate::tablestore::units::failure::{Outcome, Refused};
use std::cell::{RefCell, RefMut};
use std::collections::VecDeque;
use std::ops::{Bound, ControlFlow};
use std::rc::{Rc, Weak};

/// The tree of the answers' rows.
pub(crate) const TREE: TreeId = TreeId::ANSWERS;
const COLUMN: &str = "answer";
/// The row of the record for all rows that a load took.
const LOADED: u32 = u32::MAX;
/// The place of the first request whose rows a load took.
const LOADS: i64 = 1 << 32;

/// The answers to the requests that a load took rows of, by their places. An empty one is to be deleted.
type LoadAnswers = RefCell<SmallMap<i64, Vec<u8>>>;

/// A row of the catalog: its key and its record. Both are empty if there is none.
pub(crate) type Row<'a> = (&'a [u8], &'a [u8]);

/// The answer to the write of a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AnswerRecord {
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
    /// Of rows that a load took: each row whose cost is not one write unit, and its units. Without any, it was refused.
    units: Vec<u32>,
    /// Writes of the client that were refused before this one was done.
    refusals: Vec<RefusalRecord>,
    /// Of a change of the catalog: the record that it stored last, whose key is `key`. Both are empty if it only deleted.
    record: Vec<u8>,
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
            9 => Field::Numbers(&mut self.units),
            10 => Field::Messages(&mut self.refusals),
            11 => Field::Bytes(&mut self.record),
            _ => return None,
        })
    }
}

/// The refusal of a write by what its row held.
#[derive(Clone, Debug, Default, PartialEq)]
struct RefusalRecord {
    request: u64,
    row: u32,
    /// The error; the hint is empty if there is none.
    code: String,
    message: String,
    hint: String,
}

impl Message for RefusalRecord {
    fn field(&mut self, tag: u32) -> Option<Field<'_>> {
        Some(match tag {
            1 => Field::U64(&mut self.request),
            2 => Field::U32(&mut self.row),
            3 => Field::Text(&mut self.code),
            4 => Field::Text(&mut self.message),
            5 => Field::Text(&mut self.hint),
            _ => return None,
        })
    }
}

impl RefusalRecord {
    fn of(request: u64, row: u32, error: &Error) -> Self {
        let (code, message) = (error.code().as_str().to_owned(), error.message().to_owned());
        Self { request, row, code, message, hint: error.hint().unwrap_or_default().to_owned() }
    }

    /// `None` if this build does not know the code.
    fn error(&self) -> Option<Error> {
        let code = Code::ALL.iter().find(|code| code.as_str() == self.code)?;
        let error = Error::new(*code, self.message.clone());
        Some(if self.hint.is_empty() { error } else { error.with_hint(self.hint.as_str()) })
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
pub(crate) struct Answers(RefCell<SmallMap<u64, Client>>);

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
    /// The places of requests whose rows were loaded, each with the newest request that needs it, and those that no one needs.
    loaded: Vec<(u64, i64)>,
    over: Vec<i64>,
    /// The answers that loads under way bring, by the engine's numbers of the loads.
    loads: SmallMap<u64, Weak<LoadAnswers>>,
    /// Answers that an earlier engine stored, or an earlier session of this one, by request and row.
    known: Vec<AnswerRecord>,
    /// Refusals that an earlier engine stored.
    refused: Vec<RefusalRecord>,
    /// Those of this engine that no answer in the log carries yet. Each with the load that carries it too, or 0.
    fresh: Vec<(RefusalRecord, u64)>,
}

/// The number of the newest request that needs this answer, or a refusal that it carries.
fn newest(record: &AnswerRecord) -> u64 {
    record.refusals.iter().fold(record.request, |newest, refusal| newest.max(refusal.request))
}

/// These are gates of [`Module::Answers`](crate::modules::Module::Answers): most tabs have no followers.
impl Client {
    #[inline(never)]
    fn store(&mut self, origin: Origin, row: u32, written: &Written, stamp: i64, writes: &mut Writes<'_>) {
        self.put(origin, AnswerRecord::of(origin.request, row, written), stamp, writes);
    }

    #[inline(never)]
    fn store_change(&mut self, origin: Origin, (key, record): Row<'_>, stamp: i64, writes: &mut Writes<'_>) {
        let (key, record) = (key.to_vec(), record.to_vec());
        let record = AnswerRecord { request: origin.request, key, record, ..AnswerRecord::default() };
        self.put(origin, record, stamp, writes);
    }

    fn put(&mut self, origin: Origin, mut record: AnswerRecord, stamp: i64, writes: &mut Writes<'_>) {
        let place = self.free.pop().unwrap_or(self.places);
        self.places = self.places.max(place + 1);
        // It may have been refused before, in a decision that did not count.
        self.fresh.retain(|(refusal, _)| (refusal.request, refusal.row) != (origin.request, record.row));
        record.refusals = self.fresh.drain(..).map(|(refusal, _)| refusal).collect();
        // Its place is needed as long as any of them may be asked for.
        self.used.push_back((newest(&record), place));
        let record = message::encode(&mut record);
        let cell = CellChange { column: COLUMN, op: CellOp::Put(stamp, ValueRef::Binary(&record)) };
        let key = key([self.life, origin.client], i64::from(place));
        writes.replace(TREE, &key, Some(stamp), stamp, &[cell]);
    }

    /// Adds the answer to rows that a load took. Returns the rows to be stored with it, unless it has them already.
    #[inline(never)]
    fn load(
        &mut self,
        origin: Origin,
        load: u64,
        stamp: i64,
        rows: &[PreparedRow<'_, '_>],
        refused: &Refused,
    ) -> Option<RowsBehind> {
        let place = place_of_load(origin.request)?;
        let is_refused = |at: usize| refused.binary_search_by_key(&at, |(row, _)| *row).is_ok();
        let write = |(at, row): (usize, &PreparedRow<'_, '_>)| match &row.1 {
            Ok(row) if !is_refused(at) => row.consumed.write,
            _ => 0,
        };
        let costs = rows.iter().enumerate().map(|row| (row.0 as u32, write(row))).filter(|(_, write)| *write != 1);
        let units = costs.flat_map(<[u32; 2]>::from).collect();
        let mut record = AnswerRecord { request: origin.request, row: LOADED, units, ..AnswerRecord::default() };
        // A load may never be stored, so the next answer in the log carries them too.
        for (refusal, carrier) in &mut self.fresh {
            if *carrier != load {
                *carrier = load;
                record.refusals.push(refusal.clone());
            }
        }
        self.loaded.push((newest(&record), place));
        let record = message::encode(&mut record);
        self.loads.retain(|_, answers| answers.strong_count() > 0);
        if let Some(answers) = self.loads.get(&load).and_then(Weak::upgrade) {
            answers.borrow_mut().insert(place, record);
            return None;
        }
        let mut answers = SmallMap::default();
        answers.insert(place, record);
        self.over.drain(..).for_each(|place| answers.insert(place, Vec::new()));
        let (answers, client) = (Rc::new(RefCell::new(answers)), [self.life, origin.client]);
        self.loads.insert(load, Rc::downgrade(&answers));
        Some(Box::new(move |add| {
            for (place, record) in answers.take().iter() {
                let cell = CellChange { column: COLUMN, op: CellOp::Put(stamp, ValueRef::Binary(record)) };
                let (kind, cells) = match &record[..] {
                    [] => (ChangeKind::Delete, &[][..]),
                    _ => (ChangeKind::Put, &[cell][..]),
                };
                add(TREE, &key(client, *place), &RowChange { kind, stamp, cells });
            }
        }))
    }

    #[inline(never)]
    fn recall(&mut self, request: u64, row: u32) -> Option<Result<Written>> {
        if let Some(record) = self.find(request, row) {
            return record.written().map(Ok);
        }
        if let Some((_, error)) = self.refusal(request, Some(row)) {
            return Some(Err(error));
        }
        let units = &self.find(request, LOADED)?.units;
        let other =
            units.chunks(2).find_map(|one| if let [at, units] = one { (*at == row).then_some(*units) } else { None });
        let write = other.unwrap_or(1);
        (write > 0).then_some(Ok(Written { consumed: Consumed { read: 0, write }, row: None }))
    }

    fn find(&self, request: u64, row: u32) -> Option<&AnswerRecord> {
        let place = self.known.binary_search_by(|record| (record.request, record.row).cmp(&(request, row))).ok()?;
        self.known.get(place)
    }

    #[inline(never)]
    fn refuse(&mut self, request: u64, row: u32, error: &Error) {
        let refusal = RefusalRecord::of(request, row, error);
        // A decision tells it first, then its end.
        if self.fresh.iter().all(|(known, _)| *known != refusal) {
            self.fresh.push((refusal, 0));
        }
    }

    /// The row of a request that was refused, and why; `row`: that one. A refusal for now is told once: then its client tries again.
    #[inline(never)]
    fn refusal(&mut self, request: u64, row: Option<u32>) -> Option<(u32, Error)> {
        let is_it = |refusal: &RefusalRecord| refusal.request == request && row.is_none_or(|row| refusal.row == row);
        let place = self.refused.iter().position(is_it)?;
        let refusal = self.refused.get(place)?;
        let (row, error) = (refusal.row, refusal.error()?);
        if error.retryable() {
            self.refused.swap_remove(place);
        }
        Some((row, error))
    }

    /// The rows of a request.
    #[inline(never)]
    fn recall_all(&self, request: u64) -> Option<Vec<Outcome<Written>>> {
        let rows = self.known.iter().filter(|record| record.request == request);
        let rows: Vec<_> = rows.map(|record| record.written().map(Ok)).collect::<Option<_>>()?;
        (!rows.is_empty()).then_some(rows)
    }

    /// The row of the catalog with the answer to a change.
    #[inline(never)]
    fn recall_change(&self, request: u64) -> Option<(Vec<u8>, Vec<u8>)> {
        let found = self.known.iter().find(|record| record.request == request)?;
        Some((found.key.clone(), found.record.clone()))
    }

    #[inline(never)]
    fn acknowledge(&mut self, below: u64) {
        while let Some((_, place)) = self.used.pop_front_if(|(request, _)| *request < below) {
            self.free.push(place);
        }
        self.over.extend(self.loaded.extract_if(.., |(request, _)| *request < below).map(|(_, place)| place));
        self.known.retain(|record| record.request >= below);
        self.refused.retain(|refusal| refusal.request >= below);
        self.fresh.retain(|(refusal, _)| refusal.request >= below);
    }
}

impl Answers {
    /// Whether the client is known.
    pub(crate) fn has(&self, client: u64) -> bool {
        self.0.borrow().contains_key(&client)
    }

    /// Whether the answer to this write is to be stored.
    pub(crate) fn keep(&self, origin: Option<Origin>) -> bool {
        self.storing(origin).is_some()
    }

    /// The sender, if the answers to its writes are to be stored.
    #[inline(never)]
    fn storing(&self, origin: Option<Origin>) -> Option<(RefMut<'_, Client>, Origin)> {
        let origin = origin?;
        let client = RefMut::filter_map(self.0.borrow_mut(), |clients| {
            clients.get_mut(&origin.client).filter(|client| client.stores)
        });
        Some((client.ok()?, origin))
    }

    /// Whether a row of the request was written before.
    pub(crate) fn knows(&self, origin: Option<Origin>) -> bool {
        origin.is_some_and(|Origin { client, request }| {
            let clients = self.0.borrow();
            clients.get(&client).is_some_and(|client| client.known.iter().any(|record| record.request == request))
        })
    }

    /// The answer to a write that was done before, or refused before a later one of its client.
    pub(crate) fn recall(&self, origin: Option<Origin>, row: u32) -> Option<Result<Written>> {
        let Origin { client, request } = origin?;
        self.0.borrow_mut().get_mut(&client)?.recall(request, row)
    }

    /// The answers to all rows of a batch that was done as a whole.
    pub(crate) fn recall_all(&self, origin: Option<Origin>) -> Option<Vec<Outcome<Written>>> {
        let Origin { client, request } = origin?;
        self.0.borrow().get(&client)?.recall_all(request)
    }

    /// The row that refused a batch as a whole, before a later write of its client was done.
    pub(crate) fn refusal(&self, origin: Option<Origin>) -> Option<(u32, Error)> {
        let Origin { client, request } = origin?;
        self.0.borrow_mut().get_mut(&client)?.refusal(request, None)
    }

    /// Stores the answer with the write, if its client's answers are stored.
    pub(crate) fn put(&self, origin: Option<Origin>, row: u32, written: &Written, stamp: i64, writes: &mut Writes<'_>) {
        if let Some((mut client, origin)) = self.storing(origin) {
            client.store(origin, row, written, stamp, writes);
        }
    }

    /// The same, with a change of the catalog: `row` is the last one that it stores.
    pub(crate) fn put_change(&self, origin: Option<Origin>, row: Row<'_>, stamp: i64, writes: &mut Writes<'_>) {
        if let Some((mut client, origin)) = self.storing(origin) {
            client.store_change(origin, row, stamp, writes);
        }
    }

    /// The row of the catalog that a change has stored, if it was done before: its key and its record.
    pub(crate) fn recall_change(&self, origin: Option<Origin>) -> Option<(Vec<u8>, Vec<u8>)> {
        let Origin { client, request } = origin?;
        self.0.borrow().get(&client)?.recall_change(request)
    }

    /// A load has taken rows of a request: their answer is to be stored with it. Returns the rows that the load brings,
    /// once.
    pub(crate) fn load(
        &self,
        origin: Option<Origin>,
        load: u64,
        stamp: i64,
        rows: &[PreparedRow<'_, '_>],
        refused: &Refused,
    ) -> Option<RowsBehind> {
        let (mut client, origin) = self.storing(origin)?;
        client.load(origin, load, stamp, rows, refused)
    }

    /// A write is refused. The next answer that is stored for its client carries that.
    pub(crate) fn refuse(&self, origin: Option<Origin>, row: u32, error: &Error) {
        if let Some((mut client, origin)) = self.storing(origin) {
            client.refuse(origin.request, row, error);
        }
    }

    /// The client has all its answers to requests below this number.
    pub(crate) fn acknowledge(&self, client: u64, below: u64) {
        if let Some(client) = self.0.borrow_mut().get_mut(&client) {
            client.acknowledge(below);
        }
    }

    /// Begins with a client. `found` are its stored answers, with their places. `stores` tells whether more are stored.
    pub(crate) fn start(&self, [life, number]: [u64; 2], stores: bool, mut found: Vec<(i64, AnswerRecord)>) {
        let places = found.iter().enumerate();
        let mut order: Vec<_> = places.map(|(at, (_, record))| (record.request, record.row, at)).collect();
        sort_by(&mut order, Ord::cmp);
        let mut client = Client { life, stores, ..Client::default() };
        for (_, _, at) in order {
            let Some((place, record)) = found.get_mut(at) else { continue };
            let newest = newest(record);
            if let Ok(place) = u32::try_from(*place) {
                client.places = client.places.max(place + 1);
                client.used.push_back((newest, place));
            } else {
                client.loaded.push((newest, *place));
            }
            client.refused.append(&mut record.refusals);
            client.known.push(std::mem::take(record));
        }
        self.0.borrow_mut().insert(number, client);
    }

    /// Forgets a client.
    pub(crate) fn end(&self, client: u64) {
        self.0.borrow_mut().remove(&client);
    }
}

/// The stored answers of a client, with their places. `life` is the number by which its tab is known to live.
/// Its future is a gate of [`Module::Answers`](crate::modules::Module::Answers).
pub(crate) async fn stored(engine: &Engine, life: u64, client: u64) -> Result<Vec<(i64, AnswerRecord)>> {
    let mut found = Vec::new();
    let mut keys = KeyReader::default();
    let mut see = |key: &[u8], row: &RowView<'_>| {
        if let Some([_, _, ValueRef::Integer(place)]) = keys.read(key).as_deref()
            && let Some(ValueRef::Binary(record)) = row.cells().first().map(|cell| cell.value)
            && let Ok(record) = message::decode(record)
        {
            found.push((*place, record));
        }
        ControlFlow::Continue(())
    };
    let [lower, upper] = [0, i64::MAX].map(|place| Bound::Included(key([life, client], place)));
    engine.scan(TREE, KeyRange { lower, upper }, Direction::Forward, &mut see).await?;
    Ok(found)
}

/// Deletes the answers of clients that are not kept: `keeps` gets the life and the client. Rows with another key go too.
/// Its future is a gate of [`Module::Answers`](crate::modules::Module::Answers).
pub(crate) async fn remove(engine: &Engine, keeps: &dyn Fn(u64, u64) -> bool) -> Result<()> {
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
    engine.scan(TREE, KeyRange::ALL, Direction::Forward, &mut see).await?;
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

/// The place of the answer to a request whose rows a load took. `None` for a number that no client gives.
fn place_of_load(request: u64) -> Option<i64> {
    i64::try_from(request).ok()?.checked_add(LOADS)
}

/// The row of a place.
fn key(client: [u64; 2], place: i64) -> Vec<u8> {
    let [life, client] = client.map(|number| KeyValue::Integer(number.cast_signed()));
    let mut key = Vec::with_capacity(27);
    encode_key(&[life, client, KeyValue::Integer(place)], &mut key);
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answers to rows that a load took, and to changes of the catalog, have fields of their own. Those without them stay
    /// readable.
    #[test]
    fn records_keep_their_bytes() {
        let loaded = AnswerRecord { request: 300, row: LOADED, units: vec![2, 0, 5, 3], ..AnswerRecord::default() };
        let written = AnswerRecord { request: 1, row: 2, write: 1, ..AnswerRecord::default() };
        let changed = AnswerRecord { request: 5, key: vec![3, 97], record: vec![8, 9], ..AnswerRecord::default() };
        let cases: [(_, &[u8]); 3] = [
            (loaded, &[0x08, 0xac, 0x02, 0x10, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x4a, 4, 2, 0, 5, 3]),
            (written, &[0x08, 1, 0x10, 2, 0x20, 1]),
            (changed, &[0x08, 5, 0x3a, 2, 3, 97, 0x5a, 2, 8, 9]),
        ];
        for (mut record, bytes) in cases {
            assert_eq!(message::encode(&mut record), bytes);
            assert_eq!(message::decode::<AnswerRecord>(bytes), Ok(record));
        }
        assert_eq!(key([1, 2], LOADS + 3), [key([1, 2], 0)[..19].to_vec(), vec![0x80, 0, 0, 1, 0, 0, 0, 3]].concat());
    }
}
