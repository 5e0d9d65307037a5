//! A look inside the store: segments, the path of a read, hidden versions, background work and its reasons.

use crate::store::*;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use tabstore::engine::{
    ClockMode, CompactionReason, Dropped, DueWork, Fetch, FilterAnswer, FlushReason, Options, PartLayout, SegmentQuery,
    Shape, SplitReason, Trace, TraceStep, Verdict, Work, WorkEvent,
};
use tabstore::error::Code;
use tabstore::model::{KeyType, KeyValue, TableName};
use tabstore::modules::Module;
use tabstore::session::codec::{FrameWriter, responses};
use tabstore::storage::BlockId;
use tabstore::storage::faults::{Call, Gates, Hook, Moment};
use tabstore::tablestore::{ColumnOp, GetRow, Hidden, InstanceOptions, KeyPlace, OptionsChange, StoredRow, TreeKind};

/// Blocks and segments of some hundred bytes; nothing is compacted unless somebody asks.
fn by_hand() -> Options {
    let shape = Shape { block_bytes: 300, segment_bytes: 3000, ..Shape::DEFAULT };
    Options { clock: ClockMode::Injected, auto_compact: false, pausable: true, shape, ..Options::default() }
}

fn store(options: Options) -> Store {
    let store = Store::with(InstanceOptions::default(), options);
    store.create("t", &[("id", KeyType::Integer)], OptionsChange::default());
    store
}

fn flush(store: &Store) {
    store.env.run(store.instance.flush()).expect("flushed");
}

const PAD: &str = "some text that makes a row a little larger than nothing";

fn fill(store: &Store, ids: impl Iterator<Item = i64>) {
    ids.for_each(|n| store.put(id(n), &[cell("x", int(n)), cell("pad", text(PAD))]));
}

fn name(table: &str) -> TableName<'_> {
    TableName::parse(table).expect("a name")
}

fn parts(store: &Store) -> Vec<PartLayout> {
    let tree = store.instance.tree_of(name("t")).expect("there");
    store
        .instance
        .inspect()
        .layout()
        .trees
        .into_iter()
        .find(|one| one.tree == tree)
        .map_or_else(Vec::new, |one| one.parts)
}

fn ids_of(place: &[u8]) -> Vec<KeyValue> {
    KeyPlace::of(place).values
}

#[test]
fn segments_are_told_by_tree_partition_and_level() {
    let store = store(by_hand());
    fill(&store, 0..40);
    let before = store.instance.inspect().layout();
    assert!(parts(&store).is_empty(), "all of it is in memory");
    let tree = store.instance.tree_of(name("t")).expect("there");
    let rows = before.memtables[0].rows.iter().find(|(one, _)| *one == tree);
    assert_eq!(rows.map(|(_, rows)| *rows), Some(40));
    assert!(!before.memtables[0].is_frozen && before.log_records > 0);
    assert!(before.trees.iter().any(|one| one.tree == tree), "a tree in memory is listed");

    flush(&store);
    store.write(&delete("t", id(7))).expect("deleted");
    fill(&store, 30..50);
    flush(&store);
    let found = parts(&store);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().all(|part| part.level == 0 && part.blocks > 1 && part.bytes > 0));
    assert!(found[0].segment > found[1].segment, "the newest first");
    assert_eq!(found.iter().map(|part| part.entries).collect::<Vec<_>>(), [21, 40]);
    assert_eq!((found[0].deletes, found[1].deletes), (1, 0));
    assert_eq!(ids_of(&found[0].first_key), [KeyValue::Integer(7)]);
    assert_eq!(ids_of(&found[1].last_key), [KeyValue::Integer(39)]);
    assert!(found[0].versions.is_some_and(|(oldest, newest)| oldest <= NOW && newest >= NOW), "{found:?}");
    let after = store.instance.inspect().layout();
    assert!(after.log_start > before.log_start && after.seqno > before.seqno);
    assert_eq!(after.memtables[0].entries, 0);

    store.compact();
    let found = parts(&store);
    assert!(found.iter().all(|part| part.level > 0), "{found:?}");
    assert_eq!(found.iter().map(|part| part.entries).sum::<u64>(), 49, "the deleted row is gone");
    assert!(found.windows(2).all(|pair| pair[0].last_key < pair[1].first_key));
}

