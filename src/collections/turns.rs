//! Turns on whatever has a key: they come in the order in which they were asked for.
//!
//! Operations on one row take effect in that order. Nearly all do so in the synchronous section of their first poll. An
//! operation that has to load blocks before it can decide (a read-modify-write) takes the row's turn, and later operations on
//! that row queue up behind it.

use super::small_map::SmallMap;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// The queues of keys (rows, for most), where there is one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns {
    queues: Rc<RefCell<SmallMap<Box<[u8]>, Queue>>>,
}

#[derive(Debug, Default)]
struct Queue {
    next_ticket: u64,
    /// Tickets in the order of their turns; the first has the row.
    tickets: VecDeque<(u64, Option<Waker>)>,
}

/// The turn on a row, or a place in its queue; given back on drop.
#[derive(Debug)]
pub(crate) struct Turn {
    turns: Turns,
    key: Box<[u8]>,
    ticket: u64,
}

impl Queue {
    /// The place of a ticket; tickets ascend.
    fn place(&self, ticket: u64) -> Option<usize> {
        self.tickets.binary_search_by_key(&ticket, |(ticket, _)| *ticket).ok()
    }
}

impl Turns {
    /// Whether no operation holds or waits for the row.
    pub(crate) fn is_free(&self, key: &[u8]) -> bool {
        let queues = self.queues.borrow();
        queues.is_empty() || !queues.contains_key(key)
    }

    /// The held rows of a range; a reader of the range queues behind them.
    pub(crate) fn held_in(&self, contains: &dyn Fn(&[u8]) -> bool) -> Vec<Box<[u8]>> {
        self.queues.borrow().keys().filter(|key| contains(key)).cloned().collect()
    }

    /// Takes a place in the row's queue now. The turn resolves later.
    pub(crate) fn take(&self, key: &[u8]) -> Turn {
        let mut queues = self.queues.borrow_mut();
        let queue = queues.entry(key.into());
        let ticket = queue.next_ticket;
        queue.next_ticket += 1;
        queue.tickets.push_back((ticket, None));
        Turn { turns: self.clone(), key: key.into(), ticket }
    }

    /// Takes a place in the key's queue, and waits until all earlier turns are over.
    pub(crate) async fn wait_for(&self, key: &[u8]) -> Turn {
        let turn = self.take(key);
        turn.come().await;
        turn
    }
}

impl Turn {
    /// Waits until all earlier turns are over.
    pub(crate) async fn come(&self) {
        poll_fn(|context| {
            let mut queues = self.turns.queues.borrow_mut();
            let Some(queue) = queues.get_mut(&self.key) else { return Poll::Ready(()) };
            match queue.place(self.ticket) {
                None | Some(0) => Poll::Ready(()),
                Some(place) => {
                    if let Some((_, waker)) = queue.tickets.get_mut(place) {
                        *waker = Some(context.waker().clone());
                    }
                    Poll::Pending
                }
            }
        })
        .await;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let waker = {
            let mut queues = self.turns.queues.borrow_mut();
            let Some(queue) = queues.get_mut(&self.key) else { return };
            if let Some(place) = queue.place(self.ticket) {
                queue.tickets.remove(place);
            }
            match queue.tickets.front_mut() {
                Some((_, waker)) => waker.take(),
                None => {
                    queues.remove(&self.key);
                    None
                }
            }
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_executor::LocalPool;
    use futures_util::task::LocalSpawnExt;

    #[test]
    fn turns_come_in_the_order_they_were_taken() {
        let (mut pool, turns, order) = (LocalPool::new(), Turns::default(), Rc::new(RefCell::new(Vec::new())));
        let held = turns.take(b"k");
        for name in ["a", "b", "c"] {
            let (turn, order) = (turns.take(b"k"), Rc::clone(&order));
            let task = async move {
                turn.come().await;
                order.borrow_mut().push(name);
            };
            pool.spawner().spawn_local(task).expect("spawned");
        }
        pool.run_until_stalled();
        assert!(order.borrow().is_empty());
        drop(held);
        pool.run_until_stalled();
        assert_eq!(*order.borrow(), ["a", "b", "c"]);
        assert!(turns.is_free(b"k"));
    }
}
