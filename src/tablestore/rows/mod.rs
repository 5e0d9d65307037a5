//! What requests on rows mean: they are checked, decided from the stored row, and read. Pure: nothing here waits.

pub(super) mod base_change;
pub(super) mod check;
pub(super) mod column_filter;
pub(super) mod decide;
pub(super) mod derived;
pub(super) mod fits;
pub(super) mod index;
pub(super) mod old_cells;
pub(super) mod point_read;
pub(super) mod prepared;
pub(super) mod range;
pub(super) mod range_scan;
pub(super) mod request;
pub(super) mod row_reader;
pub(super) mod sift;
pub(super) mod time;
