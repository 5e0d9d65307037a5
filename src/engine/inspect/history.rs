//! Events of background work, for those who ask.

use super::Inspector;
use super::events::{WorkEvents, WorkRing};
use crate::error::Result;
use std::rc::Rc;

impl Inspector<'_> {
    /// The events behind a position. The first call begins to collect them: there are none of the time before.
    ///
    /// # Errors
    /// Those of an engine that has ended.
    pub fn work_events(self, position: u64) -> Result<WorkEvents> {
        self.store.check_alive()?;
        let mut history = self.history.borrow_mut();
        let history = history.get_or_insert_with(|| {
            let ring = Rc::<WorkRing>::default();
            self.compactor.house.set_observer(Rc::<WorkRing>::clone(&ring));
            ring
        });
        Ok(history.events(position))
    }

    /// The same, once there are any, or after so many ms without work.
    ///
    /// # Errors
    /// Those of an engine that has ended.
    pub async fn await_work_events(self, position: u64, most_ms: u32) -> Result<WorkEvents> {
        loop {
            let found = self.work_events(position)?;
            if !found.events.is_empty() {
                return Ok(found);
            }
            let ended = self.store.work_ended();
            if ended.wait_or(self.store.runtime.env.sleep(most_ms)).await.is_none() {
                return self.work_events(position);
            }
        }
    }
}
