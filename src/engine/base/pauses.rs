//! The pauses of failed background work before it is tried again.

/// A first pause; each later one is twice as long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pauses {
    first_ms: u32,
    longest_ms: u32,
}

impl Pauses {
    /// A stored record is damaged: that does not heal by itself.
    pub(crate) const DAMAGE: Self = Self { first_ms: 60_000, longest_ms: 24 * 3_600_000 };

    /// The storage is full or out of reach: it may recover soon.
    pub(crate) const STORAGE: Self = Self { first_ms: 1000, longest_ms: 600_000 };

    /// There is no room for the reserve. Nothing can be added while it is missing.
    pub(crate) const RESERVE: Self = Self { first_ms: 1000, longest_ms: 60_000 };

    /// The pause after one of `last` ms; the first pause if there was none.
    pub(crate) fn next_ms(self, last: Option<u32>) -> u32 {
        last.unwrap_or(0).saturating_mul(2).clamp(self.first_ms, self.longest_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_doubles_up_to_the_longest() {
        let pauses = |kind: Pauses, count| {
            let mut last = None;
            let next = std::iter::repeat_with(|| *last.insert(kind.next_ms(last)));
            next.take(count).collect::<Vec<u32>>()
        };
        let minutes: Vec<u32> = pauses(Pauses::DAMAGE, 13).iter().map(|ms| ms / 60_000).collect();
        assert_eq!(minutes, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1440, 1440]);
        let seconds: Vec<u32> = pauses(Pauses::STORAGE, 12).iter().map(|ms| ms / 1000).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600]);
        assert_eq!(Pauses::DAMAGE.next_ms(Some(1000)), 60_000, "what was full is damaged now");
    }
}
