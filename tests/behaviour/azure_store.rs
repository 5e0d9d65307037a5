//! Accounts, tables and entities of the Azure Table service on the engine (Z1 to Z3). The door has tests of its own.

use crate::client::{asked, crash, keep, world};
use crate::store::*;
use std::borrow::Cow;
use std::rc::Rc;
use tabstore::azure::date_time::{MILLISECOND, UNIX_EPOCH};
use tabstore::azure::{
    Account, AzureCode, EdmValue, Entity, EntityChange, EntityOp, Filter, IfMatch, Query, Refusal, Setting,
};
use tabstore::engine::{Engine, Options};
use tabstore::env::sim::SimEnv;
use tabstore::model::Limits;
use tabstore::storage::MemoryStorage;
use tabstore::storage::faults::{CrashImages, Hooked};
use tabstore::tablestore::{Instance, InstanceOptions, ThrottleOptions};

const ACCOUNT: &str = "account1";

fn account(instance: &Instance) -> Account<'_> {
    Account::new(instance, ACCOUNT).expect("a name")
}

fn with_table() -> Store {
    let store = Store::new();
    store.env.run(account(&store.instance).create_table("People", None)).expect("created");
    store
}

type Properties<'a> = &'a [(&'a str, EdmValue<'a>)];

fn change<'a>(op: EntityOp, row: &'a str, properties: Properties<'a>) -> EntityChange<'a> {
    let properties = properties.iter().map(|(name, value)| (Cow::Borrowed(*name), value.clone())).collect();
    EntityChange { op, partition_key: Cow::Borrowed("p"), row_key: Cow::Borrowed(row), properties }
}

fn number(value: i32) -> EdmValue<'static> {
    EdmValue::Int32(value)
}

fn text(value: &str) -> EdmValue<'_> {
    EdmValue::String(Cow::Borrowed(value))
}

