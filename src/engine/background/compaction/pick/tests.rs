use super::*;
use crate::engine::versions::part::Segment;

const SHAPE: Shape = Shape { level0_parts: 2, segment_bytes: 100, level1_bytes: 200, level_ratio: 4, ..Shape::DEFAULT };
const NOTHING: Waste = Waste { expired_before: i64::MIN, quiet: true };

fn part_of(segment: Segment, first: &str, last: &str) -> Rc<Part> {
    let (bytes, entries) = (segment.bytes, segment.entries);
    segment.live.set(bytes);
    let key = |text: &str| text.as_bytes().into();
    Rc::new(Part { segment: Rc::new(segment), first_key: key(first), last_key: key(last), bytes, entries })
}

fn part(segment: u64, first: &str, last: &str, bytes: u64) -> Rc<Part> {
    part_of(Segment { id: SegmentId(segment), blocks: 1, bytes, entries: bytes, ..Segment::default() }, first, last)
}

fn dated(segment: u64, first: &str, last: &str, oldest: i64, newest: i64) -> Rc<Part> {
    let id = SegmentId(segment);
    let (oldest, newest) = (Some(oldest), Some(newest));
    part_of(Segment { id, blocks: 1, bytes: 100, entries: 100, oldest, newest, ..Segment::default() }, first, last)
}

fn levels(levels: Vec<Level>) -> TreeLevels {
    TreeLevels { levels }
}

fn ids(parts: &[(usize, u64)]) -> Vec<(usize, SegmentId)> {
    parts.iter().map(|&(level, id)| (level, SegmentId(id))).collect()
}

fn merge(parts: &[(usize, u64)], to: usize) -> Option<Choice> {
    Some(Choice::Merge { inputs: ids(parts), to })
}

fn moved(from: usize, segments: &[u64], to: usize) -> Option<Choice> {
    Some(Choice::Move { from, segments: segments.iter().map(|&id| SegmentId(id)).collect(), to })
}

fn picked(of: Vec<Level>) -> Option<Choice> {
    pick(&levels(of), &SHAPE, NOTHING)
}

#[test]
fn a_partition_in_shape_is_left_alone() {
    assert_eq!(picked(vec![]), None);
    assert_eq!(picked(vec![vec![part(1, "a", "b", 900)]]), None, "one part of level 0 is read like a run");
    let bottom = vec![part(3, "a", "b", 5000)];
    assert_eq!(picked(vec![vec![part(1, "a", "b", 900)], vec![], vec![], vec![], bottom]), None);
}

#[test]
fn a_tiny_partition_becomes_one_run_with_every_second_flush() {
    let shape = Shape { level0_parts: 4, ..SHAPE };
    let picked = |of: Vec<Level>| {
        let all = levels(of);
        let choice = pick(&all, &shape, NOTHING);
        assert!(choice.is_none() || may_find(&all, &shape, NOTHING.expired_before));
        choice
    };
    let two = || vec![part(2, "a", "z", 1), part(1, "a", "z", 10)];
    assert_eq!(picked(vec![two()]), merge(&[(0, 2), (0, 1)], BOTTOM));
    let above = |bytes| vec![two(), vec![], vec![], vec![], vec![part(3, "a", "z", bytes)]];
    assert_eq!(picked(above(39)), merge(&[(0, 2), (0, 1), (4, 3)], BOTTOM), "50 bytes in all");
    assert_eq!(picked(above(40)), None);
    let one = vec![vec![part(2, "a", "z", 1)], vec![], vec![], vec![], vec![part(3, "a", "z", 1)]];
    assert_eq!(picked(one), None, "a flush is not followed by a merge each time");
}

