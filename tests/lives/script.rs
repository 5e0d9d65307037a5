//! A scripted run, small but through everything. It has concurrent writes of whole rows, updates, deletions,
//! increments, batches' worth of rows in one commit, flushes, compactions, a second table, a change of options.
//!
//! Every write of a row gives all its columns one value, so a torn row shows.

use crate::store;
use futures_util::future::join_all;
use std::collections::BTreeMap;
use std::rc::Rc;
use tabstore::Result;
use tabstore::engine::{ClockMode, Engine, Options, Shape};
use tabstore::env::sim::SimEnv;
use tabstore::model::{KeyColumn, KeyType, KeyValue, TableName, Value};
use tabstore::storage::AnyStorage;
use tabstore::tablestore::{ColumnOp, CreateTable, GetRow, Instance, InstanceOptions};

/// A row's value in all its columns; none if the row does not exist.
pub(crate) type RowState = Option<i64>;

/// The known states of each row. There is one, unless a write of it failed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known(BTreeMap<i64, Vec<RowState>>);

impl Known {
    fn of(&self, row: i64) -> Vec<RowState> {
        self.0.get(&row).cloned().unwrap_or_else(|| vec![None])
    }

    /// The same, where `newer` says nothing else.
    pub(crate) fn with(mut self, newer: &Self) -> Self {
        self.0.extend(newer.0.clone());
        self
    }

    fn set(&mut self, row: i64, states: Vec<RowState>) {
        self.0.insert(row, states);
    }
}

fn options() -> Options {
    let shape = Shape {
        block_bytes: 200,
        segment_bytes: 900,
        level1_bytes: 1200,
        partition_bytes: 2500,
        merge_bytes: 1200,
        ..Shape::TINY
    };
    let (memtable_bytes, cache_bytes, reserve_bytes) = (1500, 3000, 500);
    Options { memtable_bytes, cache_bytes, reserve_bytes, clock: ClockMode::Injected, shape, ..Options::default() }
}

pub(crate) async fn open(env: &SimEnv, storage: impl Into<AnyStorage>) -> Result<Rc<Instance>> {
    let engine = Engine::open(storage, Rc::new(env.clone()), options()).await?;
    Instance::open(engine, InstanceOptions::default()).await
}

pub(crate) async fn create(instance: &Instance) -> Result<()> {
    let key = vec![KeyColumn::new("id", KeyType::Integer)];
    instance.create_table(CreateTable { name: "t".into(), key, ..CreateTable::default() }).await
}

/// One step of the script: the next state of some rows.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// These rows are written at once; `None` deletes.
    Write(Vec<(i64, RowState)>),
    Flush,
    Compact,
    /// A partition is split in front of this row.
    Split(i64),
    /// The first partition is merged with the next one.
    Merge,
}

/// The script: always the same.
pub(crate) fn steps() -> Vec<Step> {
    let mut steps = Vec::new();
    let mut value = 0;
    for round in 0..24_i64 {
        let rows = (0..5).map(|i| {
            value += 1;
            let row = (round * 3 + i * 7) % 30;
            (row, if (round + i) % 6 == 5 { None } else { Some(value) })
        });
        steps.push(Step::Write(rows.collect()));
        match round % 8 {
            1 => steps.push(Step::Split(round % 11 + 5)),
            3 => steps.push(Step::Flush),
            5 => steps.push(Step::Merge),
            7 => steps.push(Step::Compact),
            _ => {}
        }
    }
    steps
}

async fn write_row(instance: &Instance, row: i64, state: RowState) -> bool {
    let written = match state {
        None => instance.write_row(&store::delete("t", store::id(row)), None).await,
        // Half the rows are put whole, half updated column by column with a deletion beside: the same in the end.
        Some(value) if row % 2 == 0 => {
            let cells = ["a", "b", "c"].map(|column| store::cell(column, store::int(value)));
            instance.write_row(&store::put("t", store::id(row), &cells), None).await
        }
        Some(value) => {
            let wipe = store::change("d", ColumnOp::DeleteColumn);
            let puts = ["a", "b", "c"].map(|column| store::add(column, None, value));
            let changes: Vec<_> = std::iter::once(wipe).chain(puts).collect();
            instance.write_row(&store::update("t", store::id(row), &changes), None).await
        }
    };
    written.is_ok()
}

/// Takes one step. A row whose write failed may be as before or as asked. Says whether everything succeeded.
pub(crate) async fn take(instance: &Instance, step: &Step, known: &mut Known) -> bool {
    match step {
        Step::Write(rows) => {
            let done = join_all(rows.iter().map(|&(row, state)| write_row(instance, row, state))).await;
            for (&(row, state), &ok) in rows.iter().zip(&done) {
                let mut states = if ok { Vec::new() } else { known.of(row) };
                states.push(state);
                known.set(row, states);
            }
            done.into_iter().all(|ok| ok)
        }
        Step::Flush => instance.flush().await.is_ok(),
        Step::Compact => instance.compact().await.is_ok(),
        Step::Split(row) => instance.split_partition("t", &KeyValue::Integer(*row)).await.is_ok(),
        Step::Merge => {
            let first = instance.partitions("t").expect("the table").remove(0);
            instance.merge_partition("t", first.id).await.is_ok()
        }
    }
}

/// Says what is wrong with a store that should be as known, if anything is. A row may also be in a state that `later`
/// knows: its write was on its way.
pub(crate) async fn check(instance: &Instance, known: &Known, later: &Known) -> Result<(), String> {
    for row in 0..30 {
        let mut rows = store::Rows::default();
        let table = TableName::parse("t").expect("a name");
        let request = GetRow { table, key: store::id(row), options: store::versions(10) };
        let read = instance.get_row(&request, &mut rows).await;
        read.map_err(|error| format!("row {row} cannot be read: {error}"))?;
        let state = match rows.0.pop() {
            None => None,
            Some((_, cells)) => match cells.as_slice() {
                [(a, _, Value::Integer(x)), (b, _, y), (c, _, z)]
                    if [a, b, c] == ["a", "b", "c"] && Value::Integer(*x) == *y && y == z =>
                {
                    Some(*x)
                }
                torn => return Err(format!("row {row} is torn: {torn:?}")),
            },
        };
        let allowed = [known.of(row), later.of(row)].concat();
        if !allowed.contains(&state) {
            return Err(format!("row {row} is {state:?}, not one of {allowed:?}"));
        }
    }
    Ok(())
}
