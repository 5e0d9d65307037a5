//! Requests come out of a frame as they went in (R6, R7): filters, conditions, keys to be assigned, transactions.

use crate::session::frame as bytes;
use crate::store::*;
use proptest::prelude::*;
use proptest::sample::select;
use tabstore::model::filter::{CastType, ColumnFilter, Comparator, Filter, Transfer};
use tabstore::model::{KeyInput, KeyPart, NameRules, TableName, Value, ValueRef};
use tabstore::session::codec::contract::Row;
use tabstore::session::codec::contract::{self, op};
use tabstore::session::codec::fields::{Field, List};
use tabstore::session::codec::{Frame, FrameWriter};
use tabstore::tablestore::{Existence, GetRow, ReadOptions, RowWrite};

fn frame(write: impl FnOnce(&mut FrameWriter)) -> Frame {
    Frame::parse(bytes(write), NameRules::Document).expect("a frame")
}

fn get_row(filter: Filter<'_>) -> GetRow<'_> {
    let options = ReadOptions { filter: Some(filter), ..versions(1) };
    GetRow { table: TableName::parse("t").expect("a name"), key: id(1), options }
}

/// The only request of a frame, as the session reads it.
fn read<F: Field>(frame: &Frame) -> Result<F::Value<'_>, String> {
    let head = frame.next_request().expect("whole").expect("a request");
    match frame.payload::<F>(&head) {
        Some(answer) => {
            assert_eq!(frame.next_request(), Ok(None), "all was read");
            answer.map_err(|error| error.message().to_owned())
        }
        None => Err(frame.next_request().expect_err("damage").what.to_owned()),
    }
}

/// The parts of a filter, for a test that makes many.
#[derive(Clone, Debug)]
enum Sketch {
    Column(String, Comparator, Value, [bool; 2], Option<(String, CastType)>),
    Composite(u8, Vec<Sketch>),
    Page(i64, i64),
}

impl Sketch {
    fn filter(&self) -> Filter<'_> {
        match self {
            Self::Column(name, comparator, value, [pass_if_missing, latest_version_only], transfer) => {
                let transfer = transfer.as_ref();
                Filter::Column(ColumnFilter {
                    column: column(name),
                    comparator: *comparator,
                    value: comparator.compares().then(|| value.as_ref()),
                    pass_if_missing: *pass_if_missing,
                    latest_version_only: *latest_version_only,
                    transfer: transfer.map(|(regex, cast)| Transfer { regex, cast: *cast }),
                })
            }
            Self::Composite(operator, children) => {
                let children = children.iter().map(Self::filter).collect();
                match operator {
                    0 => Filter::Not(children),
                    1 => Filter::And(children),
                    _ => Filter::Or(children),
                }
            }
            Self::Page(offset, limit) => Filter::Page { offset: *offset, limit: *limit },
        }
    }
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::Integer),
        (-1e9..1e9).prop_map(Value::Double),
        any::<bool>().prop_map(Value::Boolean),
        "[a-cé]{0,3}".prop_map(Value::String),
        proptest::collection::vec(any::<u8>(), 0..4).prop_map(Value::Binary),
    ]
}

fn sketch() -> impl Strategy<Value = Sketch> {
    let transfer =
        proptest::option::of(("[a-z()]{0,5}", select(&[CastType::Integer, CastType::Double, CastType::String][..])));
    let column = ("[a-d]", select(&Comparator::ALL[..]), value(), any::<[bool; 2]>(), transfer);
    let leaf = prop_oneof![
        4 => column.prop_map(|(name, comparator, value, flags, transfer)| {
            Sketch::Column(name, comparator, value, flags, transfer)
        }),
        1 => any::<(i64, i64)>().prop_map(|(offset, limit)| Sketch::Page(offset, limit)),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        (0u8..3, proptest::collection::vec(inner, 0..4))
            .prop_map(|(operator, children)| Sketch::Composite(operator, children))
    })
}

proptest! {
    #[test]
    fn r6_filters_travel(sketch in sketch()) {
        let filter = sketch.filter();
        let sent = frame(|out| out.get_row(1, &get_row(filter.clone())));
        let request = read::<contract::GetRow>(&sent).expect("right");
        prop_assert_eq!(request.options.filter.as_ref(), Some(&filter));
        let conditional = RowWrite { column_condition: Some(Box::new(filter.clone())), ..delete("t", id(1)) };
        let sent = frame(|out| out.row_write(1, &conditional));
        let request = read::<contract::RowWrite>(&sent).expect("right");
        prop_assert_eq!(request.column_condition.as_deref(), Some(&filter));
    }
}

/// So many NOT, one in the other, around a leaf.
fn nested(depth: usize) -> Filter<'static> {
    let leaf = Filter::Page { offset: 0, limit: 1 };
    (1..depth).fold(leaf, |filter, _| Filter::Not(vec![filter]))
}

