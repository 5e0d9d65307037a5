//! The answer of `metrics`: `Metrics` of the package.

use super::answers::{Answer, Members};
use crate::engine::{self, Options, TreeMetrics};
use crate::model::InstanceKind;
use crate::session::{ActivityReport, OperationActivity};

/// Facts that the engine's own metrics lack.
pub(in crate::wasm) struct Known<'a> {
    pub(in crate::wasm) kind: InstanceKind,
    /// The options with which the engine was opened.
    pub(in crate::wasm) options: &'a Options,
    pub(in crate::wasm) now: i64,
    /// The name of a tree's table.
    pub(in crate::wasm) table_of: &'a dyn Fn(u32) -> Option<&'a str>,
    pub(in crate::wasm) activity: &'a ActivityReport,
    /// The sessions that are open.
    pub(in crate::wasm) sessions: u64,
    /// Read and write units used since the instance was opened.
    pub(in crate::wasm) units: [u64; 2],
}

pub(in crate::wasm) fn metrics<'a>(engine: &'a engine::Metrics, known: &Known<'a>) -> Answer<'a> {
    let (activity, options) = (known.activity, known.options);
    let [read, write] = known.units;
    Members::default()
        .and("kind", known.kind.as_str())
        .and("reserve", counts(&[("bytes", engine.reserve_bytes), ("capacity", options.reserve_bytes as u64)]))
        .and("operations", Answer::Object(activity.operations.iter().map(|one| (one.name, operation(one))).collect()))
        .and(
            "capacity",
            Members::default()
                .and("read", read)
                .and("write", write)
                .and("readPerSecond", activity.read_per_second)
                .and("writePerSecond", activity.write_per_second)
                .end(),
        )
        .and(
            "memtable",
            counts(&[
                ("bytes", engine.memtable_bytes),
                ("entries", engine.memtable_entries),
                ("frozen", engine.frozen_memtables),
                ("budget", options.memtable_bytes as u64),
            ]),
        )
        .and(
            "log",
            Members::default()
                .and("bytes", engine.log_bytes)
                .and("records", engine.log_records)
                .and("inFiles", engine.log_in_files)
                .end(),
        )
        .and(
            "segments",
            counts(&[("count", engine.segments), ("bytes", engine.segment_bytes), ("garbage", engine.dead_bytes)]),
        )
        .and("trees", Answer::list(&engine.trees, |one| tree(one, (known.table_of)(one.tree.0))))
        .and(
            "cache",
            counts(&[
                ("bytes", engine.cache_bytes),
                ("capacity", options.cache_bytes as u64),
                ("hits", engine.cache_hits),
                ("misses", engine.cache_misses),
            ]),
        )
        .and(
            "work",
            counts(&[
                ("commits", engine.commits),
                ("writes", engine.writes),
                ("flushes", engine.flushes),
                ("bytesFlushed", engine.flushed_bytes),
                ("compactions", engine.compactions),
                ("bytesCompactedIn", engine.compacted_bytes_read),
                ("bytesCompacted", engine.compacted_bytes_written),
                ("failedCompactions", engine.failed_compactions),
                ("passedPartitions", engine.passed_partitions),
                ("longestSliceUs", engine.longest_slice_us),
            ]),
        )
        .and("sessions", known.sessions)
        .and("manifest", engine.manifest)
        .and("epoch", engine.epoch)
        .and("now", known.now)
        .end()
}

fn operation(operation: &OperationActivity) -> Answer<'_> {
    Members::default()
        .and("requests", operation.requests)
        .and("errors", operation.errors)
        .and("requestsPerSecond", operation.requests_per_second)
        .and("meanLatencyMs", operation.mean_latency_ms)
        .and("p50LatencyMs", operation.p50_latency_ms)
        .and("p99LatencyMs", operation.p99_latency_ms)
        .end()
}

fn tree<'a>(tree: &TreeMetrics, table: Option<&'a str>) -> Answer<'a> {
    // Empty levels are left out.
    let levels = tree.levels.iter().zip(0..).filter(|(level, _)| level.segments + level.bytes > 0);
    let levels = levels.map(|(level, number)| {
        counts(&[("level", number), ("segments", level.segments), ("bytes", level.bytes), ("entries", level.entries)])
    });
    let partitions = tree.partitions.iter().map(|partition| {
        counts(&[
            ("partitionId", partition.id.0),
            ("bytes", partition.bytes),
            ("entries", partition.entries),
            ("operationsPerSecond", partition.operations_per_second),
        ])
    });
    Members::default()
        .and("tree", tree.tree.0)
        .and("tableName", table)
        .and("levels", Answer::List(levels.collect()))
        .and("partitions", Answer::List(partitions.collect()))
        .end()
}

/// A group of counts.
fn counts(counts: &[(&'static str, u64)]) -> Answer<'static> {
    Answer::Object(counts.iter().map(|(name, count)| (*name, (*count).into())).collect())
}
