//! The storage of an instance in IndexedDB.
//!
//! Each instance has one database, `tabstore/<instance in lower case>`, with three object stores. So readers of one kind of
//! record never wait for a writer of another. The stores are `log` (key: number), `blocks` (key: `[segment, block]`) and
//! `manifest` (key: id). Every value is a `Uint8Array`. A write is done only when its transaction has completed.
//! The fence of a log in files is among the log records, below 0 (see [`FencedStorage`]).
//!
//! Every transaction that writes names the log, so the browser runs them one after another. With two of them open when
//! the browser is killed, Chromium cannot undo both at its next start. (On LevelDB a transaction leaves traces on the
//! disk from 1 KB on.) It then takes all data of the origin for corrupt, and deletes it. Readers do not wait for
//! writers, because only opening reads the log.
//!
//! A connection that the browser ended is opened again, once for each call, and the call is repeated. A commit may have been
//! stored although its completion event was lost. So the repeated commit looks for its first record before it writes.
//!
//! Chromium counts the space of an origin when it is asked to write, and keeps that count until a transaction completes.
//! Its files can be larger at that moment than before and after: LevelDB writes a file of 4 MB anew before it deletes the
//! old one, and SQLite frees space some milliseconds later. A refused transaction does not complete, so every later one would
//! be refused by the same count, however much space there is. Therefore an empty transaction follows a refused one. A commit
//! that finds the origin full after space was freed is repeated after growing pauses.
//!
//! LevelDB can also lie above the limit by 4 MB or more for good: it gives space back only when it compacts, and it compacts
//! only after some files of 4 MB. A full origin writes nothing, so that would never come. `squeeze` writes many zeros and
//! aborts. Nobody counts an aborted transaction, it makes LevelDB compact, and zeros leave little behind.

pub mod catalogue;
mod connection;
mod error;
mod link;
mod transaction;
mod turn;

use super::env::{load, sleep};
use crate::env::LocalFuture;
use crate::error::{Code, Error, Result};
use crate::format::record::{self, Place};
use crate::modules::Module;
use crate::storage::{
    BlockId, Commit, Durability, Fence, FencedStorage, Loaded, LogNumber, LogStart, ManifestId, SegmentId, Storage,
    check_stage, closed, fenced,
};
use bytes::Bytes;
use connection::{BLOCKS, Connection, LOG, MANIFEST, Missing};
use error::Trouble;
use js_sys::{Array, Object, Reflect, Uint8Array};
use link::Link;
use std::cell::Cell;
use std::rc::Rc;
pub(super) use transaction::progress;
use transaction::{Read, Write};
use turn::is_browser;
use wasm_bindgen::{JsCast as _, JsValue};
use web_sys::IdbKeyRange;

/// The id of a manifest that is none: it is there while the note of the fence is not empty. It has a version of its own, so
/// versions of this library that know no fence refuse the store by name.
const MARK: u64 = LARGEST;
const MARK_VERSION: u8 = 5;

/// The largest number that a double holds exactly, as it does all smaller ones.
const LARGEST: u64 = (1 << f64::MANTISSA_DIGITS) - 1;

/// The number of the fence that a commit depends on, and what the fence becomes with it.
#[derive(Clone, Copy)]
struct Behind<'a> {
    number: u64,
    changed: Option<&'a Fence>,
}

/// The number of repeated commits after space was freed, for all commits together, and the first pause, in ms. Each
/// pause is twice as long as the one before.
const PATIENCE: u32 = 6;
const FIRST_PAUSE: u32 = 10;

/// A transaction that makes LevelDB compact: so many values, and a pause behind it, in ms. With larger values LevelDB keeps old
/// files longer, and many small ones take longer.
const SQUEEZE_VALUES: u32 = 400;
const SQUEEZE_BYTES: u32 = 12_000;
const SQUEEZE_PAUSE: u32 = 200;

/// The name of the IndexedDB database of an instance.
fn database_name(instance: &str) -> String {
    format!("tabstore/{}", instance.to_ascii_lowercase())
}

