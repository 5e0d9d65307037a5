//! Space: the reserve for deletions on a full disk, and the deletion of segments.

pub(super) mod reserve;
pub(super) mod room;
pub(super) mod sweep;
