//! The rules for the names of tables and properties, and for keys (`azure_T1` to `azure_T6`, `azure_N1` to `azure_N5`, `azure_K2` to
//! `azure_K6`).

use super::key::KEY_UNITS;
use super::text::utf16_length;
use super::{AzureCode, AzureError, AzureResult, identifiers};

/// The name that no table may have, in any case (T5).
const RESERVED: &str = "tables";
/// Characters of a table's name: letters and digits of ASCII, the first one a letter (T1).
///
/// Else: `OutOfRangeInput`; for other characters `InvalidResourceName`.
const TABLE_NAME: std::ops::RangeInclusive<usize> = 3..=63;
/// UTF-16 units of a property's name, which is an identifier of C# (N1).
///
/// Else: `PropertyNameTooLong`; for other names `PropertyNameInvalid`.
const PROPERTY_NAME: usize = 255;

/// Checks the name of a new table.
///
/// # Errors
/// `OutOfRangeInput` for its length, `InvalidResourceName` for its characters, `InvalidInput` for the reserved name.
pub fn check_table(name: &str) -> AzureResult<()> {
    if !TABLE_NAME.contains(&name.chars().count()) {
        let text = "The specified resource name length is not within the permissible limits.";
        return Err(AzureError::new(AzureCode::OutOfRangeInput, text));
    }
    let mut bytes = name.bytes();
    if !bytes.next().is_some_and(|first| first.is_ascii_alphabetic()) || !bytes.all(|byte| byte.is_ascii_alphanumeric())
    {
        return Err(AzureCode::InvalidResourceName.into());
    }
    if name.eq_ignore_ascii_case(RESERVED) { Err(AzureError::invalid_input()) } else { Ok(()) }
}

/// Checks the name of a property: a C# identifier (N1 to N4). The three of the system are checked by whoever reads them.
///
/// # Errors
/// `PropertyNameTooLong`, `PropertyNameInvalid`.
pub fn check_property(name: &str) -> AzureResult<()> {
    if utf16_length(name) > PROPERTY_NAME {
        return Err(AzureCode::PropertyNameTooLong.into());
    }
    let mut characters = name.chars();
    if characters.next().is_some_and(identifiers::begins) && characters.all(identifiers::goes_on) {
        Ok(())
    } else {
        Err(AzureCode::PropertyNameInvalid.into())
    }
}

/// Checks the value of a key. `which` is `PartitionKey` or `RowKey`.
///
/// # Errors
/// `PropertyValueTooLarge`, `OutOfRangeInput`.
pub fn check_key(which: &str, value: &str) -> AzureResult<()> {
    let forbidden = |character: char| matches!(character, '/' | '\\' | '#' | '?') || character.is_control();
    if utf16_length(value) > KEY_UNITS {
        return Err(AzureCode::PropertyValueTooLarge.into());
    }
    // Control characters are U+0000 to U+001F and U+007F to U+009F.
    if value.chars().any(forbidden) { Err(AzureError::out_of_range(which, value)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code<T>(checked: AzureResult<T>) -> Option<AzureCode> {
        checked.err().map(|error| error.code)
    }

    #[test]
    fn azure_t1_t2_t6_a_table_has_3_to_63_letters_and_digits_and_begins_with_a_letter() {
        for name in ["abc", "A23", "Zz9", &"a".repeat(63)] {
            assert_eq!(check_table(name), Ok(()), "{name}");
        }
        for name in ["", "a", "ab", &"a".repeat(64)] {
            assert_eq!(code(check_table(name)), Some(AzureCode::OutOfRangeInput), "{name}");
        }
        for name in ["1ab", "my_table", "my-table", "tablé", "a b", "$MetricsX", "ab\u{0}"] {
            assert_eq!(code(check_table(name)), Some(AzureCode::InvalidResourceName), "{name}");
        }
    }

    #[test]
    fn azure_t5_the_name_tables_is_reserved_in_any_case() {
        for name in ["tables", "Tables", "TABLES"] {
            assert_eq!(code(check_table(name)), Some(AzureCode::InvalidInput));
        }
        assert_eq!(check_table("tables1"), Ok(()));
    }

    #[test]
    fn azure_n1_a_name_has_at_most_255_utf16_units() {
        assert_eq!(check_property(&"é".repeat(255)), Ok(()));
        assert_eq!(code(check_property(&"a".repeat(256))), Some(AzureCode::PropertyNameTooLong));
        assert_eq!(code(check_property(&"𝒜".repeat(128))), Some(AzureCode::PropertyNameTooLong), "two units each");
    }

    #[test]
    fn azure_n3_n4_a_name_is_an_identifier() {
        for name in ["a", "_", "_1", "Birthday", "naïve", "nai\u{308}ve", "名前", "etag", "Partitionkey"] {
            assert_eq!(check_property(name), Ok(()), "{name}");
        }
        for name in
            ["", "1a", "a-b", "a b", "a.b", "a@b", "a\u{7}", "\u{E000}", "a\u{E000}", "a\u{200B}", "\u{308}", "a²", "Ⓐ"]
        {
            assert_eq!(code(check_property(name)), Some(AzureCode::PropertyNameInvalid), "{name:?}");
        }
    }

    #[test]
    fn azure_k2_k4_k5_k6_keys() {
        for key in ["", "%", "'", "\"", " ", "+&=@$,", "\u{A0}", "😀", "A'aaa\"_bbbb2", &"é".repeat(1024)] {
            assert_eq!(check_key("RowKey", key), Ok(()), "{key}");
        }
        assert_eq!(code(check_key("RowKey", &"a".repeat(1025))), Some(AzureCode::PropertyValueTooLarge));
        for key in ["/", "a\\", "#", "?", "\u{0}", "\u{1F}", "\u{7F}", "\u{9F}"] {
            let error = check_key("PartitionKey", key).expect_err("refused");
            assert_eq!(error.code, AzureCode::OutOfRangeInput);
            assert_eq!(error.message, format!("The 'PartitionKey' parameter of value '{key}' is out of range."));
        }
    }
}
