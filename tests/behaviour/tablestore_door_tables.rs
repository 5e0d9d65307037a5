//! Tables, indexes and streams through the door of Table Store.

use crate::store::NOW;
use crate::tablestore_door::*;
use tabstore::model::Value;

fn invalid(door: &Door, operation: &str, body: Proto, text: &str) {
    assert_eq!(door.refused(operation, body), format!("400 OTSParameterInvalid: {text}"));
}

/// An index: global or local.
fn index(name: &str, key: &[&str], columns: &[&str], kind: i64) -> Proto {
    let spec = key.iter().fold(proto().b(1, name), |spec, column| spec.b(2, column));
    columns.iter().fold(spec, |spec, column| spec.b(3, column)).n(4, kind).n(5, kind)
}

/// CreateTable of `t` with the defined columns `s` (String) and `n` (Integer).
fn with_defined() -> Proto {
    let column = |name: &str, kind| proto().b(1, name).n(2, kind);
    let meta = proto().b(1, "t").m(2, column("id", 1)).m(2, column("k", 2)).m(3, column("s", 4)).m(3, column("n", 1));
    proto().m(1, meta).m(2, proto().m(1, proto().n(1, 0).n(2, 0)))
}

/// T1, T4: a table is described as it was made, with the service's defaults.
#[test]
fn t1_t4_a_table_is_made_listed_described_and_deleted() {
    let door = Door::new();
    assert_eq!(door.done("ListTable", proto()), Got::default());
    door.done("CreateTable", create("b", &[("i", 1), ("s", 2), ("x", 3)]));
    door.done("CreateTable", create("a", &[("id", 1)]).m(3, proto().n(1, 86_400).n(2, 5).n(5, 100).n(6, 0)));
    assert_eq!(door.done("ListTable", proto()).texts(1), ["a", "b"]);
    let described = door.done("DescribeTable", proto().b(1, "b"));
    let meta = described.message(1);
    let key: Vec<_> =
        meta.messages(2).iter().map(|column| (column.text(1).expect("a name"), column.number(2))).collect();
    assert_eq!(meta.text(1).as_deref(), Some("b"));
    assert_eq!(key, [("i".into(), Some(1)), ("s".into(), Some(2)), ("x".into(), Some(3))]);
    let throughput = described.message(2);
    assert_eq!((throughput.message(1).number(1), throughput.message(1).number(2)), (Some(0), Some(0)));
    assert_eq!((throughput.number(2), throughput.number(3)), (Some(NOW / 1000), None), "clients ask for the first");
    let options = |got: &Got, field| [1, 2, 5, 6].map(|option| got.message(field).number(option).expect("an option"));
    assert_eq!(options(&described, 3), [-1, 1, 86_400, 1]);
    assert_eq!((described.number(4), described.number(9)), (Some(1), Some(NOW * 1000)));
    let stream = described.message(5);
    assert_eq!(
        (stream.number(1), stream.text(2), stream.number(3), stream.number(4)),
        (Some(0), None, Some(0), Some(0))
    );
    let other = door.done("DescribeTable", proto().b(1, "a"));
    assert_eq!(options(&other, 3), [86_400, 5, 100, 0]);
    assert_eq!(door.done("DeleteTable", proto().b(1, "b")), Got::default());
    assert_eq!(
        door.refused("DescribeTable", proto().b(1, "b")),
        "404 OTSObjectNotExist: Requested table does not exist."
    );
    assert_eq!(
        door.refused("DeleteTable", proto().b(1, "b")),
        "404 OTSObjectNotExist: Requested table does not exist."
    );
    assert_eq!(
        door.refused("CreateTable", create("a", &[("id", 1)])),
        "409 OTSObjectAlreadyExist: Requested table already exists."
    );
}

