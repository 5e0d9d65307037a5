//! Opening what is left of a damaged store, to be read and not written: [`Options::salvage`](super::Options::salvage).
//!
//! Every stored record is read once. What a damaged one may have held is left out, on all levels: a row that is given does
//! not depend on it. Only writes of a damaged log record are in no range that is known. All of it is listed.

use super::Engine;
use super::cache::{Pins, Want};
use super::commit::Logged;
use super::keys::before;
use super::keys::{TREE_BYTES, tree_of};
use super::manifest::{self, Opened, Segments};
use super::memtable;
use super::part::{Level, Part, Segment, TreeLevels};
use super::partition::{Partition, Partitions};
use super::recover::{Found, log_start};
use crate::error::{Code, Error, Result};
use crate::format::fragment::{self, Fragment, FragmentHead};
use crate::format::names::NameBuilder;
use crate::format::record::Place;
use crate::model::TreeId;
use crate::storage::{LogNumber, ManifestId, Storage};
use bytes::Bytes;
use std::cell::{Ref, RefCell};
use std::rc::Rc;

/// What could not be read when a store was opened to salvage it.
#[derive(Debug)]
pub struct Missing {
    /// Which record, and why it cannot be read.
    pub error: Error,
    /// The tree whose rows are missing, if that is known: if not, the latest writes of any table may be.
    pub tree: Option<TreeId>,
    /// All rows of the tree from the first key on are missing, up to those before the other one: encoded, and perhaps no keys
    /// of rows. Empty where no tree is known, or all rows of it are missing.
    pub keys: [Vec<u8>; 2],
}

impl Missing {
    /// Writes are missing, nobody knows of which rows.
    pub(crate) fn writes(error: Error) -> Self {
        Self { error, tree: None, keys: Default::default() }
    }

    /// All rows of a tree are missing.
    pub(crate) fn of_tree(tree: TreeId, error: Error) -> Self {
        Self { error, tree: Some(tree), keys: Default::default() }
    }
}

/// Says what may help where a record is damaged without which nothing can be opened.
pub(crate) fn or_salvage(error: Error) -> Error {
    let hint = "Opened with the option 'salvage', read-only, it gives the rows that do not depend on that.";
    if error.code() == Code::Corrupt { error.with_hint(hint) } else { error }
}

/// The refusal of a write.
pub(super) fn read_only() -> Error {
    let error = Error::new(Code::ReadOnly, "The database was opened to salvage it, and is read-only.");
    error.with_hint("Write what it gives to another instance.")
}

/// Reads the newest version that can be read, and what can be read of the log behind it. Gives the number that comes behind
/// the log too.
pub(super) async fn look<S: Storage>(storage: &S) -> Result<(Found, LogNumber, Vec<Missing>)> {
    let found = RefCell::new((Opened::default(), Vec::<Missing>::new()));
    let from = |manifests: &[(ManifestId, Bytes)]| {
        let mut missing: Vec<Missing> = Vec::new();
        for at in 0..=manifests.len() {
            match manifest::open(manifests.get(at..).unwrap_or_default(), Segments::default()) {
                Ok(opened) => {
                    let start = log_start(&opened.version);
                    *found.borrow_mut() = (opened, missing);
                    return Ok(start);
                }
                // Those before it lead up to the same one.
                Err(error) if missing.last().is_some_and(|last| last.error.message() == error.message()) => {}
                Err(error) => missing.push(Missing::writes(error)),
            }
        }
        Ok(LogNumber(1))
    };
    let stored = storage.load(&from).await?.log;
    let (opened, mut missing) = found.into_inner();
    let version = &opened.version;
    let mut next = log_start(version);
    let mut log = Vec::new();
    for (number, stored) in stored {
        if number > next {
            let last = LogNumber(number.0 - 1);
            let error = Error::corrupt(Place::Log(next), format_args!("it is missing, as are all up to {}", last.0));
            missing.push(Missing::writes(error));
        }
        next = LogNumber(number.0 + 1);
        let whole = Logged::open(number, &stored).and_then(|logged| logged.decode().map(drop).map(|()| logged));
        match whole {
            Ok(logged) => log.push(logged),
            Err(error) => missing.push(Missing::writes(error)),
        }
    }
    if opened.manifests.newest.0 > 0 && next == log_start(version) {
        missing.push(Missing::writes(Error::corrupt(Place::Log(next), "it is missing")));
    }
    Ok((Found { opened, log }, next, missing))
}

