//! Small tools for texts, compiled once. The standard library's search and sorts weigh 25 KB here.

use crate::collections::sort::sort_by;

/// The parts before and behind the first `separator`.
#[inline(never)]
pub(crate) fn split<'t>(text: &'t str, separator: &str) -> Option<(&'t str, &'t str)> {
    let at = text.as_bytes().windows(separator.len()).position(|part| part == separator.as_bytes())?;
    Some((text.get(..at)?, text.get(at + separator.len()..)?))
}

/// Whether a text has a letter.
#[inline(never)]
pub(crate) fn has(text: &str, letter: char) -> bool {
    text.chars().any(|other| other == letter)
}

/// The places of names in the order of the names.
#[inline(never)]
pub(crate) fn sorted(names: &[&str]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..names.len()).collect();
    sort_by(&mut places, |a, b| names.get(*a).cmp(&names.get(*b)));
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn texts_are_split_and_sorted_as_elsewhere(
            text in "[aé-]{0,12}",
            separator in "[aé-]{1,3}",
            names in prop::collection::vec("[a-c]{0,2}", 0..9),
        ) {
            prop_assert_eq!(split(&text, &separator), text.split_once(&separator));
            let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
            let found: Vec<_> = sorted(&names).into_iter().map(|at| names[at]).collect();
            names.sort_unstable();
            prop_assert_eq!(found, names);
        }
    }
}
