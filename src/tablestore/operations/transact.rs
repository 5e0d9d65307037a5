//! Starts, commits and aborts local transactions, and writes in them (R7).

use super::decision::RowDecision;
use crate::engine::{Decide, Engine, Origin, Overlay, RowView, TreeId, Writes};
use crate::error::{Code, Error, Result};
use crate::model::{Consumed, KeyInput, TableName, limits};
use crate::tablestore::rows::prepared::Written;
use crate::tablestore::state::State;
use crate::tablestore::state::answers::Answers;
use crate::tablestore::state::transaction::{
    ID_BYTES, Transaction, TransactionUse, check_bytes, gone, hex, lock_of, partition_name,
};
use crate::tablestore::table::stream::Stream;
use crate::tablestore::units::failure::{Charge, Outcome};
use crate::tablestore::units::meter::Consumes;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The result of StartLocalTransaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    /// The transaction's id, for requests that take part in it.
    pub id: String,
    /// The cost (C1).
    pub consumed: Consumed,
}

impl Consumes for Started {
    fn consumed(&self) -> Consumed {
        self.consumed
    }
}

/// See [`Instance::start_local_transaction_of`](crate::tablestore::Instance::start_local_transaction_of).
pub(crate) fn start(state: &State, client: Option<u64>, table: TableName<'_>, key: &KeyInput<'_>) -> Outcome<Started> {
    let started = match start_transaction(state, client, table, key) {
        Ok(id) => Ok(Started { id, consumed: Consumed::writing(1) }),
        Err(error) => Err(Charge::Write.failure(error)),
    };
    state.metered(table, started)
}

fn start_transaction(state: &State, client: Option<u64>, table: TableName<'_>, key: &KeyInput<'_>) -> Result<String> {
    let named = |error: Error| error.in_table(table.as_str());
    key.check_count().and_then(|()| key.check_row()).map_err(named)?;
    if key.columns().len() > 1 {
        return Err(Error::parameter("StartLocalTransaction support only one primary key."));
    }
    let table = state.catalog.table(table)?;
    if table.index_of().is_some() || !table.local_transactions() {
        let text = "Try to call method using explicit transaction on explicit-transaction-disabled table.";
        return Err(Error::parameter(text));
    }
    let values = key.fit_partition(table.schema()).map_err(|error| error.in_table(table.name()))?;
    let (mut partition, now) = (Vec::new(), state.clock());
    values.encode(&mut partition);
    let lock = lock_of(table.tree(), &partition);
    let mut open = state.transactions.open.borrow_mut();
    let steady = state.engine.clock().steady_ms();
    open.retain(|_, transaction| !transaction.is_over(steady));
    let most = limits::OPEN_TRANSACTIONS;
    if open.len() >= most && !open.contains_key(&lock) {
        let error = Error::new(Code::QuotaExhausted, format!("Number of open transactions exceeds the quota:{most}."));
        return Err(error.with_hint("Commit or abort open ones; each expires after a minute."));
    }
    if open.contains_key(&lock) {
        let text = format!("Failed to lock txn key: {}", partition_name(&partition));
        return Err(Error::new(Code::RowOperationConflict, text));
    }
    let id = hex(&state.engine.random::<ID_BYTES>());
    let transaction = Transaction {
        id: id.clone(),
        client,
        table,
        partition,
        started: steady,
        busy: Cell::new(false),
        committing: Cell::new(false),
        bytes: Cell::new(0),
        shown: Cell::new(0),
        overlay: Overlay::new(now),
        records: RefCell::default(),
        recorded: Cell::default(),
    };
    state.admit(&transaction.table, &transaction.partition, Consumed::writing(1), now)?;
    // A load must not become visible in the middle of it.
    state.engine.end_loads(transaction.table.tree());
    open.insert(lock, Rc::new(transaction));
    Ok(id)
}