/// The records of an instance in IndexedDB.
#[derive(Clone)]
pub struct IdbStorage {
    link: Rc<Link>,
    relaxed: Object,
    strict: Object,
    /// How many more times commits may be repeated when the origin is full.
    patience: Cell<u32>,
    /// Whether its user reads the log that is elsewhere.
    knows_fence: Cell<bool>,
}

impl IdbStorage {
    /// Opens the database of the instance called `instance`. Creates it if it is missing.
    ///
    /// # Errors
    /// `Unavailable` if there is no IndexedDB, or if it does not work; `QuotaExceeded` on a full device.
    pub async fn open(instance: &str) -> Result<Self> {
        Self::open_or(instance, Missing::Create).await
    }

    /// Opens the database of the instance called `instance`, if it exists.
    ///
    /// # Errors
    /// `OTSObjectNotExist` if it does not; else as for [`IdbStorage::open`].
    pub async fn open_existing(instance: &str) -> Result<Self> {
        Self::open_or(instance, Missing::Refuse).await
    }

    async fn open_or(instance: &str, missing: Missing) -> Result<Self> {
        let link = Link::open(database_name(instance), missing).await;
        let link = link.map_err(|trouble| trouble.into_error("opening its database"))?;
        Ok(Self {
            link,
            relaxed: durability("relaxed")?,
            strict: durability("strict")?,
            patience: Cell::default(),
            knows_fence: Cell::default(),
        })
    }

    /// Deletes the database of the instance called `instance`. Open connections to it are closed.
    ///
    /// # Errors
    /// `Unavailable` if there is no IndexedDB, or if it does not work.
    pub async fn delete(instance: &str) -> Result<()> {
        connection::delete(&database_name(instance)).await.map_err(|trouble| trouble.into_error("deleting a database"))
    }

