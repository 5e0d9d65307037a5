//! A list that is stored in place while it is short: a key has at most four columns, except in an index.

use std::ops::{Deref, DerefMut};

/// The most items in place.
const IN_PLACE: usize = 4;

/// A list, mostly of at most four.
#[derive(Clone, Debug)]
pub(crate) struct Few<T> {
    few: [T; IN_PLACE],
    count: usize,
    /// All of them, once there are more.
    many: Vec<T>,
}

impl<T: Copy> Few<T> {
    /// An empty list; `filler` is never visible.
    pub(crate) fn new(filler: T) -> Self {
        Self { few: [filler; IN_PLACE], count: 0, many: Vec::new() }
    }

    pub(crate) fn push(&mut self, value: T) {
        if let Some(slot) = self.few.get_mut(self.count) {
            *slot = value;
        } else {
            if self.many.is_empty() {
                self.many.extend_from_slice(&self.few);
            }
            self.many.push(value);
        }
        self.count += 1;
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.few.get(..self.count).unwrap_or(&self.many)
    }
}

impl<T> DerefMut for Few<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.few.get_mut(..self.count).unwrap_or(&mut self.many)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_whole_wherever_it_lies() {
        let mut list = Few::new(0);
        for length in 1..10 {
            list.push(length);
            assert_eq!(list[..], (1..=length).collect::<Vec<_>>());
        }
    }
}
