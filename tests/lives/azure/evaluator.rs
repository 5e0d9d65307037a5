//! Filters and entities as the rules of the service describe them (2.5), and random ones.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Write;
use tabstore::azure::{EdmValue, date_time};

/// Texts of keys: where UTF-8 and UTF-16 differ in their order, and where one begins another.
pub(super) const KEYS: [&str; 12] =
    ["", "a", "b", "\u{FFFD}", "\u{1F600}", "B", "bB", "a'b", "a\u{1F600}", "é", "\u{E000}", "ab c"];
/// Names of properties.
pub(super) const NAMES: [&str; 6] = ["a", "A", "flag", "名前", "nai\u{308}ve", "_9"];
/// The properties that every entity has.
const OWN: [&str; 3] = ["PartitionKey", "RowKey", "Timestamp"];
/// The first tick of the year 1.
const YEAR_1: i64 = -504_911_232_000_000_000;

/// Draws what is random.
pub(super) struct Draw(u64);

impl Draw {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    pub(super) fn below(&mut self, end: u32) -> u32 {
        (self.next() >> 33) as u32 % end
    }

    pub(super) fn one_in(&mut self, count: u32) -> bool {
        self.below(count) == 0
    }

    pub(super) fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len() as u32) as usize]
    }

    /// The properties of an entity.
    pub(super) fn values(&mut self) -> BTreeMap<&'static str, Value> {
        let mut values = BTreeMap::new();
        for name in NAMES {
            if !self.one_in(3) {
                values.insert(name, Value::any(self));
            }
        }
        values
    }
}

/// A value of one of the eight types.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Text(String),
    Int(i32),
    Long(i64),
    Double(f64),
    Bool(bool),
    Time(i64),
    Guid([u8; 16]),
    Bytes(Vec<u8>),
}

impl Value {
    /// A value of few, so that many are equal.
    fn any(draw: &mut Draw) -> Self {
        match draw.below(8) {
            0 => Self::Text((*draw.of(&KEYS)).to_owned()),
            1 => Self::Int(*draw.of(&[0, 1, 2, -1, i32::MAX, i32::MIN])),
            2 => Self::Long(*draw.of(&[0, 1, 2, -1, 1 << 53, (1 << 53) + 1, i64::MAX, i64::MIN, 1 << 31])),
            3 => Self::Double(*draw.of(&[
                0.0,
                -0.0,
                1.0,
                1.5,
                -1.0,
                2.0,
                1e300,
                5e-324,
                9_007_199_254_740_992.0,
                f64::NAN,
                f64::INFINITY,
                f64::NEG_INFINITY,
            ])),
            4 | 5 => Self::Bool(draw.one_in(2)),
            6 => Self::Time(*draw.of(&[0, 1, date_time::UNIX_EPOCH, date_time::UNIX_EPOCH + 1, date_time::MAX])),
            _ if draw.one_in(2) => Self::Guid([*draw.of(&[0, 1, 0x80, 0xFF]); 16]),
            _ => Self::Bytes(draw.of(&[&b""[..], b"\0", b"a", b"ab", b"\xFF", b"a\0"]).to_vec()),
        }
    }

    pub(super) fn of(value: &EdmValue<'_>) -> Self {
        match value {
            EdmValue::String(text) => Self::Text(text.to_string()),
            EdmValue::Int32(value) => Self::Int(*value),
            EdmValue::Int64(value) => Self::Long(*value),
            EdmValue::Double(value) => Self::Double(*value),
            EdmValue::Boolean(value) => Self::Bool(*value),
            EdmValue::DateTime(ticks) => Self::Time(*ticks),
            EdmValue::Guid(bytes) => Self::Guid(*bytes),
            EdmValue::Binary(bytes) => Self::Bytes(bytes.to_vec()),
        }
    }

