//! Reads JSON: the members of one object, as they are written.
//!
//! It is strict: what RFC 8259 does not allow is refused. Values are split off and checked, and read only if somebody wants
//! them. Arrays and objects are skipped without recursion, so no depth of a body costs the thread's stack.

use std::borrow::Cow;

/// The members of the object that a text is, in their order, with names that come twice: each name, and its value as it is
/// written. `None` if the text is not one object.
#[inline(never)]
pub(super) fn members(text: &str) -> Option<Vec<(Cow<'_, str>, &str)>> {
    let mut cursor = Cursor { text, at: 0 };
    let mut members = Vec::new();
    cursor.blanks();
    cursor.expect(b'{')?;
    cursor.blanks();
    if !cursor.take(b'}') {
        loop {
            let name = string(cursor.name()?)?;
            cursor.blanks();
            let start = cursor.at;
            cursor.value()?;
            members.push((name, cursor.since(start)));
            cursor.blanks();
            if !cursor.take(b',') {
                break;
            }
        }
        cursor.expect(b'}')?;
    }
    cursor.blanks();
    (cursor.at == text.len()).then_some(members)
}

/// The text of a string that [`members`] split off; borrowed if it has no escapes. `None` for another value, and for escapes
/// of half a letter.
#[inline(never)]
pub(super) fn string(value: &str) -> Option<Cow<'_, str>> {
    let inside = value.strip_prefix('"')?.strip_suffix('"')?;
    let Some((mut before, mut rest)) = inside.split_once('\\') else { return Some(Cow::Borrowed(inside)) };
    let mut text = String::with_capacity(inside.len());
    loop {
        text.push_str(before);
        let (escape, behind) = rest.split_at_checked(1)?;
        rest = behind;
        text.push(match escape {
            "\"" | "\\" | "/" => escape.chars().next()?,
            "b" => '\x08',
            "f" => '\x0C',
            "n" => '\n',
            "r" => '\r',
            "t" => '\t',
            "u" => {
                let first = unit(&mut rest)?;
                if (0xD800..0xDC00).contains(&first) {
                    rest = rest.strip_prefix("\\u")?;
                    let second = unit(&mut rest)?.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
                    char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + second)?
                } else {
                    // The second half of a letter alone is none.
                    char::from_u32(first)?
                }
            }
            _ => return None,
        });
        match rest.split_once('\\') {
            Some(parts) => (before, rest) = parts,
            None => {
                text.push_str(rest);
                return Some(Cow::Owned(text));
            }
        }
    }
}

/// A UTF-16 unit in four hexadecimal digits.
fn unit(rest: &mut &str) -> Option<u32> {
    let (digits, behind) = rest.split_at_checked(4)?;
    *rest = behind;
    digits.bytes().try_fold(0, |unit, byte| Some(unit << 4 | char::from(byte).to_digit(16)?))
}

