//! The error for a table that does not exist: it lists existing tables and a likely one.

use crate::error::{Code, Error};

/// The most table names in the hint.
const NAMED: usize = 5;
/// Names are similar if they differ by at most this many letters in one place.
const SIMILAR: usize = 2;

/// The refusal of the table `name`, given the existing `tables`.
pub(crate) fn error<'t>(name: &str, tables: impl Iterator<Item = &'t String>) -> Error {
    let (mut named, mut count) = (Vec::new(), 0);
    let mut nearest: Option<(usize, &str)> = None;
    for table in tables {
        count += 1;
        if named.len() < NAMED {
            named.push(format!("'{table}'"));
        }
        let far = distance(name, table);
        if far <= SIMILAR && 2 * far <= name.len() && nearest.is_none_or(|(least, _)| far < least) {
            nearest = Some((far, table));
        }
    }
    let mut hint = format!("There is no table '{name}'.");
    if let Some((_, nearest)) = nearest {
        hint = format!("{hint} Is '{nearest}' meant?");
    }
    let more = if count > NAMED { ", …" } else { "" };
    let all = if count == 0 { "none".to_owned() } else { named.join(", ") };
    Error::new(Code::ObjectNotExist, "Requested table does not exist.")
        .with_hint(format!("{hint} Tables of the instance: {all}{more}."))
}

/// The number of letters of the longer name between their common start and end, ignoring case. One pass suffices, so a
/// batch of a thousand wrong rows stays cheap.
fn distance(a: &str, b: &str) -> usize {
    let same = |(a, b): &(u8, u8)| a.eq_ignore_ascii_case(b);
    let start = a.bytes().zip(b.bytes()).take_while(same).count();
    let end = a.bytes().rev().zip(b.bytes().rev()).take_while(same).count();
    let (least, most) = (a.len().min(b.len()), a.len().max(b.len()));
    most - (start + end).min(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(name: &str, tables: &[&str]) -> String {
        let tables: Vec<String> = tables.iter().map(|&table| table.to_owned()).collect();
        error(name, tables.iter()).hint().expect("a hint").to_owned()
    }

    #[test]
    fn a_missing_tables_hint_names_the_nearest_one_and_a_handful() {
        assert_eq!(hint("t", &[]), "There is no table 't'. Tables of the instance: none.");
        for name in ["Reading", "reding", "raeding", "readings", "readi"] {
            let expected =
                format!("There is no table '{name}'. Is 'reading' meant? Tables of the instance: 'log', 'reading'.");
            assert_eq!(hint(name, &["log", "reading"]), expected);
        }
        assert_eq!(hint("station", &["log"]), "There is no table 'station'. Tables of the instance: 'log'.");
        let many = ["a1", "a2", "a3", "a4", "a5", "a6"];
        assert_eq!(hint("a", &["b"]), "There is no table 'a'. Tables of the instance: 'b'.", "too short to be similar");
        let expected = "There is no table 'zzzz'. Tables of the instance: 'a1', 'a2', 'a3', 'a4', 'a5', ….";
        assert_eq!(hint("zzzz", &many), expected);
    }
}