    pub(super) fn as_edm(&self) -> EdmValue<'_> {
        match self {
            Self::Text(text) => EdmValue::String(Cow::Borrowed(text)),
            Self::Int(value) => EdmValue::Int32(*value),
            Self::Long(value) => EdmValue::Int64(*value),
            Self::Double(value) => EdmValue::Double(*value),
            Self::Bool(value) => EdmValue::Boolean(*value),
            Self::Time(ticks) => EdmValue::DateTime(*ticks),
            Self::Guid(bytes) => EdmValue::Guid(*bytes),
            Self::Bytes(bytes) => EdmValue::Binary(Cow::Borrowed(bytes)),
        }
    }

    /// Whether it is the same, to the bits of a double.
    pub(super) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Double(a), Self::Double(b)) => a.to_bits() == b.to_bits(),
            _ => self.as_edm() == other.as_edm(),
        }
    }

    /// Its text as a literal.
    fn write(&self, draw: &mut Draw, out: &mut String) {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let _ = match self {
            Self::Text(text) => write!(out, "'{}'", text.replace('\'', "''")),
            Self::Int(value) => write!(out, "{value}"),
            Self::Long(value) if i32::try_from(*value).is_err() && draw.one_in(2) => write!(out, "{value}"),
            Self::Long(value) => write!(out, "{value}L"),
            Self::Double(value) if draw.one_in(2) => write!(out, "{value:e}"),
            Self::Double(value) => write!(out, "{value:?}"),
            Self::Bool(value) => write!(out, "{value}"),
            Self::Time(YEAR_1) => write!(out, "datetime'0001-01-01{}'", draw.of(&["", "T00:00:00Z"])),
            Self::Time(ticks) => write!(out, "datetime'{}'", date_time::format(*ticks)),
            Self::Guid(bytes) => {
                let text = hex(bytes);
                let parts = [&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]];
                write!(out, "guid'{}'", parts.join("-"))
            }
            Self::Bytes(bytes) => write!(out, "{}'{}'", draw.of(&["X", "binary"]), hex(bytes)),
        };
    }
}

/// An entity.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) keys: [String; 2],
    pub(super) time: i64,
    pub(super) values: BTreeMap<&'static str, Value>,
}

impl Row {
    pub(super) fn is(&self, other: &Self) -> bool {
        let pairs = self.values.iter().zip(&other.values);
        self.keys == other.keys
            && self.time == other.time
            && self.values.len() == other.values.len()
            && pairs.into_iter().all(|(a, b)| a.0 == b.0 && a.1.is(b.1))
    }

    fn value(&self, name: &str) -> Option<Value> {
        match name {
            "PartitionKey" => Some(Value::Text(self.keys[0].clone())),
            "RowKey" => Some(Value::Text(self.keys[1].clone())),
            "Timestamp" => Some(Value::Time(self.time)),
            _ => self.values.get(name).cloned(),
        }
    }
}

/// A filter.
#[derive(Clone, Debug)]
pub(super) enum Expression {
    Compare(&'static str, &'static str, Value),
    Is(&'static str),
    Constant(bool),
    Not(Box<Self>),
    And(Box<[Self; 2]>),
    Or(Box<[Self; 2]>),
}

/// Operators, and what they are with their sides swapped.
const OPERATORS: [(&str, &str); 6] =
    [("eq", "eq"), ("ne", "ne"), ("gt", "lt"), ("ge", "le"), ("lt", "gt"), ("le", "ge")];

impl Expression {
    /// Any filter, of at most 15 comparisons. `times` are those of entities.
    pub(super) fn any(draw: &mut Draw, times: &[i64]) -> Self {
        let leaves = if draw.one_in(4) { 1 + draw.below(15) } else { 1 + draw.below(4) };
        Self::of(leaves, draw, times)
    }

    fn of(leaves: u32, draw: &mut Draw, times: &[i64]) -> Self {
        if draw.one_in(6) {
            return Self::Not(Box::new(Self::of(leaves, draw, times)));
        }
        if leaves == 1 {
            return Self::leaf(draw, times);
        }
        let left = 1 + draw.below(leaves - 1);
        let both = Box::new([Self::of(left, draw, times), Self::of(leaves - left, draw, times)]);
        if draw.one_in(2) { Self::And(both) } else { Self::Or(both) }
    }

    fn leaf(draw: &mut Draw, times: &[i64]) -> Self {
        if draw.one_in(20) {
            return Self::Constant(draw.one_in(2));
        }
        let all = [OWN[0], OWN[1]].into_iter().chain(OWN).chain(NAMES);
        let name = *draw.of(&all.collect::<Vec<_>>());
        if draw.one_in(10) {
            return Self::Is(name);
        }
        let (operator, _) = *draw.of(&OPERATORS);
        let literal = match name {
            // Most comparisons of these are with their own type.
            "PartitionKey" | "RowKey" if !draw.one_in(8) => Value::Text((*draw.of(&KEYS)).to_owned()),
            "Timestamp" if !draw.one_in(8) && !times.is_empty() => {
                let time = *draw.of(times);
                Value::Time(*draw.of(&[time, time, time + 1, time - 1, YEAR_1]))
            }
            _ => loop {
                match Value::any(draw) {
                    // No literal is one of these.
                    Value::Double(value) if !value.is_finite() => {}
                    value => break value,
                }
            },
        };
        Self::Compare(name, operator, literal)
    }

