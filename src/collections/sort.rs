//! One small stable sort.
//!
//! The standard library's sorts are tuned for large inputs and cost eight kilobytes of code for every type. Lists here
//! are short, or sorted already.

use std::cmp::Ordering;

/// Sorts `items`. Equal ones keep their order.
pub(crate) fn sort_by<T: Copy>(items: &mut [T], order: impl Fn(&T, &T) -> Ordering) {
    let ordered = |pair: &[T]| matches!(pair, [a, b] if order(a, b) != Ordering::Greater);
    if items.windows(2).all(ordered) {
        return;
    }
    let mut spare = items.to_vec();
    let mut width = 1;
    while width < items.len() {
        for (from, to) in items.chunks(2 * width).zip(spare.chunks_mut(2 * width)) {
            merge(from, width, to, &order);
        }
        items.copy_from_slice(&spare);
        width *= 2;
    }
}

/// Merges the sorted first `width` items of `from` with the sorted rest.
fn merge<T: Copy>(from: &[T], width: usize, to: &mut [T], order: &impl Fn(&T, &T) -> Ordering) {
    let (left, right) = from.split_at(width.min(from.len()));
    let (mut left, mut right) = (left.iter(), right.iter());
    for slot in to {
        let take_left = match (left.as_slice().first(), right.as_slice().first()) {
            (Some(a), Some(b)) => order(a, b) != Ordering::Greater,
            (a, _) => a.is_some(),
        };
        let next = if take_left { left.next() } else { right.next() };
        if let Some(item) = next {
            *slot = *item;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sorts_as_the_standard_library_does(items in proptest::collection::vec((0u8..5, any::<u8>()), 0..200)) {
            let (mut ours, mut theirs) = (items.clone(), items);
            sort_by(&mut ours, |a, b| a.0.cmp(&b.0));
            theirs.sort_by_key(|item| item.0);
            prop_assert_eq!(ours, theirs);
        }
    }
}
