//! Splits an input: each choice, number and text comes from its bytes. After its end all bytes are 0.

/// The rest of an input.
#[derive(Debug)]
pub(crate) struct Input<'d>(&'d [u8]);

/// Numbers at the limits of something.
const EDGES: [i64; 16] = [
    0,
    1,
    -1,
    2,
    127,
    86_399,
    86_400,
    i64::MAX,
    i64::MIN,
    i64::MAX - 1,
    i64::MAX / 1000,
    i64::MAX / 1_000_000,
    1 << 31,
    1 << 53,
    -(1 << 53),
    5001,
];

impl<'d> Input<'d> {
    pub(crate) fn new(bytes: &'d [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// One of `count` choices. The first one after the end of the input.
    pub(crate) fn pick(&mut self, count: usize) -> usize {
        usize::from(self.byte()) % count
    }

    /// True in one of `count` cases.
    pub(crate) fn one_in(&mut self, count: usize) -> bool {
        self.pick(count) == count - 1
    }

    pub(crate) fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.pick(choices.len())]
    }

    pub(crate) fn some<T>(&mut self, one: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.byte().is_multiple_of(2) { None } else { Some(one(self)) }
    }

    /// Mostly small, sometimes at a limit, sometimes any.
    pub(crate) fn integer(&mut self) -> i64 {
        match self.pick(4) {
            0 | 1 => i64::from(self.byte()) - 100,
            2 => self.of(&EDGES),
            _ => i64::from_le_bytes(std::array::from_fn(|_| self.byte())),
        }
    }

    pub(crate) fn double(&mut self) -> f64 {
        let odd = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, f64::MAX, 0.1];
        if self.one_in(3) { f64::from_bits(self.integer().cast_unsigned()) } else { self.of(&odd) }
    }

    pub(crate) fn bytes(&mut self) -> Vec<u8> {
        let length = match self.pick(8) {
            0 => 0,
            1..6 => self.pick(20),
            6 => 1000 + self.pick(40),
            _ => self.pick(250) * 100,
        };
        // Long values do not take their bytes from the input. They would use it up at once.
        let (first, step) = (self.byte(), self.byte());
        (0..length).map(|at| first.wrapping_add(step.wrapping_mul(at as u8))).collect()
    }

    pub(crate) fn text(&mut self) -> String {
        let letters =
            ["a", "b", "_", "9", "A", "é", "列", "\u{1f600}", "\0", "\n", " ", "-", "#", "\u{feff}", "\"", "\\"];
        let mut text = String::new();
        match self.pick(8) {
            0 => {}
            1..7 => (0..self.pick(12)).for_each(|_| text.push_str(self.of(&letters))),
            _ => text = self.of(&letters).repeat(self.pick(6) * 250 + 5),
        }
        text
    }
}