impl<S: Storage> Engine<S> {
    /// What is missing in a store that was opened to salvage it.
    #[must_use]
    pub fn missing(&self) -> Ref<'_, Vec<Missing>> {
        self.missing.borrow()
    }

    /// Adds to what is missing.
    pub(crate) fn misses(&self, missing: Missing) {
        self.missing.borrow_mut().push(missing);
    }

    /// Whether the store was opened to salvage it.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.options.salvage
    }

    pub(super) fn check_writable(&self) -> Result<()> {
        if self.options.salvage { Err(read_only()) } else { Ok(()) }
    }

    /// Reads every record of every segment, and leaves out of the version what is damaged.
    pub(super) async fn leave_out_damage(&self) -> Result<()> {
        let segments = self.state.borrow().version.segments();
        let mut lost = Vec::new();
        for segment in segments.values() {
            self.find_damage(segment, &mut lost).await?;
        }
        let mut state = self.state.borrow_mut();
        let mut version = (*state.version).clone();
        for one in &lost {
            let Some(partitions) = version.trees.get_mut(&one.tree) else { continue };
            let cut = partitions.all().iter().map(|partition| {
                let levels = partition.levels.levels.iter().map(|level| one.leave_out(level)).collect();
                Rc::new(Partition::new(partition.id, partition.from.clone(), TreeLevels { levels }))
            });
            *partitions = Rc::new(Partitions::of(cut.collect()));
        }
        state.version = Rc::new(version);
        // What memtables have of a lost row, without the whole of it, is hidden by a deletion.
        let (mut names, mut bytes) = (NameBuilder::default(), Vec::new());
        let head = FragmentHead { hides_older: true, marker: None, stamp: self.last_stamp.get() };
        fragment::encode(head, [], head.stamp, &mut names, &mut bytes);
        let memtables: Vec<_> = state.frozen.iter().chain([&state.memtable]).map(Rc::clone).collect();
        for Lost { first, last, .. } in &lost {
            for key in memtable::dependent(&memtables, first, last) {
                state.visible_seqno += 1;
                let deletion = Fragment::decode(&bytes, head.stamp, names.names());
                let inserted = deletion
                    .and_then(|hidden| state.memtable.insert(key, state.visible_seqno, hidden, false, &self.snapshots));
                inserted.map_err(|damage| Error::internal(format!("a deletion: {damage}")))?;
            }
        }
        drop(state);
        let without_tree = |key: &[u8]| key.get(TREE_BYTES..).unwrap_or_default().to_vec();
        self.missing.borrow_mut().extend(lost.into_iter().map(|Lost { error, tree, first, behind, .. }| Missing {
            error,
            tree: Some(tree),
            keys: [without_tree(&first), without_tree(&behind)],
        }));
        Ok(())
    }

    /// Reads all of a segment, and adds the ranges of keys, tree included, that are damaged.
    async fn find_damage(&self, segment: &Rc<Segment>, lost: &mut Vec<Lost>) -> Result<()> {
        let parts: Vec<Rc<Part>> = {
            let state = self.state.borrow();
            let parts = state.version.trees.values().flat_map(|partitions| partitions.parts());
            parts.filter(|part| part.segment.id == segment.id).map(Rc::clone).collect()
        };
        // The greatest key that is lost, and what begins behind it.
        let mut lose = |error: &Error, first: &[u8], end: Option<[Box<[u8]>; 2]>| {
            for part in &parts {
                let first = first.max(&part.first_key);
                let end = end.clone().filter(|[last, _]| *last <= part.last_key);
                let [last, behind] = end.unwrap_or_else(|| [part.last_key.clone(), behind(&part.last_key)]);
                if let Some(tree) = tree_of(first).filter(|_| *first <= *last) {
                    lost.push(Lost { error: error.clone(), tree, first: first.into(), last, behind });
                }
            }
        };
        let meta = match self.metas(parts.get(..1).unwrap_or_default()).await {
            Ok(metas) => metas.into_iter().next(),
            Err(error) if error.code() == Code::Corrupt => {
                lose(&error, &[], None);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let Some(meta) = meta else { return Ok(()) };
        for number in 0..segment.blocks {
            let want = Want::Block(segment.block(number));
            match self.cache.load(&self.storage, &[want], &mut Pins::default(), false).await {
                Ok(()) => {}
                Err(error) if error.code() == Code::Corrupt => {
                    // The next block may go on with the block's last row.
                    let continued = meta.is_continued(number + 1);
                    let end = meta.first_key(number + 1).map(|next| match continued {
                        true => [next.into(), behind(next)],
                        false => [before(next), next.into()],
                    });
                    lose(&error, meta.first_key(number).unwrap_or_default(), end);
                }
                Err(error) => return Err(error),
            }
            self.env.yield_now().await;
        }
        Ok(())
    }
}

/// What comes right behind a key.
fn behind(key: &[u8]) -> Box<[u8]> {
    [key, &[0]].concat().into()
}

/// Keys of a tree that a damaged record may have held, tree included.
struct Lost {
    error: Error,
    tree: TreeId,
    first: Box<[u8]>,
    last: Box<[u8]>,
    /// What begins behind them. In the damaged segment it is the first key of the next block, unless that goes on with the
    /// last row: a cursor would look for it in the damaged one.
    behind: Box<[u8]>,
}

impl Lost {
    /// A level without these keys.
    fn leave_out(&self, level: &Level) -> Level {
        let mut kept = Level::with_capacity(level.len());
        for part in level {
            if part.last_key < self.first || part.first_key > self.last {
                kept.push(Rc::clone(part));
                continue;
            }
            if part.first_key < self.first {
                kept.push(Rc::new(Part { last_key: before(&self.first), ..(**part).clone() }));
            }
            if part.last_key >= self.behind {
                kept.push(Rc::new(Part { first_key: self.behind.clone(), ..(**part).clone() }));
            }
        }
        kept
    }
}
