//! Storages that misbehave on purpose: decorators of any [`Storage`].
//!
//! A [`Hooked`] storage shows every call to a [`Hook`], before it and after it took effect, and every record that is
//! read. The hooks here fail, wait, count, damage and record calls. They stack, because a hooked storage is a storage.

use super::files::File;
use super::{
    BlockId, Boxed, Commit, Durability, Fence, FencedStorage, Loaded, LogNumber, LogStart, ManifestId, MemoryStorage,
    SegmentId, Storage,
};
use crate::error::{Code, Error, Result};
use bytes::Bytes;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::ptr;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// One call of a storage, with its arguments.
#[derive(Clone, Debug)]
pub enum Call {
    /// [`Storage::load`].
    Load,
    /// [`Storage::read_log`].
    ReadLog(LogNumber),
    /// [`Storage::get_blocks`].
    GetBlocks(Vec<BlockId>),
    /// [`Storage::stage`].
    Stage(SegmentId, Vec<(u32, Bytes)>, Durability),
    /// [`Storage::commit`], or [`FencedStorage::commit_behind`].
    Commit(Commit),
    /// [`FencedStorage::fence`].
    Fence,
    /// [`Storage::list_segments`].
    ListSegments,
    /// [`Storage::delete_segments`].
    DeleteSegments(Vec<SegmentId>),
    /// [`Storage::close`].
    Close,
}

/// The name of a stored record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Record {
    /// A log record.
    Log(LogNumber),
    /// A record of a segment.
    Block(BlockId),
    /// A manifest.
    Manifest(ManifestId),
}

/// An observer of the calls of a [`Hooked`] storage. Every method has a default that does nothing.
#[expect(async_fn_in_trait, reason = "one thread: no future has to be Send")]
pub trait Hook: 'static {
    /// Before the call; an error replaces it.
    async fn before(&self, call: &Call) -> Result<()> {
        let _ = call;
        Ok(())
    }

    /// After the call succeeded; an error hides the success.
    async fn after(&self, call: &Call) -> Result<()> {
        let _ = call;
        Ok(())
    }

    /// A record on its way to the caller.
    fn read(&self, record: Record, bytes: Bytes) -> Bytes {
        let _ = record;
        bytes
    }

    /// Called before [`Storage::squeeze`]. Returns whether there may be more room.
    fn squeeze(&self) -> bool {
        false
    }

    /// Whether [`Storage::newest_log`] is passed on.
    fn knows_newest_log(&self) -> bool {
        true
    }

    /// Whether [`FencedStorage::is_connected`] is passed on.
    fn is_connected(&self) -> bool {
        true
    }
}

/// A handle to a hook is a hook, so that a test can keep one while the engine has the storage.
impl<H: Hook> Hook for Rc<H> {
    async fn before(&self, call: &Call) -> Result<()> {
        (**self).before(call).await
    }

    async fn after(&self, call: &Call) -> Result<()> {
        (**self).after(call).await
    }

    fn read(&self, record: Record, bytes: Bytes) -> Bytes {
        (**self).read(record, bytes)
    }

    fn squeeze(&self) -> bool {
        (**self).squeeze()
    }

    fn knows_newest_log(&self) -> bool {
        (**self).knows_newest_log()
    }

    fn is_connected(&self) -> bool {
        (**self).is_connected()
    }
}

/// A storage with a hook on its calls.
#[derive(Clone, Debug)]
pub struct Hooked<S, H> {
    inner: S,
    hook: H,
}

impl<S: Storage, H: Hook> Hooked<S, H> {
    /// `inner`, with `hook` on its calls.
    pub fn new(inner: S, hook: H) -> Self {
        Self { inner, hook }
    }

    fn read_records(&self, found: Vec<(LogNumber, Bytes)>) -> Vec<(LogNumber, Bytes)> {
        found.into_iter().map(|(number, bytes)| (number, self.hook.read(Record::Log(number), bytes))).collect()
    }

