//! Background work: what was done, and by hand what is next.

use super::Inspection;
use crate::engine::{DueWork, WorkEvent, WorkEvents};
use crate::error::Result;
use crate::tablestore::rows::request::MOST_WAIT_MS;
use std::rc::Rc;

impl Inspection<'_> {
    /// See [`crate::engine::Inspector::work_events`].
    ///
    /// # Errors
    /// Those of an instance that has ended.
    pub fn work_events(self, position: u64) -> Result<WorkEvents> {
        self.state.engine.inspect().work_events(position)
    }

    /// See [`crate::engine::Inspector::await_work_events`]. Without work it answers after 20 seconds.
    ///
    /// # Errors
    /// Those of an instance that has ended.
    pub async fn await_work_events(self, position: u64) -> Result<WorkEvents> {
        self.state.engine.inspect().await_work_events(position, MOST_WAIT_MS).await
    }

    /// See [`crate::engine::Inspector::pause_work`].
    ///
    /// # Errors
    /// `OTSParameterInvalid` where it cannot be paused.
    pub async fn pause_work(self) -> Result<()> {
        self.state.engine.inspect().pause_work().await
    }

    /// See [`crate::engine::Inspector::resume_work`].
    ///
    /// # Errors
    /// As for [`Inspection::pause_work`].
    pub fn resume_work(self) -> Result<()> {
        self.state.engine.inspect().resume_work()
    }

    /// See [`crate::engine::Inspector::step_work`].
    ///
    /// # Errors
    /// As for [`Inspection::pause_work`]; errors of the storage.
    pub async fn step_work(self) -> Result<Vec<Rc<WorkEvent>>> {
        self.state.engine.inspect().step_work().await
    }

    /// See [`crate::engine::Inspector::due_work`].
    ///
    /// # Errors
    /// As for [`Inspection::pause_work`].
    pub async fn due_work(self) -> Result<Option<DueWork>> {
        self.state.engine.inspect().due_work().await
    }

    /// Whether background work is paused.
    #[must_use]
    pub fn is_work_paused(self) -> bool {
        self.state.engine.inspect().is_work_paused()
    }
}