/// T2, T3: what no table may have.
#[test]
fn t2_t3_a_table_that_cannot_be_is_refused_by_name() {
    let door = Door::new();
    for (body, text) in [
        (create("3t", &[("id", 1)]), "Invalid table name: '3t'."),
        (create("t", &[]), "The number of primary key columns must be in range: [1, 4]."),
        (create("t", &[("a", 1), ("a", 1)]), "Duplicated primary key name: 'a'."),
        (create("t", &[("a", 5)]), "BOOLEAN is an invalid type for the primary key."),
        (create("t", &[("a", 9)]), "Invalid column type, only STRING,INTEGER,BINARY is allowed."),
        (create("t", &[("a", 1)]).m(3, proto().n(2, 0)), "The maximum versions cannot be less than or equal to 0"),
        (create("t", &[("a", 1)]).m(3, proto().n(1, 5)), "TimeToLive cannot be less than 86400 unless it is -1: 5."),
        (
            create("t", &[("a", 1)]).m(5, proto().n(1, 1).n(2, 0)),
            "The expiration time of a stream must be in range: [1, 168].",
        ),
        (proto().m(1, proto().b(1, "t")), "Parse PBMessage from RawString failed."),
        (with_defined().m(7, index("x", &["s"], &["n"], 2)), "Invalid index type: 2."),
    ] {
        invalid(&door, "CreateTable", body, text);
    }
    let range = |begin: &Held, end: &Held| proto().b(1, variant(begin)).b(2, variant(end));
    let ranges = |all: &[Proto]| all.iter().fold(create("t", &[("id", 1)]), |body, range| body.m(4, range.clone()));
    let split = [range(&Held::InfMin, &int(10)), range(&int(10), &Held::InfMax)];
    invalid(
        &door,
        "CreateTable",
        ranges(&vec![split[0].clone(); 11]),
        "The count of partitions cannot be greater than 10",
    );
    let other = "The value type of partition does not match with primary key.";
    invalid(&door, "CreateTable", ranges(&[range(&Held::InfMin, &text("x"))]), other);
    assert_eq!(door.done("ListTable", proto()), Got::default());
    door.done("CreateTable", ranges(&split));
}

/// T5, T6: options change one by one; what a client repeats does no harm.
#[test]
fn t5_t6_options_and_reserved_units_are_changed() {
    let door = Door::with_table();
    let updated = door.done("UpdateTable", proto().b(1, "t").m(3, proto().n(2, 5)));
    let options = |got: &Got| [1, 2, 5, 6].map(|option| got.message(2).number(option).expect("an option"));
    assert_eq!(options(&updated), [-1, 5, 86_400, 1]);
    let python = door.done("UpdateTable", proto().b(1, "t").m(3, proto().n(1, -1).n(2, 7).n(5, 86_400)));
    assert_eq!(options(&python), [-1, 7, 86_400, 1]);
    let raised = door.done("UpdateTable", proto().b(1, "t").m(2, proto().m(1, proto().n(1, 9))));
    assert_eq!(raised.message(1).message(1).number(1), Some(9));
    let text = "403 OTSTooFrequentReservedThroughputAdjustment: Capacity unit adjustment is too frequent.";
    assert_eq!(door.refused("UpdateTable", proto().b(1, "t").m(2, proto().m(1, proto().n(1, 8)))), text);
    invalid(&door, "UpdateTable", proto().b(1, "t"), "No parameter is specified in table options.");
    door.done("UpdateTable", proto().b(1, "t").m(3, proto().n(6, 0)));
    let changes = write("t", &row(&[("id", int(1))], &[put("a", int(1))], false), 0);
    invalid(&door, "UpdateRow", changes, "Update operation is not allowed in this table");
}

/// R6: indexes and defined columns.
#[test]
fn r6_indexes_are_made_described_read_and_dropped() {
    let door = Door::new();
    door.done("CreateTable", with_defined().m(7, index("by_s", &["s"], &["n"], 0)));
    assert_eq!(door.done("ListTable", proto()).texts(1), ["t"], "clients delete all that is listed");
    let described = door.done("DescribeTable", proto().b(1, "t"));
    let found = &described.messages(8)[0];
    assert_eq!(
        (found.text(1).as_deref(), found.texts(2), found.texts(3)),
        (Some("by_s"), vec!["s".into()], vec!["n".into()])
    );
    assert_eq!([4, 5, 6].map(|field| found.number(field)), [Some(0), Some(0), Some(2)]);
    let defined: Vec<_> =
        described.message(1).messages(3).iter().map(|own| (own.text(1).expect("a name"), own.number(2))).collect();
    assert_eq!(defined, [("s".into(), Some(4)), ("n".into(), Some(1))]);
    let key = [("id", int(1)), ("k", text("k"))];
    door.done("PutRow", write("t", &row(&key, &[put("s", text("x")), put("n", int(5))], false), 0));
    let ends = [Held::InfMin, Held::InfMax]
        .map(|end| crate::tablestore_door::key(&[("s", end.clone()), ("id", end.clone()), ("k", end)]));
    let all = proto().b(1, "by_s").n(2, 0).n(5, 1).b(7, &ends[0]).b(8, &ends[1]);
    let rows = rows(&door.done("GetRange", all).bytes(2).expect("rows"));
    assert_eq!(rows[0].key[0], ("s".into(), Value::String("x".into())));
    let direct = write("by_s", &row(&[("s", text("y")), ("id", int(1)), ("k", text("k"))], &[], false), 0);
    invalid(&door, "PutRow", direct, "Can't write index table directly");
    door.done("CreateIndex", proto().b(1, "t").m(2, index("by_n", &["id", "n"], &[], 1)).n(3, 0));
    let indexes = door.done("DescribeTable", proto().b(1, "t")).messages(8);
    let local = indexes.iter().find(|index| index.text(1).as_deref() == Some("by_n")).expect("there");
    assert_eq!([4, 5].map(|field| local.number(field)), [Some(1), Some(1)]);
    assert_eq!(door.done("DropIndex", proto().b(1, "t").b(2, "by_n")), Got::default());
    assert_eq!(door.done("DescribeTable", proto().b(1, "t")).messages(8).len(), 1);
    door.done("AddDefinedColumn", proto().b(1, "t").m(2, proto().b(1, "d").n(2, 2)));
    door.done("DeleteDefinedColumn", proto().b(1, "t").b(2, "d"));
    assert_eq!(door.done("DescribeTable", proto().b(1, "t")).message(1).messages(3).len(), 2);
    invalid(
        &door,
        "AddDefinedColumn",
        proto().b(1, "t").m(2, proto().b(1, "d").n(2, 6)),
        "Invalid type of defined column: 6.",
    );
    let used = door.refused("DeleteDefinedColumn", proto().b(1, "t").b(2, "s"));
    assert!(used.starts_with("400 OTSParameterInvalid"), "{used}");
}

