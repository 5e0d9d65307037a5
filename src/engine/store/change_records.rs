//! Records of changes in streams, made late.
//!
//! A stream's record has the same content as the change that it is of. So the log holds the change alone, with the place of
//! its record. The record becomes a row when somebody reads the stream, or when the change is flushed: writing costs no
//! second row. The layer above knows the bytes of a record, and sets a [`Recorder`] for that.
//!
//! A record's row has the seqno of its change, so each instant sees both or neither.

use super::Store;
use crate::engine::memory::memtable::Memtable;
use crate::engine::memory::waiting_records::Recorder;
use crate::error::{Code, Error, Result};
use crate::model::TreeId;
use std::pin::Pin;

/// Records made between two looks at the clock.
const STEP: usize = 64;

/// Records on their way.
type Making<'e> = Pin<Box<dyn Future<Output = Result<()>> + 'e>>;

/// The error of who needs records before anybody can make them.
pub(crate) fn too_early() -> Error {
    Error::new(Code::Unavailable, "records of streams cannot be made yet: the tables are not open")
}

impl Store {
    /// Whether stored changes have records that cannot be made yet.
    pub(crate) fn awaits_recorder(&self) -> bool {
        self.view.borrow().memtables().any(|memtable| self.is_too_early_for(memtable))
    }

    /// Whether a memtable cannot be flushed before the recorder is set.
    pub(crate) fn is_too_early_for(&self, memtable: &Memtable) -> bool {
        self.recorder.get().is_none() && memtable.awaits_records(None)
    }

    /// Makes all records of a frozen memtable.
    /// Its future is a gate of [`Module::Streams`](crate::modules::Module::Streams).
    async fn make_for_flush(&self, memtable: &Memtable, recorder: Recorder) -> Result<()> {
        while memtable.awaits_records(None) {
            memtable.make_records(None, STEP, recorder)?;
            if self.runtime.slices.is_over() {
                self.runtime.env.yield_now().await;
                self.check_alive()?;
            }
        }
        Ok(())
    }

    /// Makes the records that a reader of the tree needs, if some wait. At once: the reader's instant is chosen already, and what
    /// it must wait for too.
    pub(crate) fn make_records_of(&self, tree: TreeId) -> Result<()> {
        let view = self.view.borrow();
        for memtable in view.memtables().filter(|memtable| memtable.awaits_records(Some(tree))) {
            memtable.make_records(Some(tree), usize::MAX, self.recorder.get().ok_or_else(too_early)?)?;
        }
        Ok(())
    }

    /// Makes the records of a frozen memtable that wait, before its flush.
    pub(crate) async fn make_records_in(&self, memtable: &Memtable) -> Result<()> {
        if memtable.awaits_records(None) {
            for_flush(self, memtable, self.recorder.get().ok_or_else(too_early)?).await?;
        }
        Ok(())
    }
}

/// [`Store::make_for_flush`]. A gate of [`Module::Streams`](crate::modules::Module::Streams): who has set a recorder has loaded
/// it.
#[inline(never)]
fn for_flush<'e>(store: &'e Store, memtable: &'e Memtable, recorder: Recorder) -> Making<'e> {
    Box::pin(store.make_for_flush(memtable, recorder))
}
