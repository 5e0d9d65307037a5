//! GetShardIterator and GetStreamRecord (ST1, ST3).

use super::load_packs::load_prefix;
use super::load_pages::{LoadedRecords, Page};
use super::record::{Record, StreamRecords};
use super::record_rows::{record_of, records_between, seqno_of};
use super::trim::mark_expired;
use crate::engine::{Direction, KeyRange, RowView};
use crate::error::{Code, Error, Result};
use crate::format::wire::{Reader, put_bytes, put_sv, put_uv};
use crate::model::capacity::UNIT_BYTES;
use crate::model::{Consumed, KeyReader, limits};
use crate::tablestore::rows::request::MOST_WAIT_MS;
use crate::tablestore::state::State;
use crate::tablestore::state::transaction::hex;
use crate::tablestore::table::Table;
use crate::tablestore::table::stream::Stream;
use crate::tablestore::units::failure::{Charge, Outcome};
use std::ops::{Bound, ControlFlow};
use std::rc::Rc;
use xxhash_rust::xxh3::xxh3_64;

/// A place in a shard: behind the record with this seqno; or inside of the record of a load, at a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Position {
    shard: i64,
    seqno: u64,
    /// The key to go on with among the rows of the load whose record is the next one.
    inside: Vec<u8>,
}

/// The place where an iterator begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamStart {
    /// At its first record, whether that has expired or not: who has to read all is told if it has.
    Beginning,
    /// At the oldest record that has not expired.
    Oldest,
    /// Behind all records.
    Latest,
    /// At the first record of this time (ms) or later.
    At(i64),
}

pub(super) fn unknown_stream(id: &str) -> Error {
    Error::new(Code::ObjectNotExist, format!("Requested stream does not exist: {id}."))
}

pub(super) fn unknown_shard(id: i64) -> Error {
    Error::new(Code::ObjectNotExist, format!("Requested shard does not exist: {id}."))
}

/// A limit that a caller may have given, and that is `most` otherwise.
pub(super) fn within(what: &str, limit: Option<i64>, most: usize) -> Result<usize> {
    let given = limit.map_or(Some(most), |limit| usize::try_from(limit).ok());
    let right = given.filter(|limit| (1..=most).contains(limit));
    right.ok_or_else(|| Error::parameter(format!("{what} must be in range: [1, {most}].")))
}

fn expired() -> Error {
    let error = Error::new(Code::TrimmedDataAccess, "Requested stream data is already trimmed or does not exist.");
    error.with_hint(
        "The records at this position have expired. Note the time, read the table again, and go on from that time.",
    )
}

impl Position {
    /// The iterator: opaque for its users.
    fn to_text(&self, stream: &Stream) -> String {
        let mut bytes = Vec::with_capacity(32);
        put_uv(u64::from(stream.tree.0), &mut bytes);
        put_sv(stream.enabled, &mut bytes);
        put_sv(self.shard, &mut bytes);
        put_uv(self.seqno, &mut bytes);
        put_bytes(&self.inside, &mut bytes);
        let check = xxh3_64(&bytes);
        bytes.extend_from_slice(&check.to_le_bytes());
        hex(&bytes)
    }

    fn of_text(text: &str) -> Option<(u64, i64, Self)> {
        let digits = text.as_bytes().chunks(2).map(|pair| {
            std::str::from_utf8(pair)
                .ok()
                .filter(|pair| pair.len() == 2)
                .and_then(|pair| u8::from_str_radix(pair, 16).ok())
        });
        let bytes: Vec<u8> = digits.collect::<Option<_>>()?;
        let (content, check) = bytes.split_last_chunk::<8>()?;
        if xxh3_64(content).to_le_bytes() != *check {
            return None;
        }
        let mut reader = Reader::new(content);
        let (tree, enabled, shard) = (reader.uv().ok()?, reader.sv().ok()?, reader.sv().ok()?);
        let (seqno, inside) = (reader.uv().ok()?, reader.bytes().ok()?.to_vec());
        reader.is_empty().then_some((tree, enabled, Self { shard, seqno, inside }))
    }
}

/// See [`Streams::get_shard_iterator`](super::Streams::get_shard_iterator).
pub(crate) async fn get_shard_iterator(state: &State, stream: &str, shard: i64, start: StreamStart) -> Result<String> {
    let (table, stream) = stream_of(state, stream)?;
    mark_expired(state, &table, &stream).await?;
    let trimmed = stream.shards.borrow().get(shard).ok_or_else(|| unknown_shard(shard))?.trimmed;
    let seqno = match start {
        StreamStart::Beginning => 0,
        StreamStart::Oldest => trimmed,
        StreamStart::Latest => newest_before(state, &stream, shard, i64::MAX).await?.unwrap_or(trimmed),
        StreamStart::At(time) => newest_before(state, &stream, shard, time).await?.unwrap_or(trimmed),
    };
    Ok(Position { shard, seqno, inside: Vec::new() }.to_text(&stream))
}

