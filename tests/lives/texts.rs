//! Texts of any script for keys and values: mostly not ASCII, of none to four characters over all planes, and some long
//! ones. Always the same, so that one seed replays a life; a number stands for each, so that models stay plain.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

/// How many keys there are.
pub(crate) const KEYS: i64 = 100;
const WORDS: usize = 1 << 14;

/// Where encodings and comparisons change: the ends of each length in UTF-8, of the surrogates and of planes.
const EDGES: [u32; 12] = [0, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xfeff, 0xfffd, 0xffff, 0x1_0000, 0x10_ffff];

/// Draws texts.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32 % end
    }

    fn character(&mut self) -> char {
        loop {
            let code = match self.below(8) {
                0 => self.below(0x80),
                1 | 2 => 0x80 + self.below(0x800 - 0x80),
                3 | 4 => 0x800 + self.below(0x1_0000 - 0x800),
                5 => EDGES[self.below(EDGES.len() as u32) as usize],
                _ => 0x1_0000 + self.below(0x11_0000 - 0x1_0000),
            };
            if let Some(character) = char::from_u32(code) {
                return character;
            }
        }
    }

    /// A text; one in so many is long, of at most so many bytes.
    fn text(&mut self, one_in: u32, longest: usize) -> String {
        let mut text = String::new();
        if self.below(one_in) == 0 {
            while text.len() + 4 <= longest {
                text.push(self.character());
            }
        } else {
            for _ in 0..self.below(5) {
                text.push(self.character());
            }
        }
        text
    }
}

static SORTED: LazyLock<Vec<String>> = LazyLock::new(|| {
    let (mut draw, mut keys) = (Draw(1), BTreeSet::from([String::new(), "x".repeat(1024)]));
    while keys.len() < KEYS as usize {
        keys.insert(draw.text(50, 1024));
    }
    keys.into_iter().collect()
});

static ALL: LazyLock<Vec<String>> = LazyLock::new(|| {
    let (mut draw, mut known, mut words) = (Draw(2), BTreeSet::new(), Vec::new());
    while words.len() < WORDS {
        let text = draw.text(400, 300);
        if known.insert(text.clone()) {
            words.push(text);
        }
    }
    words
});

static NUMBERS: LazyLock<HashMap<&'static str, i64>> =
    LazyLock::new(|| ALL.iter().enumerate().map(|(number, word)| (word.as_str(), number as i64)).collect());

/// A key value; a greater number is a greater text.
pub(crate) fn key(number: i64) -> &'static str {
    &SORTED[usize::try_from(number).expect("a key")]
}

/// Which key value a text is.
pub(crate) fn key_number(text: &str) -> Option<i64> {
    SORTED.binary_search_by(|key| key.as_str().cmp(text)).ok().map(|number| number as i64)
}

/// A value, in no order; each number has another.
pub(crate) fn word(number: i64) -> &'static str {
    &ALL[usize::try_from(number).expect("a word")]
}

/// Which value a text is.
pub(crate) fn word_number(text: &str) -> Option<i64> {
    NUMBERS.get(text).copied()
}

#[test]
fn the_texts_are_mostly_foreign_and_sorted_as_bytes() {
    let foreign = |texts: &[String]| texts.iter().filter(|text| !text.is_ascii()).count() * 4 > texts.len() * 3;
    assert!(foreign(&SORTED) && foreign(&ALL));
    assert!(SORTED.is_sorted_by(|a, b| a.as_bytes() < b.as_bytes()));
    for planes in [0..1, 1..2, 2..15, 15..17] {
        let on = |text: &String| text.chars().any(|character| planes.contains(&(character as u32 >> 16)));
        assert!(ALL.iter().any(on) && SORTED.iter().any(on), "{planes:?}");
    }
    for characters in 0..5 {
        assert!(ALL.iter().any(|text| text.chars().count() == characters), "{characters}");
    }
    assert!(SORTED.iter().filter(|text| text.len() > 1000).count() > 1);
    assert_eq!((word_number(word(77)), key_number(key(7)), key_number("no")), (Some(77), Some(7), None));
}
