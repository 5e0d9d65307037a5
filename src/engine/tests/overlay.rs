//! Overlays: private writes on top of the store, visible to their holder, committed or dropped.

use super::*;

/// One change of one row.
struct Change<'c>(&'c [u8], RowChange<'c>);

impl Decide for Change<'_> {
    fn see(&mut self, _: usize, _: Option<&RowView<'_>>) -> Result<()> {
        Ok(())
    }

    fn write(&mut self, writes: &mut Writes<'_>) {
        writes.change(TREE, self.0, &self.1);
    }
}

/// Writes everything that an overlay holds.
pub(super) struct Commit<'o>(pub(super) &'o Overlay, pub(super) Vec<(TreeId, Vec<u8>)>);

impl Decide for Commit<'_> {
    fn see(&mut self, _: usize, _: Option<&RowView<'_>>) -> Result<()> {
        Ok(())
    }

    fn write(&mut self, writes: &mut Writes<'_>) {
        for (tree, key) in &self.1 {
            writes.row_of(self.0, *tree, key);
        }
    }
}

async fn write_over(
    engine: &Engine,
    overlay: &Overlay,
    key: &str,
    (kind, stamp): (ChangeKind, i64),
    cells: &[CellChange<'_>],
) {
    let mut change = Change(key.as_bytes(), RowChange { kind, stamp, cells });
    engine.modify_over(overlay, (TREE, key.as_bytes()), false, &mut change).await.expect("written");
}

async fn get_over(engine: &Engine, overlay: &Overlay, key: &str) -> Option<Cells> {
    let mut found = None;
    let mut visit = |_: usize, row: Option<&RowView<'_>>| found = row.filter(|row| !row.is_deleted()).map(cells);
    engine.read_parts(Some(overlay), TREE, &[key.as_bytes()], None, &mut visit).await.expect("read");
    found
}

async fn scan_over(engine: &Engine, overlay: &Overlay, range: KeyRange, direction: Direction) -> Vec<(String, Cells)> {
    let mut rows = Vec::new();
    let mut visit = |key: &[u8], row: &RowView<'_>| {
        if !row.is_deleted() {
            rows.push((String::from_utf8_lossy(key).into_owned(), cells(row)));
        }
        ControlFlow::Continue(())
    };
    engine
        .scan_over(ScanOptions { overlay: Some(overlay), ..ScanOptions::STORED }, TREE, range, direction, &mut visit)
        .await
        .expect("scanned");
    rows
}

#[test]
fn r7_an_overlay_is_seen_through_itself_only_until_it_is_committed() {
    let (env, storage) = (SimEnv::new(NOW), MemoryStorage::new());
    let engine = open(&env, &storage, &Options::default());
    env.run(async {
        write(&engine, "a", ChangeKind::Put, 5, &[put("x", 5, 1)]).await;
        write(&engine, "b", ChangeKind::Put, 5, &[put("x", 5, 1)]).await;
        let overlay = Overlay::new(NOW);
        write_over(&engine, &overlay, "a", (ChangeKind::Update, 6), &[put("x", 6, 2)]).await;
        write_over(&engine, &overlay, "a", (ChangeKind::Update, 7), &[put("y", 7, 3)]).await;
        write_over(&engine, &overlay, "b", (ChangeKind::Delete, 6), &[]).await;
        write_over(&engine, &overlay, "c", (ChangeKind::Put, 6), &[]).await;
        let before = [("a".to_owned(), vec![("x".to_owned(), 5, 1)]), ("b".into(), vec![("x".into(), 5, 1)])];
        let a = vec![("x".into(), 6, 2), ("x".into(), 5, 1), ("y".into(), 7, 3)];
        let after = [("a".into(), a), ("c".to_owned(), vec![])];
        assert_eq!(scan(&engine, all(), Direction::Forward).await, before);
        assert_eq!(scan_over(&engine, &overlay, all(), Direction::Forward).await, after);
        assert_eq!(get(&engine, "b").await, Some(before[1].1.clone()));
        assert_eq!(get_over(&engine, &overlay, "b").await, None);
        let commits = engine.metrics().commits;
        engine.modify(&[], None, &mut Commit(&overlay, overlay.keys())).await.expect("committed");
        assert_eq!(engine.metrics().commits, commits + 1, "all of it in one log record");
        assert_eq!(scan(&engine, all(), Direction::Forward).await, after);
    });
    drop(engine);
    let engine = open(&env, &storage, &Options::default());
    assert_eq!(engine.last_stamp(), 7);
}

/// R7: overlays over random stores, with flushes and compactions below them, against a plain model.
#[test]
fn r7_random_overlays_agree_with_a_plain_model() {
    for seed in 1..=25 {
        let (env, storage) = (SimEnv::shuffled(NOW, seed), MemoryStorage::new());
        let engine = open(&env, &storage, &tiny());
        let mut model: BTreeMap<String, ModelRow> = BTreeMap::new();
        let mut stamp = 0;
        for round in 0..12 {
            for _ in 0..60 {
                let key = format!("k{:02}", env.random() % 60);
                let (kind, cells) = random_change(&env, &Life::of_small_rows());
                stamp += 1;
                env.run(write(&engine, &key, kind, stamp, &cells));
                model.entry(key).or_default().change(kind, &cells);
            }
            let (overlay, mut inside) = (Overlay::new(NOW), model.clone());
            for _ in 0..80 {
                let key = format!("k{:02}", env.random() % 60);
                match env.random() % 10 {
                    0..5 => {
                        let (kind, cells) = random_change(&env, &Life::of_small_rows());
                        stamp += 1;
                        env.run(write_over(&engine, &overlay, &key, (kind, stamp), &cells));
                        inside.entry(key).or_default().change(kind, &cells);
                    }
                    5..7 => {
                        let seen = |model: &BTreeMap<String, ModelRow>| model.get(&key).and_then(ModelRow::seen);
                        assert_eq!(env.run(get_over(&engine, &overlay, &key)), seen(&inside), "seed {seed} {key}");
                        assert_eq!(env.run(get(&engine, &key)), seen(&model), "seed {seed} {key}");
                    }
                    7..9 => {
                        let range = random_range(&env, 60);
                        let within = inside.iter().filter(|(key, _)| range.contains(key.as_bytes()));
                        let mut expected: Vec<_> =
                            within.filter_map(|(key, row)| Some((key.clone(), row.seen()?))).collect();
                        let forward = env.random().is_multiple_of(2);
                        let direction = if forward { Direction::Forward } else { Direction::Backward };
                        if !forward {
                            expected.reverse();
                        }
                        let found = env.run(scan_over(&engine, &overlay, range, direction));
                        assert_eq!(found, expected, "seed {seed} round {round}");
                    }
                    _ if env.random().is_multiple_of(2) => env.run(engine.flush()).expect("flushed"),
                    _ => env.run(engine.compact()).expect("compacted"),
                }
            }
            if round % 3 > 0 {
                env.run(engine.modify(&[], None, &mut Commit(&overlay, overlay.keys()))).expect("committed");
                model = inside;
            }
        }
        let expected: Vec<_> = model.iter().filter_map(|(key, row)| Some((key.clone(), row.seen()?))).collect();
        assert_eq!(env.run(scan(&engine, all(), Direction::Forward)), expected, "seed {seed}");
    }
}
