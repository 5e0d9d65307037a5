//! Queries of the Azure Table service against an evaluator that is written plainly: it knows no words, no ranges of keys and no
//! cells, and judges every entity of a table. Filters, entities, pages and beginnings are random.

mod evaluator;

use crate::store::Store;
use evaluator::{Draw, Expression, KEYS, Row, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;
use tabstore::azure::{Account, EdmValue, Entity, EntityChange, EntityOp, Filter, Query, date_time};
use tabstore::doors::azure::answer;
use tabstore::doors::{Access, Request, Response};
use tabstore::engine::{Options, Shape};
use tabstore::tablestore::InstanceOptions;

const ACCOUNT: &str = "account1";
const TABLE: &str = "Things";
/// Filters on the entities of one life.
const CASES: u32 = 400;

/// A key as the service orders it.
type Units = (Vec<u16>, Vec<u16>);

fn units((partition, row): (&str, &str)) -> Units {
    (partition.encode_utf16().collect(), row.encode_utf16().collect())
}

struct Life {
    store: Store,
    draw: Draw,
    rows: BTreeMap<Units, Row>,
    /// Cases whose filter passed some entities, and not all.
    told_apart: u32,
}

impl Life {
    fn new(seed: u64) -> Self {
        // So small that entities lie in several levels and blocks.
        let shape = Shape { block_bytes: 200, segment_bytes: 2000, ..Shape::TINY };
        let options = Options { memtable_bytes: 4000, cache_bytes: 8000, shape, ..Options::default() };
        let store = Store::shuffled(InstanceOptions::default(), options, seed);
        let account = Account::new(&store.instance, ACCOUNT).expect("a name");
        store.env.run(account.create_table(TABLE, None)).expect("created");
        let mut life = Self { store, draw: Draw::new(seed), rows: BTreeMap::new(), told_apart: 0 };
        for _ in 0..12 {
            life.change();
        }
        life
    }

    /// Writes a group of entities of one partition, or deletes one.
    fn change(&mut self) {
        let partition = *self.draw.of(&KEYS[..6]);
        let mut keys: Vec<&str> = KEYS.to_vec();
        keys.retain(|_| self.draw.one_in(2));
        let rows: Vec<(&str, BTreeMap<&str, Value>)> = keys.into_iter().map(|key| (key, self.draw.values())).collect();
        let changes: Vec<_> = rows
            .iter()
            .map(|(row, values)| {
                let is_there = self.rows.contains_key(&units((partition, row)));
                let deletes = is_there && self.draw.one_in(4);
                EntityChange {
                    op: if deletes {
                        EntityOp::Delete(tabstore::azure::IfMatch::Any)
                    } else {
                        EntityOp::InsertOrReplace
                    },
                    partition_key: Cow::Borrowed(partition),
                    row_key: Cow::Borrowed(*row),
                    properties: values.iter().map(|(name, value)| (Cow::Borrowed(*name), value.as_edm())).collect(),
                }
            })
            .collect();
        let account = Account::new(&self.store.instance, ACCOUNT).expect("a name");
        let times = self.store.env.run(account.change(TABLE, &changes, None)).expect("changed");
        for ((row, values), time) in rows.iter().zip(times) {
            let key = units((partition, row));
            match time {
                Some(time) => {
                    let keys = [partition.to_owned(), (*row).to_owned()];
                    self.rows.insert(key, Row { keys, time, values: values.clone() });
                }
                None => drop(self.rows.remove(&key)),
            }
        }
        if self.draw.one_in(4) {
            self.store.env.run(self.store.instance.flush()).expect("flushed");
        }
        if self.draw.one_in(8) {
            self.store.compact();
        }
        self.store.env.advance(i64::from(self.draw.below(3)));
    }

    fn case(&mut self, at: u32) {
        let times: Vec<i64> = self.rows.values().map(|row| row.time).collect();
        let expression = Expression::any(&mut self.draw, &times);
        let text = expression.text(&mut self.draw);
        let from = self.draw.one_in(3).then(|| (*self.draw.of(&KEYS), *self.draw.of(&KEYS)));
        let top = *self.draw.of(&[1, 2, 5, 1000, 1000]);
        let through_door = at.is_multiple_of(16);
        let from = from.filter(|_| !through_door);
        let expected: Vec<&Row> = self
            .rows
            .range(units(from.unwrap_or_default())..)
            .map(|(_, row)| row)
            .filter(|row| expression.passes(row))
            .collect();
        self.told_apart += u32::from(!expected.is_empty() && expected.len() < self.rows.len());
        if through_door {
            let found = self.pages_of_door(&text, top);
            let expected: Vec<_> = expected.iter().map(|row| row.keys.clone()).collect();
            assert_eq!(found, expected, "{text}");
        } else {
            let found = self.pages(&text, top, from);
            assert_eq!(found.len(), expected.len(), "{text} from {from:?}: {found:?}");
            for (found, expected) in found.iter().zip(expected) {
                assert!(found.is(expected), "{text} from {from:?}: {found:?} is not {expected:?}");
            }
        }
    }

    /// All pages of a query.
    fn pages(&self, text: &str, top: usize, from: Option<(&str, &str)>) -> Vec<Row> {
        let filter = Filter::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let account = Account::new(&self.store.instance, ACCOUNT).expect("a name");
        let mut from = from.map(|(partition, row)| (partition.to_owned(), row.to_owned()));
        let mut all = Vec::new();
        loop {
            let before = all.len();
            let start = from.as_ref().map(|(partition, row)| (partition.as_str(), row.as_str()));
            let query = Query { filter: &filter, top, from: start, last: None };
            let next = self.store.env.run(account.query(TABLE, &query, &mut |entity| all.push(row_of(entity))));
            assert!(all.len() <= before + top, "{text}");
            from = next.expect("queried");
            if from.is_none() {
                return all;
            }
        }
    }

    /// The keys on all pages of a query through the door.
    fn pages_of_door(&self, text: &str, top: usize) -> Vec<[String; 2]> {
        let base =
            format!("inproc://{ACCOUNT}/{TABLE}()?$filter={}&$top={top}&$select=RowKey,PartitionKey", encoded(text));
        let (mut all, mut url) = (Vec::new(), base.clone());
        loop {
            let headers = vec![("Accept", "application/json;odata=nometadata")];
            let request = Request { method: "GET", url: &url, headers, body: b"" };
            let answered = self.store.env.run(answer(&self.store.instance, &request, Access::Off, None));
            let Response { status, headers, body } = answered.expect("answered");
            let body: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
            assert_eq!(status, 200, "{text}: {body}");
            for entity in body["value"].as_array().expect("entities") {
                all.push(["PartitionKey", "RowKey"].map(|name| entity[name].as_str().expect("a key").to_owned()));
            }
            let token = |name: &str| headers.iter().find(|(other, _)| other == name).map(|(_, token)| encoded(token));
            let (Some(partition), Some(row)) =
                (token("x-ms-continuation-NextPartitionKey"), token("x-ms-continuation-NextRowKey"))
            else {
                return all;
            };
            url = format!("{base}&NextPartitionKey={partition}&NextRowKey={row}");
        }
    }
}

fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric();
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// An entity, as the evaluator has it.
fn row_of(entity: &dyn Entity) -> Row {
    let mut values = BTreeMap::new();
    entity.properties(&mut |name, value| {
        let name = evaluator::NAMES.iter().find(|other| **other == name).expect("a known name");
        values.insert(*name, Value::of(&value));
    });
    Row { keys: [entity.partition_key().to_owned(), entity.row_key().to_owned()], time: entity.timestamp(), values }
}

/// Z3: a query returns what its filter passes and nothing else, in the order of the keys, over all its pages, from wherever it
/// begins: 100,000 cases.
#[test]
fn azure_z3_queries_agree_with_a_plain_evaluator() {
    let (mut cases, mut told_apart) = (0, 0);
    for seed in crate::seeds(9000, 250) {
        let mut life = Life::new(seed);
        for at in 0..CASES {
            // The entities change under the same filters, too.
            if at % 50 == 49 {
                life.change();
            }
            let survived = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| life.case(at)));
            assert!(survived.is_ok(), "the query {at} of seed {seed} went wrong");
        }
        (cases, told_apart) = (cases + CASES, told_apart + life.told_apart);
    }
    assert!(3 * told_apart > cases, "only {told_apart} of {cases} filters tell entities apart");
}

