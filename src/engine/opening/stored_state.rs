//! What an opening hands to the engine.

use crate::engine::segment::cache::BlockCache;
use crate::engine::space::Reserve;
use crate::engine::store::commit_line::CommitLine;
use crate::engine::store::leadership::Leadership;
use crate::engine::versions::view::View;

/// What an opening has found.
pub(crate) struct StoredState {
    pub(crate) line: CommitLine,
    pub(crate) view: View,
    pub(crate) leadership: Leadership,
    pub(crate) cache: BlockCache,
    pub(crate) reserve: Reserve,
}
