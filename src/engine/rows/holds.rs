//! Seqnos that a reader still needs.
//!
//! A read that completes in one synchronous section needs no entry here. A read that waits (for a commit, for blocks) has
//! one, so that nothing it sees is merged away meanwhile.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// The seqnos in use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holds {
    /// Ascending, with the number of holds on each. Waiting readers are many; they enter at the end, and leave at the
    /// front.
    seqnos: Rc<RefCell<VecDeque<(u64, u32)>>>,
}

/// Keeps a seqno in use until dropped.
#[derive(Debug)]
pub(crate) struct Hold {
    holds: Holds,
    seqno: u64,
}

impl Holds {
    /// Keeps all data that a reader at `seqno` sees.
    pub(crate) fn hold(&self, seqno: u64) -> Hold {
        let mut seqnos = self.seqnos.borrow_mut();
        match seqnos.binary_search_by_key(&seqno, |(seqno, _)| *seqno) {
            Ok(at) => seqnos[at].1 += 1,
            Err(at) => seqnos.insert(at, (seqno, 1)),
        }
        drop(seqnos);
        Hold { holds: self.clone(), seqno }
    }

    /// Whether every reader sees a write of `seqno`, so that the data it replaces may go.
    pub(crate) fn all_see(&self, seqno: u64) -> bool {
        self.seqnos.borrow().front().is_none_or(|&(oldest, _)| oldest >= seqno)
    }

    /// Whether a reader's instant lies between two writes: it sees the older one and not the newer one.
    pub(crate) fn tell_apart(&self, newer: u64, older: u64) -> bool {
        self.seqnos.borrow().iter().any(|&(seqno, _)| older <= seqno && seqno < newer)
    }
}

impl Hold {
    /// The held seqno.
    pub(crate) fn seqno(&self) -> u64 {
        self.seqno
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut seqnos = self.holds.seqnos.borrow_mut();
        let Ok(at) = seqnos.binary_search_by_key(&self.seqno, |(seqno, _)| *seqno) else { return };
        seqnos[at].1 -= 1;
        if seqnos[at].1 == 0 {
            seqnos.remove(at);
        }
    }
}
