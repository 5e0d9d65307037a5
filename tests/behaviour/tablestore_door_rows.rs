//! Rows through the door of Table Store: PutRow, UpdateRow, DeleteRow, GetRow, GetRange, with their filters and conditions.

use crate::store::NOW;
use crate::tablestore_door::*;
use tabstore::model::Value;

fn cell(name: &str, held: Option<Held>, op: Option<u8>, version: Option<i64>) -> WireCell {
    (name.into(), held, op, version)
}

/// UpdateRow of the row 1 of the table `t`.
fn update(cells: &[WireCell]) -> Proto {
    write("t", &row(&[("id", int(1))], cells, false), 0)
}

fn ints(cells: &[(&str, i64)]) -> Option<Vec<(String, Value)>> {
    Some(cells.iter().map(|(name, value)| ((*name).into(), Value::Integer(*value))).collect())
}

/// A filter that compares a column with a value: 1 equal, 3 greater, 7 it exists.
fn compares(column: &str, comparator: i64, value: &Held) -> Proto {
    filter(1, proto().n(1, comparator).b(2, column).b(3, variant(value)).n(4, 1).n(5, 1))
}

fn filter(kind: i64, inner: Proto) -> Proto {
    proto().n(1, kind).m(2, inner)
}

fn both(operator: i64, filters: &[Proto]) -> Proto {
    filter(2, filters.iter().fold(proto().n(1, operator), |all, one| all.m(2, one.clone())))
}

/// R1, D2: every type of value, with its version, comes back as it was put.
#[test]
fn r1_d2_a_row_comes_back_as_it_was_put() {
    let door = Door::with_table();
    let values = [
        ("b", Held::V(Value::Boolean(true))),
        ("bin", Held::V(Value::Binary(vec![0, 255]))),
        ("d", Held::V(Value::Double(-1.5))),
        ("i", int(i64::MIN)),
        ("s", text("zoë\0")),
    ];
    let cells: Vec<WireCell> =
        values.iter().map(|(name, held)| cell(name, Some(held.clone()), None, Some(NOW))).collect();
    let written = door.done("PutRow", write("t", &row(&[("id", int(-7))], &cells, false), 0));
    assert_eq!((written.units(1), written.bytes(2)), ((0, 1), None));
    let found = door.done("GetRow", get("t", &id(-7)));
    assert_eq!(found.units(1), (1, 0));
    let rows = rows(&found.bytes(2).expect("a row"));
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].key, [("id".into(), Value::Integer(-7))]);
    assert_eq!(rows[0].cells, cells);
    let none = door.done("GetRow", get("t", &id(8)));
    assert_eq!((none.units(1), none.bytes(2)), ((1, 0), Some(Vec::new())), "no row is an empty buffer");
}

/// R1: an update puts, deletes a version, deletes a column and counts; a deletion ends the row.
#[test]
fn r1_rows_are_updated_and_deleted() {
    let door = Door::with_table();
    door.put(1, &[put("a", int(1)), cell("v", Some(int(2)), None, Some(NOW)), put("z", int(3))]);
    let changes = [
        put("b", int(5)),
        cell("v", None, Some(3), Some(NOW)),
        cell("z", None, Some(1), None),
        cell("n", Some(int(4)), Some(4), None),
    ];
    assert_eq!(door.done("UpdateRow", update(&changes)).units(1), (0, 1));
    assert_eq!(door.row(1), ints(&[("a", 1), ("b", 5), ("n", 4)]));
    let delete = |existence| write("t", &row(&[("id", int(1))], &[], true), existence);
    assert_eq!(door.done("DeleteRow", delete(1)).units(1), (1, 1));
    assert_eq!(door.row(1), None);
    assert_eq!(door.done("DeleteRow", delete(0)).units(1), (0, 1), "a missing row can be deleted");
    door.done("UpdateRow", update(&[cell("a", None, Some(1), None)]));
    assert_eq!(door.row(1), None, "deletions make no row");
}