#[test]
fn each_tree_has_its_name() {
    let store = store(by_hand());
    fill(&store, 0..3);
    flush(&store);
    let names: Vec<_> = store
        .instance
        .inspect()
        .layout()
        .trees
        .iter()
        .map(|tree| store.instance.inspect().tree_name(tree.tree))
        .collect();
    let of = |kind: TreeKind| names.iter().filter(|name| name.kind == kind).count();
    assert_eq!((of(TreeKind::Catalog), of(TreeKind::Meter), of(TreeKind::Deleted)), (1, 1, 0), "{names:?}");
    let table = names.iter().find(|one| one.table.as_deref() == Some("t")).expect("the table");
    assert_eq!((table.kind, &table.key[..]), (TreeKind::Table, &["id".to_owned()][..]));
}

#[test]
fn a_segment_tells_its_blocks_its_filter_and_its_rows() {
    let store = store(by_hand());
    fill(&store, (0..40).map(|n| n * 2));
    store.update(id(4), &[change("y", ColumnOp::Put { version: None, value: text("later") })]);
    flush(&store);
    let part = parts(&store).remove(0);
    let read = |query: SegmentQuery<'_>, key: Option<i64>| {
        let key = key.map(id);
        let row = key.as_ref().map(|key| ("t", key));
        store.env.run(store.instance.inspect().segment(part.segment, query, row)).expect("read").expect("there")
    };
    let found = read(SegmentQuery { block: 0, rows: 3, key: None }, None);
    assert_eq!(found.blocks.len(), part.blocks as usize);
    let (bytes, entries): (u64, u64) =
        found.blocks.iter().fold((0, 0), |sum, block| (sum.0 + block.bytes, sum.1 + block.entries));
    assert_eq!((bytes + found.index_bytes, entries), (part.segment_bytes, part.segment_entries));
    assert_eq!((found.answer, found.is_loaded), (None, false));
    assert!(found.filter.is_some_and(|filter| filter.bits >= found.keys * 8), "{:?}", found.filter);
    let (oldest, newest) = found.seqnos.expect("some");
    assert!(oldest < newest && newest <= store.instance.inspect().layout().seqno);
    let rows: Vec<_> =
        (0..part.blocks).flat_map(|block| read(SegmentQuery { block, rows: 1000, key: None }, None).rows).collect();
    let row = rows.iter().find(|row| ids_of(&row.key) == [KeyValue::Integer(4)]).expect("the row");
    assert_eq!(row.cells.iter().map(|(name, ..)| &name[..]).collect::<Vec<_>>(), ["pad", "x", "y"]);
    assert!(!row.has_more && row.cells.iter().all(|(_, version, value)| version.is_some() && value.is_some()));

    assert_eq!(read(SegmentQuery::default(), Some(4)).answer, Some(FilterAnswer::Found));
    let answers: Vec<_> =
        (0..600).map(|n| read(SegmentQuery::default(), Some(n * 2 + 1)).answer.expect("one")).collect();
    assert!(answers.iter().all(|answer| *answer != FilterAnswer::Found));
    let wrong = answers.iter().filter(|answer| **answer == FilterAnswer::FalsePositive).count();
    assert!(wrong < 30, "{wrong} of 600 answers are wrong");

    assert_eq!(store.env.run(store.instance.inspect().segment(u64::MAX >> 1, SegmentQuery::default(), None)), Ok(None));
    let unknown =
        store.env.run(store.instance.inspect().segment(part.segment, SegmentQuery::default(), Some(("u", &id(1)))));
    assert_eq!(unknown.map_err(|error| error.code()), Err(Code::ObjectNotExist));
    let wrong = key(&[("id", text("no number"))]);
    let wrong =
        store.env.run(store.instance.inspect().segment(part.segment, SegmentQuery::default(), Some(("t", &wrong))));
    assert_eq!(wrong.map_err(|error| error.code()), Err(Code::InvalidPk));
}

