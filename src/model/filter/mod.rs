//! Filters and column conditions as requests give them (R6).
//!
//! A filter is a tree of comparisons of columns. A request gives an unchecked [`Filter`]; [`Filter::check`] makes it a
//! [`CheckedFilter`], which is applied to rows. Applying a filter always ends: its size is limited, and its regular
//! expressions are limited in size and match in linear time.

mod by_column;
mod checked;
mod transfer;

pub use by_column::{FilterColumn, Unreadable};
pub use checked::CheckedFilter;

use super::{ColumnName, ValueRef};

/// How a column is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparator {
    /// The same value.
    Equal,
    /// Another value of the same type.
    NotEqual,
    /// A greater one.
    GreaterThan,
    /// A greater one or the same.
    GreaterEqual,
    /// A smaller one.
    LessThan,
    /// A smaller one or the same.
    LessEqual,
    /// The column exists; no value is compared.
    Exist,
    /// The column does not exist; no value is compared.
    NotExist,
}

impl Comparator {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Equal,
        Self::NotEqual,
        Self::GreaterThan,
        Self::GreaterEqual,
        Self::LessThan,
        Self::LessEqual,
        Self::Exist,
        Self::NotExist,
    ];

    /// Whether it needs a value to compare with.
    #[must_use]
    pub fn compares(self) -> bool {
        !matches!(self, Self::Exist | Self::NotExist)
    }
}

/// The type as which the text that a [`Transfer`] finds is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CastType {
    /// A 64-bit integer in decimal.
    Integer,
    /// A finite double.
    Double,
    /// The text itself.
    String,
}

/// Takes a part of a String or Binary cell, and compares that instead of the whole (value transfer rule).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer<'a> {
    /// The pattern. Its first group is taken, or the whole match if there is no group. At most 256 bytes.
    pub regex: &'a str,
    /// The type of the result.
    pub cast: CastType,
}

/// Compares one column, of the attributes or of the key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColumnFilter<'a> {
    /// The column.
    pub column: ColumnName<'a>,
    /// The operator.
    pub comparator: Comparator,
    /// The other value; `Exist` and `NotExist` have none.
    pub value: Option<ValueRef<'a>>,
    /// Whether a row without the column passes.
    pub pass_if_missing: bool,
    /// Whether only the newest of the read cells is compared. Otherwise any of them may match.
    pub latest_version_only: bool,
    /// The part to take out of a cell first.
    pub transfer: Option<Transfer<'a>>,
}

/// A filter as it comes, unchecked.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter<'a> {
    /// One column.
    Column(ColumnFilter<'a>),
    /// Its one child does not hold.
    Not(Vec<Filter<'a>>),
    /// All children hold; at least two.
    And(Vec<Filter<'a>>),
    /// One of the children holds; at least two.
    Or(Vec<Filter<'a>>),
    /// A page of every row's columns, with all their versions: skips `offset`, returns `limit`. It holds for every row.
    Page {
        /// How many columns are skipped; not negative.
        offset: i64,
        /// How many are given at most; positive.
        limit: i64,
    },
}

#[cfg(test)]
mod tests;
