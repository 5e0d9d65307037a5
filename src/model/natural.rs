//! Natural numbers of any size, as far as decimal texts of doubles need them.

use std::cmp::Ordering;

/// A natural number; the lowest word first.
#[derive(Default)]
pub(crate) struct Natural {
    words: Vec<u32>,
}

impl Natural {
    /// A number times two to a power.
    pub(crate) fn new(number: u64, power: u32) -> Self {
        let mut words = vec![0; (power / 32) as usize];
        let shifted = u128::from(number) << (power % 32);
        words.extend([0, 32, 64].map(|at| (shifted >> at) as u32));
        let mut new = Self { words };
        new.trim();
        new
    }

    fn trim(&mut self) {
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
    }

    /// Multiplies by `by`, and adds `carry`.
    #[inline(never)]
    pub(crate) fn multiply(&mut self, by: u32, mut carry: u32) {
        for word in &mut self.words {
            let product = u64::from(*word) * u64::from(by) + u64::from(carry);
            *word = product as u32;
            carry = (product >> 32) as u32;
        }
        if carry > 0 {
            self.words.push(carry);
        }
    }

    /// Multiplies by two to the power of 32 times `words`.
    pub(crate) fn shift(&mut self, words: usize) {
        self.words.splice(0..0, std::iter::repeat_n(0, words));
    }

    /// Divides, and gives the rest.
    pub(crate) fn divide(&mut self, by: u32) -> u32 {
        let mut rest = 0;
        for word in self.words.iter_mut().rev() {
            let number = rest << 32 | u64::from(*word);
            *word = (number / u64::from(by)) as u32;
            rest = number % u64::from(by);
        }
        rest as u32
    }

    /// The number of bits up to the highest one.
    pub(crate) fn bits(&self) -> i64 {
        let top = self.words.iter().rposition(|word| *word > 0);
        top.map_or(0, |top| 32 * (top as i64 + 1) - i64::from(self.words[top].leading_zeros()))
    }

    /// A bit; those outside are zero.
    pub(crate) fn bit(&self, at: i64) -> bool {
        let word = usize::try_from(at).ok().and_then(|at| self.words.get(at / 32));
        word.is_some_and(|word| word >> (at % 32) & 1 == 1)
    }

    /// The sum.
    #[inline(never)]
    pub(crate) fn plus(&self, other: &Self) -> Self {
        let (mut words, mut carry) = (Vec::with_capacity(self.words.len() + 1), 0);
        for at in 0..self.words.len().max(other.words.len()) {
            let word = |number: &Self| u64::from(number.words.get(at).copied().unwrap_or(0));
            carry += word(self) + word(other);
            words.push(carry as u32);
            carry >>= 32;
        }
        words.push(carry as u32);
        let mut sum = Self { words };
        sum.trim();
        sum
    }

    /// Takes a number away that is not larger.
    #[inline(never)]
    pub(crate) fn subtract(&mut self, other: &Self) {
        let mut borrow = false;
        for (at, word) in self.words.iter_mut().enumerate() {
            let (less, first) = word.overflowing_sub(other.words.get(at).copied().unwrap_or(0));
            let (less, second) = less.overflowing_sub(u32::from(borrow));
            (*word, borrow) = (less, first || second);
        }
        self.trim();
    }

    /// Compares two numbers whose highest words are not zero: those that no division has made.
    #[inline(never)]
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        let lengths = self.words.len().cmp(&other.words.len());
        lengths.then_with(|| self.words.iter().rev().cmp(other.words.iter().rev()))
    }
}
