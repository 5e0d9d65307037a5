use super::*;
use crate::engine::rows::keys::boundary_behind;
use crate::engine::versions::part::Segment;
use crate::model::{KeyValue, encode_key};
use proptest::prelude::*;

const TREE: TreeId = TreeId(7);

fn full(values: &[KeyValue]) -> Box<[u8]> {
    let mut key = TREE.0.to_be_bytes().to_vec();
    encode_key(values, &mut key);
    key.into()
}

fn text(value: &str) -> Box<[u8]> {
    full(&[KeyValue::String(value.into())])
}

fn part(segment: u64, first: &str, last: &str) -> Rc<Part> {
    let segment = Rc::new(Segment { id: SegmentId(segment), ..Segment::default() });
    Rc::new(Part { segment, first_key: text(first), last_key: text(last), bytes: 100, entries: 10 })
}

fn one() -> Partitions {
    Partitions::of(vec![Rc::new(Partition::first(TREE, PartitionId(1), TreeLevels::default()))])
}

/// Segments of each partition's levels.
fn shape(partitions: &Partitions) -> Vec<Vec<Vec<u64>>> {
    let level = |level: &Level| level.iter().map(|part| part.segment.id.0).collect();
    partitions.all().iter().map(|partition| partition.levels.levels.iter().map(level).collect()).collect()
}

fn sound(partitions: &Partitions) {
    assert_eq!(fault(TREE, &[], partitions.all(), &(0..100)), None, "{partitions:?}");
}

fn any_key(kind: u8) -> BoxedStrategy<KeyValue> {
    match kind {
        0 => prop_oneof![any::<i64>(), -2i64..3, Just(i64::MIN), Just(i64::MAX)].prop_map(KeyValue::Integer).boxed(),
        1 => "[\\x00\\x01a]{0,3}".prop_map(KeyValue::String).boxed(),
        _ => proptest::collection::vec(prop_oneof![Just(0u8), Just(1), Just(254), Just(255)], 0..4)
            .prop_map(KeyValue::Binary)
            .boxed(),
    }
}

proptest! {
    /// P2: a key lies before a boundary exactly if it is less than it, for every type and whatever columns follow.
    #[test]
    fn p2_no_stored_key_lies_between_a_boundary_and_the_key_before(
        (at, other, more) in (0u8..3, 0u8..3).prop_flat_map(|(first, second)| {
            (any_key(first), any_key(first), proptest::option::of(any_key(second)))
        })
    ) {
        let boundary = full(std::slice::from_ref(&at));
        let key: Vec<KeyValue> = [other.clone()].into_iter().chain(more).collect();
        let key = full(&key);
        prop_assert!(before(&boundary) < boundary);
        prop_assert_eq!(boundary_behind(&before(&boundary)), Some(boundary.to_vec()));
        prop_assert_eq!(key < boundary, other < at);
        prop_assert_eq!(key <= before(&boundary), other < at);
    }
}

#[test]
fn p2_boundaries_at_empty_values_and_ends_of_integers() {
    for at in [KeyValue::String(String::new()), KeyValue::Binary(vec![]), KeyValue::Integer(i64::MIN)] {
        let boundary = full(&[at]);
        assert!(before(&boundary) < boundary);
        assert!(before(&boundary)[..] > TREE.0.to_be_bytes()[..]);
    }
}

#[test]
fn a_split_cuts_parts_and_a_merge_makes_them_whole() {
    let mut partitions = one();
    for (level, part) in
        [(1, part(1, "a", "f")), (1, part(2, "g", "z")), (0, part(3, "a", "z")), (0, part(4, "a", "c"))]
    {
        partitions.add(level, &part);
    }
    let whole = partitions.clone();
    let share = Share { segment: SegmentId(3), bytes: 30, entries: 1 };
    assert!(partitions.split(&text("m"), PartitionId(2), &[share]));
    sound(&partitions);
    assert_eq!(shape(&partitions), [vec![vec![4, 3], vec![1, 2]], vec![vec![3], vec![2]]]);
    let bytes: Vec<u64> = partitions.all().iter().map(|partition| partition.bytes()).collect();
    assert_eq!(bytes, [100 + 30 + 100 + 50, 70 + 50]);
    assert!(!partitions.split(&text("m"), PartitionId(3), &[]), "there is one already");
    assert!(partitions.merge(PartitionId(1)));
    assert_eq!(partitions, whole);
    assert!(!partitions.merge(PartitionId(1)), "no next one");
}

