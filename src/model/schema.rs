//! Tables: their key columns, options and reserved throughput (T3, T4, T6).

use super::limits::{self, Limits};
use super::version::{Retention, Window};
use super::{ColumnName, KeyType, ValueType};
use crate::error::{Error, Result};
use serde::Deserialize;

/// The two kinds of instance; chosen when it is created, never changed (I4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InstanceKind {
    /// Fast reads and writes.
    #[default]
    HighPerformance,
    /// Many writes, few reads, low cost: no reserved throughput.
    Capacity,
}

impl InstanceKind {
    /// The kinds by the names that callers give, and that are stored.
    pub const NAMES: [(&str, Self); 2] = [("high-performance", Self::HighPerformance), ("capacity", Self::Capacity)];

    /// The kind's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::NAMES.into_iter().find(|(_, other)| *other == self).map_or("", |(name, _)| name)
    }
}

impl KeyType {
    /// The type of that name.
    ///
    /// # Errors
    /// `OTSParameterInvalid` for any other name.
    pub fn parse(name: &str) -> Result<Self> {
        match name {
            "INTEGER" => Ok(Self::Integer),
            "STRING" => Ok(Self::String),
            "BINARY" => Ok(Self::Binary),
            "DOUBLE" | "BOOLEAN" => Err(wrong_key_type(name)),
            _ => Err(Error::parameter("Invalid column type, only STRING,INTEGER,BINARY is allowed.")),
        }
    }

    /// The type's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.value_type().as_str()
    }

    /// The key type for such values; `None` if no key has such values.
    #[must_use]
    pub fn of(value_type: ValueType) -> Option<Self> {
        match value_type {
            ValueType::Integer => Some(Self::Integer),
            ValueType::String => Some(Self::String),
            ValueType::Binary => Some(Self::Binary),
            _ => None,
        }
    }

    /// The type of such a column's values.
    #[must_use]
    pub fn value_type(self) -> ValueType {
        match self {
            Self::Integer => ValueType::Integer,
            Self::String => ValueType::String,
            Self::Binary => ValueType::Binary,
        }
    }
}

/// A column of a table's primary key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyColumn {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub key_type: KeyType,
    /// Whether the store gives new rows their value.
    pub auto_increment: bool,
    /// Whether an application may choose the value of a new row all the same. The service does not have this.
    pub allow_chosen: bool,
}

impl KeyColumn {
    /// A column whose values come from the application.
    pub fn new(name: impl Into<String>, key_type: KeyType) -> Self {
        Self { name: name.into(), key_type, auto_increment: false, allow_chosen: false }
    }
}

/// An attribute column whose type is fixed, so that an index may use it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct DefinedColumn {
    /// Its name.
    pub name: String,
    /// The type of its values.
    #[serde(rename = "type")]
    pub column_type: ValueType,
}

/// The kinds of secondary indexes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum IndexKind {
    /// Sorted by any columns.
    #[default]
    Global,
    /// Sorted inside each partition key of its base table.
    Local,
}

impl IndexKind {
    /// The kind's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Global => "GLOBAL",
            Self::Local => "LOCAL",
        }
    }
}

/// The primary key of a table: fixed names, types and order (T3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSchema {
    key: Vec<KeyColumn>,
    name_bytes: usize,
    auto_increment: Option<usize>,
}

impl TableSchema {
    /// A schema of one to four columns with different names. At most one may be auto-increment.
    ///
    /// # Errors
    /// `OTSParameterInvalid`.
    pub fn new(key: Vec<KeyColumn>) -> Result<Self> {
        if !limits::KEY_COLUMNS.contains(&key.len()) {
            return Err(wrong_key_count(key.len()));
        }
        let schema = Self::of_index(key)?;
        let mut counted = schema.key.iter().filter(|column| column.auto_increment);
        if let Some(column) = counted.next() {
            if counted.next().is_some() {
                return Err(Error::parameter("AUTO_INCREMENT primary key count must <= 1."));
            }
            if column.key_type != KeyType::Integer {
                return Err(Error::parameter("AUTO_INCREMENT primary key must be integer."));
            }
        }
        Ok(schema)
    }

