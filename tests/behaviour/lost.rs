//! Stores whose data the browser has lost.

use crate::store::*;
use std::rc::Rc;
use tabstore::engine::{Engine, Options};
use tabstore::env::sim::SimEnv;
use tabstore::model::KeyType;
use tabstore::storage::{MemoryStorage, Storage};
use tabstore::tablestore::OptionsChange;

fn open(env: &SimEnv, storage: &MemoryStorage, salvage: bool) -> tabstore::Result<Rc<Engine>> {
    let options = Options { expects_data: true, salvage, ..Options::default() };
    env.run(Engine::open(storage.clone(), Rc::new(env.clone()), options))
}

/// A store that has been opened has a log record at least. An empty storage is refused, and stays empty.
#[test]
fn an_empty_storage_is_refused_where_data_is_expected() {
    let (env, storage) = (SimEnv::new(1), MemoryStorage::new());
    for salvage in [false, true, false] {
        assert!(refused(open(&env, &storage, salvage).map(drop)).starts_with("DataLost: "));
        assert!(env.run(storage.read_log(tabstore::storage::LogNumber(0))).expect("read").is_empty());
    }
    // Opened once without a write, it has data.
    drop(env.run(Engine::open(storage.clone(), Rc::new(env.clone()), Options::default())).expect("opened"));
    for salvage in [true, false] {
        assert!(open(&env, &storage, salvage).is_ok());
    }
}

#[test]
fn a_store_with_data_opens_where_data_is_expected() {
    let store = Store::new();
    store.create("t", &[("id", KeyType::Integer)], OptionsChange::default());
    store.put(id(1), &[]);
    for flushed in [false, true] {
        if flushed {
            store.env.run(store.instance.flush()).expect("flushed");
        }
        assert!(open(&store.env, &store.storage, true).is_ok(), "flushed: {flushed}");
    }
    assert!(open(&store.env, &store.storage, false).is_ok());
}
