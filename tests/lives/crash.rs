//! A crash after every single change of the storage: acknowledged writes are there (R4, Q: available through faults).

use crate::script::{self, Known, Step};
use crate::store::NOW;
use std::rc::Rc;
use tabstore::env::sim::SimEnv;
use tabstore::storage::MemoryStorage;
use tabstore::storage::faults::{CrashImages, Hooked};

/// After each step: the number of images, and the known rows.
struct Acknowledged {
    images: usize,
    known: Known,
}

/// R4: rows are whole, as before a write or as after it.
#[test]
fn reopen_after_a_crash_at_any_change_of_the_storage_keeps_acknowledged_writes() {
    let (env, memory) = (SimEnv::new(NOW), MemoryStorage::new());
    let images = Rc::new(CrashImages::new(&memory));
    let storage = Hooked::new(memory, Rc::clone(&images));
    let mut history = Vec::new();
    env.run(async {
        let instance = script::open(&env, storage).await.expect("opens");
        script::create(&instance).await.expect("created");
        let mut known = Known::default();
        history.push(Acknowledged { images: images.count(), known: known.clone() });
        for step in script::steps() {
            env.advance(7);
            assert!(script::take(&instance, &step, &mut known).await, "{step:?} failed");
            history.push(Acknowledged { images: images.count(), known: known.clone() });
        }
    });
    let writes = script::steps().iter().filter(|step| matches!(step, Step::Write(_))).count();
    let images = images.take();
    assert!(images.len() > 2 * writes, "{} crash points for {writes} commits of writes", images.len());

    for (number, image) in images.into_iter().enumerate() {
        // Acknowledged when at most this image was taken: it must be in it.
        let Some(done) = history.iter().rposition(|step| step.images <= number + 1) else {
            // The table was not acknowledged yet; the store must open all the same.
            let env = SimEnv::new(NOW);
            assert!(env.run(script::open(&env, image)).is_ok(), "image {number} does not open");
            continue;
        };
        let later = history.get(done + 1).unwrap_or(&history[done]);
        let env = SimEnv::new(NOW + 1_000_000);
        let outcome = env.run(async {
            let instance = script::open(&env, image.clone()).await.map_err(|error| error.to_string())?;
            script::check(&instance, &history[done].known, &later.known).await?;
            // It goes on working: another write, another crash.
            let mut known = Known::default();
            script::take(&instance, &Step::Write(vec![(4, Some(-1))]), &mut known).await;
            Ok::<_, String>(())
        });
        if let Err(wrong) = outcome {
            panic!("image {number}, after step {done}: {wrong}");
        }
        env.run_until_idle();
        env.crash();
        let again = env.run(async {
            let instance = script::open(&env, image).await.map_err(|error| error.to_string())?;
            let mut rewritten = Known::default();
            script::take(&instance, &Step::Write(vec![(4, Some(-1))]), &mut rewritten).await;
            let known = history[done].known.clone().with(&rewritten);
            script::check(&instance, &known, &later.known.clone().with(&rewritten)).await
        });
        assert_eq!(again, Ok(()), "image {number}, opened again");
    }
}
