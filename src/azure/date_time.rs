//! Times: ticks of 100 ns since 1601-01-01 UTC, their texts, and ETags, which are made of them (`azure_V7`, `azure_S3`,
//! `azure_S4`).

use super::text::{append, push_number, split};
use super::{AzureCode, AzureError, AzureResult};

/// Ticks of the Unix epoch.
pub const UNIX_EPOCH: i64 = 116_444_736_000_000_000;
/// Ticks of a millisecond.
pub const MILLISECOND: i64 = 10_000;
/// Ticks of a second.
pub const SECOND: i64 = 10_000_000;
/// The last tick of the year 9999.
pub const MAX: i64 = 2_650_467_743_999_999_999;

const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// The days from 0000-03-01 to 1601-01-01.
const DAYS_BEFORE: i64 = 584_694;
/// The ticks of the year 1, from where `DateTime` of .NET counts.
const LEAST: i64 = -504_911_232_000_000_000;

/// A property that is no text of a time.
fn malformed() -> AzureError {
    AzureError::invalid_input()
}

/// Reads a time: a date, and perhaps hours, minutes, seconds with up to 7 digits behind the point, and a zone. Without one it
/// is UTC. `property` is named in the error.
///
/// # Errors
/// `InvalidInput` for another text, `OutOfRangeInput` for a time before 1601 or behind 9999.
pub fn parse(text: &str, property: &str) -> AzureResult<i64> {
    let ticks = read(text.as_bytes()).ok_or_else(malformed)?;
    if (0..=MAX).contains(&ticks) {
        return Ok(ticks);
    }
    // The service shows whole seconds, in the order of its own culture.
    let shown = format(ticks.max(LEAST));
    let part = |range: std::ops::Range<usize>| shown.get(range).unwrap_or_default();
    let shown = [part(5..7), "/", part(8..10), "/", part(0..4), " ", part(11..19)].concat();
    Err(AzureError::out_of_range(property, &shown))
}

/// Reads a time of a filter: it may also be from a year before 1601. `None` for another text.
#[must_use]
pub fn parse_literal(text: &str) -> Option<i64> {
    read(text.as_bytes())
}

/// The ticks of a text; `None` if it is none.
fn read(text: &[u8]) -> Option<i64> {
    let mut rest = text;
    let (year, month, day) = (digits(&mut rest, 4)?, behind(&mut rest, b'-', 2)?, behind(&mut rest, b'-', 2)?);
    if year == 0 || !(1..=12).contains(&month) || day == 0 || day > days_of(year, month) {
        return None;
    }
    let mut ticks = days_to(year, month, day) * DAY;
    if let [b'T' | b't' | b' ', time @ ..] = rest {
        rest = time;
        let (hour, minute) = (digits(&mut rest, 2)?, behind(&mut rest, b':', 2)?);
        let mut second = 0;
        if rest.first() == Some(&b':') {
            second = behind(&mut rest, b':', 2)?;
            if let [b'.', fraction @ ..] = rest {
                let count = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
                rest = fraction;
                if !(1..=7).contains(&count) {
                    return None;
                }
                ticks += digits(&mut rest, count)? * 10_i64.pow(7 - count as u32);
            }
        }
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        ticks += hour * HOUR + minute * MINUTE + second * SECOND;
    }
    match rest {
        [] | [b'Z' | b'z'] => Some(ticks),
        [sign @ (b'+' | b'-'), zone @ ..] => {
            rest = zone;
            let (hour, minute) = (digits(&mut rest, 2)?, behind(&mut rest, b':', 2)?);
            if !rest.is_empty() || hour > 23 || minute > 59 {
                return None;
            }
            let offset = hour * HOUR + minute * MINUTE;
            Some(if *sign == b'+' { ticks - offset } else { ticks + offset })
        }
        _ => None,
    }
}

/// Exactly so many digits.
fn digits(rest: &mut &[u8], count: usize) -> Option<i64> {
    let (number, behind) = rest.split_at_checked(count)?;
    *rest = behind;
    number.iter().try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| 10 * sum + i64::from(byte - b'0')))
}

