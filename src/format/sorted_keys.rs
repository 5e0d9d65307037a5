//! Ascending keys in a record, and a search among them.
//!
//! A search among the keys themselves would miss the processor's cache at each step. So four bytes of each key, its head,
//! lie close together.

use crate::collections::order::compare;
use std::cmp::Ordering;

/// The distance of samples: as many heads as one line of the cache holds.
const STEP: usize = 16;

/// The places of ascending keys in a record. Each method is given the record's bytes.
#[derive(Debug)]
pub(super) struct SortedKeys {
    places: Vec<(u32, u32)>,
    /// The length of the prefix that all keys share.
    shared: usize,
    /// The heads: four bytes of each key behind the prefix. Each sixteenth is a sample; these come first, then all. A
    /// search reads the samples and one stretch of the others.
    heads: Vec<u32>,
    /// How many of them are samples.
    samples: usize,
}

impl SortedKeys {
    pub(super) fn new(raw: &[u8], places: Vec<(u32, u32)>) -> Self {
        let key = |&place: &(u32, u32)| bytes_at(raw, place);
        let first = places.first().map(key).unwrap_or_default();
        let last = places.last().map(key).unwrap_or_default();
        let shared = first.iter().zip(last).take_while(|(a, b)| a == b).count();
        let heads = places.iter().step_by(STEP).chain(&places).map(|place| head(key(place), shared)).collect();
        Self { shared, heads, samples: places.len().div_ceil(STEP), places }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// The place of a key in the record: where it begins and ends.
    #[inline]
    pub(super) fn place(&self, index: usize) -> Option<(u32, u32)> {
        self.places.get(index).copied()
    }

    #[inline]
    pub(super) fn get<'r>(&self, raw: &'r [u8], index: usize) -> Option<&'r [u8]> {
        self.place(index).map(|place| bytes_at(raw, place))
    }

    /// The index of the first key for which `is_behind` says yes, given its order to `wanted`: of the first one that is
    /// greater, or of the first one that is not less. Reads few keys, unless many have the same head.
    pub(super) fn search(&self, raw: &[u8], wanted: &[u8], is_behind: fn(Ordering) -> bool) -> usize {
        let order = |index| self.order(raw, index, wanted);
        let mut start = self.first_head(head(wanted, self.shared));
        // Heads say nothing of a key without the prefix. Mostly the wanted key is there, and this is not asked.
        if !order(start).is_eq() {
            let first = self.get(raw, 0).unwrap_or_default();
            match compare(wanted.get(..self.shared).unwrap_or(wanted), first.get(..self.shared).unwrap_or_default()) {
                Ordering::Less => return 0,
                Ordering::Greater => return self.len(),
                Ordering::Equal => {}
            }
        }
        // Mostly it is the only one with its head.
        let mut step = 1;
        while !is_behind(order(start + step - 1)) {
            start += step;
            step *= 2;
        }
        let mut end = start + step - 1;
        while start < end {
            let middle = start.midpoint(end);
            if is_behind(order(middle)) {
                end = middle;
            } else {
                start = middle + 1;
            }
        }
        start
    }

    /// How a key compares. One behind the last is greater than all.
    #[inline(never)]
    fn order(&self, raw: &[u8], index: usize, wanted: &[u8]) -> Ordering {
        self.get(raw, index).map_or(Ordering::Greater, |key| compare(key, wanted))
    }

    /// The index of the first key whose head is not less.
    fn first_head(&self, head: u32) -> usize {
        let (samples, heads) = self.heads.split_at_checked(self.samples).unwrap_or_default();
        // It lies behind the last sample that is less.
        let less = samples.partition_point(|&other| other < head);
        let start = less.saturating_sub(1) * STEP;
        let stretch = heads.get(start..heads.len().min(less * STEP)).unwrap_or_default();
        start + stretch.partition_point(|&other| other < head)
    }

    /// Its bytes in memory.
    pub(super) fn memory(&self) -> usize {
        size_of_val(&*self.places) + size_of_val(&*self.heads)
    }
}

/// The bytes at a place.
pub(super) fn bytes_at(raw: &[u8], (start, end): (u32, u32)) -> &[u8] {
    raw.get(start as usize..end as usize).unwrap_or_default()
}

/// Four bytes of a key behind the first `shared` ones, with zeros behind its end. Their order is that of the keys; equal
/// heads decide nothing.
fn head(key: &[u8], shared: usize) -> u32 {
    let rest = key.get(shared..).unwrap_or_default();
    match rest.first_chunk() {
        Some(bytes) => u32::from_be_bytes(*bytes),
        None => (0..4).fold(0, |head, at| head << 8 | u32::from(rest.get(at).copied().unwrap_or_default())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sorted(keys: &[Vec<u8>]) -> (Vec<u8>, SortedKeys) {
        let (mut raw, mut places) = (Vec::new(), Vec::new());
        for key in keys {
            let start = raw.len() as u32;
            raw.extend_from_slice(key);
            places.push((start, raw.len() as u32));
        }
        let keys = SortedKeys::new(&raw, places);
        (raw, keys)
    }

    proptest! {
        /// For any common prefix, any number of equal heads and of samples, and any place of the searched key.
        #[test]
        fn a_search_finds_the_place_that_each_key_tells(
            mut keys in proptest::collection::vec(proptest::collection::vec(prop_oneof![Just(0u8), Just(7), Just(255)], 0..8), 0..90),
            wanted in proptest::collection::vec(prop_oneof![Just(0u8), Just(7), Just(255)], 0..8),
            start in proptest::collection::vec(any::<u8>(), 0..6),
        ) {
            keys.iter_mut().for_each(|key| drop(key.splice(..0, start.iter().copied())));
            keys.sort();
            let (raw, found) = sorted(&keys);
            let other = [&start[..], &wanted[..]].concat();
            for wanted in keys.iter().chain([&wanted, &other]) {
                prop_assert_eq!(found.search(&raw, wanted, Ordering::is_ge), keys.partition_point(|key| key < wanted));
                prop_assert_eq!(found.search(&raw, wanted, Ordering::is_gt), keys.partition_point(|key| key <= wanted));
            }
        }
    }

    /// The index of a segment with rows of a few trees: all heads of a tree may be the same.
    #[test]
    fn keys_with_the_same_head_are_told_apart() {
        let keys: Vec<_> = (0..3000).map(|number| format!("{}aaaa{number:05}", number / 1000).into_bytes()).collect();
        let (raw, found) = sorted(&keys);
        for (index, key) in keys.iter().enumerate() {
            assert_eq!(found.search(&raw, key, Ordering::is_ge), index);
            assert_eq!(found.search(&raw, key, Ordering::is_gt), index + 1);
        }
    }
}