    /// Whether its connection works, as far as is known.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.link.is_open()
    }

    /// Sets a listener that is called once, when the data is lost for good: deleted, cleared, or opened by another
    /// program with a higher version. Every later call fails with the same error.
    pub fn on_end(&self, listener: impl FnOnce(&Error) + 'static) {
        self.link.on_end(Box::new(listener));
    }

    /// Closes it at once, without waiting for anything.
    pub fn cut(&self) {
        self.link.cut();
    }

    /// Makes a call, and repeats it on a new connection if the first one was lost meanwhile. `again` tells the call
    /// that it is repeated.
    async fn call<T>(&self, what: &str, run: impl AsyncFn(&Connection, bool) -> Result<T, Trouble>) -> Result<T> {
        let mut again = false;
        loop {
            let connection = self.connect(what, &mut again).await?;
            match run(&connection, again).await {
                Ok(answer) => return Ok(answer),
                Err(trouble) => self.failed(what, &connection, trouble, &mut again).await?,
            }
        }
    }

    /// The connection for a call. It is separate because [`Self::call`] is compiled for every kind of call.
    async fn connect(&self, what: &str, again: &mut bool) -> Result<Rc<Connection>> {
        loop {
            match self.link.connection().await {
                Ok(connection) => return Ok(connection),
                Err(Trouble::Lost(_)) if !*again => *again = true,
                Err(trouble) => return Err(self.error(what, trouble)),
            }
        }
    }

    /// Decides whether a failed call is repeated. An error means that it is not.
    async fn failed(&self, what: &str, connection: &Rc<Connection>, trouble: Trouble, again: &mut bool) -> Result<()> {
        match trouble {
            Trouble::Lost(told) if !*again => {
                log::warn!("IndexedDB lost its connection while {what} ({told}): opening it again");
                self.link.give_up(connection);
                *again = true;
                Ok(())
            }
            trouble => {
                let error = self.error(what, trouble);
                if error.code() == Code::QuotaExceeded {
                    // It ends by itself, before later ones begin.
                    drop(Write::begin(connection.raw(), &[LOG], &self.relaxed).await);
                }
                Err(error)
            }
        }
    }

    fn error(&self, what: &str, trouble: Trouble) -> Error {
        // Closing ends running transactions. That is no trouble of the browser.
        if self.link.is_closed() { closed() } else { trouble.into_error(what) }
    }

    fn options(&self, durability: Durability) -> &Object {
        match durability {
            Durability::Relaxed => &self.relaxed,
            Durability::Strict => &self.strict,
        }
    }

    /// Whether the log, or a part of it, is elsewhere.
    ///
    /// # Errors
    /// As for all calls of [`Storage`].
    pub async fn has_log_elsewhere(&self) -> Result<bool> {
        Ok(!self.records(MANIFEST, MARK).await?.is_empty())
    }

    /// The records of `log` or `manifest` from the key `from` on, in ascending order.
    async fn records(&self, store: &str, from: u64) -> Result<Vec<(u64, Bytes)>> {
        self.call("reading its records", async |connection, _| {
            numbered(&Read::begin(connection.raw(), &[store]).await?, store, from).await
        })
        .await
    }

    /// Makes a commit, behind the fence or without it.
    async fn commit_with(&self, commit: Commit, behind: Option<Behind<'_>>) -> Result<()> {
        if behind.is_none()
            && commit.log.is_empty()
            && commit.trim_log.is_empty()
            && commit.drop_segments.is_empty()
            && commit.manifest.is_none()
        {
            return if self.link.is_closed() { Err(closed()) } else { Ok(()) };
        }
        let mut stores = vec![LOG];
        if !commit.drop_segments.is_empty() {
            stores.push(BLOCKS);
        }
        if commit.manifest.is_some() || behind.is_some() {
            stores.push(MANIFEST);
        }
        let only_deletes = behind.is_none() && commit.log.is_empty() && commit.manifest.is_none();
        loop {
            let stored = self.call("committing", async |connection, again| {
                if again && is_stored(connection, &commit).await? {
                    return Ok(());
                }
                self.write(connection, &stores, commit.durability, |write| issue(write, &commit, behind)).await
            });
            let stored = stored.await;
            if stored.is_ok() && only_deletes {
                self.patience.set(PATIENCE);
            }
            let left = self.patience.get();
            if left == 0 || only_deletes || !matches!(&stored, Err(error) if error.code() == Code::QuotaExceeded) {
                return stored;
            }
            self.patience.set(left - 1);
            sleep(FIRST_PAUSE << (PATIENCE - left)).await;
        }
    }

    /// One transaction. `issue` makes all its requests synchronously. The log is among `stores`.
    async fn write(
        &self,
        connection: &Connection,
        stores: &[&str],
        durability: Durability,
        issue: impl FnOnce(&mut Write) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        let mut write = Write::begin(connection.raw(), stores, self.options(durability)).await?;
        match issue(&mut write) {
            Ok(()) => write.finish().await,
            Err(trouble) => {
                write.abandon();
                Err(trouble)
            }
        }
    }
}

impl Storage for IdbStorage {
    async fn load(&self, from: &LogStart<'_>) -> Result<Loaded> {
        self.call("reading its manifest and log", async |connection, _| {
            let read = Read::begin(connection.raw(), &[MANIFEST, LOG]).await?;
            let mut found = numbered(&read, MANIFEST, 0).await?;
            if found.last().is_some_and(|(id, _)| *id == MARK) {
                if !self.knows_fence.get() {
                    return Err(Trouble::Final(fenced("its log")));
                }
                found.pop();
            }
            let manifests: Vec<_> = found.into_iter().rev().map(|(id, bytes)| (ManifestId(id), bytes)).collect();
            let log = numbered(&read, LOG, from(&manifests)?.0).await?;
            Ok(Loaded { manifests, log: log.into_iter().map(|(number, bytes)| (LogNumber(number), bytes)).collect() })
        })
        .await
    }

    async fn read_log(&self, from: LogNumber) -> Result<Vec<(LogNumber, Bytes)>> {
        let found = self.records(LOG, from.0).await?;
        Ok(found.into_iter().map(|(number, bytes)| (LogNumber(number), bytes)).collect())
    }

