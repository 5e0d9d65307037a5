//! Stored blocks: built from the input, damaged by it, or the input itself.

use super::input::Input;
use tabstore::format::block::{Block, BlockBuilder};
use tabstore::format::columns::{self, Form};
use tabstore::format::fragment::{self, FragmentHead};
use tabstore::format::record::{self, Place};
use tabstore::model::{CellChange, CellOp, ValueRef};
use tabstore::storage::{BlockId, SegmentId};

const PLACE: Place = Place::Block(BlockId { segment: SegmentId(5), block: 1 });
const COLUMNS: [&str; 5] = ["a", "b", "c", "d", "e"];

/// A block of rows built from the input; its payload.
fn block(input: &mut Input<'_>) -> Vec<u8> {
    let mut builder = BlockBuilder::default();
    let mut key = 0u64;
    // Short keys and long ones have differences of another kind.
    let key_from = input.pick(6);
    for i in 0..u64::from(input.byte()) {
        let stamp = if input.one_in(8) { input.integer() } else { 1000 };
        let cells =
            (0..input.pick(6)).map(|_| (input.pick(COLUMNS.len()), input.pick(6), input.integer(), input.text()));
        let cells = cells.collect::<Vec<_>>();
        let cells = cells.iter().map(|(column, kind, number, text)| {
            let op = match kind {
                0 => CellOp::Put(*number, ValueRef::Binary(text.as_bytes())),
                1 => CellOp::Put(stamp, ValueRef::Double(*number as f64 / 8.0)),
                2 => CellOp::Put(stamp, ValueRef::Integer(*number)),
                3 => CellOp::DeleteVersion(*number),
                4 => CellOp::Put(stamp, ValueRef::Boolean(true)),
                _ => CellOp::Put(stamp, ValueRef::String(text)),
            };
            CellChange { column: COLUMNS[*column], op }
        });
        let head = FragmentHead { hides_older: input.one_in(2), marker: input.one_in(2).then_some(stamp), stamp };
        key += u64::from(input.byte());
        let bytes = key.to_be_bytes();
        builder
            .push(&bytes[key_from..], 7 + i, stamp, |base, names, out| fragment::encode(head, cells, base, names, out));
    }
    let stored = builder.finish(PLACE, Form::Dense).0;
    Block::open(PLACE, &stored, None).expect("a block that was just made");
    record::open(PLACE, &stored).expect("a block that was just made").to_vec()
}

/// A block reads back as it was written. A damaged one is refused or is a block, and takes no more memory than it states.
pub(crate) fn blocks(data: &[u8]) {
    let raw = data.len() * 3;
    let whole = |stored: &[u8], raw: usize| {
        if let Ok((joined, rows)) = columns::join(stored, raw, None) {
            assert_eq!(joined.len(), raw, "as long as it is said to be");
            if Block::decode(joined.clone().into()).is_ok() {
                assert_eq!(rows, columns::simple_rows(&joined), "what is known of its rows");
            }
        }
        if let Ok((part, _)) = columns::join(stored, raw, Some(&[&[0], &5u64.to_be_bytes()])) {
            assert!(part.len() <= raw, "no longer than the whole");
        }
    };
    whole(data, raw);
    let mut input = Input::new(data);
    let payload = block(&mut input);
    for form in [Form::Fast, Form::Dense] {
        drop(columns::split(data, form));
        let Some((mut stored, rows)) = columns::split(&payload, form) else {
            panic!("a block that cannot be taken apart")
        };
        let (joined, simple) = columns::join(&stored, payload.len(), None).expect("a block");
        assert_eq!((&joined[..], &simple), (&payload[..], &rows), "what was stored");
        let (none, _) = columns::join(&stored, payload.len(), Some(&[])).expect("a block without entries");
        assert!(Block::decode(none.into()).expect("a block").is_empty());
        for _ in 0..20 {
            let at = input.pick(stored.len());
            stored[at] = input.byte();
            whole(&stored, payload.len());
        }
        whole(&stored[..input.pick(stored.len())], payload.len());
    }
}