/// See [`Instance::commit_transaction`](crate::tablestore::Instance::commit_transaction).
pub(crate) async fn commit(state: &State, id: &str, origin: Option<Origin>) -> Outcome<Consumed> {
    let failed = |error| Charge::Write.failure(error);
    if let Some(known) = state.answers.recall(origin, 0) {
        return known.map(|written| written.consumed).map_err(failed);
    }
    let now = state.clock();
    let mut using = match state.transactions.enter(id, state.engine.clock().steady_ms()) {
        Ok(using) => using,
        Err(error) => return state.metered_on(None, Err(failed(error))),
    };
    let (table, partition) = (&using.transaction.table, &using.transaction.partition);
    if let Err(error) = state.admit(table, partition, Consumed::writing(1), now) {
        return state.metered_on(Some(table), Err(failed(error)));
    }
    using.ends = true;
    let done = async {
        using.transaction.committing.set(true);
        let rows = using.overlay().keys();
        let own: Vec<(TreeId, &[u8])> = rows.iter().map(|(tree, key)| (*tree, &key[..])).collect();
        let answer = (&state.answers, origin, state.engine.last_stamp());
        let engine = &state.engine;
        let mut commit = Commit { engine, transaction: &using.transaction, rows: &own, answer };
        state.engine.write_unseen(&own, origin, &mut commit).await
    };
    let done = done.await.map(|()| Consumed::writing(1)).map_err(failed);
    state.metered_on(Some(&using.transaction.table), done)
}

/// See [`Instance::abort_transaction`](crate::tablestore::Instance::abort_transaction).
pub(crate) fn abort(state: &State, id: &str) -> Outcome<Consumed> {
    state.clock();
    match state.transactions.enter(id, state.engine.clock().steady_ms()) {
        Ok(mut using) => {
            using.ends = true;
            state.metered_on(Some(&using.transaction.table), Ok(Consumed::writing(1)))
        }
        Err(error) => state.metered_on(None, Err(Charge::Write.failure(error))),
    }
}

/// Runs a checked write inside a transaction.
pub(crate) async fn write_inside(
    state: &State,
    using: &TransactionUse<'_>,
    deciding: &mut RowDecision<'_, '_, '_>,
) -> Result<()> {
    let ready = deciding.ready;
    let Transaction { bytes: written, recorded, .. } = &*using.transaction;
    let bytes = written.get() + ready.bytes;
    check_bytes(bytes, limits::TRANSACTION_BYTES)?;
    check_bytes(recorded.get(), limits::TRANSACTION_RECORD_BYTES)
        .map_err(|error| error.with_hint("These are old values for the stream: originColumns."))?;
    let row = (ready.table.tree(), &ready.key[..]);
    state.engine.modify_over(using.overlay(), row, !deciding.is_decided(), deciding).await?;
    if ready.table.is_streamed() {
        let record = Stream::record(ready, &deciding.decided);
        recorded.set(recorded.get() + record.len());
        using.transaction.records.borrow_mut().push((ready.key.clone(), record));
    }
    written.set(bytes);
    let shown = &using.transaction.shown;
    shown.set(shown.get().max(deciding.decided.shown));
    using.check_alive(state.engine.clock().steady_ms())
}

/// The writes of a transaction at its commit.
struct Commit<'o> {
    engine: &'o Engine,
    transaction: &'o Transaction,
    rows: &'o [(TreeId, &'o [u8])],
    /// Where its answer is stored, its sender, and the answer's stamp.
    answer: (&'o Answers, Option<Origin>, i64),
}

impl Decide for Commit<'_> {
    fn see(&mut self, _: usize, _: Option<&RowView<'_>>) -> Result<()> {
        Ok(())
    }

    /// Refuses the commit if fewer versions are shown than when it deleted one. Versions that were shown then may be
    /// hidden by now. They would reappear, unless a compaction has removed them.
    fn agree(&mut self) -> Result<()> {
        let Transaction { table, shown, .. } = self.transaction;
        if table.options().retention().max_versions >= shown.get() {
            return Ok(());
        }
        Err(gone().with_hint("It has deleted a version, and max versions was lowered since: start another one."))
    }

    fn write(&mut self, writes: &mut Writes<'_>) {
        let overlay = &self.transaction.overlay;
        self.rows.iter().for_each(|(tree, key)| writes.row_of(overlay, *tree, key));
        if let Some(stream) = self.transaction.table.stream() {
            for (key, record) in self.transaction.records.borrow().iter() {
                stream.append(self.engine, &self.transaction.table, (key, record), writes);
            }
        }
        let (answers, origin, stamp) = self.answer;
        answers.put(origin, 0, &Written { consumed: Consumed::writing(1), row: None }, stamp, writes);
    }
}
