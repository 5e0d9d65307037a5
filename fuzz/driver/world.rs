//! A store with some tables and one client. The fuzz targets act on it here, besides requests.

use super::NOW;
use super::draw::{Asked, TABLES, Transaction, is_end};
use super::frame::Item;
use super::input::Input;
use std::cell::RefCell;
use std::rc::Rc;
use tabstore::engine::{ClockMode, Engine, Options, Shape};
use tabstore::env::sim::SimEnv;
use tabstore::model::meter::{Period, Prices};
use tabstore::model::{
    ColumnName, DefinedColumn, IndexKind, InstanceKind, KeyColumn, KeyInput, KeyPart, KeyType, Limits, NameRules,
    TableName, Value, ValueRef, ValueType,
};
use tabstore::session::codec::{PageRow, Reader, RemoteError, responses};
use tabstore::session::{Session, Sessions};
use tabstore::storage::MemoryStorage;
use tabstore::tablestore::{
    ComputeConsumed, CreateTable, Existence, GetRow, IndexSpec, Instance, InstanceOptions, Mutation, OptionsChange,
    PutCell, ReadOptions, ReturnContent, Right, Rights, RowWrite, SplitRequest, UpdateTable,
};
use tabstore::{Code, Result};

/// A name that no input contains.
const KNOWN: &str = "known_to_the_test";

/// The result of a request: its payload or its error.
pub(crate) type Answer = Result<Vec<u8>, RemoteError>;

pub(crate) struct World {
    env: SimEnv,
    storage: MemoryStorage,
    options: InstanceOptions,
    instance: Rc<Instance>,
    session: Session,
    delivered: Rc<RefCell<Vec<Vec<u8>>>>,
    /// Transactions that were started and not ended by a request.
    pub(crate) transactions: Vec<Transaction>,
}

fn engine_options() -> Options {
    let shape = Shape { block_bytes: 400, segment_bytes: 4000, level1_bytes: 8000, ..Shape::TINY };
    Options { memtable_bytes: 16_000, cache_bytes: 16_000, clock: ClockMode::Injected, shape, ..Options::default() }
}

type Opened = (Rc<Instance>, Session, Rc<RefCell<Vec<Vec<u8>>>>);

fn open(env: &SimEnv, storage: &MemoryStorage, options: InstanceOptions) -> Opened {
    let instance = env.run(async {
        let engine = Engine::open(storage.clone(), Rc::new(env.clone()), engine_options()).await.expect("opens");
        Instance::open(engine, options).await.expect("opens")
    });
    let delivered = Rc::new(RefCell::new(Vec::new()));
    let out = Rc::clone(&delivered);
    let sessions = Sessions::new(Rc::clone(&instance), Rc::new(env.clone()));
    let session = sessions.open(1, move |frame| out.borrow_mut().push(frame)).expect("opened");
    (instance, session, delivered)
}

impl World {
    pub(crate) fn new(input: &mut Input<'_>) -> Self {
        let options = InstanceOptions {
            limits: if input.one_in(2) { Limits::SDK } else { Limits::DOCUMENT },
            kind: if input.one_in(4) { InstanceKind::Capacity } else { InstanceKind::HighPerformance },
            ..InstanceOptions::default()
        };
        let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
        let (instance, session, delivered) = open(&env, &storage, options);
        let world = Self { env, storage, options, instance, session, delivered, transactions: Vec::new() };
        for table in [KNOWN, "one", "two", "counted"] {
            let request = CreateTable { name: table.into(), ..usual(table, input) };
            world.env.run(world.instance.create_table(request)).expect("created");
        }
        world
    }

