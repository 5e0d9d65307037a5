//! Natural numbers of any size, as far as decimal texts of doubles need them.

use std::cmp::Ordering;

/// A natural number; the lowest word first.
#[derive(Default)]
pub(super) struct Natural {
    words: Vec<u32>,
}

impl Natural {
    /// A number times two to a power.
    pub(super) fn new(number: u64, power: u32) -> Self {
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
    pub(super) fn multiply(&mut self, by: u32, mut carry: u32) {
        for word in &mut self.words {
            let product = u64::from(*word) * u64::from(by) + u64::from(carry);
            *word = product as u32;
            carry = (product >> 32) as u32;
        }
        if carry > 0 {
            self.words.push(carry);
        }
    }

    /// The sum.
    #[inline(never)]
    pub(super) fn plus(&self, other: &Self) -> Self {
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
    pub(super) fn subtract(&mut self, other: &Self) {
        let mut borrow = false;
        for (at, word) in self.words.iter_mut().enumerate() {
            let (less, first) = word.overflowing_sub(other.words.get(at).copied().unwrap_or(0));
            let (less, second) = less.overflowing_sub(u32::from(borrow));
            (*word, borrow) = (less, first || second);
        }
        self.trim();
    }

    /// Compares two numbers.
    #[inline(never)]
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let lengths = self.words.len().cmp(&other.words.len());
        lengths.then_with(|| self.words.iter().rev().cmp(other.words.iter().rev()))
    }
}
