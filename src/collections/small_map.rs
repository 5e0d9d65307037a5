//! A map for few entries: a sorted list.
//!
//! The standard library's maps are made for many entries and cost kilobytes of code for every pair of types. Tables of an
//! instance, trees of a version, and blocks of one read are few.

use std::borrow::Borrow;

/// A sorted list of keys and values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SmallMap<K, V> {
    entries: Vec<(K, V)>,
}

impl<K, V> Default for SmallMap<K, V> {
    fn default() -> Self {
        Self { entries: Vec::new() }
    }
}

impl<K: Ord, V> SmallMap<K, V> {
    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        self.entries.binary_search_by(|(other, _)| other.borrow().cmp(key))
    }

    pub(crate) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let place = self.find(key).ok()?;
        self.entries.get(place).map(|(_, value)| value)
    }

    pub(crate) fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let place = self.find(key).ok()?;
        self.entries.get_mut(place).map(|(_, value)| value)
    }

    pub(crate) fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_ok()
    }

    /// Sets the value of a key.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        match self.find(&key) {
            Ok(place) => {
                if let Some((_, old)) = self.entries.get_mut(place) {
                    *old = value;
                }
            }
            Err(place) => self.entries.insert(place, (key, value)),
        }
    }

    /// The value of a key; inserts the default if it is missing.
    pub(crate) fn entry(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        let place = match self.find(&key) {
            Ok(place) => place,
            Err(place) => {
                self.entries.insert(place, (key, V::default()));
                place
            }
        };
        &mut self.entries[place].1
    }

    pub(crate) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let place = self.find(key).ok()?;
        Some(self.entries.remove(place).1)
    }

    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        self.entries.retain_mut(|(key, value)| keep(key, value));
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The entries, ascending by key.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.entries.iter().map(|(key, _)| key)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.entries.iter().map(|(_, value)| value)
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.entries.iter_mut().map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn does_what_a_map_does(steps in proptest::collection::vec((0u8..4, 0u8..20, any::<u8>()), 0..60)) {
            let (mut small, mut map) = (SmallMap::default(), BTreeMap::new());
            for (step, key, value) in steps {
                match step {
                    0 => {
                        small.insert(key, value);
                        map.insert(key, value);
                    }
                    1 => prop_assert_eq!(small.remove(&key), map.remove(&key)),
                    2 => *small.entry(key) = *map.entry(key).and_modify(|old| *old = value).or_insert(value),
                    _ => prop_assert_eq!(small.get(&key), map.get(&key)),
                }
                prop_assert!(small.iter().eq(map.iter()));
            }
        }
    }
}
