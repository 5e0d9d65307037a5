//! What is wrong and does not end the engine, told to whoever listens.

use super::Engine;
use crate::error::Error;
use std::cell::RefCell;
use std::rc::Rc;

/// So many troubles wait for somebody who listens; the oldest go.
const MOST_WAITING: usize = 16;

type Listener = Rc<dyn Fn(&Error)>;

/// Troubles, and who hears of them.
#[derive(Default)]
pub(super) struct Health {
    listener: RefCell<Option<Listener>>,
    waiting: RefCell<Vec<Error>>,
}

impl Health {
    pub(super) fn tell(&self, trouble: Error) {
        log::warn!("{trouble}");
        let listener = self.listener.borrow().clone();
        match listener {
            Some(listener) => listener(&trouble),
            None => {
                let mut waiting = self.waiting.borrow_mut();
                if waiting.len() >= MOST_WAITING {
                    waiting.remove(0);
                }
                waiting.push(trouble);
            }
        }
    }
}

impl<S> Engine<S> {
    /// Has `listener` told of each trouble that does not end the engine: the device's clock jumps, a compaction fails. At
    /// once it hears of those that nobody has heard of.
    pub fn on_trouble(&self, listener: impl Fn(&Error) + 'static) {
        let waiting = self.health.waiting.take();
        waiting.iter().for_each(&listener);
        self.health.listener.replace(Some(Rc::new(listener)));
    }
}
