//! A page of records, and the records of loads that go into it.

use super::record::{Record, StreamRecords, key_of};
use crate::format::wire::{Decoded, put_bytes, put_sv, put_uv};
use crate::model::limits;
use std::ops::ControlFlow;

/// The records that a page has taken.
pub(super) struct Page {
    pub(super) taken: StreamRecords,
    pub(super) most: usize,
}

impl Page {
    pub(super) fn is_full(&self) -> bool {
        self.taken.count >= self.most || self.taken.records.len() >= limits::STREAM_BYTES
    }

    pub(super) fn take(&mut self, seqno: u64, time: i64, record: &[u8]) {
        put_uv(seqno, &mut self.taken.records);
        put_sv(time, &mut self.taken.records);
        put_bytes(record, &mut self.taken.records);
        self.taken.count += 1;
    }
}

/// The records of a load's rows in a range of keys.
pub(super) struct LoadedRecords<'t> {
    /// The key of the first record that found the page full.
    pub(super) rest: Option<Vec<u8>>,
    /// The first key; empty once it was passed.
    pub(super) first: Vec<u8>,
    /// The key behind the last; empty at the end of the table.
    pub(super) to: &'t [u8],
}

impl LoadedRecords<'_> {
    /// Takes the records of a row: a pack with the key of its last record, or a single one, as they were before there were
    /// packs. Breaks at the end of the range or of the page.
    pub(super) fn take(
        &mut self,
        last: &[u8],
        record: &[u8],
        page: &mut Page,
        (seqno, time): (u64, i64),
    ) -> Decoded<ControlFlow<()>> {
        let crosses = !self.to.is_empty() && last >= self.to;
        let mut take = |record: &[u8]| {
            if crosses || !self.first.is_empty() {
                let key = key_of(record)?;
                if crosses && *key >= *self.to {
                    return Ok(ControlFlow::Break(()));
                }
                if key < self.first {
                    return Ok(ControlFlow::Continue(()));
                }
                self.first.clear();
            }
            if page.is_full() {
                self.rest = Some(key_of(record)?);
                return Ok(ControlFlow::Break(()));
            }
            page.take(seqno, time, record);
            Ok(ControlFlow::Continue(()))
        };
        let mut records = match Record::decode(record)? {
            Record::Pack(records) => records,
            _ => return take(record),
        };
        while let Some(record) = records.next_record()? {
            if take(record)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::start_pack;
    use super::*;
    use crate::model::{ChangeKind, RowChange, Value, ValueRef, encode_value};

    fn record_of_row(id: i64) -> (Vec<u8>, Vec<u8>) {
        let (key, mut encoded) = ([ValueRef::Integer(id)], Vec::new());
        let change = RowChange { kind: ChangeKind::Put, stamp: 5, cells: &[] };
        encode_value(key[0], &mut encoded);
        (encoded, Record::encode(&key, &change, &[]))
    }

    fn pack(ids: &[i64]) -> Vec<u8> {
        let mut pack = Vec::new();
        start_pack(&mut pack);
        ids.iter().for_each(|id| put_bytes(&record_of_row(*id).1, &mut pack));
        pack
    }

    fn empty_page(most: usize) -> Page {
        Page { taken: StreamRecords::default(), most }
    }

    fn ids(page: &Page) -> Vec<Value> {
        page.taken.read().expect("whole").into_iter().flat_map(|record| record.key).collect()
    }

    #[test]
    fn st1_packs_and_single_records_of_a_load_give_the_keys_of_a_range() {
        let key = |id: i64| record_of_row(id).0;
        let rows = [(key(3), pack(&[1, 2, 3])), (key(4), record_of_row(4).1), (key(9), pack(&[5, 6, 9]))];
        for (first, to, most, expected, rest) in [
            (0, None, 100, vec![1, 2, 3, 4, 5, 6, 9], None),
            (2, Some(6), 100, vec![2, 3, 4, 5], None),
            (2, Some(9), 2, vec![2, 3], Some(4)),
            (3, Some(4), 100, vec![3], None),
            (3, Some(7), 3, vec![3, 4, 5], Some(6)),
            (6, Some(8), 1, vec![6], None),
        ] {
            let (to, mut page) = (to.map(key).unwrap_or_default(), empty_page(most));
            let mut loaded = LoadedRecords { rest: None, first: key(first), to: &to };
            for (last, record) in rows.iter().filter(|(last, _)| *last >= key(first)) {
                if loaded.take(last, record, &mut page, (8, 9)).expect("whole").is_break() {
                    break;
                }
            }
            let expected: Vec<Value> = expected.into_iter().map(Value::Integer).collect();
            assert_eq!((ids(&page), loaded.rest), (expected, rest.map(key)), "from {first}, {most} at most");
        }
    }

    #[test]
    fn st1_a_damaged_pack_is_damage_never_a_panic() {
        let (last, whole) = (record_of_row(3).0, pack(&[1, 2, 3]));
        for length in 1..whole.len() {
            let mut loaded = LoadedRecords { first: record_of_row(2).0, to: &last, rest: None };
            let taken = loaded.take(&last, &whole[..length], &mut empty_page(9), (8, 9));
            let whole_records = [1, 1 + (whole.len() - 1) / 3, 1 + (whole.len() - 1) / 3 * 2];
            assert_eq!(taken.is_err(), !whole_records.contains(&length), "cut at {length}");
        }
        assert!(Record::decode(&[5, 0]).is_err() && Record::decode(&[]).is_err());
    }
}
