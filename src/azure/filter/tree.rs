//! A filter as a tree.

use crate::azure::edm::EdmValue;

/// Comparisons of a filter (Z3; the code is our ruling).
///
/// Else: `InvalidInput`.
pub const COMPARISONS: usize = 15;

/// A range of encoded keys (see [`key`](crate::azure::key)): from these bytes on, and before those. Without keys, both are empty.
pub type KeyBounds = (Vec<u8>, Option<Vec<u8>>);

/// A part of a filter.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Constant(bool),
    /// A property that is true.
    Property(Box<str>),
    Comparison {
        property: Box<str>,
        operator: Operator,
        literal: EdmValue<'static>,
    },
    Not(Box<Node>),
    And(Box<[Node; 2]>),
    Or(Box<[Node; 2]>),
}

/// How a comparison compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

impl Operator {
    pub(super) const NAMES: [(&str, Self); 6] = [
        ("eq", Self::Equal),
        ("ne", Self::NotEqual),
        ("gt", Self::Greater),
        ("ge", Self::GreaterOrEqual),
        ("lt", Self::Less),
        ("le", Self::LessOrEqual),
    ];

    /// The same with its sides swapped.
    pub(super) fn swapped(self) -> Self {
        match self {
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            same => same,
        }
    }

    /// The one that holds where this one does not.
    pub(super) fn negated(self) -> Self {
        match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
        }
    }
}
