//! Opening a store: its contents, the lead, and the salvage of a damaged one.

pub(super) mod contents;
pub(super) mod recover;
pub(super) mod salvage;
pub(super) mod stored_state;
