//! What an open instance holds, and how it is stored. Nothing here knows an operation.

pub(super) mod access;
mod admission;
pub(super) mod answers;
pub(super) mod catalog;
mod catalog_records;
pub(super) mod catalog_rows;
mod changes;
mod charging;
pub(super) mod salvage;
pub(super) mod stamps;
pub(super) mod transaction;

use crate::collections::small_map::SmallMap;
use crate::engine::Engine;
use crate::error::Result;
use crate::model::meter::Prices;
use crate::model::{InstanceKind, Limits};
use crate::tablestore::table::Table;
use crate::tablestore::units::meter::Meter;
use crate::tablestore::units::throttle::{Throttle, ThrottleOptions};
use access::AccessKeys;
use answers::Answers;
use catalog::Catalog;
use stamps::Stamps;
use std::rc::{Rc, Weak};
use transaction::{TransactionUse, Transactions};

/// Options of an instance.
#[derive(Clone, Copy, Debug, Default)]
pub struct InstanceOptions {
    /// Its limits and quotas.
    pub limits: Limits,
    /// Its kind (I4).
    pub kind: InstanceKind,
    /// The price of capacity units (C3).
    pub prices: Prices,
    /// The limits of a second (C5).
    pub throttle: ThrottleOptions,
}

/// What an open instance holds. The owners of its parts do not know each other; what takes several of them is here.
pub(crate) struct State {
    /// For background work, which ends with the last holder of the instance.
    pub(crate) me: Weak<Self>,
    pub(crate) engine: Rc<Engine>,
    pub(crate) options: InstanceOptions,
    pub(crate) catalog: Catalog,
    pub(crate) keys: AccessKeys,
    pub(crate) stamps: Stamps,
    pub(crate) transactions: Transactions,
    pub(crate) meter: Rc<Meter>,
    pub(crate) answers: Answers,
    pub(crate) throttle: Throttle,
}

impl State {
    /// The state of an instance with these tables and keys.
    pub(crate) fn new(
        engine: Rc<Engine>,
        options: InstanceOptions,
        tables: SmallMap<String, Rc<Table>>,
        next_tree: u32,
        keys: AccessKeys,
    ) -> Rc<Self> {
        Rc::new_cyclic(|me| Self {
            me: Weak::clone(me),
            options,
            catalog: Catalog::new(tables, next_tree),
            keys,
            stamps: Stamps::new(engine.last_stamp()),
            transactions: Transactions::default(),
            meter: Rc::default(),
            answers: Answers::default(),
            throttle: Throttle::new(options.throttle),
            engine,
        })
    }

    /// The instance's limits.
    pub(crate) fn limits(&self) -> &Limits {
        &self.options.limits
    }

    /// Enters the transaction that a request names, if it names one.
    ///
    /// # Errors
    /// `OTSParameterInvalid` for a malformed id; `OTSSessionNotExist`; `OTSSessionBusy`.
    pub(crate) fn enter(&self, transaction: Option<&str>) -> Result<Option<TransactionUse<'_>>> {
        transaction.map(|id| self.transactions.enter(id, self.engine.clock().steady_ms())).transpose()
    }
}