/// P4: an empty table is one slice, and a slice has a place.
#[test]
fn p4_a_table_is_cut_into_slices() {
    let door = Door::with_table();
    let empty = door.done("ComputeSplitPointsBySize", proto().b(1, "t").n(2, 1));
    assert_eq!((empty.units(1), empty.all(3).len(), empty.messages(4).len()), ((1, 0), 0, 1));
    assert_eq!(empty.messages(2)[0].text(1).as_deref(), Some("id"));
    let location = &empty.messages(4)[0];
    assert_eq!((location.text(1).map(|text| text.len()), location.number(2)), (Some(32), Some(2)), "once, in zigzag");
    let large = put("a", Held::V(Value::Binary(vec![7; 256 * 1024])));
    for value in 0..16 {
        door.put(value, std::slice::from_ref(&large));
    }
    door.store.env.run(door.store.instance.flush()).expect("flushed");
    let cut = door.done("ComputeSplitPointsBySize", proto().b(1, "t").n(2, 1).n(3, 1024 * 1024));
    let points = cut.all(3);
    assert!(points.len() >= 2 && cut.units(1).0 == points.len() as i64 + 1, "{}", points.len());
    assert_eq!(rows(&points[0])[0].key[0].0, "id");
    let slices: i64 = cut.messages(4).iter().map(|location| location.number(2).expect("a number") / 2).sum();
    assert_eq!(slices, points.len() as i64 + 1);
    for (body, text) in [
        (proto().b(1, "t").n(2, 0), "The split_size should be greater than 0."),
        (proto().b(1, "t").n(2, 1).n(3, 5), "The split_size_unit_in_byte should be greater equal than: 1048576"),
    ] {
        invalid(&door, "ComputeSplitPointsBySize", body, text);
    }
}