/// The blocks that a storage was asked for.
#[derive(Clone, Default)]
struct Asked(Rc<RefCell<Vec<BlockId>>>);

impl Hook for Asked {
    async fn before(&self, call: &Call) -> tabstore::Result<()> {
        if let Call::GetBlocks(blocks) = call {
            self.0.borrow_mut().extend_from_slice(blocks);
        }
        Ok(())
    }
}

fn traced(store: &Store, instance: &tabstore::tablestore::Instance, n: i64) -> (Trace, Option<Vec<Cell>>) {
    let mut rows = Rows::default();
    let request = GetRow { table: name("t"), key: id(n), options: versions(i64::MAX) };
    let (found, trace) = store.env.run(instance.inspect().trace_row(&request, &mut rows)).expect("read");
    assert_eq!(found.row, !rows.0.is_empty());
    (trace, rows.0.pop().map(|(_, cells)| cells))
}

#[test]
fn a_trace_tells_where_a_read_looks() {
    let store = store(by_hand());
    fill(&store, 0..40);
    let (trace, row) = traced(&store, &store.instance, 3);
    assert_eq!(row, store.all(id(3)));
    let ends = TraceStep::Memtable { is_frozen: false, fragments: 1, ends: true };
    assert_eq!((trace.steps, trace.partition, trace.fragments), (vec![ends], None, 1), "a put ends the read");

    flush(&store);
    store.update(id(3), &[add("y", None, 1)]);
    let (trace, row) = traced(&store, &store.instance, 3);
    assert_eq!(row, store.all(id(3)));
    assert_eq!(trace.steps[0], TraceStep::Memtable { is_frozen: false, fragments: 1, ends: false });
    assert_eq!(trace.steps[1], TraceStep::Level { level: 0, parts: 1, out_of_range: 0 });
    let TraceStep::Segment { verdict: Verdict::Found, index: Some(_), blocks, fragments: 1, ends: true, .. } =
        &trace.steps[2]
    else {
        panic!("{:?}", trace.steps)
    };
    assert_eq!((blocks.len(), blocks[0].entries, trace.fragments), (1, 1, 2));

    // A newer put makes the older segment unneeded.
    fill(&store, 3..4);
    flush(&store);
    let (trace, _) = traced(&store, &store.instance, 3);
    let verdicts: Vec<_> = verdicts(&trace);
    assert_eq!(verdicts, [Verdict::Found, Verdict::NotNeeded]);
    // Outside of the newer segment's range, and behind both.
    let (trace, _) = traced(&store, &store.instance, 5);
    assert!(trace.steps.contains(&TraceStep::Level { level: 0, parts: 2, out_of_range: 1 }), "{trace:?}");
    let (trace, row) = traced(&store, &store.instance, 1000);
    assert_eq!((row, trace.fragments, verdicts_of(&trace)), (None, 0, 0));
    assert!(trace.steps.contains(&TraceStep::Level { level: 0, parts: 2, out_of_range: 2 }), "{trace:?}");
}

fn verdicts(trace: &Trace) -> Vec<Verdict> {
    let verdict = |step: &TraceStep| if let TraceStep::Segment { verdict, .. } = step { Some(*verdict) } else { None };
    trace.steps.iter().filter_map(verdict).collect()
}

fn verdicts_of(trace: &Trace) -> usize {
    verdicts(trace).len()
}

