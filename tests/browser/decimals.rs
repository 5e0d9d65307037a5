//! Decimal text as doubles: the browser's conversion gives what the standard library gives, to the bit.

use tabstore::azure::edm::parse_double;
use wasm_bindgen_test::wasm_bindgen_test;

/// The texts that are compared.
const TEXTS: u32 = 300_000;

/// Numbers of a fixed sequence (xorshift64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, count: u64) -> u64 {
        (self.next() >> 16) % count
    }

    fn digits(&mut self, most: u64) -> String {
        (0..self.below(most + 1)).map(|_| char::from(b'0' + self.below(10) as u8)).collect()
    }

    /// A double of any size as text, a text of up to 40 digits, or one that lies on or beside the middle of two doubles.
    fn text(&mut self) -> String {
        let sign = ["", "-", "+"][self.below(3) as usize];
        let bits = f64::from_bits(self.next() & (u64::MAX >> 1));
        match self.below(4) {
            0 if bits.is_finite() => format!("{sign}{bits:e}"),
            1 if bits.is_finite() => {
                let middle = bits / 2.0 + bits.next_up() / 2.0;
                format!("{sign}{middle:.25e}")
            }
            2 => format!("{sign}{}.{}", self.digits(20), self.digits(20)),
            _ => format!(
                "{sign}{}.{}e{}{}",
                self.digits(9),
                self.digits(30),
                ["", "-"][self.below(2) as usize],
                self.below(330)
            ),
        }
    }
}

#[wasm_bindgen_test]
fn r6_z2_decimals_are_the_doubles_of_the_standard_library() {
    let (mut random, mut finite) = (Random(20_261_130), 0);
    for _ in 0..TEXTS {
        let text = random.text();
        let standard = text.parse::<f64>().ok().filter(|number| number.is_finite());
        assert_eq!(parse_double(&text).map(f64::to_bits), standard.map(f64::to_bits), "{text}");
        finite += u32::from(standard.is_some());
    }
    assert!(finite > TEXTS / 2, "{finite} numbers of {TEXTS} texts");
    for text in ["", ".", "-", "e1", "1e", "1e+", " 1", "1 ", "0x10", "1_0", "--1", "1e1.5", "inf", "1n", "1é", "1e999"]
    {
        assert_eq!(parse_double(text), None, "{text:?}");
    }
}
