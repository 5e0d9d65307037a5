//! What the targets share; see the driver.

#[path = "../driver/mod.rs"]
mod driver;

/// Whole requests and operations of administration, made of the input.
pub fn requests(data: &[u8]) {
    driver::requests(data);
}

/// The input itself, taken for frames of requests.
pub fn frames(data: &[u8]) {
    driver::frames(data);
}

/// Stored blocks: made of the input, damaged by it, or the input itself.
pub fn blocks(data: &[u8]) {
    driver::blocks(data);
}