/// The trace is walked by code of its own, so it is compared with the read itself: what that fetches, and what it finds.
#[test]
fn a_trace_fetches_what_the_read_fetches() {
    let store = store(by_hand());
    for round in 0..4 {
        fill(&store, (0..60).filter(|n| n % 4 >= round));
        store.update(id(round * 9), &[add("y", None, round)]);
        store.write(&delete("t", id(50 + round))).expect("deleted");
        flush(&store);
    }
    store.update(id(11), &[change("pad", ColumnOp::DeleteColumn), add("z", None, 1)]);
    let mut false_positives = 0;
    for n in -3..70 {
        let (plain, asked) = (Asked::default(), Asked::default());
        let (other, instance) = (store.opened_with(plain.clone()), store.opened_with(asked.clone()));
        let (other, instance) = (other.expect("opens"), instance.expect("opens"));
        plain.0.take();
        asked.0.take();
        let mut rows = Rows::default();
        let request = GetRow { table: name("t"), key: id(n), options: versions(i64::MAX) };
        let found = store.env.run(other.get_row(&request, &mut rows)).expect("read");
        let (trace, row) = traced(&store, &instance, n);
        assert_eq!(rows.0.pop().map(|(_, cells)| cells), row, "row {n}");
        let sorted = |asked: &Asked| asked.0.borrow().iter().copied().collect::<BTreeSet<_>>();
        assert_eq!(sorted(&plain), sorted(&asked), "row {n}: {trace:?}");
        assert_eq!(trace.fetched_records, asked.0.borrow().len() as u64, "row {n}: each once, by the trace alone");
        false_positives += verdicts(&trace).iter().filter(|verdict| **verdict == Verdict::FalsePositive).count();
        assert_eq!(found.row, row.is_some());
        // The second time all of it is in the cache.
        let (again, _) = traced(&store, &instance, n);
        assert_eq!((again.fetched_records, again.fetched_bytes), (0, 0));
        assert_eq!(verdicts(&again), verdicts(&trace));
        let is_cached = |step: &TraceStep| match step {
            TraceStep::Segment { index, blocks, .. } => {
                index.is_none_or(|from| from == Fetch::Cache)
                    && blocks.iter().all(|block| block.from.is_none_or(|from| from == Fetch::Cache))
            }
            _ => true,
        };
        assert!(again.steps.iter().all(is_cached), "{again:?}");
    }
    assert!(false_positives < 20, "{false_positives}");
}

#[test]
fn a_traced_read_is_refused_as_the_read_is() {
    let store = store(by_hand());
    let mut rows = Rows::default();
    let options = versions(1);
    let wrong = GetRow { table: name("u"), key: id(1), options };
    let plain = store.env.run(store.instance.get_row(&wrong, &mut rows)).expect_err("refused");
    let traced = store.env.run(store.instance.inspect().trace_row(&wrong, &mut rows)).map(|_| ()).expect_err("refused");
    assert_eq!((plain.error.code(), plain.consumed), (traced.error.code(), traced.consumed));
    assert_eq!(plain.error.message(), traced.error.message());
}

#[test]
fn frames_of_tools_are_single_reads_of_rows() {
    let store = store(by_hand());
    fill(&store, 0..3);
    let mut writer = FrameWriter::default();
    writer.get_row(1, &GetRow { table: name("t"), key: id(1), options: versions(1) });
    let read = tabstore::session::inspect::traced_row(&store.instance, writer.finish());
    let (response, trace) = store.env.run(read).expect("read");
    assert!(trace.is_some_and(|trace| trace.fragments == 1));
    assert_eq!(responses(&response).expect("a frame").len(), 1);
    for garbage in [vec![], vec![1], vec![1, 5, 0, 0, 0, 0], vec![7; 40]] {
        let read = tabstore::session::inspect::traced_row(&store.instance, garbage.clone());
        assert_eq!(store.env.run(read).map_err(|error| error.code()), Err(Code::ParameterInvalid), "{garbage:?}");
        let read = tabstore::session::inspect::stored_row(&store.instance, garbage.clone());
        assert_eq!(store.env.run(read).map_err(|error| error.code()), Err(Code::ParameterInvalid), "{garbage:?}");
    }
    // No other operation passes, and none in a transaction.
    writer.row_write(1, &delete("t", id(1)));
    let read = tabstore::session::inspect::traced_row(&store.instance, writer.finish());
    assert_eq!(store.env.run(read).map_err(|error| error.code()), Err(Code::ParameterInvalid));
    assert!(store.all(id(1)).is_some(), "nothing was deleted");
}

