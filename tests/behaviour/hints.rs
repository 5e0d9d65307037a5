//! Hints beside the service's messages: table, column, the expected and the given, the rule (W3).

use crate::session::frame;
use crate::store::*;
use std::cell::RefCell;
use std::rc::Rc;
use tabstore::Error;
use tabstore::engine::Direction;
use tabstore::model::{InstanceName, KeyInput, KeyPart, KeyType, TableName, ValueRef};
use tabstore::session::Sessions;
use tabstore::session::codec::{FrameWriter, responses};
use tabstore::tablestore::{ColumnOp, Existence, GetRange, GetRow, OptionsChange, Outcome, TableRead};

fn store() -> Store {
    let store = Store::new();
    let key = [("station", KeyType::String), ("at", KeyType::Integer)];
    store.create("reading", &key, OptionsChange::default());
    store
}

fn failed<T>(outcome: Outcome<T>) -> Error {
    outcome.map(|_| ()).expect_err("refused").error
}

fn hint(error: &Error) -> &str {
    error.hint().unwrap_or_else(|| panic!("{error} has no hint"))
}

/// The hints of every way in which a key can be used.
fn hints(store: &Store, table: &str, key: &KeyInput<'_>) -> Vec<String> {
    let name = TableName::parse(table).expect("a name");
    let write = put(table, key.clone(), &[]);
    let mut rows = Rows::default();
    let read = TableRead { table: name, keys: vec![key.clone()], options: versions(1) };
    let of_batch = |results: Outcome<Vec<Outcome<_>>>| match results {
        Ok(mut rows) => failed(rows.remove(0)),
        Err(failure) => failure.error,
    };
    let found = store.env.run(store.instance.batch_get_row(&[read], &mut [Rows::default()]));
    let get = GetRow { table: name, key: key.clone(), options: versions(1) };
    let range = GetRange { start: key.clone(), ..range(table, Direction::Forward) };
    let errors = [
        failed(store.write(&write)),
        of_batch(store.env.run(store.instance.batch_write_row(std::slice::from_ref(&write), None))),
        of_batch(store.env.run(store.instance.batch_write_row_atomic(&[write], None))),
        failed(store.env.run(store.instance.get_row(&get, &mut rows))),
        match found {
            Ok(mut tables) => failed(tables.remove(0).remove(0)),
            Err(failure) => failure.error,
        },
        failed(store.env.run(store.instance.get_range(&range, &mut rows))),
    ];
    errors.iter().map(|error| hint(error).to_owned()).collect()
}

#[test]
fn w3_a_missing_table_is_told_with_the_nearest_one_and_those_that_there_are() {
    let store = store();
    let expected = "There is no table 'raeding'. Is 'reading' meant? Tables of the instance: 'reading'.";
    for told in hints(&store, "raeding", &key(&[("station", text("SEA")), ("at", int(1))])) {
        assert_eq!(told, expected);
    }
    for error in
        [
            store.instance.describe_table("raeding").expect_err("missing"),
            store.env.run(store.instance.delete_table("raeding")).expect_err("missing"),
            failed(store.instance.start_local_transaction(
                TableName::parse("raeding").expect("a name"),
                &key(&[("station", text("SEA"))]),
            )),
        ]
    {
        assert_eq!(error.message(), "Requested table does not exist.");
        assert_eq!(hint(&error), expected);
    }
}

