//! Leaders, and openings that must not overlook a gap.

use super::*;
use crate::storage::Commit;
use crate::storage::faults::{Call, Gates, Hook, Hooked, Moment};
use futures_util::future::join;

/// R4: an opening reports a record that is missing in the middle of the log, or at its beginning.
#[test]
fn r4_an_opening_tells_of_a_gap_in_the_log() {
    for flushed in [false, true] {
        for missing in 0..3 {
            let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
            let engine = open(&env, &storage, &Options::default());
            if flushed {
                env.run(write(&engine, "z", ChangeKind::Put, 1, &[put("x", 1, 1)]));
                env.run(engine.flush()).expect("flushed");
            }
            let first = engine.store.line.next_log();
            for key in ["a", "b", "c", "d"] {
                env.run(write(&engine, key, ChangeKind::Put, 1, &[put("x", 1, 1)]));
            }
            env.crash();
            let gone = Commit { trim_log: vec![LogNumber(first.0 + missing)], ..Commit::default() };
            env.run(storage.commit(gone)).expect("deleted");
            let opened = env.run(Engine::open(storage.clone(), Rc::new(env.clone()), Options::default()));
            let error = opened.err().unwrap_or_else(|| panic!("record {missing} is missing, flushed: {flushed}"));
            assert_eq!(error.code(), Code::Corrupt, "{error}");
        }
    }
}

/// R4: it also reports an empty log if a manifest relies on it.
#[test]
fn r4_an_opening_tells_of_a_log_that_is_gone() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let engine = open(&env, &storage, &Options::default());
    env.run(write(&engine, "a", ChangeKind::Put, 1, &[put("x", 1, 1)]));
    env.run(engine.flush()).expect("flushed");
    env.crash();
    let log = env.run(storage.read_log(LogNumber(1))).expect("read");
    let gone = Commit { trim_log: log.into_iter().map(|(number, _)| number).collect(), ..Commit::default() };
    env.run(storage.commit(gone)).expect("deleted");
    let opened = env.run(Engine::open(storage.clone(), Rc::new(env.clone()), Options::default()));
    assert_eq!(opened.err().map(|error| error.code()), Some(Code::Corrupt));
}

/// Fails one commit before it takes effect; its caller cannot know that.
#[derive(Default)]
struct LostRange {
    armed: Cell<bool>,
    /// Calls of any kind.
    calls: Cell<u64>,
}

impl Hook for LostRange {
    async fn before(&self, call: &Call) -> Result<()> {
        self.calls.set(self.calls.get() + 1);
        match call {
            Call::Commit(_) if self.armed.replace(false) => {
                Err(Error::new(Code::Unavailable, "the connection is lost"))
            }
            _ => Ok(()),
        }
    }

    fn knows_newest_log(&self) -> bool {
        false
    }
}

/// R5: a leader may begin a flush before it learns of its successor. On a full disk it must not use up the successor's
/// reserve for deletions.
#[test]
fn r5_a_leader_that_was_replaced_leaves_the_reserve_of_the_next_one_alone() {
    let (env, memory) = (SimEnv::new(NOW), MemoryStorage::new());
    let storage = Hooked::new(memory.clone(), LostRange::default());
    let stale = env.run(Engine::open(storage, Rc::new(env.clone()), Options::default())).expect("opens");
    let change = RowChange { kind: ChangeKind::Put, stamp: 1, cells: &[put("x", 1, 1)] };
    env.run(stale.write(TREE, b"a", &change, None)).expect("written");
    env.run(stale.space.fill_reserve()).expect("there is room");
    let leader = open(&env, &memory, &Options::default());
    env.run(leader.space.fill_reserve()).expect("it is there");
    memory.set_quota(Some(memory.bytes()));
    assert_eq!(env.run(stale.flush()).expect_err("fenced").code(), Code::Fenced);
    assert!(memory.bytes() > Options::default().reserve_bytes);
    env.run(write(&leader, "a", ChangeKind::Delete, 2, &[]));
}

type Losing = Engine;

/// A leader whose storage loses answers.
fn losing(env: &SimEnv, storage: &MemoryStorage) -> (Rc<Losing>, Rc<LostRange>) {
    let lost = Rc::new(LostRange::default());
    let disk = Hooked::new(storage.clone(), Rc::clone(&lost));
    (env.run(Engine::open(disk, Rc::new(env.clone()), Options::default())).expect("opens"), lost)
}

/// R5: the record that fenced a leader off stays, even if later leaders trim the log.
#[test]
fn r5_a_leader_stays_fenced_off_when_later_ones_trim_the_log() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let cells = [put("x", 1, 1)];
    let change = RowChange { kind: ChangeKind::Put, stamp: 1, cells: &cells };
    let (stale, _) = losing(&env, &storage);
    env.run(stale.write(TREE, b"a", &change, None)).expect("written");
    for _ in 0..3 {
        let later = open(&env, &storage, &without_reserve());
        env.run(write(&later, "b", ChangeKind::Put, 1, &cells));
    }
    let last = open(&env, &storage, &without_reserve());
    env.run(write(&last, "c", ChangeKind::Put, 1, &cells));
    env.run(last.flush()).expect("flushed");
    let refused = env.run(stale.write(TREE, b"lost", &change, None)).expect_err("fenced off");
    assert_eq!(refused.code(), Code::Fenced);
}

