//! Local transactions (R7): isolated reads and writes of the rows of one partition key value.
//!
//! A transaction locks its partition key value: others' writes there are refused while it lives. Its own writes lie in an
//! [`Overlay`] that only its own reads see. Commit stores all of them in one log record; every other end drops them. No
//! timer runs. An expired transaction is unusable; the next request that meets its lock removes it.
//!
//! Versions are stamped when a row is written, not at the commit. They increase row by row like those of plain writes,
//! because they come from the same [`Stamps`](super::stamps::Stamps). An aborted transaction leaves a harmless gap.

use crate::collections::small_map::SmallMap;
use crate::engine::{KeyRange, Overlay, TreeId};
use crate::error::{Code, Error, Result};
use crate::model::{KeyReader, ValueRef, limits, partition_prefix};
use crate::tablestore::table::Table;
use std::cell::{Cell, RefCell};
use std::ops::Bound;
use std::rc::Rc;

/// Random bytes of a transaction's id, which has twice as many hexadecimal digits.
pub(crate) const ID_BYTES: usize = 16;

/// A record that waits for the commit of its transaction: the key of its row, and the record.
pub(crate) type TransactionRecord = (Vec<u8>, Vec<u8>);

/// The open transactions.
#[derive(Debug, Default)]
pub(crate) struct Transactions {
    /// By their lock: the table's tree and the encoded partition key value.
    pub(crate) open: RefCell<SmallMap<Vec<u8>, Rc<Transaction>>>,
}

#[derive(Debug)]
pub(crate) struct Transaction {
    pub(crate) id: String,
    /// The client that started it, if it was one.
    pub(crate) client: Option<u64>,
    pub(crate) table: Rc<Table>,
    /// The partition key value, encoded.
    pub(crate) partition: Vec<u8>,
    /// When it started, ms of the steady clock.
    pub(crate) started: i64,
    /// A request is using it.
    pub(crate) busy: Cell<bool>,
    /// It is being committed: its lock stays however long that takes.
    pub(crate) committing: Cell<bool>,
    /// The bytes of its writes, as requests count them.
    pub(crate) bytes: Cell<usize>,
    /// The most versions of a column that were shown when it deleted one.
    pub(crate) shown: Cell<u32>,
    pub(crate) overlay: Overlay,
    /// The records of its writes, for the table's stream.
    pub(crate) records: RefCell<Vec<TransactionRecord>>,
    /// The bytes of these records.
    pub(crate) recorded: Cell<usize>,
}

/// One request's use of a transaction.
#[derive(Debug)]
pub(crate) struct TransactionUse<'t> {
    all: &'t Transactions,
    pub(crate) transaction: Rc<Transaction>,
    /// Whether the transaction ends with this use.
    pub(crate) ends: bool,
}

impl Transaction {
    pub(crate) fn is_over(&self, now: i64) -> bool {
        // A clock that went back behind the start must not keep the lock.
        let life = self.started..self.started.saturating_add(limits::TRANSACTION_MS);
        !self.committing.get() && !life.contains(&now)
    }
}