/// R8: what an update may not have is refused, whether a deletion of its column follows or not. As many cells as a body holds are told
/// apart by their columns in no time.
#[test]
fn r8_the_length_of_a_put_that_a_deletion_hides_is_checked() {
    let door = Door::with_table();
    door.put(1, &[put("a", int(1))]);
    let deleted = |name: &str| cell(name, None, Some(1), None);
    let long = put("a", Held::V(Value::Binary(vec![0; 2 * 1024 * 1024 + 1])));
    assert_eq!(
        door.refused("UpdateRow", update(&[long, deleted("a")])),
        "400 OTSParameterInvalid: The length of attribute column: 'a' exceeds the MaxLength:2097152 with CurrentLength:2097153."
    );
    let many: Vec<_> = (0..150_000).map(|number| deleted(&format!("c{number}"))).collect();
    assert_eq!(
        door.refused("UpdateRow", update(&many)),
        "400 OTSParameterInvalid: The number of attribute columns exceeds the limit, limit count: 1024, column count: 150000."
    );
    let most: Vec<_> = (0..1024).map(|number| deleted(&format!("c{number}"))).collect();
    door.done("UpdateRow", update(&most));
    assert_eq!(door.row(1), ints(&[("a", 1)]));
}

/// R1: the cells of an update apply in their order, also those of one column.
#[test]
fn r1_one_column_may_be_put_and_deleted_in_one_update() {
    let door = Door::with_table();
    let (deleted, put_2) = (cell("a", None, Some(1), None), put("a", int(2)));
    let (no_v, put_v) = (cell("v", None, Some(3), Some(NOW)), cell("v", Some(int(9)), None, Some(NOW)));
    for (changes, expected) in [
        (vec![deleted.clone(), put_2.clone()], ints(&[("a", 2), ("k", 0)])),
        (vec![put_2.clone(), deleted.clone()], ints(&[("k", 0)])),
        (vec![put_2.clone(), deleted.clone(), put("a", int(3))], ints(&[("a", 3), ("k", 0)])),
        (vec![put_v.clone(), no_v.clone()], ints(&[("a", 1), ("k", 0)])),
        (vec![no_v, put_v], ints(&[("a", 1), ("k", 0), ("v", 9)])),
    ] {
        door.put(1, &[put("a", int(1)), put("k", int(0))]);
        door.done("UpdateRow", update(&changes));
        assert_eq!(door.row(1), expected, "{changes:?}");
    }
    let counted = door.refused("UpdateRow", update(&[put("a", int(1)), cell("a", Some(int(1)), Some(4), None)]));
    assert_eq!(
        counted,
        "400 OTSParameterInvalid: Column 'a' can not be incremented and changed otherwise in one request."
    );
}

/// V1: versions up to the service's bound pass, which are more than JavaScript's numbers hold.
#[test]
fn v1_versions_beyond_2_to_53_pass() {
    let door = Door::new();
    let most = i64::MAX / 1_000_000;
    door.done("CreateTable", create("t", &[("id", 1)]).m(3, proto().n(2, 3).n(5, most)));
    let version = 9_007_199_254_740_993;
    assert!(version < most * 1000 && version > 1 << 53);
    door.put(1, &[cell("a", Some(int(1)), None, Some(version))]);
    let range = proto().n(1, version).n(2, version + 1);
    let found = door.done("GetRow", proto().b(1, "t").b(2, id(1)).m(4, range));
    assert_eq!(rows(&found.bytes(2).expect("a row"))[0].cells[0].3, Some(version));
    let specific = proto().b(1, "t").b(2, id(1)).m(4, proto().n(3, version));
    assert_eq!(rows(&door.done("GetRow", specific.clone()).bytes(2).expect("a row"))[0].cells.len(), 1);
    let text = "400 OTSParameterInvalid: Specific tiemstamp and max versions cannot be given at the same time.";
    assert_eq!(door.refused("GetRow", specific.n(5, 1)), text);
    let out = door
        .refused("PutRow", write("t", &row(&[("id", int(1))], &[cell("a", Some(int(1)), None, Some(-1))], false), 0));
    assert_eq!(out, "400 OTSParameterInvalid: Timestamp must be in range [0, INT64_MAX/1000).");
}

