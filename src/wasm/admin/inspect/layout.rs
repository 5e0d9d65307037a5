//! The answer of `describeStore`: `StoreDescription` of the package.

use super::keys::key;
use crate::engine::{Layout, MemtableLayout, PartLayout, TreeId, TreeLayout};
use crate::tablestore::{Instance, KeyPlace, TreeName};
use crate::wasm::admin::answers::{Answer, Members};
use wasm_bindgen::JsValue;

/// A tree, with what its answer borrows.
struct Told<'a> {
    tree: &'a TreeLayout,
    name: TreeName,
    bounds: Vec<(u64, KeyPlace)>,
    parts: Vec<(&'a PartLayout, KeyPlace, KeyPlace)>,
}

impl<'a> Told<'a> {
    fn of(instance: &Instance, tree: &'a TreeLayout) -> Self {
        let place = |bytes: &[u8]| KeyPlace::of(bytes);
        Self {
            tree,
            name: instance.inspect().tree_name(tree.tree),
            bounds: tree.partitions.iter().map(|(id, from)| (id.0, place(from))).collect(),
            parts: tree.parts.iter().map(|part| (part, place(&part.first_key), place(&part.last_key))).collect(),
        }
    }
}

pub(super) fn layout(instance: &Instance, layout: &Layout) -> JsValue {
    let trees: Vec<Told<'_>> = layout.trees.iter().map(|tree| Told::of(instance, tree)).collect();
    let log = Members::default()
        .and("records", layout.log_records)
        .and("bytes", layout.log_bytes)
        .and("start", layout.log_start)
        .and("inFiles", layout.log_in_files)
        .end();
    Members::default()
        .and("log", log)
        .and("newestSeqno", layout.seqno)
        .and("memtables", Answer::list(&layout.memtables, memtable))
        .and("trees", Answer::list(&trees, tree))
        .and("isPaused", instance.inspect().is_work_paused())
        .end()
        .to_js()
}

/// Names of a tree: what it holds, and its table.
pub(super) fn named<'a>(id: TreeId, name: &'a TreeName) -> Members<'a> {
    Members::default().and("tree", id.0).and("kind", name.kind.as_str()).and("tableName", name.table.as_deref())
}

fn memtable(memtable: &MemtableLayout) -> Answer<'_> {
    let rows =
        Answer::list(&memtable.rows, |(tree, rows)| Members::default().and("tree", tree.0).and("rows", *rows).end());
    Members::default()
        .and("frozen", memtable.is_frozen)
        .and("bytes", memtable.bytes)
        .and("entries", memtable.entries)
        .and("logStart", memtable.log_start)
        .and("trees", rows)
        .end()
}

fn tree<'a>(told: &'a Told<'_>) -> Answer<'a> {
    let partitions = Answer::list(&told.bounds, |(id, from)| {
        Members::default().and("partitionId", *id).and("from", key(from)).end()
    });
    named(told.tree.tree, &told.name)
        .and("primaryKey", Answer::texts(&told.name.key))
        .and("partitions", partitions)
        .and("segments", Answer::list(&told.parts, part))
        .end()
}

fn part<'a>((part, first, last): &'a (&PartLayout, KeyPlace, KeyPlace)) -> Answer<'a> {
    let (oldest, newest) = part.versions.unzip();
    Members::default()
        .and("segmentId", part.segment)
        .and("level", part.level as u64)
        .and("partitionId", part.partition.0)
        .and("firstKey", key(first))
        .and("lastKey", key(last))
        .and("bytes", part.bytes)
        .and("entries", part.entries)
        .and("blocks", part.blocks)
        .and("deletes", part.deletes)
        .and("oldestVersion", oldest)
        .and("newestVersion", newest)
        .and("indexBytes", part.index_bytes)
        .and("segmentBytes", part.segment_bytes)
        .and("segmentEntries", part.segment_entries)
        .and("sharedBy", part.shared_by)
        .end()
}
