//! Query options: `$top`, `$select`, and where a page begins and ends (2.4).
//!
//! The token of a page names its first key, which may be gone by then. Clients do not look into it; its form is the service's:
//! `1!8!YWJj...`, a length and base64, with `-` for `=`.

use super::url::Query;
use crate::azure::text::{parse_base64, push_base64, replaced};
use crate::azure::{AzureError, AzureResult};

/// The most items of a page.
pub(super) const TOP: usize = 1000;

/// The most items that a request wants.
///
/// # Errors
/// `InvalidInput`.
pub(super) fn top(query: &Query) -> AzureResult<usize> {
    let Some(text) = query.get("$top") else { return Ok(TOP) };
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(AzureError::invalid_input());
    }
    // More digits than a number has are more than a page has.
    Ok(text.parse::<i64>().map_or(TOP, |top| usize::try_from(top).unwrap_or(TOP).min(TOP)))
}

/// The chosen properties, each once. None for all.
pub(super) fn select(query: &Query) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for name in query.get("$select").unwrap_or_default().split(',').map(str::trim) {
        if name == "*" {
            return Vec::new();
        }
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The token for a key.
pub(super) fn token(key: &str) -> String {
    let mut text = String::new();
    push_base64(key.as_bytes(), &mut text);
    let text = replaced(&text, '=', "-");
    ["1!", &(text.len() as i64).to_string(), "!", &text].concat()
}

/// The key of a token in the query.
///
/// # Errors
/// `InvalidInput`.
pub(super) fn key_of(query: &Query, name: &str) -> AzureResult<Option<String>> {
    let Some(token) = query.get(name) else { return Ok(None) };
    let read = || {
        let (length, text) = token.strip_prefix("1!")?.split_once('!')?;
        if length.parse() != Ok(text.len() as i64) {
            return None;
        }
        // A plus sign that was not encoded.
        String::from_utf8(parse_base64(&replaced(&replaced(text, '-', "="), ' ', "+"))?).ok()
    };
    read().map(Some).ok_or_else(AzureError::invalid_input)
}

#[cfg(test)]
mod tests {
    use super::super::url::Url;
    use super::*;

    fn query(text: &str) -> Query {
        Url::parse(&format!("inproc://acct/T?{text}"), None).expect("a URL").query
    }

    #[test]
    fn top_is_a_number_and_at_most_a_thousand() {
        for (text, expected) in
            [("", 1000), ("$top=0", 0), ("$top=7", 7), ("$top=1001", 1000), ("$top=99999999999999999999999", 1000)]
        {
            assert_eq!(top(&query(text)), Ok(expected), "{text}");
        }
        for text in ["$top=-1", "$top=abc", "$top=", "$top=1.5", "$top=%2B1"] {
            assert!(top(&query(text)).is_err(), "{text}");
        }
    }

    #[test]
    fn select_is_a_list_of_names() {
        assert_eq!(select(&query("$select=a,%20b%20,,a")), ["a", "b"]);
        for all in ["", "$select=", "$select=%20", "$select=a,*"] {
            assert!(select(&query(all)).is_empty(), "{all}");
        }
    }

    #[test]
    fn a_token_is_what_the_service_writes_and_comes_back() {
        assert_eq!(token(""), "1!0!");
        assert_eq!(token("a"), "1!4!YQ--");
        for key in ["", "a", "ab>?", "\u{1F600}é", &"x".repeat(1024)] {
            for encoded in [super::super::url::encode(&token(key)), token(key)] {
                assert_eq!(key_of(&query(&format!("K={encoded}")), "K").expect("a key").as_deref(), Some(key));
            }
        }
        assert_eq!(key_of(&query(""), "K"), Ok(None));
        for wrong in ["", "x", "1!3!YQ--", "2!4!YQ--", "1!4!YQ-", "1!4!%%%%", "1!4!%2F%2F%2F%2F", "1!-4!YQ--"] {
            assert!(key_of(&query(&format!("K={wrong}")), "K").is_err(), "{wrong}");
        }
    }
}
