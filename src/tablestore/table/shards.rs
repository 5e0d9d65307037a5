//! Shards: the order in which partitions were cut and merged (ST2).

use crate::format::message::{Field, Message};

/// A shard. Times are in ms since 1970 UTC.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Shard {
    /// From 1.
    pub(crate) id: i64,
    /// The partition key, encoded, that it begins with; empty for the first.
    pub(crate) from: Vec<u8>,
    /// The one behind it; empty for the last.
    pub(crate) to: Vec<u8>,
    /// The shards to read before: none; one that was cut; or two that were merged. 0 is none.
    pub(crate) parent: i64,
    pub(crate) sibling: i64,
    pub(crate) opened: i64,
    /// When it ended: it gets no more records.
    pub(crate) closed: Option<i64>,
    /// Records up to this seqno have expired.
    pub(crate) trimmed: u64,
}

impl Message for Shard {
    fn field(&mut self, tag: u32) -> Option<Field<'_>> {
        Some(match tag {
            1 => Field::I64(&mut self.id),
            2 => Field::Bytes(&mut self.from),
            3 => Field::Bytes(&mut self.to),
            4 => Field::I64(&mut self.parent),
            5 => Field::I64(&mut self.sibling),
            6 => Field::I64(&mut self.opened),
            7 => Field::MaybeI64(&mut self.closed),
            8 => Field::U64(&mut self.trimmed),
            _ => return None,
        })
    }
}

/// The shards of a stream whose records are not all expired, and those that are open.
#[derive(Debug, Default)]
pub(crate) struct Shards {
    /// Ascending by id.
    pub(crate) all: Vec<Shard>,
    /// The first keys and ids of the open ones, ascending.
    open: Vec<(Vec<u8>, i64)>,
    /// The newest one there ever was.
    pub(crate) last_id: i64,
    /// The number of failed commits when they were last written; none if they have changed since.
    stored_at: Option<u64>,
}

impl Shards {
    /// Those that were stored.
    pub(crate) fn stored(all: Vec<Shard>, last_id: i64) -> Self {
        let mut shards = Self { all, open: Vec::new(), last_id, stored_at: Some(0) };
        shards.find_open();
        shards
    }

    /// Those of a new stream, whose table has partitions with these first keys.
    pub(crate) fn fresh(boundaries: &[Box<[u8]>], now: i64) -> Self {
        let mut shards = Self::default();
        let behind = boundaries.iter().skip(1).map(|key| key.to_vec()).chain([Vec::new()]);
        for (from, to) in boundaries.iter().zip(behind) {
            shards.begin(from.to_vec(), to, [0, 0], now);
        }
        shards.find_open();
        shards
    }

    fn begin(&mut self, from: Vec<u8>, to: Vec<u8>, [parent, sibling]: [i64; 2], now: i64) -> i64 {
        self.last_id += 1;
        let id = self.last_id;
        self.all.push(Shard { id, from, to, parent, sibling, opened: now, closed: None, trimmed: 0 });
        id
    }

    fn find_open(&mut self) {
        self.open.clear();
        for shard in self.all.iter().filter(|one| one.closed.is_none()) {
            let place = self.open.partition_point(|(from, _)| *from < shard.from);
            self.open.insert(place, (shard.from.clone(), shard.id));
        }
    }

    /// The open shard of a row's key.
    pub(crate) fn holding(&self, key: &[u8]) -> i64 {
        let behind = self.open.partition_point(|(from, _)| &from[..] <= key);
        behind.checked_sub(1).and_then(|at| self.open.get(at)).map_or(0, |(_, id)| *id)
    }

    pub(crate) fn get(&self, id: i64) -> Option<&Shard> {
        self.all.binary_search_by_key(&id, |one| one.id).ok().and_then(|at| self.all.get(at))
    }

    pub(crate) fn get_mut(&mut self, id: i64) -> Option<&mut Shard> {
        self.all.binary_search_by_key(&id, |one| one.id).ok().and_then(|at| self.all.get_mut(at))
    }