/// R4, R5: an opening may stop between its reading and its leadership record, as in a tab that freezes. If the leader writes on
/// meanwhile and trims its log, the number of that record is free again. The opening must not lead with what it has read.
#[test]
fn r5_an_opening_does_not_lead_from_a_log_that_was_trimmed_since() {
    for flushes in 1..4 {
        let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
        let leader = open(&env, &storage, &Options::default());
        env.run(write(&leader, "before", ChangeKind::Put, 1, &[put("x", 1, 1)]));
        let gates = Rc::new(Gates::default());
        gates.hold(|call| matches!(call, Call::Commit(_)));
        let slow = Hooked::new(Hooked::new(storage.clone(), Rc::clone(&gates)), LostRange::default());
        let (opened, ()) = env.run(join(Engine::open(slow, Rc::new(env.clone()), Options::default()), async {
            for round in 0..flushes {
                write(&leader, &format!("meanwhile {round}"), ChangeKind::Put, 1, &[put("x", 1, 1)]).await;
                leader.flush().await.expect("flushed");
            }
            gates.open();
        }));
        let next = opened.expect("opens");
        assert_eq!(env.run(scan(&next, all(), Direction::Forward)).len(), 1 + flushes, "{flushes} flushes");
        env.run(write(&next, "after", ChangeKind::Put, 2, &[put("x", 2, 2)]));
        let change = RowChange { kind: ChangeKind::Put, stamp: 1, cells: &[] };
        let refused = env.run(leader.write(TREE, b"lost", &change, None)).expect_err("replaced");
        assert_eq!(refused.code(), Code::Fenced);
        env.crash();
        let last = open(&env, &storage, &Options::default());
        assert_eq!(env.run(scan(&last, all(), Direction::Forward)).len(), 2 + flushes, "what was acknowledged stays");
    }
}

/// R5: the same for an opening that had no room for its leadership record, and writes it later.
#[test]
fn r5_an_opening_without_room_does_not_lead_later_from_a_log_that_was_trimmed_since() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let leader = open(&env, &storage, &without_reserve());
    env.run(write(&leader, "before", ChangeKind::Put, 1, &[put("x", 1, 1)]));
    let (gates, is_commit) = (Rc::new(Gates::default()), |call: &Call| matches!(call, Call::Commit(_)));
    gates.fail(1, is_commit, Moment::Before, Code::QuotaExceeded);
    let late = Hooked::new(Hooked::new(storage.clone(), Rc::clone(&gates)), LostRange::default());
    let late = env.run(Engine::open(late, Rc::new(env.clone()), without_reserve())).expect("opens, to be read");
    gates.hold(is_commit);
    env.run(write(&leader, "meanwhile", ChangeKind::Put, 1, &[put("x", 1, 1)]));
    env.run(leader.flush()).expect("flushed");
    gates.open();
    let change = RowChange { kind: ChangeKind::Put, stamp: 1, cells: &[] };
    let refused = env.run(late.write(TREE, b"lost", &change, None)).expect_err("the leader has written since");
    assert_eq!(refused.code(), Code::Fenced);
    env.run(write(&leader, "after", ChangeKind::Put, 2, &[put("x", 2, 2)]));
    assert_eq!(env.run(scan(&leader, all(), Direction::Forward)).len(), 3);
    env.crash();
    let last = open(&env, &storage, &without_reserve());
    assert_eq!(env.run(scan(&last, all(), Direction::Forward)).len(), 3, "no segment of the leader was deleted");
}

/// R5: a leader that checks the outcome of its commit does not take its successor's writes for its own.
#[test]
fn r5_a_leader_that_looks_what_was_stored_finds_its_successor() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let (stale, lost) = losing(&env, &storage);
    let change = RowChange { kind: ChangeKind::Put, stamp: 1, cells: &[] };
    lost.armed.set(true);
    let failed = env.run(stale.write(TREE, b"mine", &change, None)).expect_err("of unknown fate");
    assert_eq!(failed.code(), Code::Unavailable);
    let leader = open(&env, &storage, &Options::default());
    env.run(write(&leader, "theirs", ChangeKind::Put, 1, &[put("x", 1, 1)]));
    let mut see = |_: usize, _: Option<&RowView<'_>>| panic!("it reads nothing");
    let refused = env.run(stale.read(TREE, &[b"theirs"], &mut see)).expect_err("it was replaced");
    assert_eq!(refused.code(), Code::Fenced, "{refused}");
    assert_eq!(env.run(get(&leader, "mine")), None);
}

/// R5: a leader that knows of its successor has ended: it answers nothing, from memory or from its storage.
#[test]
fn r5_a_leader_that_was_fenced_off_answers_nothing_and_changes_nothing() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let (stale, lost) = losing(&env, &storage);
    let change = RowChange { kind: ChangeKind::Put, stamp: 1, cells: &[] };
    env.run(stale.write(TREE, b"a", &change, None)).expect("written");
    let leader = open(&env, &storage, &Options::default());
    env.run(write(&leader, "a", ChangeKind::Put, 2, &[put("x", 2, 2)]));
    let fenced = env.run(stale.write(TREE, b"b", &change, None)).expect_err("fenced off");
    assert_eq!(fenced.code(), Code::Fenced);
    env.run_until_idle();
    let calls = lost.calls.get();
    let mut see = |_: usize, _: Option<&RowView<'_>>| panic!("it reads nothing");
    let mut visit = |_: &[u8], _: &RowView<'_>| panic!("it reads nothing");
    let refused = [
        env.run(stale.read(TREE, &[b"a"], &mut see)),
        env.run(stale.scan(TREE, all(), Direction::Forward, &mut visit)),
        env.run(stale.write(TREE, b"b", &change, None)),
        env.run(stale.modify(&[(TREE, b"counter")], None, &mut AddOne(0))),
        env.run(stale.flush()),
        env.run(stale.compact()),
    ];
    assert!(refused.iter().all(|refused| matches!(refused, Err(error) if error.code() == Code::Fenced)), "{refused:?}");
    assert!(stale.write_now(TREE, b"b", &change, None).is_none());
    env.run_until_idle();
    assert_eq!(lost.calls.get(), calls, "it asks nothing of its storage");
}
