//! The world of a crowd: its tables and keys, and a storage that takes its time and fails now and then.

use super::state::Rules;
use crate::store::NOW;
use crate::texts;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::LazyLock;
use tabstore::engine::{ClockMode, Engine, Options, Shape};
use tabstore::env::Env;
use tabstore::env::sim::SimEnv;
use tabstore::model::{DefinedColumn, IndexKind, KeyColumn, KeyType, Value, ValueRef, ValueType};
use tabstore::storage::MemoryStorage;
use tabstore::storage::faults::{Call, Hook, Hooked};
use tabstore::tablestore::{CreateTable, IndexSpec, Instance, InstanceOptions, OptionsChange};
use tabstore::{Code, Error, Result};

pub(crate) const PARTITIONS: usize = 5;
pub(crate) const ROWS: usize = 4;

/// A counter, a number that no other write has, a text, bytes, and two columns that indexes are about.
pub(crate) const COLUMNS: [&str; 6] = ["n", "x", "s", "z", "a", "b"];
pub(crate) const COUNTER: usize = 0;
pub(crate) const INDEXED: std::ops::Range<usize> = 4..6;

/// Another index over what the tables hold, which comes and goes.
pub(crate) const PASSING: &str = "by_b_a";

/// Lets others go first, at random; fails a part of the calls, of which some have taken effect.
pub(crate) struct Weather {
    env: SimEnv,
    /// One call of so many fails; none if it is 0.
    pub(crate) one_in: Cell<u64>,
    /// All that fails finds the disk full, so it is known that nothing was stored.
    pub(crate) full: Cell<bool>,
}

impl Weather {
    async fn wait(&self) {
        for _ in 0..(self.env.random() >> 20) % 4 {
            self.env.yield_now().await;
        }
    }

    fn fails(&self) -> bool {
        let one_in = self.one_in.get();
        one_in > 0 && (self.env.random() >> 20).is_multiple_of(one_in)
    }
}

impl Hook for Weather {
    async fn before(&self, call: &Call) -> Result<()> {
        self.wait().await;
        if matches!(call, Call::Close) || !self.fails() {
            return Ok(());
        }
        let grows = matches!(call, Call::Commit(_) | Call::Stage(..));
        if grows && (self.full.get() || self.env.random().is_multiple_of(2)) {
            return Err(Error::new(Code::QuotaExceeded, "the disk was made full"));
        }
        match self.full.get() {
            true => Ok(()),
            false => Err(Error::new(Code::Unavailable, "the call was made to fail")),
        }
    }

    async fn after(&self, call: &Call) -> Result<()> {
        self.wait().await;
        if matches!(call, Call::Close) || self.full.get() || !self.fails() {
            return Ok(());
        }
        Err(Error::new(Code::Unavailable, "the answer was made to get lost"))
    }
}

/// A table, and the keys that its rows may have, ascending.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) rules: Rules,
    pub(crate) max_version_offset: i64,
    pub(crate) indexed: bool,
    types: [KeyType; 2],
    pub(crate) partitions: Vec<ValueRef<'static>>,
    pub(crate) rows: Vec<ValueRef<'static>>,
}

/// Bytes for keys and values: few, and with every kind of edge. Ascending.
static BYTES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let mut all = vec![vec![], vec![0xff; 1024], vec![0; 1024], [vec![7; 1023], vec![0xff]].concat()];
    for first in [0, 1, 0x7f, 0x80, 0xfe, 0xff] {
        all.extend([vec![first], vec![first, 0], vec![first, 0xff], vec![first; 9]]);
    }
    all.sort();
    all
});

const INTEGERS: [i64; 14] =
    [i64::MIN, i64::MIN + 1, -(1 << 53), -256, -1, 0, 1, 127, 128, 65_536, 1 << 40, 1 << 53, i64::MAX - 1, i64::MAX];

fn keys(key_type: KeyType, count: usize, env: &SimEnv) -> Vec<ValueRef<'static>> {
    let all: Vec<ValueRef<'static>> = match key_type {
        KeyType::Integer => INTEGERS.iter().map(|value| ValueRef::Integer(*value)).collect(),
        KeyType::String => (0..texts::KEYS).map(|number| ValueRef::String(texts::key(number))).collect(),
        KeyType::Binary => BYTES.iter().map(|bytes| ValueRef::Binary(bytes)).collect(),
    };
    // Ends are often chosen: the empty value, the longest, the greatest.
    let mut chosen = vec![0, all.len() - 1];
    chosen.truncate((env.random() >> 20) as usize % 3);
    while chosen.len() < count {
        let at = (env.random() >> 20) as usize % all.len();
        if !chosen.contains(&at) {
            chosen.push(at);
        }
    }
    chosen.sort_unstable();
    chosen.into_iter().map(|at| all[at]).collect()
}

/// The tables of a life: one whose cells expire, one with several versions, one with indexes.
pub(crate) fn tables(env: &SimEnv) -> Vec<Table> {
    let kinds = [("mortal", 86_400, 1, false), ("many", -1, 3, false), ("indexed", -1, 1, true)];
    let table = |(name, time_to_live, max_versions, indexed)| {
        let types =
            [(); 2].map(|()| [KeyType::Integer, KeyType::String, KeyType::Binary][(env.random() >> 20) as usize % 3]);
        Table {
            name,
            rules: Rules { time_to_live, max_versions },
            max_version_offset: 100_000,
            indexed,
            types,
            partitions: keys(types[0], PARTITIONS, env),
            rows: keys(types[1], ROWS, env),
        }
    };
    kinds.map(table).into()
}