proptest::proptest! {
    /// Where no work may be found, there is none.
    #[test]
    fn pick_finds_nothing_where_it_may_find_nothing(
        sizes in proptest::collection::vec(proptest::collection::vec((0u64..150, 0u64..3, 0i64..9, 1u64..3), 0..4), 0..5),
        expired_before in 0i64..9,
    ) {
        let mut id = 0;
        let mut level = |parts: &Vec<(u64, u64, i64, u64)>| -> Level {
            let part = |&(bytes, tombstones, oldest, live): &(u64, u64, i64, u64)| {
                id += 1;
                let (oldest, newest) = (Some(oldest), Some(oldest + 3));
                let segment = Segment {
                    id: SegmentId(id), blocks: 1, bytes, entries: bytes, oldest, newest,
                    tombstones: tombstones.saturating_sub(1), ..Segment::default()
                };
                let made = part_of(segment, "a", "b");
                made.segment.live.set(bytes / live);
                made
            };
            parts.iter().map(part).collect()
        };
        let all = levels(sizes.iter().map(&mut level).collect());
        let waste = Waste { expired_before, quiet: true };
        if !may_find(&all, &SHAPE, expired_before) {
            proptest::prop_assert_eq!(pick(&all, &SHAPE, waste), None);
        }
    }
}

#[test]
fn little_data_needs_no_search() {
    let idle = |of: Vec<Level>| !may_find(&levels(of), &SHAPE, 5);
    assert!(idle(vec![]) && idle(vec![vec![part(1, "a", "b", 900)]]));
    assert!(idle(vec![vec![part(1, "a", "b", 199)], vec![], vec![part(2, "a", "b", 9)]]));
    assert!(!idle(vec![vec![part(1, "a", "b", 200)], vec![], vec![part(2, "a", "b", 9)]]));
    assert!(!idle(vec![vec![part(1, "a", "b", 1), part(2, "c", "d", 1)]]));
    // Half of its time is over.
    let old = || vec![dated(1, "a", "b", -995, 1004)];
    assert!(idle(vec![old()]) && !idle(vec![vec![], old()]));
    assert!(!idle(vec![vec![dated(1, "a", "b", 3, 4)]]), "wholly expired");
    let deletes = |tombstones| {
        part_of(Segment { id: SegmentId(1), bytes: 9, entries: 9, tombstones, ..Segment::default() }, "a", "b")
    };
    assert!(idle(vec![vec![deletes(9)]]), "nothing lies below");
    assert!(idle(vec![vec![], vec![deletes(2)]]) && !idle(vec![vec![], vec![deletes(3)]]));
}

#[test]
fn what_is_left_of_a_segment_is_written_anew() {
    let all = levels(vec![vec![], vec![part(2, "a", "b", 50), part(3, "c", "d", 50)]]);
    let used = |segment: usize, bytes: u64| all.levels[1][segment].segment.live.set(bytes);
    used(1, 25);
    assert_eq!(pick(&all, &SHAPE, NOTHING), None, "half of it");
    used(1, 24);
    assert_eq!(pick(&all, &SHAPE, NOTHING), merge(&[(1, 3)], 1));
    let level0 = || vec![part(1, "a", "b", 50)];
    let bottom = || vec![part(2, "a", "b", 500)];
    let all = levels(vec![level0(), vec![], vec![], vec![], bottom()]);
    assert_eq!(pick(&all, &SHAPE, NOTHING), None);
    all.levels[0][0].segment.live.set(24);
    assert_eq!(pick(&all, &SHAPE, NOTHING), moved(0, &[1], 3), "written anew there");
}

#[test]
fn sorted_loads_move_down_without_being_read() {
    let flushed = || vec![part(2, "e", "f", 50), part(1, "c", "d", 50)];
    assert_eq!(picked(vec![flushed()]), moved(0, &[2, 1], BOTTOM));
    let bottom = || vec![part(3, "a", "b", 5000)];
    assert_eq!(picked(vec![flushed(), vec![], vec![], vec![], bottom()]), moved(0, &[2, 1], BOTTOM));
    let run = vec![part(4, "a", "b", 50)];
    assert_eq!(picked(vec![flushed(), vec![], run, vec![], bottom()]), moved(0, &[2, 1], BOTTOM));
    // Small parts are collected first. Otherwise the bottom would become thousands of them.
    let small = vec![part(2, "e", "f", 5), part(1, "c", "d", 5)];
    assert_eq!(picked(vec![small, vec![], vec![], vec![], bottom()]), moved(0, &[2, 1], 3));
    // The rest of a load is small. It waits; the load itself is not written again for it.
    let rest = || part(3, "g", "h", 5);
    let load = vec![rest(), part(2, "e", "f", 200), part(1, "c", "d", 200)];
    assert_eq!(picked(vec![load]), moved(0, &[2, 1], BOTTOM));
    let alone = vec![rest(), part(4, "i", "j", 5)];
    assert_eq!(picked(vec![alone]), merge(&[(0, 3), (0, 4)], BOTTOM));
}

