//! Judges entities.
//!
//! A comparison with a property that the entity lacks is false, whatever it compares. A number is compared with a literal of
//! a narrower type. Any other two types are never equal, and the property counts as less than the literal. The service's
//! documents tell neither; the second is known of an emulator alone. So both are our rulings.

use super::tree::{Node, Operator};
use crate::azure::edm::EdmValue;
use crate::azure::entity::Entity;
use std::cmp::Ordering;

pub(super) fn passes(node: &Node, entity: &dyn Entity) -> bool {
    match node {
        Node::Constant(value) => *value,
        Node::Property(property) => entity.value(property) == Some(EdmValue::Boolean(true)),
        Node::Comparison { property, operator, literal } => {
            entity.value(property).is_some_and(|value| holds(&value, *operator, literal))
        }
        Node::Not(inner) => !passes(inner, entity),
        // Backwards: keys are mostly named first, and a scan has chosen its rows by them. They need not be decoded where a property
        // fails.
        Node::And(both) => both.iter().rev().all(|node| passes(node, entity)),
        Node::Or(both) => both.iter().any(|node| passes(node, entity)),
    }
}

/// Whether a comparison holds for a value.
pub(super) fn holds(value: &EdmValue<'_>, operator: Operator, literal: &EdmValue<'_>) -> bool {
    let order = match (value, literal) {
        (EdmValue::String(value), EdmValue::String(literal)) => Some(by_units(value, literal)),
        (EdmValue::Int32(value), EdmValue::Int32(literal)) => Some(value.cmp(literal)),
        (EdmValue::Int64(value), EdmValue::Int64(literal)) => Some(value.cmp(literal)),
        (EdmValue::Int64(value), EdmValue::Int32(literal)) => Some(value.cmp(&i64::from(*literal))),
        (EdmValue::Double(value), EdmValue::Double(literal)) => value.partial_cmp(literal),
        (EdmValue::Double(value), EdmValue::Int32(literal)) => value.partial_cmp(&f64::from(*literal)),
        #[expect(clippy::cast_precision_loss, reason = "it is widened as the service widens it")]
        (EdmValue::Double(value), EdmValue::Int64(literal)) => value.partial_cmp(&(*literal as f64)),
        (EdmValue::Boolean(value), EdmValue::Boolean(literal)) => Some(value.cmp(literal)),
        (EdmValue::DateTime(value), EdmValue::DateTime(literal)) => Some(value.cmp(literal)),
        (EdmValue::Guid(value), EdmValue::Guid(literal)) => Some(value.cmp(literal)),
        (EdmValue::Binary(value), EdmValue::Binary(literal)) => Some(value.cmp(literal)),
        _ => Some(Ordering::Less),
    };
    // NaN is unlike everything, itself included.
    let Some(order) = order else { return operator == Operator::NotEqual };
    match operator {
        Operator::Equal => order == Ordering::Equal,
        Operator::NotEqual => order != Ordering::Equal,
        Operator::Greater => order == Ordering::Greater,
        Operator::GreaterOrEqual => order != Ordering::Less,
        Operator::Less => order == Ordering::Less,
        Operator::LessOrEqual => order != Ordering::Greater,
    }
}

/// Compares texts by their UTF-16 units. The first bytes that differ order as the units do, unless they begin a character of
/// U+E000 to U+FFFF and one beyond, whose units are lower.
fn by_units(a: &str, b: &str) -> Ordering {
    match a.bytes().zip(b.bytes()).find(|(a, b)| a != b) {
        Some((0xEE | 0xEF, 0xF0..)) => Ordering::Greater,
        Some((0xF0.., 0xEE | 0xEF)) => Ordering::Less,
        Some((a, b)) => a.cmp(&b),
        None => a.len().cmp(&b.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn azure_z3_texts_compare_by_their_utf16_units(
            a in "[a\u{e9}\u{e000}\u{d7ff}\u{ffff}\u{10000}\u{1f600}]{0,4}",
            b in "[a\u{e9}\u{e000}\u{d7ff}\u{ffff}\u{10000}\u{1f600}]{0,4}",
            any in any::<(String, String)>(),
        ) {
            for (a, b) in [(&a, &b), (&any.0, &any.1)] {
                prop_assert_eq!(by_units(a, b), a.encode_utf16().cmp(b.encode_utf16()));
            }
        }
    }
}