fn stored(store: &Store, n: i64) -> (StoredRow, Vec<i64>) {
    let mut rows = Rows::default();
    let request = GetRow { table: name("t"), key: id(n), options: versions(1) };
    let stored = store.env.run(store.instance.inspect().stored_row(&request, &mut rows)).expect("read");
    let found = rows.0.pop().map(|(_, cells)| cells).unwrap_or_default();
    (stored, found.into_iter().map(|(_, version, _)| version - NOW).collect())
}

#[test]
fn v3_v5_hidden_versions_are_read_with_their_reason_until_a_compaction() {
    let store = Store::with(InstanceOptions::default(), by_hand());
    let options = OptionsChange { max_versions: Some(2), ..OptionsChange::default() };
    store.create("t", &[("id", KeyType::Integer)], options);
    for at in [0, 1000, 2000, 3000] {
        store.update(id(1), &[add("x", Some(NOW + at), at)]);
    }
    let surplus = Some(Hidden::Surplus);
    let (row, found) = stored(&store, 1);
    assert_eq!((found, row.hidden), (vec![3000, 2000, 1000, 0], vec![None, None, surplus, surplus]));
    assert!(row.is_stored && row.is_there);

    // A time to live of a day, and the clock so far that two versions are too old for it.
    store.set_options("t", OptionsChange { time_to_live: Some(86_400), ..OptionsChange::default() });
    store.env.set_now(NOW + 86_400_000 + 3000);
    let expired = Some(Hidden::Expired);
    let (row, _) = stored(&store, 1);
    assert_eq!(row.hidden, [None, expired, expired, expired], "one that is both is expired");
    assert_eq!(store.all(id(1)).map(|cells| cells.len()), Some(1));
    store.env.set_now(NOW + 2 * 86_400_000);
    let (row, found) = stored(&store, 1);
    assert_eq!((found.len(), row.hidden, row.is_stored, row.is_there), (4, vec![expired; 4], true, false));
    assert_eq!(store.all(id(1)), None);

    // Raised again, they are there again.
    store.set_options("t", OptionsChange { time_to_live: Some(-1), ..OptionsChange::default() });
    assert_eq!(stored(&store, 1).0.hidden, [None, None, surplus, surplus]);
    store.compact();
    let (row, found) = stored(&store, 1);
    assert_eq!((found, row.hidden), (vec![3000, 2000], vec![None, None]), "gone for good");
    store.write(&delete("t", id(1))).expect("deleted");
    let (row, found) = stored(&store, 1);
    assert_eq!((row, found), (StoredRow::default(), vec![]), "a deleted version is not hidden but gone");
}

fn events(store: &Store, position: u64) -> Vec<Rc<WorkEvent>> {
    store.instance.inspect().work_events(position).expect("alive").events
}

#[test]
fn events_are_collected_from_the_first_question_on() {
    let store = store(by_hand());
    fill(&store, 0..3);
    flush(&store);
    let first = store.instance.inspect().work_events(0).expect("alive");
    assert_eq!((first.events.len(), first.position, first.lost), (0, 0, 0), "nobody had asked before");
    fill(&store, 0..30);
    flush(&store);
    store.env.run_until_idle();
    let found = events(&store, 0);
    let [event] = &found[..] else { panic!("{found:?}") };
    let Work::Flush { reason: FlushReason::AskedOrIdle, entries, outputs, written, dropped, .. } = &event.work else {
        panic!("{event:?}")
    };
    assert!(*entries >= 30 && *written > 0 && !outputs.is_empty() && outputs.iter().all(|part| part.level == 0));
    assert_eq!((*dropped, event.number, event.at), (Dropped::default(), 1, NOW));
    assert!(events(&store, 1).is_empty());
    assert_eq!(events(&store, 99).len(), 1, "a position of another engine begins anew");
}