    /// Submits a frame to the session and waits for all its answers.
    pub(crate) fn submit(&mut self, frame: Vec<u8>) -> Result<Vec<Answer>> {
        let submitted = self.session.submit(frame);
        self.env.run_until_idle();
        let mut frames = self.delivered.take();
        frames.extend(submitted?);
        let mut answers = Vec::new();
        for frame in &frames {
            for response in responses(frame).expect("answers are whole") {
                let answer = response.payload.map(|payload| payload.rest().to_vec());
                answers.push((response.id, answer));
            }
        }
        answers.sort_by_key(|(id, _)| *id);
        let answers = answers.into_iter().map(|(_, answer)| answer).collect::<Vec<_>>();
        for error in answers.iter().filter_map(|answer: &Answer| answer.as_ref().err()) {
            assert!(error.status < 500, "a fault of the program: {error:?}");
        }
        Ok(answers)
    }

    /// Remembers a transaction that a request has started. Forgets one that has ended.
    pub(crate) fn follow(&mut self, asked: &Asked, answer: &Answer) {
        let ended = match (asked.operation, answer) {
            ("START_LOCAL_TRANSACTION", Ok(payload)) => {
                let (_, id) = Reader::new(payload).started().expect("the answer is whole");
                let (table, key) = (asked.table.clone(), asked.key.clone());
                return self.transactions.push(Transaction { id, table, key });
            }
            (operation, Ok(_)) => is_end(operation),
            (_, Err(error)) => error.code == "OTSSessionNotExist",
        };
        self.transactions.retain(|open| !ended || Some(&open.id) != asked.transaction.as_ref());
    }

    /// An operation of administration with any arguments.
    pub(crate) fn administer(&mut self, input: &mut Input<'_>) {
        let name = if input.one_in(6) { input.text() } else { input.of(&TABLES).to_owned() };
        let done = match input.pick(30) {
            0 => self.env.run(self.instance.create_table(CreateTable { name, ..any_table(input) })),
            1..6 => self.env.run(self.instance.create_table(CreateTable { name: name.clone(), ..usual(&name, input) })),
            6 => self.env.run(self.instance.delete_table(&name)),
            7 => self.instance.describe_table(&name).map(drop),
            8..14 => {
                let options = any_options(input);
                let reserved_read = input.some(Input::integer);
                let reserved_write = input.some(Input::integer);
                let request = UpdateTable { name, options, reserved_read, reserved_write, ..UpdateTable::default() };
                self.env.run(self.instance.update_table(request)).map(drop)
            }
            14..17 => self.env.run(self.instance.create_index(&name, any_index(input), !input.one_in(4))),
            17 => {
                let index =
                    if input.one_in(8) { input.text() } else { input.of(&["by_a", "by_p_b", "by_c"]).to_owned() };
                self.env.run(self.instance.drop_index(&name, &index))
            }
            18..20 => self.env.run(self.instance.add_defined_column(&name, any_defined(input))),
            20 => self.env.run(self.instance.delete_defined_column(&name, &[column(input)])),
            21..23 => {
                let request = SplitRequest {
                    table: &name,
                    split_size: if input.one_in(2) { 1 } else { input.integer() },
                    unit: input.some(|input| if input.one_in(2) { 1 << 20 } else { input.integer() }),
                    point_limit: input.some(Input::integer),
                };
                self.env
                    .run(self.instance.compute_split_points_by_size(&request))
                    .map(drop)
                    .map_err(|failed| failed.error)
            }
            23..25 => {
                let request = ComputeConsumed {
                    table: input.some(|_| name.clone()),
                    start: input.some(Input::integer),
                    end: input.some(Input::integer),
                    period: input.of(&[Period::Second, Period::Hour]),
                    prices: Prices::default(),
                };
                self.env.run(self.instance.compute_consumed(&request)).map(drop)
            }
            25 => self.change_access_keys(input),
            _ => {
                assert!(self.instance.list_table().iter().any(|table| table == KNOWN));
                Ok(())
            }
        };
        right(done);
    }