#[test]
fn what_is_flushed_is_cut_at_every_boundary_that_it_reaches_over() {
    let mut partitions = one();
    for (at, id) in [("f", 2), ("p", 3), ("c", 4)] {
        assert!(partitions.split(&text(at), PartitionId(id), &[]));
    }
    partitions.add(0, &part(1, "d", "z"));
    partitions.add(0, &part(2, "a", "p"));
    partitions.add(2, &part(3, "f", "g"));
    sound(&partitions);
    let none = Vec::<u64>::new();
    let expected = [vec![vec![2]], vec![vec![2, 1]], vec![vec![2, 1], none, vec![3]], vec![vec![2, 1]]];
    assert_eq!(shape(&partitions), expected);
    let order: Vec<u64> = partitions.all().iter().map(|partition| partition.id.0).collect();
    assert_eq!(order, [1, 4, 2, 3]);
    let total: u64 = partitions.parts().filter(|part| part.segment.id.0 < 3).map(|part| part.bytes).sum();
    assert_eq!(total, 200);
    assert_eq!(partitions.holding(&text("e")).expect("one").id, PartitionId(4));
    assert_eq!(partitions.holding(&text("p")).expect("one").id, PartitionId(3));
}

/// Partitions may be merged during a flush.
#[test]
fn what_was_cut_at_a_boundary_that_is_gone_is_whole() {
    let mut partitions = one();
    partitions.split(&text("p"), PartitionId(2), &[]);
    let cut = [part(1, "a", "c"), part(1, "h", "j"), part(1, "p", "q")];
    cut.iter().for_each(|part| partitions.add(0, part));
    sound(&partitions);
    assert_eq!(shape(&partitions), [[[1]], [[1]]]);
    let parts: Vec<_> =
        partitions.parts().map(|part| (part.first_key.clone(), part.last_key.clone(), part.bytes)).collect();
    assert_eq!(parts, [(text("a"), text("j"), 200), (text("p"), text("q"), 100)]);
}

#[test]
fn a_merge_keeps_the_order_of_level_0() {
    let mut partitions = one();
    partitions.split(&text("m"), PartitionId(2), &[]);
    for (segment, first, last) in
        [(1, "a", "b"), (2, "x", "y"), (3, "a", "z"), (4, "x", "z"), (5, "b", "c"), (6, "a", "z")]
    {
        partitions.add(0, &part(segment, first, last));
    }
    assert!(partitions.merge(PartitionId(1)));
    assert_eq!(shape(&partitions), [[[6, 5, 4, 3, 1, 2]]]);
    sound(&partitions);
}

/// Old rows of a segment must not reappear from between two parts of it.
#[test]
fn partitions_with_two_parts_of_a_segment_that_do_not_meet_are_not_merged() {
    let mut partitions = one();
    partitions.add(1, &part(1, "a", "z"));
    partitions.split(&text("h"), PartitionId(2), &[]);
    partitions.split(&text("p"), PartitionId(3), &[]);
    // The middle is rewritten.
    partitions.get_mut(PartitionId(2)).expect("there").levels.levels[0].clear();
    partitions.get_mut(PartitionId(2)).expect("there").levels =
        TreeLevels { levels: vec![vec![], vec![part(2, "i", "j")]] };
    assert!(partitions.merge(PartitionId(1)));
    assert_eq!(shape(&partitions), [[vec![], vec![1, 2]], [vec![], vec![1]]]);
    let before = partitions.clone();
    assert!(!partitions.merge(PartitionId(1)));
    assert_eq!(partitions, before);
    // Nor if one of them went down a level.
    let mut partitions = one();
    partitions.add(1, &part(1, "a", "z"));
    partitions.split(&text("h"), PartitionId(2), &[]);
    let levels = &mut partitions.get_mut(PartitionId(2)).expect("there").levels.levels;
    levels.push(levels[1].clone());
    levels[1].clear();
    assert!(!partitions.merge(PartitionId(1)));
}

#[test]
fn parts_of_level_0_that_do_not_overlap_share_a_run() {
    let mut partitions = one();
    partitions.split(&text("m"), PartitionId(2), &[]);
    // The last one is the newest.
    for (segment, first, last) in [
        (1, "a", "c"),
        (2, "d", "f"),
        (3, "n", "p"),
        (4, "c", "d"),
        (5, "g", "h"),
        (6, "b", "e"),
        (7, "a", "a"),
        (8, "q", "z"),
    ] {
        partitions.add(0, &part(segment, first, last));
    }
    let runs = partitions.runs(&KeyRange::ALL);
    let segments: Vec<Vec<u64>> = runs.iter().map(|run| run.iter().map(|part| part.segment.id.0).collect()).collect();
    assert_eq!(segments, [vec![7, 6, 5, 3, 8], vec![4], vec![1, 2]]);
}

