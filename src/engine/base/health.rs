//! Problems that do not end the engine, reported to a listener.

use crate::error::Error;
use crate::model::TreeId;
use std::cell::RefCell;
use std::rc::Rc;

/// The most problems kept for a later listener; the oldest go first.
const MOST_WAITING: usize = 16;

type Listener = Rc<dyn Fn(Option<TreeId>, Option<&Error>)>;

/// Problems, and their listener.
#[derive(Default)]
pub(crate) struct Health {
    listener: RefCell<Option<Listener>>,
    waiting: RefCell<Vec<(Option<TreeId>, Option<Error>)>>,
}

impl Health {
    /// Reports a problem of one tree, or of all.
    pub(crate) fn tell(&self, tree: Option<TreeId>, trouble: Error) {
        log::warn!("{trouble}");
        self.say(tree, Some(trouble));
    }

    /// Sets the listener for all problems from now on: a jump of the device's clock, a damaged record in a compaction, a damaged
    /// index in a read, or failed background work. Each comes with its tree, if it is of one. `None` as the problem: failed work
    /// on the tree goes on. It hears at once of problems that were not reported yet.
    pub(crate) fn listen(&self, listener: impl Fn(Option<TreeId>, Option<&Error>) + 'static) {
        let waiting = self.waiting.take();
        waiting.iter().for_each(|(tree, trouble)| listener(*tree, trouble.as_ref()));
        self.listener.replace(Some(Rc::new(listener)));
    }

    /// Reports that failed work on a tree goes on.
    pub(crate) fn tell_mended(&self, tree: TreeId) {
        self.say(Some(tree), None);
    }

    fn say(&self, tree: Option<TreeId>, trouble: Option<Error>) {
        let listener = self.listener.borrow().clone();
        match listener {
            Some(listener) => listener(tree, trouble.as_ref()),
            None => {
                let mut waiting = self.waiting.borrow_mut();
                if waiting.len() >= MOST_WAITING {
                    waiting.remove(0);
                }
                waiting.push((tree, trouble));
            }
        }
    }
}
