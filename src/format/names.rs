//! Column names of a container (memtable, log record, block): each is written once, and a number stands for it inside.

use super::wire::{Decoded, Reader, put_bytes, put_uv};
use rustc_hash::FxHashMap;

/// The approximate memory of a name beside its letters: two boxes, a number, a place in a half-empty table.
const OVERHEAD: usize = 88;

/// The column names of one container, by number.
#[derive(Clone, Debug, Default)]
pub struct Names {
    names: Vec<Box<str>>,
}

impl Names {
    /// The name with this number.
    #[must_use]
    pub fn get(&self, id: u32) -> Option<&str> {
        self.names.get(id as usize).map(AsRef::as_ref)
    }

    /// All names, by number.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(AsRef::as_ref)
    }

    /// Reads what [`NameBuilder::encode`] wrote.
    pub fn decode(reader: &mut Reader<'_>) -> Decoded<Self> {
        let count = reader.uv32()?;
        // Do not reserve memory by the count, which may be false: each name takes at least a byte.
        let mut names = Vec::new();
        for _ in 0..count {
            names.push(reader.str()?.into());
        }
        Ok(Self { names })
    }

    /// Their approximate memory.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.names.iter().map(|name| name.len() + size_of::<Box<str>>()).sum()
    }
}

/// Numbers column names in the order of their first use.
#[derive(Clone, Debug, Default)]
pub struct NameBuilder {
    names: Names,
    ids: FxHashMap<Box<str>, u32>,
    /// The last name found at each of a few places: rows name the same columns in the same order.
    recent: Vec<u32>,
    turn: usize,
    /// The bytes of all names.
    letters: usize,
}

impl NameBuilder {
    /// The names so far.
    #[must_use]
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The number of names.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.names.len()
    }

    /// Whether there is no name.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.names.is_empty()
    }

    /// Their approximate memory.
    #[must_use]
    pub fn memory(&self) -> usize {
        2 * self.letters + OVERHEAD * self.len()
    }

    /// Their approximate encoded size.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        self.letters + self.len()
    }

    /// Starts a row: the next name is likely the first of the row before.
    #[inline]
    pub fn start_row(&mut self) {
        self.turn = 0;
    }

    /// The number of `name`, new or known.
    #[inline]
    pub fn id(&mut self, name: &str) -> u32 {
        let turn = self.turn;
        self.turn += 1;
        if let Some(&id) = self.recent.get(turn)
            && self.names.get(id) == Some(name)
        {
            return id;
        }
        let id = self.lookup(name);
        if turn < 64 {
            if turn >= self.recent.len() {
                self.recent.resize(turn + 1, id);
            }
            if let Some(slot) = self.recent.get_mut(turn) {
                *slot = id;
            }
        }
        id
    }

    fn lookup(&mut self, name: &str) -> u32 {
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        let id = u32::try_from(self.names.names.len()).unwrap_or(u32::MAX);
        self.names.names.push(name.into());
        self.ids.insert(name.into(), id);
        self.letters += name.len();
        id
    }

    /// Adopts the names of another container. Returns whether each has the same number in both.
    pub fn adopt(&mut self, other: &Names) -> bool {
        self.start_row();
        let same = (0..).zip(&other.names).all(|(id, name)| self.lookup(name) == id);
        self.start_row();
        same
    }

    /// Appends all names.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_uv(self.names.names.len() as u64, out);
        for name in &self.names.names {
            put_bytes(name.as_bytes(), out);
        }
    }

    /// Forgets all names, keeping the memory.
    pub fn clear(&mut self) {
        self.names.names.clear();
        self.ids.clear();
        self.recent.clear();
        (self.turn, self.letters) = (0, 0);
    }
}
