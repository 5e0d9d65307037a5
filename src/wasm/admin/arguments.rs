//! Arguments from JavaScript, read by serde.
//!
//! An error names the argument by its path, such as `reservedThroughput.read`. The deserializer of serde-wasm-bindgen knows no
//! paths, and it weighs 10 KB zipped, because its messages print doubles. A struct gets its members in the order of its fields
//! (`visit_seq`), so no names are compared. Other members are ignored: the package refuses unknown ones.

use crate::error::{Error, Result};
use js_sys::{Array, Number, Object, Reflect};
use serde::de::value::U32Deserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Expected, SeqAccess, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use std::fmt;
use wasm_bindgen::{JsCast as _, JsValue};

/// The largest integer up to which doubles hold every integer: `Number.MAX_SAFE_INTEGER`.
const SAFE: f64 = 9_007_199_254_740_991.0;

/// The arguments of an operation.
pub(in crate::wasm) struct Arguments(Argument<'static>);

impl Arguments {
    pub(in crate::wasm) fn new(value: JsValue) -> Self {
        Self(Argument { value, place: Place::Whole })
    }

    /// Reads the arguments that a struct names. Several structs may share them.
    pub(in crate::wasm) fn read<T: DeserializeOwned>(&self) -> Result<T> {
        T::deserialize(&self.0)
    }

    /// Reads the argument with this name.
    pub(in crate::wasm) fn get<T: DeserializeOwned>(&self, name: &'static str) -> Result<T> {
        T::deserialize(&self.0.member(name))
    }

    /// The argument with this name, as it was given.
    pub(super) fn raw(&self, name: &'static str) -> JsValue {
        self.0.member(name).value
    }

    /// The table of the operation.
    pub(super) fn table(&self) -> Result<String> {
        self.get("tableName")
    }
}

/// The error of a wrong argument.
pub(super) fn wrong(path: &str, wanted: &str, given: &str) -> Error {
    let error = Error::parameter(format!("The argument '{path}' is {given}; it must be {wanted}."));
    error.with_argument(path, wanted, given)
}

/// The place of a value among the arguments.
#[derive(Clone, Copy)]
enum Place<'p> {
    Whole,
    Member(&'p Place<'p>, &'static str),
    Item(&'p Place<'p>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => Ok(()),
            Self::Member(Self::Whole, name) => f.write_str(name),
            Self::Member(outer, name) => write!(f, "{outer}.{name}"),
            Self::Item(outer, number) => write!(f, "{outer}[{number}]"),
        }
    }
}

/// One value.
struct Argument<'p> {
    value: JsValue,
    place: Place<'p>,
}

impl Argument<'_> {
    #[cold]
    fn wrong(&self, wanted: &str) -> Error {
        let given = if self.value.is_undefined() {
            "missing".to_owned()
        } else if self.value.is_null() {
            "null".to_owned()
        } else if let Some(number) = self.value.dyn_ref::<Number>() {
            // JavaScript prints it, because Rust's own code for printing doubles is large.
            AsRef::<Object>::as_ref(number).to_string().into()
        } else if let Some(text) = self.value.as_string() {
            format!("'{text}'")
        } else {
            format!("a {}", self.value.js_typeof().as_string().unwrap_or_default())
        };
        wrong(&self.place.to_string(), wanted, &given)
    }

    /// An integer, from a number or a bigint.
    fn integer(&self) -> Result<i64> {
        let integer = match self.value.as_f64() {
            #[expect(clippy::cast_possible_truncation, reason = "a safe integer")]
            Some(number) if number.fract() == 0.0 && number.abs() <= SAFE => Some(number as i64),
            Some(_) => None,
            None => i64::try_from(self.value.clone()).ok(),
        };
        integer.ok_or_else(|| self.wrong("an integer"))
    }

    fn text(&self) -> Result<String> {
        self.value.as_string().ok_or_else(|| self.wrong("a string"))
    }

    /// The position of the given name among these.
    fn choice(&self, names: &[&str]) -> Result<u32> {
        let given = self.text()?;
        let chosen = names.iter().zip(0..).find(|(name, _)| **name == given);
        chosen.map(|(_, number)| number).ok_or_else(|| self.wrong(&names.join(" or ")))
    }

    fn member(&self, name: &'static str) -> Argument<'_> {
        // A value other than an object has no members: reading one throws.
        let value = Reflect::get(&self.value, &JsValue::from_str(name)).unwrap_or(JsValue::UNDEFINED);
        Argument { value, place: Place::Member(&self.place, name) }
    }

    /// The members with these names.
    fn members<'a>(&'a self, names: &'static [&'static str]) -> Result<Parts<'a>> {
        // An operation may get no arguments at all.
        if !self.value.is_object() && !matches!(self.place, Place::Whole) {
            return Err(self.wrong("an object"));
        }
        Ok(Parts::new(self, names, names.len()))
    }

    /// The items of a list.
    fn items(&self) -> Result<Parts<'_>> {
        let list = self.value.dyn_ref::<Array>().ok_or_else(|| self.wrong("an array"))?;
        Ok(Parts::new(self, &[], list.length() as usize))
    }
}