    fn change_access_keys(&self, input: &mut Input<'_>) -> Result<()> {
        let all = [Right::Read, Right::Write, Right::Admin];
        let rights = Rights::of(&all[..input.pick(4)]);
        let known = self.instance.access_keys().all();
        let id = match known.get(input.pick(3)) {
            Some(key) => key.id.clone(),
            None => input.text(),
        };
        match input.pick(3) {
            0 => self.env.run(self.instance.access_keys().create(rights)).map(drop),
            1 => {
                let (enabled, rights) = (input.some(|input| input.one_in(2)), input.some(|_| rights));
                self.env.run(self.instance.access_keys().update(&id, enabled, rights)).map(drop)
            }
            _ => self.env.run(self.instance.access_keys().delete(&id)),
        }
    }

    /// Flushes, compacts, moves the clock, or opens the store again.
    pub(crate) fn live(&mut self, input: &mut Input<'_>) {
        match input.pick(8) {
            0..2 => right(self.env.run(self.instance.flush())),
            2..4 => right(self.env.run(self.instance.compact())),
            4 => self.env.advance(i64::from(input.byte()) * 1000),
            5 if input.one_in(4) => self.env.set_now(input.integer().clamp(0, i64::MAX / 1000 - 1)),
            5 => self.env.set_now(NOW),
            6 => self.env.set_now(NOW + i64::from(input.byte()) * 3_600_000),
            _ => self.reopen(),
        }
    }

    /// Loses all memory, and opens the store again.
    pub(crate) fn reopen(&mut self) {
        self.env.crash();
        self.storage = self.storage.image();
        (self.instance, self.session, self.delivered) = open(&self.env, &self.storage, self.options);
    }

    /// Writes the test's known data, and reads it back.
    pub(crate) fn put_known(&mut self, row: i64) {
        let cells = vec![PutCell { column: a(), version: None, value: ValueRef::Integer(row * 3) }];
        let write = RowWrite {
            table: TableName::parse(KNOWN).expect("a name"),
            key: id(row),
            condition: Existence::Ignore,
            column_condition: None,
            returns: ReturnContent::None,
            mutation: Mutation::Put(cells),
        };
        self.env.run(self.instance.write_row(&write, None)).expect("the store goes on working");
        self.check_known(row);
    }

    /// Checks that all known data is there.
    pub(crate) fn check_known(&mut self, rows: i64) {
        for row in 1..=rows {
            let mut page = tabstore::session::codec::PageWriter::default();
            let mut options = ReadOptions { columns: vec![a()], ..ReadOptions::default() };
            options.versions.max_versions = Some(1);
            let request = GetRow { table: TableName::parse(KNOWN).expect("a name"), key: id(row), options };
            let found = self.env.run(self.instance.get_row(&request, &mut page)).expect("the store goes on working");
            assert!(found.row, "row {row} was acknowledged");
        }
    }
}

fn a<'a>() -> ColumnName<'a> {
    ColumnName::parse("a", NameRules::Document).expect("a name")
}

fn id<'a>(row: i64) -> KeyInput<'a> {
    let mut key = KeyInput::new();
    key.push("p", KeyPart::Value(ValueRef::Integer(row)));
    key
}

/// No operation fails by a fault of the program.
fn right(done: Result<()>) {
    if let Err(error) = done {
        assert!(error.code().status() < 500 && error.code() != Code::Corrupt, "{error}");
    }
}

/// The tables of the requests.
fn usual(name: &str, input: &mut Input<'_>) -> CreateTable {
    let columns: &[(&str, KeyType)] = match name {
        "two" => &[("p", KeyType::Integer), ("q", KeyType::String)],
        "counted" => &[("p", KeyType::Integer), ("n", KeyType::Integer)],
        _ => &[("p", KeyType::Integer)],
    };
    let counted = |column: KeyColumn| KeyColumn { auto_increment: column.name == "n", ..column };
    let key = columns.iter().map(|&(name, key_type)| counted(KeyColumn::new(name, key_type))).collect();
    let max_versions = Some(1 + i64::from(input.byte() % 4)).filter(|_| name != KNOWN);
    let table = CreateTable { key, ..CreateTable::default() };
    if name == "two" {
        let defined =
            vec![defined("a", ValueType::Integer), defined("b", ValueType::String), defined("e", ValueType::Double)];
        return CreateTable { defined, indexes: usual_indexes().into(), ..table };
    }
    CreateTable { options: OptionsChange { max_versions, ..OptionsChange::default() }, ..table }
}

