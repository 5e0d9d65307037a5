//! Small tools for lists and bytes. The standard library's are large in WebAssembly, or slow there. They use no other
//! module.

pub(crate) mod few;
pub(crate) mod order;
pub(crate) mod small_map;
pub(crate) mod sort;
pub(crate) mod turns;
