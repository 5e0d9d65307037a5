//! The second cache of blocks in a file beside IndexedDB.
//!
//! A read of IndexedDB takes some hundred microseconds, and gives a record of 72 KiB. A read of this file takes some ten, and gives
//! the slice of the block that has the row (`format/block_slices.rs`).
//!
//! ```text
//! 0       header: "TabC" u32 · version u32 · turn u64 · two marks (manifest u64, sum u64) · u64 sum of the header
//! 64      slots: segment u64 · block u32 · page u32 · length u32 · length of the table u32 · u64 sum of the slot, seeded with
//!         the turn and the slot's number
//! 64 KiB  pages of 4 KiB: the blocks, each from the start of a page on
//! ```
//!
//! # Which blocks are right
//! A block is never changed, and no two leaders write segments of one id. But the storage may lose its last seconds with the power, or
//! be deleted and made anew, and the file may not, and a leader without this file may have come in between. So the header names a state of
//! the store: the newest manifest by id and checksum, and before a manifest is stored, the next one too. An opening that finds another
//! one forgets all blocks. Of a known one it keeps the blocks of segments in the store: those whose manifest was lost are gone, and
//! their ids may be used again. Each opening begins a turn, a random number, and writes the slots anew, so no older slot comes
//! back. A write over an older block leaves its slot behind: its sums differ then, and it is missing.
//!
//! All of it is a gate of [`Module::Files`](crate::modules::Module::Files).

use super::second_cache::{SecondaryCache, StoreMark};
use crate::engine::versions::manifest::Segments;
use crate::engine::versions::version::Version;
use crate::env::Env;
use crate::error::Result;
use crate::format::block::Block;
use crate::format::block_slices::{self, SliceTable, SlicedBlock};
use crate::format::record::sum_with;
use crate::format::wire::{Decoded, Reader};
use crate::storage::files::{File, read_exactly, write_all};
use crate::storage::{BlockId, Commit, SegmentId, closed};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

const MAGIC: u32 = u32::from_le_bytes(*b"TabC");
const VERSION: u32 = 1;
const HEADER: usize = 56;
/// Where the slots begin, their size, and how many there are.
const SLOTS_AT: u64 = 64;
const SLOT: usize = 32;
const SLOTS: u32 = 1024;
/// Where the pages begin, their size, and how many there are. The file has 16 MiB at most: Chromium counts an open file that grows as the
/// next power of two.
pub(crate) const PAGES_AT: u64 = 64 << 10;
const PAGE: usize = 4 << 10;
pub(crate) const PAGES: u32 = (4 << 10) - 16;
/// A block that takes more pages is not kept.
const MOST_PAGES: u32 = 256;

/// After so many reads of single rows, a block is read as a whole, for the cache in memory.
const ROWS_FIRST: u32 = 16;

/// So many reads tell how fast the file is. Slower than this, it is slower than IndexedDB: in a private window of Chromium another
/// process has the file.
const TIMED: u32 = 16;
const TIMED_BYTES: usize = 16 << 10;
const SLOW_US: u64 = 100;
/// A busy machine may slow one round down.
const SLOW_ROUNDS: u32 = 2;

/// The tables of blocks in memory take this part of the first cache's budget, and so many bytes, at most.
const TABLES_PART: usize = 16;
const TABLES_BYTES: usize = 1 << 20;

fn bytes_of(segments: &Segments) -> u64 {
    segments.values().map(|segment| segment.bytes).sum()
}

/// A block in the file.
struct Kept {
    slot: u32,
    page: u32,
    length: u32,
    table: u32,
    /// Its table, once it was read.
    opened: RefCell<Option<Rc<SliceTable>>>,
    /// How often single rows of it were read since it was last read as a whole.
    uses: Cell<u32>,
}

impl Kept {
    fn new(slot: u32, page: u32, length: u32, table: u32) -> Self {
        Self { slot, page, length, table, opened: RefCell::default(), uses: Cell::new(0) }
    }

    fn pages(&self) -> u32 {
        self.length.div_ceil(PAGE as u32)
    }

    /// Where it begins in the file.
    fn at(&self) -> u64 {
        PAGES_AT + u64::from(self.page) * PAGE as u64
    }
}

/// What the file has.
struct Content {
    /// The blocks, those that were written first before others.
    blocks: Vec<(BlockId, Kept)>,
    /// Which pages are theirs.
    used: Vec<bool>,
    /// Bytes of the opened tables.
    tables: Cell<usize>,
    /// Bytes of the store's segments by its last manifest, and of the blocks kept since.
    stored: u64,
    recent: u64,
}