#[test]
fn level_0_becomes_a_run_where_there_is_room() {
    let level0 = || vec![part(2, "b", "m", 9), part(1, "a", "c", 9)];
    let bottom = || vec![part(9, "a", "z", 5000)];
    assert_eq!(picked(vec![level0()]), merge(&[(0, 2), (0, 1)], BOTTOM));
    assert_eq!(picked(vec![level0(), vec![], vec![], vec![], bottom()]), merge(&[(0, 2), (0, 1)], 3));
    let run = |id| vec![part(id, "a", "z", 20)];
    assert_eq!(picked(vec![level0(), vec![], vec![], run(3), bottom()]), merge(&[(0, 2), (0, 1)], 2));
    let full = vec![level0(), run(5), run(4), vec![part(3, "a", "z", 500)], bottom()];
    assert_eq!(picked(full), merge(&[(0, 2), (0, 1), (1, 5), (2, 4)], 2), "the largest run stays");
}

#[test]
fn an_older_store_gets_its_bottom_where_it_belongs() {
    let level0 = vec![part(2, "b", "m", 9), part(1, "a", "c", 9)];
    assert_eq!(picked(vec![level0, vec![part(3, "a", "b", 50), part(4, "m", "n", 50)]]), moved(1, &[3, 4], BOTTOM));
}

/// A merged segment may span a to z, so no part of the bottom may stay inside.
#[test]
fn much_above_the_bottom_is_merged_with_all_that_lies_between() {
    let bottom = vec![part(3, "b", "c", 50), part(4, "m", "n", 50), part(5, "zz", "zz", 50)];
    let level0 = vec![part(2, "x", "z", 30), part(1, "a", "b", 30)];
    let all = vec![level0, vec![], vec![part(6, "k", "k", 5)], vec![], bottom];
    assert_eq!(picked(all), merge(&[(0, 2), (0, 1), (2, 6), (4, 3), (4, 4)], 4));
}

#[test]
fn a_large_bottom_takes_parts_of_the_level_above_one_by_one() {
    let bottom =
        |first| (0..20).map(move |i| part(100 + i, &format!("{first}{i:02}a"), &format!("{first}{i:02}z"), 90));
    let upper = vec![part(1, "k00b", "k05c", 300), part(2, "k07b", "k08c", 300)];
    let all = vec![vec![part(9, "k00a", "k19a", 20)], vec![], vec![], upper, bottom("k").collect()];
    assert_eq!(picked(all), merge(&[(3, 2), (4, 107), (4, 108)], 4), "the one that drags least along");
    let all = vec![
        vec![part(9, "k00a", "k19a", 900)],
        vec![],
        vec![],
        vec![part(1, "k01a", "k02a", 90)],
        bottom("k").collect(),
    ];
    assert_eq!(picked(all), merge(&[(0, 9), (3, 1)], 3), "what is above all of it comes first");
}

#[test]
fn deleted_rows_count_as_what_they_hide() {
    let deletions = |tombstones| {
        let segment = Segment { id: SegmentId(1), bytes: 20, entries: 500, tombstones, ..Segment::default() };
        vec![
            vec![part_of(segment, "a", "z")],
            vec![],
            vec![],
            vec![],
            vec![part_of(Segment { id: SegmentId(2), bytes: 1000, entries: 1000, ..Segment::default() }, "a", "z")],
        ]
    };
    assert_eq!(picked(deletions(500)), merge(&[(0, 1), (4, 2)], 4));
    assert_eq!(picked(deletions(100)), None);
    let alone = Segment { id: SegmentId(1), bytes: 5000, entries: 500, tombstones: 200, ..Segment::default() };
    assert_eq!(picked(vec![vec![part_of(alone, "a", "z")]]), moved(0, &[1], BOTTOM), "there it is written anew");
}