#[test]
fn a_full_memtable_is_flushed_for_that() {
    let store = store(Options { memtable_bytes: 4000, ..by_hand() });
    let _ = events(&store, 0);
    fill(&store, 0..60);
    store.env.run_until_idle();
    let full = |event: &&Rc<WorkEvent>| matches!(event.work, Work::Flush { reason: FlushReason::MemtableFull, .. });
    assert!(events(&store, 0).iter().filter(full).count() > 0);
}

#[test]
fn v3_v5_a_compaction_tells_what_it_dropped_and_why() {
    let store = Store::with(InstanceOptions::default(), by_hand());
    let options = OptionsChange { max_versions: Some(2), time_to_live: Some(86_400), ..OptionsChange::default() };
    store.create("t", &[("id", KeyType::Integer)], options);
    let _ = events(&store, 0);
    // Four versions: after a while one of them is expired, and one surplus.
    for at in [0, 5000, 6000, 7000] {
        store.update(id(1), &[add("x", Some(NOW + at), at)]);
    }
    store.put(id(2), &[cell_at("x", NOW + 7000, int(1)), cell_at("y", NOW + 7000, int(2))]);
    flush(&store);
    store.write(&delete("t", id(2))).expect("deleted");
    flush(&store);
    store.env.set_now(NOW + 86_400_000 + 2000);
    let position = store.instance.inspect().work_events(0).expect("alive").position;
    store.compact();
    let tree = store.instance.tree_of(name("t")).expect("there");
    let all = events(&store, position);
    let of_table = all.iter().find_map(|event| match &event.work {
        Work::Compaction { tree: of, reason, inputs, to, outputs, written, dropped } if *of == tree => {
            Some((*reason, inputs.clone(), *to, outputs.clone(), *written, *dropped))
        }
        _ => None,
    });
    let (reason, inputs, to, outputs, written, dropped) = of_table.expect("a compaction of the table");
    assert_eq!(reason, CompactionReason::Asked);
    assert_eq!(dropped, Dropped { expired: 1, surplus: 1, deleted: 2 });
    assert_eq!((inputs.len(), outputs.len()), (2, 1));
    assert!(written > 0 && to.is_some_and(|to| to > 0) && inputs.iter().all(|part| part.level == 0));
    let now: BTreeSet<u64> = parts(&store).iter().map(|part| part.segment).collect();
    assert!(outputs.iter().all(|part| now.contains(&part.segment)), "{outputs:?} {now:?}");
    assert!(inputs.iter().all(|part| part.partition.is_some() && !now.contains(&part.segment)));
}

/// What a compaction tells is its own: another one before it merged the same rows, and failed.
#[test]
fn a_compaction_tells_nothing_of_one_that_failed_before() {
    let store = store(by_hand());
    for _ in 0..2 {
        fill(&store, 0..20);
        flush(&store);
    }
    let gates = Rc::new(Gates::default());
    let instance = store.opened_with(Rc::clone(&gates)).expect("opens");
    let _ = instance.inspect().work_events(0).expect("alive");
    gates.fail(1, |call| matches!(call, Call::Stage(..)), Moment::Before, Code::QuotaExceeded);
    let _ = store.env.run(instance.compact());
    assert_eq!(gates.failures_left(), 0, "one compaction failed");
    store.env.run(instance.compact()).expect("compacted");
    let all = instance.inspect().work_events(0).expect("alive").events;
    let tree = store.instance.tree_of(name("t")).expect("there");
    let dropped = all.iter().filter_map(|event| match &event.work {
        Work::Compaction { tree: of, dropped, .. } if *of == tree => Some(dropped.deleted),
        _ => None,
    });
    assert_eq!(dropped.sum::<u64>(), 20 * 2, "the older cells of each row");
}