fn defined(name: &str, column_type: ValueType) -> DefinedColumn {
    DefinedColumn { name: name.into(), column_type }
}

/// The indexes of the requests.
fn usual_indexes() -> [IndexSpec; 2] {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let by_a =
        IndexSpec { name: "by_a".into(), key: names(&["a"]), columns: names(&["b", "e"]), ..IndexSpec::default() };
    let (kind, key) = (IndexKind::Local, names(&["p", "b"]));
    [by_a, IndexSpec { name: "by_p_b".into(), kind, key, ..IndexSpec::default() }]
}

fn column(input: &mut Input<'_>) -> String {
    if input.one_in(8) { input.text() } else { input.of(&["a", "b", "c", "e", "p", "q", "f"]).into() }
}

fn any_defined(input: &mut Input<'_>) -> Vec<DefinedColumn> {
    let types = [ValueType::Integer, ValueType::String, ValueType::Double, ValueType::Boolean, ValueType::Binary];
    let count = if input.one_in(20) { 33 } else { input.pick(3) };
    (0..count).map(|_| DefinedColumn { name: column(input), column_type: input.of(&types) }).collect()
}

fn any_index(input: &mut Input<'_>) -> IndexSpec {
    if input.one_in(2) {
        return usual_indexes()[input.pick(2)].clone();
    }
    IndexSpec {
        name: if input.one_in(4) { input.text() } else { input.of(&["by_a", "by_p_b", "one", "by_c"]).into() },
        kind: input.of(&[IndexKind::Global, IndexKind::Local]),
        key: (0..input.pick(5)).map(|_| column(input)).collect(),
        columns: (0..input.pick(3)).map(|_| column(input)).collect(),
        time_to_live: input.some(|input| if input.one_in(2) { 86_400 } else { input.integer() }),
    }
}

fn any_options(input: &mut Input<'_>) -> OptionsChange {
    fn one_of(right: i64) -> impl FnOnce(&mut Input<'_>) -> i64 {
        move |input| if input.one_in(4) { input.integer() } else { right }
    }
    OptionsChange {
        time_to_live: input.some(one_of(86_400)),
        max_versions: input.some(one_of(1)),
        max_version_offset: input.some(one_of(100_000)),
        allow_update: input.some(|input| input.one_in(2)),
    }
}

fn any_table(input: &mut Input<'_>) -> CreateTable {
    let types = [KeyType::Integer, KeyType::String, KeyType::Binary];
    let key = (0..input.pick(6))
        .map(|_| KeyColumn { auto_increment: input.one_in(8), ..KeyColumn::new(input.text(), input.of(&types)) });
    let key = key.collect();
    CreateTable {
        key,
        defined: any_defined(input),
        indexes: (0..input.pick(3)).map(|_| any_index(input)).collect(),
        options: any_options(input),
        reserved_read: input.some(Input::integer),
        reserved_write: input.some(Input::integer),
        ..CreateTable::default()
    }
}

/// The row in an answer to GetRow.
pub(crate) fn row(payload: &[u8]) -> Option<PageRow> {
    Reader::new(payload).found().expect("the answer is whole").1
}

/// Whether a read value is the written one.
pub(crate) fn same(read: &Value, put: &Item) -> bool {
    match (read, put) {
        (Value::Integer(read), Item::Integer(put)) => read == put,
        (Value::Double(read), Item::Double(put)) => read.to_bits() == put.to_bits(),
        (Value::Boolean(read), Item::Boolean(put)) => read == put,
        (Value::String(read), Item::Text(put)) => **read == **put,
        (Value::Binary(read), Item::Binary(put)) => **read == **put,
        _ => false,
    }
}