    async fn get_blocks(&self, blocks: &[BlockId]) -> Result<Vec<Option<Bytes>>> {
        if blocks.is_empty() {
            return if self.link.is_closed() { Err(closed()) } else { Ok(Vec::new()) };
        }
        self.call("reading blocks", async |connection, _| {
            let read = Read::begin(connection.raw(), &[BLOCKS]).await?;
            let (store, mut requests) = (read.store(BLOCKS)?, Vec::with_capacity(blocks.len()));
            for id in blocks {
                requests.push(store.get(&block_key(*id)?)?);
            }
            read.commit();
            if let Some(last) = requests.last() {
                read.answer(last).await?;
            }
            let mut found = Vec::with_capacity(blocks.len());
            for request in &requests {
                let value = request.result()?;
                found.push(if value.is_undefined() { None } else { Some(to_bytes(&value)) });
            }
            Ok(found)
        })
        .await
    }

    async fn stage(&self, segment: SegmentId, blocks: Vec<(u32, Bytes)>, durability: Durability) -> Result<()> {
        check_stage(&blocks)?;
        self.call("storing blocks", async |connection, _| {
            self.write(connection, &[BLOCKS, LOG], durability, |write| {
                let store = write.store(BLOCKS)?;
                for (block, bytes) in &blocks {
                    store.put_with_key(&to_js(bytes), &block_key(BlockId { segment, block: *block })?)?;
                }
                Ok(())
            })
            .await
        })
        .await
    }

    async fn commit(&self, commit: Commit) -> Result<()> {
        self.commit_with(commit, None).await
    }

    async fn list_segments(&self) -> Result<Vec<SegmentId>> {
        self.call("listing its segments", async |connection, _| {
            let read = Read::begin(connection.raw(), &[BLOCKS]).await?;
            let store = read.store(BLOCKS)?;
            let mut segments = Vec::new();
            let mut after: JsValue = Array::new().into();
            // Each turn finds the first record behind the last segment.
            loop {
                let behind = IdbKeyRange::lower_bound_with_open(&after, true)?;
                let key = read.answer(&store.get_key(&behind)?).await?;
                if key.is_undefined() {
                    return Ok(segments);
                }
                let segment = SegmentId(first_of(&key)?);
                segments.push(segment);
                after = after_segment(segment)?;
            }
        })
        .await
    }

    async fn delete_segments(&self, segments: &[SegmentId]) -> Result<()> {
        let drop_segments = segments.to_vec();
        self.commit(Commit { drop_segments, ..Commit::default() }).await
    }

    async fn squeeze(&self) -> bool {
        // If the module cannot be loaded, there is no more room.
        is_browser("Chrome/") && load(Module::Occasional).await.is_ok() && squeeze(self.clone()).await
    }

    async fn close(&self) {
        self.link.close().await;
    }
}

/// Makes LevelDB compact. A gate of [`Module::Occasional`].
#[inline(never)]
fn squeeze(storage: IdbStorage) -> LocalFuture<bool> {
    Box::pin(async move {
        let Ok(connection) = storage.link.connection().await else { return false };
        let zeros = Uint8Array::new_with_length(SQUEEZE_BYTES);
        let written = storage.write(&connection, &[LOG], Durability::Relaxed, |write| {
            let store = write.store(LOG)?;
            for value in 1..=SQUEEZE_VALUES {
                // No record has such a key.
                let request = store.put_with_key(&zeros, &JsValue::from_f64(0.5 / f64::from(value)))?;
                if value == SQUEEZE_VALUES {
                    write.guard(&request, |_| Err(closed()));
                }
            }
            Ok(())
        });
        drop(written.await);
        sleep(SQUEEZE_PAUSE).await;
        true
    })
}

crate::boxed_storage!(IdbStorage);

