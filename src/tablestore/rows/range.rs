//! The range of a GetRange (R3): its keys, and errors of its ends.

use super::request::GetRange;
use crate::engine::{Direction, KeyRange};
use crate::error::{Error, Result};
use crate::model::{KeyPart, TableSchema};
use std::ops::Bound;

/// The range of a request. Its start is inclusive and its end exclusive, in either direction.
pub(crate) fn range_of(request: &GetRange<'_>, schema: &TableSchema) -> Result<KeyRange> {
    let (first, last) = match request.direction {
        Direction::Forward => (KeyPart::InfMin, KeyPart::InfMax),
        Direction::Backward => (KeyPart::InfMax, KeyPart::InfMin),
    };
    let (mut start, mut end) = (Vec::new(), Vec::new());
    request.start.encode_end(schema, first, &mut start)?;
    request.end.encode_end(schema, last, &mut end)?;
    match request.direction {
        Direction::Forward if start < end => {
            Ok(KeyRange { lower: Bound::Included(start), upper: Bound::Excluded(end) })
        }
        Direction::Backward if start > end => {
            Ok(KeyRange { lower: Bound::Excluded(end), upper: Bound::Included(start) })
        }
        Direction::Forward => Err(wrong_order(request, "Begin key must less than end key in FORWARD", "before")),
        Direction::Backward => Err(wrong_order(request, "Begin key must more than end key in BACKWARD", "after")),
    }
}

fn wrong_order(GetRange { start, end, .. }: &GetRange<'_>, text: &str, place: &str) -> Error {
    let way = if place == "before" { "FORWARD" } else { "BACKWARD" };
    let hint = format!("{way}: the start {} has to be {place} the end {}", start.shown(), end.shown());
    Error::parameter(text).with_hint(hint)
}
