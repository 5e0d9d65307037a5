//! Staging: records of segments that no manifest names yet.

use super::Space;
use crate::engine::segment::writer::Staging;
use crate::error::{Code, Result};
use std::rc::Rc;

impl Space {
    /// Stages records that replace others. If there is no room, they may take the reserve's.
    pub(crate) async fn stage(self: &Rc<Self>, call: Staging) -> Result<()> {
        loop {
            let began = self.attempt();
            let attempt = Staging { segment: call.segment, records: call.records.clone() };
            let Err(error) = self.stage_more(attempt).await else { return Ok(()) };
            if error.code() != Code::QuotaExceeded || !Box::pin(self.makes_room_to_stage(began)).await {
                return Err(error);
            }
        }
    }

    /// Stages records, one call at a time: a read of blocks waits for all earlier staging calls.
    pub(crate) async fn stage_more(self: &Rc<Self>, call: Staging) -> Result<()> {
        let _turn = self.staging.wait_for(&[]).await;
        if self.store.leadership.is_due() {
            Box::pin(self.lead()).await?;
        }
        // The commit that names the blocks drops the log or the segments that they replace, so they must be as durable as
        // it is.
        self.runtime.storage.stage(call.segment, call.records, self.runtime.options.durability).await
    }
}