#[test]
fn v3_what_is_wholly_expired_is_dropped_unless_something_older_lies_below() {
    let all = |upper: Level| {
        levels(vec![upper, vec![], vec![], vec![], vec![dated(2, "a", "m", 5, 9), dated(3, "n", "z", 5, 20)]])
    };
    let at = |expired_before| Waste { expired_before, quiet: false };
    let dropped = |parts: &[(usize, u64)]| Some(Choice::Drop { parts: ids(parts) });
    assert_eq!(pick(&all(vec![]), &SHAPE, at(9)), None);
    assert_eq!(pick(&all(vec![]), &SHAPE, at(10)), dropped(&[(4, 2)]));
    assert_eq!(pick(&all(vec![dated(1, "y", "y", 5, 9)]), &SHAPE, at(10)), dropped(&[(4, 2)]), "3 may show again");
    let two = vec![dated(1, "0", "0", 5, 9), dated(4, "0", "0", 5, 30)];
    assert_eq!(pick(&all(two), &SHAPE, at(10)), dropped(&[(4, 2)]), "an older part of level 0 lies below");
    assert_eq!(
        pick(&levels(vec![vec![part(1, "a", "z", 100)]]), &SHAPE, at(i64::MAX)),
        None,
        "of that nothing is known"
    );
}

#[test]
fn what_is_expired_or_deleted_in_the_bottom_is_written_anew_when_nobody_reads_an_older_instant() {
    let bottom = vec![part(1, "a", "b", 100), dated(2, "c", "d", 0, 999), part(3, "e", "e", 5), part(4, "f", "f", 100)];
    let all = levels(vec![vec![], vec![], vec![], vec![], bottom]);
    let at = |expired_before, quiet| pick(&all, &SHAPE, Waste { expired_before, quiet });
    assert_eq!(at(240, true), None);
    assert_eq!(at(260, true), merge(&[(4, 2), (4, 3)], 4), "with its small neighbour");
    assert_eq!(at(260, false), None);
    let deleted = Segment { id: SegmentId(1), bytes: 100, entries: 100, tombstones: 30, ..Segment::default() };
    assert_eq!(picked(vec![vec![], vec![part_of(deleted, "a", "b")]]), merge(&[(1, 1)], 1));
}

#[test]
fn the_bottom_is_where_nothing_lies_below() {
    let levels = levels(vec![vec![], vec![part(1, "a", "c", 1)], vec![part(2, "b", "d", 1)]]);
    let input = part(9, "c", "e", 1);
    assert!(!is_bottom(&levels, &[&input], 1));
    assert!(is_bottom(&levels, &[&input], 2));
    assert!(is_bottom(&levels, &[&part(9, "x", "y", 1)], 0));
}

/// A model of compaction without rows: rows of one byte, overwritten at random.
struct World {
    rows: f64,
    levels: TreeLevels,
    next: u64,
    written: u64,
}

impl World {
    /// Writes this many different rows as segments of a level.
    fn write(&mut self, rows: f64, level: usize, shape: &Shape) {
        let parts = ((rows / shape.segment_bytes as f64) as u64).max(1);
        self.written += rows as u64;
        let key = |at: u64| format!("{:012}", at * 1_000_000_000 / parts);
        for at in 0..parts {
            self.next += 1;
            let made = part(self.next, &format!("{}a", key(at)), &key(at + 1), rows as u64 / parts);
            self.levels.levels.resize_with(self.levels.levels.len().max(level + 1), Vec::new);
            let place = if level == 0 {
                0
            } else {
                self.levels.levels[level].partition_point(|p| p.first_key < made.first_key)
            };
            self.levels.levels[level].insert(place, made);
        }
    }

    fn settle(&mut self, shape: &Shape) {
        for _ in 0..1000 {
            let Some(choice) = pick(&self.levels, shape, NOTHING) else { return };
            match choice {
                Choice::Merge { inputs, to } => {
                    let runs = self.levels.runs(|number, part| inputs.contains(&(number, part.segment.id)));
                    let absent = runs.iter().fold(1.0, |absent, run| absent * (1.0 - bytes(run) as f64 / self.rows));
                    for level in &mut self.levels.levels {
                        level.retain(|part| !inputs.iter().any(|(_, id)| *id == part.segment.id));
                    }
                    self.write(self.rows * (1.0 - absent), to, shape);
                }
                other => panic!("nothing can be moved or dropped: {other:?}"),
            }
        }
        panic!("no end");
    }
}

