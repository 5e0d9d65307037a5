//! Builds an index over the existing rows of its table, in the background, while the table is written.
//!
//! The index takes part in every write from the moment it exists. The build goes over older rows, slice by slice. A
//! slice is one decision of the engine. It reads its rows with all earlier operations, and writes their index rows and
//! its place in one log record. So it neither misses nor undoes concurrent writes, and after a crash it goes on at the
//! stored place.
//!
//! A failure (such as a full disk) is reported, and the build is tried again after a pause that doubles each time.

use crate::engine::{Decide, Direction, KeyRange, RowView, Writes};
use crate::error::{Error, Result};
use crate::model::KeyReader;
use crate::model::capacity::cells_bytes;
use crate::modules::Module;
use crate::tablestore::rows::index::IndexWrite;
use crate::tablestore::state::State;
use crate::tablestore::state::catalog_rows;
use crate::tablestore::table::{Index, Table, TableState};
use std::future::Future;
use std::ops::{Bound, ControlFlow};
use std::pin::Pin;
use std::rc::{Rc, Weak};

/// A slice ends with the row that reaches one of these limits, so no other work waits long for it.
const SLICE_ROWS: usize = 200;
const SLICE_BYTES: usize = 128 << 10;

/// A gate of [`Module::Occasional`].
#[inline(never)]
fn build_index<'a>(state: &'a State, index: &'a Index) -> Pin<Box<dyn Future<Output = Result<()>> + 'a>> {
    Box::pin(build(state, index))
}

/// Starts the background build of every unfinished index, including those that wait for a retry. Running builds go
/// on.
pub(crate) fn start_builds(state: &State) {
    if state.engine.is_read_only() {
        return;
    }
    state.catalog.unbuilt().into_iter().for_each(|index| start_build(state, index));
}

fn start_build(state: &State, index: Index) {
    if !index.meta.build.begin() {
        return;
    }
    let Some(me) = state.me.upgrade() else { return };
    state.engine.spawn(Box::pin(async move {
        let outcome = load_and_build(&me, &index).await;
        index.meta.build.end();
        if let Err(error) = outcome {
            build_failed(&me, index, error);
        }
    }));
}

/// Reports that a build has failed, and schedules a retry.
#[cold]
fn build_failed(state: &State, index: Index, error: Error) {
    let base = state.catalog.get(&index.meta.base);
    let Some(base) = base.filter(|_| waits_for(state, &index)) else { return };
    let build = &index.meta.build;
    let pause = build.pause_after(&error);
    let (name, seconds, why) = (index.table.name(), pause / 1000, error.message());
    let text = format!("Index '{name}' is not built, the next try is in {seconds} s: {why}");
    let told = error.clone().with_message(text);
    build.fail(error, pause);
    state.engine.health().tell(Some(base.tree()), told);

    let (me, asleep, attempts) = (Weak::clone(&state.me), state.engine.env().sleep(pause), build.attempts());
    state.engine.spawn(Box::pin(async move {
        asleep.await;
        if let Some(me) = me.upgrade()
            && index.meta.build.attempts() == attempts
            && waits_for(&me, &index)
        {
            start_build(&me, index);
        }
    }));
}

/// A part of an index was built: an earlier failure is over.
fn build_goes_on(state: &State, index: &Index, base: &Table) {
    if index.meta.build.mend() {
        state.engine.health().tell_mended(base.tree());
    }
}

/// Whether the index still exists, in a working instance. It may have been dropped, or rebuilt.
fn waits_for(state: &State, index: &Index) -> bool {
    state.catalog.has(&index.table) && state.engine.check_alive().is_ok()
}

async fn load_and_build(state: &State, index: &Index) -> Result<()> {
    state.engine.env().load(Module::Occasional).await?;
    build_index(state, index).await
}

/// Its future is a gate of [`Module::Occasional`].
async fn build(state: &State, index: &Index) -> Result<()> {
    let meta = &index.meta;
    while waits_for(state, index) {
        let Some(base) = state.catalog.get(&index.meta.base) else { return Ok(()) };
        let from = meta.built_to.borrow().clone();
        let keys = slice(state, &base, &from).await?;
        if keys.is_empty() {
            finish_build(state, &index.table).await?;
            state.engine.tell_built(index.table.tree(), meta.built_rows.get());
            build_goes_on(state, index, &base);
            return Ok(());
        }
        let rows: Vec<_> = keys.iter().map(|key| (base.tree(), key.as_slice())).collect();
        let mut slice = Slice { index, keys: &keys, stamp: state.engine.last_stamp(), found: Vec::new() };
        let built = meta.built_rows.get();
        if let Err(error) = state.engine.modify(&rows, None, &mut slice).await {
            // The slice may not be stored.
            meta.built_rows.set(built);
            meta.built_to.replace(from);
            return Err(error);
        }
        build_goes_on(state, index, &base);
        state.engine.env().yield_now().await;
    }
    Ok(())
}

/// Marks an index as complete. Does nothing if it was dropped or rebuilt meanwhile.
///
/// # Errors
/// Errors of storing that.
async fn finish_build(state: &State, index: &Rc<Table>) -> Result<()> {
    let _changing = state.catalog.change().await;
    if state.catalog.has(index) {
        state.set_state(index, TableState { building_since: None, ..index.state() }).await?;
    }
    Ok(())
}

/// The keys of the next rows of a table behind `from`, or of its first rows if that is empty.
async fn slice(state: &State, base: &Table, from: &[u8]) -> Result<Vec<Vec<u8>>> {
    let lower = if from.is_empty() { Bound::Unbounded } else { Bound::Excluded(from.to_vec()) };
    let (mut keys, mut bytes) = (Vec::new(), 0);
    let mut visit = |key: &[u8], row: &RowView<'_>| {
        keys.push(key.to_vec());
        bytes += key.len() + cells_bytes(row.cells());
        if keys.len() < SLICE_ROWS && bytes < SLICE_BYTES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let range = KeyRange { lower, upper: Bound::Unbounded };
    state.engine.scan(base.tree(), range, Direction::Forward, &mut visit).await?;
    Ok(keys)
}

/// Rows of a table for an index.
struct Slice<'b> {
    index: &'b Index,
    keys: &'b [Vec<u8>],
    stamp: i64,
    /// The index rows, with the stamps of their base rows.
    found: Vec<(i64, IndexWrite)>,
}

/// Gates of [`Module::Occasional`].
impl Decide for Slice<'_> {
    fn see(&mut self, at: usize, row: Option<&RowView<'_>>) -> Result<()> {
        if at == 0 {
            self.found.clear();
        }
        let (Some(key), Some(row)) = (self.keys.get(at), row) else { return Ok(()) };
        if self.index.meta.since.is_some_and(|since| row.seqno() <= since) {
            return Ok(());
        }
        let mut reader = KeyReader::default();
        let values = reader.read(key).ok_or_else(|| Error::corrupt("a stored row", "its key is invalid"))?;
        self.found.extend(IndexWrite::derived(self.index, &values, row).map(|write| (row.stamp(), write)));
        Ok(())
    }

    fn write(&mut self, writes: &mut Writes<'_>) {
        for (stamp, write) in &self.found {
            write.write(*stamp, writes);
        }
        let meta = &self.index.meta;
        meta.built_rows.set(meta.built_rows.get() + self.keys.len() as u64);
        if let Some(last) = self.keys.last() {
            meta.built_to.replace(last.clone());
        }
        catalog_rows::put_progress(&self.index.table, None, self.stamp, writes);
    }
}
