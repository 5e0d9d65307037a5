//! Rows of many pieces: the work of a read does not grow with the number of writes.

use super::*;
use crate::storage::faults::{Call, Gates, Hooked};
use futures_util::future::join_all;
use std::cell::Cell;

const KEY: &[u8] = b"k";
const WRITES: i64 = 300;

/// Counts in a column, and records the pieces and cells that each read took.
struct Count<'c> {
    most: &'c Cell<usize>,
    newest_only: bool,
    next: i64,
}

impl Decide for Count<'_> {
    fn see(&mut self, _: usize, row: Option<&RowView<'_>>) -> Result<()> {
        self.next = 1;
        if let Some(row) = row {
            self.most.set(self.most.get().max(row.dated().len()).max(row.cells().len()));
            self.next = cells(row).first().map_or(0, |cell| cell.2) + 1;
        }
        Ok(())
    }

    fn depth(&self, _: usize) -> Depth {
        if self.newest_only { Depth::Newest } else { Depth::Visible }
    }

    fn write(&mut self, writes: &mut Writes<'_>) {
        let change = RowChange { kind: ChangeKind::Update, stamp: self.next, cells: &[put("n", self.next, self.next)] };
        writes.change(TREE, KEY, &change);
    }
}

fn world(max_versions: u32) -> (SimEnv, MemoryStorage, Rc<Engine>) {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let engine = open(&env, &storage, &Options::default());
    engine.set_retention(TREE, Retention { max_versions, time_to_live: None });
    (env, storage, engine)
}

async fn count(engine: &Engine, newest_only: bool, most: &Cell<usize>) {
    let mut count = Count { most, newest_only, next: 0 };
    engine.modify(&[(TREE, KEY)], None, &mut count).await.expect("counted");
}

/// All versions, newest first, also those that no reader sees.
fn whole() -> Cells {
    (1..=WRITES).rev().map(|n| ("n".to_owned(), n, n)).collect()
}

/// V3: and no version is lost.
#[test]
fn v3_a_row_that_is_counted_in_is_seen_in_few_pieces_while_all_of_it_stays() {
    let few = Options::default().shape.pieces + 2;
    for (max_versions, newest_only) in [(1, true), (1, false), (5, false), (u32::MAX, true)] {
        let (env, _, engine) = world(max_versions);
        let most = Cell::new(0);
        env.run(async {
            // In one turn, then one after the other, then on top of flushed data.
            let half = (0..WRITES / 2).map(|_| count(&engine, newest_only, &most));
            join_all(half).await;
            for at in 0..WRITES / 2 {
                count(&engine, newest_only, &most).await;
                if at == WRITES / 4 {
                    engine.flush().await.expect("flushed");
                    most.set(0);
                    // The first read takes everything.
                    count(&engine, newest_only, &Cell::new(0)).await;
                }
            }
        });
        let counted = WRITES + 1;
        assert!(most.get() <= few + 5, "{max_versions}, {newest_only}: {} pieces", most.get());
        engine.set_retention(TREE, Retention::ALL);
        let versions = env.run(get(&engine, "k")).map(|cells| cells.len());
        assert_eq!(versions, Some(counted as usize), "{max_versions}, {newest_only}");
    }
}

/// V1: this also holds if every write replaces the only version, so that nothing is hidden.
#[test]
fn v1_a_row_that_is_overwritten_under_one_version_is_seen_in_few_pieces() {
    struct Overwrite(usize);

    impl Decide for Overwrite {
        fn see(&mut self, _: usize, row: Option<&RowView<'_>>) -> Result<()> {
            self.0 = row.map_or(0, |row| row.dated().len());
            Ok(())
        }

        fn write(&mut self, writes: &mut Writes<'_>) {
            writes.change(TREE, KEY, &RowChange { kind: ChangeKind::Update, stamp: 1, cells: &[put("n", 1, 1)] });
        }
    }

    let (env, _, engine) = world(1);
    let mut most = 0;
    for _ in 0..WRITES {
        let mut overwrite = Overwrite(0);
        env.run(engine.modify(&[(TREE, KEY)], None, &mut overwrite)).expect("written");
        most = most.max(overwrite.0);
    }
    assert!(most > 1 && most <= Options::default().shape.pieces + 2, "{most} pieces");
}

/// R5: each read sees everything asked before it, and nothing after.
#[test]
fn r5_reads_at_many_instants_see_theirs_in_few_pieces() {
    let (env, _, engine) = world(1);
    let pieces = Cell::new(0);
    env.run(async {
        let none = Cell::new(0);
        let asked = (1..=WRITES).map(|n| {
            let (engine, pieces, none) = (&engine, &pieces, &none);
            async move {
                let mut found = None;
                let mut visit = |_: usize, row: Option<&RowView<'_>>| {
                    found = row.and_then(|row| cells(row).first().cloned());
                    pieces.set(pieces.get().max(row.map_or(0, |row| row.dated().len())));
                };
                let read = async { engine.read(TREE, &[KEY], &mut visit).await };
                let (_, read) = futures_util::future::join(count(engine, true, none), read).await;
                read.expect("read");
                assert_eq!(found, Some(("n".to_owned(), n, n)));
            }
        });
        join_all(asked).await;
    });
    assert!(pieces.get() <= Options::default().shape.pieces + 2, "{} pieces", pieces.get());
}

