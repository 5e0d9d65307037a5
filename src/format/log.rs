//! A log record: the writes of one commit, across all trees.
//!
//! ```text
//! kind         1 byte: 1 writes · 2 leadership · 3 checkpoint
//! epoch        uv    who leads; only ever grows
//! clock        sv    the device's clock, ms; where a clock is injected, the one recorded before
//!
//! leadership only, since version 2:
//! nonce        8 bytes, random: no two leaders write the same record
//!
//! writes only:
//! first seqno  uv    writes have consecutive seqnos
//! base stamp   sv    stamps in the record are relative to it
//! last stamp   sv    the greatest stamp ever given
//! count        uv
//! names        see names.rs
//! write        uv tree · u8 bits · 1: uv client · uv request · 2: uv tree · sv shard · sv time, less the base stamp
//!              · uv key length · key · uv fragment length · fragment
//! ```
//!
//! Bit 2 says that a stream has a record of the change: its place there. The record is made from the change when the stream
//! is read, or the change is flushed. A log record with such a write has version 3, every other one version 2.
//!
//! A leadership record is the first record of a new leader. It takes the number that a stale leader would write next, so
//! the stale one's commit fails. A checkpoint has no content; with it, a commit that only changes the manifest takes a
//! number too.

use super::names::{NameBuilder, Names};
use super::wire::{Decoded, Reader, put_bytes, put_sv, put_uv};
use crate::model::{Origin, RecordPlace, TreeId, WriteNote};

const WRITES: u8 = 1;
const LEADERSHIP: u8 = 2;
const CHECKPOINT: u8 = 3;

/// Bits of a write.
const ORIGIN: u8 = 1;
const RECORD: u8 = 2;

/// The version of log records without records of streams. Builds that do not know these read it too.
pub const PLAIN_VERSION: u8 = 2;
const RECORDS_VERSION: u8 = 3;

/// The bytes of a leadership record's nonce.
pub const NONCE_BYTES: usize = 8;

/// The purpose of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogKind {
    /// It carries writes.
    Writes,
    /// A new leader announces itself.
    Leadership,
    /// It only takes a number.
    Checkpoint,
}

/// The common head of log records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogHead {
    /// The leader's epoch.
    pub epoch: u64,
    /// The device's clock, ms.
    pub clock: i64,
}

/// The payload of a checkpoint.
#[must_use]
pub fn encode_checkpoint(head: LogHead) -> Vec<u8> {
    let mut out = Vec::with_capacity(24);
    put_head(LogKind::Checkpoint, head, &mut out);
    out
}

/// The payload of a leadership record. After a lost answer, a leader recognises its own record by the nonce.
#[must_use]
pub fn encode_leadership(head: LogHead, nonce: [u8; NONCE_BYTES]) -> Vec<u8> {
    let mut out = Vec::with_capacity(32);
    put_head(LogKind::Leadership, head, &mut out);
    out.extend_from_slice(&nonce);
    out
}

fn put_head(kind: LogKind, head: LogHead, out: &mut Vec<u8>) {
    out.push(match kind {
        LogKind::Writes => WRITES,
        LogKind::Leadership => LEADERSHIP,
        LogKind::Checkpoint => CHECKPOINT,
    });
    put_uv(head.epoch, out);
    put_sv(head.clock, out);
}

/// Collects writes for one log record.
#[derive(Debug)]
pub struct BatchBuilder {
    names: NameBuilder,
    writes: Vec<u8>,
    count: u64,
    first_seqno: u64,
    base_stamp: i64,
    scratch: Vec<u8>,
    has_records: bool,
}

impl BatchBuilder {
    /// A batch whose first write has this seqno; `base_stamp` is near the stamps of its writes.
    #[must_use]
    pub fn new(first_seqno: u64, base_stamp: i64) -> Self {
        Self {
            names: NameBuilder::default(),
            writes: Vec::new(),
            count: 0,
            first_seqno,
            base_stamp,
            scratch: Vec::new(),
            has_records: false,
        }
    }