/// See [`Streams::get_stream_record`](super::Streams::get_stream_record).
pub(crate) async fn get_stream_record(state: &State, iterator: &str, limit: Option<i64>) -> Outcome<StreamRecords> {
    state.clock();
    let nothing = |error| Charge::Nothing.failure(error);
    let most = within("The limit", limit, limits::STREAM_RECORDS).map_err(nothing)?;
    let (table, stream, position) = position(state, iterator).map_err(nothing)?;
    let read = records(state, &stream, position, most).await.map_err(nothing).map(|mut read| {
        read.columns = table.schema().key().iter().map(|column| column.name.clone()).collect();
        if read.next.is_some() && read.count == 0 {
            read.next = Some(iterator.to_owned());
        }
        read
    });
    state.metered_on(Some(&table), read)
}

/// See [`Streams::await_stream_record`](super::Streams::await_stream_record).
pub(crate) async fn await_stream_record(state: &State, iterators: &[String]) -> Result<()> {
    let places = iterators.iter().map(|iterator| position(state, iterator)).collect::<Result<Vec<_>>>()?;
    let Some((_, stream, _)) = places.first() else { return Ok(()) };
    let arrival = state.engine.arrival(stream.tree, MOST_WAIT_MS);
    for (_, stream, at) in &places {
        let news = has_ended(state, stream, at.shard) || !at.inside.is_empty();
        if news || newest_between(state, stream, at.shard, at.seqno, None).await?.is_some() {
            return Ok(());
        }
    }
    arrival.await
}

/// The stream with this id, and its table.
pub(super) fn stream_of(state: &State, id: &str) -> Result<(Rc<Table>, Rc<Stream>)> {
    let unknown = || unknown_stream(id);
    let name = id.rsplitn(3, '_').nth(2).ok_or_else(|| Error::parameter(format!("Invalid stream id: {id}.")))?;
    let table = state.catalog.get(name).ok_or_else(unknown)?;
    let stream = table.stream().filter(|stream| stream.id(table.name()) == id).ok_or_else(unknown)?;
    Ok((table, stream))
}

fn position(state: &State, iterator: &str) -> Result<(Rc<Table>, Rc<Stream>, Position)> {
    let invalid = || Error::parameter("Invalid shard iterator.");
    let (tree, enabled, position) = Position::of_text(iterator).ok_or_else(invalid)?;
    let tables = state.catalog.all();
    let mut streams = tables.values().filter_map(|table| Some((Rc::clone(table), table.stream()?)));
    let found = streams.find(|(_, stream)| u64::from(stream.tree.0) == tree && stream.enabled == enabled);
    let gone = || Error::new(Code::ObjectNotExist, "The stream of the shard iterator does not exist.");
    let (table, stream) = found.ok_or_else(gone)?;
    let trimmed = stream.shards.borrow().get(position.shard).map(|shard| shard.trimmed);
    // A shard is forgotten when all its records have expired.
    if trimmed.is_none_or(|trimmed| position.seqno < trimmed) {
        return Err(expired());
    }
    Ok((table, stream, position))
}

/// Its future is a gate of [`Module::Streams`](crate::modules::Module::Streams).
async fn records(state: &State, stream: &Rc<Stream>, mut at: Position, most: usize) -> Result<StreamRecords> {
    // Before the read: what is accepted later is in its children.
    let closed = has_ended(state, stream, at.shard);
    let (mut page, mut keys, mut damage) = (Page { taken: StreamRecords::default(), most }, KeyReader::default(), None);
    let ended = loop {
        // The record of a load that was reached, and its place.
        let mut load: Option<(u64, i64, Vec<u8>)> = None;
        let (mut full, from) = (false, at.seqno);
        let see = &mut |key: &[u8], row: &RowView<'_>| {
            if page.is_full() {
                full = true;
                return ControlFlow::Break(());
            }
            let seqno = seqno_of(&mut keys, key);
            let Some((time, record)) = record_of(row) else { return ControlFlow::Continue(()) };
            match Record::decode(record) {
                Ok(Record::Row(bytes)) => {
                    page.take(seqno, time, bytes);
                    at.seqno = seqno;
                    ControlFlow::Continue(())
                }
                Ok(Record::Load { .. }) => {
                    load = Some((seqno, time, record.to_vec()));
                    ControlFlow::Break(())
                }
                Ok(Record::Pack(_)) => {
                    damage = Some(Error::corrupt("a record of a stream", "a pack of no load"));
                    ControlFlow::Break(())
                }
                Err(error) => {
                    damage = Some(Error::corrupt("a record of a stream", error));
                    ControlFlow::Break(())
                }
            }
        };
        state.engine.scan(stream.tree, records_between(at.shard, from, None), Direction::Forward, see).await?;
        if let Some(error) = damage {
            return Err(error);
        }
        let Some((seqno, time, record)) = load else { break !full };
        if take_loaded(state, stream, (seqno, time, &record), &mut at, &mut page).await? {
            break false;
        }
    };
    let Page { mut taken, .. } = page;
    taken.more = !ended;
    taken.next = (!ended || !closed).then(|| at.to_text(stream));
    let units = taken.records.len().div_ceil(UNIT_BYTES);
    taken.consumed = Consumed { read: u32::try_from(units).unwrap_or(u32::MAX), write: 0 };
    Ok(taken)
}

