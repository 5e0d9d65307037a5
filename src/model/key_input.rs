//! Primary keys and ends of ranges in requests: named columns that still have to fit a schema.

use super::key::{self, MAX_KEY_COLUMNS, encode_value};
use super::schema::{wrong_key_count, wrong_key_type};
use super::{KeyColumn, KeyRefs, TableSchema, ValueRef};
use crate::collections::few::Few;
use crate::error::{Code, Error, Result};
use crate::model::limits;

/// The most characters of a text in a hint.
const SHOWN_CHARACTERS: usize = 40;

/// One column of a key, or of an end of a range (R3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeyPart<'a> {
    /// This value.
    Value(ValueRef<'a>),
    /// Before every value.
    InfMin,
    /// After every value.
    InfMax,
    /// Assigned by the store: for the auto-increment column of a written row (R6).
    AutoIncrement,
}

/// A primary key in a request.
#[derive(Clone, Debug)]
pub struct KeyInput<'a> {
    columns: Few<(&'a str, KeyPart<'a>)>,
    /// The number of given columns; those that fit no schema are only counted.
    count: usize,
    any_order: bool,
}

impl<'a> KeyInput<'a> {
    /// A key whose columns must come in the schema's order.
    #[must_use]
    pub fn new() -> Self {
        Self { columns: Few::new(("", KeyPart::InfMin)), count: 0, any_order: false }
    }

    /// A key whose columns come in no order, like an object's properties.
    #[must_use]
    pub fn any_order() -> Self {
        Self { any_order: true, ..Self::new() }
    }

    /// Whether its columns come in no order. Then those of its row do, too.
    #[must_use]
    pub fn is_any_order(&self) -> bool {
        self.any_order
    }

    /// Adds a column.
    pub fn push(&mut self, name: &'a str, part: KeyPart<'a>) {
        if self.count < MAX_KEY_COLUMNS {
            self.columns.push((name, part));
        }
        self.count += 1;
    }

    /// Whether no column was given: for an end of a range, the end of the table.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many columns were given.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Refuses a number of columns that no table's key can have (R8).
    ///
    /// # Errors
    /// `OTSParameterInvalid`.
    pub fn check_count(&self) -> Result<()> {
        if limits::KEY_COLUMNS.contains(&self.count) { Ok(()) } else { Err(wrong_key_count(self.count)) }
    }

    /// The given columns, at most as many as a key can have.
    #[must_use]
    pub fn columns(&self) -> &[(&'a str, KeyPart<'a>)] {
        &self.columns
    }

