//! How a log that is in the storage goes on in files, or stays there.

use super::*;

/// Whoever only reads opens no files, and a commit without a record names none: it would keep out nobody.
#[test]
fn files_wait_for_records() {
    let origin = Origin::new(19);
    let storage = origin.open().unwrap();
    run(storage.load(&|_| Ok(LogNumber(0)))).unwrap();
    let manifest = |id| Commit { log: Vec::new(), trim_log: Vec::new(), ..with_manifest(id, 1) };
    run(storage.commit(manifest(1))).unwrap();
    assert!(names(&origin.device).is_empty());
    run(storage.commit(append(1, 100))).unwrap();
    assert_eq!(names(&origin.device), ["1-0", "1-1"]);
    run(storage.commit(manifest(2))).unwrap();
    assert!(!storage.has_log_in_files() && origin.fence().note.is_empty());
    run(storage.commit(append(2, 100))).unwrap();
    assert!(storage.has_log_in_files() && !origin.fence().note.is_empty());
}

/// Files may be opened by a leader that was replaced, or closed, meanwhile. It names them in vain.
#[test]
fn a_leader_that_was_replaced_before_its_files_are_named_is_kept_out() {
    for next_has_files in [false, true] {
        let origin = Origin::new(20);
        let frozen = origin.open().unwrap();
        run(frozen.commit(append(1, 100))).unwrap();
        let next = origin.open().unwrap();
        let last = if next_has_files { 4 } else { 2 };
        (2..=last).for_each(|number| run(next.commit(append(number, 10))).unwrap());
        assert_eq!(next.has_log_in_files(), next_has_files);
        for commit in [append(2, 77), with_manifest(1, 2)] {
            assert_eq!(run(frozen.commit(commit)).unwrap_err().code(), Code::Fenced);
        }
        run(frozen.close());
        run(next.commit(append(last + 1, 10))).unwrap();
        drop((frozen, next));
        assert_eq!(numbers(&origin.open().unwrap()), (1..=last + 1).collect::<Vec<_>>());
    }
}

/// A leader that freezes while it opens files wakes when the next one has named, filled and left the same files.
#[test]
fn a_leader_that_wakes_leaves_files_alone_that_were_named_meanwhile() {
    let origin = Origin { runs_tasks: false, ..Origin::new(26) };
    let frozen = origin.open().unwrap();
    run(frozen.commit(append(1, 100))).unwrap();
    let next = Origin { runs_tasks: true, ..origin.clone() }.open().unwrap();
    (2..=6).for_each(|number| run(next.commit(append(number, 100))).unwrap());
    assert_eq!(numbers(&origin.storage), [1, 2, 3]);
    drop(next);
    origin.world.run_until_idle();
    assert_eq!(run(frozen.commit(append(2, 77))).unwrap_err().code(), Code::Fenced);
    run(frozen.close());
    assert_eq!(numbers(&origin.open().unwrap()), [1, 2, 3, 4, 5, 6]);
}

/// A close waits for files that are being opened, and gives them back.
#[test]
fn a_close_waits_for_files_that_are_being_opened() {
    let origin = Origin { runs_tasks: false, ..Origin::new(21) };
    for round in 0..3 {
        let storage = origin.open().unwrap();
        run(storage.commit(append(round + 1, 100))).unwrap();
        run(storage.close());
        origin.world.run_until_idle();
        drop(storage);
        assert!(origin.fence().note.is_empty() && origin.device.files().is_empty(), "nobody needs them any more");
    }
    assert_eq!(numbers(&origin.open().unwrap()), [1, 2, 3]);
}

/// A disk without room for new files: the log stays in the storage, which has a reserve.
#[test]
fn without_room_for_files_the_log_stays_in_the_storage() {
    let origin = Origin::new(10);
    origin.device.set_room(Some(10));
    let storage = origin.open().unwrap();
    (1..=2).for_each(|number| run(storage.commit(append(number, 100))).unwrap());
    assert!(!storage.has_log_in_files());
    assert_eq!(numbers(&origin.storage), [1, 2]);
    origin.device.set_room(None);
    let frozen = origin.open().unwrap();
    (3..=5).for_each(|number| run(frozen.commit(append(number, 100))).unwrap());
    origin.device.set_room(Some(origin.device.used() + 10));
    let next = origin.open().unwrap();
    assert!(!next.has_log_in_files());
    assert_eq!(numbers(&origin.storage), [1, 2, 3, 4, 5]);
    run(next.commit(append(6, 100))).unwrap();
    origin.device.set_room(None);
    assert_eq!(run(frozen.commit(append(6, 100))).unwrap_err().code(), Code::Fenced);
}