    async fn around<T>(&self, call: Call, run: impl AsyncFnOnce(&S) -> Result<T>) -> Result<T> {
        self.hook.before(&call).await?;
        let answer = run(&self.inner).await?;
        self.hook.after(&call).await?;
        Ok(answer)
    }
}

impl<S: Storage, H: Hook> Storage for Hooked<S, H> {
    async fn load(&self, from: &LogStart<'_>) -> Result<Loaded> {
        let manifest = |(id, bytes): &(ManifestId, Bytes)| (*id, self.hook.read(Record::Manifest(*id), bytes.clone()));
        let read = |manifests: &[_]| manifests.iter().map(manifest).collect::<Vec<_>>();
        let found =
            self.around(Call::Load, async |inner| inner.load(&|manifests| from(&read(manifests))).await).await?;
        Ok(Loaded { manifests: read(&found.manifests), log: self.read_records(found.log) })
    }

    async fn read_log(&self, from: LogNumber) -> Result<Vec<(LogNumber, Bytes)>> {
        Ok(self.read_records(self.around(Call::ReadLog(from), async |inner| inner.read_log(from).await).await?))
    }

    fn newest_log(&self) -> Option<LogNumber> {
        self.inner.newest_log().filter(|_| self.hook.knows_newest_log())
    }

    async fn get_blocks(&self, blocks: &[BlockId]) -> Result<Vec<Option<Bytes>>> {
        let call = Call::GetBlocks(blocks.to_vec());
        let found = self.around(call, async |inner| inner.get_blocks(blocks).await).await?;
        let pairs = blocks.iter().zip(found);
        Ok(pairs.map(|(id, bytes)| bytes.map(|bytes| self.hook.read(Record::Block(*id), bytes))).collect())
    }

    async fn stage(&self, segment: SegmentId, blocks: Vec<(u32, Bytes)>, durability: Durability) -> Result<()> {
        let call = Call::Stage(segment, blocks.clone(), durability);
        self.around(call, async |inner| inner.stage(segment, blocks, durability).await).await
    }

    async fn commit(&self, commit: Commit) -> Result<()> {
        let call = Call::Commit(commit.clone());
        self.around(call, async |inner| inner.commit(commit).await).await
    }

    async fn list_segments(&self) -> Result<Vec<SegmentId>> {
        self.around(Call::ListSegments, async |inner| inner.list_segments().await).await
    }

    async fn delete_segments(&self, segments: &[SegmentId]) -> Result<()> {
        let call = Call::DeleteSegments(segments.to_vec());
        self.around(call, async |inner| inner.delete_segments(segments).await).await
    }

    async fn squeeze(&self) -> bool {
        let hooked = self.hook.squeeze();
        self.inner.squeeze().await || hooked
    }

    fn scratch(&self) -> Option<Boxed<'_, Option<Box<dyn File>>>> {
        self.inner.scratch()
    }

    fn has_log_in_files(&self) -> bool {
        self.inner.has_log_in_files()
    }

    async fn close(&self) {
        // Closing cannot fail, so neither can its hooks.
        let _ = self.hook.before(&Call::Close).await;
        self.inner.close().await;
        let _ = self.hook.after(&Call::Close).await;
    }
}

crate::boxed_storage!(Hooked<S, H> where S: Storage, H: Hook);

impl<S: FencedStorage, H: Hook> FencedStorage for Hooked<S, H> {
    async fn fence(&self) -> Result<Fence> {
        self.around(Call::Fence, async |inner| inner.fence().await).await
    }

    async fn commit_behind(&self, commit: Commit, number: u64, changed: Option<&Fence>) -> Result<()> {
        let call = Call::Commit(commit.clone());
        self.around(call, async |inner| inner.commit_behind(commit, number, changed).await).await
    }

    fn is_connected(&self) -> bool {
        self.hook.is_connected() && self.inner.is_connected()
    }
}

