//! What callers of the engine see: each method asks one component, or two in turn.

use super::Engine;
use super::base::clock::Clock;
use super::base::health::Health;
use super::base::missing::Missing;
use super::base::options::Options;
use super::bulk_loader::BulkLoader;
use super::inspect::Inspector;
use super::memory::overlay::Overlay;
use super::memory::waiting_records::Recorder;
use super::metrics::{Metrics, PartitionMetrics};
use super::opening::recover;
use super::read::profile::Mass;
use super::read::reader::{Needs, ReadRequest, ScanOptions};
use super::rows::keys::{Direction, KeyRange, tree_range};
use super::rows::row::RowView;
use super::versions::partition::{PartitionId, ShapeSeen};
use super::waiters::watches::{ChangePlace, ChangedKeys};
use super::work::{DoneWork, WorkLine};
use super::write::decide::{Decide, Receipt};
use crate::env::{Env, LocalFuture};
use crate::error::{Code, Error, Result};
use crate::model::version::Retention;
use crate::model::{Origin, RowChange, TreeId};
use crate::storage::AnyStorage;
use std::cell::Ref;
use std::ops::ControlFlow;
use std::rc::Rc;

/// The methods are apart from the wiring, so that each file has one subject.
impl Engine {
    /// Opens the store in `storage`, or makes a new one, and becomes its only writer: the previous writer is fenced off.
    /// If the disk has no room for that, it takes the lead once there is room. Stored data can be read meanwhile.
    ///
    /// # Errors
    /// `Corrupt` names a damaged or missing record of the manifest or the log. `LeaderChanged` if others keep taking over
    /// meanwhile. Errors of the storage.
    pub fn open(storage: impl Into<AnyStorage>, env: Rc<dyn Env>, options: Options) -> LocalFuture<Result<Rc<Self>>> {
        recover::open(storage.into(), env, options)
    }

    pub(crate) fn check_alive(&self) -> Result<()> {
        self.store.check_alive()
    }