/// The cache.
pub(crate) struct FileCache {
    /// Closed once the cache is over.
    file: RefCell<Option<Box<dyn File>>>,
    env: Rc<dyn Env>,
    turn: u64,
    /// The state of the store, if it is known, and the one that is being stored.
    marks: Cell<(Option<StoreMark>, Option<StoreMark>)>,
    content: RefCell<Content>,
    most_tables: usize,
    /// It takes no more blocks: a write has failed.
    is_full: Cell<bool>,
    speed: Cell<Speed>,
}

/// How fast the file is, as far as that is measured.
#[derive(Clone, Copy, Default)]
struct Speed {
    reads: u32,
    us: u64,
    slow_rounds: u32,
}

fn place(slot: u32) -> u64 {
    SLOTS_AT + u64::from(slot) * SLOT as u64
}

fn sealed(mut bytes: Vec<u8>, seed: u64) -> Vec<u8> {
    let sum = sum_with(seed, &[&bytes]);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes
}

fn unsealed(bytes: &[u8], seed: u64) -> Option<Reader<'_>> {
    let (payload, sum) = bytes.split_at_checked(bytes.len().checked_sub(size_of::<u64>())?)?;
    (sum_with(seed, &[payload]).to_le_bytes() == sum).then(|| Reader::new(payload))
}

fn header(turn: u64, marks: [StoreMark; 2]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER);
    bytes.extend_from_slice(&MAGIC.to_le_bytes());
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&turn.to_le_bytes());
    for mark in marks {
        bytes.extend_from_slice(&mark.manifest.to_le_bytes());
        bytes.extend_from_slice(&mark.sum.to_le_bytes());
    }
    sealed(bytes, 0)
}

/// The turn of the file, if it is of this version and names this state.
fn turn_of(header: &[u8], mark: StoreMark) -> Option<u64> {
    let mut reader = unsealed(header, 0)?;
    let mut read = || -> Decoded<_> {
        let (magic, version, turn) = (reader.u32()?, reader.u32()?, reader.u64()?);
        let mut is_named = false;
        for _ in 0..2 {
            is_named |= StoreMark { manifest: reader.u64()?, sum: reader.u64()? } == mark;
        }
        Ok((is_named && (magic, version) == (MAGIC, VERSION)).then_some(turn))
    };
    read().ok().flatten()
}

fn slot_seed(turn: u64, slot: u32) -> u64 {
    turn.wrapping_add(u64::from(slot) + 1)
}

fn slot_bytes(turn: u64, id: BlockId, kept: &Kept) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(SLOT);
    bytes.extend_from_slice(&id.segment.0.to_le_bytes());
    for field in [id.block, kept.page, kept.length, kept.table] {
        bytes.extend_from_slice(&field.to_le_bytes());
    }
    sealed(bytes, slot_seed(turn, kept.slot))
}

fn read_slot(bytes: &[u8], turn: u64, slot: u32) -> Option<(BlockId, Kept)> {
    let mut reader = unsealed(bytes, slot_seed(turn, slot))?;
    let mut read = || -> Decoded<_> {
        let id = BlockId { segment: SegmentId(reader.u64()?), block: reader.u32()? };
        Ok((id, Kept::new(slot, reader.u32()?, reader.u32()?, reader.u32()?)))
    };
    let (id, kept) = read().ok()?;
    let is_inside = kept.page.checked_add(kept.pages()).is_some_and(|end| end <= PAGES);
    (is_inside && kept.length > 0 && kept.table <= kept.length).then_some((id, kept))
}

impl Content {
    fn new() -> Self {
        Self { blocks: Vec::new(), used: vec![false; PAGES as usize], tables: Cell::new(0), stored: 0, recent: 0 }
    }

    fn mark_pages(&mut self, kept: &Kept, used: bool) {
        for page in self.used.iter_mut().skip(kept.page as usize).take(kept.pages() as usize) {
            *page = used;
        }
    }

    fn find(&self, id: BlockId) -> Option<usize> {
        self.blocks.iter().position(|(other, _)| *other == id)
    }

    /// Adds a block that the file has. Nothing, if another one has its pages.
    fn add(&mut self, id: BlockId, kept: Kept) {
        let mut pages = self.used.iter().skip(kept.page as usize).take(kept.pages() as usize);
        if self.find(id).is_none() && pages.all(|used| !*used) {
            self.mark_pages(&kept, true);
            self.blocks.push((id, kept));
        }
    }

    fn remove(&mut self, at: usize) {
        let (_, kept) = self.blocks.remove(at);
        self.mark_pages(&kept, false);
        let opened = kept.opened.borrow().as_ref().map_or(0, |table| table.memory());
        self.tables.set(self.tables.get() - opened);
    }

    fn free_slot(&self) -> Option<u32> {
        let mut taken = [false; SLOTS as usize];
        for (_, kept) in &self.blocks {
            if let Some(taken) = taken.get_mut(kept.slot as usize) {
                *taken = true;
            }
        }
        (0..).zip(taken).find(|(_, taken)| !taken).map(|(slot, _)| slot)
    }

