//! Decimal numbers in text as doubles: always the nearest one, ties to even.
//!
//! The host converts them: JavaScript's engine in a browser, where the standard library's tables would weigh 14 KB, and else the
//! standard library. Both take more texts than a rule may, so the form of a text is looked at here.

/// Reads `[+-] digits [. digits] [e [+-] digits]`, with at least one digit before or behind the point. `None` for other
/// text, or beyond the largest double.
pub(crate) fn parse(text: &str) -> Option<f64> {
    is_decimal(text).then(|| nearest(text)).filter(|number| number.is_finite())
}

fn is_decimal(text: &str) -> bool {
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, without_sign(exponent)),
        None => (text, "0"),
    };
    let (whole, fraction) = without_sign(number).split_once('.').unwrap_or((without_sign(number), ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    digits(whole) && digits(fraction) && digits(exponent) && !exponent.is_empty() && whole.len() + fraction.len() > 0
}

fn without_sign(text: &str) -> &str {
    text.strip_prefix(['+', '-']).unwrap_or(text)
}

#[cfg(target_arch = "wasm32")]
fn nearest(text: &str) -> f64 {
    js_sys::parse_float(text)
}

#[cfg(not(target_arch = "wasm32"))]
fn nearest(text: &str) -> f64 {
    text.parse().unwrap_or(f64::NAN)
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