/// R6: what a write returns: the key, or counted columns without it.
#[test]
fn r6_a_write_returns_its_key_or_what_it_counted() {
    let door = Door::with_table();
    let returns = |body: Proto, kind: i64, columns: &[&str]| {
        body.m(4, columns.iter().fold(proto().n(1, kind), |all, name| all.b(2, name)))
    };
    let body = write("t", &row(&[("id", int(1))], &[put("a", int(1))], false), 0);
    let returned = door.done("PutRow", returns(body.clone(), 1, &[]));
    let rows_of = |got: &Got| rows(&got.bytes(2).expect("a row"));
    assert_eq!(rows_of(&returned), [WireRow { key: vec![("id".into(), Value::Integer(1))], ..WireRow::default() }]);
    let counts = update(&[cell("a", Some(int(4)), Some(4), None), cell("b", Some(int(2)), Some(4), None)]);
    let returned = door.done("UpdateRow", returns(counts, 2, &["a"]));
    let [found] = &rows_of(&returned)[..] else { panic!("one row") };
    assert!(found.key.is_empty() && found.cells.len() == 1);
    assert_eq!((&*found.cells[0].0, &found.cells[0].1), ("a", &Some(int(5))));
    for (kind, columns, text) in [
        (1, &["a"][..], "Return column names cannot be given when return type is RT_PK."),
        (2, &[], "Invalid return type: RT_AFTER_MODIFY."),
        (9, &[], "Invalid return type: 9."),
    ] {
        let refused = door.refused("PutRow", returns(body.clone(), kind, columns));
        assert_eq!(refused, format!("400 OTSParameterInvalid: {text}"));
    }
}

/// R6: the store gives an auto-increment key, and only it does.
#[test]
fn r6_the_store_gives_the_key_of_a_new_row() {
    let door = Door::new();
    let counted = proto().b(1, "seq").n(2, 1).n(3, 1);
    let meta = proto().b(1, "t").m(2, proto().b(1, "id").n(2, 1)).m(2, counted);
    door.done("CreateTable", proto().m(1, meta).m(2, proto().m(1, proto())));
    let new = row(&[("id", int(1)), ("seq", Held::Auto)], &[put("a", int(1))], false);
    let returned = door.done("PutRow", write("t", &new, 0).m(4, proto().n(1, 1)));
    let [found] = &rows(&returned.bytes(2).expect("a key"))[..] else { panic!("one row") };
    let Value::Integer(given) = found.key[1].1 else { panic!("an Integer") };
    assert!(given > 0);
    let at = |seq| row(&[("id", int(1)), ("seq", int(seq))], &[put("a", int(2))], false);
    door.done("PutRow", write("t", &at(given), 0));
    let chosen = door.refused("PutRow", write("t", &at(given + 100), 0));
    assert_eq!(chosen, "403 OTSConditionCheckFail: Condition check failed.");
    let expects = door.refused("PutRow", write("t", &new, 1));
    assert_eq!(expects, "400 OTSParameterInvalid: Invalid expect:EXPECT_EXIST when modify row with pk auto increment");
    let read = door.refused("GetRow", get("t", &key(&[("id", int(1)), ("seq", Held::Auto)])));
    assert_eq!(read, "400 OTSParameterInvalid: PKAutoIncr can't be used for read operations.");
}

/// R6: conditions on the row and on its columns.
#[test]
fn r6_conditions_decide_whether_a_write_happens() {
    let door = Door::with_table();
    let failed = "403 OTSConditionCheckFail: Condition check failed.";
    let to = |value, existence| write("t", &row(&[("id", int(1))], &[put("a", int(value))], false), existence);
    assert_eq!(door.refused("PutRow", to(1, 1)), failed);
    assert_eq!(door.done("PutRow", to(1, 2)).units(1), (1, 1));
    assert_eq!(door.refused("PutRow", to(2, 2)), failed);
    let with = |value, condition: &Proto| {
        let row = row(&[("id", int(1))], &[put("a", int(value))], false);
        proto().b(1, "t").b(2, row).m(3, proto().n(1, 0).b(2, &condition.0))
    };
    assert_eq!(door.refused("PutRow", with(2, &compares("a", 1, &int(7)))), failed);
    assert_eq!(door.row(1), ints(&[("a", 1)]));
    door.done("PutRow", with(2, &compares("a", 1, &int(1))));
    door.done("PutRow", with(3, &both(1, &[compares("a", 1, &int(7))])));
    assert_eq!(door.row(1), ints(&[("a", 3)]));
    assert_eq!(
        door.refused("PutRow", write("t", &row(&[("id", int(1))], &[], false), 3)),
        "400 OTSParameterInvalid: Invalid row-existence expectation: 3."
    );
    door.done("PutRow", proto().b(1, "t").b(2, row(&[("id", int(9))], &[], false)).m(3, proto().n(1, 0).b(2, "")));
}

