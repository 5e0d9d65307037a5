//! What is wrong and does not end the engine, told to whoever listens.

use super::Engine;
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

impl<S> Engine<S> {
    /// Tells of indexes of segments that are damaged, for each tree that has rows there.
    pub(super) fn tell_rebuilt(&self) {
        for (id, error) in self.cache.take_rebuilt() {
            let version = Rc::clone(&self.state.borrow().version);
            for (tree, partitions) in version.trees.iter() {
                if partitions.parts().any(|part| part.segment.id == id.segment) {
                    self.health.tell(Some(*tree), error.clone());
                }
            }
        }
    }

    /// Has `listener` told of each trouble that does not end the engine: the device's clock jumps; compaction meets a
    /// damaged record, a read a damaged index, or other work in the background fails, with the tree that it is of. `None`: work
    /// on the tree that had failed goes on. At once it hears of what nobody has heard of.
    pub fn on_trouble(&self, listener: impl Fn(Option<TreeId>, Option<&Error>) + 'static) {
        let waiting = self.health.waiting.take();
        waiting.iter().for_each(|(tree, trouble)| listener(*tree, trouble.as_ref()));
        self.health.listener.replace(Some(Rc::new(listener)));
    }

    /// Tells that work on a tree fails.
    pub(crate) fn tell_trouble(&self, tree: TreeId, trouble: Error) {
        self.health.tell(Some(tree), trouble);
    }

    /// Tells that work on a tree goes on that had failed.
    pub(crate) fn tell_mended(&self, tree: TreeId) {
        self.health.say(Some(tree), None);
    }
}