#[test]
fn r6_deep_filters_are_damage_not_a_stack_overflow() {
    let deep = frame(|out| out.get_row(1, &get_row(nested(64))));
    assert!(read::<contract::GetRow>(&deep).is_ok());
    let deep = frame(|out| out.get_row(1, &get_row(nested(65))));
    assert_eq!(read::<contract::GetRow>(&deep).expect_err("refused"), "a filter is too deep");
    // Half a million levels.
    let mut bytes = vec![1, 0, 0, 0, 0, 1, op::GET_ROW, 0, 0, 64];
    bytes.extend([2, 1, 1].repeat(500_000));
    let end = u32::try_from(bytes.len()).expect("small");
    bytes[1..5].copy_from_slice(&end.to_le_bytes());
    bytes.extend([1, 1, b't']);
    let deep = Frame::parse(bytes, NameRules::Document).expect("a frame");
    assert_eq!(read::<contract::GetRow>(&deep).expect_err("refused"), "a filter is too deep");
}

#[test]
fn r6_a_filter_that_says_something_wrong_is_refused() {
    let filter = ColumnFilter {
        column: column("aa"),
        comparator: Comparator::Equal,
        value: Some(int(7)),
        pass_if_missing: true,
        latest_version_only: true,
        transfer: Some(Transfer { regex: "x", cast: CastType::String }),
    };
    let filter = Filter::And(vec![Filter::Column(filter), Filter::Page { offset: 1, limit: 1 }]);
    let right = bytes(|out| out.get_row(1, &get_row(filter)));
    let start = right.windows(3).position(|bytes| bytes == [2, 2, 2]).expect("the AND");
    let answer = |at: usize, byte: u8| {
        let mut wrong = right.clone();
        wrong[start + at] = byte;
        let frame = Frame::parse(wrong, NameRules::Document).expect("a frame");
        read::<contract::GetRow>(&frame).err()
    };
    // 2 AND 2 | 1 name = INTEGER 14 flags "x" STRING | 3 2 2
    for (at, byte, message) in [
        (0, 9, "a filter is of an unknown kind"),
        (1, 4, "Invalid logical operator: 4."),
        (4, 99, "a name is not in the dictionary"),
        (5, 0, "Invalid relation operator: 0."),
        (5, 9, "Invalid relation operator: 9."),
        (6, 99, "a value has an unknown tag"),
        (8, 15, "a filter has unknown flags"),
        (11, 2, "Invalid cast type: 2."),
    ] {
        assert_eq!(answer(at, byte).as_deref(), Some(message), "byte {at}");
    }
    assert_eq!(answer(5, 2), None, "another comparator");
    let infinite = |tag| {
        let mut wrong = right.clone();
        wrong[start + 6] = tag;
        wrong.remove(start + 7);
        wrong[1] -= 1;
        read::<contract::GetRow>(&Frame::parse(wrong, NameRules::Document).expect("a frame")).err()
    };
    assert_eq!(infinite(9).as_deref(), Some("VT_INF_MAX is an invalid type for the attribute column."));
}

#[test]
fn r6_a_key_column_to_be_assigned_travels() {
    let mut key = KeyInput::new();
    key.push("id", KeyPart::Value(ValueRef::Integer(1)));
    key.push("n", KeyPart::AutoIncrement);
    let sent = frame(|out| out.row_write(1, &put("t", key.clone(), &[])));
    let write = read::<contract::RowWrite>(&sent).expect("right");
    assert_eq!(write.key.columns(), key.columns());
}

#[test]
fn r7_the_id_of_a_transaction_travels_before_the_payload() {
    let sent = frame(|out| {
        out.transaction(Some("tx 1"));
        out.row_write(1, &put("t", id(1), &[]));
        out.transaction(Some(""));
        out.batch_write(2, &[put("t", id(2), &[]), delete("t", id(3))]);
        out.transaction(None);
        out.batch_write_atomic(3, &[put("t", id(4), &[])]);
    });
    let head = sent.next_request().expect("whole").expect("a request");
    assert_eq!((head.id, head.op, sent.transaction(&head)), (1, op::PUT_ROW, Some("tx 1")));
    let write = sent.payload::<contract::RowWrite>(&head).expect("whole").expect("right");
    assert_eq!((write.key.columns(), write.condition), (id(1).columns(), Existence::Ignore));
    let head = sent.next_request().expect("whole").expect("a request");
    assert_eq!((head.id, head.op, sent.transaction(&head)), (2, op::BATCH_WRITE_ROW, Some("")));
    assert_eq!(sent.payload::<List<Row>>(&head).expect("whole").expect("right").len(), 2);
    let head = sent.next_request().expect("whole").expect("a request");
    assert_eq!((head.id, head.op, sent.transaction(&head)), (3, op::BATCH_WRITE_ROW_ATOMIC, None));
    assert_eq!(sent.payload::<List<Row>>(&head).expect("whole").expect("right").len(), 1);
    assert_eq!(sent.next_request(), Ok(None));
    for op in [op::BATCH_GET_ROW, op::BATCH_WRITE_ROW_ATOMIC, 8, 0, 63] {
        let bytes = vec![1, 8, 0, 0, 0, 1, op | op::IN_TRANSACTION, 0, 0];
        let damage = Frame::parse(bytes, NameRules::Document).expect("a frame").next_request().expect_err("damage");
        assert_eq!(damage.what, "an operation cannot be part of a transaction");
    }
}
