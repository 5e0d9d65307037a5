//! The answer of `describeSegment`: `SegmentDescription` of the package.

use super::keys::{key, value};
use super::layout::named;
use crate::engine::{BlockContents, FilterAnswer, RowContents, SegmentContents, TreeId};
use crate::model::{ChangeKind, Value};
use crate::tablestore::{Instance, KeyPlace, TreeName};
use crate::wasm::admin::answers::{Answer, Members};
use wasm_bindgen::JsValue;

/// A place in a segment, with what its answer borrows.
struct Told<'a, T> {
    what: &'a T,
    tree: TreeId,
    name: TreeName,
    key: KeyPlace,
}

impl<'a, T> Told<'a, T> {
    fn of(instance: &Instance, what: &'a T, tree: TreeId, key: &[u8]) -> Self {
        Self { what, tree, name: instance.inspect().tree_name(tree), key: KeyPlace::of(key) }
    }
}

pub(super) fn segment(instance: &Instance, id: u64, found: &SegmentContents) -> JsValue {
    let blocks: Vec<_> =
        found.blocks.iter().map(|block| Told::of(instance, block, block.tree, &block.first_key)).collect();
    let rows: Vec<_> = found.rows.iter().map(|row| Told::of(instance, row, row.tree, &row.key)).collect();
    let (oldest, newest) = found.seqnos.unzip();
    let filter = found.filter.map(|filter| Members::default().and("bits", filter.bits).and("keys", found.keys).end());
    let answer = found.answer.map(|answer| match answer {
        FilterAnswer::No => "no",
        FilterAnswer::Found => "found",
        FilterAnswer::FalsePositive => "false positive",
    });
    Members::default()
        .and("segmentId", id)
        .and("blocks", Answer::list(&blocks, block))
        .and("indexBytes", found.index_bytes)
        .and("filter", filter)
        .and("keys", found.keys)
        .and("deletes", found.deletes)
        .and("oldestSeqno", oldest)
        .and("newestSeqno", newest)
        .and("isLoaded", found.is_loaded)
        .and("answer", answer)
        .and("rows", Answer::list(&rows, row))
        .end()
        .to_js()
}

fn block<'a>(told: &'a Told<'_, BlockContents>) -> Answer<'a> {
    named(told.tree, &told.name)
        .and("firstKey", key(&told.key))
        .and("bytes", told.what.bytes)
        .and("entries", told.what.entries)
        .and("isContinued", told.what.is_continued)
        .and("isCached", told.what.is_cached)
        .end()
}

fn row<'a>(told: &'a Told<'_, RowContents>) -> Answer<'a> {
    let kind = match told.what.kind {
        ChangeKind::Put => "put",
        ChangeKind::Update => "update",
        ChangeKind::Delete => "delete",
    };
    named(told.tree, &told.name)
        .and("key", key(&told.key))
        .and("seqno", told.what.seqno)
        .and("change", kind)
        .and("cells", Answer::list(&told.what.cells, cell))
        .and("hasMore", told.what.has_more)
        .end()
}

fn cell((name, version, content): &(String, Option<i64>, Option<Value>)) -> Answer<'_> {
    let members = Members::default().and("name", name.as_str()).and("version", *version);
    match (version, content) {
        (_, Some(content)) => {
            let (told, cut) = value(content);
            members.and("op", "put").and("value", told).and("isShortened", cut).end()
        }
        (Some(_), None) => members.and("op", "deleteVersion").end(),
        (None, None) => members.and("op", "deleteColumn").end(),
    }
}
