//! The static data that only one module needs. It goes into the module's file, so a page that never loads the module does
//! not load its texts and tables either. It also tells which functions take the address of a function: an address is its place
//! in the table, a number in the code or in data.
//!
//! The linker writes each constant as a segment of its own (`--no-merge-data-segments` in `xtask/src/build.rs`). A segment is
//! needed by a function if a number in the function is an address in it, or by a segment that has such a number as a word.
//! Numbers that only look like addresses keep data in the core, and that does no harm. An address that is computed from
//! outside of its segment is not seen. The compiler makes such addresses for tables that it indexes from another number than 0,
//! or from their end. So a table whose users are a module, as far as one sees, and the core in this way, would be missing in the
//! core. Such tables are private to a function; data that nobody seems to need stays in the core.

use anyhow::{Result, ensure};
use std::collections::{BTreeMap, HashSet};
use walrus::ir::{Const, Load, Store, Value, Visitor, dfs_in_order};
use walrus::{ConstExpr, Data, DataKind, FunctionId, FunctionKind, GlobalKind, MemoryId, Module};

/// Zeros between two segments that are written as one: the beginning of a segment takes about as much.
const GAP: u32 = 8;

/// The segments of a file by their addresses.
pub(crate) struct Segments(BTreeMap<u32, Vec<u8>>);

/// The first addresses of segments.
pub(crate) type Needed = HashSet<u32>;

impl Segments {
    /// The segments of the file.
    ///
    /// # Errors
    /// Segments that have no fixed address, or that overlap.
    pub(crate) fn of(module: &Module) -> Result<Self> {
        let mut all = BTreeMap::new();
        for data in module.data.iter() {
            all.insert(address(data)?, data.value.clone());
        }
        let ends = all.iter().map(|(&at, bytes): (&u32, &Vec<u8>)| at + bytes.len() as u32);
        ensure!(ends.zip(all.keys().skip(1)).all(|(end, &next)| end <= next), "segments of data overlap");
        Ok(Self(all))
    }

    /// The segment that has this address.
    fn at(&self, address: u32) -> Option<u32> {
        let (&start, bytes) = self.0.range(..=address).next_back()?;
        (address - start < bytes.len() as u32).then_some(start)
    }

    /// The segments that some functions need.
    pub(crate) fn needed(&self, module: &Module, functions: impl Iterator<Item = FunctionId>) -> Needed {
        let mut numbers = Numbers::default();
        // Of the whole file, but they are few.
        for global in module.globals.iter() {
            if let GlobalKind::Local(ConstExpr::Value(number)) = global.kind {
                numbers.visit_const(&Const { value: number });
            }
        }
        for id in functions {
            numbers.visit_function(module, id);
        }
        self.reached(numbers.0.into_iter())
    }

    /// The numbers of a function, and the words of the segments that it needs.
    pub(crate) fn numbers(&self, module: &Module, id: FunctionId) -> HashSet<u32> {
        let mut numbers = Numbers::default();
        numbers.visit_function(module, id);
        let needed = self.reached(numbers.0.iter().copied());
        numbers.0.extend(needed.into_iter().flat_map(|start| self.words(start)));
        numbers.0
    }

    /// The words of the segments that none of the functions needs, as far as one sees.
    pub(crate) fn nobodys(&self, module: &Module, functions: impl Iterator<Item = FunctionId>) -> HashSet<u32> {
        let needed = self.needed(module, functions);
        self.0.keys().filter(|start| !needed.contains(start)).flat_map(|&start| self.words(start)).collect()
    }

    /// The segments that these addresses, and words of such segments, belong to.
    fn reached(&self, addresses: impl Iterator<Item = u32>) -> Needed {
        let mut next: Vec<u32> = addresses.filter_map(|address| self.at(address)).collect();
        let mut needed = Needed::new();
        while let Some(start) = next.pop() {
            if needed.insert(start) {
                next.extend(self.words(start).filter_map(|word| self.at(word)));
            }
        }
        needed
    }

    /// The words of a segment. A pointer lies at a multiple of four.
    fn words(&self, start: u32) -> impl Iterator<Item = u32> {
        let bytes = self.0.get(&start).map_or(&[][..], Vec::as_slice);
        let (words, _) = bytes.get(start.wrapping_neg() as usize % 4..).unwrap_or_default().as_chunks::<4>();
        words.iter().copied().map(u32::from_le_bytes)
    }

