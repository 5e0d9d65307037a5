//! Value transfer rules: what a regular expression finds in a cell is compared instead of the cell.

use super::{CastType, Transfer, decimal};
use crate::error::{Error, Result};
use crate::model::{ValueRef, limits};
use regex_lite::{Regex, RegexBuilder};
use std::borrow::Cow;

/// How large compiled expressions may be, in bytes. The crate does not tell how large one is, but whether it is too
/// large: the smallest of these that it keeps, in KB, stands for what matching costs.
const PROGRAM_SIZES: [usize; 3] =
    [limits::REGEX_PROGRAM_BYTES / 16, limits::REGEX_PROGRAM_BYTES / 4, limits::REGEX_PROGRAM_BYTES];
/// So many groups make an expression twice as slow: their places are copied with every state that is reached.
const GROUPS_PER_UNIT: usize = 8;

/// A transfer rule, ready to be applied.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    regex: Regex,
    cast: CastType,
    /// The work of matching one byte.
    cost: u64,
}

impl Rule {
    pub(super) fn compile(transfer: &Transfer<'_>) -> Result<Self> {
        let Transfer { regex: text, cast } = *transfer;
        let (length, max) = (text.len(), limits::REGEX_BYTES);
        if length > max {
            return Err(Error::parameter(format!(
                "The length of regular expression exceeds the MaxLength:{max} with CurrentLength:{length}."
            )));
        }
        let compile = |size| RegexBuilder::new(text).size_limit(size).build().map(|regex| (regex, size));
        let [small, medium, large] = PROGRAM_SIZES;
        let compiled = compile(small).or_else(|_| compile(medium)).or_else(|_| compile(large));
        let (regex, size) =
            compiled.map_err(|why| Error::parameter(format!("Invalid regular expression '{text}': {why}.")))?;
        let groups = regex.captures_len() / GROUPS_PER_UNIT + 1;
        Ok(Self { cost: (size / 1024 * groups) as u64, regex, cast })
    }

    /// What looking at a value costs.
    pub(super) fn work(&self, value: ValueRef<'_>) -> u64 {
        match value {
            ValueRef::String(_) | ValueRef::Binary(_) => self.cost.saturating_mul(value.metered_bytes() as u64),
            ValueRef::Integer(_) | ValueRef::Double(_) | ValueRef::Boolean(_) => 0,
        }
    }

    /// Gives what is found in a value to `holds`: the first group, or all that was found if the expression has no group.
    /// False if nothing is found, if it is not what it is to be read as, or if the value is no text and no bytes.
    pub(super) fn take(&self, value: ValueRef<'_>, holds: &dyn Fn(ValueRef<'_>) -> bool) -> bool {
        let text = match value {
            ValueRef::String(text) => Cow::Borrowed(text),
            // Bytes that are no UTF-8 are read one by one.
            ValueRef::Binary(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => Cow::Owned(bytes.iter().copied().map(char::from).collect()),
            },
            ValueRef::Integer(_) | ValueRef::Double(_) | ValueRef::Boolean(_) => return false,
        };
        let Some(groups) = self.regex.captures(&text) else { return false };
        let Some(found) = groups.get(usize::from(groups.len() > 1)) else { return false };
        let found = found.as_str();
        let taken = match self.cast {
            CastType::String => Some(ValueRef::String(found)),
            CastType::Integer => found.parse().ok().map(ValueRef::Integer),
            CastType::Double => decimal::parse(found).map(ValueRef::Double),
        };
        taken.is_some_and(holds)
    }
}