/// R6: filters of reads, of every kind.
#[test]
fn r6_filters_choose_rows_and_pages_choose_columns() {
    let door = Door::with_table();
    door.put(1, &[put("a", int(1)), put("b", text("t1:77,x")), put("c", int(3))]);
    door.put(2, &[put("a", int(2))]);
    let read = |filter: &Proto| {
        let body = all_of("t").b(10, &filter.0);
        let found = door.done("GetRange", body);
        let rows = rows(&found.bytes(2).expect("rows"));
        rows.iter().map(|row| plain(row).0[0].clone()).collect::<Vec<_>>()
    };
    let [ones, twos] = [1, 2].map(|value| vec![Value::Integer(value)]);
    assert_eq!(read(&compares("a", 3, &int(1))), twos);
    assert_eq!(read(&compares("id", 1, &int(1))), ones, "the key can be compared");
    // Clients send some value with EXIST.
    assert_eq!(read(&compares("c", 7, &int(0))), ones);
    assert_eq!(read(&compares("c", 8, &int(0))), twos);
    assert_eq!(read(&both(3, &[compares("a", 1, &int(1)), compares("a", 1, &int(2))])).len(), 2);
    assert_eq!(read(&both(2, &[compares("a", 1, &int(1)), compares("a", 1, &int(2))])).len(), 0);
    let passes = filter(1, proto().n(1, 1).b(2, "c").b(3, variant(&int(3))).n(4, 0).n(5, 1));
    assert_eq!(read(&passes).len(), 2, "a missing column may pass");
    let rule = proto().b(1, "t1:([0-9]+),").n(2, 0);
    let single = proto().n(1, 3).b(2, "b").b(3, variant(&int(76))).n(4, 1).n(5, 1).m(6, rule);
    assert_eq!(read(&filter(1, single)), ones);
    let page = filter(3, proto().n(1, 1).n(2, 1));
    let found = door.done("GetRow", get("t", &id(1)).b(7, &page.0));
    assert_eq!(plain(&rows(&found.bytes(2).expect("a row"))[0]).1, [("b".into(), Value::String("t1:77,x".into()))]);
    for (body, text) in [
        (both(1, &[passes.clone(), passes.clone()]), "Invalid NOT operator: the number of sub-filters must be 1."),
        (
            both(2, std::slice::from_ref(&passes)),
            "Invalid AND/OR operator: the number of sub-filters must be more than 1.",
        ),
        (both(4, std::slice::from_ref(&passes)), "Invalid logical operator: 4."),
        (filter(9, proto()), "Invalid type of filter: 9."),
        (compares("a", 9, &int(1)), "Invalid relation operator: 9."),
        (proto().n(1, 1), "Deserialize filter failed."),
        (filter(1, proto().n(1, 1)), "Deserialize relation filter failed."),
        (filter(2, proto()), "Deserialize composite filter failed."),
        (filter(3, proto()), "Deserialize column pagination filter failed."),
        (filter(3, proto().n(1, 0).n(2, 0)), "Limit in ColumnPaginationFilter must be greater than 0."),
        (compares("a", 1, &Held::Null), "VT_NULL is an invalid type for the attribute column."),
    ] {
        let refused = door.refused("GetRow", get("t", &id(1)).b(7, &body.0));
        assert_eq!(refused, format!("400 OTSParameterInvalid: {text}"));
    }
    let deep = (0..40).fold(passes.clone(), |inner, _| both(1, &[inner]));
    let wide = both(2, &vec![passes; 40]);
    for filter in [deep, wide] {
        let refused = door.refused("GetRow", get("t", &id(1)).b(7, &filter.0));
        assert_eq!(refused, "400 OTSParameterInvalid: The count of filter exceeds the max: 32.");
    }
}

