//! What is wrong and does not end the engine, told to whoever listens.

use super::{Engine, TreeId};
use crate::error::Error;
use std::cell::RefCell;
use std::rc::Rc;

/// So many troubles wait for somebody who listens; the oldest go.
const MOST_WAITING: usize = 16;

type Listener = Rc<dyn Fn(Option<TreeId>, &Error)>;

/// Troubles, and who hears of them.
#[derive(Default)]
pub(super) struct Health {
    listener: RefCell<Option<Listener>>,
    waiting: RefCell<Vec<(Option<TreeId>, Error)>>,
}

impl Health {
    /// Tells a trouble, of one tree or of all.
    pub(super) fn tell(&self, tree: Option<TreeId>, trouble: Error) {
        log::warn!("{trouble}");
        let listener = self.listener.borrow().clone();
        match listener {
            Some(listener) => listener(tree, &trouble),
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

impl<S> Engine<S> {
    /// Has `listener` told of each trouble that does not end the engine: the device's clock jumps; compaction meets a
    /// damaged record, with the tree that it is of. At once it hears of those that nobody has heard of.
    pub fn on_trouble(&self, listener: impl Fn(Option<TreeId>, &Error) + 'static) {
        let waiting = self.health.waiting.take();
        waiting.iter().for_each(|(tree, trouble)| listener(*tree, trouble));
        self.health.listener.replace(Some(Rc::new(listener)));
    }
}