/// The same behind a byte.
fn behind(rest: &mut &[u8], byte: u8, count: usize) -> Option<i64> {
    let (first, behind) = rest.split_first()?;
    *rest = behind;
    if *first == byte { digits(rest, count) } else { None }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1601-01-01. Years are counted from March, so that the odd day comes last.
fn days_to(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + (153 * month + 2) / 5 + day
        - 1
        - DAYS_BEFORE
}

/// The date of a number of days from 1601-01-01.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + DAYS_BEFORE;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let year = year + 400 * era;
    if month < 10 { (year, month + 3, day) } else { (year + 1, month - 9, day) }
}

/// The text of a time in UTC. Zeros at the end of its fraction are left out (S3).
#[must_use]
pub fn format(ticks: i64) -> String {
    let (days, time) = (ticks.div_euclid(DAY), ticks.rem_euclid(DAY));
    let (year, month, day) = date(days);
    let (hour, minute, second, fraction) = (time / HOUR, time / MINUTE % 60, time / SECOND % 60, time % SECOND);
    let mut out = String::with_capacity(28);
    // Each entity of a page has times. The standard library's formatting would take a tenth of the page's time.
    let (date, time) =
        ([("", year, 4), ("-", month, 2), ("-", day, 2)], [("T", hour, 2), (":", minute, 2), (":", second, 2)]);
    for (before, number, width) in date.into_iter().chain(time) {
        out.push_str(before);
        push_number(number.unsigned_abs(), width, &mut out);
    }
    if fraction != 0 {
        out.push('.');
        push_number(fraction.unsigned_abs(), 7, &mut out);
        out.truncate(out.trim_end_matches('0').len());
    }
    out.push('Z');
    out
}

