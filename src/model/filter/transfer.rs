//! Value transfer rules: they compare the match of a regular expression in a cell, instead of the cell.

use super::{CastType, Transfer};
use crate::error::{Code, Error, Result};
use crate::model::{ValueRef, decimal, limits};
use crate::modules::{self, Module};
/// All of the crate is a gate of [`Module::Rules`].
use regex_lite::{Regex, RegexBuilder};
use std::borrow::Cow;

/// Size limits of compiled expressions, in bytes. The crate does not report an expression's size, only whether it exceeds
/// a limit. The smallest of these limits that it stays below, in KB, measures the cost of matching.
const PROGRAM_SIZES: [usize; 3] =
    [limits::REGEX_PROGRAM_BYTES / 16, limits::REGEX_PROGRAM_BYTES / 4, limits::REGEX_PROGRAM_BYTES];
/// This many groups make an expression twice as slow: their places are copied with every reached state.
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
    /// # Errors
    /// `OTSParameterInvalid`. `Unavailable` without [`Module::Rules`]: callers load it first.
    pub(super) fn compile(transfer: &Transfer<'_>) -> Result<Self> {
        if !modules::is_loaded(Module::Rules) {
            return Err(Error::new(Code::Unavailable, "the code of regular expressions is not loaded"));
        }
        Self::compile_now(transfer)
    }

    /// The same. A gate of [`Module::Rules`].
    #[inline(never)]
    fn compile_now(transfer: &Transfer<'_>) -> Result<Self> {
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

    /// The work of matching a value.
    pub(super) fn work(&self, value: ValueRef<'_>) -> u64 {
        match value {
            ValueRef::String(_) | ValueRef::Binary(_) => self.cost.saturating_mul(value.metered_bytes() as u64),
            _ => 0,
        }
    }

    /// Passes the match in a value to `holds`. False if there is no match, if it cannot be read as its type, or if the value
    /// is neither text nor bytes.
    pub(super) fn take(&self, value: ValueRef<'_>, holds: &dyn Fn(ValueRef<'_>) -> bool) -> bool {
        let Some(found) = self.find(value) else { return false };
        let found = &*found;
        let taken = match self.cast {
            CastType::String => Some(ValueRef::String(found)),
            CastType::Integer => found.parse().ok().map(ValueRef::Integer),
            CastType::Double => decimal::parse(found).map(ValueRef::Double),
        };
        taken.is_some_and(holds)
    }

    /// The match in a value: the first group, or the whole match if the expression has no group. A gate of
    /// [`Module::Rules`]: it compiled the rule.
    #[inline(never)]
    fn find<'v>(&self, value: ValueRef<'v>) -> Option<Cow<'v, str>> {
        let text = match value {
            ValueRef::String(text) => Cow::Borrowed(text),
            // Bytes that are no UTF-8 are read one by one.
            ValueRef::Binary(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => Cow::Owned(bytes.iter().copied().map(char::from).collect()),
            },
            _ => return None,
        };
        let groups = self.regex.captures(&text)?;
        let found = groups.get(usize::from(groups.len() > 1))?.range();
        match text {
            Cow::Borrowed(text) => text.get(found).map(Cow::Borrowed),
            Cow::Owned(text) => text.get(found).map(|found| Cow::Owned(found.to_owned())),
        }
    }
}
