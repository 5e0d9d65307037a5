//! Local transactions (R7): the rows of one partition key value, read and written as if nobody else were there.
//!
//! A transaction locks its partition key value: what others write there is refused while it lives. What it writes itself
//! lies in an [`Overlay`] that only its own reads look through; commit stores all of it in one log record, and everything
//! else that can end it drops it. No timer runs: a transaction whose minute is over is found by nobody any more, and its
//! lock goes when somebody meets it.
//!
//! Versions are stamped when a row is written, not when the transaction commits. They increase row by row as those of
//! plain writes do, for they are drawn from the same [`Stamper`](super::time::Stamper); those of an aborted transaction
//! are left out, and nobody misses them.

use super::Instance;
use super::failure::{Charge, Outcome};
use super::table::Table;
use super::write::Deciding;
use crate::engine::{Decide, KeyRange, Origin, Overlay, RowView, TreeId, Writes};
use crate::error::{Code, Error, Result};
use crate::model::small_map::SmallMap;
use crate::model::{Consumed, KeyInput, KeyReader, TableName, ValueRef, limits, partition_prefix};
use crate::storage::Storage;
use std::cell::{Cell, RefCell};
use std::ops::Bound;
use std::rc::Rc;

/// Random bytes of a transaction's id, which is written in twice as many hexadecimal digits.
const ID_BYTES: usize = 16;

/// The transactions that are open.
#[derive(Debug, Default)]
pub(super) struct Transactions {
    /// By what they lock: the table's tree and the encoded partition key value.
    open: RefCell<SmallMap<Vec<u8>, Rc<Transaction>>>,
}

#[derive(Debug)]
struct Transaction {
    id: String,
    table: Rc<Table>,
    /// The partition key value, encoded.
    partition: Vec<u8>,
    /// When it started, ms of the steady clock.
    started: i64,
    /// A request is using it.
    busy: Cell<bool>,
    /// It is being committed: its lock stays however long that takes.
    committing: Cell<bool>,
    /// What was written, as requests count it.
    bytes: Cell<usize>,
    /// How many versions of a column were shown at most when it deleted one.
    shown: Cell<u32>,
    overlay: Overlay,
}

/// One request's use of a transaction.
#[derive(Debug)]
pub(super) struct Using<'t> {
    all: &'t Transactions,
    transaction: Rc<Transaction>,
    /// Whether the transaction ends with this use.
    ends: bool,
}

/// What StartLocalTransaction gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    /// The transaction's id, which requests name to be part of it.
    pub id: String,
    /// What it cost (C1).
    pub consumed: Consumed,
}

impl Transaction {
    fn is_over(&self, now: i64) -> bool {
        // An injected clock that travelled back behind the start must not leave the lock there.
        let life = self.started..self.started.saturating_add(limits::TRANSACTION_MS);
        !self.committing.get() && !life.contains(&now)
    }
}

impl Transactions {
    /// Refuses what a writer outside of all transactions wants to write, if it is locked. `steady` tells the steady clock.
    pub(super) fn refuse(&self, tree: TreeId, key: &[u8], steady: impl FnOnce() -> i64) -> Result<()> {
        if self.open.borrow().is_empty() {
            return Ok(());
        }
        self.refuse_locked(&lock_of(tree, partition_prefix(key).unwrap_or_default()), steady())
    }

    fn refuse_locked(&self, lock: &[u8], now: i64) -> Result<()> {
        let mut open = self.open.borrow_mut();
        match open.get(lock) {
            Some(transaction) if !transaction.is_over(now) => {
                let text = "Data is being modified by the other request.";
                return Err(Error::new(Code::RowOperationConflict, text));
            }
            Some(_) => open.remove(lock),
            None => None,
        };
        Ok(())
    }

    fn enter(&self, id: &str, now: i64) -> Result<Using<'_>> {
        if id.len() != 2 * ID_BYTES || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(Error::parameter("TransactionID is invalid."));
        }
        let found = self.open.borrow().values().find(|other| other.id == id && !other.is_over(now)).map(Rc::clone);
        let transaction = found.ok_or_else(gone)?;
        if transaction.busy.replace(true) {
            let text = "Another request of the transaction is not done yet.";
            return Err(Error::new(Code::SessionBusy, text));
        }
        Ok(Using { all: self, transaction, ends: false })
    }

    /// Ends those of a table that is no more, or that gets other indexes: what they would write to these is not known. One
    /// that is being committed ends by itself.
    pub(super) fn end_of(&self, table: &Table) {
        let stays = |other: &Transaction| other.committing.get() || other.table.tree() != table.tree();
        self.open.borrow_mut().retain(|_, other| stays(other));
    }
}