#[test]
fn w3_t3_a_key_that_does_not_fit_is_told_column_by_column() {
    let store = store();
    let (sea, one) = (text("SEA"), int(1));
    let table = "Table 'reading': the key is (station STRING, at INTEGER)";
    let cases: [(&[(&str, ValueRef<'_>)], &str); 5] = [
        (&[("station", sea)], "; 'at' is missing"),
        (&[("station", sea), ("at", one), ("x", one)], "; 'x' is no key column"),
        (&[("station", sea), ("At", one)], "; 'at' is missing; 'At' is no key column"),
        (&[("station", sea), ("at", sea)], "; 'at': expected INTEGER, given STRING"),
        (
            &[("station", one), ("at", sea)],
            "; 'station': expected STRING, given INTEGER; 'at': expected INTEGER, given STRING",
        ),
    ];
    let advice = ". Give INF_MIN for what is missing at the smaller end, INF_MAX at the larger";
    for (columns, expected) in cases {
        let mut told = hints(&store, "reading", &key(columns));
        // The last one is a range. Only there something stands for what is missing.
        let of_range = told.pop().expect("a range");
        assert_eq!(of_range, format!("{table}{expected}{}", if columns.len() < 2 { advice } else { "" }));
        for told in told {
            assert_eq!(told, format!("{table}{expected}"));
        }
    }
    for told in hints(&store, "reading", &key(&[("station", sea), ("at", ValueRef::Double(1.0))])) {
        assert_eq!(told, "Table 'reading': 'at': expected STRING, INTEGER or BINARY, given DOUBLE");
    }
    for told in hints(&store, "reading", &key(&[("a", one), ("b", one), ("c", one), ("d", one), ("e", one)])) {
        assert_eq!(told, "Table 'reading': 5 key columns are given");
    }
    let partition =
        store.instance.start_local_transaction(TableName::parse("reading").expect("a name"), &key(&[("station", one)]));
    let expected = "Table 'reading': the key is (station STRING); 'station': expected STRING, given INTEGER";
    assert_eq!(hint(&failed(partition)), expected);
}

#[test]
fn w3_r3_ends_in_the_wrong_order_are_shown_both() {
    let store = store();
    let end = |at: KeyPart<'static>| {
        let mut end = key(&[("station", text("SEA"))]);
        end.push("at", at);
        end
    };
    let refused = |direction, from, to| {
        let request = GetRange { start: end(from), end: end(to), ..range("reading", direction) };
        let error = failed(store.env.run(store.instance.get_range(&request, &mut Rows::default())));
        assert!(error.message().starts_with("Begin key must "), "{error}");
        hint(&error).to_owned()
    };
    assert_eq!(
        refused(Direction::Forward, KeyPart::Value(int(5)), KeyPart::Value(int(1))),
        "Table 'reading': FORWARD: the start (station: 'SEA', at: 5) has to be before the end (station: 'SEA', at: 1)"
    );
    assert_eq!(
        refused(Direction::Backward, KeyPart::InfMin, KeyPart::InfMax),
        "Table 'reading': BACKWARD: the start (station: 'SEA', at: INF_MIN) has to be after the end \
         (station: 'SEA', at: INF_MAX)"
    );
}

#[test]
fn w3_i2_a_wrong_name_is_told_with_its_rule() {
    let rule =
        "The rule for the name of an instance: 3 to 16 letters (A to Z), digits and '-', first a letter, last not '-'.";
    for (name, wrong) in [
        ("ab", "has 2 bytes"),
        ("x234567890123456g", "has 17 bytes"),
        ("1bc", "does not begin with a letter"),
        ("ab-", "ends with '-'"),
        ("a_b", "has '_' in it"),
        ("démo", "has 'é' in it"),
    ] {
        let error = InstanceName::parse(name).expect_err(name);
        assert_eq!(hint(&error), format!("{rule} This one {wrong}."));
    }
    let error = TableName::parse("3t").expect_err("wrong");
    let rule = "it has 1 to 255 letters (A to Z), digits and _, and does not begin with a digit";
    assert_eq!(hint(&error), format!("The rule for the name of a table: {rule}. This one has 2 bytes."));
}

#[test]
fn w3_t4_a_wrong_option_is_told_by_its_argument() {
    let store = store();
    let refused = |options| {
        let error = store.try_create("t", &[("id", KeyType::Integer)], options).expect_err("refused");
        hint(&error).to_owned()
    };
    let ttl = OptionsChange { time_to_live: Some(5), ..OptionsChange::default() };
    assert_eq!(refused(ttl), "Argument 'timeToLive': expected -1 or at least 86400 seconds, given 5.");
    let versions = OptionsChange { max_versions: Some(0), ..OptionsChange::default() };
    assert_eq!(refused(versions), "Argument 'maxVersions': expected at least 1, given 0.");
}

/// A hint leaves the engine with its error, also that of a row of a batch. An error without one is as short as before.
#[test]
fn w3_hints_travel_with_their_errors() {
    let store = store();
    let delivered = Rc::new(RefCell::new(Vec::new()));
    let out = Rc::clone(&delivered);
    let sessions = Sessions::new(Rc::clone(&store.instance), Rc::new(store.env.clone()));
    let session = sessions.open(1, move |frame: Vec<u8>| out.borrow_mut().push(frame)).expect("opened");
    let submit = |write: &dyn Fn(&mut FrameWriter)| {
        let answer = session.submit(frame(write)).expect("a frame");
        store.env.run_until_idle();
        answer.unwrap_or_else(|| delivered.borrow_mut().remove(0))
    };
    let row = || key(&[("station", text("SEA")), ("at", int(1))]);
    let answer = submit(&|out| out.row_write(1, &put("reading", key(&[("station", text("SEA"))]), &[])));
    let error = responses(&answer).expect("whole").remove(0).payload.expect_err("refused");
    let wanted = "Table 'reading': the key is (station STRING, at INTEGER); 'at' is missing";
    assert_eq!(error.hint.as_deref(), Some(wanted));
    assert_eq!((error.message.as_str(), error.retryable), ("Validate PK size fail. Input: 1, Meta: 2.", false));
    let batch = [put("reading", row(), &[]), put("raeding", row(), &[])];
    let answer = submit(&|out| out.batch_write(2, &batch));
    let (rows, _) = responses(&answer).expect("whole").remove(0).payload.expect("done").batch_written().expect("whole");
    let error = rows[1].as_ref().expect_err("refused");
    assert!(error.hint.as_deref().is_some_and(|hint| hint.contains("'reading' meant")), "{error:?}");
    let answer = submit(&|out| out.batch_write_atomic(3, &batch));
    let (rows, _) = responses(&answer).expect("whole").remove(0).payload.expect("done").batch_written().expect("whole");
    for row in rows {
        let error = row.expect_err("refused");
        assert!(error.hint.is_some_and(|hint| hint.contains("'reading' meant")), "{}", error.message);
    }
    let expects = expecting(Existence::ExpectNotExist, put("reading", row(), &[]));
    let answer = submit(&|out| out.row_write(4, &expects));
    let error = responses(&answer).expect("whole").remove(0).payload.expect_err("it is there");
    assert_eq!((error.hint, error.code.as_str()), (None, "OTSConditionCheckFail"));
    let changes = [add("a", None, 1), change("a", ColumnOp::DeleteColumn)];
    let answer = submit(&|out| out.row_write(5, &update("reading", row(), &changes)));
    let error = responses(&answer).expect("whole").remove(0).payload.expect_err("it contradicts itself");
    assert_eq!(error.hint.as_deref(), Some("Give the column to one of the two, or send two requests."));
}
