//! Looks inside the store: its memtables and segments, the path of a read, the background work. Nothing here is needed to store
//! or to read rows, so all of it is a gate of [`Module::Inspection`](crate::modules::Module::Inspection).

pub(super) mod events;
mod history;
mod layout;
mod segment;
mod steps;
mod trace;

pub use events::{Dropped, FlushReason, Work, WorkEvent, WorkEvents, WorkPart};
pub use layout::{Layout, MemtableLayout, PartLayout, TreeLayout};
pub use segment::{BlockContents, FilterAnswer, FilterFacts, RowContents, SegmentContents, SegmentQuery};
pub use steps::DueWork;
pub use trace::{Fetch, Trace, TraceStep, TracedBlock, Verdict};

use super::Engine;
use super::background::compaction::Compactor;
use super::background::flush::Flusher;
use super::read::order::Order;
use super::read::reader::Reader;
use super::store::Store;
use events::WorkHistory;
use std::cell::RefCell;
use std::rc::Rc;

/// A look inside an engine.
#[derive(Clone, Copy)]
pub struct Inspector<'e> {
    store: &'e Rc<Store>,
    order: &'e Order,
    reader: &'e Reader,
    flusher: &'e Rc<Flusher>,
    compactor: &'e Rc<Compactor>,
    /// What was told of background work. None until somebody asks for it.
    history: &'e RefCell<Option<Rc<dyn WorkHistory>>>,
}

impl<'e> Inspector<'e> {
    /// A look inside this engine.
    pub(super) fn of(engine: &'e Engine) -> Self {
        Self {
            store: &engine.store,
            order: &engine.order,
            reader: &engine.reader,
            flusher: &engine.flusher,
            compactor: &engine.compactor,
            history: &engine.history,
        }
    }
}
