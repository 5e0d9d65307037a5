//! A storage in memory that is counted apart from the engine, and an engine on it.

use crate::memory;
use crate::rows::{Delete, Put, Rows, TREE, key};
use crate::world::World;
use bytes::Bytes;
use std::ops::Bound;
use std::ops::ControlFlow;
use std::rc::Rc;
use tabstore::engine::{Direction, Engine, KeyRange, Options};
use tabstore::storage::{BlockId, Commit, Durability, Loaded, LogNumber, LogStart, MemoryStorage, SegmentId, Storage};

/// Memory storage whose records are exact copies, counted as stored.
#[derive(Clone, Default)]
pub struct Disk(pub MemoryStorage);

impl Disk {
    /// Runs a change, and counts the difference in stored bytes.
    fn counted<T>(&self, change: impl FnOnce() -> T) -> T {
        let before = self.0.bytes() as i64;
        let result = change();
        memory::stored(self.0.bytes() as i64 - before);
        result
    }
}

fn now<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    match future.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop())) {
        std::task::Poll::Ready(done) => done,
        std::task::Poll::Pending => unreachable!("memory storage never waits"),
    }
}

tabstore::boxed_storage!(Disk);

impl Storage for Disk {
    async fn load(&self, from: &LogStart<'_>) -> tabstore::Result<Loaded> {
        self.0.load(from).await
    }

    async fn read_log(&self, from: LogNumber) -> tabstore::Result<Vec<(LogNumber, Bytes)>> {
        self.0.read_log(from).await
    }

    async fn get_blocks(&self, blocks: &[BlockId]) -> tabstore::Result<Vec<Option<Bytes>>> {
        self.0.get_blocks(blocks).await
    }

    async fn stage(&self, segment: SegmentId, blocks: Vec<(u32, Bytes)>, durability: Durability) -> tabstore::Result<()> {
        let blocks = blocks.into_iter().map(|(at, record)| (at, Bytes::copy_from_slice(&record))).collect();
        self.counted(|| now(self.0.stage(segment, blocks, durability)))
    }

    async fn commit(&self, mut commit: Commit) -> tabstore::Result<()> {
        for (_, record) in &mut commit.log {
            *record = Bytes::copy_from_slice(record);
        }
        if let Some((_, record)) = &mut commit.manifest {
            *record = Bytes::copy_from_slice(record);
        }
        self.counted(|| now(self.0.commit(commit)))
    }

    async fn list_segments(&self) -> tabstore::Result<Vec<SegmentId>> {
        self.0.list_segments().await
    }

    async fn delete_segments(&self, segments: &[SegmentId]) -> tabstore::Result<()> {
        self.counted(|| now(self.0.delete_segments(segments)))
    }

    async fn close(&self) {
        self.0.close().await;
    }
}

/// An engine in a world on a disk.
pub struct Ours {
    pub world: World,
    pub disk: Disk,
    pub engine: Rc<Engine>,
    rows: Rows,
    stamp: i64,
}

impl Ours {
    /// A new one.
    pub fn new(options: Options) -> Self {
        Self::open(World::default(), Disk::default(), options)
    }

    /// An engine on the data of a disk.
    pub fn open(world: World, disk: Disk, options: Options) -> Self {
        let engine = world.run(Engine::open(disk.clone(), Rc::new(world.clone()), options)).expect("opens");
        Self { world, disk, engine, rows: Rows::default(), stamp: 1_700_000_000_000 }
    }

    /// Puts rows, as one group; gives their bytes.
    pub fn put(&mut self, ids: &mut dyn Iterator<Item = u64>, round: u64) -> u64 {
        self.stamp += 1;
        let mut put = Put { rows: &self.rows, ids, round, stamp: self.stamp, bytes: 0 };
        self.world.run(self.engine.modify(&[], None, &mut put)).expect("put");
        put.bytes
    }

    /// Deletes rows, as one group.
    pub fn delete(&mut self, ids: &mut dyn Iterator<Item = u64>) {
        self.stamp += 1;
        self.world.run(self.engine.modify(&[], None, &mut Delete(ids, self.stamp))).expect("deleted");
    }

    /// Reads a row; says how many cells it has.
    pub fn get(&self, id: u64) -> usize {
        let mut found = 0;
        let key = key(id);
        let keys = [&key[..]];
        let mut see =
            |_: usize, row: Option<&tabstore::engine::RowView<'_>>| found = row.map_or(0, |row| row.cells().len());
        self.world.run(self.engine.read(TREE, &keys, &mut see)).expect("read");
        found
    }

    /// Reads all rows; says how many there are.
    pub fn scan(&self) -> u64 {
        let mut rows = 0;
        let all = KeyRange { lower: Bound::Unbounded, upper: Bound::Unbounded };
        let mut see = |_: &[u8], row: &tabstore::engine::RowView<'_>| {
            rows += u64::from(!row.cells().is_empty());
            ControlFlow::Continue(())
        };
        self.world.run(self.engine.scan(TREE, all, Direction::Forward, &mut see)).expect("scanned");
        rows
    }

    /// Flushes.
    pub fn flush(&self) {
        self.world.run(self.engine.flush()).expect("flushed");
    }

    /// Compacts everything.
    pub fn compact(&self) {
        self.world.run(self.engine.compact()).expect("compacted");
    }
}
