//! Engine keys, which begin with their tree, and ranges of them.

use crate::collections::order::compare;
use crate::model::{TreeId, partition_prefix};
use std::ops::Bound;

/// Keys in the engine start with the tree's id.
pub(crate) const TREE_BYTES: usize = 4;

/// A range of encoded keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// Its lower end.
    pub lower: Bound<Vec<u8>>,
    /// Its upper end.
    pub upper: Bound<Vec<u8>>,
}

/// A [`KeyRange`], borrowed.
pub(crate) type Bounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// Whether a key lies in a range.
pub(crate) fn within((lower, upper): Bounds<'_>, key: &[u8]) -> bool {
    let is_behind = match lower {
        Bound::Included(first) => compare(key, first).is_ge(),
        Bound::Excluded(before) => compare(key, before).is_gt(),
        Bound::Unbounded => true,
    };
    is_behind
        && match upper {
            Bound::Included(last) => compare(key, last).is_le(),
            Bound::Excluded(behind) => compare(key, behind).is_lt(),
            Bound::Unbounded => true,
        }
}

impl KeyRange {
    /// All keys.
    pub const ALL: Self = Self { lower: Bound::Unbounded, upper: Bound::Unbounded };

    pub(in crate::engine) fn bounds(&self) -> Bounds<'_> {
        (self.lower.as_ref().map(Vec::as_slice), self.upper.as_ref().map(Vec::as_slice))
    }

    pub(in crate::engine) fn contains(&self, key: &[u8]) -> bool {
        within(self.bounds(), key)
    }
}

/// Which way a range is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Ascending.
    Forward,
    /// Descending.
    Backward,
}

/// The tree that a full key begins with.
pub(crate) fn tree_of(key: &[u8]) -> Option<TreeId> {
    key.first_chunk::<TREE_BYTES>().map(|id| TreeId(u32::from_be_bytes(*id)))
}

/// A full key without its tree.
#[inline]
pub(crate) fn own_key(key: &[u8]) -> &[u8] {
    key.get(TREE_BYTES..).unwrap_or_default()
}

pub(crate) fn full_key(tree: TreeId, key: &[u8]) -> Box<[u8]> {
    let mut full = Vec::with_capacity(TREE_BYTES + key.len());
    full.extend_from_slice(&tree.0.to_be_bytes());
    full.extend_from_slice(key);
    full.into()
}

/// The same range with the tree before its keys.
pub(crate) fn tree_range(tree: TreeId, range: KeyRange) -> KeyRange {
    let full = |key: Vec<u8>| full_key(tree, &key).into_vec();
    let lower = match range.lower.map(full) {
        Bound::Unbounded => Bound::Included(tree.0.to_be_bytes().to_vec()),
        bound => bound,
    };
    let upper = match range.upper.map(full) {
        // Encoded keys never start with FF, so this is behind all keys of the tree.
        Bound::Unbounded => Bound::Excluded(full_key(tree, &[0xFF]).into_vec()),
        bound => bound,
    };
    KeyRange { lower, upper }
}

/// The tree and the partition key of a key.
pub(crate) fn partition_of(key: &[u8]) -> &[u8] {
    let own = own_key(key);
    let length = partition_prefix(own).map_or(own.len(), <[u8]>::len);
    key.get(..TREE_BYTES + length).unwrap_or(key)
}

/// The greatest key that can be stored before a boundary (a tree and a partition key). Keys of the partition key before
/// it have more bytes, which never begin with FF. No other partition key lies between: integers step by one, and the end
/// of a text less one (00 01 less 1) occurs in no text.
pub(crate) fn before(boundary: &[u8]) -> Box<[u8]> {
    let mut key = boundary.to_vec();
    for byte in key.iter_mut().rev() {
        let (less, borrowed) = byte.overflowing_sub(1);
        *byte = less;
        if !borrowed {
            break;
        }
    }
    key.push(0xFF);
    key.into()
}

/// The boundary behind a key made by [`before`].
pub(crate) fn boundary_behind(key: &[u8]) -> Option<Vec<u8>> {
    let mut boundary = key.strip_suffix(&[0xFF])?.to_vec();
    for byte in boundary.iter_mut().rev() {
        *byte = byte.wrapping_add(1);
        if *byte > 0 {
            break;
        }
    }
    Some(boundary)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::ops::RangeBounds;

    fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
        let key = || proptest::collection::vec(0u8..3, 0..12);
        prop_oneof![key().prop_map(Bound::Included), key().prop_map(Bound::Excluded), Just(Bound::Unbounded)]
    }

    proptest! {
        #[test]
        fn a_range_has_the_keys_that_ranges_of_slices_have(lower in bound(), upper in bound(), key in proptest::collection::vec(0u8..3, 0..12)) {
            let range = KeyRange { lower: lower.clone(), upper: upper.clone() };
            prop_assert_eq!(range.contains(&key), (lower.clone(), upper.clone()).contains(&key));
            if let Bound::Included(end) | Bound::Excluded(end) = &lower {
                prop_assert_eq!(range.contains(end), (lower.clone(), upper).contains(end));
            }
        }
    }
}