    /// The bytes that units count for the key: names and values (C1).
    #[must_use]
    pub fn metered_bytes(&self) -> usize {
        let value = |part: &KeyPart<'_>| match part {
            KeyPart::Value(value) => value.metered_bytes(),
            KeyPart::AutoIncrement => ValueRef::Integer(0).metered_bytes(),
            KeyPart::InfMin | KeyPart::InfMax => 0,
        };
        self.columns().iter().map(|(name, part)| name.len() + value(part)).sum()
    }

    /// How many columns the store has to assign.
    #[must_use]
    pub fn auto_increments(&self) -> usize {
        self.columns().iter().filter(|(_, part)| *part == KeyPart::AutoIncrement).count()
    }

    /// Checks the key of a read row without its table: no infinities, no value to assign, key types only, not too long.
    ///
    /// # Errors
    /// `OTSParameterInvalid`.
    pub fn check_row(&self) -> Result<()> {
        if self.auto_increments() > 0 { Err(no_auto_increment()) } else { self.check_write() }
    }

    /// The same for a written row. The store may have to assign one column of its key.
    ///
    /// # Errors
    /// `OTSParameterInvalid`.
    pub fn check_write(&self) -> Result<()> {
        for (name, part) in self.columns() {
            match part {
                KeyPart::InfMin => return Err(wrong_type("VT_INF_MIN", name)),
                KeyPart::InfMax => return Err(wrong_type("VT_INF_MAX", name)),
                KeyPart::Value(value) => check_value(name, *value)?,
                KeyPart::AutoIncrement => {}
            }
        }
        match self.auto_increments() {
            0 | 1 => Ok(()),
            more => Err(Error::parameter(format!("{more} pk auto increment exist in row."))),
        }
    }

    /// The same for an end of a range, which may have infinities.
    ///
    /// # Errors
    /// `OTSParameterInvalid`.
    pub fn check_end(&self) -> Result<()> {
        self.columns().iter().try_for_each(|(name, part)| match part {
            KeyPart::Value(value) => check_value(name, *value),
            KeyPart::InfMin | KeyPart::InfMax => Ok(()),
            KeyPart::AutoIncrement => Err(no_auto_increment()),
        })
    }

    /// The parts in the schema's order.
    ///
    /// # Errors
    /// `OTSInvalidPK` if the number, the names or the types of the columns differ from the schema's.
    fn fit(&self, schema: &TableSchema) -> Result<Few<KeyPart<'a>>> {
        self.fit_columns(schema, schema.key())
    }

    /// The same for `columns`, the first columns of the schema.
    fn fit_columns(&self, schema: &TableSchema, columns: &[KeyColumn]) -> Result<Few<KeyPart<'a>>> {
        if self.count != columns.len() {
            let text = format!("Validate PK size fail. Input: {}, Meta: {}.", self.count, columns.len());
            return Err(self.misfit(columns, text));
        }
        let mut parts = Few::new(KeyPart::InfMin);
        for (column, given) in columns.iter().zip(self.columns()) {
            parts.push(if given.0 == column.name {
                given.1
            } else {
                match self.columns().iter().find(|(name, _)| self.any_order && *name == column.name) {
                    Some((_, part)) => *part,
                    None => {
                        let input = self.culprit(schema, given.0);
                        let text = format!("Validate PK name fail. Input: {input}, Meta: {}.", column.name);
                        return Err(self.misfit(columns, text));
                    }
                }
            });
        }
        for (column, part) in columns.iter().zip(parts.iter()) {
            if let KeyPart::Value(value) = part
                && value.value_type() != column.key_type.value_type()
            {
                let (input, meta) = (value.value_type().variant(), column.key_type.value_type().variant());
                let text = format!("Validate PK type fail. Input: {input}, Meta: {meta}.");
                return Err(self.misfit(columns, text));
            }
        }
        Ok(parts)
    }

    /// The column that does not fit. If columns have no order, it is the one that the schema does not have.
    fn culprit(&self, schema: &TableSchema, at_place: &'a str) -> &'a str {
        let unknown = self.columns().iter().find(|(name, _)| !schema.is_key(name)).map(|(name, _)| *name);
        unknown.filter(|_| self.any_order).unwrap_or(at_place)
    }

    /// The error of a key that does not fit these columns: `text`, and the fault of each column.
    fn misfit(&self, columns: &[KeyColumn], text: String) -> Error {
        let meta = columns.iter().map(|column| format!("{} {}", column.name, column.key_type.as_str()));
        let mut hint = format!("the key is ({})", meta.collect::<Vec<_>>().join(", "));
        for column in columns {
            let expected = column.key_type.value_type();
            let wrong = match self.columns().iter().find(|(name, _)| *name == column.name) {
                None => " is missing".to_owned(),
                Some((_, KeyPart::Value(value))) if value.value_type() != expected => {
                    format!(": expected {}, given {}", expected.as_str(), value.value_type().as_str())
                }
                Some(_) => continue,
            };
            hint = format!("{hint}; '{}'{wrong}", column.name);
        }
        for (name, _) in self.columns() {
            if columns.iter().all(|column| column.name != *name) {
                hint = format!("{hint}; '{name}' is no key column");
            }
        }
        Error::new(Code::InvalidPk, text).with_hint(hint)
    }

    /// The error of an end of a range; if it lacks columns, with what stands for them.
    fn half(&self, schema: &TableSchema, error: Error) -> Error {
        match error.hint() {
            Some(hint) if self.count < schema.key().len() => {
                let hint =
                    format!("{hint}. Give INF_MIN for what is missing at the smaller end, INF_MAX at the larger");
                error.with_hint(hint)
            }
            _ => error,
        }
    }

    /// The key as shown in hints.
    #[must_use]
    pub fn shown(&self) -> String {
        let part = |part: &KeyPart<'_>| match part {
            KeyPart::Value(ValueRef::Integer(value)) => value.to_string(),
            KeyPart::Value(ValueRef::String(text)) => {
                let start: String = text.chars().take(SHOWN_CHARACTERS).collect();
                format!("'{start}{}'", if start.len() < text.len() { "…" } else { "" })
            }
            KeyPart::Value(other) => format!("{} of {} bytes", other.value_type().as_str(), other.metered_bytes()),
            KeyPart::InfMin => "INF_MIN".to_owned(),
            KeyPart::InfMax => "INF_MAX".to_owned(),
            KeyPart::AutoIncrement => "AUTO_INCREMENT".to_owned(),
        };
        let columns = self.columns().iter().map(|(name, of)| format!("{name}: {}", part(of)));
        format!("({})", columns.collect::<Vec<_>>().join(", "))
    }

    /// A row's key in the schema's order.
    ///
    /// # Errors
    /// As [`KeyInput::fit`].
    pub fn fit_row(&self, schema: &TableSchema) -> Result<KeyRefs<'a>> {
        self.fit_new_row(schema, &mut || Err(wrong_key_type("VT_AUTO_INCREMENT")))
    }

    /// The key of a written row, in the schema's order. `assign` returns the value of the auto-increment column if the
    /// store has to choose it.
    ///
    /// # Errors
    /// As [`KeyInput::fit`], and errors of `assign`.
    pub fn fit_new_row(&self, schema: &TableSchema, assign: &mut dyn FnMut() -> Result<i64>) -> Result<KeyRefs<'a>> {
        self.values(schema, schema.key(), assign)
    }

    /// A partition key value alone.
    ///
    /// # Errors
    /// As [`KeyInput::fit`].
    pub fn fit_partition(&self, schema: &TableSchema) -> Result<KeyRefs<'a>> {
        let columns = schema.key().get(..1).unwrap_or_default();
        self.values(schema, columns, &mut || Err(wrong_key_type("VT_AUTO_INCREMENT")))
    }

    /// The values, if all columns come in order and with the right types, as nearly always.
    fn fits_at_once(&self, columns: &[KeyColumn]) -> Option<KeyRefs<'a>> {
        if self.count != columns.len() {
            return None;
        }
        let mut key = KeyRefs::default();
        for (column, (name, part)) in columns.iter().zip(self.columns()) {
            match part {
                KeyPart::Value(value) if *name == column.name && value.value_type() == column.key_type.value_type() => {
                    key.push(*value);
                }
                _ => return None,
            }
        }
        Some(key)
    }

    fn values(
        &self,
        schema: &TableSchema,
        columns: &[KeyColumn],
        assign: &mut dyn FnMut() -> Result<i64>,
    ) -> Result<KeyRefs<'a>> {
        if let Some(key) = self.fits_at_once(columns) {
            return Ok(key);
        }
        let parts = self.fit_columns(schema, columns)?;
        let mut key = KeyRefs::default();
        for (at, part) in parts.iter().take(columns.len()).enumerate() {
            match part {
                KeyPart::Value(value) => key.push(*value),
                KeyPart::AutoIncrement if schema.auto_increment() == Some(at) => {
                    key.push(ValueRef::Integer(assign()?));
                }
                KeyPart::InfMin => return Err(wrong_key_type("VT_INF_MIN")),
                KeyPart::InfMax => return Err(wrong_key_type("VT_INF_MAX")),
                KeyPart::AutoIncrement => {
                    let name = columns.get(at).map_or("", |column| &column.name);
                    let hint = format!("'{name}' was not created with autoIncrement");
                    return Err(wrong_key_type("VT_AUTO_INCREMENT").with_hint(hint));
                }
            }
        }
        Ok(key)
    }

    /// Appends the bytes of an end of a range. If no column was given, `open` stands for each.
    ///
    /// # Errors
    /// As [`KeyInput::fit`].
    pub fn encode_end(&self, schema: &TableSchema, open: KeyPart<'a>, out: &mut Vec<u8>) -> Result<()> {
        let parts = if self.is_empty() {
            Few::new(open)
        } else {
            self.fit(schema).map_err(|error| self.half(schema, error))?
        };
        for at in 0..schema.key().len() {
            match parts.get(at).unwrap_or(&open) {
                KeyPart::Value(value) => encode_value(*value, out),
                KeyPart::InfMin => out.push(key::INF_MIN),
                KeyPart::InfMax => out.push(key::INF_MAX),
                KeyPart::AutoIncrement => return Err(no_auto_increment()),
            }
        }
        Ok(())
    }
}