    /// The first place with so many free pages.
    fn free(&self, pages: u32) -> Option<u32> {
        let mut run = 0;
        for (page, used) in (0..).zip(&self.used) {
            run = if *used { 0 } else { run + 1 };
            if run == pages {
                return Some(page + 1 - pages);
            }
        }
        None
    }

    /// Room for a block: a slot and its first page. Other blocks go if they must.
    fn room(&mut self, pages: u32) -> Option<(u32, u32)> {
        loop {
            if let (Some(slot), Some(page)) = (self.free_slot(), self.free(pages)) {
                return Some((slot, page));
            }
            if self.blocks.is_empty() {
                return None;
            }
            self.remove(0);
        }
    }

    /// Keeps a table that was read in memory. If they take too much, others go.
    fn keep_table(&self, kept: &Kept, table: &Rc<SliceTable>, most: usize) {
        if table.memory() > most {
            return;
        }
        if self.tables.get() + table.memory() > most {
            self.blocks.iter().for_each(|(_, kept)| drop(kept.opened.take()));
            self.tables.set(0);
        }
        self.tables.set(self.tables.get() + table.memory());
        kept.opened.replace(Some(Rc::clone(table)));
    }
}

impl FileCache {
    /// Opens the cache in a file for a store in this state, if it is known. Of another state it keeps nothing.
    ///
    /// # Errors
    /// Errors of the file.
    pub(crate) fn open(
        file: Box<dyn File>,
        (env, cache_bytes): (Rc<dyn Env>, usize),
        mark: Option<StoreMark>,
        segments: &Segments,
    ) -> Result<Self> {
        let mut content = Content { stored: bytes_of(segments), ..Content::new() };
        let mut start = vec![0; PAGES_AT as usize];
        if file.length()? >= PAGES_AT {
            read_exactly(&*file, 0, &mut start)?;
        }
        let known = mark.and_then(|mark| turn_of(start.get(..HEADER).unwrap_or_default(), mark));
        if let Some(turn) = known {
            let slots = start.get(SLOTS_AT as usize..).unwrap_or_default().chunks_exact(SLOT);
            let known = (0..SLOTS).zip(slots).filter_map(|(slot, bytes)| read_slot(bytes, turn, slot));
            known.filter(|(id, _)| segments.contains_key(&id.segment)).for_each(|(id, kept)| content.add(id, kept));
        } else {
            file.set_length(0)?;
        }
        let mut turn = [0; size_of::<u64>()];
        env.fill_random(&mut turn);
        let turn = u64::from_le_bytes(turn);
        start.fill(0);
        let mut put = |at: u64, bytes: &[u8]| {
            if let Some(into) = start.get_mut(at as usize..at as usize + bytes.len()) {
                into.copy_from_slice(bytes);
            }
        };
        // In an unknown state it is nobody's.
        put(0, &mark.map(|mark| header(turn, [mark; 2])).unwrap_or_default());
        content.blocks.iter().for_each(|(id, kept)| put(place(kept.slot), &slot_bytes(turn, *id, kept)));
        write_all(&*file, 0, &start)?;
        Ok(Self {
            file: RefCell::new(Some(file)),
            env,
            turn,
            marks: Cell::new((mark, None)),
            content: RefCell::new(content),
            most_tables: (cache_bytes / TABLES_PART).min(TABLES_BYTES),
            is_full: Cell::new(false),
            speed: Cell::default(),
        })
    }

    /// Makes a call of the file.
    fn on<T>(&self, call: impl FnOnce(&dyn File) -> Result<T>) -> Result<T> {
        self.file.borrow().as_ref().map_or_else(|| Err(closed()), |file| call(&**file))
    }

    fn keep(&self, id: BlockId, SlicedBlock { bytes, table }: &SlicedBlock) -> Result<()> {
        let mut content = self.content.borrow_mut();
        if let Some(at) = content.find(id) {
            content.remove(at);
        }
        let length = bytes.len() as u32;
        let pages = length.div_ceil(PAGE as u32);
        if pages > MOST_PAGES {
            return Ok(());
        }
        let Some((slot, page)) = content.room(pages) else { return Ok(()) };
        let kept = Kept::new(slot, page, length, *table as u32);
        self.on(|file| {
            write_all(file, kept.at(), bytes)?;
            write_all(file, place(slot), &slot_bytes(self.turn, id, &kept))
        })?;
        content.recent += u64::from(length);
        content.add(id, kept);
        Ok(())
    }

