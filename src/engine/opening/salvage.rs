//! Opens a damaged store for reading only: [`Options::salvage`](crate::engine::Options::salvage).
//!
//! Every stored record is read once. Keys that a damaged block may have held are left out on all levels, so no returned
//! row depends on them. Only writes of a damaged log record are in no known range. All of it is listed.

use crate::engine::base::missing::Missing;
use crate::engine::memory::memtable;
use crate::engine::read::reader::Reader;
use crate::engine::rows::keys::{before, own_key, tree_of};
use crate::engine::segment::cache::{Pins, RecordId, Usage};
use crate::engine::store::Store;
use crate::engine::versions::part::{Level, Part, Segment, TreeLevels};
use crate::engine::versions::partition::{Partition, Partitions};
use crate::error::{Code, Error, Result};
use crate::format::fragment::{self, Fragment, FragmentHead};
use crate::format::names::NameBuilder;
use crate::model::TreeId;
use std::rc::Rc;

/// Reads every record of every segment, and removes damaged data from the version. Returns what is missing.
pub(crate) async fn leave_out_damage(store: &Rc<Store>, reader: &Reader) -> Result<Vec<Missing>> {
    let segments = store.view.borrow().version.segments();
    let mut lost = Vec::new();
    for segment in segments.values() {
        find_damage(reader, segment, &mut lost).await?;
    }
    let mut view = store.view.borrow_mut();
    let mut version = (*view.version).clone();
    for one in &lost {
        let Some(partitions) = version.trees.get_mut(&one.tree) else { continue };
        let cut = partitions.all().iter().map(|partition| {
            let levels = partition.levels.levels.iter().map(|level| one.leave_out(level)).collect();
            Rc::new(Partition::new(partition.id, partition.from.clone(), TreeLevels { levels }))
        });
        *partitions = Rc::new(Partitions::of(cut.collect()));
    }
    view.version = Rc::new(version);
    // Memtables may have fragments of a lost row but not all of it; a deletion hides these.
    let (mut names, mut bytes) = (NameBuilder::default(), Vec::new());
    let head = FragmentHead { hides_older: true, marker: None, stamp: store.line.last_stamp() };
    fragment::encode(head, [], head.stamp, &mut names, &mut bytes);
    let memtables: Vec<_> = view.memtables().map(Rc::clone).collect();
    for LostRange { first, last, .. } in &lost {
        for key in memtable::dependent(&memtables, first, last) {
            let seqno = view.visible_seqno() + 1;
            view.show(seqno);
            let deletion = Fragment::decode(&bytes, head.stamp, names.names());
            let inserted = deletion.and_then(|hidden| view.memtable.insert(key, seqno, hidden, false, &store.holds));
            inserted.map_err(|damage| Error::internal(format!("a deletion: {damage}")))?;
        }
    }
    drop(view);
    let missing = lost.into_iter().map(|LostRange { error, tree, first, behind, .. }| Missing {
        error,
        tree: Some(tree),
        keys: [own_key(&first).to_vec(), own_key(&behind).to_vec()],
    });
    Ok(missing.collect())
}

/// Reads a whole segment, and adds the ranges of damaged keys, tree included.
async fn find_damage(reader: &Reader, segment: &Rc<Segment>, lost: &mut Vec<LostRange>) -> Result<()> {
    let parts: Vec<Rc<Part>> = {
        let view = reader.store.view.borrow();
        let parts = view.version.trees.values().flat_map(|partitions| partitions.parts());
        parts.filter(|part| part.segment.id == segment.id).map(Rc::clone).collect()
    };
    // `end`: the greatest lost key, and the first key behind it.
    let mut lose = |error: &Error, first: &[u8], end: Option<[Box<[u8]>; 2]>| {
        for part in &parts {
            let first = first.max(&part.first_key);
            let end = end.clone().filter(|[last, _]| *last <= part.last_key);
            let [last, behind] = end.unwrap_or_else(|| [part.last_key.clone(), behind(&part.last_key)]);
            if let Some(tree) = tree_of(first).filter(|_| *first <= *last) {
                lost.push(LostRange { error: error.clone(), tree, first: first.into(), last, behind });
            }
        }
    };
    let meta = match reader.metas(parts.get(..1).unwrap_or_default()).await {
        Ok(metas) => metas.into_iter().next(),
        Err(error) if error.code() == Code::Corrupt => {
            lose(&error, &[], None);
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let Some(meta) = meta else { return Ok(()) };
    for number in 0..segment.blocks {
        let want = RecordId::Block(segment.block(number));
        match reader.store.cache.load(&reader.runtime.storage, &[want], &mut Pins::default(), Usage::Once).await {
            Ok(()) => {}
            Err(error) if error.code() == Code::Corrupt => {
                // The next block may continue the last row of this one.
                let continued = meta.is_continued(number + 1);
                let end = meta.first_key(number + 1).map(|next| match continued {
                    true => [next.into(), behind(next)],
                    false => [before(next), next.into()],
                });
                lose(&error, meta.first_key(number).unwrap_or_default(), end);
            }
            Err(error) => return Err(error),
        }
        reader.runtime.env.yield_now().await;
    }
    Ok(())
}

/// The key right behind this one.
fn behind(key: &[u8]) -> Box<[u8]> {
    [key, &[0]].concat().into()
}

/// Keys of a tree that a damaged record may have held, tree included.
struct LostRange {
    error: Error,
    tree: TreeId,
    first: Box<[u8]>,
    last: Box<[u8]>,
    /// The first key behind them. In the damaged segment this is the first key of the next block: a cursor would look for
    /// any smaller key in the damaged one. If that block continues the last row, it is the key right behind that row.
    behind: Box<[u8]>,
}

impl LostRange {
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
