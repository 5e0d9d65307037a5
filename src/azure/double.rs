//! The shortest text of a double that reads back as the same one; of several, the nearest.
//!
//! The standard library writes the same texts, with 20 KB of code and tables. Most doubles have few digits, so they are tried
//! first. The others take the schoolbook's way, with exact numbers (Steele and White).

use super::natural::Natural;
use super::text::{append, push_integer, push_number};
use std::cmp::Ordering;

/// Texts with fewer digits than this all read as different doubles.
const SURE: f64 = 1e15;
/// Below ten to this power, and from ten to the other one on, a text has an exponent.
const POINT: std::ops::Range<i32> = -3..17;
/// The bits behind a double's first one.
const FRACTION: u32 = 52;
/// The exponent of the last bit of the smallest doubles.
const LOWEST: i32 = -1074;

/// Appends the text of a finite number, with a point or an exponent.
pub(super) fn write(value: f64, out: &mut String) {
    if value.is_sign_negative() {
        out.push('-');
    }
    let value = value.abs();
    if value == 0.0 {
        out.push_str("0.0");
        return;
    }
    let (digits, point) = few_digits(value).unwrap_or_else(|| exact_digits(value));
    if POINT.contains(&point) {
        if point <= 0 {
            out.push_str("0.");
            (point..0).for_each(|_| out.push('0'));
            out.push_str(&digits);
            return;
        }
        let (whole, fraction) = digits.split_at_checked(point as usize).unwrap_or((&digits, ""));
        out.push_str(whole);
        (digits.len() as i32..point).for_each(|_| out.push('0'));
        out.push('.');
        out.push_str(if fraction.is_empty() { "0" } else { fraction });
        return;
    }
    let (first, rest) = digits.split_at_checked(1).unwrap_or((&digits, ""));
    out.push_str(first);
    if !rest.is_empty() {
        append(&[".", rest], out);
    }
    out.push('e');
    push_integer((point - 1).into(), out);
}

/// The digits, and how many of them stand before the point, for a number that is a short whole number over a small power of
/// ten. Both are exact doubles, so their quotient is the double that the text reads as.
fn few_digits(value: f64) -> Option<(String, i32)> {
    let mut power = 1.0;
    for behind in 0..=22 {
        let scaled = value * power;
        // Rounds, as far as it can matter here.
        let whole = (scaled + 0.5) as u64;
        if scaled >= SURE {
            return None;
        }
        if whole as f64 / power == value {
            let mut digits = String::new();
            push_number(whole, 1, &mut digits);
            let point = digits.len() as i32 - behind;
            digits.truncate(digits.trim_end_matches('0').len());
            return Some((digits, point));
        }
        power *= 10.0;
    }
    None
}

