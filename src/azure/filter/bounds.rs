//! The keys of all entities that may pass a filter, as one range.
//!
//! Keys are never missing, so a comparison of one with a text can be negated exactly. Everything else passes all keys.

use super::tree::{KeyBounds, Node, Operator};
use crate::azure::edm::EdmValue;
use crate::azure::key::encode_text;

/// Encoded texts from the first bytes on, and before the second. No encoded text is empty.
#[derive(Clone, Debug, Default, PartialEq)]
struct Interval {
    from: Vec<u8>,
    to: Option<Vec<u8>>,
}

/// The keys that may pass: a partition key in one interval and a row key in the other.
#[derive(Clone, Debug, Default, PartialEq)]
struct Span {
    partition: Interval,
    row: Interval,
}

/// The range of a filter.
pub(super) fn of(root: Option<&Node>) -> KeyBounds {
    let span = match root {
        None => Some(Span::default()),
        Some(root) => span_of(root, false),
    };
    // Nothing passes: a range before all keys.
    let Some(Span { partition: Interval { from, to }, row }) = span else { return (Vec::new(), Some(Vec::new())) };
    if to.as_ref().is_none_or(|to| *to != behind(from.clone())) {
        return (from, to);
    }
    let to = row.to.map_or(to, |row| Some([&*from, &row].concat()));
    ([from, row.from].concat(), to)
}

/// The first bytes behind all keys that begin with this column. A column ends with 00 01.
fn behind(mut column: Vec<u8>) -> Vec<u8> {
    if let Some(last) = column.last_mut() {
        *last += 1;
    }
    column
}

/// The keys that may pass a part, or its negation. `None` if no key does.
fn span_of(node: &Node, negated: bool) -> Option<Span> {
    match node {
        Node::Constant(value) => (*value != negated).then(Span::default),
        // No key is a Boolean, so such a property is false.
        Node::Property(property) => (!is_key(property) || negated).then(Span::default),
        Node::Comparison { property, operator, literal } if is_key(property) => {
            let EdmValue::String(text) = literal else {
                // Another type: the key counts as less.
                let holds = matches!(operator, Operator::NotEqual | Operator::Less | Operator::LessOrEqual);
                return (holds != negated).then(Span::default);
            };
            let interval = interval(if negated { operator.negated() } else { *operator }, text);
            let mut span = Span::default();
            *(if &**property == "RowKey" { &mut span.row } else { &mut span.partition }) = interval;
            Some(span)
        }
        Node::Comparison { .. } => Some(Span::default()),
        Node::Not(inner) => span_of(inner, !negated),
        Node::And(both) if negated => either(both, true),
        Node::Or(both) if !negated => either(both, false),
        Node::And(both) | Node::Or(both) => {
            let [left, right] = both.each_ref().map(|node| span_of(node, negated));
            let (left, right) = (left?, right?);
            let partition = left.partition.and(right.partition)?;
            Some(Span { partition, row: left.row.and(right.row)? })
        }
    }
}

fn is_key(property: &str) -> bool {
    matches!(property, "PartitionKey" | "RowKey")
}

fn either(both: &[Node; 2], negated: bool) -> Option<Span> {
    match both.each_ref().map(|node| span_of(node, negated)) {
        [Some(left), Some(right)] => {
            Some(Span { partition: left.partition.or(right.partition), row: left.row.or(right.row) })
        }
        [left, right] => left.or(right),
    }
}

fn interval(operator: Operator, text: &str) -> Interval {
    let mut key = Vec::with_capacity(text.len() + 3);
    encode_text(text, &mut key);
    let from = match operator {
        Operator::Equal | Operator::GreaterOrEqual => key.clone(),
        Operator::Greater => behind(key.clone()),
        _ => Vec::new(),
    };
    let to = match operator {
        Operator::Equal | Operator::LessOrEqual => Some(behind(key)),
        Operator::Less => Some(key),
        _ => None,
    };
    Interval { from, to }
}

impl Interval {
    /// The texts in both; `None` if there are none.
    fn and(self, other: Self) -> Option<Self> {
        let from = self.from.max(other.from);
        let to = match (self.to, other.to) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        to.as_ref().is_none_or(|to| from < *to).then_some(Self { from, to })
    }

    /// The least interval with both.
    fn or(self, other: Self) -> Self {
        Self { from: self.from.min(other.from), to: self.to.zip(other.to).map(|(a, b)| a.max(b)) }
    }
}
