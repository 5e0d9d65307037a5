//! The keys of all entities that may pass a filter, as one range.
//!
//! Keys are never missing, so a comparison of one with a text can be negated exactly. Everything else passes all keys.

use super::{KeyBounds, Node, Operator};
use crate::azure::edm::EdmValue;
use crate::azure::key::encode_text;
use std::ops::Bound;

/// An end of an interval: an encoded text, and whether it belongs to it.
type End = Option<(Vec<u8>, bool)>;

/// Texts from one end to the other, in their encoded order.
#[derive(Clone, Debug, Default, PartialEq)]
struct Interval {
    from: End,
    to: End,
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
        None => Span::default(),
        Some(root) => match span_of(root, false) {
            Some(span) => span,
            // Nothing passes: a range before all keys.
            None => return (Bound::Unbounded, Bound::Excluded(Vec::new())),
        },
    };
    let Span { partition: Interval { from, to }, row } = span;
    if let (Some((from, true)), Some((to, true))) = (&from, &to)
        && from == to
    {
        let of_row = |row: &[u8]| [from, row].concat();
        let lower = match row.from {
            None => Bound::Included(from.clone()),
            Some((row, true)) => Bound::Included(of_row(&row)),
            Some((row, false)) => Bound::Excluded(of_row(&row)),
        };
        let upper = match row.to {
            None => Bound::Excluded(behind(from.clone())),
            Some((row, true)) => Bound::Included(of_row(&row)),
            Some((row, false)) => Bound::Excluded(of_row(&row)),
        };
        return (lower, upper);
    }
    let lower = from.map_or(Bound::Unbounded, |(key, inside)| Bound::Included(if inside { key } else { behind(key) }));
    let upper = to.map_or(Bound::Unbounded, |(key, inside)| Bound::Excluded(if inside { behind(key) } else { key }));
    (lower, upper)
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
    let end = |inside| Some((key.clone(), inside));
    match operator {
        Operator::Equal => Interval { from: end(true), to: end(true) },
        Operator::NotEqual => Interval::default(),
        Operator::Greater => Interval { from: end(false), to: None },
        Operator::GreaterOrEqual => Interval { from: end(true), to: None },
        Operator::Less => Interval { from: None, to: end(false) },
        Operator::LessOrEqual => Interval { from: None, to: end(true) },
    }
}

impl Interval {
    /// The texts in both; `None` if there are none.
    fn and(self, other: Self) -> Option<Self> {
        let from = match (self.from, other.from) {
            (Some(a), Some(b)) => Some(if starts_later(&a, &b) { a } else { b }),
            (a, b) => a.or(b),
        };
        let to = match (self.to, other.to) {
            (Some(a), Some(b)) => Some(if ends_later(&a, &b) { b } else { a }),
            (a, b) => a.or(b),
        };
        let empty = match (&from, &to) {
            (Some((from, opens)), Some((to, closes))) => from > to || from == to && !(*opens && *closes),
            _ => false,
        };
        (!empty).then_some(Self { from, to })
    }

    /// The least interval with both.
    fn or(self, other: Self) -> Self {
        let from = self.from.zip(other.from).map(|(a, b)| if starts_later(&a, &b) { b } else { a });
        let to = self.to.zip(other.to).map(|(a, b)| if ends_later(&a, &b) { a } else { b });
        Self { from, to }
    }
}

/// Whether an interval that begins so begins later than one that begins like the other.
fn starts_later(a: &(Vec<u8>, bool), b: &(Vec<u8>, bool)) -> bool {
    a.0 > b.0 || a.0 == b.0 && !a.1
}

/// Whether an interval that ends so ends later than one that ends like the other.
fn ends_later(a: &(Vec<u8>, bool), b: &(Vec<u8>, bool)) -> bool {
    a.0 > b.0 || a.0 == b.0 && a.1
}