/// The same for any number.
fn exact_digits(value: f64) -> (String, i32) {
    let bits = value.to_bits();
    let (fraction, exponent) = (bits & ((1 << FRACTION) - 1), (bits >> FRACTION) as i32);
    let (number, power) =
        if exponent == 0 { (fraction, LOWEST) } else { (fraction | 1 << FRACTION, exponent - 1 + LOWEST) };
    // The double below a power of two is nearer than the one above.
    let is_near = fraction == 0 && exponent > 1;
    let more = 1 + u32::from(is_near);
    // The number over `scale` is a fraction of ten to `point`. So are the ways to the middles between it and its neighbours.
    let mut rest = Natural::new(number, power.max(0) as u32 + more);
    let mut below = Natural::new(1, power.max(0) as u32);
    let mut above = Natural::new(1, power.max(0) as u32 + u32::from(is_near));
    let mut scale = Natural::new(1, (-power).max(0) as u32 + more);
    // Even numbers own the middles.
    let even = number % 2 == 0;
    let reaches = |order: Ordering| order == Ordering::Greater || even && order == Ordering::Equal;
    // The logarithm, or one less.
    let size = i64::from(u64::BITS - (number - 1).leading_zeros()) + i64::from(power);
    let mut point = ((size * 1_292_913_986) >> 32) as i32;
    for _ in 0..point {
        scale.multiply(10, 0);
    }
    for _ in point..0 {
        for large in [&mut rest, &mut below, &mut above] {
            large.multiply(10, 0);
        }
    }
    if reaches(rest.plus(&above).compare(&scale)) {
        point += 1;
    } else {
        for large in [&mut rest, &mut below, &mut above] {
            large.multiply(10, 0);
        }
    }
    let mut digits = String::with_capacity(17);
    loop {
        let mut digit = b'0';
        while rest.compare(&scale) != Ordering::Less {
            rest.subtract(&scale);
            digit += 1;
        }
        let down = reaches(below.compare(&rest));
        let up = reaches(rest.plus(&above).compare(&scale));
        if !down && !up {
            digits.push(char::from(digit));
            for large in [&mut rest, &mut below, &mut above] {
                large.multiply(10, 0);
            }
            continue;
        }
        digits.push(char::from(digit));
        if up && !(down && rest.plus(&rest).compare(&scale) == Ordering::Less) {
            let nines = digits.len() - digits.trim_end_matches('9').len();
            digits.truncate(digits.len() - nines);
            match digits.pop() {
                Some(last) => digits.push(char::from(last as u8 + 1)),
                None => {
                    digits.push('1');
                    point += 1;
                }
            }
        }
        return (digits, point);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::sim::share;
    use proptest::prelude::*;

    #[track_caller]
    fn check(value: f64) {
        let mut text = String::new();
        write(value, &mut text);
        assert_eq!(text, format!("{value:?}"), "{:#x}", value.to_bits());
    }

    #[test]
    fn azure_v5_doubles_at_the_edges_are_written_as_elsewhere() {
        let known =
            [0.0, 1.0, 0.1, 1e15, 1e16, 1e17, 123_456_789_012_345_680.0, 1e-4, 1e-5, 9.999e-5, 5e-324, 1e23, 9e22];
        for value in known {
            check(value);
            check(-value);
        }
        for value in
            [f64::MAX, f64::MIN_POSITIVE, f64::EPSILON, 0.3, 2.5, 1.0 / 3.0, 9_007_199_254_740_993.0, 1e21, 1e22]
        {
            for value in [value, value.next_up().min(f64::MAX), value.next_down()] {
                check(value);
            }
        }
    }

    #[test]
    fn azure_v5_powers_of_two_and_of_ten_are_written_as_elsewhere() {
        for exponent in 0..2047_u64 {
            let value = f64::from_bits(exponent << FRACTION);
            for value in [value, value.next_up().min(f64::MAX), if exponent > 0 { value.next_down() } else { 1.0 }] {
                check(value);
            }
        }
        for bit in 0..FRACTION {
            check(f64::from_bits(1 << bit));
        }
        for power in -324..309 {
            let value: f64 = format!("1e{power}").parse().expect("a number");
            for value in [value, value.next_up(), value.next_down().max(0.0), value / 3.0] {
                check(value);
            }
        }
    }

    /// A million, the same in every run; a part of them where a part of the lives is taken (`TABSTORE_SHARE`).
    #[test]
    fn azure_v5_a_million_doubles_are_written_as_elsewhere() {
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for _ in 0..250_000 / share() {
            let bits = next();
            // Any bits, subnormals, doubles of a common size, and those with few digits.
            let any = f64::from_bits(bits);
            check(if any.is_finite() { any } else { 1.5 });
            check(f64::from_bits(bits >> 12));
            check((bits as f64 / 1e16) - 900.0);
            check((bits >> 40) as f64 / [1.0, 10.0, 100.0, 1e3, 1e5, 1e9][(bits % 6) as usize]);
        }
    }

    proptest! {
        #[test]
        fn azure_v5_texts_of_doubles_read_back(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            let mut text = String::new();
            write(value, &mut text);
            prop_assert_eq!(crate::model::decimal::parse(&text).map(f64::to_bits), Some(bits));
            check(value);
        }
    }
}
