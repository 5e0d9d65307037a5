//! What is wrong and does not end the engine, told to whoever listens.

use crate::error::Error;
use crate::model::TreeId;
use std::cell::RefCell;
use std::rc::Rc;

/// So many troubles wait for somebody who listens; the oldest go.
const MOST_WAITING: usize = 16;

type Listener = Rc<dyn Fn(Option<TreeId>, Option<&Error>)>;

/// Troubles, and who hears of them.
#[derive(Default)]
pub(super) struct Health {
    listener: RefCell<Option<Listener>>,
    waiting: RefCell<Vec<(Option<TreeId>, Option<Error>)>>,
}

impl Health {
    /// Tells a trouble, of one tree or of all.
    pub(super) fn tell(&self, tree: Option<TreeId>, trouble: Error) {
        log::warn!("{trouble}");
        self.say(tree, Some(trouble));
    }

    /// Has `listener` told of each trouble from now on, and at once of what nobody has heard of.
    pub(super) fn listen(&self, listener: impl Fn(Option<TreeId>, Option<&Error>) + 'static) {
        let waiting = self.waiting.take();
        waiting.iter().for_each(|(tree, trouble)| listener(*tree, trouble.as_ref()));
        self.listener.replace(Some(Rc::new(listener)));
    }

    /// Tells that work on a tree goes on that had failed.
    pub(super) fn tell_mended(&self, tree: TreeId) {
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