/// The members of an object in the order of a struct's fields, or the items of a list. A missing member is `undefined`.
struct Parts<'a> {
    of: &'a Argument<'a>,
    /// Empty for a list.
    names: &'static [&'static str],
    count: usize,
    next: usize,
    /// The part that is being read.
    part: Argument<'a>,
}

impl<'a> Parts<'a> {
    fn new(of: &'a Argument<'a>, names: &'static [&'static str], count: usize) -> Self {
        Self { of, names, count, next: 0, part: Argument { value: JsValue::UNDEFINED, place: Place::Whole } }
    }

    /// Goes to the next part, if there is one.
    fn advance(&mut self) -> bool {
        let number = self.next;
        if number == self.count {
            return false;
        }
        self.next = number + 1;
        self.part = match self.names.get(number) {
            Some(name) => self.of.member(name),
            None => Argument {
                value: self.of.value.unchecked_ref::<Array>().get(number as u32),
                place: Place::Item(&self.of.place, number),
            },
        };
        true
    }
}

impl<'de> SeqAccess<'de> for Parts<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        if self.advance() { seed.deserialize(&self.part).map(Some) } else { Ok(None) }
    }
}

/// Reads a size or a count. Its type limits it.
macro_rules! counts {
    ($($read:ident, $wanted:literal;)*) => {
        $(fn $read<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            visitor.visit_i64(self.integer()?).map_err(|_: Error| self.wrong($wanted))
        })*
    };
}

impl<'de> Deserializer<'de> for &Argument<'_> {
    type Error = Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_seq(self.members(fields)?)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_seq(self.items()?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.value.is_undefined() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_string(self.text()?)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_bool(self.value.as_bool().ok_or_else(|| self.wrong("true or false"))?)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_i64(self.integer()?)
    }

    counts! {
        deserialize_u32, "an integer from 0 to 4294967295";
        deserialize_u64, "an integer of at least 0";
    }

    /// An amount of money or of units. Nothing else is a double.
    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let amount = self.value.as_f64().filter(|amount| (0.0..=f64::MAX).contains(amount));
        visitor.visit_f64(amount.ok_or_else(|| self.wrong("a number of at least 0"))?)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        visitor.visit_enum(U32Deserializer::new(self.choice(names)?))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value> {
        Err(self.wrong("of a known type"))
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i128 u8 u16 u128 f32 char str bytes byte_buf unit unit_struct newtype_struct tuple tuple_struct map
        identifier ignored_any
    }
}

/// Refusals by serde's own code. [`Argument`] describes them better, so nothing is formatted here.
impl serde::de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::parameter(message.to_string())
    }

    fn invalid_type(_: Unexpected<'_>, _: &dyn Expected) -> Self {
        Self::parameter("An argument is wrong.")
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn invalid_length(_: usize, expected: &dyn Expected) -> Self {
        Self::invalid_type(Unexpected::Unit, expected)
    }
}
