//! Judges many rows at a time, column by column.

use super::checked::{CheckedFilter, Node};
use super::{ColumnFilter, Comparator};
use crate::model::{TableSchema, ValueRef};

/// A stored value that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

/// A column of several rows, which has at most one version in each.
pub trait FilterColumn {
    /// The value in a row, if the row has the column.
    ///
    /// # Errors
    /// If the value cannot be read.
    fn value(&self, row: usize) -> Result<Option<ValueRef<'_>>, Unreadable>;

    /// The value in a row, if it is an integer that need not be read. Most need not.
    fn integer(&self, row: usize) -> Option<i64>;
}

impl CheckedFilter<'_> {
    /// Whether it can judge rows by their columns alone: it compares no key column, and uses no regular expression, whose work is
    /// counted by the row.
    #[must_use]
    pub fn judges_columns(&self, schema: &TableSchema) -> bool {
        let is_key = |name: &&str| schema.key().iter().any(|column| column.name == **name);
        !self.transfers && !self.columns().iter().any(is_key)
    }

    /// For each of so many rows, whether it passes. A row with an unreadable value does. `column` gives a column of the rows; `None`
    /// stands for one that no row has.
    #[must_use]
    pub fn judge<C: FilterColumn>(&self, rows: usize, column: &dyn Fn(&str) -> Option<C>) -> Vec<bool> {
        let mut unreadable = Vec::new();
        let mut passing = judge(&self.root, rows, column, &mut unreadable);
        for row in unreadable {
            if let Some(passes) = passing.get_mut(row) {
                *passes = true;
            }
        }
        passing
    }
}

fn judge<C: FilterColumn>(
    node: &Node<'_>,
    rows: usize,
    column: &dyn Fn(&str) -> Option<C>,
    unreadable: &mut Vec<usize>,
) -> Vec<bool> {
    match node {
        Node::Column(filter, _) => compare(filter, rows, column(filter.column.as_str()), unreadable),
        Node::Not(child) => {
            let mut passing = judge(child, rows, column, unreadable);
            passing.iter_mut().for_each(|passes| *passes = !*passes);
            passing
        }
        Node::And(children) => join(children, rows, column, unreadable, true),
        Node::Or(children) => join(children, rows, column, unreadable, false),
    }
}

/// Joins the children: all of them, or one, must hold.
fn join<C: FilterColumn>(
    children: &[Node<'_>],
    rows: usize,
    column: &dyn Fn(&str) -> Option<C>,
    unreadable: &mut Vec<usize>,
    all: bool,
) -> Vec<bool> {
    let mut joined = vec![all; rows];
    for child in children {
        let passing = judge(child, rows, column, unreadable);
        for (joined, passes) in joined.iter_mut().zip(passing) {
            *joined = if all { *joined && passes } else { *joined || passes };
        }
    }
    joined
}

fn compare<C: FilterColumn>(
    filter: &ColumnFilter<'_>,
    rows: usize,
    column: Option<C>,
    unreadable: &mut Vec<usize>,
) -> Vec<bool> {
    let missing = match filter.comparator {
        Comparator::Exist => false,
        Comparator::NotExist => true,
        _ => filter.pass_if_missing,
    };
    let Some(column) = column else { return vec![missing; rows] };
    let comparison = filter.comparison();
    let integer = comparison.integer();
    let judge = |row| match (integer, column.integer(row)) {
        (Some(with), Some(value)) => comparison.lets_pass(value.cmp(&with)),
        _ => match column.value(row) {
            Ok(None) => missing,
            Ok(Some(value)) => comparison.holds(value),
            Err(Unreadable) => {
                unreadable.push(row);
                true
            }
        },
    };
    (0..rows).map(judge).collect()
}