/// The fence is the record of the log with the lowest key, below 0: its number. Its value is the note.
/// Gates of [`Module::Files`].
impl FencedStorage for IdbStorage {
    async fn fence(&self) -> Result<Fence> {
        self.call("reading its fence", async |connection, _| {
            let read = Read::begin(connection.raw(), &[LOG]).await?;
            let (store, below) = (read.store(LOG)?, IdbKeyRange::upper_bound_with_open(&JsValue::from(0), true)?);
            // Both give the first record of the range.
            let key = store.get_key(&below)?;
            let note = read.answer(&store.get(&below)?).await?;
            self.knows_fence.set(true);
            let number = key.result()?.as_f64().map_or(Ok(0), |key| to_number(&JsValue::from_f64(-key)))?;
            Ok(Fence { number, note: to_bytes(&note) })
        })
        .await
    }

    async fn commit_behind(&self, commit: Commit, number: u64, changed: Option<&Fence>) -> Result<()> {
        self.commit_with(commit, Some(Behind { number, changed })).await
    }

    fn is_connected(&self) -> bool {
        self.link.is_open()
    }
}

fn fence_key(number: u64) -> Result<JsValue> {
    Ok(number_key(number)?.as_f64().map_or(JsValue::NULL, |key| JsValue::from_f64(-key)))
}

/// Makes the requests that fail if the fence has another number, and change it. A gate of [`Module::Files`].
#[inline(never)]
fn issue_fence(write: &mut Write, Behind { number, changed }: Behind<'_>) -> Result<(), Trouble> {
    let store = write.store(LOG)?;
    // The next leader has added it, and it stays for ever: a leader may sleep while many others come and go. No request depends
    // on the answer of another, so the browser knows at once that there are no more.
    let next = fence_key(number + 1)?;
    store.add_with_key(&Uint8Array::new_with_length(0), &next)?;
    store.delete(&next)?;
    if let Some(fence) = changed {
        store.put_with_key(&to_js(&fence.note), &fence_key(fence.number)?)?;
        let (manifests, mark) = (write.store(MANIFEST)?, number_key(MARK)?);
        if fence.note.is_empty() {
            manifests.delete(&mark)?;
        } else {
            manifests
                .put_with_key(&to_js(&record::seal_as(Place::Manifest(ManifestId(MARK)), MARK_VERSION, &[])), &mark)?;
        }
    }
    Ok(())
}

/// Makes the requests of a commit.
fn issue(write: &mut Write, commit: &Commit, behind: Option<Behind<'_>>) -> Result<(), Trouble> {
    if let Some(behind) = behind {
        issue_fence(write, behind)?;
    }
    if !commit.log.is_empty() || !commit.trim_log.is_empty() {
        let store = write.store(LOG)?;
        for (number, bytes) in &commit.log {
            store.add_with_key(&to_js(bytes), &number_key(number.0)?)?;
        }
        // Consecutive ones go in one request. There may be thousands, and each request costs as much as a small write.
        for run in commit.trim_log.chunk_by(|before, after| before.0 + 1 == after.0) {
            if let [first, .., last] = run {
                store.delete(IdbKeyRange::bound(&number_key(first.0)?, &number_key(last.0)?)?.as_ref())?;
            } else if let [only] = run {
                store.delete(&number_key(only.0)?)?;
            }
        }
    }
    if let Some((id, bytes)) = &commit.manifest {
        let store = write.store(MANIFEST)?;
        let newer =
            IdbKeyRange::bound_with_lower_open_and_upper_open(&number_key(id.0)?, &number_key(MARK)?, false, true)?;
        let request = store.get_key(&newer)?;
        write.guard(&request, |key| {
            if key.is_undefined() { Ok(()) } else { Err(fenced("a manifest of this number or a later one is there")) }
        });
        store.add_with_key(&to_js(bytes), &number_key(id.0)?)?;
        if commit.first_manifest.0 > 0 {
            let outdated = IdbKeyRange::upper_bound_with_open(&number_key(commit.first_manifest.0)?, true)?;
            store.delete(&outdated)?;
        }
    }
    if !commit.drop_segments.is_empty() {
        let store = write.store(BLOCKS)?;
        for segment in &commit.drop_segments {
            let first = block_key(BlockId { segment: *segment, block: 0 })?;
            store.delete(IdbKeyRange::bound(&first, &after_segment(*segment)?)?.as_ref())?;
        }
    }
    Ok(())
}

