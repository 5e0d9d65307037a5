//! The names of tables of other data models, and of their columns.

/// What separates the parts of a foreign name.
pub const SEPARATOR: char = '/';
/// The most UTF-16 units of the name of a column.
const COLUMN_NAME: usize = 255;

/// Whether a table belongs to another data model.
pub(crate) fn is_foreign(name: &str) -> bool {
    name.contains(SEPARATOR)
}

/// Whether a table of another data model may have this name. All others are wrong names (T2).
pub(crate) fn may_be_foreign(name: &str) -> bool {
    let mut parts = name.as_bytes().split(|byte| char::from(*byte) == SEPARATOR);
    let mut is_part = || parts.next().is_some_and(|part| part.len() > 2 && part.iter().all(u8::is_ascii_alphanumeric));
    is_part() && is_part() && parts.next().is_none()
}

/// Whether a column of another data model may have this name: letters of any script, digits and `_`.
pub(crate) fn may_be_foreign_column(name: &str) -> bool {
    let is_part = |character: char| !character.is_ascii() || character.is_ascii_alphanumeric() || character == '_';
    !name.is_empty() && name.encode_utf16().count() <= COLUMN_NAME && name.chars().all(is_part)
}
