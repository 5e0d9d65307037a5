//! The second cache of blocks of an open store.

use super::Store;
use crate::engine::segment::file_cache::FileCache;
use crate::engine::segment::secondary_cache::StoreMark;
use crate::env::LocalFuture;
use crate::modules::{self, Module};
use std::rc::Rc;

impl Store {
    /// Opens the second cache beside other work, where the storage has a file for it. Until then, and elsewhere, blocks come from the
    /// storage.
    pub(crate) fn open_second_cache(self: &Rc<Self>, opened: StoreMark) {
        // No other storage has files.
        if modules::is_loaded(Module::Files) {
            self.runtime.spawn_aside(opening(Rc::clone(self), opened));
        }
    }
}

/// With what drops its future, a gate of [`Module::Files`].
#[inline(never)]
fn opening(store: Rc<Store>, opened: StoreMark) -> LocalFuture<()> {
    Box::pin(async move {
        let Some(file) = store.runtime.storage.scratch() else { return };
        let Some(file) = file.await else { return };
        if store.check_alive().is_err() {
            return;
        }
        let view = store.view.borrow();
        // Another manifest may have come meanwhile.
        let opened = Some(opened).filter(|opened| opened.manifest == view.manifests.newest.0);
        let segments = view.version.segments();
        let (env, cache_bytes) = (Rc::clone(&store.runtime.env), store.runtime.options.cache_bytes);
        match FileCache::open(file, env, opened, &|id| segments.contains_key(&id), cache_bytes) {
            Ok(cache) => drop(store.cache.second.set(Box::new(cache))),
            Err(error) => log::warn!("there is no file with copies of blocks: {error}"),
        }
    })
}