    /// The approximate bytes so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.writes.len()
    }

    /// Whether it has no write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The number of writes.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The seqno of the first write.
    #[must_use]
    pub fn first_seqno(&self) -> u64 {
        self.first_seqno
    }

    /// The base of its stamps.
    #[must_use]
    pub fn base_stamp(&self) -> i64 {
        self.base_stamp
    }

    /// The version of its log record.
    #[must_use]
    pub fn version(&self) -> u8 {
        if self.has_records { RECORDS_VERSION } else { PLAIN_VERSION }
    }

    /// The names of the columns.
    #[must_use]
    pub fn names(&self) -> &Names {
        self.names.names()
    }

    /// The fragment that [`Self::push`] put at this span.
    #[must_use]
    pub fn fragment(&self, span: Span) -> &[u8] {
        self.writes.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    /// Appends a write. Returns its seqno and the place of its fragment.
    pub fn push(
        &mut self,
        tree: TreeId,
        key: &[u8],
        note: WriteNote,
        encode: impl FnOnce(i64, &mut NameBuilder, &mut Vec<u8>),
    ) -> (u64, Span) {
        put_uv(u64::from(tree.0), &mut self.writes);
        let WriteNote { origin, record } = note;
        self.writes.push(if origin.is_some() { ORIGIN } else { 0 } | if record.is_some() { RECORD } else { 0 });
        if let Some(origin) = origin {
            put_uv(origin.client, &mut self.writes);
            put_uv(origin.request, &mut self.writes);
        }
        if let Some(record) = record {
            self.has_records = true;
            put_uv(u64::from(record.tree.0), &mut self.writes);
            put_sv(record.shard, &mut self.writes);
            put_sv(record.time.wrapping_sub(self.base_stamp), &mut self.writes);
        }
        put_bytes(key, &mut self.writes);
        self.scratch.clear();
        encode(self.base_stamp, &mut self.names, &mut self.scratch);
        put_bytes(&self.scratch, &mut self.writes);
        let end = self.writes.len() as u32;
        let seqno = self.first_seqno + self.count;
        self.count += 1;
        (seqno, Span { start: end - self.scratch.len() as u32, end })
    }

    /// The payload of the record.
    #[must_use]
    pub fn encode(&self, head: LogHead, last_stamp: i64) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.writes.len() + 128);
        put_head(LogKind::Writes, head, &mut out);
        put_uv(self.first_seqno, &mut out);
        put_sv(self.base_stamp, &mut out);
        put_sv(last_stamp, &mut out);
        put_uv(self.count, &mut out);
        self.names.encode(&mut out);
        out.extend_from_slice(&self.writes);
        out
    }

    /// Every write so far, as a reader of the log gets it.
    pub fn writes(&self) -> Writes<'_> {
        let (reader, base_stamp) = (Reader::new(&self.writes), self.base_stamp);
        Writes { reader, base_stamp, left: self.count, seqno: self.first_seqno }
    }
}

/// The place of a fragment in its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    start: u32,
    end: u32,
}

/// A log record, decoded.
#[derive(Debug)]
pub struct LogRecord<'a> {
    /// Its purpose.
    pub kind: LogKind,
    /// Its writer and time.
    pub head: LogHead,
    /// Its writes, if it carries some.
    pub batch: Option<Batch<'a>>,
}

/// The writes of a record.
#[derive(Debug)]
pub struct Batch<'a> {
    /// The names of their columns.
    pub names: Names,
    /// The base of their stamps.
    pub base_stamp: i64,
    /// The greatest stamp ever given when the record was written.
    pub last_stamp: i64,
    /// The writes.
    pub writes: Writes<'a>,
}

/// Walks over the writes of a batch.
#[derive(Clone, Debug)]
pub struct Writes<'a> {
    reader: Reader<'a>,
    base_stamp: i64,
    left: u64,
    seqno: u64,
}

/// One write of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// The tree.
    pub tree: TreeId,
    /// What the log says of it besides.
    pub note: WriteNote,
    /// The encoded primary key.
    pub key: &'a [u8],
    /// Its place among all writes.
    pub seqno: u64,
    /// The change, relative to the batch's base stamp and names.
    pub fragment: &'a [u8],
    /// The start of the fragment in the payload of the record.
    pub at: usize,
}

impl<'a> Writes<'a> {
    /// The next write.
    pub fn next_write(&mut self) -> Decoded<Option<Write<'a>>> {
        if self.left == 0 {
            return if self.reader.is_empty() { Ok(None) } else { Err(self.reader.damage("bytes behind the end")) };
        }
        let reader = &mut self.reader;
        let tree = TreeId(reader.uv32()?);
        let bits = reader.u8()?;
        if bits & !(ORIGIN | RECORD) != 0 {
            return Err(reader.damage("an unknown note of a write"));
        }
        let mut note = WriteNote::default();
        if bits & ORIGIN != 0 {
            note.origin = Some(Origin { client: reader.uv()?, request: reader.uv()? });
        }
        if bits & RECORD != 0 {
            let (tree, shard) = (TreeId(reader.uv32()?), reader.sv()?);
            note.record = Some(RecordPlace { tree, shard, time: self.base_stamp.wrapping_add(reader.sv()?) });
        }
        let key = reader.bytes()?;
        let fragment = reader.bytes()?;
        let at = reader.at() - fragment.len();
        let seqno = self.seqno;
        self.left -= 1;
        self.seqno += 1;
        Ok(Some(Write { tree, note, key, seqno, fragment, at }))
    }

    /// The number of writes that are left.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.left
    }

    /// The seqno that follows the last write.
    #[must_use]
    pub fn next_seqno(&self) -> u64 {
        self.seqno.saturating_add(self.left)
    }
}

fn read_head(reader: &mut Reader<'_>) -> Decoded<(LogKind, LogHead)> {
    let kind = match reader.u8()? {
        WRITES => LogKind::Writes,
        LEADERSHIP => LogKind::Leadership,
        CHECKPOINT => LogKind::Checkpoint,
        _ => return Err(reader.damage("an unknown kind of log record")),
    };
    Ok((kind, LogHead { epoch: reader.uv()?, clock: reader.sv()? }))
}

