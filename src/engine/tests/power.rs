//! Power cuts: only strictly stored data survives.

use super::*;
use crate::storage::Durability;
use crate::storage::faults::{Call, Hook, Hooked};

/// Keeps only data that was stored strictly. Browsers promise more than that: some write everything in order.
#[derive(Clone)]
struct Device(MemoryStorage);

impl Hook for Device {
    async fn after(&self, call: &Call) -> Result<()> {
        match call.clone() {
            Call::Stage(segment, blocks, Durability::Strict) => self.0.stage(segment, blocks, Durability::Strict).await,
            Call::Commit(commit) if commit.durability == Durability::Strict => self.0.commit(commit).await,
            _ => Ok(()),
        }
    }
}

/// Flushes, compactions and loads stage blocks in several transactions. The commit that names them trims the log, or
/// deletes the segments that they replace.
#[test]
fn with_strict_durability_a_power_cut_loses_nothing_that_was_answered() {
    let (env, device) = (SimEnv::new(NOW), Device(MemoryStorage::new()));
    let storage = Hooked::new(MemoryStorage::new(), device.clone());
    let options = Options { durability: Durability::Strict, ..tiny() };
    let engine = env.run(Engine::open(storage, Rc::new(env.clone()), options.clone())).expect("opens");
    env.run(async {
        for i in (0..400).rev() {
            let cells = [put("x", NOW, i)];
            let change = RowChange { kind: ChangeKind::Put, stamp: NOW, cells: &cells };
            engine.write(TREE, format!("k{i:04}").as_bytes(), &change, None).await.expect("written");
        }
        engine.flush().await.expect("flushed");
        let load = engine.start_load(TREE);
        for i in 400..800 {
            let cells = [put("x", NOW, i)];
            let change = RowChange { kind: ChangeKind::Put, stamp: NOW, cells: &cells };
            load.push(format!("k{i:04}").as_bytes(), &change).expect("taken");
            load.room().await;
        }
        load.commit().await.expect("loaded");
    });
    for compacted in [false, true] {
        if compacted {
            env.run(engine.compact()).expect("compacted");
        }
        let image = device.0.image();
        let again = open(&env, &image, &options);
        let rows = env.run(scan(&again, all(), Direction::Forward));
        assert_eq!(rows.len(), 800, "compacted: {compacted}");
        assert!(rows.iter().zip(0..).all(|((_, cells), i)| *cells == [("x".to_owned(), NOW, i)]));
    }
    let metrics = engine.metrics();
    assert!(metrics.flushes > 3 && metrics.compactions > 0 && metrics.log_records < 400);
}
