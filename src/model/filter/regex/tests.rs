//! Expressions of all kinds, compared to the crate regex-lite.

use super::Regex;
use proptest::prelude::*;

/// What expressions are put together from: what is well-formed first.
const PARTS: &[&str] = &[
    "a",
    "b",
    "c",
    "A",
    "1",
    "_",
    " ",
    "\n",
    "\r",
    "é",
    ".",
    "*",
    "+",
    "?",
    "??",
    "*?",
    "+?",
    "{2}",
    "{0}",
    "{1}",
    "{1,}",
    "{0,2}",
    "{2,}",
    "{2,3}?",
    "{ 1 , 2 }",
    "(?:",
    "(?i:",
    "(",
    ")",
    "|",
    "(?i)",
    "(?s)",
    "(?m)",
    "(?R)",
    "(?U)",
    "(?x)",
    "(?-x)",
    "[a-c]",
    "[^a]",
    "[[:alpha:]]",
    "[^[:^digit:]]",
    "[]a]",
    "[^]a]",
    "[-a]",
    "[a-]",
    "[\\d-x]",
    "^",
    "$",
    "\\b",
    "\\B",
    "\\A",
    "\\z",
    "\\<",
    "\\>",
    "\\b{start}",
    "\\b{end}",
    "\\b{start-half}",
    "\\b{ end-half }",
    "\\b{2}",
    "\\d",
    "\\D",
    "\\w",
    "\\W",
    "\\s",
    "\\S",
    "\\n",
    "\\t",
    "\\x41",
    "\\x{61}",
    "\\u0061",
    "\\U00000061",
    "\\-",
    "\\.",
    "\\ ",
    "# c\n",
    "[\u{10ffff}]",
    "[^\0-\u{10ffff}]",
    "[^\0-\u{d7ff}]",
    "(?P<n>",
    "(?<n2>",
    "(?<n>",
    "(?<é.1>",
    "(?<",
    "(?<>",
    "(?<1>",
    "(?",
    "(?=",
    "(?<!",
    "(?i-",
    "(?ii)",
    "(?-)",
    "(?--",
    "(?u)",
    "(?q)",
    "(?mR)",
    "(?m-s:",
    "(?x:",
    "()",
    "[",
    "]",
    "[^",
    "[[:word:]",
    "[[:foo:]]",
    "[[",
    "-",
    "--",
    "[a--b]",
    "[a&&b]",
    "[~~]",
    "&&",
    "~~",
    "z-a",
    "[z-a]",
    "[\\b]",
    "[\\]]",
    "[\\d-\\w]",
    "a-",
    "-a",
    "#",
    "{",
    "}",
    "{a",
    "{1",
    "{1,",
    "{,2}",
    "{3,1}",
    "{99999999999}",
    ",",
    "\\b{foo}",
    "\\b{",
    "\\b{start",
    "\\x{110000}",
    "\\xg",
    "\\x",
    "\\u00",
    "\\x{",
    "\\x{}",
    "\\x{g}",
    "\\ud800",
    "\\p",
    "\\1",
    "\\q",
    "\\é",
    "\\",
    "\u{2028}",
];
/// So many of them are no errors by themselves.
const RIGHT: usize = 75;

fn expression() -> impl Strategy<Value = String> {
    let of = |count| proptest::collection::vec(proptest::sample::select(&PARTS[..count]), 1..9);
    prop_oneof![3 => of(RIGHT), 1 => of(PARTS.len())].prop_map(|parts| {
        let mut text = parts.concat();
        let open = text.matches('(').count().saturating_sub(text.matches(')').count());
        text.push_str(&")".repeat(open));
        text
    })
}

fn text() -> impl Strategy<Value = String> {
    const CHARS: [char; 12] = ['a', 'b', 'c', 'A', 'B', '1', '_', ' ', '\n', '\r', 'é', '\u{10ffff}'];
    proptest::collection::vec(proptest::sample::select(&CHARS[..]), 0..10).prop_map(String::from_iter)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn r6_expressions_find_what_regex_lite_finds(expression in expression(), texts in [text(), text(), text()]) {
        let theirs = regex_lite::RegexBuilder::new(&expression).size_limit(1 << 20).build();
        let ours = Regex::new(&expression, 1 << 20);
        match (theirs, ours) {
            (Err(theirs), Err(ours)) => prop_assert_eq!(theirs.to_string(), ours),
            (Ok(theirs), Ok(ours)) => {
                prop_assert_eq!(theirs.captures_len(), ours.groups());
                for text in &texts {
                    let found = theirs.captures(text);
                    let found = found.and_then(|found| found.get(usize::from(found.len() > 1)));
                    prop_assert_eq!(found.map(|found| found.as_str()), ours.find(text), "in {:?}", text);
                }
            }
            (theirs, ours) => prop_assert!(false, "{theirs:?} {ours:?}"),
        }
    }

    #[test]
    fn r6_any_text_is_an_expression_or_none(expression in "\\PC{0,40}", text in text()) {
        if let Ok(regex) = Regex::new(&expression, 1 << 15) {
            let _ = regex.find(&text);
        }
    }
}

#[test]
fn r6_programs_end_where_they_get_too_large() {
    for expression in ["a{4000000000}", "(?:){4000000000}", "(?:a{0,4000000000}){9}", "(?:(?:^*){65535}){65535}"] {
        assert_eq!(Regex::new(expression, 1 << 15).err(), Some("compiled regex exceeded size limit"), "{expression}");
    }
}
