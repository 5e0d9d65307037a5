//! Small tools for texts, compiled once. The standard library's search and sorts weigh 25 KB here.

use crate::collections::sort::sort_by;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The parts before and behind the first `separator`.
#[inline(never)]
pub(crate) fn split<'t>(text: &'t str, separator: &str) -> Option<(&'t str, &'t str)> {
    let at = text.as_bytes().windows(separator.len()).position(|part| part == separator.as_bytes())?;
    Some((text.get(..at)?, text.get(at + separator.len()..)?))
}

/// Appends texts.
#[inline(never)]
pub(crate) fn append(parts: &[&str], out: &mut String) {
    for part in parts {
        out.push_str(part);
    }
}

/// Whether a text has a letter.
#[inline(never)]
pub(crate) fn has(text: &str, letter: char) -> bool {
    text.chars().any(|other| other == letter)
}

/// A text with another one for each `letter`.
#[inline(never)]
pub(crate) fn replaced(text: &str, letter: char, by: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for other in text.chars() {
        if other == letter {
            out.push_str(by);
        } else {
            out.push(other);
        }
    }
    out
}

/// The places of names in the order of the names.
#[inline(never)]
pub(crate) fn sorted(names: &[&str]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..names.len()).collect();
    sort_by(&mut places, |a, b| names.get(*a).cmp(&names.get(*b)));
    places
}

/// Writes a number of at least `width` digits, with zeros before it. The standard library's formatting takes several times as
/// long.
#[inline(never)]
pub(super) fn push_number(number: u64, width: usize, out: &mut String) {
    let (mut digits, mut rest, mut count) = ([b'0'; 20], number, 0);
    for digit in digits.iter_mut().rev() {
        if rest == 0 && count >= width {
            break;
        }
        // Code that is compiled to be small divides by a division, the slowest instruction of all. Most numbers are short enough
        // for a product, with which the quotient is exact.
        let tenth = if rest <= u64::from(u32::MAX) { (rest * 0xCCCC_CCCD) >> 35 } else { rest / 10 };
        *digit = b'0' + (rest - 10 * tenth) as u8;
        rest = tenth;
        count += 1;
    }
    let written = digits.get(digits.len() - count..).and_then(|digits| std::str::from_utf8(digits).ok());
    out.push_str(written.unwrap_or_default());
}

/// Appends bytes as base64. What the crate has for texts brings messages along, for failures that cannot be.
#[inline(never)]
pub(crate) fn push_base64(bytes: &[u8], out: &mut String) {
    let mut letters = vec![0; 4 * bytes.len().div_ceil(3)];
    let written = STANDARD.encode_slice(bytes, &mut letters).ok().and_then(|count| letters.get(..count));
    out.push_str(written.and_then(|letters| std::str::from_utf8(letters).ok()).unwrap_or_default());
}

/// Reads base64 with its padding; `None` for any other text. What the crate has reads several times as fast, and weighs six times
/// as much.
#[inline(never)]
pub(crate) fn parse_base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    if !text.len().is_multiple_of(4) || text.len() - digits.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0);
    for letter in digits.bytes() {
        let digit = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(digit);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    // What is behind the last byte says nothing, and is zero.
    (bits & ((1 << count) - 1) == 0).then_some(bytes)
}

/// Writes an integer.
pub(super) fn push_integer(value: i64, out: &mut String) {
    if value < 0 {
        out.push('-');
    }
    push_number(value.unsigned_abs(), 1, out);
}

/// The UTF-16 units of a text: the service counts in them.
#[must_use]
pub(crate) fn utf16_length(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.encode_utf16().count() }
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

        #[test]
        fn azure_v9_base64_is_read_as_elsewhere(
            bytes in prop::collection::vec(any::<u8>(), 0..9),
            text in "[A-Zaz059+/=_ é]{0,9}",
            last in "[A-D+/=]{0,2}",
        ) {
            let mut written = String::new();
            push_base64(&bytes, &mut written);
            prop_assert_eq!(parse_base64(&written), Some(bytes));
            let start: String = written.chars().take(written.len().saturating_sub(last.len())).collect();
            for text in [text, start + &last] {
                prop_assert_eq!(parse_base64(&text), STANDARD.decode(&text).ok(), "{}", text);
            }
        }

        #[test]
        fn letters_are_replaced_as_elsewhere(text in "[aé+]{0,12}", letter in "[aé+]", by in "[+b]{0,2}") {
            let letter = letter.chars().next().unwrap_or_default();
            prop_assert_eq!(replaced(&text, letter, &by), text.replace(letter, &by));
        }

        #[test]
        fn numbers_are_written_as_elsewhere(number in any::<u64>(), shift in 0_u32..64, width in 0_usize..9) {
            let mut text = String::from("x");
            push_number(number >> shift, width.max(1), &mut text);
            prop_assert_eq!(text, format!("x{:0width$}", number >> shift, width = width.max(1)));
        }
    }
}