#[test]
fn the_last_500_events_are_kept() {
    let store = store(by_hand());
    let _ = events(&store, 0);
    for n in 0..520 {
        fill(&store, n..n + 1);
        flush(&store);
    }
    let found = store.instance.inspect().work_events(7).expect("alive");
    assert_eq!((found.events.len(), found.position, found.lost), (500, 520, 13));
    assert!(found.events.iter().zip(21..).all(|(event, number)| event.number == number));
}

#[test]
fn who_waits_for_events_hears_of_the_next_one_or_of_the_end() {
    let store = store(by_hand());
    let mut waiting = Box::pin(store.instance.inspect().await_work_events(0));
    assert!(poll(waiting.as_mut()).is_none());
    fill(&store, 0..3);
    flush(&store);
    assert_eq!(store.env.run(waiting).expect("alive").events.len(), 1);
    assert_eq!(store.env.run(store.instance.inspect().await_work_events(0)).expect("alive").events.len(), 1, "at once");
    let mut none = Box::pin(store.instance.inspect().await_work_events(1));
    assert!(poll(none.as_mut()).is_none());
    store.env.pass(20_000);
    let none = store.env.run(none).expect("alive");
    assert_eq!((none.events.len(), none.position), (0, 1), "after a while it is asked again");
    let mut waiting = Box::pin(store.instance.inspect().await_work_events(1));
    assert!(poll(waiting.as_mut()).is_none());
    store.env.run(store.instance.close());
    assert_eq!(store.env.run(waiting).map_err(|error| error.code()), Err(Code::Closed));
}

#[test]
fn p1_a_split_and_a_merge_are_told() {
    let shape = Shape { block_bytes: 500, partition_bytes: 2500, merge_bytes: 800, ..Shape::DEFAULT };
    let store = store(Options { shape, auto_compact: true, memtable_bytes: 6000, ..by_hand() });
    let _ = events(&store, 0);
    fill(&store, (0..400).map(|n| n * 7919 % 5000));
    flush(&store);
    store.env.run_until_idle();
    let found = events(&store, 0);
    let split = found.iter().find_map(|event| match &event.work {
        Work::Split { left, right, at, reason, .. } => Some((*left, *right, KeyPlace::of(at), *reason)),
        _ => None,
    });
    let (left, right, at, reason) = split.expect("a split");
    assert!(left != right && reason == SplitReason::Size && at.values.len() == 1 && !at.is_before, "{at:?}");
    let reasons: BTreeSet<String> = found
        .iter()
        .filter_map(
            |event| if let Work::Compaction { reason, .. } = &event.work { Some(format!("{reason:?}")) } else { None },
        )
        .collect();
    assert!(!reasons.is_empty() && !reasons.contains("Asked"), "{reasons:?}");
    let position = store.instance.inspect().work_events(0).expect("alive").position;
    let partitions = store.instance.partitions("t").expect("there");
    store.env.run(store.instance.merge_partition("t", partitions[0].id)).expect("merged");
    let merged = events(&store, position).iter().any(|event| {
        matches!(&event.work, Work::Merge { left, right, .. } if left.0 == partitions[0].id && right.0 == partitions[1].id)
    });
    assert!(merged, "{:?}", events(&store, position));
}