proptest! {
    /// Reads depend on it: a run ascends, and for every key the runs are in the order of age.
    #[test]
    fn runs_ascend_and_keep_the_order_of_age(
        bounds in proptest::collection::vec((0u8..26, 0u8..6), 0..40),
        cuts in proptest::collection::btree_set(1u8..25, 0..4),
    ) {
        let letter = |number: u8| char::from(b'a' + number.min(25)).to_string();
        let mut partitions = one();
        for (id, cut) in (2..).zip(cuts) {
            partitions.split(&text(&letter(cut)), PartitionId(id), &[]);
        }
        for (segment, (first, more)) in (1..).zip(&bounds) {
            partitions.add(0, &part(segment, &letter(*first), &letter(first + more)));
        }
        let runs = partitions.runs(&KeyRange::ALL);
        for run in &runs {
            prop_assert!(run.windows(2).all(|pair| pair[0].last_key < pair[1].first_key), "{run:?}");
        }
        for key in (0..26).map(|number| text(&letter(number))) {
            let found = runs.iter().flatten().filter(|part| part.holds(&key)).map(|part| part.segment.id.0);
            let mut expected: Vec<u64> = (1..)
                .zip(&bounds)
                .filter(|(_, (first, more))| text(&letter(*first)) <= key && key <= text(&letter(first + more)))
                .map(|(segment, _)| segment)
                .collect();
            expected.reverse();
            prop_assert_eq!(found.collect::<Vec<_>>(), expected);
        }
        let parts: usize = runs.iter().map(Vec::len).sum();
        prop_assert_eq!(parts, partitions.all().iter().map(|partition| partition.levels.levels.iter().map(Vec::len).sum::<usize>()).sum::<usize>());
    }
}

#[test]
fn runs_do_not_grow_with_partitions() {
    let mut partitions = one();
    for (at, id) in [("f", 2), ("p", 3)] {
        partitions.split(&text(at), PartitionId(id), &[]);
    }
    for (level, segment, first, last) in
        [(0, 1, "a", "z"), (0, 2, "a", "b"), (1, 3, "a", "b"), (1, 4, "c", "d"), (1, 5, "q", "r"), (3, 6, "g", "h")]
    {
        partitions.add(level, &part(segment, first, last));
    }
    let runs = |lower: Bound<&str>, upper: Bound<&str>| -> Vec<Vec<u64>> {
        let range =
            KeyRange { lower: lower.map(|key| text(key).into_vec()), upper: upper.map(|key| text(key).into_vec()) };
        let runs = partitions.runs(&range);
        runs.iter().map(|run| run.iter().map(|part| part.segment.id.0).collect()).collect()
    };
    use Bound::{Excluded, Included, Unbounded};
    assert_eq!(runs(Unbounded, Unbounded), [vec![2, 1, 1], vec![1], vec![3, 4, 5], vec![6]]);
    assert_eq!(runs(Included("c"), Excluded("f")), [vec![1], vec![4]]);
    assert_eq!(runs(Included("e"), Included("f")), [vec![1, 1]]);
    assert_eq!(runs(Excluded("g"), Excluded("q")), [vec![1, 1], vec![6]]);
    assert_eq!(runs(Included("z"), Included("a")), Vec::<Vec<u64>>::new());
}

#[test]
fn faults_are_found() {
    let mut partitions = one();
    partitions.add(1, &part(1, "a", "c"));
    sound(&partitions);
    assert!(fault(TreeId(8), &[], partitions.all(), &(0..100)).is_some(), "of another tree");
    assert!(fault(TREE, &[], partitions.all(), &(0..1)).is_some(), "an id that is yet to come");
    partitions.split(&text("b"), PartitionId(1), &[]);
    assert!(fault(TREE, &[], partitions.all(), &(0..100)).is_some(), "one id twice");
    let mut overlapping = one();
    overlapping.add(1, &part(1, "a", "c"));
    overlapping.add(1, &part(2, "c", "d"));
    assert!(fault(TREE, &[], overlapping.all(), &(0..100)).is_some());
    let mut twice = one();
    twice.add(1, &part(1, "a", "c"));
    twice.add(2, &part(1, "d", "e"));
    assert!(fault(TREE, &[], twice.all(), &(0..100)).is_some());
    let mut outside = one();
    outside.split(&text("b"), PartitionId(2), &[]);
    outside.get_mut(PartitionId(1)).expect("there").levels.add(0, part(1, "a", "c"));
    assert!(fault(TREE, &[], outside.all(), &(0..100)).is_some());
}