/// R8: the door takes as many columns, and such names, as the service does.
#[test]
fn r8_columns_are_named_as_the_service_allows() {
    let door = Door::with_table();
    let odd = ["列", ":", "a b"];
    door.put(1, &odd.map(|name| put(name, int(1))));
    let named = |names: &[String]| names.iter().fold(get("t", &id(1)), |body, name| body.b(3, name));
    let many: Vec<String> = (0..1024).map(|at| if at < 3 { odd[at].to_owned() } else { format!("c{at}") }).collect();
    let found = door.done("GetRow", named(&many));
    assert_eq!(rows(&found.bytes(2).expect("a row"))[0].cells.len(), 3);
    let more = [&many[..], &["x".to_owned()]].concat();
    let text = "The number of columns from the request exceeds the limit, limit count: 1024, column count: 1025.";
    assert_eq!(door.refused("GetRow", named(&more)), format!("400 OTSParameterInvalid: {text}"));
    assert_eq!(door.refused("GetRow", named(&["#a".into()])), "400 OTSParameterInvalid: Invalid column name: '#a'.");
    let between = get("t", &id(1)).b(8, ":").b(9, "b");
    let found = door.done("GetRow", between);
    let cells = plain(&rows(&found.bytes(2).expect("a row"))[0]).1;
    assert_eq!(cells.iter().map(|(name, _)| &**name).collect::<Vec<_>>(), [":", "a b"]);
}

/// R1, T3: cells and keys that no request may have.
#[test]
fn r1_t3_wrong_rows_are_refused_with_the_services_text() {
    let door = Door::with_table();
    door.done("CreateTable", create("two", &[("a", 1), ("b", 2)]));
    let invalid = |operation: &str, body: Proto, text: &str| {
        assert_eq!(door.refused(operation, body), format!("400 OTSParameterInvalid: {text}"));
    };
    let one = |cells: &[WireCell]| write("t", &row(&[("id", int(1))], cells, false), 0);
    invalid(
        "PutRow",
        one(&[cell("a", Some(int(1)), Some(1), None)]),
        "OpType cannot be given for column name:a in PutRow.",
    );
    invalid("PutRow", one(&[cell("a", None, None, None)]), "No value is given for column name.");
    invalid("PutRow", one(&[put("", int(1))]), "No name is given for attribute column.");
    invalid("PutRow", one(&[put("id", int(1))]), "Duplicated attribute column name with primary key column: id.");
    invalid("PutRow", one(&[put("a", Held::InfMin)]), "VT_INF_MIN is an invalid type for the attribute column.");
    invalid("PutRow", one(&[put("a", Held::Null)]), "VT_NULL is an invalid type for the attribute column.");
    invalid("PutRow", one(&[put("a", Held::Raw(vec![0xff]))]), "Value of column a must be UTF8 encoding.");
    invalid("PutRow", one(&[put("a", Held::V(Value::Double(f64::NAN)))]), "NaN can't be set to double value.");
    invalid(
        "PutRow",
        one(&[put("a", Held::V(Value::Double(f64::INFINITY)))]),
        "Infinity can't be set to double value.",
    );
    let only = "Column value cannot be given when type is DELETE_ONE_VERSION,DELETE_ALL_VERSION.";
    invalid("UpdateRow", one(&[cell("a", Some(int(1)), Some(1), None)]), only);
    invalid("UpdateRow", one(&[cell("a", Some(int(1)), Some(3), Some(1))]), only);
    invalid(
        "UpdateRow",
        one(&[cell("a", None, Some(3), None)]),
        "Timestamp must be given when type is DELETE_ONE_VERSION.",
    );
    invalid(
        "UpdateRow",
        one(&[cell("a", None, Some(1), Some(1))]),
        "Timestamp cannot be given when type is DELETE_ALL_VERSION.",
    );
    invalid(
        "UpdateRow",
        one(&[cell("a", Some(int(1)), Some(4), Some(1))]),
        "Timestamp cannot be given when type is INCREMENT.",
    );
    invalid(
        "UpdateRow",
        one(&[cell("a", Some(text("1")), Some(4), None)]),
        "VT_STRING is an invalid type to increment a column by.",
    );
    invalid("UpdateRow", one(&[cell("a", None, Some(9), None)]), "Invalid OpType: 9 for column name:a.");
    invalid("UpdateRow", one(&[]), "Attribute column is missing.");
    let marked = |cells: &[WireCell]| write("t", &row(&[("id", int(1))], cells, true), 0);
    let unexpected = "Invalid request of put/update row: unexpected RowDeleteMarker in request.";
    invalid("PutRow", marked(&[]), unexpected);
    invalid("UpdateRow", marked(&[put("a", int(1))]), unexpected);
    invalid("DeleteRow", one(&[]), "Invalid request of delete row: missing RowDeleteMarker in request");
    invalid("DeleteRow", marked(&[put("a", int(1))]), "Invalid delete row request: unexpected cells in request");
    let with_key = |held: Held| get("t", &key(&[("id", held)]));
    invalid("GetRow", with_key(Held::V(Value::Boolean(true))), "BOOLEAN is an invalid type for the primary key.");
    invalid("GetRow", with_key(Held::V(Value::Double(1.0))), "DOUBLE is an invalid type for the primary key.");
    invalid("GetRow", with_key(Held::InfMin), "VT_INF_MIN is an invalid type for the primary key.");
    invalid("GetRow", with_key(Held::Null), "VT_NULL is an invalid type for the primary key.");
    invalid("GetRow", get("t", &key(&[("", int(1))])), "No name is given for primary key.");
    invalid("GetRow", proto().b(1, "t").b(2, id(1)), "No version condition is specified.");
    invalid("GetRow", get("3t", &id(1)), "Invalid table name: '3t'.");
    let half = proto().b(1, "t").b(2, id(1)).m(4, proto().n(1, 5));
    invalid("GetRow", half, "Start and end time must be given at the same time.");
    let pk = |body: Proto, text: &str| {
        assert_eq!(door.refused("GetRow", body), format!("400 OTSInvalidPK: {text}"));
    };
    pk(get("two", &key(&[("b", text("x")), ("a", int(1))])), "Validate PK name fail. Input: b, Meta: a.");
    pk(get("two", &key(&[("a", int(1)), ("a", int(1))])), "Validate PK name fail. Input: a, Meta: b.");
    pk(get("two", &key(&[("a", int(1))])), "Validate PK size fail. Input: 1, Meta: 2.");
    pk(get("t", &key(&[("id", text("x"))])), "Validate PK type fail. Input: VT_STRING, Meta: VT_INTEGER.");
    assert_eq!(door.refused("GetRow", get("none", &id(1))), "404 OTSObjectNotExist: Requested table does not exist.");
    assert_eq!(door.row(1), None, "nothing was stored");
}