#[test]
fn background_work_is_done_by_hand_in_a_sandbox() {
    let store = store(Options { auto_compact: true, memtable_bytes: 4000, ..by_hand() });
    // Of flushes that somebody asked for before, none is left over; the second one has nothing to do.
    flush(&store);
    flush(&store);
    store.env.run(store.instance.inspect().pause_work()).expect("paused");
    let before = store.instance.metrics();
    while store.instance.metrics().frozen_memtables == 0 {
        fill(&store, 0..5);
    }
    store.env.run_until_idle();
    assert_eq!(store.instance.metrics().flushes, before.flushes, "nothing is flushed in a pause");
    let due = store.env.run(store.instance.inspect().due_work()).expect("paused");
    assert!(matches!(due, Some(DueWork::Flush { bytes }) if bytes >= 4000), "{due:?}");
    let done = store.env.run(store.instance.inspect().step_work()).expect("a step");
    assert!(matches!(&done[..], [event] if matches!(event.work, Work::Flush { .. })), "{done:?}");
    assert_eq!(store.instance.metrics().frozen_memtables, 0);

    // Flushes on demand go on, and make a compaction due; that is a step too.
    let mut next = None;
    for n in 0..20 {
        fill(&store, n..n + 3);
        flush(&store);
        store.env.run_until_idle();
        next = store.env.run(store.instance.inspect().due_work()).expect("paused");
        if next.is_some() {
            break;
        }
    }
    let Some(DueWork::Compaction { inputs, reason, to, .. }) = next else { panic!("{next:?}") };
    assert_eq!(store.instance.metrics().compactions, before.compactions, "nothing is compacted in a pause");
    let done = store.env.run(store.instance.inspect().step_work()).expect("a step");
    let proposed: BTreeSet<u64> = inputs.iter().map(|part| part.segment).collect();
    let [event] = &done[..] else { panic!("{done:?}") };
    let Work::Compaction { inputs, reason: why, to: level, .. } = &event.work else { panic!("{event:?}") };
    assert_eq!((*why, *level), (reason, to), "it does what was proposed");
    assert_eq!(inputs.iter().map(|part| part.segment).collect::<BTreeSet<_>>(), proposed);

    // Everything is there, whatever was held.
    assert!((0..5).all(|n| store.all(id(n)).is_some()));
    store.instance.inspect().resume_work().expect("resumed");
    assert!(!store.instance.inspect().is_work_paused());
    let refused = store.env.run(store.instance.inspect().step_work()).map(|_| ());
    assert_eq!(refused.map_err(|error| error.code()), Err(Code::ParameterInvalid), "there is no pause");
    while store.instance.metrics().flushes < before.flushes + 30 {
        fill(&store, 0..50);
        store.env.run_until_idle();
    }
}

#[test]
fn a_pause_holds_no_write_and_no_closing() {
    let store = store(Options { auto_compact: true, memtable_bytes: 2000, ..by_hand() });
    store.env.run(store.instance.inspect().pause_work()).expect("paused");
    // Many times what three memtables hold.
    fill(&store, 0..400);
    store.env.run(store.instance.close());
    assert_eq!(store.instance.inspect().work_events(0).map_err(|error| error.code()).map(|_| ()), Err(Code::Closed));
}

#[test]
fn a_pause_that_is_refused_has_not_begun() {
    let store = store(Options { auto_compact: true, ..by_hand() });
    store.env.leave_out(&[Module::Compaction]);
    store.env.set_offline(true);
    let refused = store.env.run(store.instance.inspect().pause_work());
    assert_eq!(
        refused.map_err(|error| error.code()),
        Err(Code::Unavailable),
        "nothing can tell the next piece of work"
    );
    assert!(!store.instance.inspect().is_work_paused());
}

#[test]
fn only_a_sandbox_is_paused() {
    let store = store(Options { pausable: false, ..by_hand() });
    let refused = [
        store.env.run(store.instance.inspect().pause_work()),
        store.instance.inspect().resume_work(),
        store.env.run(store.instance.inspect().step_work()).map(|_| ()),
        store.env.run(store.instance.inspect().due_work()).map(|_| ()),
    ];
    for refused in refused {
        let error = refused.expect_err("refused");
        assert_eq!(error.code(), Code::ParameterInvalid);
        assert!(error.message().contains("in memory"), "{error}");
    }
    assert!(!store.instance.inspect().is_work_paused());
}