    /// Its options.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.runtime.options
    }

    /// Its clocks.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.runtime.clock
    }

    /// Where problems that do not end the engine are reported.
    pub(crate) fn health(&self) -> &Health {
        &self.runtime.health
    }

    /// What it runs in. Background work is for [`Engine::spawn`], which measures its slices.
    pub(crate) fn env(&self) -> &dyn Env {
        &*self.runtime.env
    }

    /// Random bytes.
    #[must_use]
    pub fn random<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.runtime.env.fill_random(&mut bytes);
        bytes
    }

    /// Runs `task` in the background, some time after this call returns.
    pub(crate) fn spawn(&self, task: LocalFuture<()>) {
        self.runtime.spawn_aside(task);
    }

    /// An upper bound of all stamps, also from before a restart.
    #[must_use]
    pub fn last_stamp(&self) -> i64 {
        self.store.line.last_stamp()
    }

    /// The seqno of the newest write.
    #[must_use]
    pub fn last_seqno(&self) -> u64 {
        self.store.line.last_seqno()
    }

    /// The number of failed commits, and of failed flushes that blocked writes. A write that was acknowledged is stored.
    /// Other earlier writes may be lost if this number has changed since.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.store.line.failures()
    }

    /// Reads rows by key, all at one instant. `visit` is called once for each key, in their order; a missing or a deleted row is
    /// `None`. Completes at the first poll if all data is in memory.
    ///
    /// # Errors
    /// `Corrupt` if the read needs a damaged record; errors of the storage.
    pub fn read(
        &self,
        tree: TreeId,
        keys: &[&[u8]],
        visit: &mut dyn FnMut(usize, Option<&RowView<'_>>),
    ) -> impl Future<Output = Result<()>> {
        self.reader.read(ReadRequest::of(tree, keys), visit)
    }

    /// Reads rows by key as [`Engine::read`] does, with the writes of an overlay on top. A deleted row is returned while it is
    /// remembered, for its stamp. With `needs`, cells of large rows that the reader does not need may be left out.
    ///
    /// # Errors
    /// As for [`Engine::read`].
    pub fn read_parts<'r>(
        &'r self,
        overlay: Option<&'r Overlay>,
        tree: TreeId,
        keys: &'r [&'r [u8]],
        needs: Option<&'r Needs<'r>>,
        visit: &'r mut dyn FnMut(usize, Option<&RowView<'_>>),
    ) -> impl Future<Output = Result<()>> {
        self.reader.read(ReadRequest { needs, overlay, shows_deleted: true, ..ReadRequest::of(tree, keys) }, visit)
    }

    /// Reads the rows of a range, all at one instant, until `visit` breaks. Deleted rows are not visited.
    ///
    /// # Errors
    /// As for [`Engine::read`].
    pub async fn scan(
        &self,
        tree: TreeId,
        range: KeyRange,
        direction: Direction,
        visit: &mut dyn FnMut(&[u8], &RowView<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut there =
            |key: &[u8], row: &RowView<'_>| if row.is_deleted() { ControlFlow::Continue(()) } else { visit(key, row) };
        self.reader.scan_over(ScanOptions::STORED, tree, range, direction, &mut there).await
    }

    /// Reads the rows of a range as [`Engine::scan`] does, with the writes of an overlay on top. It also visits deleted
    /// rows while they are remembered. There may be very many, so the visitor decides when to stop.
    ///
    /// # Errors
    /// As for [`Engine::read`].
    pub fn scan_over(
        &self,
        options: ScanOptions<'_>,
        tree: TreeId,
        range: KeyRange,
        direction: Direction,
        visit: &mut dyn FnMut(&[u8], &RowView<'_>) -> ControlFlow<()>,
    ) -> impl Future<Output = Result<()>> {
        self.reader.scan_over(options, tree, range, direction, visit)
    }

    /// The weights of the tree, ascending by partition. Loads missing indexes of segments, in one trip for each
    /// partition.
    ///
    /// # Errors
    /// As for [`Engine::read`].
    pub fn profile(&self, tree: TreeId) -> impl Future<Output = Result<Vec<Mass>>> {
        self.reader.profile(tree)
    }

    /// Writes a row; resolves when it is durable.
    ///
    /// # Errors
    /// `QuotaExceeded`: nothing was stored. `Unavailable`: the outcome is unknown. `LeaderChanged`, `Closed`: this engine
    /// writes no more.
    pub fn write(
        &self,
        tree: TreeId,
        key: &[u8],
        change: &RowChange<'_>,
        origin: Option<Origin>,
    ) -> impl Future<Output = Result<()>> {
        self.writer.write(tree, key, change, origin)
    }

    /// Does [`Engine::write`] at once, if it only has to wait for the commit, and returns the future of that. Otherwise
    /// it does nothing and returns `None`.
    pub fn write_now(
        &self,
        tree: TreeId,
        key: &[u8],
        change: &RowChange<'_>,
        origin: Option<Origin>,
    ) -> Option<Receipt> {
        self.writer.write_now(tree, key, change, origin)
    }

    /// Does [`Engine::modify`] of one row at once, if it only has to wait for the commit, and returns the future of that.
    /// Otherwise it has no other effect and returns `None`. A future that waits for a commit is small; one that may load
    /// blocks is not. Without `sees` the row is not read.
    ///
    /// # Errors
    /// Those of `decide` and of [`Engine::read`].
    pub fn modify_now(
        &self,
        row: (TreeId, &[u8]),
        sees: bool,
        origin: Option<Origin>,
        decide: &mut dyn Decide,
    ) -> Result<Option<Receipt>> {
        self.writer.modify_now(row, sees, origin, decide)
    }

    /// Reads rows and writes the decision of `decide`, atomically: no other write comes between. Resolves when it is
    /// durable. If it writes nothing, resolves when all writes that it saw are.
    ///
    /// # Errors
    /// Those of `decide`, of [`Engine::read`] and of [`Engine::write`].
    pub fn modify(
        &self,
        rows: &[(TreeId, &[u8])],
        origin: Option<Origin>,
        decide: &mut dyn Decide,
    ) -> impl Future<Output = Result<()>> {
        self.writer.modify(rows, origin, decide)
    }

    /// Writes to rows atomically, without reading them. Resolves when the writes are durable.
    ///
    /// # Errors
    /// Those of [`Engine::write`].
    pub fn write_unseen(
        &self,
        rows: &[(TreeId, &[u8])],
        origin: Option<Origin>,
        decide: &mut dyn Decide,
    ) -> impl Future<Output = Result<()>> {
        self.writer.write_unseen(rows, origin, decide)
    }

    /// Decides a write of a row as [`Engine::modify`] does, and writes into an overlay. All earlier operations on the row
    /// are decided first. Without `see` the row is not read. From its first poll until the overlay is committed or
    /// dropped, the caller must be the only writer of these rows.
    ///
    /// # Errors
    /// Those of `decide` and of [`Engine::read`].
    pub fn modify_over(
        &self,
        overlay: &Overlay,
        row: (TreeId, &[u8]),
        see: bool,
        decide: &mut dyn Decide,
    ) -> impl Future<Output = Result<()>> {
        self.writer.modify_over(overlay, row, see, decide)
    }

    /// Begins to load sorted rows into a tree.
    pub fn start_load(self: &Rc<Self>, tree: TreeId) -> BulkLoader {
        BulkLoader::new(Rc::clone(self), tree)
    }

    /// The number of the newest load; 0 if there was none.
    #[must_use]
    pub fn last_load(&self) -> u64 {
        self.order.loads.last()
    }

    /// Commits all open loads into a tree. Later operations on its rows come after them.
    pub fn end_loads(&self, tree: TreeId) {
        self.loads.end_loads(tree);
    }

    /// Resolves when no load is left whose commit was asked for.
    pub fn after_asked_loads(&self) -> impl Future<Output = ()> {
        self.order.after_asked_loads()
    }

    /// Resolves after the next stored write to the tree, or after so many ms. Errors are those of an engine that has ended.
    pub fn arrival(&self, tree: TreeId, most_ms: u32) -> impl Future<Output = Result<()>> + use<'_> {
        let latch = self.store.arrivals.latch(tree);
        async move {
            self.store.check_alive()?;
            latch.wait_or(self.runtime.env.sleep(most_ms)).await;
            self.store.check_alive()
        }
    }

    /// What has changed in a range of a tree since `place`: at once if something has, or if the place is not known; else
    /// after the next change there, or after so many ms, which may be none. Without a place: where to begin, at once. What
    /// is read after that has all earlier changes.
    ///
    /// # Errors
    /// Those of an engine that has ended.
    pub async fn changed(
        &self,
        tree: TreeId,
        range: KeyRange,
        place: Option<ChangePlace>,
        most_ms: u32,
    ) -> Result<ChangedKeys> {
        self.store.check_alive()?;
        let range = tree_range(tree, range);
        let now = self.look(place, &range);
        if most_ms == 0 || now.keys.as_ref().is_none_or(|keys| !keys.is_empty()) {
            return Ok(now);
        }
        let change = self.store.watches.latch(&range).wait_or(self.runtime.env.sleep(most_ms)).await;
        // Nothing has changed here before that, even if changes elsewhere were too many to keep.
        let seqno = change.map_or_else(|| self.store.view.borrow().visible_seqno(), |seqno| seqno - 1);
        self.store.check_alive()?;
        Ok(self.look(Some(ChangePlace { seqno, ..now.place }), &range))
    }

    fn look(&self, place: Option<ChangePlace>, range: &KeyRange) -> ChangedKeys {
        let seqno = self.store.view.borrow().visible_seqno();
        self.store.watches.look(place, range, seqno, || u32::from_be_bytes(self.random()))
    }

    /// Moves all data in memory into segments.
    ///
    /// # Errors
    /// Errors of the storage. The data then stays in memory and in the log.
    pub fn flush(&self) -> impl Future<Output = Result<()>> {
        self.flusher.flush()
    }

    /// Flushes, then merges every tree into one level with its current options. Data that the options hide is removed for
    /// good (V3, V5).
    ///
    /// # Errors
    /// Errors of the storage. `Corrupt` names a damaged record; all partitions that do not depend on it are compacted.
    pub async fn compact(&self) -> Result<()> {
        self.flusher.flush().await?;
        self.compactor.compact().await
    }

    /// Cuts the tree in front of the partition key `at`, encoded. Does nothing if a partition begins there.
    ///
    /// # Errors
    /// Errors of the storage; then nothing is cut.
    pub fn split_partition(&self, tree: TreeId, at: &[u8]) -> impl Future<Output = Result<()>> {
        self.compactor.split_partition(tree, at)
    }

    /// Merges this partition and the next one of the tree, if there is one.
    ///
    /// # Errors
    /// Errors of the storage; then they stay two.
    pub fn merge_partition(&self, tree: TreeId, left: PartitionId) -> impl Future<Output = Result<()>> {
        self.compactor.merge_partition(tree, left)
    }

    /// The partition keys at which the tree's partitions begin, the first one's (empty) included, if they may have changed
    /// since they were `seen`.
    pub fn boundaries_since(&self, tree: TreeId, seen: &ShapeSeen) -> Option<Vec<Box<[u8]>>> {
        self.store.boundaries_since(tree, seen)
    }

    /// Sets what compaction keeps of a tree's rows.
    pub fn set_retention(&self, tree: TreeId, retention: Retention) {
        self.trees.set_retention(tree, retention);
    }

    /// The instant (ms) for expiry in the background. Soon after the clock has jumped forward nothing is expired.
    pub fn expiry_ms(&self) -> i64 {
        self.runtime.expiry_ms()
    }

    /// From now on, expiry removes no version from `oldest` (ms) on from a tree.
    pub fn set_floor(&self, tree: TreeId, oldest: i64) {
        self.trees.set_floor(tree, oldest);
    }

    /// The trees with stored data; some come more than once.
    pub(crate) fn trees(&self) -> Vec<TreeId> {
        self.trees.all()
    }

    /// Sets the trees that exist. Others are deleted in the background.
    pub fn retain_trees(&self, live: &[TreeId]) {
        self.trees.retain_trees(live);
    }

    /// Deletes a tree; its space is freed in the background. No write to it may follow.
    pub fn drop_tree(&self, tree: TreeId) {
        self.trees.drop_tree(tree);
    }

    /// Tells the observer of background work, if there is one, that an index was built.
    pub(crate) fn tell_built(&self, tree: TreeId, rows: u64) {
        self.house.tell_done(WorkLine::IndexBuild, DoneWork::Index { tree, rows });
    }

    /// Ends the engine: every later call fails with `error`, until the store is opened again.
    pub fn stop(&self, error: Error) {
        self.store.stop(error);
    }

    /// Sets what makes records. Until then, changes with records are not flushed.
    pub fn set_recorder(&self, recorder: Recorder) {
        let first = self.store.recorder.replace(Some(recorder)).is_none();
        if first && !self.store.view.borrow().frozen.is_empty() {
            self.start_background();
        }
    }

    /// Whether stored changes have records that cannot be made yet.
    #[must_use]
    pub fn awaits_recorder(&self) -> bool {
        self.store.awaits_recorder()
    }

    /// Finishes accepted work and releases the storage. Later calls fail with `Closed`.
    pub async fn close(&self) {
        self.order.settled().await;
        if self.store.is_ready() && !self.runtime.is_read_only() && self.store.view.borrow().is_worth_a_flush() {
            // No compaction may begin now: it would be cut off.
            self.house.compactions.is_running.set(true);
            // The flush does not wait for one either.
            self.house.compactions.at_work.set(false);
            if let Err(error) = self.flush().await {
                log::warn!("the next opening has more to replay: {error}");
            }
        }
        self.stop(Error::new(Code::Closed, "the database is closed"));
        self.runtime.storage.close().await;
    }

    /// The missing data of a store that was opened with `salvage`.
    #[must_use]
    pub fn missing(&self) -> Ref<'_, Vec<Missing>> {
        self.missing.borrow()
    }

    /// Adds missing data to the list.
    pub(crate) fn misses(&self, missing: Missing) {
        self.missing.borrow_mut().push(missing);
    }

    /// Whether the store was opened with `salvage`.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.runtime.is_read_only()
    }

    /// The partitions of a tree, ascending. A tree without segments has none yet.
    #[must_use]
    pub fn partitions(&self, tree: TreeId) -> Vec<PartitionMetrics> {
        let view = self.store.view.borrow();
        view.version
            .trees
            .get(&tree)
            .map_or_else(Vec::new, |partitions| PartitionMetrics::of(partitions, tree, &self.store, &self.house))
    }

    /// A look inside, for tools. Its code is that of [`Module::Inspection`](crate::modules::Module::Inspection).
    #[must_use]
    pub fn inspect(&self) -> Inspector<'_> {
        Inspector::of(self)
    }

    /// The metrics of the engine.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        Metrics::of(&self.store, &self.space, &self.house)
    }
}