/// R3: a range forward and backward, in pages.
#[test]
fn r3_a_range_is_read_in_both_directions_and_in_pages() {
    let door = Door::with_table();
    for value in 1..=5 {
        door.put(value, &[put("a", int(10 * value))]);
    }
    let ends = |direction: i64, start: Held, end: Held, limit: i64| {
        proto().b(1, "t").n(2, direction).n(5, 1).n(6, limit).b(7, key(&[("id", start)])).b(8, key(&[("id", end)]))
    };
    let found = door.done("GetRange", ends(0, int(2), int(5), 2));
    let ids = |got: &Got| {
        let rows = rows(&got.bytes(2).expect("rows"));
        rows.iter().map(|row| row.key[0].1.clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&found), [2, 3].map(Value::Integer));
    let next = found.bytes(3).expect("a next start");
    assert_eq!(rows(&next)[0].key, [("id".into(), Value::Integer(4))]);
    let rest = door.done("GetRange", proto().b(1, "t").n(2, 0).n(5, 1).b(7, &next).b(8, key(&[("id", int(5))])));
    assert_eq!((ids(&rest), rest.bytes(3)), (vec![Value::Integer(4)], None));
    assert_eq!(ids(&door.done("GetRange", ends(1, Held::InfMax, int(3), 9))), [5, 4].map(Value::Integer));
    let empty = door.done("GetRange", ends(0, int(7), int(8), 9));
    assert_eq!((empty.bytes(2), empty.units(1)), (Some(Vec::new()), (1, 0)));
    let invalid = |body: Proto, text: &str| {
        assert_eq!(door.refused("GetRange", body), format!("400 OTSParameterInvalid: {text}"));
    };
    invalid(ends(0, int(3), int(3), 1), "Begin key must less than end key in FORWARD");
    invalid(ends(1, int(3), int(4), 1), "Begin key must more than end key in BACKWARD");
    invalid(ends(0, int(3), int(4), 0), "The limit must be greater than 0.");
    invalid(ends(2, int(3), int(4), 1), "Invalid direction: 2.");
    invalid(all_of("t").n(15, 1), "DBT_SIMPLE_ROW_MATRIX need at least one column to get.");
    let no_key = proto().b(1, "t").n(2, 0).n(5, 1).b(7, row(&[], &[], false)).b(8, id(1));
    invalid(no_key, "The number of primary key columns must be in range: [1, 4].");
    assert_eq!(ids(&door.done("GetRange", all_of("t").b(3, "a").n(15, 1))).len(), 5, "the hint is only one");
}
