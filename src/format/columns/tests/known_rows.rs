//! What splitting and joining a block find out of its rows is what the rows have.

use super::*;
use crate::format::columns;
use crate::format::fragment::HAS_MARKER;

/// The rows of a block as its fragments have them, if all are simple.
fn rows_of(block: &Block) -> Option<SimpleRows> {
    let mut rows =
        SimpleRows { oldest: i64::MAX, newest: 0, marked: true, cells: Vec::new(), before_cells: Vec::new() };
    let mut last = None;
    for index in 0..block.len() {
        let entry = block.entry(index)?;
        let mut fragment = block.fragment(&entry).expect("a fragment");
        let FragmentHead { marker, stamp, .. } = fragment.head();
        let (mut bytes, mut names) = (0, Vec::new());
        while let Some(cell) = fragment.next_cell().expect("a cell") {
            let CellOp::Put(version, value) = cell.op else { return None };
            bytes += cell.column.len() + value.metered_bytes();
            names.push(cell.column);
            rows.oldest = rows.oldest.min(version);
        }
        rows.oldest = rows.oldest.min(marker.unwrap_or(i64::MAX)).min(stamp);
        rows.newest = rows.newest.max(entry.seqno);
        rows.marked &= marker.is_some();
        let is_disordered = names.windows(2).any(|pair| pair[0] >= pair[1]);
        if is_disordered || last.replace(entry.key) == Some(entry.key) || marker.is_none() && names.is_empty() {
            return None;
        }
        rows.cells.push(u16::try_from(bytes).ok()?);
        let mut head = Reader::new(entry.fragment);
        if head.u8().expect("a head") & HAS_MARKER != 0 {
            head.sv().expect("a marker or a stamp");
        }
        head.sv().expect("a stamp");
        let between = entry.fragment.as_ptr().addr() - entry.key.as_ptr_range().end.addr();
        rows.before_cells.push(u8::try_from(between + head.at()).expect("some bytes"));
    }
    Some(rows)
}

/// Rows whose cells are puts in columns of their own, mostly.
fn simple() -> impl Strategy<Value = Vec<RowSeed>> {
    let cells = proptest::collection::vec((2u8..32, any::<i64>(), 0usize..140), 0..5);
    let row = (0u8..40, any::<u64>(), any::<i64>(), proptest::option::weighted(0.9, any::<i64>()), cells);
    proptest::collection::vec(row, 0..30).prop_map(|seeds| {
        let rows = seeds.into_iter().enumerate().map(|(i, (key, seqno, stamp, marker, cells))| {
            // Some keys come again, and some cells are in the column before.
            let key = if key == 0 { i as u64 - i as u64 % 2 } else { i as u64 };
            let cell = |(at, (kind, number, length)): (usize, (u8, i64, usize))| {
                let tag = if kind & 15 < 2 { 2 } else { kind };
                ((at - usize::from(at > 0 && kind == 16)) as u8, tag, number, "x".repeat(length * length))
            };
            (key.to_be_bytes().to_vec(), seqno, stamp, marker, cells.into_iter().enumerate().map(cell).collect())
        });
        rows.collect()
    })
}

#[test]
fn a_block_with_a_padded_length_of_a_key_has_no_simple_rows() {
    let rows: Vec<RowSeed> = (0..3).map(|id| (vec![7, 7, id], 1, 1, Some(1), Vec::new())).collect();
    let payload = payload(&rows);
    assert_eq!(simple_rows(&payload).map(|rows| rows.before_cells), Some(vec![5; 3]));
    let at = payload.windows(4).position(|bytes| bytes == [3, 7, 7, 1]).expect("the second key");
    let padded = [&payload[..at], &[0x83, 0][..], &payload[at + 1..]].concat();
    assert_eq!(Block::decode(padded.clone().into()).map(|block| block.len()), Ok(3));
    assert_eq!(simple_rows(&padded), None);
}

proptest! {
    /// R6: what a filter on columns counts of rows that it drops is what their fragments have.
    #[test]
    fn simple_rows_are_known_where_a_block_is_written_and_read(rows in prop_oneof![simple(), rows()]) {
        let payload = payload(&rows);
        let expected = rows_of(&Block::decode(payload.clone().into()).expect("a block"));
        for form in [Form::Fast, Form::Dense] {
            let (stored, written) = columns::split(&payload, form).expect("it is a block's payload");
            let (_, read) = columns::join(&stored, payload.len(), None).expect("it was split");
            prop_assert_eq!([&written, &read], [&expected; 2]);
        }
    }
}
