//! Futures that run concurrently but start in order.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

/// Runs all futures concurrently and returns their results in order. Each is first polled after the one before it, so
/// their effects on one row come in order.
pub(crate) async fn in_order<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut futures = futures.into_iter().map(|future| Some(Box::pin(future))).collect::<Vec<_>>();
    let mut outputs = futures.iter().map(|_| None).collect::<Vec<Option<F::Output>>>();
    poll_fn(|context| {
        let mut waiting = false;
        for (future, output) in futures.iter_mut().zip(&mut outputs) {
            let Some(running) = future else { continue };
            match Pin::as_mut(running).poll(context) {
                Poll::Ready(done) => {
                    *output = Some(done);
                    *future = None;
                }
                Poll::Pending => waiting = true,
            }
        }
        if waiting { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    outputs.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn all_start_in_order_and_finish_as_they_can() {
        let log = RefCell::new(Vec::new());
        let results = futures_executor::block_on(in_order((0..4).map(|id| {
            let log = &log;
            async move {
                log.borrow_mut().push(format!("start {id}"));
                let mut waits = 3 - id;
                poll_fn(|context| {
                    if waits == 0 {
                        return Poll::Ready(());
                    }
                    waits -= 1;
                    context.waker().wake_by_ref();
                    Poll::Pending
                })
                .await;
                log.borrow_mut().push(format!("end {id}"));
                id * 10
            }
        })));
        assert_eq!(results, [0, 10, 20, 30]);
        let log = log.into_inner();
        let starts = log.iter().filter(|line| line.starts_with("start")).cloned().collect::<Vec<_>>();
        assert_eq!(starts, ["start 0", "start 1", "start 2", "start 3"]);
        assert_eq!(log.last().map(String::as_str), Some("end 0"));
    }
}
