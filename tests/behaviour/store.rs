//! A store for tests: an instance in a simulated world, and short words for requests.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use tabstore::engine::{ClockMode, Direction, Engine, Options};
use tabstore::env::sim::SimEnv;
use tabstore::model::filter::{ColumnFilter, Comparator, Filter};
use tabstore::model::select::VersionQuery;
use tabstore::model::{
    CellRef, ColumnName, DefinedColumn, KeyColumn, KeyInput, KeyPart, KeyType, KeyValue, NameRules, RowSink, TableName,
    Value, ValueRef, ValueType,
};
use tabstore::storage::MemoryStorage;
use tabstore::storage::faults::{Hook, Hooked};
use tabstore::tablestore::{
    ColumnChange, ColumnOp, CreateTable, Existence, GetRange, GetRow, Instance, InstanceOptions, Mutation,
    OptionsChange, Outcome, PutCell, RangeRead, ReadOptions, ReturnContent, RowWrite, UpdateTable, Written,
};

/// 2016-07-21 00:00:00 UTC+8, the clock of the documents' examples.
pub(crate) const NOW: i64 = 1_469_030_400_000;

/// A cell as it was read: column, version, value.
pub(crate) type Cell = (String, i64, Value);

/// An instance in a world of its own.
pub(crate) struct Store {
    pub(crate) env: SimEnv,
    pub(crate) storage: MemoryStorage,
    pub(crate) options: InstanceOptions,
    pub(crate) engine_options: Options,
    pub(crate) instance: Rc<Instance>,
}

impl Store {
    /// An empty instance whose clock is injected and shows [`NOW`].
    pub(crate) fn new() -> Self {
        Self::with(InstanceOptions::default(), Options { clock: ClockMode::Injected, ..Options::default() })
    }

    /// An empty instance with these options.
    pub(crate) fn with(options: InstanceOptions, engine_options: Options) -> Self {
        Self::in_world(SimEnv::new(NOW), options, engine_options)
    }

    /// The same, in a world whose tasks run in an order that `seed` fixes.
    pub(crate) fn shuffled(options: InstanceOptions, engine_options: Options, seed: u64) -> Self {
        Self::in_world(SimEnv::shuffled(NOW, seed), options, engine_options)
    }

    fn in_world(env: SimEnv, options: InstanceOptions, engine_options: Options) -> Self {
        Self::over(env, MemoryStorage::new(), options, engine_options)
    }

    /// The stored data there, opened beside others that have it open.
    pub(crate) fn over(env: SimEnv, storage: MemoryStorage, options: InstanceOptions, engine_options: Options) -> Self {
        let instance = open(&env, &storage, options, &engine_options);
        Self { env, storage, options, engine_options, instance }
    }

    /// A store with a table `t` whose key is the Integer column `id`.
    pub(crate) fn with_table(options: OptionsChange) -> Self {
        let store = Self::new();
        store.create("t", &[("id", KeyType::Integer)], options);
        store
    }

    /// The same after everything in memory is lost.
    pub(crate) fn reopen(&mut self) {
        self.env.crash();
        self.storage = self.storage.image();
        self.instance = open(&self.env, &self.storage, self.options, &self.engine_options);
    }

    /// A second instance on a copy of the stored data, with an empty cache. `hook` sees the calls of its storage.
    pub(crate) fn opened_with<H: Hook>(&self, hook: H) -> tabstore::Result<Rc<Instance>> {
        let storage = Hooked::new(self.storage.image(), hook);
        self.env.run(async {
            let engine = Engine::open(storage, Rc::new(self.env.clone()), self.engine_options.clone()).await?;
            Instance::open(engine, self.options).await
        })
    }

    pub(crate) fn create(&self, name: &str, key: &[(&str, KeyType)], options: OptionsChange) {
        self.try_create(name, key, options).expect("created");
    }

    /// Creates a table `t` whose key is the Integer column `id`, with a defined Integer column `n` for indexes.
    pub(crate) fn create_with_number(&self) {
        let request = CreateTable {
            name: "t".into(),
            key: vec![KeyColumn::new("id", KeyType::Integer)],
            defined: vec![DefinedColumn { name: "n".into(), column_type: ValueType::Integer }],
            ..CreateTable::default()
        };
        self.env.run(self.instance.create_table(request)).expect("created");
    }

    pub(crate) fn try_create(
        &self,
        name: &str,
        key: &[(&str, KeyType)],
        options: OptionsChange,
    ) -> tabstore::Result<()> {
        let key = key.iter().map(|&(name, key_type)| KeyColumn::new(name, key_type)).collect();
        let request = CreateTable { name: name.into(), key, options, ..CreateTable::default() };
        self.env.run(self.instance.create_table(request))
    }