    /// Whether it passes an entity.
    pub(super) fn passes(&self, row: &Row) -> bool {
        match self {
            Self::Compare(name, operator, literal) => {
                row.value(name).is_some_and(|value| holds(&value, operator, literal))
            }
            Self::Is(name) => matches!(row.value(name), Some(Value::Bool(true))),
            Self::Constant(value) => *value,
            Self::Not(inner) => !inner.passes(row),
            Self::And(both) => both[0].passes(row) && both[1].passes(row),
            Self::Or(both) => both[0].passes(row) || both[1].passes(row),
        }
    }

    /// How strongly it binds.
    fn strength(&self) -> u32 {
        match self {
            Self::Or(_) => 0,
            Self::And(_) => 1,
            Self::Not(_) => 2,
            _ => 3,
        }
    }

    /// One of its texts.
    pub(super) fn text(&self, draw: &mut Draw) -> String {
        let mut text = String::new();
        self.write(0, draw, &mut text);
        text
    }

    /// Writes it where something stands that binds as strongly as `least`.
    fn write(&self, least: u32, draw: &mut Draw, out: &mut String) {
        if self.strength() < least || draw.one_in(8) {
            out.push('(');
            self.write(0, draw, out);
            out.push(')');
            return;
        }
        let blank = *draw.of(&[" ", " ", " ", "  ", "\t"]);
        match self {
            Self::Compare(name, operator, literal) if draw.one_in(3) => {
                let swapped = OPERATORS.iter().find(|(other, _)| other == operator).expect("known").1;
                literal.write(draw, out);
                out.extend([blank, swapped, blank, name]);
            }
            Self::Compare(name, operator, literal) => {
                out.extend([*name, blank, operator, blank]);
                literal.write(draw, out);
            }
            Self::Is(name) => out.push_str(name),
            Self::Constant(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Not(inner) => {
                out.extend(["not", blank]);
                inner.write(2, draw, out);
            }
            Self::And(both) | Self::Or(both) => {
                let strength = self.strength();
                both[0].write(strength, draw, out);
                out.extend([blank, if strength == 1 { "and" } else { "or" }, blank]);
                both[1].write(strength, draw, out);
            }
        }
    }
}

/// Whether a comparison holds. The types are the same, or the literal's is a narrower one of numbers; else the two are unlike, and
/// the property counts as less.
fn holds(value: &Value, operator: &str, literal: &Value) -> bool {
    let order = match (value, literal) {
        (Value::Text(a), Value::Text(b)) => {
            Some(a.encode_utf16().collect::<Vec<_>>().cmp(&b.encode_utf16().collect::<Vec<_>>()))
        }
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Long(a), Value::Long(b)) => Some(a.cmp(b)),
        (Value::Long(a), Value::Int(b)) => Some(a.cmp(&i64::from(*b))),
        (Value::Double(a), Value::Double(b)) => a.partial_cmp(b),
        (Value::Double(a), Value::Int(b)) => a.partial_cmp(&f64::from(*b)),
        (Value::Double(a), Value::Long(b)) => a.partial_cmp(&(*b as f64)),
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        (Value::Time(a), Value::Time(b)) => Some(a.cmp(b)),
        (Value::Guid(a), Value::Guid(b)) => Some(a.cmp(b)),
        (Value::Bytes(a), Value::Bytes(b)) => Some(a.cmp(b)),
        _ => Some(Ordering::Less),
    };
    match (operator, order) {
        ("ne", order) => order != Some(Ordering::Equal),
        // NaN is unlike everything.
        (_, None) => false,
        ("eq", Some(order)) => order.is_eq(),
        ("gt", Some(order)) => order.is_gt(),
        ("ge", Some(order)) => order.is_ge(),
        ("lt", Some(order)) => order.is_lt(),
        (_, Some(order)) => order.is_le(),
    }
}
