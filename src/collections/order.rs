//! Compares bytes eight at a time. The library's comparison, compiled to WebAssembly, takes one at a time, and keys begin
//! alike.

use std::cmp::Ordering;

/// The order of two byte strings, as slices have it.
#[inline(never)]
pub(crate) fn compare(a: &[u8], b: &[u8]) -> Ordering {
    let (mut left, mut right) = (a, b);
    while let (Some((x, rest_x)), Some((y, rest_y))) = (left.split_first_chunk(), right.split_first_chunk()) {
        if u64::from_le_bytes(*x) != u64::from_le_bytes(*y) {
            return u64::from_be_bytes(*x).cmp(&u64::from_be_bytes(*y));
        }
        (left, right) = (rest_x, rest_y);
    }
    // Rests are shorter than a chunk. At equal lengths the last chunks decide; they include some equal bytes.
    match (a.last_chunk(), b.last_chunk()) {
        (Some(x), Some(y)) if a.len() == b.len() => u64::from_be_bytes(*x).cmp(&u64::from_be_bytes(*y)),
        _ => left.cmp(right),
    }
}

/// Whether two short texts are the same. Most different ones differ in their length or their first byte.
#[inline]
pub(crate) fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).all(|(x, y)| x == y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bytes_are_ordered_as_slices_are(
            start in proptest::collection::vec(any::<u8>(), 0..20),
            a in proptest::collection::vec(0u8..3, 0..12),
            b in proptest::collection::vec(0u8..3, 0..12),
        ) {
            let (a, b) = ([&start[..], &a[..]].concat(), [&start[..], &b[..]].concat());
            prop_assert_eq!(compare(&a, &b), a.cmp(&b));
            prop_assert_eq!(compare(&a, &a), Ordering::Equal);
        }
    }
}
