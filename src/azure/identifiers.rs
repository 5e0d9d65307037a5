//! The letters of names: identifiers of C# (`azure_N3`, `azure_N4`).
//!
//! A name begins with a letter (Unicode categories Lu, Ll, Lt, Lm, Lo, Nl) or `_`. Behind it may also stand marks, decimal
//! digits, connectors and format characters (Mn, Mc, Nd, Pc, Cf), as far as names of XML have them: U+200D, and not U+200B. As
//! for the compilers of C#, there is nothing beyond U+FFFF.

/// Runs of characters from U+0000 on. Each is a number in LEB128: twice the length, and 1 if the kind is the next one after the
/// kind of the run before, else the one after that. The kinds, in a circle: none, inside, first. It is made of the categories of
/// Unicode 14. The library's own tables know other properties, and weigh twice as much.
static RUNS: &[u8] = include_bytes!("identifiers.bin");

/// Where a character may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
enum Kind {
    None,
    Inside,
    First,
}

/// Whether a name may begin with a character.
pub(super) fn begins(letter: char) -> bool {
    kind_of(letter) == Kind::First
}

/// Whether a name may have a character behind its first one.
pub(super) fn goes_on(letter: char) -> bool {
    kind_of(letter) != Kind::None
}

#[inline(never)]
fn kind_of(letter: char) -> Kind {
    match letter {
        'A'..='Z' | 'a'..='z' | '_' => return Kind::First,
        '0'..='9' => return Kind::Inside,
        '\0'..='\x7F' => return Kind::None,
        _ => {}
    }
    let mut left = u32::from(letter);
    let mut kind = Kind::Inside;
    let (mut number, mut shift) = (0, 0);
    for byte in RUNS {
        number |= u32::from(byte & 0x7F) << shift;
        shift += 7;
        if *byte >= 0x80 {
            continue;
        }
        kind = match (kind, number % 2 == 1) {
            (Kind::None, true) | (Kind::First, false) => Kind::Inside,
            (Kind::Inside, true) | (Kind::None, false) => Kind::First,
            (Kind::First, true) | (Kind::Inside, false) => Kind::None,
        };
        let Some(rest) = left.checked_sub(number / 2) else { return kind };
        left = rest;
        (number, shift) = (0, 0);
    }
    Kind::None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn azure_n3_the_categories_of_c_sharp() {
        for letter in "AzßǅʰªⅧ名ใ_ﷺµ".chars() {
            assert_eq!(kind_of(letter), Kind::First, "{letter:?}");
        }
        // Marks, digits, connectors, and what joins letters.
        for letter in "09\u{301}\u{903}٣\u{203F}\u{FF3F}\u{200C}\u{200D}".chars() {
            assert_eq!(kind_of(letter), Kind::Inside, "{letter:?}");
        }
        for letter in "\0 -.@$²½Ⓐ€\u{AD}\u{200B}\u{20DD}\u{E000}\u{FFFF}𝒜\u{10FFFF}".chars() {
            assert_eq!(kind_of(letter), Kind::None, "{letter:?}");
        }
    }

    /// The standard library knows letters and numbers of later versions too. It counts circled letters and some marks as letters.
    #[test]
    fn azure_n3_letters_are_those_of_the_standard_library() {
        let mut counts = [0; 3];
        for letter in '\0'..='\u{FFFF}' {
            let kind = kind_of(letter);
            counts[kind as usize] += 1;
            assert!(kind != Kind::First || letter == '_' || letter.is_alphabetic(), "{letter:?}");
            assert!(!letter.is_ascii() || (kind != Kind::None) == (letter == '_' || letter.is_ascii_alphanumeric()));
        }
        assert_eq!(counts, [12_737, 1_720, 49_031]);
    }
}