    /// The schema of an index table: its given columns, then those of its base table's key.
    ///
    /// # Errors
    /// `OTSParameterInvalid` if two columns have one name.
    pub fn of_index(key: Vec<KeyColumn>) -> Result<Self> {
        for (at, column) in key.iter().enumerate() {
            if key.iter().take(at).any(|earlier| earlier.name == column.name) {
                return Err(Error::parameter(format!("Duplicated primary key name: '{}'.", column.name)));
            }
        }
        let name_bytes = key.iter().map(|column| column.name.len()).sum();
        let auto_increment = key.iter().position(|column| column.auto_increment);
        Ok(Self { key, name_bytes, auto_increment })
    }

    /// The schema of a new table of that name. Also checks the columns' names, and that the first column is not
    /// auto-increment.
    ///
    /// # Errors
    /// `OTSParameterInvalid`.
    pub fn checked(table: &str, key: Vec<KeyColumn>, limits: &Limits) -> Result<Self> {
        for column in &key {
            ColumnName::parse(&column.name, limits.names)?;
        }
        let schema = Self::new(key)?;
        if schema.auto_increment == Some(0) {
            return Err(first_counted(table));
        }
        Ok(schema)
    }

    /// The columns, in order; the first is the partition key.
    #[must_use]
    pub fn key(&self) -> &[KeyColumn] {
        &self.key
    }

    /// Whether a column of that name is part of the key.
    #[must_use]
    pub fn is_key(&self, column: &str) -> bool {
        self.place(column).is_some()
    }

    /// The place of a column.
    #[must_use]
    pub fn place(&self, column: &str) -> Option<usize> {
        self.key.iter().position(|key| key.name == column)
    }

    /// The place of the auto-increment column.
    #[must_use]
    pub fn auto_increment(&self) -> Option<usize> {
        self.auto_increment
    }

    /// The key column whose value for a new row comes from the store alone.
    #[must_use]
    pub fn assigned_only(&self) -> Option<&KeyColumn> {
        self.auto_increment.and_then(|place| self.key.get(place)).filter(|column| !column.allow_chosen)
    }

    /// The bytes of all key columns' names, which units count with every key (C1).
    #[must_use]
    pub fn name_bytes(&self) -> usize {
        self.name_bytes
    }
}

/// The error for a type that no key column has.
pub(crate) fn wrong_key_type(name: &str) -> Error {
    Error::parameter(format!("{name} is an invalid type for the primary key."))
}

/// The error for a key with too few or too many columns.
pub(crate) fn wrong_key_count(count: usize) -> Error {
    let error = Error::parameter("The number of primary key columns must be in range: [1, 4].");
    error.with_hint(format!("{count} key columns are given"))
}

/// The error for an auto-increment first column.
pub(crate) fn first_counted(table: &str) -> Error {
    Error::parameter(format!("First primary key can't be auto increment, table: {table}."))
}

/// A table's options (T4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableOptions {
    /// Seconds that a version lives; -1 for ever.
    pub time_to_live: i64,
    /// Versions of a column to keep.
    pub max_versions: i64,
    /// The most seconds between a given version and the clock.
    pub max_version_offset: i64,
    /// Whether UpdateRow is allowed (T7).
    pub allow_update: bool,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self { time_to_live: -1, max_versions: 1, max_version_offset: 86_400, allow_update: true }
    }
}

impl TableOptions {
    /// Checks the numbers (T4).
    ///
    /// # Errors
    /// `OTSParameterInvalid`.
    pub fn check(&self) -> Result<()> {
        let (least, live) = (limits::TIME_TO_LIVE_SECONDS, self.time_to_live);
        let (text, option, wanted, given) = if live == 0 || live < -1 {
            ("TimeToLive cannot be 0 or less than -1.".to_owned(), "timeToLive", "-1 or at least 86400 seconds", live)
        } else if live != -1 && live < least {
            let text = format!("TimeToLive cannot be less than {least} unless it is -1: {live}.");
            (text, "timeToLive", "-1 or at least 86400 seconds", live)
        } else if self.max_versions <= 0 {
            let text = "The maximum versions cannot be less than or equal to 0".to_owned();
            (text, "maxVersions", "at least 1", self.max_versions)
        } else if !(1..=limits::MAX_VERSION_OFFSET_SECONDS).contains(&self.max_version_offset) {
            let text = "The maximum deviation must be in range [0, INT64_MAX/1000000].".to_owned();
            (text, "maxVersionOffset", "1 to 9223372036854 seconds", self.max_version_offset)
        } else {
            return Ok(());
        };
        Err(Error::parameter(text).with_argument(option, wanted, given))
    }