/// Whether a shard gets no more records, and that is stored.
fn has_ended(state: &State, stream: &Stream, shard: i64) -> bool {
    let shards = stream.shards.borrow();
    let stored = shards.is_stored(state.engine.failures()) || state.engine.is_read_only();
    stored && shards.get(shard).is_none_or(|shard| shard.closed.is_some())
}

/// Takes the records of a load's rows, from the position on. Returns whether the page is full before their end.
/// Its future is a gate of [`Module::Streams`](crate::modules::Module::Streams).
async fn take_loaded(
    state: &State,
    stream: &Stream,
    (seqno, time, record): (u64, i64, &[u8]),
    at: &mut Position,
    page: &mut Page,
) -> Result<bool> {
    let Ok(Record::Load { load, from, to }) = Record::decode(record) else { return Ok(false) };
    let mut end = load_prefix(load);
    let prefix = end.len();
    end.push(u8::MAX);
    let first = if at.inside.is_empty() { from.to_vec() } else { at.inside.clone() };
    let (lower, upper) = (Bound::Included([&load_prefix(load)[..], &first].concat()), Bound::Excluded(end));
    let mut loaded = LoadedRecords { rest: None, first, to };
    let mut damage = None;
    let see = &mut |key: &[u8], row: &RowView<'_>| {
        let Some((_, record)) = record_of(row) else { return ControlFlow::Continue(()) };
        let own = key.get(prefix..).unwrap_or_default();
        loaded.take(own, record, page, (seqno, time)).unwrap_or_else(|error| {
            damage = Some(Error::corrupt("the record of a load in a stream", error));
            ControlFlow::Break(())
        })
    };
    state.engine.scan(stream.tree, KeyRange { lower, upper }, Direction::Forward, see).await?;
    if let Some(error) = damage {
        return Err(error);
    }
    match loaded.rest {
        Some(rest) => {
            at.inside = rest;
            Ok(true)
        }
        None => {
            at.inside.clear();
            at.seqno = seqno;
            Ok(false)
        }
    }
}

/// The newest record of a shard with a seqno between two, both left out: its seqno and time.
async fn newest_between(
    state: &State,
    stream: &Stream,
    shard: i64,
    after: u64,
    before: Option<u64>,
) -> Result<Option<(u64, i64)>> {
    let (mut newest, mut keys) = (None, KeyReader::default());
    let see = &mut |key: &[u8], row: &RowView<'_>| {
        newest = record_of(row).map(|(time, _)| (seqno_of(&mut keys, key), time));
        ControlFlow::Break(())
    };
    state.engine.scan(stream.tree, records_between(shard, after, before), Direction::Backward, see).await?;
    Ok(newest)
}

/// The seqno of a shard's newest record before a time. Records are in the order of their times, so it halves the seqnos
/// that are left.
async fn newest_before(state: &State, stream: &Stream, shard: i64, time: i64) -> Result<Option<u64>> {
    let Some((seqno, newest)) = newest_between(state, stream, shard, 0, None).await? else { return Ok(None) };
    if newest < time {
        return Ok(Some(seqno));
    }
    let (mut below, mut above, mut found) = (0, seqno, None);
    while above > below + 1 {
        let middle = below.midpoint(above);
        match newest_between(state, stream, shard, below, Some(middle + 1)).await? {
            Some((seqno, newest)) if newest >= time => above = seqno,
            newest => {
                found = newest.map(|(seqno, _)| seqno).or(found);
                below = middle;
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn st3_an_iterator_survives_as_text_and_a_forged_one_is_refused() {
        let stream = Stream::new(
            crate::engine::TreeId(7),
            24,
            1_469_030_400_000,
            Vec::new(),
            crate::tablestore::table::shards::Shards::default(),
        );
        let position = Position { shard: 3, seqno: u64::MAX >> 2, inside: vec![0, 255, 7] };
        let text = position.to_text(&stream);
        assert_eq!(Position::of_text(&text), Some((7, 1_469_030_400_000, position)));
        for at in 0..text.len() {
            let mut forged = text.clone().into_bytes();
            forged[at] = if forged[at] == b'0' { b'1' } else { b'0' };
            assert_eq!(Position::of_text(&String::from_utf8(forged).expect("digits")), None, "{at}");
        }
        for wrong in ["", "zz", "00", &text[1..], &text[2..], "é"] {
            assert_eq!(Position::of_text(wrong), None, "{wrong}");
        }
    }
}
