//! A store for keyed lives: its tables, its requests, and their results.

use super::model::{Cells, Change, Id, Op, Val};
use crate::store::{self, NOW};
use crate::texts;
use std::rc::Rc;
use tabstore::Result;
use tabstore::engine::{ClockMode, Direction, Engine, Options, Shape};
use tabstore::env::sim::SimEnv;
use tabstore::model::{
    DefinedColumn, IndexKind, KeyColumn, KeyInput, KeyPart, KeyType, KeyValue, TableName, Value, ValueRef, ValueType,
};
use tabstore::storage::faults::{Hooked, YieldOnce};
use tabstore::storage::{AnyStorage, MemoryStorage};
use tabstore::tablestore::{
    ColumnChange, ColumnOp, CreateTable, GetRange, GetRow, IndexSpec, Instance, InstanceOptions, Outcome, PutCell,
    ReturnContent, RowWrite,
};

/// A row as it is found: its key, its cells.
pub(crate) type Found = (Vec<Val>, Cells);

/// A store in a world whose tasks run in an order that a seed fixes, on a storage that lets others go first.
pub(crate) struct World {
    pub(crate) env: SimEnv,
    memory: MemoryStorage,
    pub(crate) instance: Rc<Instance>,
}

/// The indexes that there may be: by an attribute, by attributes in one partition key, and by two.
pub(crate) fn specs() -> [IndexSpec; 3] {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let spec = |name: &str, kind, key: &[&str], columns: &[&str]| IndexSpec {
        name: name.into(),
        kind,
        key: names(key),
        columns: names(columns),
        time_to_live: None,
    };
    [
        spec("by_a", IndexKind::Global, &["a"], &["b"]),
        spec("by_p_b", IndexKind::Local, &["p", "b"], &["a", "c"]),
        spec("by_b_id", IndexKind::Global, &["b", "id"], &[]),
    ]
}

/// Opens a store that is so small that a few rows fill several levels.
pub(crate) async fn open(env: &SimEnv, storage: impl Into<AnyStorage>) -> Result<Rc<Instance>> {
    let shape = Shape { block_bytes: 400, segment_bytes: 2000, ..Shape::TINY };
    let options = Options {
        memtable_bytes: 6000,
        cache_bytes: 8000,
        clock: ClockMode::Injected,
        reserve_bytes: 700,
        shape,
        ..Options::default()
    };
    let engine = Engine::open(storage, Rc::new(env.clone()), options).await?;
    Instance::open(engine, InstanceOptions::default()).await
}

/// The table `t`, with the first two indexes.
pub(crate) fn table() -> CreateTable {
    let defined = [("a", ValueType::String), ("b", ValueType::String), ("c", ValueType::Integer)];
    let defined = defined.map(|(name, column_type)| DefinedColumn { name: name.into(), column_type });
    let [by_a, by_p_b, _] = specs();
    CreateTable {
        name: "t".into(),
        key: vec![KeyColumn::new("p", KeyType::String), KeyColumn::new("id", KeyType::String)],
        defined: defined.into(),
        indexes: vec![by_a, by_p_b],
        ..CreateTable::default()
    }
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let (env, memory) = (SimEnv::shuffled(NOW, seed), MemoryStorage::new());
        let instance = env.run(open(&env, Hooked::new(memory.clone(), YieldOnce))).expect("opens");
        let world = Self { env, memory, instance };
        world.create(table());
        let counted = KeyColumn { auto_increment: true, ..KeyColumn::new("n", KeyType::Integer) };
        let key = vec![KeyColumn::new("p", KeyType::String), counted];
        world.create(CreateTable { name: "counted".into(), key, ..CreateTable::default() });
        world
    }

    fn create(&self, request: CreateTable) {
        self.env.run(self.instance.create_table(request)).expect("created");
    }

    /// Everything in memory is lost, wherever the world is, and the store is opened again.
    pub(crate) fn reopen(&mut self) {
        self.env.crash();
        self.memory = self.memory.image();
        self.instance = self.env.run(open(&self.env, Hooked::new(self.memory.clone(), YieldOnce))).expect("opens");
    }

    pub(crate) fn get(&self, transaction: Option<&str>, id: Id) -> Outcome<Option<Cells>> {
        let (table, mut rows) = (name("t"), store::Rows::default());
        let request = GetRow { table, key: key(id), options: store::versions(1) };
        self.env.run(self.instance.get_row_in(transaction, &request, &mut rows))?;
        Ok(rows.0.pop().map(|(_, cells)| values(&cells)))
    }

    /// All rows of a table or index; of the rows of one partition key if there is a transaction.
    pub(crate) fn scan(&self, table: &str, transaction: Option<(&str, i64)>) -> Outcome<Vec<Found>> {
        let limit = self.env.random().cast_signed().rem_euclid(40) + 1;
        self.env.run(scan(&self.instance, table, transaction, limit))
    }

    pub(crate) fn write(&self, transaction: Option<&str>, id: Id, change: &Change) -> Outcome<Option<i64>> {
        let write = write(id, change);
        let written = self.env.run(self.instance.write_row_in(transaction, &write, None))?;
        Ok(written.row.and_then(|row| match row.cells.first() {
            Some((_, _, Value::Integer(value))) => Some(*value),
            _ => None,
        }))
    }
}

