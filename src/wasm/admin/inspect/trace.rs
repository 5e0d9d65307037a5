//! The path of a read: `ReadTrace` of the package.

use crate::engine::{Fetch, Trace, TraceStep, TracedBlock, Verdict};
use crate::wasm::admin::answers::{Answer, Members};

pub(super) fn trace(trace: &Trace) -> Answer<'_> {
    Members::default()
        .and("partitionId", trace.partition.map(|id| id.0))
        .and("seqno", trace.seqno)
        .and("steps", Answer::list(&trace.steps, step))
        .and("fragments", trace.fragments)
        .and("fetchedRecords", trace.fetched_records)
        .and("fetchedBytes", trace.fetched_bytes)
        .end()
}

fn step(step: &TraceStep) -> Answer<'_> {
    match step {
        TraceStep::Memtable { is_frozen, fragments, ends } => Members::default()
            .and("source", if *is_frozen { "frozen" } else { "memtable" })
            .and("fragments", *fragments)
            .and("ends", *ends)
            .end(),
        TraceStep::Image => Members::default().and("source", "image").and("fragments", 1_u32).and("ends", true).end(),
        TraceStep::Level { level, parts, out_of_range } => Members::default()
            .and("source", "level")
            .and("level", *level)
            .and("segments", *parts)
            .and("outOfRange", *out_of_range)
            .end(),
        TraceStep::Segment { segment, level, verdict, index, blocks, fragments, ends } => Members::default()
            .and("source", "segment")
            .and("segmentId", *segment)
            .and("level", *level)
            .and("verdict", name(*verdict))
            .and("index", index.as_ref().map(fetch))
            .and("blocks", Answer::list(blocks, block))
            .and("fragments", *fragments)
            .and("ends", *ends)
            .end(),
    }
}

fn name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::NotNeeded => "not needed",
        Verdict::FilterNo => "no",
        Verdict::Found => "found",
        Verdict::FalsePositive => "false positive",
    }
}

fn fetch(fetch: &Fetch) -> Answer<'static> {
    let (from, bytes) = match fetch {
        Fetch::Cache => ("cache", 0),
        Fetch::Storage(bytes) => ("storage", *bytes),
    };
    Members::default().and("from", from).and("bytes", bytes).end()
}

fn block(block: &TracedBlock) -> Answer<'_> {
    let members = Members::default().and("block", block.number).and("entries", block.entries);
    members.and("fetch", block.from.as_ref().map(fetch)).end()
}