    /// The retention of the table. More versions than a `u32` counts mean all.
    #[must_use]
    pub fn retention(&self) -> Retention {
        Retention {
            max_versions: u32::try_from(self.max_versions).unwrap_or(u32::MAX),
            time_to_live: (self.time_to_live != -1).then_some(self.time_to_live),
        }
    }

    /// The versions that may be written at `now` (V6).
    #[must_use]
    pub fn window(&self, now: i64) -> Window {
        Window::new(self.retention(), self.max_version_offset, now)
    }
}

/// A table's reserved throughput, in units a second (T6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReservedThroughput {
    /// Read units.
    pub read: u32,
    /// Write units.
    pub write: u32,
}

impl ReservedThroughput {
    /// Takes both numbers as a request gives them (T6, I4).
    ///
    /// # Errors
    /// `OTSParameterInvalid` for a number below 0 or above the quota, or above 0 in a capacity instance.
    pub fn parse(read: i64, write: i64, kind: InstanceKind, limits: &Limits) -> Result<Self> {
        let unit = |what: &str, than: &str, given: i64| {
            let most = limits.reserved_units;
            if given < 0 {
                let text = format!("The value of {what} capacity unit can not be less {than} 0.");
                let error = Error::parameter(text);
                return Err(error.with_argument(&format!("reservedThroughput.{what}"), "at least 0", given));
            }
            if kind == InstanceKind::Capacity && given > 0 {
                return Err(Error::parameter(format!("Can not reserve {what} capacity unit on capacity.")));
            }
            u32::try_from(given).ok().filter(|given| *given <= most).ok_or_else(|| {
                Error::parameter(format!("The value of {what} capacity unit can not be more than {most}: {given}."))
            })
        };
        // "then" is how the service spells it for writes.
        Ok(Self { read: unit("read", "than", read)?, write: unit("write", "then", write)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::IntoDeserializer as _;

    fn refused<T: std::fmt::Debug>(result: Result<T>) -> String {
        result.expect_err("refused").message().to_owned()
    }

    fn columns(names: &[&str]) -> Vec<KeyColumn> {
        names.iter().map(|name| KeyColumn::new(*name, KeyType::Integer)).collect()
    }

    #[test]
    fn i4_the_kinds_are_stored_by_the_names_that_callers_give() {
        for (name, kind) in InstanceKind::NAMES {
            let given: serde::de::value::StrDeserializer<'_, serde::de::value::Error> = name.into_deserializer();
            assert_eq!(InstanceKind::deserialize(given), Ok(kind));
            assert_eq!(kind.as_str(), name);
        }
    }

    #[test]
    fn t3_one_to_four_different_key_columns_of_three_types() {
        let range = "The number of primary key columns must be in range: [1, 4].";
        assert_eq!(refused(TableSchema::new(columns(&[]))), range);
        assert_eq!(refused(TableSchema::new(columns(&["a", "b", "c", "d", "e"]))), range);
        assert_eq!(refused(TableSchema::new(columns(&["PK0", "b", "PK0"]))), "Duplicated primary key name: 'PK0'.");
        assert_eq!(
            refused(TableSchema::checked("t", columns(&["a-b"]), &Limits::DOCUMENT)),
            "Invalid column name: 'a-b'."
        );
        assert!(TableSchema::checked("t", columns(&["a", "b", "c", "d"]), &Limits::DOCUMENT).is_ok());
        for name in ["FLOAT", "integer", ""] {
            let text = "Invalid column type, only STRING,INTEGER,BINARY is allowed.";
            assert_eq!(refused(KeyType::parse(name)), text, "{name}");
        }
        for key_type in [KeyType::Integer, KeyType::String, KeyType::Binary] {
            assert_eq!(KeyType::parse(key_type.as_str()).ok(), Some(key_type));
        }
    }

    /// R6: the auto-increment column is an INTEGER, there is at most one, and it is not the first.
    #[test]
    fn r6_one_integer_column_behind_the_first_may_be_counted_up() {
        let counted = |of: &[(KeyType, bool)]| {
            let column = |(at, &(key_type, auto_increment)): (usize, &(KeyType, bool))| KeyColumn {
                auto_increment,
                ..KeyColumn::new(format!("k{at}"), key_type)
            };
            TableSchema::checked("t", of.iter().enumerate().map(column).collect(), &Limits::DOCUMENT)
        };
        let (int, text) = (KeyType::Integer, KeyType::String);
        let refusal = |of: &[(KeyType, bool)]| refused(counted(of));
        assert_eq!(refusal(&[(int, false), (int, true), (int, true)]), "AUTO_INCREMENT primary key count must <= 1.");
        assert_eq!(refusal(&[(int, false), (text, true)]), "AUTO_INCREMENT primary key must be integer.");
        assert_eq!(refusal(&[(int, true), (text, false)]), "First primary key can't be auto increment, table: t.");
        assert_eq!(counted(&[(text, false), (int, false), (int, true)]).expect("right").auto_increment(), Some(2));
        assert_eq!(counted(&[(text, false)]).expect("right").auto_increment(), None);
    }

    #[test]
    fn t4_options_and_their_limits() {
        let base = TableOptions::default();
        assert_eq!(
            (base.time_to_live, base.max_versions, base.max_version_offset, base.allow_update),
            (-1, 1, 86400, true)
        );
        let ttl = |time_to_live| TableOptions { time_to_live, ..base }.check();
        for wrong in [0, -2, i64::MIN] {
            assert_eq!(refused(ttl(wrong)), "TimeToLive cannot be 0 or less than -1.");
        }
        assert_eq!(refused(ttl(86_399)), "TimeToLive cannot be less than 86400 unless it is -1: 86399.");
        assert!(ttl(-1).is_ok() && ttl(86_400).is_ok() && ttl(i64::MAX).is_ok());
        let versions = |max_versions| TableOptions { max_versions, ..base }.check();
        assert_eq!(refused(versions(0)), "The maximum versions cannot be less than or equal to 0");
        assert!(versions(i64::from(i32::MAX)).is_ok() && versions(i64::MAX).is_ok());
        let offset = |max_version_offset| TableOptions { max_version_offset, ..base }.check();
        for wrong in [0, -1, i64::MAX / 1_000_000 + 1] {
            assert_eq!(refused(offset(wrong)), "The maximum deviation must be in range [0, INT64_MAX/1000000].");
        }
        assert!(offset(1).is_ok() && offset(i64::MAX / 1_000_000).is_ok());
    }

    #[test]
    fn t6_i4_reserved_throughput_has_a_quota_and_none_on_capacity() {
        let parse = |read, write, kind| ReservedThroughput::parse(read, write, kind, &Limits::DOCUMENT);
        let high = InstanceKind::HighPerformance;
        assert_eq!(parse(0, 5000, high).ok(), Some(ReservedThroughput { read: 0, write: 5000 }));
        assert_eq!(refused(parse(-1, 0, high)), "The value of read capacity unit can not be less than 0.");
        assert_eq!(refused(parse(0, -1, high)), "The value of write capacity unit can not be less then 0.");
        assert_eq!(refused(parse(5001, 0, high)), "The value of read capacity unit can not be more than 5000: 5001.");
        assert_eq!(
            refused(parse(0, i64::MAX, high)),
            format!("The value of write capacity unit can not be more than 5000: {}.", i64::MAX)
        );
        assert_eq!(refused(parse(1, 0, InstanceKind::Capacity)), "Can not reserve read capacity unit on capacity.");
        assert_eq!(refused(parse(0, 1, InstanceKind::Capacity)), "Can not reserve write capacity unit on capacity.");
        assert!(parse(0, 0, InstanceKind::Capacity).is_ok());
    }
}