#[test]
fn r7_a_row_that_is_counted_in_inside_a_transaction_is_seen_in_few_pieces() {
    let (env, _, engine) = world(1);
    let most = Cell::new(0);
    env.run(async {
        let overlay = Overlay::new(NOW);
        for _ in 0..WRITES {
            let mut count = Count { most: &most, newest_only: true, next: 0 };
            engine.modify_over(&overlay, (TREE, KEY), true, &mut count).await.expect("counted");
        }
        assert!(most.get() <= Options::default().shape.pieces + 2, "{} pieces", most.get());
        let rows = overlay.keys();
        engine.modify(&[], None, &mut super::overlay::Commit(&overlay, rows)).await.expect("committed");
        engine.set_retention(TREE, Retention::ALL);
        assert_eq!(get(&engine, "k").await, Some(whole()));
    });
}

/// R5: an image with a failed write is dropped.
#[test]
fn r5_what_failed_is_not_remembered() {
    use crate::error::{Code, Error};
    use crate::storage::faults::Hook;

    #[derive(Clone)]
    struct Full(Rc<Cell<bool>>);

    impl Hook for Full {
        async fn before(&self, call: &Call) -> Result<()> {
            let fails = self.0.get() && matches!(call, Call::Commit(_));
            if fails { Err(Error::new(Code::QuotaExceeded, "full")) } else { Ok(()) }
        }
    }

    let env = SimEnv::new(NOW);
    let full = Full(Rc::default());
    let storage = Hooked::new(MemoryStorage::new(), full.clone());
    let engine = env.run(Engine::open(storage, Rc::new(env.clone()), Options::default())).expect("opens");
    engine.set_retention(TREE, Retention { max_versions: 1, time_to_live: None });
    let most = Cell::new(0);
    let counts = |number: i64| {
        let all = (0..number).map(|_| async {
            let mut count = Count { most: &most, newest_only: true, next: 0 };
            engine.modify(&[(TREE, KEY)], None, &mut count).await.is_ok()
        });
        env.run(join_all(all)).into_iter().filter(|ok| *ok).count()
    };
    assert_eq!(counts(10), 10);
    full.0.set(true);
    assert_eq!(counts(100), 0);
    full.0.set(false);
    assert_eq!(counts(1), 1);
    let mut found = 0;
    env.run(engine.read(TREE, &[KEY], &mut |_, row| found = row.map_or(0, |row| cells(row)[0].2))).expect("read");
    assert_eq!(found, 11);
}

/// V3: a read that had to wait shows the row as it was. A later deletion, and fewer shown versions, need another image.
#[test]
fn v3_what_a_read_has_waited_for_is_not_remembered_under_another_number_of_versions() {
    let (env, gates) = (SimEnv::new(NOW), Rc::new(Gates::default()));
    let options = Options { cache_bytes: 1, auto_compact: false, ..tiny() };
    let storage = Hooked::new(MemoryStorage::new(), Rc::clone(&gates));
    let engine = env.run(Engine::open(storage, Rc::new(env.clone()), options)).expect("opens");
    let keep = |max_versions| engine.set_retention(TREE, Retention { max_versions, time_to_live: None });
    let update = |op| {
        let cells = [CellChange { column: "n", op }];
        let change = RowChange { kind: ChangeKind::Update, stamp: NOW, cells: &cells };
        env.run(engine.write(TREE, KEY, &change, None)).expect("written");
    };
    keep(5);
    (1..=5).for_each(|n| update(CellOp::Put(n, ValueRef::Integer(n))));
    env.run(engine.flush()).expect("flushed");
    gates.hold(|call| matches!(call, Call::GetBlocks(_)));
    let reader = Rc::clone(&engine);
    env.spawn(Box::pin(async move { reader.read(TREE, &[KEY], &mut |_, _| ()).await.expect("read") }));
    env.run_until_idle();
    update(CellOp::DeleteVersion(5));
    keep(2);
    gates.open();
    env.run_until_idle();
    let mut seen = Vec::new();
    env.run(engine.read(TREE, &[KEY], &mut |_, row| seen = row.map(cells).unwrap_or_default())).expect("read");
    let shown: Vec<_> = seen.iter().take(2).map(|(_, version, _)| *version).collect();
    assert_eq!(shown, [4, 3]);
}
