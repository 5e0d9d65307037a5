//! A client of another tab, which outlives the engine and asks the next one again (R5).

use crate::store::*;
use std::rc::Rc;
use tabstore::engine::{ClockMode, Engine, Options, Origin, Shape};
use tabstore::env::sim::SimEnv;
use tabstore::storage::MemoryStorage;
use tabstore::storage::faults::{Hook, Hooked};
use tabstore::tablestore::{Instance, InstanceOptions, OptionsChange};

pub(crate) const CLIENT: u64 = 7;

pub(crate) fn asked(request: u64) -> Option<Origin> {
    Some(Origin { client: CLIENT, request })
}

/// A store with a table `t`, whose client is in another tab.
pub(crate) fn world() -> Store {
    let store = Store::with_table(OptionsChange::default());
    keep(&store);
    store
}

pub(crate) fn keep(store: &Store) {
    store.env.run(store.instance.clients().keep_answers(CLIENT, CLIENT, true)).expect("kept");
}

/// Everything in memory is lost, and the client asks the next engine.
pub(crate) fn crash(store: &mut Store) {
    store.reopen();
    keep(store);
}

/// An instance of the client, over a storage whose calls `hook` sees.
pub(crate) async fn open<H: Hook>(env: &SimEnv, memory: &MemoryStorage, hook: H) -> Rc<Instance> {
    let options = Options { clock: ClockMode::Injected, shape: Shape::TINY, ..Options::default() };
    let engine = Engine::open(Hooked::new(memory.clone(), hook), Rc::new(env.clone()), options).await.expect("opens");
    let instance = Instance::open(engine, InstanceOptions::default()).await.expect("opens");
    instance.clients().keep_answers(CLIENT, CLIENT, true).await.expect("kept");
    instance
}