    /// Makes the segments of a file those that `are_here`, in few pieces.
    pub(crate) fn write(&self, module: &mut Module, memory: MemoryId, are_here: impl Fn(u32) -> bool) {
        for id in module.data.iter().map(Data::id).collect::<Vec<_>>() {
            module.data.delete(id);
        }
        let segments = &mut module.memories.get_mut(memory).data_segments;
        segments.clear();
        for (address, value) in self.pieces(are_here) {
            let offset = ConstExpr::Value(Value::I32(address.cast_signed()));
            segments.insert(module.data.add(DataKind::Active { memory, offset }, value));
        }
    }

    fn pieces(&self, are_here: impl Fn(u32) -> bool) -> Vec<(u32, Vec<u8>)> {
        let mut pieces: Vec<(u32, Vec<u8>)> = Vec::new();
        // Between two pieces lies what another file has: zeros would overwrite it.
        let mut is_next = false;
        for (&start, bytes) in &self.0 {
            if !are_here(start) {
                is_next = false;
                continue;
            }
            match pieces.last_mut() {
                Some((at, piece)) if is_next && start - (*at + piece.len() as u32) <= GAP => {
                    piece.resize((start - *at) as usize, 0);
                    piece.extend(bytes);
                }
                _ => pieces.push((start, bytes.clone())),
            }
            is_next = true;
        }
        pieces
    }
}

fn address(data: &Data) -> Result<u32> {
    match data.kind {
        DataKind::Active { offset: ConstExpr::Value(Value::I32(at)), .. } => Ok(at.cast_unsigned()),
        _ => anyhow::bail!("a segment of data has no fixed address"),
    }
}

/// The numbers of functions that may be addresses.
#[derive(Default)]
struct Numbers(HashSet<u32>);

impl Numbers {
    fn visit_function(&mut self, module: &Module, id: FunctionId) {
        if let FunctionKind::Local(function) = &module.funcs.get(id).kind {
            dfs_in_order(self, function, function.entry_block());
        }
    }
}

impl<'i> Visitor<'i> for Numbers {
    fn visit_const(&mut self, number: &Const) {
        match number.value {
            Value::I32(number) => drop(self.0.insert(number.cast_unsigned())),
            Value::I64(both) => self.0.extend([both as u32, (both >> 32) as u32]),
            Value::V128(all) => self.0.extend([0, 32, 64, 96].map(|at| (all >> at) as u32)),
            Value::F32(_) | Value::F64(_) => {}
        }
    }

    fn visit_load(&mut self, load: &Load) {
        self.0.extend(u32::try_from(load.arg.offset));
    }

    fn visit_store(&mut self, store: &Store) {
        self.0.extend(u32::try_from(store.arg.offset));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments() -> Segments {
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        // A text; a list with a pointer to it; a text behind it; a list at an odd address with a pointer to that one.
        let odd = [&[0xFF, 0xFF][..], &words(&[1030, 7])].concat();
        Segments(BTreeMap::from([(1000, b"abc".to_vec()), (1004, words(&[1, 1001])), (1030, vec![1]), (1034, odd)]))
    }

    #[test]
    fn data_is_needed_by_addresses_and_by_data_that_is_needed() {
        let needed = |addresses: &[u32]| segments().reached(addresses.iter().copied());
        assert_eq!(needed(&[]), Needed::new());
        assert_eq!(needed(&[999, 1003, 1020, 1032]), Needed::new());
        assert_eq!(needed(&[1002]), Needed::from([1000]));
        assert_eq!(needed(&[1008]), Needed::from([1004, 1000]));
        assert_eq!(needed(&[1040]), Needed::from([1034, 1030]), "words lie at multiples of four");
    }

    #[test]
    fn segments_that_nearly_touch_are_written_as_one() {
        assert_eq!(segments().pieces(|_| true).len(), 2);
        let pieces = segments().pieces(|start| start != 1004);
        assert_eq!(pieces.iter().map(|(at, bytes)| (*at, bytes.len())).collect::<Vec<_>>(), [(1000, 3), (1030, 14)]);
        assert_eq!(pieces[1].1[..6], [1, 0, 0, 0, 0xFF, 0xFF]);
        let pieces = Segments(BTreeMap::from([(8, vec![1]), (10, vec![2]), (12, vec![3])])).pieces(|start| start != 10);
        assert_eq!(pieces, [(8, vec![1]), (12, vec![3])], "no zeros where another file has data");
    }
}