/// Decodes the head of a log record's payload.
pub fn decode_head(payload: &[u8]) -> Decoded<(LogKind, LogHead)> {
    read_head(&mut Reader::new(payload))
}

/// Decodes the payload of a log record.
pub fn decode(payload: &[u8]) -> Decoded<LogRecord<'_>> {
    let mut reader = Reader::new(payload);
    let (kind, head) = read_head(&mut reader)?;
    let batch = if kind == LogKind::Writes {
        let seqno = reader.uv()?;
        let base_stamp = reader.sv()?;
        let last_stamp = reader.sv()?;
        let left = reader.uv()?;
        let names = Names::decode(&mut reader)?;
        Some(Batch { names, base_stamp, last_stamp, writes: Writes { reader, base_stamp, left, seqno } })
    } else {
        if kind == LogKind::Leadership && !reader.is_empty() {
            reader.take(NONCE_BYTES)?;
        }
        if !reader.is_empty() {
            return Err(reader.damage("bytes behind the end"));
        }
        None
    };
    Ok(LogRecord { kind, head, batch })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: LogHead = LogHead { epoch: 3, clock: 1_700_000_000_000 };

    #[test]
    fn writes_survive_with_their_origin_and_seqno() {
        let mut batch = BatchBuilder::new(41, 7);
        let origin = Some(Origin { client: 9, request: 1 << 40 });
        let note = WriteNote { origin, record: None };
        let (first, span) = batch.push(TreeId(1), b"k1", note, |_, _, out| out.extend_from_slice(b"one"));
        batch.push(TreeId(2), b"k2", WriteNote::default(), |_, _, out| out.extend_from_slice(b"two"));
        assert_eq!(batch.version(), PLAIN_VERSION, "builds that know no records in the log read it");
        assert_eq!((first, batch.fragment(span)), (41, &b"one"[..]));

        let payload = batch.encode(HEAD, 99);
        let record = decode(&payload).expect("decodes");
        assert_eq!((record.kind, record.head), (LogKind::Writes, HEAD));
        let mut writes = record.batch.expect("writes").writes;
        assert_eq!(writes.next_seqno(), 43);
        let one = writes.next_write().expect("ok").expect("one");
        assert_eq!(
            (one.tree, one.key, one.seqno, one.fragment, one.note),
            (TreeId(1), &b"k1"[..], 41, &b"one"[..], note)
        );
        let two = writes.next_write().expect("ok").expect("two");
        assert_eq!((two.tree, two.seqno, two.note), (TreeId(2), 42, WriteNote::default()));
        assert!(writes.next_write().expect("ok").is_none());
    }

    /// ST1
    #[test]
    fn a_write_names_the_place_of_its_record() {
        let origin = Some(Origin { client: 9, request: 4 });
        for origin in [None, origin] {
            let mut batch = BatchBuilder::new(1, 1_000);
            let record = Some(RecordPlace { tree: TreeId(7), shard: 3, time: 900 });
            let note = WriteNote { origin, record };
            batch.push(TreeId(1), b"k", note, |_, _, out| out.extend_from_slice(b"one"));
            assert_eq!(batch.version(), RECORDS_VERSION);
            let payload = batch.encode(HEAD, 0);
            for mut writes in [batch.writes(), decode(&payload).expect("decodes").batch.expect("writes").writes] {
                let write = writes.next_write().expect("ok").expect("one");
                assert_eq!((write.note, write.key, write.fragment), (note, &b"k"[..], &b"one"[..]));
            }
        }
    }

    #[test]
    fn bare_records_survive() {
        let leadership = encode_leadership(HEAD, *b"a nonce!");
        // As it was before records had a nonce.
        let bare = &leadership[..leadership.len() - NONCE_BYTES];
        let checkpoint = encode_checkpoint(HEAD);
        for (kind, payload) in
            [(LogKind::Leadership, &leadership[..]), (LogKind::Leadership, bare), (LogKind::Checkpoint, &checkpoint)]
        {
            let record = decode(payload).expect("decodes");
            assert_eq!((record.kind, record.head, record.batch.is_none()), (kind, HEAD, true));
        }
        assert!(decode(&leadership[..leadership.len() - 1]).is_err());
        assert!(decode(&[&leadership[..], b"x"].concat()).is_err());
        assert_ne!(leadership, encode_leadership(HEAD, *b"a nonce?"));
    }

    #[test]
    fn a_cut_record_is_damage() {
        let mut batch = BatchBuilder::new(1, 0);
        let record = Some(RecordPlace { tree: TreeId(7), shard: 3, time: 900 });
        let note = WriteNote { record, ..WriteNote::default() };
        batch.push(TreeId(1), b"k", note, |_, _, out| out.extend_from_slice(b"fragment"));
        let payload = batch.encode(HEAD, 0);
        for length in 0..payload.len() {
            let whole = decode(&payload[..length]).and_then(|record| match record.batch {
                Some(mut batch) => batch.writes.next_write().map(|write| write.is_some()),
                None => Ok(false),
            });
            assert!(whole.is_err(), "cut at {length}");
        }
    }
}