fn run(store: &Store, changes: &[EntityChange<'_>]) -> Result<Vec<Option<i64>>, Refusal> {
    store.env.run(account(&store.instance).change("people", changes, None))
}

fn run_one(store: &Store, change: EntityChange<'_>) -> Result<Option<i64>, AzureCode> {
    run(store, &[change]).map(|times| times[0]).map_err(|refusal| refusal.error.code)
}

/// An entity as it was read: its timestamp, and its properties.
type Read = (i64, Vec<(String, EdmValue<'static>)>);

fn owned(value: &EdmValue<'_>) -> EdmValue<'static> {
    let mut scratch = Vec::new();
    let value = EdmValue::stored(value.store(&mut scratch)).expect("a value");
    match value {
        EdmValue::String(text) => EdmValue::String(Cow::Owned(text.into_owned())),
        EdmValue::Binary(bytes) => EdmValue::Binary(Cow::Owned(bytes.into_owned())),
        EdmValue::Boolean(value) => EdmValue::Boolean(value),
        EdmValue::DateTime(value) => EdmValue::DateTime(value),
        EdmValue::Double(value) => EdmValue::Double(value),
        EdmValue::Guid(value) => EdmValue::Guid(value),
        EdmValue::Int32(value) => EdmValue::Int32(value),
        EdmValue::Int64(value) => EdmValue::Int64(value),
    }
}

fn read(entity: &dyn Entity) -> Read {
    let mut properties = Vec::new();
    entity.properties(&mut |name, value| properties.push((name.to_owned(), owned(&value))));
    (entity.timestamp(), properties)
}

fn get_in(env: &SimEnv, instance: &Instance, row: &str) -> Result<Read, AzureCode> {
    let mut found = None;
    env.run(account(instance).entity("PEOPLE", ("p", row), &mut |entity| found = Some(read(entity))))
        .map_err(|error| error.code)?;
    Ok(found.expect("visited"))
}

fn get(store: &Store, row: &str) -> Result<Read, AzureCode> {
    get_in(&store.env, &store.instance, row)
}

/// The row keys of a page, and where the next one begins.
fn page(
    store: &Store,
    filter: &str,
    top: usize,
    from: Option<(&str, &str)>,
) -> (Vec<String>, Option<(String, String)>) {
    let filter = Filter::parse(filter).expect("a filter");
    let mut rows = Vec::new();
    let query = Query { filter: &filter, top, from, last: None };
    let next = store
        .env
        .run(account(&store.instance).query("People", &query, &mut |entity| rows.push(entity.row_key().to_owned())));
    (rows, next.expect("queried"))
}

/// Z1: tables belong to their account, are found in any case, and are none of `listTable`.
#[test]
fn azure_a1_t3_t4_tables_of_accounts() {
    let store = with_table();
    let (first, second) = (account(&store.instance), Account::new(&store.instance, "other").expect("a name"));
    let again = store.env.run(first.create_table("PEOPLE", None)).expect_err("it exists");
    assert_eq!(again.code, AzureCode::TableAlreadyExists);
    store.env.run(second.create_table("people", None)).expect("another account");
    store.env.run(first.create_table("ant", None)).expect("created");
    assert_eq!(first.tables(""), ["ant", "People"], "the case of creation, in the order of small letters");
    assert_eq!(first.tables("b"), ["People"]);
    assert_eq!(second.tables(""), ["people"]);
    assert_eq!(first.table_name("pEOPLE").expect("found"), "People");
    assert_eq!(store.instance.list_table(), Vec::<String>::new());
    assert!(store.instance.describe_table("People").is_err());
    store.env.run(first.delete_table("PeoplE", None)).expect("deleted");
    assert_eq!(store.env.run(first.delete_table("People", None)).expect_err("gone").code, AzureCode::ResourceNotFound);
    assert_eq!(get(&store, "r").expect_err("gone"), AzureCode::TableNotFound);
    assert_eq!(second.tables(""), ["people"], "that of the other account stays");
    for name in ["", "ab", "Abc", "a-b", "a/b", &"a".repeat(25)] {
        assert!(Account::new(&store.instance, name).is_err(), "{name}");
    }
}

/// I3: tables of accounts do not count to the quota.
#[test]
fn i3_azure_tables_are_outside_the_quota() {
    let limits = Limits { tables: 1, ..Limits::DOCUMENT };
    let store = Store::with(InstanceOptions { limits, ..InstanceOptions::default() }, Options::default());
    for name in ["aaa", "bbb", "ccc"] {
        store.env.run(account(&store.instance).create_table(name, None)).expect("created");
    }
    store.create("t", &[("id", tabstore::model::KeyType::Integer)], tabstore::tablestore::OptionsChange::default());
}

/// Z2: every type comes back after a restart, and everything is there.
#[test]
fn azure_v1_every_type_survives_a_restart() {
    let mut store = with_table();
    let all = [
        ("a", EdmValue::Binary(Cow::Borrowed(&[0, 255]))),
        ("b", EdmValue::Boolean(true)),
        ("c", EdmValue::DateTime(5)),
        ("d", EdmValue::Double(f64::NEG_INFINITY)),
        ("e", EdmValue::Guid([7; 16])),
        ("f", number(-1)),
        ("g", EdmValue::Int64(1)),
        ("名前", text("")),
    ];
    let time = run_one(&store, change(EntityOp::Insert, "", &all)).expect("inserted").expect("a time");
    store.reopen();
    let expected: Vec<_> = all.iter().map(|(name, value)| ((*name).to_owned(), owned(value))).collect();
    assert_eq!(get(&store, ""), Ok((time, expected)));
}

/// S1: the timestamp strictly advances, also while the clock stands still or has been set back, and an ETag of a deleted
/// entity never comes back.
#[test]
fn azure_s1_timestamps_strictly_advance() {
    let store = with_table();
    let now = NOW * MILLISECOND + UNIX_EPOCH;
    let mut last = now - 1;
    for at in 0..20 {
        let op = if at % 2 == 0 { EntityOp::InsertOrReplace } else { EntityOp::InsertOrMerge };
        let time = run_one(&store, change(op, "r", &[("n", number(at))])).expect("written").expect("a time");
        assert!(time > last && time < now + MILLISECOND, "{time} after {last}");
        last = time;
    }
    run_one(&store, change(EntityOp::Delete(IfMatch::Any), "r", &[])).expect("deleted");
    let again = run_one(&store, change(EntityOp::Insert, "r", &[])).expect("inserted").expect("a time");
    assert!(again > last, "the same millisecond, another entity");
    store.env.set_now(NOW - 5_000);
    let back = run_one(&store, change(EntityOp::InsertOrMerge, "r", &[])).expect("merged").expect("a time");
    assert_eq!(back, again + 1);
    store.env.set_now(NOW + 1);
    let later = run_one(&store, change(EntityOp::InsertOrMerge, "r", &[])).expect("merged").expect("a time");
    assert_eq!(later, now + MILLISECOND);
}

/// S1: timestamps of other entities, a clock that was set back, and more changes than a millisecond has ticks bring no ETag of a
/// deleted entity back. A clock that was set back by hours is followed.
#[test]
fn azure_s1_an_etag_of_a_deleted_entity_never_comes_back() {
    let store = with_table();
    let insert = |row: &str| run_one(&store, change(EntityOp::Insert, row, &[])).expect("inserted").expect("a time");
    let delete = |row: &str| run_one(&store, change(EntityOp::Delete(IfMatch::Any), row, &[])).expect("deleted");
    let mut given = vec![insert("r")];
    delete("r");
    store.env.set_now(NOW + 5_000);
    given.push(insert("other"));
    store.env.set_now(NOW);
    given.push(insert("r"));
    assert!(given.is_sorted_by(|a, b| a < b), "{given:?}");
    for at in 0..10_100 {
        let op = EntityOp::InsertOrMerge;
        let time = run_one(&store, change(op, if at % 2 == 0 { "a" } else { "b" }, &[])).expect("merged");
        assert!(time > given.last().copied(), "after {at} changes in a millisecond");
        given.extend(time);
    }
    delete("r");
    store.env.set_now(NOW - 2 * 3_600_000);
    let back = insert("r");
    assert_eq!(back, (NOW - 2 * 3_600_000) * MILLISECOND + UNIX_EPOCH);
}

/// 2.8: what each operation does, and what it expects.
#[test]
fn azure_z2_the_table_of_conditions() {
    let store = with_table();
    let other = IfMatch::Timestamp(Some(1));
    for op in [EntityOp::Replace(IfMatch::Any), EntityOp::Merge(other), EntityOp::Delete(IfMatch::Any)] {
        assert_eq!(run_one(&store, change(op, "r", &[])), Err(AzureCode::ResourceNotFound), "{op:?}");
    }
    let first =
        run_one(&store, change(EntityOp::Insert, "r", &[("a", number(1)), ("b", number(2))])).expect("inserted");
    assert_eq!(run_one(&store, change(EntityOp::Insert, "r", &[])), Err(AzureCode::EntityAlreadyExists));
    for expected in [other, IfMatch::Timestamp(None)] {
        for op in [EntityOp::Replace(expected), EntityOp::Merge(expected), EntityOp::Delete(expected)] {
            assert_eq!(run_one(&store, change(op, "r", &[])), Err(AzureCode::UpdateConditionNotSatisfied), "{op:?}");
        }
    }
    assert_eq!(get(&store, "r").expect("there").0, first.expect("a time"), "nothing was changed");
    let merged =
        run_one(&store, change(EntityOp::Merge(IfMatch::Timestamp(first)), "r", &[("b", text("x"))])).expect("merged");
    let properties =
        |list: Properties<'_>| list.iter().map(|(name, value)| ((*name).to_owned(), owned(value))).collect();
    assert_eq!(
        get(&store, "r"),
        Ok((merged.expect("a time"), properties(&[("a", number(1)), ("b", text("x"))]))),
        "V11: a stays"
    );
    let replaced = run_one(&store, change(EntityOp::Replace(IfMatch::Timestamp(merged)), "r", &[("c", number(3))]))
        .expect("replaced");
    assert_eq!(get(&store, "r"), Ok((replaced.expect("a time"), properties(&[("c", number(3))]))));
    assert_eq!(
        run_one(&store, change(EntityOp::Delete(IfMatch::Timestamp(merged)), "r", &[])),
        Err(AzureCode::UpdateConditionNotSatisfied)
    );
    assert_eq!(run_one(&store, change(EntityOp::Delete(IfMatch::Timestamp(replaced)), "r", &[])), Ok(None));
    assert_eq!(get(&store, "r"), Err(AzureCode::ResourceNotFound));
}

/// L6: a merge that would make the entity too large fails as a whole.
#[test]
fn azure_l6_a_merged_entity_keeps_the_limits() {
    let store = with_table();
    let names: Vec<String> = (0..252).map(|at| format!("p{at}")).collect();
    let all: Vec<_> = names.iter().map(|name| (&**name, number(0))).collect();
    run_one(&store, change(EntityOp::Insert, "many", &all)).expect("252 fit");
    let before = get(&store, "many");
    let merge = |row, list: Properties<'_>| run_one(&store, change(EntityOp::Merge(IfMatch::Any), row, list));
    assert_eq!(merge("many", &[("q", number(1))]), Err(AzureCode::TooManyProperties));
    assert_eq!(get(&store, "many"), before);
    merge("many", &[("p7", number(1))]).expect("the same name is no more");
    let long = "x".repeat(32_768);
    for name in &names[..15] {
        run_one(&store, change(EntityOp::InsertOrMerge, "large", &[(name, text(&long))])).expect("it fits");
    }
    assert_eq!(merge("large", &[("last", text(&long))]), Err(AzureCode::EntityTooLarge));
    merge("large", &[("p1", text(&long)), ("p2", text(""))]).expect("replaced values do not count twice");
}

/// Z3: a group is wholly there or not at all, and names the change that fails.
#[test]
fn azure_z3_a_group_is_atomic() {
    let store = with_table();
    run_one(&store, change(EntityOp::Insert, "b", &[])).expect("inserted");
    let group = [
        change(EntityOp::Insert, "a", &[]),
        change(EntityOp::Delete(IfMatch::Any), "b", &[]),
        change(EntityOp::Insert, "c", &[]),
        change(EntityOp::Merge(IfMatch::Any), "missing", &[]),
        change(EntityOp::Insert, "b", &[]),
    ];
    let refusal = run(&store, &group).expect_err("refused");
    assert_eq!((refusal.at, refusal.error.code), (3, AzureCode::ResourceNotFound));
    assert_eq!(page(&store, "", 1000, None), (vec!["b".to_owned()], None));
    let times = run(&store, &group[..3]).expect("done");
    assert_eq!(times.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(page(&store, "", 1000, None).0, ["a", "c"]);
}

/// Z3, Q: a group that a crash interrupts at any change of the storage is wholly there or not at all, and what was
/// acknowledged is there.
#[test]
fn azure_z3_a_group_is_whole_after_a_crash_at_any_point() {
    let (env, memory) = (SimEnv::new(NOW), MemoryStorage::new());
    let images = Rc::new(CrashImages::new(&memory));
    let storage = Hooked::new(memory, Rc::clone(&images));
    let mut acknowledged = Vec::new();
    env.run(async {
        let engine = Engine::open(storage, Rc::new(env.clone()), Options::default()).await.expect("opens");
        let instance = Instance::open(engine, InstanceOptions::default()).await.expect("opens");
        let account = account(&instance);
        account.create_table("People", None).await.expect("created");
        let start = images.count();
        for round in 0..6 {
            let value = [("n", number(round))];
            let rows = ["a", "b", "c"];
            let mut group: Vec<_> = rows.iter().map(|row| change(EntityOp::InsertOrReplace, row, &value)).collect();
            if round > 0 {
                group.push(change(EntityOp::Delete(IfMatch::Any), "d", &[]));
            }
            account.change("People", &group, None).await.expect("done");
            acknowledged.push((images.count(), round));
            account.change("People", &[change(EntityOp::Insert, "d", &value)], None).await.expect("done");
            if round % 2 == 1 {
                instance.flush().await.expect("flushed");
            }
            env.advance(1);
        }
        assert!(images.count() - start > 12, "each group has a point of its own");
    });
    let first = acknowledged[0].0;
    for (place, image) in images.take().into_iter().enumerate().skip(first.saturating_sub(1)) {
        let env = SimEnv::new(NOW + 1000);
        let instance = env.run(async {
            let engine = Engine::open(image, Rc::new(env.clone()), Options::default()).await.expect("opens");
            Instance::open(engine, InstanceOptions::default()).await.expect("opens")
        });
        let rows = ["a", "b", "c"].map(|row| get_in(&env, &instance, row).expect("there").1);
        assert!(rows.iter().all(|row| *row == rows[0]), "image {place}: {rows:?}");
        let EdmValue::Int32(round) = rows[0][0].1 else { panic!("{rows:?}") };
        let known = acknowledged.iter().filter(|(count, _)| *count <= place + 1).map(|(_, round)| *round).max();
        assert!(
            known.is_none_or(|known| round >= known && round <= known + 1),
            "image {place}: {round} after {known:?}"
        );
    }
}

/// 2.4: a query goes on where it ended, whatever was deleted meanwhile, and reads only the range of its keys.
#[test]
fn azure_z3_a_query_goes_on_while_entities_are_deleted() {
    let store = with_table();
    for at in 0..100 {
        run_one(&store, change(EntityOp::Insert, &format!("{at:03}"), &[("n", number(at))])).expect("inserted");
    }
    let (mut seen, mut from, mut deleted) = (Vec::new(), None, 0);
    loop {
        let start = from.as_ref().map(|(partition, row): &(String, String)| (&**partition, &**row));
        let (rows, next) = page(&store, "", 7, start);
        assert!(rows.len() <= 7);
        seen.extend(rows);
        let Some(next) = next else { break };
        // The row that the token names goes.
        if seen.len() % 14 == 0 {
            run_one(&store, change(EntityOp::Delete(IfMatch::Any), &next.1, &[])).expect("deleted");
            deleted += 1;
        }
        from = Some(next);
    }
    assert!(deleted > 3);
    assert_eq!(seen.len(), 100 - deleted, "all but the deleted ones, once");
    assert!(seen.is_sorted());
    let read_units = |filter: &str| {
        let before = store.instance.units_used()[0];
        let rows = page(&store, filter, 1000, None).0;
        (rows, store.instance.units_used()[0] - before)
    };
    assert_eq!(read_units("PartitionKey eq 'p' and RowKey ge '050' and RowKey lt '053'").0, ["050", "051", "052"]);
    assert_eq!(read_units("PartitionKey eq 'q'").0, Vec::<String>::new());
    assert_eq!(read_units("PartitionKey eq 'p' and PartitionKey eq 'q'").0, Vec::<String>::new());
    assert_eq!(read_units("RowKey eq '051' and PartitionKey eq 'p'"), (vec!["051".to_owned()], 1));
    assert!(read_units("n eq 51").1 > 1, "no key: all of it is read");
}

/// K8: entities order by their keys' UTF-16 units.
#[test]
fn azure_k8_the_order_of_results() {
    let store = with_table();
    for row in ["\u{E000}", "😀", "b", "", "B", "bB"] {
        run_one(&store, change(EntityOp::Insert, row, &[])).expect("inserted");
    }
    assert_eq!(page(&store, "", 1000, None).0, ["", "B", "b", "bB", "😀", "\u{E000}"]);
    assert_eq!(page(&store, "PartitionKey eq 'p' and RowKey gt '😀'", 1000, None).0, ["\u{E000}"]);
}

/// C1, C4: operations are metered as those on any row.
#[test]
fn c1_entities_are_metered() {
    let store = with_table();
    let used = |store: &Store| store.instance.units_used();
    let [read, write] = used(&store);
    run_one(&store, change(EntityOp::InsertOrReplace, "r", &[("a", text(&"x".repeat(4096)))])).expect("written");
    assert_eq!(used(&store), [read, write + 2], "more than 4 KB");
    get(&store, "r").expect("there");
    assert_eq!(used(&store), [read + 2, write + 2]);
    get(&store, "missing").expect_err("not there");
    assert_eq!(used(&store), [read + 3, write + 2]);
    let missing =
        store.env.run(account(&store.instance).change("missing", &[change(EntityOp::Insert, "r", &[])], None));
    assert_eq!(missing.expect_err("no table").error.code, AzureCode::TableNotFound);
    assert_eq!(used(&store), [read + 3, write + 3], "C4");
}

/// R5: a client that outlives the engine asks again, and each change is made once and has one answer.
#[test]
fn r5_changes_of_entities_that_are_asked_again_are_made_once() {
    for flushes in [false, true] {
        let mut store = world();
        let create = |store: &Store| store.env.run(account(&store.instance).create_table("People", asked(1)));
        create(&store).expect("created");
        let one = [("n", number(1))];
        let group = [change(EntityOp::Insert, "a", &[]), change(EntityOp::Insert, "b", &one)];
        let write = |store: &Store, request, changes: &[EntityChange<'_>]| {
            store.env.run(account(&store.instance).change("People", changes, asked(request)))
        };
        let times = write(&store, 2, &group).expect("inserted");
        let refused = write(&store, 3, &group[1..]).expect_err("it is there");
        write(&store, 4, &[change(EntityOp::Delete(IfMatch::Any), "b", &[])]).expect("deleted");
        if flushes {
            store.env.run(store.instance.flush()).expect("flushed");
        }
        crash(&mut store);
        create(&store).expect("it was created");
        assert_eq!(write(&store, 2, &group), Ok(times), "flushes: {flushes}");
        assert_eq!(write(&store, 3, &group[1..]), Err(refused), "it was refused before the deletion");
        assert_eq!(write(&store, 4, &[change(EntityOp::Delete(IfMatch::Any), "b", &[])]), Ok(vec![None]));
        assert_eq!(get(&store, "b"), Err(AzureCode::ResourceNotFound));
        assert!(write(&store, 5, &group[1..]).is_ok(), "a change of its own");
    }
}

/// R5, C5: a change that was refused for another reason than its entity does not come behind a later one of its client either.
#[test]
fn r5_a_change_of_an_entity_that_was_refused_for_now_does_not_come_behind_a_later_one() {
    let throttle = ThrottleOptions { units_per_second: Some(5), ..ThrottleOptions::default() };
    let mut store = Store::with(InstanceOptions { throttle, ..InstanceOptions::default() }, Options::default());
    keep(&store);
    let long = "x".repeat(32_768);
    let (large, small) = ([("n", text(&long))], [("n", number(1))]);
    let write = |store: &Store, request, properties: Properties<'_>| {
        let changes = [change(EntityOp::InsertOrReplace, "r", properties)];
        let done = store.env.run(account(&store.instance).change("People", &changes, asked(request)));
        done.map_err(|refusal| refusal.error.code)
    };
    assert_eq!(write(&store, 1, &small), Err(AzureCode::TableNotFound));
    store.env.run(account(&store.instance).create_table("People", asked(2))).expect("created");
    write(&store, 3, &large).expect("one request may take all units of a second, and more");
    assert_eq!(write(&store, 4, &large), Err(AzureCode::ServerBusy));
    store.env.advance(1000);
    let last = write(&store, 5, &small).expect("written");
    crash(&mut store);
    assert_eq!(write(&store, 1, &small), Err(AzureCode::TableNotFound), "there was none when it was asked");
    assert_eq!(write(&store, 4, &large), Err(AzureCode::ServerBusy), "as it was told before");
    assert_eq!(write(&store, 5, &small), Ok(last));
    assert_eq!(get(&store, "r").expect("there").1, [("n".to_owned(), number(1))], "the later one came last");
}

/// Documents of the door go with their table, and survive a restart.
#[test]
fn azure_documents_of_an_account() {
    let mut store = with_table();
    let set_if = |store: &Store, setting, expected: &[u8], text: &[u8]| {
        store.env.run(account(&store.instance).set(setting, expected, text))
    };
    let set = |store: &Store, setting, text: &[u8]| {
        let stored = store.env.run(account(&store.instance).setting(setting))?;
        set_if(store, setting, &stored, text).map(|is_set| assert!(is_set))
    };
    let setting = |store: &Store, setting| store.env.run(account(&store.instance).setting(setting));
    assert_eq!(setting(&store, Setting::Service), Ok(vec![]));
    set(&store, Setting::Service, b"service").expect("stored");
    set(&store, Setting::Policies("people"), b"old").expect("stored");
    set(&store, Setting::Policies("PEOPLE"), b"policies").expect("stored");
    assert_eq!(set(&store, Setting::Policies("none"), b"x").expect_err("no table").code, AzureCode::TableNotFound);
    for expected in [&b""[..], b"servic"] {
        assert_eq!(set_if(&store, Setting::Service, expected, b"late"), Ok(false), "another one came between");
    }
    store.reopen();
    assert_eq!(setting(&store, Setting::Service), Ok(b"service".to_vec()));
    assert_eq!(setting(&store, Setting::Policies("People")), Ok(b"policies".to_vec()));
    store.env.run(account(&store.instance).delete_table("people", None)).expect("deleted");
    store.env.run(account(&store.instance).create_table("people", None)).expect("created");
    assert_eq!(setting(&store, Setting::Policies("People")), Ok(vec![]), "those of the table before are gone");
}