/// A stand-in for a value of a column: equal values have the same one.
pub(crate) fn number(column: usize, number: i64) -> i64 {
    match COLUMNS[column] {
        "s" => number.rem_euclid(10_000),
        "z" => number.rem_euclid(BYTES.len() as i64),
        "a" => number.rem_euclid(4),
        "b" => number.rem_euclid(3) - 1,
        _ => number,
    }
}

/// The value that a number stands for.
pub(crate) fn value(column: usize, number: i64) -> ValueRef<'static> {
    match COLUMNS[column] {
        "s" => ValueRef::String(texts::word(number)),
        "z" => ValueRef::Binary(&BYTES[number as usize]),
        "a" => ValueRef::String(texts::key(number)),
        _ => ValueRef::Integer(number),
    }
}

/// The number that stands for a value, if it was ever written.
pub(crate) fn number_of(column: usize, value: &Value) -> Option<i64> {
    match (COLUMNS[column], value) {
        ("s", Value::String(text)) => texts::word_number(text),
        ("z", Value::Binary(bytes)) => BYTES.binary_search_by(|own| own[..].cmp(bytes)).ok().map(|at| at as i64),
        ("a", Value::String(text)) => texts::key_number(text),
        ("n" | "x" | "b", Value::Integer(number)) => Some(*number),
        _ => None,
    }
}

/// The indexes that there may be, with the columns of their keys.
pub(crate) fn index_key(name: &str) -> &'static [&'static str] {
    match name {
        "by_a" => &["a", "p", "id"],
        "by_p_b" => &["p", "b", "id"],
        _ => &["b", "a", "p", "id"],
    }
}

pub(crate) fn spec(name: &str) -> IndexSpec {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let (kind, key, columns) = match name {
        "by_a" => (IndexKind::Global, names(&["a"]), names(&["b"])),
        "by_p_b" => (IndexKind::Local, names(&["p", "b"]), names(&["a"])),
        _ => (IndexKind::Global, names(&["b", "a"]), names(&[])),
    };
    IndexSpec { name: name.into(), kind, key, columns, time_to_live: None }
}

impl Table {
    fn request(&self) -> CreateTable {
        let key = [("p", self.types[0]), ("id", self.types[1])];
        let defined = [("a", ValueType::String), ("b", ValueType::Integer)];
        let defined = defined.map(|(name, column_type)| DefinedColumn { name: name.into(), column_type });
        let options = OptionsChange {
            time_to_live: Some(self.rules.time_to_live),
            max_versions: Some(self.rules.max_versions as i64),
            max_version_offset: Some(self.max_version_offset),
            ..OptionsChange::default()
        };
        CreateTable {
            name: self.name.into(),
            key: key.map(|(name, key_type)| KeyColumn::new(name, key_type)).into(),
            options,
            defined: if self.indexed { defined.into() } else { Vec::new() },
            indexes: if self.indexed { vec![spec("by_a"), spec("by_p_b")] } else { Vec::new() },
            ..CreateTable::default()
        }
    }
}

/// A store that loses what is in memory when it is opened again.
pub(crate) struct World {
    pub(crate) env: SimEnv,
    pub(crate) memory: MemoryStorage,
    pub(crate) weather: Rc<Weather>,
    pub(crate) instance: Rc<Instance>,
}

async fn open(env: &SimEnv, memory: &MemoryStorage, weather: &Rc<Weather>) -> Result<Rc<Instance>> {
    let shape = Shape { partition_operations: 0, ..Shape::TINY };
    let clock = ClockMode::Injected;
    let (memtable_bytes, cache_bytes, reserve_bytes) = (5000, 4000, 700);
    let options = Options { memtable_bytes, cache_bytes, reserve_bytes, clock, shape, ..Options::default() };
    let engine = Engine::open(Hooked::new(memory.clone(), Rc::clone(weather)), Rc::new(env.clone()), options).await?;
    Instance::open(engine, InstanceOptions::default()).await
}

impl World {
    pub(crate) fn new(seed: u64) -> (Self, Vec<Table>) {
        let (env, memory) = (SimEnv::shuffled(NOW, seed), MemoryStorage::new());
        let weather = Rc::new(Weather { env: env.clone(), one_in: Cell::default(), full: Cell::default() });
        let instance = env.run(open(&env, &memory, &weather)).expect("opens");
        let tables = tables(&env);
        for table in &tables {
            env.run(instance.create_table(table.request())).expect("created");
        }
        (Self { env, memory, weather, instance }, tables)
    }

    /// Everything in memory is lost, wherever it is. The store is opened again while the storage works.
    pub(crate) fn reopen(&mut self) -> Result<()> {
        self.env.crash();
        self.memory = self.memory.image();
        let one_in = self.weather.one_in.replace(0);
        self.instance = self.env.run(open(&self.env, &self.memory, &self.weather))?;
        self.weather.one_in.set(one_in);
        Ok(())
    }
}
