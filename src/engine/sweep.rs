//! Frees the space of segments that no version names.

use super::Engine;
use crate::error::Result;
use crate::storage::{BlockId, SegmentId, Storage};

/// The segments that one transaction of the storage deletes. Each has some hundred records, and commits wait for it.
const DELETED_AT_ONCE: usize = 4;

impl<S: Storage> Engine<S> {
    /// Starts freeing obsolete segments, also those that readers held when they became obsolete. No commit waits for
    /// that.
    pub(super) fn drop_soon(&self) {
        let free = self.view.borrow().garbage.has_free(self.line.is_certain());
        if let (true, Some(engine)) = (free, self.me.upgrade()) {
            self.spawn(Box::pin(async move { engine.drop_unreferenced().await }));
        }
    }

    /// Deletes obsolete segments without readers, and staged segments that no version named.
    pub(super) async fn drop_unreferenced(&self) {
        let (gone, unnamed) = self.view.borrow_mut().garbage.take_free(self.line.is_certain());
        if gone.is_empty() && unnamed.is_empty() {
            return;
        }
        for segment in &gone {
            for block in 0..=segment.blocks {
                self.cache.remove(BlockId { segment: segment.id, block });
            }
        }
        let ids: Vec<SegmentId> = gone.iter().map(|segment| segment.id).chain(unnamed.iter().copied()).collect();
        if let Err(error) = self.delete_segments(&ids).await {
            // No manifest names them: the next commit tries again, and so does the next opening.
            log::warn!("obsolete segments could not be deleted: {error}");
            self.view.borrow_mut().garbage.put_back(gone, unnamed);
        } else {
            Box::pin(self.use_room()).await;
        }
    }

    /// Deletes segments without readers, a few at a time, so that commits and staging calls come in between.
    pub(super) async fn delete_segments(&self, segments: &[SegmentId]) -> Result<()> {
        for piece in segments.chunks(DELETED_AT_ONCE) {
            let turn = self.house.staging.take(&[]);
            turn.come().await;
            self.storage.delete_segments(piece).await?;
        }
        Ok(())
    }

    /// Deletes segments that no manifest names. If that fails too, the next opening does it.
    pub(super) async fn discard(&self, staged: &[SegmentId]) {
        if let Err(error) = self.delete_segments(staged).await {
            log::warn!("staged segments could not be deleted, the next opening does it: {error}");
        }
    }

    /// Deletes segments that earlier leaders staged and no manifest names: those leaders stopped before the commit.
    pub(super) fn collect_orphans(&self) {
        let Some(engine) = self.me.upgrade() else { return };
        self.spawn(Box::pin(async move {
            if let Err(error) = engine.delete_orphans().await {
                log::warn!("orphaned segments could not be deleted, the next opening tries again: {error}");
            }
        }));
    }

    async fn delete_orphans(&self) -> Result<()> {
        let stored = self.storage.list_segments().await?;
        let reserve = self.find_reserve(&stored);
        let orphans: Vec<SegmentId> = {
            let view = self.view.borrow();
            let live = view.version.segments();
            // Segments of this leader carry its epoch; it deletes them itself.
            let older = stored.into_iter().filter(|id| self.leadership.is_older(*id));
            let older = older.filter(|id| !reserve.contains(id));
            older.filter(|id| !live.contains_key(id) && !view.garbage.holds(*id)).collect()
        };
        self.delete_segments(&orphans).await
    }
}