/// All rows of a table or index, so many a page; of the rows of one partition key if there is a transaction.
pub(crate) async fn scan(
    instance: &Instance,
    table: &str,
    transaction: Option<(&str, i64)>,
    limit: i64,
) -> Outcome<Vec<Found>> {
    let ends = |part: KeyPart<'static>| {
        let mut end = KeyInput::new();
        if let Some((_, p)) = transaction {
            end.push("p", KeyPart::Value(store::text(texts::key(p))));
            end.push("id", part);
        }
        end
    };
    let mut found = Vec::new();
    let mut start = ends(KeyPart::InfMin);
    let schema = instance.describe_table(table).expect("there").schema;
    loop {
        let (mut rows, end) = (store::Rows::default(), ends(KeyPart::InfMax));
        let request = GetRange { start, end, limit: Some(limit), ..store::range(table, Direction::Forward) };
        let read = instance.get_range_in(transaction.map(|(id, _)| id), &request, &mut rows).await?;
        for (key, cells) in &rows.0 {
            let key = key.iter().map(|value| match value {
                KeyValue::Integer(value) => Val::Int(*value),
                KeyValue::String(value) => Val::Text(value.clone()),
                other @ KeyValue::Binary(_) => panic!("{other:?} was never written"),
            });
            found.push((key.collect(), values(cells)));
        }
        let Some(next) = read.next else { return Ok(found) };
        let parts = schema.key().iter().zip(&next).map(|(column, value)| (column.name.clone(), value.clone()));
        start = owned(parts.collect());
    }
}

/// A key whose parts are leaked: lives are short.
fn owned(parts: Vec<(String, KeyValue)>) -> KeyInput<'static> {
    let parts: &'static [(String, KeyValue)] = parts.leak();
    let mut key = KeyInput::new();
    for (name, value) in parts {
        let value = match value {
            KeyValue::Integer(value) => ValueRef::Integer(*value),
            KeyValue::String(value) => ValueRef::String(value),
            KeyValue::Binary(value) => ValueRef::Binary(value),
        };
        key.push(name, KeyPart::Value(value));
    }
    key
}

pub(crate) fn name(name: &str) -> TableName<'_> {
    TableName::parse(name).expect("a name")
}

pub(crate) fn key<'a>(id: Id) -> KeyInput<'a> {
    store::key(&[("p", store::text(texts::key(id.0))), ("id", store::text(texts::key(id.1)))])
}

/// A partition key value alone.
pub(crate) fn partition<'a>(p: i64) -> KeyInput<'a> {
    store::key(&[("p", store::text(texts::key(p)))])
}

fn value(value: &Val) -> ValueRef<'_> {
    match value {
        Val::Int(value) => ValueRef::Integer(*value),
        Val::Text(value) => ValueRef::String(value),
    }
}

fn values(cells: &[store::Cell]) -> Cells {
    let one = |cell: &store::Cell| match &cell.2 {
        Value::Integer(value) => (cell.0.clone(), Val::Int(*value)),
        Value::String(value) => (cell.0.clone(), Val::Text(value.to_string())),
        other => panic!("{other:?} was never written"),
    };
    cells.iter().map(one).collect()
}

/// The request that makes a change. One that increments gives back what that came to.
pub(crate) fn write(id: Id, change: &Change) -> RowWrite<'_> {
    match change {
        Change::Put(cells) => {
            let cells: Vec<PutCell<'_>> = cells.iter().map(|(name, of)| store::cell(name, value(of))).collect();
            store::put("t", key(id), &cells)
        }
        Change::Update(ops) => {
            let changes: Vec<ColumnChange<'_>> = ops.iter().map(|(name, op)| one_change(name, op)).collect();
            let added = ops.iter().find(|(_, op)| matches!(op, Op::Add(_))).map(|(name, _)| *name);
            let write = store::update("t", key(id), &changes);
            match added {
                Some(name) => RowWrite { returns: ReturnContent::AfterModify(vec![store::column(name)]), ..write },
                None => write,
            }
        }
        Change::Delete => store::delete("t", key(id)),
    }
}

fn one_change<'a>(name: &'static str, op: &'a Op) -> ColumnChange<'a> {
    match op {
        Op::Put(of) => store::change(name, ColumnOp::Put { version: None, value: value(of) }),
        Op::Delete => store::change(name, ColumnOp::DeleteColumn),
        Op::Add(delta) => store::increment(name, *delta),
    }
}