/// Whether a commit with a lost completion event was stored. Commits are atomic, so one of its records proves all of
/// it. A commit that only deletes is repeated, which does no harm.
async fn is_stored(connection: &Connection, commit: &Commit) -> Result<bool, Trouble> {
    let (store, number, bytes) = match (commit.log.first(), &commit.manifest) {
        (Some((number, bytes)), _) => (LOG, number.0, bytes),
        (None, Some((id, bytes))) => (MANIFEST, id.0, bytes),
        (None, None) => return Ok(false),
    };
    let read = Read::begin(connection.raw(), &[store]).await?;
    let value = read.answer(&read.store(store)?.get(&number_key(number)?)?).await?;
    Ok(!value.is_undefined() && to_bytes(&value) == *bytes)
}

/// The records of `log` or `manifest` from the key `from` on, in ascending order.
async fn numbered(read: &Read, store_name: &str, from: u64) -> Result<Vec<(u64, Bytes)>, Trouble> {
    let store = read.store(store_name)?;
    let from = IdbKeyRange::lower_bound(&number_key(from)?)?;
    // Both see the same records, because they belong to one transaction.
    let keys = store.get_all_keys_with_key(&from)?;
    let values = read.answer(&store.get_all_with_key(&from)?).await?;
    let (keys, values) = (Array::from(&keys.result()?), Array::from(&values));
    if keys.length() != values.length() {
        // The shorter list would hide the newest records.
        return Err(Error::corrupt(store_name, "its keys and values are not as many").into());
    }
    keys.iter().zip(values.iter()).map(|(key, value)| Ok((to_number(&key)?, to_bytes(&value)))).collect()
}

fn durability(kind: &str) -> Result<Object> {
    let options = Object::new();
    Reflect::set(&options, &"durability".into(), &kind.into())
        .map_err(|_| Error::internal("a fresh object takes no property"))?;
    Ok(options)
}

/// A number as a key. IndexedDB's numbers are doubles, which hold integers up to 2^53 exactly.
fn number_key(number: u64) -> Result<JsValue> {
    if number > LARGEST {
        return Err(Error::internal(format!("{number} is too large for a key")));
    }
    #[expect(clippy::cast_precision_loss, reason = "checked above")]
    Ok(JsValue::from_f64(number as f64))
}

fn to_number(key: &JsValue) -> Result<u64> {
    let number = key.as_f64().filter(|number| *number >= 0.0 && number.fract() == 0.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
    number.map(|number| number as u64).ok_or_else(|| Error::corrupt("a stored key", "it is not a number"))
}

fn block_key(id: BlockId) -> Result<JsValue> {
    Ok(Array::of2(&number_key(id.segment.0)?, &JsValue::from(id.block)).into())
}

/// The segment of a block's key.
fn first_of(key: &JsValue) -> Result<u64> {
    let parts = key.dyn_ref::<Array>().ok_or_else(|| Error::corrupt("a stored key", "it is not a list"))?;
    to_number(&parts.get(0))
}

/// A key above all blocks of `segment`: lists sort after numbers.
fn after_segment(segment: SegmentId) -> Result<JsValue> {
    Ok(Array::of2(&number_key(segment.0)?, &Array::new()).into())
}

fn to_js(bytes: &Bytes) -> Uint8Array {
    // A view of wasm's memory does not work: storing it clones all of that memory.
    Uint8Array::from(&bytes[..])
}

/// The bytes of a record. A record of another type gives no bytes, so only it is damaged, and its reader reports it.
fn to_bytes(value: &JsValue) -> Bytes {
    value.dyn_ref::<Uint8Array>().map(Uint8Array::to_vec).unwrap_or_default().into()
}
