//! What is behind each door: an instance with an access key.

use super::NOW;
use super::input::Input;
use std::rc::Rc;
use tabstore::doors::Access;
use tabstore::engine::{ClockMode, Engine, Options};
use tabstore::env::sim::SimEnv;
use tabstore::storage::MemoryStorage;
use tabstore::tablestore::{Instance, InstanceOptions, Right, Rights};

/// An instance in memory, and the secret of a key of it that has all rights.
pub(crate) struct Entrance {
    pub(crate) env: SimEnv,
    pub(crate) instance: Rc<Instance>,
    secret: String,
}

impl Entrance {
    pub(crate) fn new() -> Self {
        let env = SimEnv::new(NOW);
        let options = Options { clock: ClockMode::Injected, ..Options::default() };
        let instance = env.run(async {
            let engine = Engine::open(MemoryStorage::new(), Rc::new(env.clone()), options).await.expect("opens");
            Instance::open(engine, InstanceOptions::default()).await.expect("opens")
        });
        let made = env.run(instance.access_keys().create(Rights::of(&[Right::Read, Right::Write, Right::Admin])));
        let secret = made.expect("made").secret;
        Self { env, instance, secret }
    }

    /// The access of who has the key.
    pub(crate) fn known(&self) -> Access<'_> {
        Access::Secret(&self.secret)
    }

    /// Any access. Most may pass; a request without a signature may not, where one is asked for.
    pub(crate) fn any(&self, input: &mut Input<'_>) -> Access<'_> {
        [Access::Off, Access::Off, self.known(), Access::Signed][input.pick(4)]
    }
}
