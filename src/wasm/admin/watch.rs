//! Watchers: their arguments, and the answers.

use super::answers::{Answer, Members};
use super::arguments::{Arguments, wrong};
use crate::engine::{ChangePlace, Direction};
use crate::error::Result;
use crate::model::{KeyBound, KeyInput, KeyPart, KeyValue, TableName};
use crate::session::codec::response_fields::{NamedKey, ResponseField as _};
use crate::tablestore::{GetRange, Instance, ReadOptions, Watched};
use js_sys::{Array, Object, Reflect, Uint8Array};
use serde::Deserialize;
use wasm_bindgen::{JsCast as _, JsValue};

/// A place in the order of changes.
#[derive(Deserialize)]
struct Place {
    record: u32,
    seqno: u64,
}

/// Answers a watcher.
pub(super) async fn changed_rows(instance: &Instance, arguments: &Arguments) -> Result<JsValue> {
    let table = arguments.table()?;
    let name = TableName::parse(&table)?;
    let place: Option<Place> = arguments.get("place")?;
    let place = place.map(|Place { record, seqno }| ChangePlace { record, seqno });
    let given = |name| columns(&arguments.raw(name), name);
    let (row, start, end, last) = (given("primaryKey")?, given("start")?, given("end")?, given("last")?);
    let watched = if row.is_empty() {
        let direction = match arguments.get::<Option<bool>>("backward")? {
            Some(true) => Direction::Backward,
            _ => Direction::Forward,
        };
        let options = ReadOptions::default();
        let range = GetRange { table: name, direction, start: key(&start), end: key(&end), limit: None, options };
        Watched::Range { range: Box::new(range), last: (!last.is_empty()).then(|| Box::new(key(&last))) }
    } else {
        Watched::Row(key(&row))
    };
    let waits = arguments.get::<Option<bool>>("waits")? != Some(false);
    let changed = instance.changed_rows(name, &watched, place, waits).await?;
    let keys = changed.keys.as_ref().map(|keys| {
        let mut out = Vec::new();
        keys.iter().for_each(|key| NamedKey::put((&*changed.schema, key), &mut out));
        out
    });
    let place = Members::default().and("record", changed.place.record).and("seqno", changed.place.seqno);
    let keys = keys.as_deref().map(Answer::Bytes);
    Ok(Members::default().and("place", place.end()).and("keys", keys).end().to_js())
}

/// The columns of a key, which is an object.
fn columns(key: &JsValue, argument: &str) -> Result<Vec<(String, KeyBound)>> {
    let Some(key) = key.dyn_ref::<Object>() else { return Ok(Vec::new()) };
    let entries = Object::entries(key);
    let columns = entries.iter().map(|entry| {
        let entry: Array = entry.unchecked_into();
        let name = entry.get(0).as_string().unwrap_or_default();
        let wrong = || wrong(&format!("{argument}.{name}"), "a key value", "of no such type");
        let bound = bound(&entry.get(1)).ok_or_else(wrong)?;
        Ok((name, bound))
    });
    columns.collect()
}

fn bound(value: &JsValue) -> Option<KeyBound> {
    if let Some(text) = value.as_string() {
        return Some(KeyBound::Value(KeyValue::String(text)));
    }
    if let Some(bytes) = value.dyn_ref::<Uint8Array>() {
        return Some(KeyBound::Value(KeyValue::Binary(bytes.to_vec())));
    }
    #[expect(clippy::cast_possible_truncation, reason = "a read refuses other keys before")]
    let integer = value.as_f64().map(|number| number as i64).or_else(|| i64::try_from(value.clone()).ok());
    if let Some(integer) = integer {
        return Some(KeyBound::Value(KeyValue::Integer(integer)));
    }
    match Reflect::get(value, &"infinity".into()).ok()?.as_string()?.as_str() {
        "min" => Some(KeyBound::InfMin),
        "max" => Some(KeyBound::InfMax),
        _ => None,
    }
}

fn key(columns: &[(String, KeyBound)]) -> KeyInput<'_> {
    let mut key = KeyInput::any_order();
    for (name, bound) in columns {
        let part = match bound {
            KeyBound::Value(value) => KeyPart::Value(value.as_value()),
            KeyBound::InfMin => KeyPart::InfMin,
            KeyBound::InfMax => KeyPart::InfMax,
        };
        key.push(name, part);
    }
    key
}
