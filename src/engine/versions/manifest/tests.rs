//! Versions are stored and read again, as wholes and as edits.

use super::*;
use crate::env::sim::SimEnv;
use crate::error::Code;

const TREES: [TreeId; 2] = [TreeId(1), TreeId(2)];
const HEAD: LogHead = LogHead { epoch: 3, clock: -4 };

fn key(tree: TreeId, row: u64) -> Box<[u8]> {
    [&tree.0.to_be_bytes()[..], format!("k{row:03}").as_bytes()].concat().into()
}

/// A version, its stored manifests, and random changes of both.
struct Life {
    env: SimEnv,
    version: Version,
    manifests: Manifests,
    /// Newest first.
    stored: Vec<(ManifestId, Bytes)>,
    segments: u64,
}

impl Life {
    fn new(seed: u64) -> Self {
        let (version, manifests) = Default::default();
        Self { env: SimEnv::shuffled(0, seed), version, manifests, stored: Vec::new(), segments: 0 }
    }

    fn pick(&self, count: u64) -> u64 {
        self.env.random() % count
    }

    fn new_part(&mut self, tree: TreeId) -> Rc<Part> {
        self.segments += 1;
        let (a, b) = (self.pick(1000), self.pick(1000));
        let id = SegmentId(self.segments);
        let segment = Segment { id, blocks: 1, bytes: 1000, entries: 100, index_bytes: 10, ..Segment::default() };
        let (first_key, last_key) = (key(tree, a.min(b)), key(tree, a.max(b)));
        Rc::new(Part { segment: Rc::new(segment), first_key, last_key, bytes: 990, entries: 100 })
    }

    /// The parts of a segment as a flush leaves them: cut where partitions begin, but for those that it brings nothing.
    fn flushed(&mut self, tree: TreeId) -> Vec<Rc<Part>> {
        let mut rest = (*self.new_part(tree)).clone();
        let begin: Vec<Box<[u8]>> = self.version.trees.get(&tree).map_or_else(Vec::new, |partitions| {
            partitions.all().iter().skip(1).map(|partition| partition.from.clone()).collect()
        });
        let mut parts = Vec::new();
        for from in begin {
            if from > rest.first_key && from <= rest.last_key {
                let (bytes, entries) = (self.pick(300), self.pick(9));
                let behind = Part { first_key: from.clone(), bytes, entries, ..rest.clone() };
                if self.pick(8) > 0 {
                    parts.push(Rc::new(Part { last_key: before(&from), ..rest }));
                }
                rest = behind;
            }
        }
        parts.push(Rc::new(rest));
        parts
    }

    fn change(&mut self) -> Edit {
        let tree = TREES[self.pick(2) as usize];
        let partitions = self.version.trees.get(&tree).map_or_else(Vec::new, |all| all.all().to_vec());
        let mut edit = Edit { next_seqno: self.segments, ..Edit::default() };
        let one = partitions.get(self.pick(partitions.len().max(1) as u64) as usize);
        match (self.pick(20), one) {
            (0, _) => edit.split = Some(Split { tree, at: key(tree, self.pick(1000)), shares: Vec::new() }),
            (1, Some(one)) => edit.merge = Some((tree, one.id)),
            (2, _) if self.pick(10) == 0 => edit.drop_trees.push(tree),
            // Moves one part of a partition to a deeper level, if it overlaps nothing there, or removes it.
            (3..12, Some(one)) => {
                let found = one.levels.levels.iter().enumerate().find_map(|(at, level)| Some((at, level.first()?)));
                if let Some((level, part)) = found {
                    edit.remove.push((tree, one.id, level, part.segment.id));
                    if self.pick(3) > 0 {
                        edit.add.push((tree, (level + 1).min(5), Rc::clone(part)));
                    }
                }
            }
            // Removes one segment's parts from level 0 of all partitions, or now and then of all but one.
            (12..16, Some(one)) => {
                let found = one.levels.levels.first().and_then(|level| Some(level.first()?.segment.id));
                for partition in &partitions {
                    let parts = partition.levels.levels.first().into_iter().flatten();
                    let its = parts.filter(|part| Some(part.segment.id) == found && self.pick(20) > 0);
                    edit.remove.extend(its.map(|part| (tree, partition.id, 0, part.segment.id)));
                }
                edit.add.extend(self.flushed(tree).into_iter().map(|part| (tree, 0, part)));
            }
            _ => {
                for tree in TREES {
                    edit.add.extend(self.flushed(tree).into_iter().map(|part| (tree, 0, part)));
                }
            }
        }
        edit
    }

