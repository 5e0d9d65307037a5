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
use std::cmp::Ordering;

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

    /// The orders of a value to the given one that pass: bit 0 stands for less, 1 for equal, 2 for greater.
    fn orders(self) -> u8 {
        match self {
            Self::Equal => 0b010,
            Self::NotEqual => 0b101,
            Self::GreaterThan => 0b100,
            Self::GreaterEqual => 0b110,
            Self::LessThan => 0b001,
            Self::LessEqual => 0b011,
            Self::Exist | Self::NotExist => 0,
        }
    }

    /// Whether it needs a value to compare with.
    #[must_use]
    pub fn compares(self) -> bool {
        !matches!(self, Self::Exist | Self::NotExist)
    }
}

/// A comparison, ready for many values.
#[derive(Clone, Copy)]
struct Comparison<'f> {
    /// The value to compare with, if it matters.
    with: Option<ValueRef<'f>>,
    /// The [`Comparator::orders`] that pass.
    orders: u8,
    /// Whether any value passes where none matters.
    any: bool,
}

impl Comparison<'_> {
    /// Whether it holds for a value. Values of different types never match.
    #[inline(always)]
    fn holds(self, value: ValueRef<'_>) -> bool {
        let Some(with) = self.with else { return self.any };
        let order = match (value, with) {
            (ValueRef::Integer(a), ValueRef::Integer(b)) => Some(a.cmp(&b)),
            (ValueRef::Double(a), ValueRef::Double(b)) => a.partial_cmp(&b),
            (ValueRef::Boolean(a), ValueRef::Boolean(b)) => Some(a.cmp(&b)),
            (ValueRef::String(a), ValueRef::String(b)) => Some(a.cmp(b)),
            (ValueRef::Binary(a), ValueRef::Binary(b)) => Some(a.cmp(b)),
            _ => None,
        };
        order.is_some_and(|order| self.lets_pass(order))
    }

    /// The value to compare with, if it is an integer.
    #[inline(always)]
    fn integer(self) -> Option<i64> {
        match self.with {
            Some(ValueRef::Integer(with)) => Some(with),
            _ => None,
        }
    }

    /// Whether it holds for a value that has this order to the one to compare with.
    #[inline(always)]
    fn lets_pass(self, order: Ordering) -> bool {
        self.orders >> (order as i8 + 1) & 1 == 1
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

impl Filter<'_> {
    /// The same filter, which compares only the newest cell of each column.
    #[must_use]
    pub fn of_newest(&self) -> Self {
        let all = |filters: &[Self]| filters.iter().map(Self::of_newest).collect();
        match self {
            Self::Column(column) => Self::Column(ColumnFilter { latest_version_only: true, ..*column }),
            Self::Not(filters) => Self::Not(all(filters)),
            Self::And(filters) => Self::And(all(filters)),
            Self::Or(filters) => Self::Or(all(filters)),
            Self::Page { offset, limit } => Self::Page { offset: *offset, limit: *limit },
        }
    }
}

#[cfg(test)]
mod tests;
