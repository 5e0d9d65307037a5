//! The engine: trees of rows on a [`Storage`](crate::storage::Storage), one writer, many snapshots.
//!
//! The engine knows keys and fragments of rows, not tables: the layer above decides the meaning of trees and checks
//! writes. State lies below, operations above. A folder uses those before it in this list:
//!
//! - [`base`]: options, clocks, counters, latches; [`Runtime`], on which each component runs;
//! - [`rows`], [`memory`]: keys, how fragments become a row, memtables, overlays, images;
//! - [`versions`]: which parts of segments each tree reads, manifests, and the view of them with the memtables;
//! - [`segment`], [`waiters`]: writing segments and caching their records; who waits for changes;
//! - [`store`]: [`Store`] has the state of an open store, and knows whether it is the stored one;
//! - [`space`]: [`Space`] stages and deletes segments, and keeps a reserve for deletions on a full disk;
//! - [`read`]: [`Order`] says which operations come first, [`Reader`] reads rows and ranges;
//! - [`mod@write`]: [`Commits`] makes writes and edits durable, [`Loads`] makes segments of sorted rows, [`Writer`] decides;
//! - [`background`]: [`Flusher`], [`Compactor`] and [`Trees`], over a [`Rewriter`], with [`Housekeeping`] for what is under way;
//! - [`opening`] finds the stored state and takes the lead; [`inspect`] looks into all components.
//!
//! A component knows those below it. What others have to act on it tells through [`Wiring`], which the engine implements: this
//! file is the one place that answers. Callers see the methods of [`facade`], each of which asks a component, and the
//! [`bulk_loader`] of a load.
//!
//! Everything runs on one thread. No borrow is held over an await: each function takes it for one
//! synchronous section.

mod background;
mod base;
mod bulk_loader;
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
mod waiters;
mod work;
mod write;

pub use crate::format::columns::Form;
pub use crate::model::{Origin, RecordPlace, TreeId};
pub use base::clock::Clock;
pub use base::missing::Missing;
pub(crate) use base::missing::or_salvage;
pub use base::options::{ClockMode, Options, Shape};
pub(crate) use base::pauses;
pub use bulk_loader::BulkLoader;
pub use inspect::{
    BlockContents, Dropped, DueWork, Fetch, FilterAnswer, FilterFacts, FlushReason, Inspector, Layout, MemtableLayout,
    PartLayout, RowContents, SegmentContents, SegmentQuery, Trace, TraceStep, TracedBlock, TreeLayout, Verdict, Work,
    WorkEvent, WorkEvents, WorkPart,
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
pub use store::load_state::{LoadEnd, LoadListener, RowsBehind};
pub use versions::partition::{PartitionId, ShapeSeen};
pub use waiters::watches::{ChangePlace, ChangedKeys};
pub use work::{CompactionReason, SplitReason};
pub use write::decide::{Decide, Receipt, Writes};

use crate::env::Env;
use crate::storage::AnyStorage;
use background::compaction::Compactor;
use background::flush::Flusher;
use background::housekeeping::Housekeeping;
use background::rewrite::Rewriter;
use background::trees::Trees;
use base::runtime::Runtime;
use base::wiring::{News, Wiring};
use inspect::events::WorkHistory;
use opening::stored_state::StoredState;
use read::order::Order;
use read::reader::Reader;
use space::Space;
use std::cell::RefCell;
use std::rc::{Rc, Weak};
use store::Store;
use write::commit::Commits;
use write::decide::Writer;
use write::loads::Loads;

/// The engine. Here its components are wired, and news of them acted on; the methods in [`facade`] ask them.
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
    /// An engine of components that know only those below them. `clock` is the one that the store recorded last.
    fn wire(storage: AnyStorage, env: Rc<dyn Env>, options: Options, clock: i64, state: StoredState) -> Rc<Self> {
        let StoredState { line, view, leadership, cache, reserve } = state;
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
    fn act_on(&self, news: News) {
        match news {
            News::Committed => {
                self.space.drop_soon();
                self.start_background();
                self.store.tick();
            }
            News::DiskFull => self.flusher.shorten_log(),
            News::NothingToCommit => {
                self.flusher.flush_when_quiet();
                if self.store.waits_for_flush() {
                    // A failed flush is tried again, now that writes need it.
                    self.start_background();
                }
            }
            News::SecondOver => self.compactor.end_second(),
            News::RoomFreed => self.house.compactions.quarantine.tell_news(),
            News::WorkDue => self.start_background(),
            News::Ended => {
                self.space.reserve.end();
                self.store.cache.close_second();
                // Edits wait too.
                self.commits.kick();
            }
        }
    }
}

#[cfg(test)]
mod tests;