/// Files of a host that asks another process for each call are no gain. A log that is in them is read all the same.
#[test]
fn slow_files_leave_the_log_in_the_storage() {
    let origin = Origin::new(12);
    let slow = |origin: &Origin| {
        let world = origin.world.clone();
        origin.device.set_on_length(move || world.pass(1));
    };
    slow(&origin);
    let storage = origin.open().unwrap();
    (1..=2).for_each(|number| run(storage.commit(append(number, 100))).unwrap());
    assert!(!storage.has_log_in_files());
    run(storage.close());
    drop(storage);

    origin.device.set_on_length(|| ());
    let storage = origin.open().unwrap();
    (3..=4).for_each(|number| run(storage.commit(append(number, 100))).unwrap());
    assert!(storage.has_log_in_files(), "each opening looks anew");
    drop(storage);

    slow(&origin);
    let storage = origin.open().unwrap();
    assert_eq!(numbers(&storage), [1, 2, 3, 4]);
    run(storage.close());
    drop(storage);

    // A machine that is busy for a moment is not slow.
    let (world, calls) = (origin.world.clone(), Cell::new(0));
    origin.device.set_on_length(move || {
        calls.set(calls.get() + 1);
        world.pass(if calls.get() == 3 { 1000 } else { 0 });
    });
    let storage = origin.open().unwrap();
    (5..=6).for_each(|number| run(storage.commit(append(number, 100))).unwrap());
    assert!(storage.has_log_in_files());
    assert_eq!(numbers(&storage), [1, 2, 3, 4, 5, 6]);
}

/// What a former leader has left in the files, and damage of it, does not matter once the log is in the storage.
#[test]
fn files_are_used_again_whatever_they_have() {
    let origin = Origin::new(11);
    let storage = origin.open().unwrap();
    (1..=60).for_each(|number| run(storage.commit(append(number, 100))).unwrap());
    run(storage.close());
    drop(storage);
    for (round, damage) in
        [|_: &mut Vec<u8>| (), |bytes: &mut Vec<u8>| bytes.fill(7), Vec::clear].into_iter().enumerate()
    {
        names(&origin.device).iter().for_each(|name| origin.device.damage(name, damage));
        let storage = origin.open().unwrap();
        let number = 62 + 2 * round as u64;
        (number - 1..=number).for_each(|number| run(storage.commit(append(number, 100))).unwrap());
        assert!(storage.has_log_in_files());
        assert_eq!(numbers(&storage), (1..=number).collect::<Vec<_>>());
        drop(storage);
        let again = origin.open().unwrap();
        assert_eq!(numbers(&again), (1..=number).collect::<Vec<_>>());
        run(again.close());
    }
}

/// A browser that does not answer while files are opened holds up no write, and a close only for a while.
#[test]
fn files_that_are_never_open_hold_up_nothing() {
    let origin = Origin { runs_tasks: false, ..Origin::new(22) };
    origin.device.set_opens(Opens::Never);
    let storage = origin.open().unwrap();
    run(storage.commit(append(1, 100))).unwrap();
    origin.world.run_until_idle();
    run(storage.commit(append(2, 100))).unwrap();
    let before = origin.world.ticks_us();
    run(storage.close());
    assert!((1000..2000).contains(&((origin.world.ticks_us() - before) / 1000)));
    assert_eq!(numbers(&origin.base()), [1, 2]);
}

/// After a loss of power, files are read only if the fence names them. So that is on the device before a strict record is.
#[test]
fn a_strict_record_in_files_is_named_on_the_device() {
    let origin = Origin::new(23);
    let strict = |number| Commit { durability: Durability::Strict, ..append(number, 100) };
    let storage = origin.open().unwrap();
    (1..=3).for_each(|number| run(storage.commit(append(number, 100))).unwrap());
    assert_eq!(numbers(&origin.storage), [1, 2]);
    (4..=6).for_each(|number| run(storage.commit(strict(number))).unwrap());
    assert_eq!(numbers(&origin.storage), [1, 2, 4]);
    drop(storage);
    for _ in 0..20 {
        assert_eq!(numbers(&origin.power_cut().open().unwrap()), [1, 2, 3, 4, 5, 6]);
    }
    let again = origin.open().unwrap();
    run(again.commit(strict(7))).unwrap();
    assert_eq!(numbers(&origin.storage), [1, 2, 4, 7], "nobody knows how firm the fence of another leader is");
}

/// A leader that was not frozen at all may name its files while the next one opens. That one reads them when it loads again.
#[test]
fn a_leader_that_finds_files_named_meanwhile_follows_them() {
    for names_them in [false, true] {
        let origin = Origin::new(25);
        let last = origin.open().unwrap();
        run(last.commit(append(1, 100))).unwrap();
        let next = origin.open().unwrap();
        if names_them {
            (2..=4).for_each(|number| run(last.commit(append(number, 100))).unwrap());
        } else {
            run(last.close());
        }
        let load = || run(next.load(&|_| Ok(LogNumber(0)))).unwrap().log.len();
        assert_eq!(load(), if names_them { 2 } else { 1 });
        let refused = run(next.commit(append(3, 50)));
        assert_eq!(refused.is_err(), names_them);
        if names_them {
            drop(last);
            assert_eq!(load(), 4);
            run(next.commit(append(5, 100))).unwrap();
            assert_eq!(numbers(&next), [1, 2, 3, 4, 5]);
        }
    }
}
