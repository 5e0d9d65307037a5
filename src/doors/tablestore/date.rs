//! Times in headers: `2026-11-20T04:08:48.000Z`, always UTC.

pub(super) const DAY_MS: i64 = 86_400_000;

/// Reads a time, in ms since 1970. Up to nine digits behind the point, which may be missing. `None` for any other text.
pub(super) fn parse(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let number = |from: usize, to: usize| {
        let mut digits = bytes.get(from..to)?.iter();
        digits.try_fold(0_i64, |sum, byte| byte.is_ascii_digit().then(|| 10 * sum + i64::from(byte - b'0')))
    };
    let sign = |at: usize, sign: u8| (bytes.get(at) == Some(&sign)).then_some(());
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (bytes.len() - 1, b'Z')]
        .into_iter()
        .try_for_each(|(at, letter)| sign(at, letter))?;
    let mut fraction = 0;
    if bytes.len() > 20 {
        sign(19, b'.')?;
        let count = bytes.len() - 21;
        if !(1..=9).contains(&count) {
            return None;
        }
        fraction = number(20, 20 + count)? * 10_i64.pow(9 - count as u32) / 1_000_000;
    }
    let is_day = (1..=12).contains(&month) && day >= 1 && day <= days_of(year, month);
    let is_time = hour < 24 && minute < 60 && second < 61;
    let seconds = ((days_to(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    (is_day && is_time).then_some(seconds * 1000 + fraction)
}

/// A time in ms since 1970.
pub(super) fn format(ms: i64) -> String {
    let (days, rest) = (ms.div_euclid(DAY_MS), ms.rem_euclid(DAY_MS));
    // The year begins in March here: its last day is the one that may be missing.
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + i64::from(month <= 2);
    let (second, milli) = (rest / 1000, rest % 1000);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{milli:03}Z", second / 3600, second / 60 % 60, second % 60)
}

fn days_of(year: i64, month: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The days from 1970 to a date.
fn days_to(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_are_read_and_written_as_in_headers() {
        assert_eq!(format(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(format(1_469_030_400_000), "2016-07-20T16:00:00.000Z");
        assert_eq!(parse("2016-07-20T16:00:00.000Z"), Some(1_469_030_400_000));
        assert_eq!(parse("2016-07-20T16:00:00Z"), Some(1_469_030_400_000));
        assert_eq!(parse("2016-02-29T23:59:59.961Z"), Some(1_456_790_399_961));
        assert_eq!(parse("2026-11-20T04:08:48.000000Z"), parse("2026-11-20T04:08:48.000Z"));
        assert_eq!(parse("2026-11-20T04:08:48.1239Z"), parse("2026-11-20T04:08:48.123Z"));
        for wrong in [
            "",
            "Z",
            "2016-07-20",
            "2016-07-20 16:00:00.000Z",
            "2016-13-20T16:00:00.000Z",
            "2015-02-29T16:00:00.000Z",
            "2016-07-20T24:00:00.000Z",
            "2016-07-20T16:00:00.Z",
            "2016-07-20T16:00:00.000",
            "2016-07-20T16:00:00.0000000000Z",
            "2016-07-20T16:00:00.00aZ",
            "+016-07-20T16:00:00.000Z",
            "2016-07-20T16:60:00Z",
            "é016-07-20T16:00:00Z",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn a_time_is_read_as_it_was_written(ms in -62_135_596_800_000_i64..253_402_300_800_000) {
            prop_assert_eq!(parse(&format(ms)), Some(ms));
        }
    }
}
