//! The common part of the targets. The driver has the rest.

#[path = "../driver/mod.rs"]
mod driver;

/// Whole requests and operations of administration, built from the input.
pub fn requests(data: &[u8]) {
    driver::requests(data);
}

/// The input itself as frames of requests.
pub fn frames(data: &[u8]) {
    driver::frames(data);
}

/// Stored blocks: built from the input, damaged by it, or the input itself.
pub fn blocks(data: &[u8]) {
    driver::blocks(data);
}

/// Requests at the door of the Azure Table service: of any bytes, or sound ones that were damaged.
pub fn azure(data: &[u8]) {
    driver::azure(data);
}

/// Requests at the door of the Table Store service: of any bytes, or mostly sound ones.
pub fn tablestore(data: &[u8]) {
    driver::tablestore(data);
}