    /// Stores some edits in one commit, unless they do not fit the version.
    fn commit(&mut self) {
        let (mut version, mut edits) = (self.version.clone(), Vec::new());
        for _ in 0..=self.pick(2) {
            let edit = self.change();
            if let Ok(next) = version.apply(&edit) {
                version = next;
                edits.push(edit);
            }
        }
        let (manifests, bytes) = self.manifests.next(&version, &edits, HEAD, 5);
        version.follow(&self.version);
        (self.version, self.manifests) = (version, manifests);
        self.stored.insert(0, (manifests.newest, bytes));
        self.stored.retain(|(id, _)| *id >= manifests.first());
    }
}

#[test]
fn edits_lead_to_the_version_that_they_were_made_of() {
    for seed in 1..=3 {
        let mut life = Life::new(seed);
        let (mut most_edits, mut wholes) = (0, 0);
        let (mut come, mut gone) = (0, 0);
        for step in 0..250 {
            life.commit();
            let opened = open(&life.stored, Segments::default()).expect("opens");
            // Usage of segments was counted edit by edit before, and now at once.
            opened.version.follow(&Version::default());
            assert_eq!(opened.version.trees, life.version.trees, "seed {seed} step {step}");
            let numbers = |version: &Version| (version.log_start, version.next_seqno, version.next_partition);
            assert_eq!(numbers(&opened.version), numbers(&life.version));
            let record = opened.record;
            assert_eq!((record.epoch, record.clock, record.last_stamp), (HEAD.epoch, HEAD.clock, 5));
            let (of, is) = (life.manifests, opened.manifests);
            let all = |of: Manifests| (of.newest, of.whole_bytes, of.edits, of.edit_bytes);
            assert_eq!(all(of), all(is));
            assert!(is.edits <= MOST_EDITS && is.edit_bytes <= is.whole_bytes);
            for edit in &record.edits {
                let all = |trees: &[TreeRecord], several: fn(&PartRecord) -> bool| {
                    trees.iter().flat_map(parts).filter(|(_, part)| several(part)).count()
                };
                come += all(&edit.added, |part| !part.behind.is_empty());
                gone += all(&edit.removed, |part| part.entries > 0);
            }
            most_edits = most_edits.max(is.edits);
            wholes += u32::from(is.edits == 0);
        }
        assert!(most_edits > 10 && wholes > 3, "seed {seed}: {most_edits} edits, {wholes} whole ones");
        assert!(
            come > 30 && gone > 10,
            "seed {seed}: {come} came to several partitions at once, {gone} went from several"
        );
    }
}

/// Before, every commit stored the whole version, so the total grew with the square of the data.
#[test]
fn what_a_change_stores_does_not_depend_on_how_much_there_is() {
    let stored = [80, 800].map(|segments| {
        let tree = TREES[0];
        let part = |id: u64, row: u64| {
            let segment = Segment { id: SegmentId(id), blocks: 1, bytes: 900, entries: 9, ..Segment::default() };
            let (first_key, last_key) = (key(tree, row), key(tree, row));
            Rc::new(Part { segment: Rc::new(segment), first_key, last_key, bytes: 900, entries: 9 })
        };
        let add = (100..100 + segments).map(|row| (tree, 1, part(row, row))).collect();
        let mut version = Version::default().apply(&Edit { add, ..Edit::default() }).expect("applies");
        for row in (104..100 + segments).step_by(4) {
            let split = Some(Split { tree, at: key(tree, row), shares: Vec::new() });
            version = version.apply(&Edit { split, ..Edit::default() }).expect("applies");
        }
        version.follow(&Version::default());
        let (manifests, whole) = Manifests::default().next(&version, &[], HEAD, 0);
        let one = Rc::clone(&version.trees.get(&tree).expect("there").all()[7]);
        let remove = one.levels.levels[1].iter().map(|part| (tree, one.id, 1, part.segment.id)).collect();
        let add = (0..4).map(|at| (tree, 4, part(5000 + at, 128 + at))).collect();
        let edit = Edit { remove, add, ..Edit::default() };
        let (_, edits) = manifests.next(&version.apply(&edit).expect("applies"), &[edit], HEAD, 0);
        (whole.len(), edits.len())
    });
    assert!(stored[1].0 > 5 * stored[0].0 && stored[1].1 <= stored[0].1 + 8, "{stored:?}");
}

