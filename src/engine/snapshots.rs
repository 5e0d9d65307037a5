//! Which seqnos somebody is still going to read at.
//!
//! A read that completes in one synchronous section needs no entry here. One that waits (for a commit, for blocks) has
//! one, so that nothing that it sees is merged away under it meanwhile.

use crate::model::small_map::SmallMap;
use std::cell::RefCell;
use std::rc::Rc;

/// The seqnos in use.
#[derive(Clone, Debug, Default)]
pub(super) struct Snapshots {
    seqnos: Rc<RefCell<SmallMap<u64, u32>>>,
}

/// Keeps a seqno in use until dropped.
#[derive(Debug)]
pub(super) struct Hold {
    snapshots: Snapshots,
    seqno: u64,
}

impl Snapshots {
    /// Keeps what a reader at `seqno` sees.
    pub(super) fn hold(&self, seqno: u64) -> Hold {
        *self.seqnos.borrow_mut().entry(seqno) += 1;
        Hold { snapshots: self.clone(), seqno }
    }

    /// Whether every reader sees a write of `seqno`, so that what it replaces may go.
    pub(super) fn all_see(&self, seqno: u64) -> bool {
        self.seqnos.borrow().first().is_none_or(|&oldest| oldest >= seqno)
    }

    /// Whether somebody reads at an instant that sees the older of two writes and not the newer one.
    pub(super) fn tell_apart(&self, newer: u64, older: u64) -> bool {
        self.seqnos.borrow().keys().any(|&seqno| older <= seqno && seqno < newer)
    }
}

impl Hold {
    /// The seqno that is in use.
    pub(super) fn seqno(&self) -> u64 {
        self.seqno
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut seqnos = self.snapshots.seqnos.borrow_mut();
        if let Some(count) = seqnos.get_mut(&self.seqno) {
            *count -= 1;
            if *count == 0 {
                seqnos.remove(&self.seqno);
            }
        }
    }
}