/// On which side of the real work a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The call has no effect.
    Before,
    /// The call took effect, but its caller gets an error.
    After,
}

/// Makes calls fail, numbered from 0 over all calls but `close`.
#[derive(Debug)]
pub struct FailAt {
    calls: Cell<u64>,
    /// The call that fails after it took effect. Others may start and end meanwhile, so its address identifies it.
    marked: Cell<*const Call>,
    first: u64,
    moment: Moment,
    error: Error,
    forever: bool,
}

impl FailAt {
    /// Call number `call` fails, and only that one.
    #[must_use]
    pub fn once(call: u64, moment: Moment) -> Self {
        let error = Error::new(Code::Unavailable, format!("storage call {call} was made to fail"));
        Self { calls: Cell::new(0), marked: Cell::new(ptr::null()), first: call, moment, error, forever: false }
    }

    /// Call number `call` and all later ones fail, as when the connection is gone for good. The later ones have no
    /// effect.
    #[must_use]
    pub fn from(call: u64, moment: Moment) -> Self {
        Self { forever: true, ..Self::once(call, moment) }
    }

    /// The same with another error.
    #[must_use]
    pub fn with_error(self, error: Error) -> Self {
        Self { error, ..self }
    }

    /// The number of calls so far.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.calls.get()
    }
}

impl Hook for FailAt {
    async fn before(&self, call: &Call) -> Result<()> {
        if matches!(call, Call::Close) {
            return Ok(());
        }
        let number = self.calls.get();
        self.calls.set(number + 1);
        if number == self.first && self.moment == Moment::After {
            self.marked.set(call);
            return Ok(());
        }
        let now = number == self.first || (self.forever && number > self.first);
        if now { Err(self.error.clone()) } else { Ok(()) }
    }

    async fn after(&self, call: &Call) -> Result<()> {
        if ptr::eq(self.marked.get(), call) {
            self.marked.set(ptr::null());
            return Err(self.error.clone());
        }
        Ok(())
    }
}

/// Chooses calls.
type Choose = Box<dyn Fn(&Call) -> bool>;

/// Holds calls back, and makes calls fail, while a test wants it.
#[derive(Default)]
pub struct Gates {
    chosen: RefCell<Option<Choose>>,
    waiting: RefCell<Vec<Waker>>,
    failing: RefCell<Option<(Choose, Moment, Error, u32)>>,
}

impl Gates {
    /// Makes calls that `choose` selects wait, before they run, until others or none are held.
    pub fn hold(&self, choose: impl Fn(&Call) -> bool + 'static) {
        self.set_held(Some(Box::new(choose)));
    }

    /// Releases all held calls.
    pub fn open(&self) {
        self.set_held(None);
    }

    /// How many calls are held.
    pub fn held(&self) -> usize {
        self.waiting.borrow().len()
    }

    fn set_held(&self, held: Option<Choose>) {
        self.chosen.replace(held);
        self.waiting.take().into_iter().for_each(Waker::wake);
    }

    /// Makes the next `times` calls that `choose` selects fail.
    pub fn fail(&self, times: u32, choose: impl Fn(&Call) -> bool + 'static, moment: Moment, code: Code) {
        let error = Error::new(code, "a test lets this call fail");
        self.failing.replace((times > 0).then(|| (Box::new(choose) as Choose, moment, error, times)));
    }

    /// The failures that are still to come.
    pub fn failures_left(&self) -> u32 {
        self.failing.borrow().as_ref().map_or(0, |(_, _, _, left)| *left)
    }

    fn fate(&self, call: &Call, now: Moment) -> Result<()> {
        let mut failing = self.failing.borrow_mut();
        match &mut *failing {
            Some((choose, moment, error, left)) if *moment == now && choose(call) => {
                let error = error.clone();
                *left -= 1;
                if *left == 0 {
                    *failing = None;
                }
                Err(error)
            }
            _ => Ok(()),
        }
    }
}

