//! A value that is set once and that many tasks can wait for.

use crate::env::LocalFuture;
use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Poll, Waker};

/// Set once, read by all who wait.
#[derive(Debug)]
pub(crate) struct Latch<T> {
    state: RefCell<LatchState<T>>,
}

#[derive(Debug)]
struct LatchState<T> {
    value: Option<T>,
    waiting: Vec<Waker>,
}

impl<T> Default for Latch<T> {
    fn default() -> Self {
        Self { state: RefCell::new(LatchState { value: None, waiting: Vec::new() }) }
    }
}

impl<T: Clone> Latch<T> {
    /// Sets the value, once, and wakes all waiting tasks in the order in which they came.
    pub(crate) fn set(&self, value: T) {
        let waiting = {
            let mut state = self.state.borrow_mut();
            if state.value.is_none() {
                state.value = Some(value);
            }
            std::mem::take(&mut state.waiting)
        };
        for waker in waiting {
            waker.wake();
        }
    }

    /// Waits for the value, but not longer than for `end`.
    pub(crate) async fn wait_or(&self, mut end: LocalFuture<()>) -> Option<T> {
        let mut value = pin!(self.wait());
        poll_fn(|context| match value.as_mut().poll(context) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending => end.as_mut().poll(context).map(|()| None),
        })
        .await
    }

    /// Waits for the value.
    pub(crate) async fn wait(&self) -> T {
        poll_fn(|context| {
            let mut state = self.state.borrow_mut();
            match &state.value {
                Some(value) => Poll::Ready(value.clone()),
                None => {
                    state.waiting.push(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}
