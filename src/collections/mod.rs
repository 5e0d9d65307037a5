//! Small tools for lists and bytes, where the standard library's are large in WebAssembly, or slow there. They know nothing of
//! the rest.

pub(crate) mod few;
pub(crate) mod order;
pub(crate) mod small_map;
pub(crate) mod sort;