/// ST1: the changes of a table come as records, in order, with their place in the stream.
#[test]
fn st1_changes_are_read_from_a_stream() {
    let door = Door::new();
    door.done("CreateTable", create("t", &[("id", 1)]).m(5, proto().n(1, 1).n(2, 24)));
    door.done("CreateTable", create("u", &[("id", 1)]));
    assert_eq!(door.done("ListStream", proto().b(1, "u")), Got::default());
    let listed = door.done("ListStream", proto()).messages(1);
    let [stream] = &listed[..] else { panic!("one stream") };
    let id = stream.text(1).expect("an id");
    assert_eq!((stream.text(2).as_deref(), stream.number(3)), (Some("t"), Some(NOW * 1000)));
    assert_eq!(door.done("ListStream", proto().b(1, "t")).messages(1), listed);
    let details = door.done("DescribeTable", proto().b(1, "t")).message(5);
    assert_eq!(
        (details.number(1), details.text(2), details.number(3), details.number(4)),
        (Some(1), Some(id.clone()), Some(24), Some(NOW * 1000))
    );
    door.put(1, &[("a".into(), Some(int(1)), None, Some(NOW)), put("b", text("x"))]);
    let changes = [
        ("a".into(), None, Some(3), Some(NOW)),
        ("b".into(), None, Some(1), None),
        ("c".into(), Some(int(4)), Some(4), None),
    ];
    door.done("UpdateRow", write("t", &row(&[("id", int(1))], &changes, false), 0));
    door.refused("PutRow", write("t", &row(&[("id", int(1))], &[], false), 2));
    door.done("DeleteRow", write("t", &row(&[("id", int(1))], &[], true), 0));
    let described = door.done("DescribeStream", proto().b(1, &id));
    assert_eq!(
        (described.number(2), described.text(3).as_deref(), described.number(5)),
        (Some(24), Some("t"), Some(2))
    );
    let shards = described.messages(6);
    let [shard] = &shards[..] else { panic!("one shard") };
    assert_eq!((shard.text(2), shard.text(3), described.text(7)), (None, None, None), "without parents");
    let shard = shard.text(1).expect("an id");
    let iterator = |more: Proto| {
        door.done("GetShardIterator", Proto([proto().b(1, &id).b(2, &shard).0, more.0].concat()))
            .text(1)
            .expect("an iterator")
    };
    let read = door.done("GetStreamRecord", proto().b(1, iterator(proto())));
    let records = read.messages(1);
    assert_eq!(records.iter().map(|record| record.number(1)).collect::<Vec<_>>(), [Some(1), Some(2), Some(3)]);
    let found: Vec<WireRow> = records.iter().map(|record| rows(&record.bytes(2).expect("a row")).remove(0)).collect();
    assert!(found.iter().all(|row| row.key == [("id".to_owned(), Value::Integer(1))]));
    assert_eq!(found[0].cells[0], ("a".into(), Some(int(1)), None, Some(NOW)));
    let ops: Vec<_> = found[1]
        .cells
        .iter()
        .map(|(name, held, op, version)| (&**name, held.is_some(), *op, version.is_some()))
        .collect();
    assert_eq!(ops, [("a", false, Some(3), true), ("b", false, Some(1), false), ("c", true, None, true)]);
    assert!(found[2].cells.is_empty());
    let places: Vec<_> = found.iter().map(|row| row.extension.expect("a place")).collect();
    assert!(places.windows(2).all(|two| two[0] < two[1]) && places[0].1 == NOW * 1000, "{places:?}");
    assert_eq!(read.units(3), (1, 0));
    let next = read.text(2).expect("the shard is open");
    let end = door.done("GetStreamRecord", proto().b(1, &next));
    assert_eq!((end.messages(1).len(), end.text(2)), (0, Some(next)), "the same iterator");
    let first = door.done("GetStreamRecord", proto().b(1, iterator(proto())).n(2, 1));
    assert_eq!((first.messages(1).len(), first.number(4)), (1, Some(1)));
    let late = door.done("GetStreamRecord", proto().b(1, iterator(proto().n(3, NOW * 1000 + 1))));
    assert!(late.messages(1).len() < 3, "from a time on");
}

/// ST1: streams, shards and iterators that do not exist.
#[test]
fn st1_unknown_streams_are_refused_by_name() {
    let door = Door::new();
    door.done("CreateTable", create("t", &[("id", 1)]).m(5, proto().n(1, 1).n(2, 24)));
    let id = door.done("ListStream", proto()).messages(1)[0].text(1).expect("an id");
    for (operation, body, text) in [
        ("ListStream", proto().b(1, "none"), "404 OTSObjectNotExist: "),
        ("DescribeStream", proto().b(1, "x"), "400 OTSParameterInvalid: Invalid stream id"),
        ("DescribeStream", proto().b(1, "a/t_1_2"), "400 OTSParameterInvalid: Invalid stream id"),
        ("DescribeStream", proto().b(1, "none_1_2"), "404 OTSObjectNotExist: "),
        ("DescribeStream", proto().b(1, &id).n(3, 0), "400 OTSParameterInvalid: The shard limit"),
        ("GetShardIterator", proto().b(1, &id).b(2, "x"), "400 OTSParameterInvalid: Invalid shard id: x."),
        ("GetShardIterator", proto().b(1, &id).b(2, "99"), "404 OTSObjectNotExist: "),
        ("GetStreamRecord", proto().b(1, "00"), "400 OTSParameterInvalid: Invalid shard iterator."),
        ("GetStreamRecord", proto(), "400 OTSParameterInvalid: Parse PBMessage from RawString failed."),
    ] {
        let refused = door.refused(operation, body);
        assert!(refused.starts_with(text), "{operation}: {refused}");
    }
}

/// ST1: a stream may keep the old values of some columns.
#[test]
fn st1_a_record_has_the_old_values_that_were_asked_for() {
    let door = Door::with_table();
    let stream = proto().n(1, 1).n(2, 1).b(3, "a");
    door.done("UpdateTable", proto().b(1, "t").m(4, stream));
    door.put(1, &[put("a", int(1)), put("b", int(1))]);
    door.put(1, &[put("a", int(2))]);
    let id = door.done("ListStream", proto()).messages(1)[0].text(1).expect("an id");
    let shard = door.done("DescribeStream", proto().b(1, &id)).messages(6)[0].text(1).expect("an id");
    let iterator = door.done("GetShardIterator", proto().b(1, &id).b(2, shard)).text(1).expect("an iterator");
    let records = door.done("GetStreamRecord", proto().b(1, iterator)).messages(1);
    assert_eq!(records[0].bytes(3), None);
    let old = rows(&records[1].bytes(3).expect("old values"));
    assert_eq!(plain(&old[0]).1, [("a".into(), Value::Integer(1))]);
}