    pub(crate) fn set_options(&self, name: &str, options: OptionsChange) {
        let request = UpdateTable { name: name.into(), options, ..UpdateTable::default() };
        self.env.run(self.instance.update_table(request)).expect("updated");
    }

    pub(crate) fn write(&self, write: &RowWrite<'_>) -> Outcome<Written> {
        self.env.run(self.instance.write_row(write, None))
    }

    /// PutRow into `t`.
    pub(crate) fn put(&self, key: KeyInput<'_>, cells: &[PutCell<'_>]) {
        self.write(&put("t", key, cells)).expect("put");
    }

    /// UpdateRow in `t`.
    pub(crate) fn update(&self, key: KeyInput<'_>, changes: &[ColumnChange<'_>]) {
        self.write(&update("t", key, changes)).expect("updated");
    }

    /// GetRow: the cells, if there is a row.
    pub(crate) fn get(&self, table: &str, key: KeyInput<'_>, options: ReadOptions<'_>) -> Option<Vec<Cell>> {
        let mut rows = Rows::default();
        let request = GetRow { table: TableName::parse(table).expect("a name"), key, options };
        let found = self.env.run(self.instance.get_row(&request, &mut rows)).expect("read");
        assert_eq!(found.row, !rows.0.is_empty());
        rows.0.pop().map(|(_, cells)| cells)
    }

    /// All visible versions of a row of `t`.
    pub(crate) fn all(&self, key: KeyInput<'_>) -> Option<Vec<Cell>> {
        self.get("t", key, versions(i64::MAX))
    }

    /// GetRange.
    pub(crate) fn range(&self, request: &GetRange<'_>) -> (Vec<Row>, RangeRead) {
        let mut rows = Rows::default();
        let read = self.env.run(self.instance.get_range(request, &mut rows)).expect("read");
        (rows.0, read)
    }

    /// The Integer keys of all rows of `t`.
    pub(crate) fn ids(&self) -> Vec<i64> {
        ids(&self.range(&range("t", Direction::Forward)).0)
    }

    /// Moves everything into the last level, retention applied for good.
    pub(crate) fn compact(&self) {
        self.env.run(self.instance.compact()).expect("compacted");
    }
}

/// The value of a future that is polled once, if it is there.
pub(crate) fn poll<T>(future: Pin<&mut impl Future<Output = T>>) -> Option<T> {
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

/// The troubles of an instance from now on, and `mended` for what is over.
pub(crate) fn troubles(instance: &Instance) -> Rc<RefCell<Vec<String>>> {
    let told = Rc::new(RefCell::new(Vec::new()));
    let heard = Rc::clone(&told);
    instance.on_trouble(move |trouble| {
        heard.borrow_mut().push(trouble.map_or_else(|| "mended".into(), ToString::to_string));
    });
    told
}

fn open(env: &SimEnv, storage: &MemoryStorage, options: InstanceOptions, engine: &Options) -> Rc<Instance> {
    env.run(async {
        let engine = Engine::open(storage.clone(), Rc::new(env.clone()), engine.clone()).await.expect("opens");
        Instance::open(engine, options).await.expect("opens")
    })
}

/// A row as it was read: its key and its cells.
pub(crate) type Row = (Vec<KeyValue>, Vec<Cell>);

/// Collects rows.
#[derive(Default)]
pub(crate) struct Rows(pub(crate) Vec<Row>);

impl RowSink for Rows {
    fn streams(&self) -> bool {
        true
    }

    fn row(&mut self, key: &[ValueRef<'_>], cells: &[CellRef<'_>]) {
        let key = key.iter().map(|value| match *value {
            ValueRef::Integer(v) => KeyValue::Integer(v),
            ValueRef::String(v) => KeyValue::String(v.into()),
            ValueRef::Binary(v) => KeyValue::Binary(v.into()),
            other => panic!("{other:?} in a key"),
        });
        let cells = cells.iter().map(|cell| (cell.column.to_owned(), cell.version, cell.value.to_owned()));
        self.0.push((key.collect(), cells.collect()));
    }

    fn stream<'c>(&mut self, key: &[ValueRef<'_>], next: &mut dyn FnMut() -> Option<CellRef<'c>>) -> bool {
        let cells: Vec<CellRef<'c>> = std::iter::from_fn(next).collect();
        self.row(key, &cells);
        true
    }

    fn undo(&mut self) {
        self.0.pop();
    }
}

pub(crate) fn ids(rows: &[Row]) -> Vec<i64> {
    let id = |row: &Row| match row.0.last() {
        Some(KeyValue::Integer(id)) => *id,
        other => panic!("{other:?} is no id"),
    };
    rows.iter().map(id).collect()
}

