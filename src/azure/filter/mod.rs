//! `$filter`: comparisons of properties with constants, joined by `and`, `or` and `not` (Z3).
//!
//! A filter is parsed once a request ([`parser`], [`lexer`]), judges entities ([`judge`]) and tells the range of keys that has
//! all that pass ([`bounds`]). No text of a filter makes any of these recurse deeply: comparisons are counted while they are
//! read, parentheses leave no trace, and two `not` cancel out.

mod bounds;
mod judge;
mod lexer;
mod parser;
mod tree;

use super::AzureResult;
use super::entity::Entity;
use tree::Node;
pub use tree::{COMPARISONS, KeyBounds};

/// A checked filter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// `None` passes everything.
    root: Option<Node>,
}

impl Filter {
    /// Parses a filter. A text without a word passes everything.
    ///
    /// # Errors
    /// `InvalidInput`, with the text of the service; the errors of names.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Filter::parse(text).expect_err("refused").message.to_string()
    }

    #[test]
    fn azure_z3_positions_of_errors_count_utf16_units() {
        assert_eq!(refused("aaa bbb ccc"), "Syntax error at position 7 in 'aaa bbb ccc'.");
        assert_eq!(refused("a eq '\u{1F600}é' x"), "Syntax error at position 12 in 'a eq '\u{1F600}é' x'.");
    }

    #[test]
    fn azure_z3_times_of_any_year_are_literals() {
        for time in ["0001-01-01", "0001-01-01T00:00:00Z", "1600-12-31T23:59:59.9999999Z", "9999-12-31T23:59:59-23:59"]
        {
            assert!(Filter::parse(&format!("Timestamp gt datetime'{time}'")).is_ok(), "{time}");
        }
        for time in ["", "0000-01-01", "2020-02-30", "now"] {
            assert!(refused(&format!("Timestamp gt datetime'{time}'")).starts_with("Syntax error"), "{time}");
        }
    }

    #[test]
    fn azure_n3_names_in_filters_are_those_of_properties() {
        for name in ["nai\u{308}ve", "_9", "名前", "ใจ\u{e49}"] {
            assert!(Filter::parse(&format!("{name} eq 1 and not {name}")).is_ok(), "{name}");
        }
        for name in ["\u{308}a", "a²", "Ⓐ", "a\u{200B}"] {
            assert!(Filter::parse(&format!("{name} eq 1")).is_err(), "{name}");
        }
    }
}
