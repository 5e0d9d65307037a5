//! Cuts a filter into words.

use super::tree::Operator;
use crate::azure::edm::{EdmType, EdmValue, parse_hex};
use crate::azure::text::utf16_length;
use crate::azure::{AzureCode, AzureError, AzureResult, date_time, identifiers};
use crate::model::decimal;
use std::borrow::Cow;

/// A word of a filter.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Word<'t> {
    Open,
    Close,
    Not,
    And,
    Or,
    Operator(Operator),
    Property(&'t str),
    Literal(EdmValue<'static>),
}

/// Reads words.
pub(super) struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

/// What stands before a quoted literal, and its type.
const PREFIXES: [(&str, EdmType); 4] =
    [("datetime", EdmType::DateTime), ("guid", EdmType::Guid), ("binary", EdmType::Binary), ("X", EdmType::Binary)];

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// The error for the word before this place, or for a missing one.
    pub(super) fn syntax(&self) -> AzureError {
        // The service counts UTF-16 units.
        let position = utf16_length(self.text.get(..self.at).unwrap_or_default()) as i64;
        let text = ["Syntax error at position ", &position.to_string(), " in '", self.text, "'."].concat();
        AzureError::new(AzureCode::InvalidInput, text)
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next word; `None` at the end.
    pub(super) fn next_word(&mut self) -> AzureResult<Option<Word<'t>>> {
        let rest = self.rest();
        let trimmed = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        self.at += rest.len() - trimmed.len();
        let Some(first) = trimmed.chars().next() else { return Ok(None) };
        let word = match first {
            '(' | ')' => {
                self.at += 1;
                if first == '(' { Word::Open } else { Word::Close }
            }
            '\'' => Word::Literal(EdmValue::String(Cow::Owned(self.quoted()?))),
            '0'..='9' | '-' => Word::Literal(self.number()?),
            _ if identifiers::begins(first) => self.name()?,
            _ => {
                self.at += first.len_utf8();
                return Err(self.syntax());
            }
        };
        Ok(Some(word))
    }

    /// A text in quotes. A quote in it is doubled.
    fn quoted(&mut self) -> AzureResult<String> {
        let mut text = String::new();
        self.at += 1;
        while let Some(end) = self.rest().find('\'') {
            text.push_str(self.rest().get(..end).unwrap_or_default());
            self.at += end + 1;
            if !self.rest().starts_with('\'') {
                return Ok(text);
            }
            text.push('\'');
            self.at += 1;
        }
        self.at = self.text.len();
        Err(self.syntax())
    }

    /// A number: with a point or an exponent it is a Double, with an L an Int64.
    fn number(&mut self) -> AzureResult<EdmValue<'static>> {
        let rest = self.rest();
        let mut before = ' ';
        let part = |(_, character): &(usize, char)| {
            let sign = matches!(character, '+' | '-') && matches!(before, ' ' | 'e' | 'E');
            before = *character;
            sign || character.is_ascii_alphanumeric() || *character == '.'
        };
        let length = rest.char_indices().take_while(part).count();
        self.at += length;
        let word = rest.get(..length).unwrap_or_default();
        let found = if let Some(long) = word.strip_suffix(['L', 'l']) {
            long.parse().ok().map(EdmValue::Int64)
        } else if word.contains(['.', 'e', 'E']) {
            decimal::parse(word).map(EdmValue::Double)
        } else {
            let integer: Option<i64> = word.parse().ok();
            integer.map(|value| i32::try_from(value).map_or(EdmValue::Int64(value), EdmValue::Int32))
        };
        found.ok_or_else(|| self.syntax())
    }

    /// A keyword, a literal with a prefix, or a property.
    fn name(&mut self) -> AzureResult<Word<'t>> {
        let rest = self.rest();
        let length = rest.find(|other| !identifiers::goes_on(other)).unwrap_or(rest.len());
        let (name, behind) = rest.split_at_checked(length).unwrap_or((rest, ""));
        self.at += length;
        if behind.starts_with('\'') {
            let Some((_, edm_type)) = PREFIXES.iter().find(|(prefix, _)| *prefix == name) else {
                return Err(self.syntax());
            };
            let text = self.quoted()?;
            let value = match edm_type {
                EdmType::Binary => parse_hex(&text).map(|bytes| EdmValue::Binary(Cow::Owned(bytes))),
                // No property has a time before 1601, but filters compare with the first one of .NET.
                EdmType::DateTime => date_time::parse_literal(&text).map(EdmValue::DateTime),
                _ => EdmValue::parse_typed("$filter", *edm_type, &text).ok(),
            };
            return value.map(Word::Literal).ok_or_else(|| self.syntax());
        }
        Ok(match name {
            "not" => Word::Not,
            "and" => Word::And,
            "or" => Word::Or,
            "true" | "false" => Word::Literal(EdmValue::Boolean(name == "true")),
            _ => match Operator::NAMES.iter().find(|(other, _)| *other == name) {
                Some((_, operator)) => Word::Operator(*operator),
                None => Word::Property(name),
            },
        })
    }
}
