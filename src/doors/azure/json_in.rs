//! Bodies in JSON: entities and tables.
//!
//! Each number is seen as it was written, because `1` is an Int32 and `1.0` is a Double (azure_V2). Names that come twice are
//! seen too (azure_N6).

use super::json;
use crate::azure::text::{sorted, split};
use crate::azure::{AzureCode, AzureError, AzureResult, EdmType, EdmValue, names};
use std::borrow::Cow;

/// The start of names that are about the entity and no properties.
const ANNOTATION: &str = "odata.";
/// What follows the name of a property in the name of its type.
const TYPE: &str = "@odata.type";

/// An entity of a body.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Payload<'b> {
    /// The partition key, if it is there.
    pub(super) partition_key: Option<Cow<'b, str>>,
    /// The row key, if it is there.
    pub(super) row_key: Option<Cow<'b, str>>,
    /// The properties without nulls. No name comes twice.
    pub(super) properties: Vec<(Cow<'b, str>, EdmValue<'b>)>,
}

impl<'b> Payload<'b> {
    /// Reads the entity of a body. Its keys are not checked.
    ///
    /// # Errors
    /// `InvalidInput` and the codes for names, values and types.
    pub(super) fn read(body: &'b [u8]) -> AzureResult<Self> {
        let members = members(body)?;
        let mut payload = Self::default();
        for (name, value) in &members {
            if name.starts_with(ANNOTATION) || split(name, "@odata.").is_some() {
                continue;
            }
            // The server makes it, whatever the client sends (azure_S2).
            if name == "Timestamp" {
                continue;
            }
            // Its type may come before it or after it.
            let annotation = name.bytes().chain(TYPE.bytes());
            let found = members.binary_search_by(|(other, _)| other.bytes().cmp(annotation.clone()));
            let edm_type = match found.ok().and_then(|at| members.get(at)) {
                Some((_, value)) => Some(edm_type(value)?),
                None => None,
            };
            let is_key = name == "PartitionKey" || name == "RowKey";
            if !is_key {
                names::check_property(name)?;
            }
            let Some(value) = property(name, value, edm_type)? else { continue };
            if !is_key {
                value.check()?;
                payload.properties.push((name.clone(), value));
                continue;
            }
            let EdmValue::String(key) = value else { return Err(AzureError::invalid_input()) };
            if name == "RowKey" {
                payload.row_key = Some(key);
            } else {
                payload.partition_key = Some(key);
            }
        }
        Ok(payload)
    }
}

/// The name in the body of a new table.
///
/// # Errors
/// `InvalidInput`, `PropertiesNeedValue`.
pub(super) fn table_name(body: &[u8]) -> AzureResult<String> {
    let members = members(body)?;
    let value = members.iter().find(|(name, _)| name == "TableName").map(|(_, value)| *value);
    match value.map(|value| property("TableName", value, None)).transpose()?.flatten() {
        Some(EdmValue::String(name)) => Ok(name.into_owned()),
        Some(_) => Err(AzureError::invalid_input()),
        None => Err(AzureCode::PropertiesNeedValue.into()),
    }
}

/// The members of the object in a body, sorted by name.
fn members(body: &[u8]) -> AzureResult<Vec<(Cow<'_, str>, &str)>> {
    let text = std::str::from_utf8(body).map_err(|_| AzureError::invalid_input())?;
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let mut members = json::members(text).ok_or_else(AzureError::invalid_input)?;
    let names: Vec<&str> = members.iter().map(|(name, _)| &**name).collect();
    let places = sorted(&names);
    if places.windows(2).any(|pair| matches!(pair, [a, b] if names.get(*a) == names.get(*b))) {
        return Err(AzureCode::DuplicatePropertiesSpecified.into());
    }
    Ok(places.into_iter().filter_map(|at| members.get_mut(at).map(std::mem::take)).collect())
}

/// The type that an annotation names.
fn edm_type(value: &str) -> AzureResult<EdmType> {
    EdmType::named(&text(value)?)
}

/// The value of a property, or `None` for null, with whatever type (azure_V11).
fn property<'b>(name: &str, value: &'b str, edm_type: Option<EdmType>) -> AzureResult<Option<EdmValue<'b>>> {
    let refused = || Err(AzureError::invalid_input());
    let typed = |edm_type, text: &str| EdmValue::parse_typed(name, edm_type, text);
    Ok(Some(match (value.as_bytes().first(), edm_type) {
        (Some(b'n'), _) => return Ok(None),
        (Some(b't' | b'f'), None | Some(EdmType::Boolean)) => EdmValue::Boolean(value == "true"),
        (Some(b'"'), None | Some(EdmType::String)) => EdmValue::String(text(value)?),
        (Some(b'"'), Some(edm_type)) => typed(edm_type, &text(value)?)?,
        (Some(b'-' | b'0'..=b'9'), None) => {
            let is_double = value.contains(['.', 'e', 'E']);
            typed(if is_double { EdmType::Double } else { EdmType::Int32 }, value)?
        }
        (Some(b'-' | b'0'..=b'9'), Some(edm_type @ (EdmType::Double | EdmType::Int32))) => typed(edm_type, value)?,
        _ => return refused(),
    }))
}

/// The text of a JSON string.
fn text(value: &str) -> AzureResult<Cow<'_, str>> {
    json::string(value).ok_or_else(AzureError::invalid_input)
}