/// Segments that readers hold stay the same objects.
#[test]
fn known_segments_are_not_made_again() {
    let mut life = Life::new(1);
    (0..100).for_each(|_| life.commit());
    let known = life.version.segments();
    let opened = open(&life.stored, known.clone()).expect("opens");
    let found = opened.version.segments();
    assert!(found.len() > 5 && found.len() == known.len());
    assert!(found.values().zip(known.values()).all(|(a, b)| Rc::ptr_eq(a, b)));
}

#[test]
fn a_manifest_that_lacks_the_one_before_is_corrupt() {
    let mut life = Life::new(2);
    while life.manifests.edits < 3 {
        life.commit();
    }
    let refused = |stored: &[(ManifestId, Bytes)]| {
        let error = open(stored, Segments::default()).err().expect("refused");
        assert_eq!(error.code(), Code::Corrupt);
        error.message().to_owned()
    };
    let [newest, .., whole] = &life.stored[..] else { panic!("there are several") };
    let name = |id: u64| format!("manifest {id}");
    assert!(refused(&life.stored[..3]).contains(&name(whole.0.0)), "the whole one");
    assert!(refused(&[newest.clone(), whole.clone()]).contains(&name(newest.0.0 - 1)), "one in between");
    let mut moved = life.stored.clone();
    moved[0].0 = ManifestId(newest.0.0 + 1);
    assert!(refused(&moved).contains(&name(newest.0.0 + 1)), "a record in another one's place");
}

/// Edits of another version than theirs.
#[test]
fn edits_that_do_not_fit_are_corrupt() {
    let mut life = Life::new(3);
    while life.manifests.edits < 1 {
        life.commit();
    }
    let base = life.stored[1].clone();
    let id = ManifestId(base.0.0 + 1);
    let edited = |edit: EditRecord, next_partition| {
        let mut record =
            ManifestRecord { base: base.0.0, edits: vec![edit], next_partition, ..ManifestRecord::default() };
        let stored = record.seal(Place::Manifest(id));
        let error = open(&[(id, stored), base.clone()], Segments::default()).err().expect("refused");
        assert_eq!(error.code(), Code::Corrupt);
        error.message().to_owned()
    };
    let part = PartRecord {
        segment: 999,
        first_key: key(TREES[0], 1).into(),
        last_key: key(TREES[0], 2).into(),
        bytes: 1,
        entries: 1,
        ..PartRecord::default()
    };
    let level = LevelRecord { parts: vec![part] };
    let added = vec![TreeRecord { id: 1, levels: vec![level], ..TreeRecord::default() }];
    assert!(edited(EditRecord { added, ..EditRecord::default() }, 0).contains("segment 999 is not listed"));
    assert!(edited(EditRecord::default(), 77).contains("its partitions are others than it says"));
}

/// A manifest as version 1 wrote it: its trees are one partition each, with everything they had.
#[test]
fn p1_a_manifest_of_version_1_opens() {
    let id = ManifestId(3);
    let version = open(&[(id, hex(V1).into())], Segments::default()).expect("opens").version;
    let first = &version.trees.get(&TreeId(1)).expect("a tree").all()[0];
    let segments = |level: &Vec<Rc<Part>>| level.iter().map(|part| part.segment.id.0).collect();
    assert_eq!(first.levels.levels.iter().map(segments).collect::<Vec<Vec<u64>>>(), [vec![2], vec![], vec![1, 3]]);
    let partitions: Vec<_> = version.trees.values().flat_map(|all| all.all()).collect();
    let ids: Vec<(u64, &[u8])> = partitions.iter().map(|one| (one.id.0, &*one.from)).collect();
    assert_eq!(ids, [(1, &[0, 0, 0, 1][..]), (2, &[0, 0, 0, 9])]);
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("hex"), 16).expect("hex")).collect()
}

const V1: &str = "5461625301040100a8000000e9c44f83d47941f8f002080310111890032080a0abfef96228f6a10700f109320b080110
    0218cc08200a2864320b0802100218b41020140d00f10d031002189c18201e28643a4d080112170a1508021205000000
    01611a0700e96d20d00f28141200122e0a1508011b00a26320e807280a0a150803170012643200a77a20b817281e3a1b
    08094f0012094f0070096220d00f2814";