impl Default for KeyInput<'_> {
    fn default() -> Self {
        Self::new()
    }
}

fn check_value(name: &str, value: ValueRef<'_>) -> Result<()> {
    let length = match value {
        ValueRef::Integer(_) => return Ok(()),
        ValueRef::String(v) => v.len(),
        ValueRef::Binary(v) => v.len(),
        other => return Err(wrong_type(other.value_type().as_str(), name)),
    };
    let max = limits::KEY_VALUE_BYTES;
    if length > max {
        let text = format!(
            "The length of primary key column: '{name}' exceeds the MaxLength:{max} with CurrentLength:{length}."
        );
        return Err(Error::parameter(text));
    }
    Ok(())
}

fn no_auto_increment() -> Error {
    Error::parameter("PKAutoIncr can't be used for read operations.")
}

fn wrong_type(given: &str, column: &str) -> Error {
    let hint = format!("'{column}': expected STRING, INTEGER or BINARY, given {given}");
    wrong_key_type(given).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{KeyColumn, KeyType};

    fn schema() -> TableSchema {
        TableSchema::new(vec![KeyColumn::new("PK1", KeyType::Integer), KeyColumn::new("PK2", KeyType::String)])
            .expect("right")
    }

    fn input<'a>(mut to: KeyInput<'a>, columns: &[(&'a str, ValueRef<'a>)]) -> KeyInput<'a> {
        columns.iter().for_each(|&(name, value)| to.push(name, KeyPart::Value(value)));
        to
    }

    #[test]
    fn t3_keys_are_checked_by_count_then_names_then_types() {
        let (one, two, blob) = (ValueRef::Integer(1), ValueRef::String("x"), ValueRef::Binary(b"x"));
        let refused = |of: &[(&'static str, ValueRef<'static>)]| {
            let error = input(KeyInput::new(), of).fit(&schema()).expect_err("refused");
            assert_eq!(error.code(), Code::InvalidPk);
            error.message().to_owned()
        };
        assert_eq!(refused(&[("PK2", blob)]), "Validate PK size fail. Input: 1, Meta: 2.");
        assert_eq!(refused(&[("a", one); 6]), "Validate PK size fail. Input: 6, Meta: 2.");
        assert_eq!(refused(&[("PK2", two), ("PK1", one)]), "Validate PK name fail. Input: PK2, Meta: PK1.");
        assert_eq!(refused(&[("PK1", blob), ("x", two)]), "Validate PK name fail. Input: x, Meta: PK2.");
        assert_eq!(refused(&[("PK1", blob), ("PK2", two)]), "Validate PK type fail. Input: VT_BLOB, Meta: VT_INTEGER.");
        assert_eq!(
            refused(&[("PK1", one), ("PK2", one)]),
            "Validate PK type fail. Input: VT_INTEGER, Meta: VT_STRING."
        );
    }

    #[test]
    fn t3_an_objects_columns_come_in_any_order() {
        let (one, two) = (ValueRef::Integer(1), ValueRef::String("x"));
        let key = input(KeyInput::any_order(), &[("PK2", two), ("PK1", one)]).fit_row(&schema()).expect("fits");
        assert_eq!(&key[..], [one, two]);
        let error = input(KeyInput::any_order(), &[("PK2", two), ("b", one)]).fit(&schema()).expect_err("refused");
        assert_eq!(error.message(), "Validate PK name fail. Input: b, Meta: PK1.");
        let twice = input(KeyInput::any_order(), &[("PK1", one), ("PK1", one)]).fit(&schema()).expect_err("refused");
        assert_eq!(twice.message(), "Validate PK name fail. Input: PK1, Meta: PK2.");
    }

    #[test]
    fn t3_types_and_lengths_of_key_values() {
        let refused =
            |value| input(KeyInput::new(), &[("pk_0", value)]).check_row().expect_err("refused").message().to_owned();
        assert_eq!(refused(ValueRef::Double(1.0)), "DOUBLE is an invalid type for the primary key.");
        assert_eq!(refused(ValueRef::Boolean(true)), "BOOLEAN is an invalid type for the primary key.");
        let long = "a".repeat(1025);
        let message = "The length of primary key column: 'pk_0' exceeds the MaxLength:1024 with CurrentLength:1025.";
        assert_eq!(refused(ValueRef::String(&long)), message);
        assert_eq!(refused(ValueRef::Binary(long.as_bytes())), message);
        assert!(input(KeyInput::new(), &[("pk_0", ValueRef::String(&long[1..]))]).check_row().is_ok());
        let mut bound = KeyInput::new();
        bound.push("pk_0", KeyPart::InfMax);
        assert_eq!(
            bound.check_row().expect_err("refused").message(),
            "VT_INF_MAX is an invalid type for the primary key."
        );
        assert!(bound.check_end().is_ok());
    }

    #[test]
    fn r6_only_writes_have_a_key_column_to_be_assigned() {
        let mut key = KeyInput::new();
        key.push("a", KeyPart::AutoIncrement);
        assert!(key.check_write().is_ok());
        for refused in [key.check_row(), key.check_end(), key.encode_end(&schema(), KeyPart::InfMin, &mut Vec::new())] {
            assert!(refused.is_err());
        }
        let message = "PKAutoIncr can't be used for read operations.";
        assert_eq!(key.check_row().expect_err("refused").message(), message);
        assert_eq!(key.check_end().expect_err("refused").message(), message);
        key.push("b", KeyPart::AutoIncrement);
        assert_eq!(key.check_write().expect_err("refused").message(), "2 pk auto increment exist in row.");
    }
}
