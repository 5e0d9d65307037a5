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
