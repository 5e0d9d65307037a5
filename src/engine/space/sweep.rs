//! Deletes segments from the storage that no version of the engine refers to.

use super::Space;
use crate::engine::base::wiring::News;
use crate::error::Result;
use crate::storage::{BlockId, SegmentId};
use std::rc::Rc;

/// So many segments are deleted in one transaction of the storage. Each has some hundred records, and a commit that comes
/// meanwhile waits for the transaction.
const DELETED_AT_ONCE: usize = 4;

impl Space {
    /// Starts to delete obsolete segments in the background, also those that readers held when they became obsolete.
    pub(crate) fn drop_soon(self: &Rc<Self>) {
        if self.store.view.borrow().garbage.has_free(self.store.line.is_certain()) {
            let space = Rc::clone(self);
            self.runtime.spawn(Box::pin(async move { space.drop_unreferenced().await }));
        }
    }

    /// Deletes obsolete segments without readers, and staged segments that never got into a version.
    pub(crate) async fn drop_unreferenced(self: &Rc<Self>) {
        let (gone, unnamed) = self.store.view.borrow_mut().garbage.take_free(self.store.line.is_certain());
        if gone.is_empty() && unnamed.is_empty() {
            return;
        }
        for segment in &gone {
            // The index lies behind the blocks.
            for block in 0..=segment.blocks {
                self.store.cache.remove(BlockId { segment: segment.id, block });
            }
        }
        let ids: Vec<SegmentId> = gone.iter().map(|segment| segment.id).chain(unnamed.iter().copied()).collect();
        if let Err(error) = self.delete_segments(&ids).await {
            // No manifest refers to them. The next commit tries again, and so does the next opening; deleting twice is harmless.
            log::warn!("obsolete segments could not be deleted: {error}");
            self.store.view.borrow_mut().garbage.put_back(gone, unnamed);
        } else {
            self.runtime.tell(News::RoomFreed);
            Box::pin(self.use_room()).await;
        }
    }

    /// Call this after space was freed. It fills the reserve and retries a flush that had no room.
    async fn use_room(self: &Rc<Self>) {
        if self.reserve.is_out() && self.fill_reserve().await.is_err() {
            // More work follows, or a caller waits for it.
            return;
        }
        if self.store.last_flush.is_out_of_room() {
            self.store.last_flush.record(None);
            self.runtime.tell(News::WorkDue);
        }
    }

    /// Deletes segments, a few at a time. Staging takes turns with it, so that neither keeps the storage for long.
    pub(crate) async fn delete_segments(&self, segments: &[SegmentId]) -> Result<()> {
        for piece in segments.chunks(DELETED_AT_ONCE) {
            let _turn = self.staging.wait_for(&[]).await;
            self.runtime.storage.delete_segments(piece).await?;
        }
        Ok(())
    }

    /// Deletes staged segments after their commit has failed. If this fails too, the next opening does it.
    pub(crate) async fn discard(&self, staged: &[SegmentId]) {
        if let Err(error) = self.delete_segments(staged).await {
            log::warn!("staged segments could not be deleted, the next opening does it: {error}");
        }
    }

    /// Deletes segments that earlier leaders have staged and no manifest refers to: those leaders stopped before the commit.
    pub(crate) fn collect_orphans(self: &Rc<Self>) {
        let space = Rc::clone(self);
        self.runtime.spawn(Box::pin(async move {
            if let Err(error) = space.delete_orphans().await {
                log::warn!("orphaned segments could not be deleted, the next opening tries again: {error}");
            }
        }));
    }

    async fn delete_orphans(&self) -> Result<()> {
        let stored = self.runtime.storage.list_segments().await?;
        let reserve = self.find_reserve(&stored);
        let orphans: Vec<SegmentId> = {
            let view = self.store.view.borrow();
            let live = view.version.segments();
            // A segment of this leader's own may have come after the list.
            let mut expected = live.keys().filter(|id| self.store.leadership.is_older(**id));
            if expected.any(|id| stored.binary_search(id).is_err()) {
                // This may be an older version than the newest one, whose records are damaged.
                log::warn!("no segments are deleted, because some are missing");
                return Ok(());
            }
            // Segments of this leader carry its epoch; it deletes them itself.
            let older = stored.into_iter().filter(|id| self.store.leadership.is_older(*id));
            let older = older.filter(|id| !reserve.contains(id));
            older.filter(|id| !live.contains_key(id) && !view.garbage.holds(*id)).collect()
        };
        self.delete_segments(&orphans).await
    }
}
