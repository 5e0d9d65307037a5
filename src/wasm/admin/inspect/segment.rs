//! The answer of `describeSegment`: `SegmentDescription` of the package.

use super::keys::{key, value};
use super::layout::named;
use crate::engine::{BlockContents, FilterAnswer, RowContents, SegmentContents, TreeId};
use crate::model::{ChangeKind, Value};
use crate::tablestore::{Instance, KeyPlace, TreeName};
use crate::wasm::admin::answers::{Answer, Members};
use std::rc::Rc;
use wasm_bindgen::JsValue;

/// A place in a segment, with what its answer borrows.
struct Told<'a, T> {
    what: &'a T,
    tree: TreeId,
    name: Rc<TreeName>,
    key: KeyPlace,
}

impl<'a, T> Told<'a, T> {
    /// All places of a list, each with its tree and its key. They ascend, so the name of each tree is asked for once.
    fn all(instance: &Instance, list: &'a [T], place: fn(&T) -> (TreeId, &[u8])) -> Vec<Self> {
        let mut last: Option<(TreeId, Rc<TreeName>)> = None;
        let told = |what| {
            let (tree, key) = place(what);
            let name = match &last {
                Some((same, name)) if *same == tree => Rc::clone(name),
                _ => Rc::new(instance.inspect().tree_name(tree)),
            };
            last = Some((tree, Rc::clone(&name)));
            Self { what, tree, name, key: KeyPlace::of(key) }
        };
        list.iter().map(told).collect()
    }
}

pub(super) fn segment(instance: &Instance, id: u64, found: &SegmentContents) -> JsValue {
    let blocks = Told::all(instance, &found.blocks, |block| (block.tree, &block.first_key));
    let rows = Told::all(instance, &found.rows, |row| (row.tree, &row.key));
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
