//! Decimal numbers in text as doubles: always the nearest one, ties to even.
//!
//! The standard library's conversion is fast, but its tables weigh 14 KB in a package of 200, for a rule that reads short
//! numbers. This is schoolbook arithmetic with one large number, in about 1 KB.

use super::natural::Natural;

/// The number of digits that decide. Of digits behind these it only matters whether all are zero.
const DIGITS: usize = 800;
/// Every double lies between ten to the minus of this and ten to this.
const EXPONENT: i64 = 400;
/// The exponents of the smallest double's only bit, and of the largest doubles' highest.
const LOWEST: i64 = -1074;
const HIGHEST: i64 = 1023;

/// Reads `[+-] digits [. digits] [e [+-] digits]`, with at least one digit before or behind the point. `None` for other
/// text, or beyond the largest double.
pub(crate) fn parse(text: &str) -> Option<f64> {
    let (negative, text) = sign(text);
    let at = text.find(['e', 'E']);
    let (number, exponent) = match at {
        Some(at) => (text.get(..at)?, exponent(text.get(at + 1..)?)?),
        None => (text, 0),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut digits = Natural::default();
    let (mut count, mut sticky) = (0, false);
    // The number is the digits times ten to this power.
    let mut power = exponent.saturating_sub(fraction.len() as i64);
    for byte in whole.bytes().chain(fraction.bytes()) {
        if !byte.is_ascii_digit() {
            return None;
        }
        let digit = u32::from(byte - b'0');
        if count == DIGITS {
            sticky |= digit > 0;
            power = power.saturating_add(1);
        } else if count > 0 || digit > 0 {
            count += 1;
            digits.multiply(10, digit);
        }
    }
    let size = nearest(digits, count as i64, power, sticky)?;
    Some(if negative { -size } else { size })
}

fn sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

fn exponent(text: &str) -> Option<i64> {
    let (negative, digits) = sign(text);
    if digits.is_empty() {
        return None;
    }
    let mut value = 0i64;
    for byte in digits.bytes() {
        if !byte.is_ascii_digit() {
            return None;
        }
        value = value.saturating_mul(10).saturating_add(i64::from(byte - b'0'));
    }
    Some(if negative { -value } else { value })
}

/// The double nearest to `digits` (`count` of them) times ten to `power`. `sticky`: the exact number is a little larger.
fn nearest(mut digits: Natural, count: i64, power: i64, mut sticky: bool) -> Option<f64> {
    if count == 0 || power.saturating_add(count) < -EXPONENT {
        return Some(0.0);
    }
    if power.saturating_add(count) > EXPONENT {
        return None;
    }
    // Now it is a whole number times two to the minus of `shift`.
    let mut shift = 0;
    for _ in 0..power {
        digits.multiply(10, 0);
    }
    if power < 0 {
        // More than enough bits are left after the division: four for each power of ten, and 64.
        let words = (power.unsigned_abs() / 8 + 3) as usize;
        shift = 32 * words as i64;
        digits.shift(words);
        for _ in 0..power.unsigned_abs() {
            sticky |= digits.divide(10) > 0;
        }
    }
    let highest = digits.bits() - 1 - shift;
    if highest > HIGHEST {
        return None;
    }
    let lowest = (highest - 52).max(LOWEST);
    let drop = lowest + shift;
    let kept = (drop..drop + 53).rev().fold(0, |kept, at| 2 * kept + u64::from(digits.bit(at)));
    let half = digits.bit(drop - 1);
    let more = sticky || (0..drop - 1).any(|at| digits.bit(at));
    let up = u64::from(half && (more || kept % 2 == 1));
    // A bit that is carried out of the fraction belongs to the exponent.
    let bits = (((lowest - LOWEST) as u64) << 52) + kept + up;
    Some(f64::from_bits(bits)).filter(|size| size.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The result of the standard library, without words such as `inf`.
    fn standard(text: &str) -> Option<u64> {
        let number = text.parse::<f64>().ok()?;
        let words = text.bytes().any(|byte| byte.is_ascii_alphabetic() && !matches!(byte, b'e' | b'E'));
        (number.is_finite() && !words).then_some(number.to_bits())
    }

    fn ours(text: &str) -> Option<u64> {
        parse(text).map(f64::to_bits)
    }

    #[test]
    fn r6_numbers_at_the_edges() {
        let long = format!("0.{}1e20", "0".repeat(1000));
        let tie = format!("9007199254740993.{}", "0".repeat(1000));
        let above = format!("9007199254740993.{}1", "0".repeat(1000));
        let nines = "9".repeat(2000);
        for text in [
            "0",
            "-0",
            "+1",
            "1.",
            ".5",
            "-.5e1",
            "1e22",
            "1e23",
            "9007199254740993",
            "9007199254740992.5",
            "0.1",
            "1.7976931348623157e308",
            "1.7976931348623158e308",
            "1.7976931348623159e308",
            "1e309",
            "-1e400",
            "5e-324",
            "2.4703282292062327e-324",
            "2.4703282292062328e-324",
            "2.2250738585072011e-308",
            "2.2250738585072014e-308",
            "1e-400",
            "1e-99999999999999999999",
            "1e99999999999999999999",
            "0e99999999999999999999",
            "9223372036854775808",
            "",
            "+",
            "-",
            ".",
            "e1",
            "1e",
            "1e+",
            ".e1",
            "1 ",
            " 1",
            "1e1.5",
            "--1",
            "1_0",
            "0x10",
            "inf",
            "nan",
            "-infinity",
            "é",
            "1é",
            "٣",
            &long,
            &tie,
            &above,
            &nines,
        ] {
            assert_eq!(ours(text), standard(text), "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn r6_doubles_come_back_exactly(bits in any::<u64>()) {
            let number = f64::from_bits(bits);
            prop_assume!(number.is_finite());
            prop_assert_eq!(ours(&format!("{number:e}")), Some(bits));
            prop_assert_eq!(ours(&format!("{number}")), Some(bits));
            // Between two doubles, where rounding decides.
            let next = f64::from_bits(bits & (u64::MAX >> 1)).next_up();
            let text = format!("{:.20e}", f64::from_bits(bits & (u64::MAX >> 1)) / 2.0 + next / 2.0);
            prop_assert_eq!(ours(&text), standard(&text));
        }

        #[test]
        fn r6_decimals_become_the_nearest_double(text in "[+-]?[0-9]{0,25}(\\.[0-9]{0,25})?(e[+-]?[0-9]{1,3})?") {
            prop_assert_eq!(ours(&text), standard(&text), "{}", text);
        }

        #[test]
        fn anything_else_is_none(text in "[-+.e0-9x ]{0,12}") {
            prop_assert_eq!(ours(&text), standard(&text), "{}", text);
        }
    }
}
