//! Background work: `WorkEvents` and `StepResult` of the package.

use super::keys::key;
use super::layout::named;
use crate::engine::{
    CompactionReason, Dropped, DueWork, FlushReason, SplitReason, TreeId, Work, WorkEvent, WorkEvents, WorkPart,
};
use crate::error::Result;
use crate::tablestore::{Instance, KeyPlace, TreeName};
use crate::wasm::admin::answers::{Answer, Members};
use std::rc::Rc;
use wasm_bindgen::JsValue;

/// An event, with what its answer borrows.
struct Told<'a> {
    event: &'a WorkEvent,
    name: TreeName,
    at: KeyPlace,
}

impl<'a> Told<'a> {
    fn of(instance: &Instance, event: &'a Rc<WorkEvent>) -> Self {
        let tree = match &event.work {
            Work::Flush { .. } => TreeId::default(),
            Work::Compaction { tree, .. }
            | Work::Split { tree, .. }
            | Work::Merge { tree, .. }
            | Work::IndexBuild { tree, .. } => *tree,
        };
        let at = if let Work::Split { at, .. } = &event.work { &at[..] } else { &[] };
        Self { event, name: instance.inspect().tree_name(tree), at: KeyPlace::of(at) }
    }
}

pub(super) fn events(instance: &Instance, found: &WorkEvents) -> JsValue {
    let told: Vec<Told<'_>> = found.events.iter().map(|event| Told::of(instance, event)).collect();
    Members::default()
        .and("events", Answer::list(&told, event))
        .and("position", found.position)
        .and("lost", found.lost)
        .end()
        .to_js()
}

/// What was done, and what is next.
pub(super) async fn due(instance: &Instance, done: &[Rc<WorkEvent>]) -> Result<JsValue> {
    let next = instance.inspect().due_work().await?;
    let name = instance.inspect().tree_name(next.as_ref().map(tree_of).unwrap_or_default());
    let told: Vec<Told<'_>> = done.iter().map(|event| Told::of(instance, event)).collect();
    let next = next.as_ref().map(|next| due_work(next, &name));
    Ok(Members::default().and("done", Answer::list(&told, event)).and("next", next).end().to_js())
}

fn tree_of(work: &DueWork) -> TreeId {
    match work {
        DueWork::Flush { .. } => TreeId::default(),
        DueWork::Compaction { tree, .. } | DueWork::Split { tree, .. } | DueWork::Merge { tree, .. } => *tree,
    }
}

fn due_work<'a>(work: &'a DueWork, name: &'a TreeName) -> Answer<'a> {
    match work {
        DueWork::Flush { bytes } => Members::default().and("type", "flush").and("bytes", *bytes).end(),
        DueWork::Compaction { tree, reason, inputs, to } => named(*tree, name)
            .and("type", "compaction")
            .and("reason", compaction_reason(*reason))
            .and("inputs", Answer::list(inputs, part))
            .and("toLevel", *to)
            .end(),
        DueWork::Split { tree, partition } => {
            named(*tree, name).and("type", "split").and("partitionId", partition.0).end()
        }
        DueWork::Merge { tree, partition } => {
            named(*tree, name).and("type", "merge").and("partitionId", partition.0).end()
        }
    }
}

fn event<'a>(told: &'a Told<'_>) -> Answer<'a> {
    let WorkEvent { number, at, took_us, work } = told.event;
    let members = match work {
        Work::Flush { reason, bytes, entries, outputs, written, dropped } => Members::default()
            .and("type", "flush")
            .and("reason", flush_reason(*reason))
            .and("bytes", *bytes)
            .and("entries", *entries)
            .and("outputs", Answer::list(outputs, part))
            .and("bytesWritten", *written)
            .and("dropped", cells(*dropped)),
        Work::Compaction { tree, reason, inputs, to, outputs, written, dropped } => named(*tree, &told.name)
            .and("type", "compaction")
            .and("reason", compaction_reason(*reason))
            .and("inputs", Answer::list(inputs, part))
            .and("toLevel", *to)
            .and("outputs", Answer::list(outputs, part))
            .and("bytesWritten", *written)
            .and("dropped", cells(*dropped)),
        Work::Split { tree, left, right, reason, .. } => named(*tree, &told.name)
            .and("type", "split")
            .and("reason", if *reason == SplitReason::Size { "size" } else { "load" })
            .and("partitionId", left.0)
            .and("newPartitionId", right.0)
            .and("at", key(&told.at)),
        Work::Merge { tree, left, right } => {
            named(*tree, &told.name).and("type", "merge").and("partitionId", left.0).and("mergedPartitionId", right.0)
        }
        Work::IndexBuild { tree, rows } => named(*tree, &told.name).and("type", "indexBuild").and("rows", *rows),
    };
    #[expect(clippy::cast_precision_loss, reason = "a duration")]
    let took = *took_us as f64 / 1000.0;
    members.and("position", *number).and("time", *at).and("tookMs", took).end()
}

fn part(part: &WorkPart) -> Answer<'_> {
    Members::default()
        .and("segmentId", part.segment)
        .and("tree", part.tree.0)
        .and("partitionId", part.partition.map(|id| id.0))
        .and("level", part.level)
        .and("bytes", part.bytes)
        .and("entries", part.entries)
        .end()
}

fn cells(dropped: Dropped) -> Answer<'static> {
    Members::default()
        .and("surplus", dropped.surplus)
        .and("expired", dropped.expired)
        .and("deleted", dropped.deleted)
        .end()
}

fn flush_reason(reason: FlushReason) -> &'static str {
    match reason {
        FlushReason::MemtableFull => "memtable full",
        FlushReason::LogLong => "log long",
        FlushReason::AskedOrIdle => "asked or idle",
    }
}

fn compaction_reason(reason: CompactionReason) -> &'static str {
    match reason {
        CompactionReason::Level0Full => "level 0 full",
        CompactionReason::SmallPartition => "small partition",
        CompactionReason::TooMuchAbove => "too much above the bottom",
        CompactionReason::Expired => "expired",
        CompactionReason::Waste => "deleted or expired data",
        CompactionReason::LeftOver => "left over",
        CompactionReason::Asked => "asked",
        CompactionReason::PartitionMerge => "merge of partitions",
    }
}