impl Hook for Gates {
    async fn before(&self, call: &Call) -> Result<()> {
        poll_fn(|context| match &*self.chosen.borrow() {
            Some(choose) if choose(call) => {
                self.waiting.borrow_mut().push(context.waker().clone());
                Poll::Pending
            }
            _ => Poll::Ready(()),
        })
        .await;
        self.fate(call, Moment::Before)
    }

    async fn after(&self, call: &Call) -> Result<()> {
        self.fate(call, Moment::After)
    }
}

/// Yields to other tasks once before and once after every call, so that they meet at every possible point.
#[derive(Clone, Copy, Debug, Default)]
pub struct YieldOnce;

impl Hook for YieldOnce {
    async fn before(&self, _: &Call) -> Result<()> {
        yield_once().await;
        Ok(())
    }

    async fn after(&self, _: &Call) -> Result<()> {
        yield_once().await;
        Ok(())
    }
}

/// Resolves at its second poll.
pub(crate) async fn yield_once() {
    let mut yielded = false;
    poll_fn(|context| {
        if yielded {
            return Poll::Ready(());
        }
        yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Flips bits of one byte of one record whenever it is read.
#[derive(Clone, Copy, Debug)]
pub struct FlipByte {
    /// The record.
    pub record: Record,
    /// The byte's place; taken modulo the record's length.
    pub at: usize,
    /// The bits to flip; not 0.
    pub mask: u8,
}

impl Hook for FlipByte {
    fn read(&self, record: Record, bytes: Bytes) -> Bytes {
        if record != self.record || bytes.is_empty() {
            return bytes;
        }
        let mut damaged = bytes.to_vec();
        let at = self.at % damaged.len();
        damaged[at] ^= self.mask;
        damaged.into()
    }
}

/// Counts calls and bytes.
#[derive(Debug, Default)]
pub struct Counts {
    /// Calls of [`Storage::commit`].
    pub commits: Cell<u64>,
    /// Calls of [`Storage::stage`].
    pub stages: Cell<u64>,
    /// Calls of [`Storage::get_blocks`].
    pub gets: Cell<u64>,
    /// Blocks that were read.
    pub blocks_read: Cell<u64>,
    /// Bytes of the blocks that were staged.
    pub bytes_staged: Cell<u64>,
    /// Bytes of log records.
    pub bytes_logged: Cell<u64>,
    /// Calls of any kind.
    pub calls: Cell<u64>,
}

impl Hook for Counts {
    async fn after(&self, call: &Call) -> Result<()> {
        let add = |count: &Cell<u64>, more: usize| count.set(count.get() + more as u64);
        add(&self.calls, 1);
        match call {
            Call::GetBlocks(blocks) => {
                add(&self.gets, 1);
                add(&self.blocks_read, blocks.len());
            }
            Call::Stage(_, blocks, _) => {
                add(&self.stages, 1);
                add(&self.bytes_staged, blocks.iter().map(|(_, bytes)| bytes.len()).sum());
            }
            Call::Commit(commit) => {
                add(&self.commits, 1);
                add(&self.bytes_logged, commit.log.iter().map(|(_, bytes)| bytes.len()).sum());
            }
            _ => {}
        }
        Ok(())
    }
}

/// Keeps the store that a crash would leave after each change. It follows the changes on a copy in memory.
#[derive(Debug)]
pub struct CrashImages {
    mirror: MemoryStorage,
    images: RefCell<Vec<MemoryStorage>>,
}

impl CrashImages {
    /// For a store with the records of `start`, which is the first image.
    #[must_use]
    pub fn new(start: &MemoryStorage) -> Self {
        let mirror = start.image();
        let images = RefCell::new(vec![mirror.image()]);
        Self { mirror, images }
    }

    /// The number of images: one, and one more for every change since.
    #[must_use]
    pub fn count(&self) -> usize {
        self.images.borrow().len()
    }

    /// Takes the images out, oldest first. Each is a store of its own.
    #[must_use]
    pub fn take(&self) -> Vec<MemoryStorage> {
        self.images.take()
    }
}

impl Hook for CrashImages {
    async fn after(&self, call: &Call) -> Result<()> {
        match call.clone() {
            Call::Stage(segment, blocks, durability) => self.mirror.stage(segment, blocks, durability).await?,
            Call::Commit(commit) => self.mirror.commit(commit).await?,
            Call::DeleteSegments(segments) => self.mirror.delete_segments(&segments).await?,
            _ => return Ok(()),
        }
        self.images.borrow_mut().push(self.mirror.image());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_executor::block_on;

    fn append(number: u64) -> Commit {
        Commit { log: vec![(LogNumber(number), Bytes::from_static(b"log"))], ..Commit::default() }
    }

    #[test]
    fn a_call_fails_before_or_after_it_took_effect() {
        for (moment, stored) in [(Moment::Before, 1), (Moment::After, 2)] {
            let memory = MemoryStorage::new();
            let storage = Hooked::new(memory.clone(), FailAt::once(1, moment));
            block_on(async {
                storage.commit(append(1)).await.unwrap();
                let error = storage.commit(append(2)).await.unwrap_err();
                assert_eq!(error.code(), Code::Unavailable);
                assert_eq!(storage.read_log(LogNumber(1)).await.unwrap().len(), stored, "{moment:?}");
            });
        }
    }

    #[test]
    fn a_lost_connection_fails_all_that_follows() {
        let storage = Hooked::new(MemoryStorage::new(), FailAt::from(1, Moment::After));
        block_on(async {
            storage.commit(append(1)).await.unwrap();
            for number in 2..4 {
                storage.commit(append(number)).await.unwrap_err();
            }
            storage.list_segments().await.unwrap_err();
        });
    }

    #[test]
    fn the_chosen_record_is_read_damaged_and_no_other() {
        let flip = FlipByte { record: Record::Log(LogNumber(2)), at: 4, mask: 1 };
        let storage = Hooked::new(MemoryStorage::new(), flip);
        block_on(async {
            storage.commit(append(1)).await.unwrap();
            storage.commit(append(2)).await.unwrap();
            let log = storage.read_log(LogNumber(1)).await.unwrap();
            assert_eq!(log[0].1, "log");
            assert_eq!(log[1].1, "lng", "byte 4 of 3 is byte 1");
        });
    }

    #[test]
    fn an_image_is_kept_after_every_change() {
        let memory = MemoryStorage::new();
        let images = Rc::new(CrashImages::new(&memory));
        let storage = Hooked::new(memory, Rc::clone(&images));
        block_on(async {
            storage.commit(append(1)).await.unwrap();
            storage.stage(SegmentId(1), vec![(0, Bytes::from_static(b"block"))], Durability::Relaxed).await.unwrap();
            storage.commit(append(1)).await.unwrap_err();
            let counts: Vec<usize> = images.take().iter().map(MemoryStorage::bytes).collect();
            assert_eq!(counts, [0, 3, 8], "a failed commit changes nothing and leaves no image");
        });
    }

    #[test]
    fn two_tasks_meet_at_every_call() {
        let storage = Rc::new(Hooked::new(MemoryStorage::new(), YieldOnce));
        let order = RefCell::new(Vec::new());
        let task = |name: &'static str, number: u64| {
            let (storage, order) = (Rc::clone(&storage), &order);
            async move {
                storage.commit(append(number)).await.unwrap();
                order.borrow_mut().push(name);
                storage.commit(append(number + 1)).await.unwrap();
                order.borrow_mut().push(name);
            }
        };
        block_on(futures_util::future::join(task("a", 1), task("b", 3)));
        assert_eq!(*order.borrow(), ["a", "b", "a", "b"]);
    }
}