/// Z3: what is no filter is refused, however it is broken, and never judged.
#[test]
fn azure_z3_broken_filters_are_refused_or_read() {
    let mut draw = Draw::new(1);
    for _ in 0..20_000 {
        let expression = Expression::any(&mut draw, &[date_time::UNIX_EPOCH]);
        let mut letters: Vec<char> = expression.text(&mut draw).chars().collect();
        for _ in 0..=draw.below(3) {
            let at = draw.below(letters.len() as u32) as usize;
            let other =
                *draw.of(&['\'', '(', ')', ' ', 'x', '5', '-', '.', 'e', 'L', 'é', '\u{301}', '\u{1F600}', '\0']);
            if draw.one_in(3) && letters.len() > 1 {
                letters.remove(at);
            } else if draw.one_in(2) {
                letters.insert(at, other);
            } else {
                letters[at] = other;
            }
        }
        let text: String = letters.into_iter().collect();
        if let Err(error) = Filter::parse(&text) {
            assert_eq!(error.code.status(), 400, "{text}");
            let Some(position) = error.message.strip_prefix("Syntax error at position ") else { continue };
            let (position, _) = position.split_once(' ').expect("a number");
            let position: usize = position.parse().expect("a number");
            assert!(position <= text.encode_utf16().count(), "{text}");
        }
    }
}

/// The values of the evaluator are those of the service.
#[test]
fn azure_v1_the_evaluator_has_the_types_of_the_service() {
    let mut draw = Draw::new(2);
    for _ in 0..1000 {
        for value in draw.values().into_values() {
            let edm: EdmValue<'_> = value.as_edm();
            assert!(Value::of(&edm).is(&value), "{value:?}");
        }
    }
}
