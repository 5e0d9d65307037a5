//! The stream of a table: what is known of it, but for its records (ST1, ST2).

use super::shards::Shards;
use crate::engine::{Engine, ShapeSeen, TreeId};
use crate::model::version::Retention;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// An hour, ms.
pub(crate) const HOUR_MS: i64 = 3_600_000;
/// Expired records are looked for after this share of their life.
const TRIMS: i64 = 24;

/// The stream of a table.
#[derive(Debug)]
pub(crate) struct Stream {
    /// The tree of its records.
    pub(crate) tree: TreeId,
    /// How long records are kept, in hours.
    pub(crate) hours: Cell<u32>,
    /// When it was enabled, ms since 1970 UTC.
    pub(crate) enabled: i64,
    /// The columns whose old values its records have too.
    pub(crate) columns: RefCell<Rc<[String]>>,
    pub(crate) shards: RefCell<Shards>,
    pub(crate) seen: ShapeSeen,
    /// The time of the newest record of this opening.
    pub(crate) last_time: Cell<i64>,
    /// When expired records were last looked for, and whether somebody looks for them.
    pub(crate) trimmed: Cell<i64>,
    pub(crate) trims: Cell<bool>,
    /// Whether it is being disabled: nothing of it may be stored any more.
    pub(crate) ended: Cell<bool>,
}

impl Stream {
    pub(crate) fn new(tree: TreeId, hours: u32, enabled: i64, columns: Vec<String>, shards: Shards) -> Self {
        Self {
            tree,
            hours: Cell::new(hours),
            enabled,
            columns: RefCell::new(columns.into()),
            shards: RefCell::new(shards),
            seen: ShapeSeen::default(),
            last_time: Cell::new(i64::MIN),
            trimmed: Cell::new(i64::MIN),
            trims: Cell::default(),
            ended: Cell::default(),
        }
    }

    /// Whether it is time to look for expired records again.
    pub(crate) fn is_old(&self, now: i64) -> bool {
        let pause = i64::from(self.hours.get()) * HOUR_MS / TRIMS;
        let done = self.trimmed.get();
        !(done..done.saturating_add(pause)).contains(&now)
    }

    /// The columns whose old values its records have too.
    pub(crate) fn columns(&self) -> Rc<[String]> {
        Rc::clone(&self.columns.borrow())
    }

    /// The id of the stream of the table with this name. A stream that is enabled again has another one.
    pub(crate) fn id(&self, table: &str) -> String {
        format!("{table}_{}_{}", self.enabled, self.tree.0)
    }

    /// Has the engine keep its records. Until expired ones were marked, none is removed.
    pub(crate) fn keep(&self, engine: &Engine) {
        let time_to_live = Some(i64::from(self.hours.get()) * 3600);
        engine.set_retention(self.tree, Retention { max_versions: 1, time_to_live });
        engine.set_floor(self.tree, i64::MIN);
    }
}
