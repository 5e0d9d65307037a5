//! Judges entities.
//!
//! A comparison with a property that the entity lacks is false, whatever it compares. A number is compared with a literal of
//! a narrower type. Any other two types are never equal, and the property counts as less than the literal. The service's
//! documents tell neither; the second is known of an emulator alone. So both are our rulings.

use super::{Node, Operator};
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
        Node::And(both) => both.iter().all(|node| passes(node, entity)),
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

/// Compares texts by their UTF-16 units. Below U+E000 bytes order as units do.
fn by_units(a: &str, b: &str) -> Ordering {
    let low = |text: &str| text.bytes().all(|byte| byte < 0xEE);
    if low(a) && low(b) { a.cmp(b) } else { a.encode_utf16().cmp(b.encode_utf16()) }
}