/// A place in a text.
struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The next byte.
    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    /// Takes a byte if it is the next.
    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.take(byte).then_some(())
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn since(&self, start: usize) -> &'t str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// A name with its quotes, and the colon behind it.
    fn name(&mut self) -> Option<&'t str> {
        self.blanks();
        let start = self.at;
        self.expect(b'"')?;
        self.string()?;
        let name = self.since(start);
        self.blanks();
        self.expect(b':')?;
        Some(name)
    }

    /// Skips a value, up to its last byte.
    fn value(&mut self) -> Option<()> {
        // The brackets that are still to be closed.
        let mut open = Vec::new();
        loop {
            self.blanks();
            match self.next()? {
                b'"' => self.string()?,
                b'-' => {
                    let first = self.next()?;
                    self.number(first)?;
                }
                first @ b'0'..=b'9' => self.number(first)?,
                b't' => self.word("rue")?,
                b'f' => self.word("alse")?,
                b'n' => self.word("ull")?,
                b'[' => {
                    self.blanks();
                    open.push(b']');
                    if self.peek() != Some(b']') {
                        continue;
                    }
                }
                b'{' => {
                    self.blanks();
                    open.push(b'}');
                    if self.peek() != Some(b'}') {
                        self.name()?;
                        continue;
                    }
                }
                _ => return None,
            }
            loop {
                let Some(close) = open.last().copied() else { return Some(()) };
                self.blanks();
                if self.take(close) {
                    open.pop();
                    continue;
                }
                self.expect(b',')?;
                if close == b'}' {
                    self.name()?;
                }
                break;
            }
        }
    }

    /// Skips a string behind its first quote.
    fn string(&mut self) -> Option<()> {
        loop {
            match self.next()? {
                b'"' => return Some(()),
                b'\\' => match self.next()? {
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                    b'u' => {
                        for _ in 0..4 {
                            self.next().filter(u8::is_ascii_hexdigit)?;
                        }
                    }
                    _ => return None,
                },
                byte if byte < b' ' => return None,
                _ => {}
            }
        }
    }

    /// Skips a number behind its first digit.
    fn number(&mut self, first: u8) -> Option<()> {
        match first {
            // No digit may follow; then the number has ended, and nothing begins with one.
            b'0' if !matches!(self.peek(), Some(b'0'..=b'9')) => {}
            b'1'..=b'9' => self.digits(),
            _ => return None,
        }
        if self.take(b'.') {
            self.some_digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.some_digits()?;
        }
        Some(())
    }

    fn digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    fn some_digits(&mut self) -> Option<()> {
        self.next().filter(u8::is_ascii_digit)?;
        self.digits();
        Some(())
    }

    fn word(&mut self, rest: &str) -> Option<()> {
        rest.bytes().try_for_each(|byte| self.expect(byte))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::value::RawValue;
    use std::fmt;

    /// The members as serde_json sees them.
    struct Expected(Vec<(String, Box<RawValue>)>);

    impl<'de> serde::Deserialize<'de> for Expected {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Visitor;
            impl<'de> serde::de::Visitor<'de> for Visitor {
                type Value = Expected;

                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("an object")
                }

                fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                    let mut members = Vec::new();
                    while let Some(member) = map.next_entry()? {
                        members.push(member);
                    }
                    Ok(Expected(members))
                }
            }
            deserializer.deserialize_map(Visitor)
        }
    }

    /// Compares with serde_json what is accepted, and what is read of it.
    fn check(text: &str) {
        let found = members(text);
        match serde_json::from_str::<Expected>(text) {
            Ok(Expected(expected)) => {
                let found = found.unwrap_or_else(|| panic!("refused: {text}"));
                assert_eq!(found.len(), expected.len(), "{text}");
                for ((name, value), (expected_name, expected)) in found.iter().zip(&expected) {
                    assert_eq!((&**name, *value), (&**expected_name, expected.get()), "{text}");
                    assert_eq!(string(value).map(Cow::into_owned), serde_json::from_str(value).ok(), "{value}");
                }
            }
            Err(error) => assert!(found.is_none(), "{error}: {text}"),
        }
    }

    #[test]
    fn values_come_as_they_are_written() {
        let text = " { \"a\" : 1.50 ,\"b\":[1,{\"c\":[]},{}], \"a\":\"\\u0041\\n\" }\t";
        let found = members(text).expect("an object");
        let found: Vec<_> = found.iter().map(|(name, value)| (&**name, *value)).collect();
        assert_eq!(found, [("a", "1.50"), ("b", "[1,{\"c\":[]},{}]"), ("a", "\"\\u0041\\n\"")]);
        assert!(matches!(string("\"x\""), Some(Cow::Borrowed("x"))));
        assert_eq!(string("\"\\ud83d\\ude00\\/\"").as_deref(), Some("\u{1F600}/"));
        assert_eq!(members("{}"), Some(Vec::new()));
    }

    #[test]
    fn texts_that_are_no_json_are_refused_as_by_others() {
        for value in [
            "01",
            "-",
            "-01",
            "1.",
            ".5",
            "1e",
            "1e+",
            "+1",
            "0x1",
            "-0",
            "0",
            "0.0e-0",
            "1E5",
            "12e+05",
            "1.e1",
            "NaN",
            "tru",
            "true",
            "truex",
            "nul",
            "falsefalse",
            "\"",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\u12g4\"",
            "\"\\uD800\"",
            "\"\\uDC00\"",
            "\"\\uD800\\u0041\"",
            "\"\\uD800x\"",
            "\"\\uD800\\n\"",
            "\"\t\"",
            "\"\x7F\"",
            "\"é\\u00e9\"",
            "[",
            "[1",
            "[1,",
            "[1,]",
            "[,]",
            "[1 2]",
            "{",
            "{1:2}",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{\"a\":1]",
            "[1}",
            "[[],{}]",
            "{\"\\uD800\":1}",
            "",
            "'x'",
            "// x",
            "1,",
            "\"\\",
            "\"\\u",
            "\"a\\\"",
        ] {
            check(&format!("{{\"x\":{value}}}"));
            check(&format!("{{\"x\":{value}"));
            check(&format!("{{\"x\":1,\"y\": {value} , \"z\":{value}}}"));
            check(value);
        }
        for text in ["{} x", "{}{}", "{,}", "\u{FEFF}{}", "\u{A0}{}", "{\"a\":1 \"b\":2}", "{\"\\uD800\":1}", "{a:1}"] {
            check(text);
        }
    }

    #[test]
    fn no_depth_takes_the_stack() {
        let depth = 1_000_000;
        let deep = format!("{{\"x\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(members(&deep).expect("an object").len(), 1);
        assert_eq!(members(&"{\"x\":".repeat(depth)), None);
    }

    /// Any value, as serde_json has it.
    fn value() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<f64>().prop_map(Into::into),
            any::<String>().prop_map(Into::into),
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                prop::collection::vec((any::<String>(), inner), 0..4)
                    .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_others_write_is_read_the_same(members in prop::collection::vec((any::<String>(), value()), 0..6)) {
            let value = serde_json::Value::Object(members.into_iter().collect());
            check(&value.to_string());
            check(&serde_json::to_string_pretty(&value).expect("text"));
        }

        #[test]
        fn any_change_of_a_text_is_judged_as_by_others(
            value in value(),
            changes in prop::collection::vec((any::<prop::sample::Index>(), 0..40_usize), 1..4),
        ) {
            let text = serde_json::json!({ "x": value, "y": 1.5, "z": "\"\u{1}\u{1F600}" }).to_string();
            let mut letters: Vec<char> = text.chars().collect();
            for (at, change) in changes {
                let at = at.index(letters.len());
                match "{}[]:,\"\\ \n0019.-+eEtfnulraxuDd8C\t'\u{B}é".chars().nth(change) {
                    Some(letter) if change % 2 == 0 => letters[at] = letter,
                    Some(letter) => letters.insert(at, letter),
                    None => { letters.remove(at); }
                }
                if letters.is_empty() {
                    break;
                }
            }
            check(&letters.into_iter().collect::<String>());
        }

        #[test]
        fn any_text_is_judged_as_by_others(text in "[{}\\[\\]:,\"\\\\ \n0-9.eEtrufalsn+-]{0,24}") {
            check(&text);
            check(&format!("{{\"x\":{text}}}"));
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let text = String::from_utf8_lossy(&bytes);
            let _ = (members(&text), string(&text), string(&format!("\"{text}\"")));
        }
    }
}
