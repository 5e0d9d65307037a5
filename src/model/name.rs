//! Checked names (T2, I2).
//!
//! A name is checked once, where it enters; everything below takes these types and checks nothing again.

use super::limits::{INSTANCE_NAME_BYTES, NAME_BYTES, NameRules};
use crate::error::{Error, Result};
use std::fmt;

/// The name of a table: `[A-Za-z_][A-Za-z0-9_]*`, 1 to 255 bytes, case-sensitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableName<'a>(&'a str);

/// The name of a column, checked by [`NameRules`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColumnName<'a>(&'a str);

/// The name of an instance: 3 to 16 letters, digits and `-`, first a letter, last not `-`, case-insensitive (I2).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InstanceName {
    shown: String,
    key: String,
}

const STRICT: &str = "it has 1 to 255 letters (A to Z), digits and _, and does not begin with a digit";

/// A refused name, with the rule.
fn wrong(what: &str, name: &str, rule: &str) -> Error {
    let hint = format!("The rule for the name of a {what}: {rule}. This one has {} bytes.", name.len());
    Error::parameter(format!("Invalid {what} name: '{name}'.")).with_hint(hint)
}

fn strict(name: &str) -> bool {
    let mut bytes = name.bytes();
    NAME_BYTES.contains(&name.len())
        && bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

impl<'a> TableName<'a> {
    /// Checks a table's name.
    ///
    /// # Errors
    /// `OTSParameterInvalid` that quotes it.
    pub fn parse(name: &'a str) -> Result<Self> {
        if strict(name) { Ok(Self(name)) } else { Err(wrong("table", name, STRICT)) }
    }

    /// A name that has been checked before.
    pub(crate) fn known(name: &'a str) -> Self {
        debug_assert!(Self::parse(name).is_ok());
        Self(name)
    }

    /// The name.
    #[must_use]
    pub fn as_str(self) -> &'a str {
        self.0
    }
}

impl<'a> ColumnName<'a> {
    /// Checks a column's name.
    ///
    /// # Errors
    /// `OTSParameterInvalid` that quotes it.
    pub fn parse(name: &'a str, rules: NameRules) -> Result<Self> {
        let right = match rules {
            NameRules::Document => strict(name),
            NameRules::Sdk => NAME_BYTES.contains(&name.len()) && !name.starts_with('#'),
        };
        let rule = match rules {
            NameRules::Document => STRICT,
            NameRules::Sdk => "it has 1 to 255 bytes and does not begin with #",
        };
        if right { Ok(Self(name)) } else { Err(wrong("column", name, rule)) }
    }

    /// A name that has been checked before.
    pub(crate) fn known(name: &'a str) -> Self {
        debug_assert!(Self::parse(name, NameRules::Sdk).is_ok());
        Self(name)
    }

    /// The name.
    #[must_use]
    pub fn as_str(self) -> &'a str {
        self.0
    }
}

impl InstanceName {
    /// Checks an instance's name.
    ///
    /// # Errors
    /// `OTSParameterInvalid` that quotes it.
    pub fn parse(name: &str) -> Result<Self> {
        let other = |letter: &char| !letter.is_ascii_alphanumeric() && *letter != '-';
        let given = if !INSTANCE_NAME_BYTES.contains(&name.len()) {
            format!("has {} bytes", name.len())
        } else if let Some(other) = name.chars().find(other) {
            format!("has '{other}' in it")
        } else if !name.starts_with(|first: char| first.is_ascii_alphabetic()) {
            "does not begin with a letter".to_owned()
        } else if name.ends_with('-') {
            "ends with '-'".to_owned()
        } else {
            return Ok(Self { shown: name.to_owned(), key: name.to_ascii_lowercase() });
        };
        let rule = "3 to 16 letters (A to Z), digits and '-', first a letter, last not '-'";
        let error = Error::parameter(format!("Invalid instance name: '{name}'."));
        Err(error.with_hint(format!("The rule for the name of an instance: {rule}. This one {given}.")))
    }

    /// The name as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.shown
    }

    /// Its unique key: the name in lower case.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }
}

impl fmt::Display for TableName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Display for ColumnName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Display for InstanceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t2_names_are_letters_digits_and_underscores_and_start_with_no_digit() {
        let longest = "a".repeat(255);
        for right in ["a", "_", "Z9_", "__x", longest.as_str()] {
            assert!(TableName::parse(right).is_ok(), "{right}");
            assert!(ColumnName::parse(right, NameRules::Document).is_ok(), "{right}");
        }
        let too_long = "a".repeat(256);
        for wrong in ["", "0", "#", "表", "T#", "3t", "-", "a b", "a-b", "é", too_long.as_str()] {
            let message = format!("Invalid table name: '{wrong}'.");
            assert_eq!(TableName::parse(wrong).expect_err(wrong).message(), message);
            let message = format!("Invalid column name: '{wrong}'.");
            assert_eq!(ColumnName::parse(wrong, NameRules::Document).expect_err(wrong).message(), message);
        }
    }

    #[test]
    fn t2_sdk_limits_take_more_column_names_but_no_other_table_names() {
        for right in [".", ":", "'", "$&*()/", "\n", " ", "列", "a#"] {
            assert!(ColumnName::parse(right, NameRules::Sdk).is_ok(), "{right}");
            assert!(TableName::parse(right).is_err(), "{right}");
        }
        let too_long = "列".repeat(86);
        for wrong in ["", "#a", too_long.as_str()] {
            assert!(ColumnName::parse(wrong, NameRules::Sdk).is_err(), "{wrong}");
        }
    }

    #[test]
    fn i2_instance_names_ignore_case_and_forbid_no_word() {
        for right in ["abc", "today", "A-1", "x23456789012345f"] {
            assert!(InstanceName::parse(right).is_ok(), "{right}");
        }
        for wrong in ["ab", "1bc", "-bc", "ab-", "a_b", "x234567890123456g", "äbc", ""] {
            assert_eq!(
                InstanceName::parse(wrong).expect_err(wrong).message(),
                format!("Invalid instance name: '{wrong}'.")
            );
        }
        assert_eq!(InstanceName::parse("DEMO").map(|name| name.key().to_owned()).ok().as_deref(), Some("demo"));
    }
}
