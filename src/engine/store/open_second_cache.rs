//! The second cache of blocks of an open store.

use super::Store;
use crate::engine::base::options::ClockMode;
use crate::engine::base::runtime::Runtime;
use crate::engine::segment::file_cache::FileCache;
use crate::engine::segment::second_cache::StoreMark;
use crate::env::LocalFuture;
use crate::modules::{self, Module};
use std::rc::{Rc, Weak};

impl Store {
    /// Opens the second cache beside other work, where the storage has a file for it. Until then, and elsewhere, blocks come from the
    /// storage.
    pub(crate) fn open_second_cache(self: &Rc<Self>, opened: StoreMark) {
        // No other storage has files. And where time may stand still, two states of a store may have one mark.
        if modules::is_loaded(Module::Files) && self.runtime.options.clock == ClockMode::Device {
            self.runtime.spawn_aside(opening(Rc::clone(&self.runtime), Rc::downgrade(self), opened));
        }
    }
}

/// With what drops its future, a gate of [`Module::Files`].
#[inline(never)]
fn opening(runtime: Rc<Runtime>, store: Weak<Store>, opened: StoreMark) -> LocalFuture<()> {
    Box::pin(async move {
        let Some(file) = runtime.storage.scratch() else { return };
        let Some(file) = file.await else { return };
        // The engine may have ended meanwhile, and another one may have the file next.
        let (Some(_engine), Some(store)) = (runtime.engine(), store.upgrade()) else { return };
        if store.check_alive().is_err() {
            return;
        }
        let view = store.view.borrow();
        // Another manifest may have come meanwhile.
        let opened = Some(opened).filter(|opened| opened.manifest == view.manifests.newest.0);
        let segments = view.version.segments();
        let (env, cache_bytes) = (Rc::clone(&runtime.env), runtime.options.cache_bytes);
        match FileCache::open(file, (env, cache_bytes), opened, &segments) {
            Ok(cache) => drop(store.cache.second.set(Box::new(cache))),
            Err(error) => log::warn!("there is no file with copies of blocks: {error}"),
        }
    })
}
