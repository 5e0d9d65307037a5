//! `$filter`: comparisons of properties with constants, joined by `and`, `or` and `not` (Z3).
//!
//! A filter is parsed once a request ([`parser`], [`lexer`]), judges entities ([`judge`]) and tells the range of keys that has
//! all that pass ([`bounds`]). No text of a filter makes any of these recurse deeply: comparisons are counted while they are
//! read, parentheses leave no trace, and two `not` cancel out.

mod bounds;
mod judge;
mod lexer;
mod parser;

use super::AzureResult;
use super::edm::EdmValue;
use super::entity::Entity;

/// The most comparisons of a filter.
pub const COMPARISONS: usize = 15;

/// A checked filter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// `None` passes everything.
    root: Option<Node>,
}

/// A range of encoded keys (see [`key`](super::key)): from these bytes on, and before those. Without keys, both are empty.
pub type KeyBounds = (Vec<u8>, Option<Vec<u8>>);

/// A part of a filter.
#[derive(Clone, Debug, PartialEq)]
enum Node {
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
enum Operator {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

impl Operator {
    const NAMES: [(&str, Self); 6] = [
        ("eq", Self::Equal),
        ("ne", Self::NotEqual),
        ("gt", Self::Greater),
        ("ge", Self::GreaterOrEqual),
        ("lt", Self::Less),
        ("le", Self::LessOrEqual),
    ];

    /// The same with its sides swapped.
    fn swapped(self) -> Self {
        match self {
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            same => same,
        }
    }

    /// The one that holds where this one does not.
    fn negated(self) -> Self {
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

impl Filter {
    /// Parses a filter. A text without a word passes everything.
    ///
    /// # Errors
    /// `InvalidInput`, with the text of the service; `OutOfRangeInput` for a time that is none.
    pub fn parse(text: &str) -> AzureResult<Self> {
        Ok(Self { root: parser::parse(text)? })
    }

    /// Whether an entity passes.
    pub fn passes(&self, entity: &dyn Entity) -> bool {
        self.root.as_ref().is_none_or(|root| judge::passes(root, entity))
    }

    /// A range of keys that has every entity that passes.
    #[must_use]
    pub fn bounds(&self) -> KeyBounds {
        bounds::of(self.root.as_ref())
    }
}
