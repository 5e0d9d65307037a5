//! Space: the reserve for deletions on a full disk, and the staging and the deletion of segments.

mod reserve;
mod room;
mod staging;
mod sweep;

use super::base::runtime::Runtime;
use super::store::Store;
use crate::collections::turns::Turns;
pub(super) use reserve::{FIRST_GIVEN, Reserve};
use std::rc::Rc;

/// The space that the store takes.
pub(crate) struct Space {
    runtime: Rc<Runtime>,
    store: Rc<Store>,
    pub(crate) reserve: Reserve,
    /// Turns for staging blocks and for deleting segments.
    staging: Turns,
}

impl Space {
    pub(crate) fn new(store: &Rc<Store>, reserve: Reserve) -> Self {
        Self { runtime: Rc::clone(&store.runtime), store: Rc::clone(store), reserve, staging: Turns::default() }
    }
}
