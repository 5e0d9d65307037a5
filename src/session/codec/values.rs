//! The types behind the declarations of the contract, under the declared names.

use crate::error::Result as Answer;
use crate::model::filter::{self, ColumnFilter};
use crate::model::{KeyInput, TableName};

pub(super) use crate::engine::Direction;
pub(super) use crate::model::filter::{CastType, Comparator, Transfer};
pub(super) use crate::tablestore::*;

/// The start of a transaction (R7).
#[derive(Debug)]
pub struct StartLocalTransaction<'f> {
    /// The table.
    pub table: TableName<'f>,
    /// The value of its partition key.
    pub key: KeyInput<'f>,
}

/// Rows of one loader of the client's. A refused row fails alone.
#[derive(Debug)]
pub struct PutRows<'f> {
    /// The client's number of the loader.
    pub loader: u64,
    /// The rows.
    pub rows: Vec<Answer<RowWrite<'f>>>,
}

/// A filter in one of its three shapes in a request.
#[derive(Debug)]
pub enum Filter<'f> {
    /// One column.
    Column(ColumnFilter<'f>),
    /// Filters that are joined.
    Composite(LogicalOperator, Vec<filter::Filter<'f>>),
    /// A page of each row's columns.
    Page {
        /// The number of columns to skip.
        offset: i64,
        /// The most columns to return.
        limit: i64,
    },
}

/// An operator that joins filters.
#[derive(Clone, Copy, Debug)]
pub enum LogicalOperator {
    /// The one filter does not match.
    Not,
    /// All filters match.
    And,
    /// At least one filter matches.
    Or,
}

/// The variants of a union, for a type of a lower layer.
pub trait Variants: Sized {
    /// That type.
    type Model;

    /// Converts into the type of the lower layer.
    fn into_model(self) -> Self::Model;
    /// The variants of a value of the lower layer.
    fn of(model: &Self::Model) -> Self;
}

impl Variants for ColumnOp<'_> {
    type Model = Self;

    fn into_model(self) -> Self {
        self
    }

    fn of(model: &Self) -> Self {
        *model
    }
}

impl Variants for ReturnContent<'_> {
    type Model = Self;

    fn into_model(self) -> Self {
        self
    }

    fn of(model: &Self) -> Self {
        model.clone()
    }
}

impl<'f> Variants for Filter<'f> {
    type Model = filter::Filter<'f>;

    fn into_model(self) -> filter::Filter<'f> {
        match self {
            Self::Column(column) => filter::Filter::Column(column),
            Self::Composite(LogicalOperator::Not, children) => filter::Filter::Not(children),
            Self::Composite(LogicalOperator::And, children) => filter::Filter::And(children),
            Self::Composite(LogicalOperator::Or, children) => filter::Filter::Or(children),
            Self::Page { offset, limit } => filter::Filter::Page { offset, limit },
        }
    }

    fn of(model: &filter::Filter<'f>) -> Self {
        match model {
            filter::Filter::Column(column) => Self::Column(*column),
            filter::Filter::Not(children) => Self::Composite(LogicalOperator::Not, children.clone()),
            filter::Filter::And(children) => Self::Composite(LogicalOperator::And, children.clone()),
            filter::Filter::Or(children) => Self::Composite(LogicalOperator::Or, children.clone()),
            filter::Filter::Page { offset, limit } => Self::Page { offset: *offset, limit: *limit },
        }
    }
}