impl Transactions {
    /// Refuses a write from outside all transactions if its row is locked. `steady` reads the steady clock.
    pub(crate) fn refuse(&self, tree: TreeId, key: &[u8], steady: impl FnOnce() -> i64) -> Result<()> {
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
                let age = now - transaction.started;
                let hint =
                    format!("a transaction began {age} ms ago with its partition key: write by its methods, or end it");
                return Err(Error::new(Code::RowOperationConflict, text).with_hint(hint));
            }
            Some(_) => open.remove(lock),
            None => None,
        };
        Ok(())
    }

    pub(crate) fn enter(&self, id: &str, now: i64) -> Result<TransactionUse<'_>> {
        if id.len() != 2 * ID_BYTES || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(Error::parameter("TransactionID is invalid."));
        }
        let found = self.open.borrow().values().find(|other| other.id == id && !other.is_over(now)).map(Rc::clone);
        let transaction = found.ok_or_else(gone)?;
        if transaction.busy.replace(true) {
            let text = "Another request of the transaction is not done yet.";
            return Err(Error::new(Code::SessionBusy, text));
        }
        Ok(TransactionUse { all: self, transaction, ends: false })
    }

    /// Ends those of a table that is gone, or that gets other indexes, because their index rows would be wrong.
    pub(crate) fn end_of_table(&self, table: &Table) {
        self.end(&|transaction| transaction.table.tree() == table.tree());
    }

    /// Ends those of a client that has gone.
    pub(crate) fn end_of_client(&self, client: u64) {
        self.end(&|transaction| transaction.client == Some(client));
    }

    /// Ends those that are `over`. A transaction that is being committed ends by itself.
    fn end(&self, over: &dyn Fn(&Transaction) -> bool) {
        self.open.borrow_mut().retain(|_, other| other.committing.get() || !over(other));
    }
}

impl TransactionUse<'_> {
    /// The transaction's writes.
    pub(crate) fn overlay(&self) -> &Overlay {
        &self.transaction.overlay
    }

    /// Refuses a row outside the transaction.
    pub(crate) fn check_row(&self, table: &Table, key: &[u8]) -> Result<()> {
        let Transaction { table: own, partition, .. } = &*self.transaction;
        if table.tree() == own.tree() && key.starts_with(partition) {
            return Ok(());
        }
        Err(out_of_scope(["transaction", "Transaction"], (own, partition), (table, key)))
    }

    /// Refuses a range that reaches beyond the transaction's rows.
    pub(crate) fn check_range(&self, table: &Table, range: &KeyRange) -> Result<()> {
        [&range.lower, &range.upper].into_iter().try_for_each(|end| match end {
            Bound::Included(key) | Bound::Excluded(key) => self.check_row(table, key),
            Bound::Unbounded => self.check_row(table, &[]),
        })
    }

    /// Checks that the transaction still lives, after its user had to wait.
    pub(crate) fn check_alive(&self, now: i64) -> Result<()> {
        let transaction = &self.transaction;
        let open = self.all.open.borrow();
        let known = open.get(&lock_of(transaction.table.tree(), &transaction.partition)[..]);
        let alive = known.is_some_and(|known| Rc::ptr_eq(known, transaction)) && !transaction.is_over(now);
        if alive { Ok(()) } else { Err(gone()) }
    }
}

impl Drop for TransactionUse<'_> {
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

/// Refuses a transaction with more bytes than a limit.
pub(crate) fn check_bytes(bytes: usize, limit: usize) -> Result<()> {
    if bytes <= limit {
        return Ok(());
    }
    let text =
        format!("The total data size of the transaction exceeds the limit, limit size: {limit}, data size: {bytes}.");
    Err(Error::new(Code::OutOfTransactionDataSizeLimit, text))
}

pub(crate) fn lock_of(tree: TreeId, partition: &[u8]) -> Vec<u8> {
    [&tree.0.to_be_bytes(), partition].concat()
}

pub(crate) fn gone() -> Error {
    Error::new(Code::SessionNotExist, "Session not exist or may be timeout.")
}

/// The error of a row outside a set of rows. Both are given by table and encoded key.
pub(crate) fn out_of_scope([what, begin]: [&str; 2], own: (&Table, &[u8]), data: (&Table, &[u8])) -> Error {
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
pub(crate) fn partition_name(key: &[u8]) -> String {
    let mut keys = KeyReader::default();
    match partition_prefix(key).and_then(|prefix| keys.read(prefix)).as_deref() {
        Some([ValueRef::Integer(value)]) => value.to_string(),
        Some([ValueRef::String(value)]) => (*value).to_owned(),
        Some([ValueRef::Binary(bytes)]) => hex(bytes),
        // An open end of a range.
        _ => "INF".to_owned(),
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