    /// The open shards with keys from `first` to `last`.
    pub(crate) fn within<'s>(&'s self, first: &'s [u8], last: &'s [u8]) -> impl Iterator<Item = &'s Shard> {
        let meets =
            move |one: &&Shard| one.closed.is_none() && *one.from <= *last && (one.to.is_empty() || *first < *one.to);
        self.all.iter().filter(meets)
    }

    /// Follows the partitions, which now begin with these keys. Each cut ends a shard and begins two; each merger ends
    /// two and begins one.
    pub(crate) fn reshape(&mut self, boundaries: &[Box<[u8]>], now: i64) {
        if boundaries.iter().map(|key| &key[..]).eq(self.open.iter().map(|(from, _)| &from[..])) {
            return;
        }
        for at in boundaries.iter().filter(|at| !at.is_empty()) {
            let id = self.holding(at);
            let Some(shard) = self.get_mut(id).filter(|shard| *shard.from != **at) else { continue };
            shard.closed = Some(now);
            let (from, to) = (shard.from.clone(), shard.to.clone());
            self.begin(from, at.to_vec(), [id, 0], now);
            self.begin(at.to_vec(), to, [id, 0], now);
            self.find_open();
        }
        while let Some(place) = (1..self.open.len())
            .find(|place| self.open.get(*place).is_some_and(|(from, _)| !boundaries.iter().any(|at| **at == **from)))
        {
            let [left, right] = [place - 1, place].map(|at| self.open.get(at).map_or(0, |(_, id)| *id));
            let (mut from, mut to) = (Vec::new(), Vec::new());
            for id in [left, right] {
                let Some(shard) = self.get_mut(id) else { continue };
                shard.closed = Some(now);
                if id == left { from.clone_from(&shard.from) } else { to.clone_from(&shard.to) }
            }
            self.begin(from, to, [left, right], now);
            self.find_open();
        }
        self.stored_at = None;
    }

    /// Whether they are stored, or are on their way in a commit that has not failed.
    pub(crate) fn is_stored(&self, failures: u64) -> bool {
        self.stored_at == Some(failures)
    }

    pub(crate) fn set_stored(&mut self, failures: u64) {
        self.stored_at = Some(failures);
    }

    /// They have to be stored again.
    pub(crate) fn touch(&mut self) {
        self.stored_at = None;
    }

    /// Forgets shards that have ended and have no records left.
    pub(crate) fn forget(&mut self, is_empty: impl Fn(&Shard) -> bool) {
        self.all.retain(|shard| shard.closed.is_none() || !is_empty(shard));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn keys(cuts: &BTreeSet<u8>) -> Vec<Box<[u8]>> {
        std::iter::once(Box::default()).chain(cuts.iter().map(|cut| Box::from([*cut]))).collect()
    }

    #[test]
    fn st2_a_cut_has_two_children_and_a_merger_two_parents() {
        let mut shards = Shards::fresh(&keys(&BTreeSet::new()), 1);
        shards.reshape(&keys(&BTreeSet::from([5])), 2);
        shards.reshape(&keys(&BTreeSet::new()), 3);
        let seen: Vec<_> =
            shards.all.iter().map(|one| (one.id, one.parent, one.sibling, one.opened, one.closed)).collect();
        assert_eq!(seen, [(1, 0, 0, 1, Some(2)), (2, 1, 0, 2, Some(3)), (3, 1, 0, 2, Some(3)), (4, 2, 3, 3, None)]);
        assert_eq!((&shards.all[1].to[..], &shards.all[2].from[..]), (&[5][..], &[5][..]));
        assert_eq!((shards.holding(&[]), shards.holding(&[9])), (4, 4));
    }

    proptest! {
        /// ST2: the open shards are the partitions, and each shard lies in its parents' keys.
        #[test]
        fn st2_open_shards_are_the_partitions(steps in proptest::collection::vec(proptest::collection::btree_set(1u8..12, 0..6), 1..12)) {
            let mut shards = Shards::fresh(&keys(&BTreeSet::new()), 0);
            for (now, cuts) in (1..).zip(&steps) {
                shards.reshape(&keys(cuts), now);
                let open: Vec<Box<[u8]>> = shards.open.iter().map(|(from, _)| from.clone().into()).collect();
                prop_assert_eq!(open, keys(cuts));
                for shard in &shards.all {
                    let parents: Vec<&Shard> = [shard.parent, shard.sibling].into_iter().filter_map(|id| shards.get(id)).collect();
                    prop_assert!(parents.iter().all(|parent| parent.closed == Some(shard.opened) && parent.id < shard.id));
                    match parents[..] {
                        [] => prop_assert_eq!(shard.id, 1),
                        [parent] => prop_assert!(parent.from <= shard.from && (parent.to.is_empty() || !shard.to.is_empty() && shard.to <= parent.to)),
                        [left, right] => prop_assert!(left.from == shard.from && left.to == right.from && right.to == shard.to),
                        _ => prop_assert!(false),
                    }
                }
                for key in 0..13u8 {
                    let holder = shards.get(shards.holding(&[key])).expect("one");
                    let key = &[key][..];
                    let (from, to) = (&holder.from[..], &holder.to[..]);
                    prop_assert!(holder.closed.is_none() && from <= key && (to.is_empty() || key < to));
                }
            }
        }
    }
}
