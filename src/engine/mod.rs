//! The engine: trees of rows on a [`Storage`](crate::storage::Storage), one writer, many snapshots.
//!
//! The engine knows keys and fragments of rows, not tables: the layer above decides the meaning of trees and checks
//! writes. Its parts, in the order of a row's life: [`decide`](write::decide) decides a write (in a transaction it first goes into an
//! [`overlay`](memory::overlay)), [`pending`](store::pending) accepts it, [`commit`](write::commit) makes it durable. Reads find it in a [`memtable`](memory::memtable). [`background`](background::flush) and
//! [`rewrite`](background::rewrite) move it into a segment, or [`bulk_loader`](write::bulk_loader) puts it there at once. [`compaction`](background::compaction) merges it. [`read`](read::reader) finds
//! it again through [`merge`](read::merge) and [`row`](rows::row), and through [`images`](memory::images) if it has many pieces. [`version`](versions::version) has the current
//! parts, [`manifest`](versions::manifest) stores them, [`backlog`](versions::backlog) keeps the log short, [`recover`](opening::recover) opens the store again.
//!
//! Changing state has owners: [`commit_line`](store::commit_line) has pending writes and edits, [`view`](versions::view) the visible data, [`leadership`](store::leadership) the
//! lead, [`housekeeping`](background::housekeeping) flushes and compactions, [`bulk_load`](store::bulk_load) loads, [`garbage`](versions::garbage) segments to delete, [`reserve`](space::reserve) room
//! for deletions. Owners do not know the engine, which wires them, and no two of them use each other.
//!
//! Everything runs on one thread. No borrow is held over an await: each function takes it for one
//! synchronous section.

mod background;
mod base;
mod changes;
mod facade;
mod inspect;
mod memory;
mod metrics;
mod opening;
mod read;
mod rows;
mod segment;
mod space;
mod store;
mod versions;
mod work;
mod write;

pub use crate::format::columns::Form;
pub use crate::model::{Origin, RecordPlace, TreeId};
pub use base::missing::Missing;
pub(crate) use base::missing::or_salvage;
pub use base::options::{ClockMode, Options, Shape};
pub(crate) use base::pauses;
pub use changes::watches::{ChangePlace, ChangedKeys};
pub use inspect::{
    BlockContents, Dropped, DueWork, Fetch, FilterAnswer, FilterFacts, FlushReason, Layout, MemtableLayout, PartLayout,
    RowContents, SegmentContents, SegmentQuery, Trace, TraceStep, TracedBlock, TreeLayout, Verdict, Work, WorkEvent,
    WorkEvents, WorkPart,
};
pub use memory::overlay::Overlay;
pub use memory::waiting_records::Recorder;
pub(crate) use memory::waiting_records::{RECORD_COLUMN, record_cell, record_key};
pub use metrics::{LevelMetrics, Metrics, PartitionMetrics, TreeMetrics};
pub use read::passing::{BlockFilter, BlockRows};
pub use read::profile::Mass;
pub use read::reader::{Needs, ReadRequest, ScanOptions};
pub(crate) use rows::keys::boundary_behind;
pub use rows::keys::{Direction, KeyRange};
pub use rows::row::{Depth, RowView};
pub use store::bulk_load::{LoadEnd, LoadListener, RowsBehind};
pub use versions::partition::{PartitionId, ShapeSeen};
pub use work::{CompactionReason, SplitReason};
pub use write::bulk_loader::BulkLoader;
pub use write::decide::{Decide, Receipt, Writes};

use crate::env::Env;
use crate::storage::AnyStorage;
use background::compaction::Compactor;
use background::flush::Flusher;
use background::housekeeping::Housekeeping;
use background::rewrite::Rewriter;
use background::trees::Trees;
use base::runtime::Runtime;
use base::wiring::{Committed, Wiring};
use inspect::events::WorkHistory;
use opening::parts::Parts;
use read::order::Order;
use read::reader::Reader;
use space::Space;
use std::cell::RefCell;
use std::rc::{Rc, Weak};
use store::Store;
use write::commit::Commits;
use write::decide::Writer;
use write::loads::Loads;

/// The engine.
pub struct Engine {
    runtime: Rc<Runtime>,
    store: Rc<Store>,
    order: Rc<Order>,
    reader: Rc<Reader>,
    loads: Rc<Loads>,
    writer: Writer,
    house: Rc<Housekeeping>,
    flusher: Rc<Flusher>,
    compactor: Rc<Compactor>,
    trees: Trees,
    space: Rc<Space>,
    commits: Rc<Commits>,
    /// What was told of background work. None until somebody asks for it.
    history: RefCell<Option<Rc<dyn WorkHistory>>>,
    /// Unreadable data of a store that is open with `salvage`.
    missing: RefCell<Vec<Missing>>,
}

impl Engine {
    /// An engine of parts that know only those below them. `clock` is the one that the store recorded last.
    fn wire(storage: AnyStorage, env: Rc<dyn Env>, options: Options, clock: i64, parts: Parts) -> Rc<Self> {
        let Parts { line, view, leadership, cache, reserve } = parts;
        Rc::new_cyclic(|me: &Weak<Self>| {
            let runtime = Rc::new(Runtime::new(storage, env, options, clock, me.clone()));
            let store = Rc::new(Store::new(&runtime, line, view, leadership, cache));
            let space = Rc::new(Space::new(&store, reserve));
            let order = Rc::new(Order::new(&store));
            let reader = Rc::new(Reader::new(&store, &order));
            let commits = Rc::new(Commits::new(&store, &space));
            let loads = Rc::new(Loads::new(&store, &space, &commits, &order));
            let house = Rc::new(Housekeeping::new(&store));
            let rewriter = Rc::new(Rewriter::new(&store, &space, &reader, &house));
            Self {
                flusher: Rc::new(Flusher::new(&store, &space, &commits, &order, &house, &rewriter)),
                compactor: Rc::new(Compactor::new(&space, &commits, &reader, &house, &rewriter)),
                trees: Trees::new(&store, &commits, &house),
                writer: Writer::new(&store, &order, &reader, &commits, &loads),
                reader,
                loads,
                order,
                commits,
                space,
                store,
                runtime,
                house,
                history: RefCell::default(),
                missing: RefCell::default(),
            }
        })
    }

    /// Starts the background work that should run and does not.
    fn start_background(&self) {
        if self.store.check_alive().is_err() || self.runtime.is_read_only() {
            return;
        }
        self.house.has_started.set(true);
        self.flusher.start();
        self.compactor.start();
    }
}

impl Wiring for Engine {
    fn second_over(&self) {
        self.compactor.end_second();
    }

    fn committed(&self, done: Committed) {
        match done {
            Committed::Stored => {
                self.space.drop_soon();
                self.start_background();
                self.store.tick();
            }
            Committed::DiskFull => self.flusher.shorten_log(),
            Committed::AllDone => {
                self.flusher.flush_when_quiet();
                if self.store.waits_for_flush() {
                    // A failed flush is tried again, now that writes need it.
                    self.start_background();
                }
            }
        }
    }

    fn room_freed(&self) {
        self.house.compactions.quarantine.tell_news();
    }

    fn work_due(&self) {
        self.start_background();
    }

    fn ended(&self) {
        self.space.reserve.end();
        // Edits wait too.
        self.commits.kick();
    }
}

#[cfg(test)]
mod tests;