/// The key of a row of `t`.
pub(crate) fn id<'a>(id: i64) -> KeyInput<'a> {
    key(&[("id", int(id))])
}

pub(crate) fn key<'a>(columns: &[(&'a str, ValueRef<'a>)]) -> KeyInput<'a> {
    let mut key = KeyInput::new();
    columns.iter().for_each(|&(name, value)| key.push(name, KeyPart::Value(value)));
    key
}

pub(crate) fn int<'a>(value: i64) -> ValueRef<'a> {
    ValueRef::Integer(value)
}

pub(crate) fn text(value: &str) -> ValueRef<'_> {
    ValueRef::String(value)
}

pub(crate) fn column(name: &str) -> ColumnName<'_> {
    ColumnName::parse(name, NameRules::Document).expect("a name")
}

/// A cell to put, with the store's version.
pub(crate) fn cell<'a>(name: &'a str, value: ValueRef<'a>) -> PutCell<'a> {
    PutCell { column: column(name), version: None, value }
}

/// A cell to put, with a version.
pub(crate) fn cell_at<'a>(name: &'a str, version: i64, value: ValueRef<'a>) -> PutCell<'a> {
    PutCell { version: Some(version), ..cell(name, value) }
}

pub(crate) fn change<'a>(name: &'a str, op: ColumnOp<'a>) -> ColumnChange<'a> {
    ColumnChange { column: column(name), op }
}

/// A put of UpdateRow.
pub(crate) fn add<'a>(name: &'a str, version: Option<i64>, value: i64) -> ColumnChange<'a> {
    change(name, ColumnOp::Put { version, value: int(value) })
}

pub(crate) fn increment(name: &str, delta: i64) -> ColumnChange<'_> {
    change(name, ColumnOp::Increment(delta))
}

fn write<'a>(table: &'a str, key: KeyInput<'a>, mutation: Mutation<'a>) -> RowWrite<'a> {
    let table = TableName::parse(table).expect("a name");
    let (condition, column_condition) = (Existence::Ignore, None);
    RowWrite { table, key, condition, column_condition, returns: ReturnContent::None, mutation }
}

pub(crate) fn put<'a>(table: &'a str, key: KeyInput<'a>, cells: &[PutCell<'a>]) -> RowWrite<'a> {
    write(table, key, Mutation::Put(cells.to_vec()))
}

pub(crate) fn update<'a>(table: &'a str, key: KeyInput<'a>, changes: &[ColumnChange<'a>]) -> RowWrite<'a> {
    write(table, key, Mutation::Update(changes.to_vec()))
}

pub(crate) fn delete<'a>(table: &'a str, key: KeyInput<'a>) -> RowWrite<'a> {
    write(table, key, Mutation::Delete)
}

pub(crate) fn expecting(condition: Existence, write: RowWrite<'_>) -> RowWrite<'_> {
    RowWrite { condition, ..write }
}

/// A comparison with the defaults of the SDKs: a missing column passes, the newest version counts.
pub(crate) fn comparison<'a>(name: &'a str, comparator: Comparator, value: ValueRef<'a>) -> ColumnFilter<'a> {
    ColumnFilter {
        column: column(name),
        comparator,
        value: Some(value),
        pass_if_missing: true,
        latest_version_only: true,
        transfer: None,
    }
}

pub(crate) fn compare<'a>(name: &'a str, comparator: Comparator, value: ValueRef<'a>) -> Filter<'a> {
    Filter::Column(comparison(name, comparator, value))
}

/// The newest so many versions.
pub(crate) fn versions<'a>(max: i64) -> ReadOptions<'a> {
    ReadOptions {
        versions: VersionQuery { max_versions: Some(max), ..VersionQuery::default() },
        ..ReadOptions::default()
    }
}

pub(crate) fn columns<'a>(names: &[&'a str]) -> ReadOptions<'a> {
    ReadOptions { columns: names.iter().map(|name| column(name)).collect(), ..versions(1) }
}

/// The whole table, newest versions.
pub(crate) fn range(table: &str, direction: Direction) -> GetRange<'_> {
    let table = TableName::parse(table).expect("a name");
    let (start, end) = (KeyInput::new(), KeyInput::new());
    GetRange { table, direction, start, end, limit: None, options: versions(1) }
}

/// Integer cells as they are read.
pub(crate) fn ints(cells: &[(&str, i64, i64)]) -> Option<Vec<Cell>> {
    Some(cells.iter().map(|&(column, version, value)| (column.to_owned(), version, Value::Integer(value))).collect())
}

/// The message of a call that must fail.
pub(crate) fn refused<T, E: std::fmt::Display>(result: Result<T, E>) -> String {
    match result {
        Ok(_) => panic!("this has to be refused"),
        Err(error) => error.to_string(),
    }
}