/// The text of a time as headers of HTTP have it, such as `Tue, 24 Nov 2026 10:00:00 GMT`.
#[must_use]
pub fn format_http(ticks: i64) -> String {
    const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (days, time) = (ticks.div_euclid(DAY), ticks.rem_euclid(DAY));
    let (year, month, day) = date(days);
    // 1601-01-01 was a Monday.
    let weekday = DAYS.get(days.rem_euclid(7) as usize).copied().unwrap_or_default();
    let month = MONTHS.get(month as usize - 1).copied().unwrap_or_default();
    let (hour, minute, second) = (time / HOUR, time / MINUTE % 60, time / SECOND % 60);
    format!("{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
}

/// The ETag of an entity with this timestamp (S4).
#[must_use]
pub fn etag(ticks: i64) -> String {
    etag_of(&format(ticks))
}

/// The same, from the timestamp's text.
#[must_use]
pub fn etag_of(timestamp: &str) -> String {
    let (hour, rest) = split(timestamp, ":").unwrap_or_default();
    let (minute, second) = split(rest, ":").unwrap_or_default();
    ["W/\"datetime'", hour, "%3A", minute, "%3A", second, "'\""].concat()
}

/// The timestamp of an ETag: `Ok(None)` if it is one, but not of a timestamp, so that no entity has it. Colons may be written
/// either way.
///
/// # Errors
/// `InvalidInput` for a text that is no weak ETag.
pub fn parse_etag(text: &str) -> AzureResult<Option<i64>> {
    let opaque = text.strip_prefix("W/\"").and_then(|rest| rest.strip_suffix('"'));
    let opaque = opaque.filter(|opaque| !opaque.contains('"')).ok_or(AzureCode::InvalidInput)?;
    let time = opaque.strip_prefix("datetime'").and_then(|rest| rest.strip_suffix('\''));
    let Some(time) = time else { return Ok(None) };
    let mut parts = time.split('%');
    let mut time = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let Some(rest) = part.strip_prefix("3A").or_else(|| part.strip_prefix("3a")) else { return Ok(None) };
        append(&[":", rest], &mut time);
    }
    // Another text of the same time is another ETag.
    Ok(read(time.as_bytes()).filter(|ticks| format(*ticks) == time))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn azure_v7_the_forms_of_a_time() {
        let known = [
            ("1601-01-01", 0),
            ("1601-01-01T00:00:00Z", 0),
            ("1970-01-01T00:00", UNIX_EPOCH),
            ("1970-01-01T00:00:00.0000001Z", UNIX_EPOCH + 1),
            ("1970-01-01T00:00:00.5", UNIX_EPOCH + SECOND / 2),
            ("1970-01-01T01:30:00+01:30", UNIX_EPOCH),
            ("1969-12-31T00:01:00-23:59", UNIX_EPOCH),
            ("2000-02-29T00:00:00Z", UNIX_EPOCH + 11_016 * DAY),
            ("9999-12-31T23:59:59.9999999Z", MAX),
        ];
        for (text, ticks) in known {
            assert_eq!(parse(text, "x"), Ok(ticks), "{text}");
        }
        let wrong = [
            "",
            "x",
            "2020",
            "2020-13-01",
            "2020-00-01",
            "2020-02-30",
            "2021-02-29",
            "1900-02-29",
            "2020-01-01T24:00",
            "2020-01-01T00:60",
            "2020-01-01T00:00:60Z",
            "2020-01-01T00:00:00.Z",
            "2020-01-01T00:00:00.12345678Z",
            "2020-01-01T00:00:00+24:00",
            "2020-01-01T00:00:00Zx",
            "2020-1-1",
            "20200101",
            "2020-01-01T",
            "2020-01-01T00",
            "0000-01-01",
        ];
        for text in wrong {
            assert_eq!(parse(text, "x").expect_err(text).code, AzureCode::InvalidInput, "{text}");
        }
    }

    #[test]
    fn azure_v7_a_time_outside_1601_to_9999_is_named_as_the_service_does() {
        let refused = |text| parse(text, "Born").expect_err("refused");
        let error = refused("1600-12-31T23:59:59.9Z");
        assert_eq!(error.code, AzureCode::OutOfRangeInput);
        assert_eq!(error.message, "The 'Born' parameter of value '12/31/1600 23:59:59' is out of range.");
        assert_eq!(refused("1601-01-01T00:00:00+01:00").code, AzureCode::OutOfRangeInput);
        assert_eq!(refused("9999-12-31T23:59:59-00:01").code, AzureCode::OutOfRangeInput);
        assert_eq!(refused("0001-01-01T00:00:00+23:59").code, AzureCode::OutOfRangeInput);
    }

    #[test]
    fn azure_s3_zeros_at_the_end_are_left_out() {
        let texts = [
            "2020-01-02T03:04:53.111829Z",
            "2020-01-02T03:04:58.31814Z",
            "2020-01-02T03:04:48.4767Z",
            "2020-01-02T03:04:00Z",
        ];
        for text in texts {
            assert_eq!(format(parse(text, "x").expect("a time")), text);
        }
    }

    #[test]
    fn azure_s4_an_etag_is_made_of_the_timestamp() {
        let ticks = parse("2020-01-02T03:04:53.111829Z", "x").expect("a time");
        assert_eq!(etag(ticks), "W/\"datetime'2020-01-02T03%3A04%3A53.111829Z'\"");
        assert_eq!(parse_etag(&etag(ticks)), Ok(Some(ticks)));
        assert_eq!(parse_etag("W/\"datetime'2020-01-02T03:04:53.111829Z'\""), Ok(Some(ticks)), "colons either way");
        assert_eq!(parse_etag("W/\"datetime'2020-01-02T03:04:53.1118290Z'\""), Ok(None), "another text of the time");
        assert_eq!(parse_etag("W/\"other\""), Ok(None));
        for wrong in ["", "*", "\"abc\"", "W/abc", "W/\"", "W/\"a\"b\"", "datetime'2020-01-02T03:04:53Z'"] {
            assert!(parse_etag(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_in_headers_have_their_weekday() {
        assert_eq!(format_http(UNIX_EPOCH), "Thu, 01 Jan 1970 00:00:00 GMT");
        let today = parse("2026-11-24T16:17:31.5Z", "x").expect("a time");
        assert_eq!(format_http(today), "Tue, 24 Nov 2026 16:17:31 GMT");
    }

    proptest! {
        #[test]
        fn azure_v7_every_tick_survives_its_text(ticks in 0..=MAX) {
            prop_assert_eq!(parse(&format(ticks), "x"), Ok(ticks));
            prop_assert_eq!(parse_etag(&etag(ticks)), Ok(Some(ticks)));
        }

        #[test]
        fn azure_v7_texts_order_as_their_times(a in 0..=MAX, b in 0..=MAX) {
            let (a, b) = (a / SECOND * SECOND, b / SECOND * SECOND);
            prop_assert_eq!(format(a).cmp(&format(b)), a.cmp(&b));
        }

        #[test]
        fn any_text_is_a_time_or_refused(text in "[-0-9T:.Z+ ]{0,30}") {
            let _ = parse(&text, "x");
        }
    }
}