/// Overwrites all rows twenty times at random, with flushes of a fixed size. Returns how often each flushed byte is
/// written, and the store's size over its live data, once compaction has settled.
fn amplification(rows: u64, flushed: u64) -> (f64, f64) {
    let shape = Shape::DEFAULT;
    let mut world = World { rows: rows as f64, levels: TreeLevels::default(), next: 0, written: 0 };
    world.write(rows as f64, BOTTOM, &shape);
    world.written = 0;
    let (mut most, mut runs) = (0, 0);
    for _ in 0..rows * 20 / flushed {
        world.write(flushed as f64, 0, &shape);
        world.settle(&shape);
        most = most.max(bytes(world.levels.levels.iter().flatten()));
        runs = runs.max(world.levels.runs(|_, _| true).len());
    }
    assert!(runs <= 8, "{runs} runs");
    (world.written as f64 / (rows * 20) as f64, most as f64 / rows as f64)
}

#[test]
fn every_byte_is_written_a_few_times_and_little_is_wasted() {
    // One partition, flushes of 3 MB; one of twenty that share such flushes; a small table.
    for (rows, flushed, often) in [(36 << 20, 3 << 20, 7.0), (60 << 20, 150 << 10, 9.0), (1 << 20, 20 << 10, 8.0)] {
        let (written, space) = amplification(rows, flushed);
        assert!(written <= often, "{rows} bytes in flushes of {flushed}: each byte is written {written} times");
        assert!(space <= 1.3, "{rows} bytes in flushes of {flushed}: {space} times the space");
    }
}

/// A partition that is in shape is not looked at again before time can have changed that.
#[test]
fn what_is_in_shape_stays_so_as_long_as_is_said() {
    let all = |oldest: i64, newest: i64| {
        let bottom = vec![dated(1, "a", "c", oldest, newest), dated(2, "d", "f", oldest + 50, newest)];
        let above = vec![part(3, "a", "b", 1)];
        levels(vec![vec![], above, vec![], vec![], bottom])
    };
    let mut waited = 0;
    for (oldest, newest) in [(0, 100), (0, 10_000), (-700, 2), (60, 110), (0, i64::MAX - 1)] {
        let levels = all(oldest, newest);
        let until = in_shape_until(&levels, &SHAPE);
        let quiet = |expired_before| pick(&levels, &SHAPE, Waste { expired_before, quiet: true });
        assert_eq!(quiet(i64::MIN), None);
        assert_eq!(quiet(until), None, "from {oldest} to {newest}");
        waited += i32::from(until > oldest);
    }
    assert!(waited > 3, "it is not asked anew for every ms");
    assert_eq!(in_shape_until(&TreeLevels::default(), &SHAPE), i64::MAX);
}

/// Writes that come faster than merges leave a long level 0. The bottom is rewritten once for several merges of it.
#[test]
fn a_long_level_0_is_collected_before_the_bottom_is_rewritten() {
    let level0 = |count: u64| -> Level { (0..count).rev().map(|id| part(10 + id, "a", "z", 40)).collect() };
    let run = |id| vec![part(id, "a", "z", 100)];
    let bottom = || vec![part(1, "a", "z", 900)];
    let oldest: Vec<(usize, u64)> = (0..8).rev().map(|id| (0, 10 + id)).collect();
    let with = |more: &[(usize, u64)]| [&*oldest, more].concat();
    assert_eq!(picked(vec![level0(8), vec![], vec![], vec![], bottom()]), merge(&with(&[(4, 1)]), BOTTOM));
    assert_eq!(picked(vec![level0(9), vec![], vec![], vec![], bottom()]), merge(&oldest, 3));
    assert_eq!(picked(vec![level0(9), vec![], vec![], run(2), bottom()]), merge(&oldest, 2));
    assert_eq!(picked(vec![level0(9), vec![], run(3), run(2), bottom()]), merge(&oldest, 1));
    let all = with(&[(1, 4), (2, 3), (3, 2), (4, 1)]);
    assert_eq!(picked(vec![level0(9), run(4), run(3), run(2), bottom()]), merge(&all, BOTTOM));
    assert_eq!(picked(vec![level0(9), bottom()]), moved(1, &[1], BOTTOM));
    let small = vec![part(1, "a", "z", SHAPE.level1_bytes)];
    assert_eq!(picked(vec![level0(9), vec![], vec![], vec![], small]), merge(&with(&[(4, 1)]), BOTTOM));
}