impl Using<'_> {
    /// What the transaction has written.
    pub(super) fn overlay(&self) -> &Overlay {
        &self.transaction.overlay
    }

    /// Refuses a row that is not the transaction's.
    pub(super) fn check_row(&self, table: &Table, key: &[u8]) -> Result<()> {
        let Transaction { table: own, partition, .. } = &*self.transaction;
        if table.tree() == own.tree() && key.starts_with(partition) {
            return Ok(());
        }
        Err(out_of_scope(["transaction", "Transaction"], (own, partition), (table, key)))
    }

    /// Refuses a range that reaches beyond the transaction's rows.
    pub(super) fn check_range(&self, table: &Table, range: &KeyRange) -> Result<()> {
        [&range.lower, &range.upper].into_iter().try_for_each(|end| match end {
            Bound::Included(key) | Bound::Excluded(key) => self.check_row(table, key),
            Bound::Unbounded => self.check_row(table, &[]),
        })
    }

    /// Whether the transaction lives on, after its user had to wait.
    fn check_alive(&self, now: i64) -> Result<()> {
        let transaction = &self.transaction;
        let open = self.all.open.borrow();
        let known = open.get(&lock_of(transaction.table.tree(), &transaction.partition)[..]);
        let alive = known.is_some_and(|known| Rc::ptr_eq(known, transaction)) && !transaction.is_over(now);
        if alive { Ok(()) } else { Err(gone()) }
    }
}

impl Drop for Using<'_> {
    fn drop(&mut self) {
        let Transaction { table, partition, busy, .. } = &*self.transaction;
        busy.set(false);
        let lock = lock_of(table.tree(), partition);
        let mut open = self.all.open.borrow_mut();
        if self.ends && open.get(&lock).is_some_and(|known| Rc::ptr_eq(known, &self.transaction)) {
            open.remove(&lock);
        }
    }
}

impl<S: Storage> Instance<S> {
    /// Starts a transaction on the rows with one partition key value, which `key` consists of, and locks them.
    ///
    /// # Errors
    /// A wrong key; `OTSObjectNotExist`; `OTSParameterInvalid` for a table without transactions;
    /// `OTSRowOperationConflict` when another transaction has the rows.
    pub fn start_local_transaction(&self, table: TableName<'_>, key: &KeyInput<'_>) -> Outcome<Started> {
        let started = match self.start_transaction(table, key) {
            Ok(id) => Ok(Started { id, consumed: Consumed::writing(1) }),
            Err(error) => Err(Charge::Write.failure(error)),
        };
        self.metered(table, started)
    }

    fn start_transaction(&self, table: TableName<'_>, key: &KeyInput<'_>) -> Result<String> {
        let named = |error: Error| error.in_table(table.as_str());
        key.check_count().and_then(|()| key.check_row()).map_err(named)?;
        if key.columns().len() > 1 {
            return Err(Error::parameter("StartLocalTransaction support only one primary key."));
        }
        let table = self.table(table)?;
        let counted = table.schema().auto_increment().is_some();
        if counted || table.index_of().is_some() || !table.local_transactions() {
            let text = "Try to call method using explicit transaction on explicit-transaction-disabled table.";
            return Err(Error::parameter(text));
        }
        let values = key.fit_partition(table.schema()).map_err(|error| error.in_table(table.name()))?;
        let (mut partition, now) = (Vec::new(), self.clock());
        values.encode(&mut partition);
        let lock = lock_of(table.tree(), &partition);
        let mut open = self.transactions.open.borrow_mut();
        let steady = self.engine.steady_ms();
        open.retain(|_, transaction| !transaction.is_over(steady));
        let most = limits::OPEN_TRANSACTIONS;
        if open.len() >= most && !open.contains_key(&lock) {
            let error =
                Error::new(Code::QuotaExhausted, format!("Number of open transactions exceeds the quota:{most}."));
            return Err(error.with_hint("Commit or abort others; those that nobody ends are over after a minute."));
        }
        if open.contains_key(&lock) {
            let text = format!("Failed to lock txn key: {}", partition_name(&partition));
            return Err(Error::new(Code::RowOperationConflict, text));
        }
        let id = hex(&self.engine.random::<ID_BYTES>());
        let transaction = Transaction {
            id: id.clone(),
            table,
            partition,
            started: steady,
            busy: Cell::new(false),
            committing: Cell::new(false),
            bytes: Cell::new(0),
            shown: Cell::new(0),
            overlay: Overlay::new(now),
        };
        self.admit(&transaction.table, &transaction.partition, Consumed::writing(1), now)?;
        // What is being loaded must not come up in the middle of it.
        self.engine.end_loads(transaction.table.tree());
        open.insert(lock, Rc::new(transaction));
        Ok(id)
    }