    fn read_at(&self, at: u64, length: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        let mut speed = self.speed.get();
        if speed.reads >= TIMED || length > TIMED_BYTES {
            self.on(|file| read_exactly(file, at, &mut bytes))?;
            return Ok(bytes);
        }
        let before = self.env.ticks_us();
        self.on(|file| read_exactly(file, at, &mut bytes))?;
        speed.reads += 1;
        speed.us += self.env.ticks_us().saturating_sub(before);
        if speed.reads == TIMED && speed.us > SLOW_US * u64::from(TIMED) {
            speed = Speed { slow_rounds: speed.slow_rounds + 1, ..Speed::default() };
        }
        self.speed.set(speed);
        Ok(bytes)
    }

    fn is_slow(&self) -> bool {
        self.speed.get().slow_rounds >= SLOW_ROUNDS
    }

    /// The table of a block.
    fn table(&self, content: &Content, id: BlockId, kept: &Kept) -> Option<Rc<SliceTable>> {
        if let Some(table) = &*kept.opened.borrow() {
            return Some(Rc::clone(table));
        }
        let bytes = self.read_at(kept.at(), kept.table as usize).ok()?;
        let table = Rc::new(SliceTable::open(id, &bytes).ok()?);
        content.keep_table(kept, &table, self.most_tables);
        Some(table)
    }

    /// Reads a block, or rows of it. `None` if it is damaged.
    fn read_kept(&self, table: &SliceTable, kept: &Kept, keys: Option<&[&[u8]]>) -> Option<(Block, bool)> {
        let slices_at = kept.at() + u64::from(kept.table);
        let wanted = keys.map(|keys| table.slices_with(keys));
        let is_few = |wanted: &Vec<usize>| wanted.len() * 2 <= table.len() && kept.uses.get() < ROWS_FIRST;
        let Some(wanted) = wanted.filter(is_few) else {
            kept.uses.set(0);
            let bytes = self.read_at(slices_at, kept.length.checked_sub(kept.table)? as usize).ok()?;
            let slice = |index| bytes.get(table.place(index..index + 1)).map(|stored| (index, stored));
            let slices = (0..table.len()).map(slice).collect::<Option<Vec<_>>>()?;
            return Some((table.block(&slices).ok()?, true));
        };
        kept.uses.set(kept.uses.get() + 1);
        let read = |index| {
            let place = table.place(index..index + 1);
            self.read_at(slices_at + place.start as u64, place.len()).ok().map(|bytes| (index, bytes))
        };
        let stored = wanted.into_iter().map(read).collect::<Option<Vec<_>>>()?;
        let slices: Vec<_> = stored.iter().map(|(index, bytes)| (*index, bytes.as_slice())).collect();
        Some((table.block(&slices).ok()?, false))
    }
}

impl SecondaryCache for FileCache {
    fn put(&self, id: BlockId, block: &Block, is_written: bool) {
        let is_too_large = || {
            let content = self.content.borrow();
            content.stored * 2 + content.recent > u64::from(PAGES) * PAGE as u64
        };
        // What is written to a much larger store would push out what is read.
        if self.is_full.get() || is_written && is_too_large() {
            return;
        }
        let Ok(sliced) = block_slices::cut(id, block) else { return };
        if let Err(error) = self.keep(id, &sliced) {
            log::debug!("the file with copies of blocks takes no more: {error}");
            self.is_full.set(true);
        }
    }

    fn read(&self, id: BlockId, keys: Option<&[&[u8]]>) -> Option<(Block, bool)> {
        let content = self.content.borrow();
        let at = content.find(id)?;
        let (_, kept) = content.blocks.get(at)?;
        let table = self.table(&content, id, kept);
        let read = table.and_then(|table| self.read_kept(&table, kept, keys));
        drop(content);
        if read.is_none() {
            self.content.borrow_mut().remove(at);
        }
        if self.is_slow() {
            self.give_up();
        }
        read
    }

    fn remove(&self, id: BlockId) {
        let mut content = self.content.borrow_mut();
        if let Some(at) = content.find(id) {
            content.remove(at);
        }
    }

    fn expect(&self, commit: &Commit, version: Option<&Version>) {
        let (before, _) = self.marks.get();
        self.marks.set((before, None));
        let (Some((id, record)), Some(version)) = (&commit.manifest, version) else { return };
        let next = StoreMark::new(*id, record);
        self.marks.set((before, Some(next)));
        let mut content = self.content.borrow_mut();
        (content.stored, content.recent) = (bytes_of(&version.segments()), 0);
        let header = header(self.turn, [before.unwrap_or(next), next]);
        // With an older one the next opening keeps nothing.
        if self.on(|file| write_all(file, 0, &header)).is_err() {
            self.is_full.set(true);
        }
    }

    fn settle(&self) {
        let (before, next) = self.marks.get();
        self.marks.set((next.or(before), None));
    }

    fn give_up(&self) -> bool {
        let file = self.file.take();
        self.close();
        file.is_some_and(|file| file.set_length(0).is_ok())
    }

    fn close(&self) {
        self.is_full.set(true);
        *self.content.borrow_mut() = Content::new();
        drop(self.file.take());
    }
}