    /// Ends a transaction and stores all that it has written, at once: all of it, or nothing. Whatever comes of that, the
    /// transaction is over, unless its partition key value is over its limit (C5): then it can be committed later.
    ///
    /// # Errors
    /// `OTSParameterInvalid` for what is no id; `OTSSessionNotExist`; `OTSSessionBusy`; `OTSCapacityUnitExhausted`; what a
    /// write gives.
    pub async fn commit_transaction(&self, id: &str, origin: Option<Origin>) -> Outcome<Consumed> {
        let failed = |error| Charge::Write.failure(error);
        let now = self.clock();
        let mut using = match self.enter_alone(id) {
            Ok(using) => using,
            Err(error) => return self.metered_on(None, Err(failed(error))),
        };
        let (table, partition) = (&using.transaction.table, &using.transaction.partition);
        if let Err(error) = self.admit(table, partition, Consumed::writing(1), now) {
            return self.metered_on(Some(table), Err(failed(error)));
        }
        using.ends = true;
        let done = async {
            using.transaction.committing.set(true);
            let rows = using.overlay().keys();
            let own: Vec<(TreeId, &[u8])> = rows.iter().map(|(tree, key)| (*tree, &key[..])).collect();
            self.engine.write_unseen(&own, origin, &mut Commit { transaction: &using.transaction, rows: &own }).await
        };
        let done = done.await.map(|()| Consumed::writing(1)).map_err(failed);
        self.metered_on(Some(&using.transaction.table), done)
    }

    /// Ends a transaction; nothing of what it has written was ever there.
    ///
    /// # Errors
    /// `OTSParameterInvalid` for what is no id; `OTSSessionNotExist`; `OTSSessionBusy`.
    pub fn abort_transaction(&self, id: &str) -> Outcome<Consumed> {
        match self.enter_alone(id) {
            Ok(mut using) => {
                using.ends = true;
                self.metered_on(Some(&using.transaction.table), Ok(Consumed::writing(1)))
            }
            Err(error) => self.metered_on(None, Err(Charge::Write.failure(error))),
        }
    }

    /// Takes part in a transaction, if the request names one.
    pub(super) fn enter(&self, transaction: Option<&str>) -> Result<Option<Using<'_>>> {
        transaction.map(|id| self.transactions.enter(id, self.engine.steady_ms())).transpose()
    }

    /// Takes part in a transaction by an operation of its own, which is metered.
    fn enter_alone(&self, id: &str) -> Result<Using<'_>> {
        self.clock();
        self.transactions.enter(id, self.engine.steady_ms())
    }

    /// Does a checked write inside a transaction.
    pub(super) async fn write_inside(&self, using: &Using<'_>, deciding: &mut Deciding<'_, '_, '_, S>) -> Result<()> {
        let ready = deciding.ready;
        let written = &using.transaction.bytes;
        let bytes = written.get() + ready.bytes;
        if bytes > limits::TRANSACTION_BYTES {
            let limit = limits::TRANSACTION_BYTES;
            let text = format!(
                "The total data size of the transaction exceeds the limit, limit size: {limit}, data size: {bytes}."
            );
            return Err(Error::new(Code::OutOfTransactionDataSizeLimit, text));
        }
        let row = (ready.table.tree(), &ready.key[..]);
        self.engine.modify_over(using.overlay(), row, !deciding.is_decided(), deciding).await?;
        written.set(bytes);
        let shown = &using.transaction.shown;
        shown.set(shown.get().max(deciding.decided.shown));
        using.check_alive(self.engine.steady_ms())
    }
}

/// What is written at once when a transaction commits.
struct Commit<'o> {
    transaction: &'o Transaction,
    rows: &'o [(TreeId, &'o [u8])],
}

impl Decide for Commit<'_> {
    fn see(&mut self, _: usize, _: Option<&RowView<'_>>) -> Result<()> {
        Ok(())
    }

    /// Refuses if fewer versions are shown than when it deleted one. What was shown then may be hidden by now, and would come
    /// up, unless a compaction has removed it.
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
    }
}

fn lock_of(tree: TreeId, partition: &[u8]) -> Vec<u8> {
    [&tree.0.to_be_bytes(), partition].concat()
}

fn gone() -> Error {
    Error::new(Code::SessionNotExist, "Session not exist or may be timeout.")
}

/// What is said of a row that is not among those which belong together. Both are told by table and encoded key.
pub(super) fn out_of_scope([what, begin]: [&str; 2], own: (&Table, &[u8]), data: (&Table, &[u8])) -> Error {
    let text = if own.0.tree() == data.0.tree() {
        let (own, data) = (partition_name(own.1), partition_name(data.1));
        format!("Data out of scope of {what}. {begin} PartKey:{own}. Data PartKey:{data}")
    } else {
        let (own, data) = (own.0.name(), data.0.name());
        format!("Data out of scope of {what}. {begin} Table:{own}. Data Table:{data}")
    };
    Error::new(Code::DataOutOfRange, text)
}

/// The partition key value of an encoded key, as messages show it.
fn partition_name(key: &[u8]) -> String {
    let mut keys = KeyReader::default();
    match partition_prefix(key).and_then(|prefix| keys.read(prefix)).as_deref() {
        Some([ValueRef::Integer(value)]) => value.to_string(),
        Some([ValueRef::String(value)]) => (*value).to_owned(),
        Some([ValueRef::Binary(bytes)]) => hex(bytes),
        // An open end of a range.
        _ => "INF".to_owned(),
    }
}

fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
