//! Watchers: their arguments, and the answers.

use super::answers::{Answer, Members};
use super::arguments::{Arguments, wrong};
use crate::engine::{ChangePlace, Direction};
use crate::error::Result;
use crate::model::{KeyInput, KeyPart, TableName, ValueRef};
use crate::storage::Storage;
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

/// A value of a key, or an infinity.
enum Part {
    Integer(i64),
    Text(String),
    Bytes(Vec<u8>),
    Min,
    Max,
}

/// Answers a watcher.
pub(super) async fn changed_rows<S: Storage>(instance: &Instance<S>, arguments: &Arguments) -> Result<JsValue> {
    let table = arguments.table()?;
    let name = TableName::parse(&table)?;
    let place: Option<Place> = arguments.get("place")?;
    let place = place.map(|Place { record, seqno }| ChangePlace { record, seqno });
    let given = |name| parts(&arguments.raw(name), name);
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
    let changed = instance.changed_rows(name, &watched, place).await?;
    let place =
        Members::default().and("record", f64::from(changed.place.record)).and("seqno", changed.place.seqno as f64);
    let answer =
        Members::default().and("place", place.end()).and("primaryKey", Answer::texts(&changed.columns)).end().to_js();
    let keys = changed.keys.as_deref().map_or(JsValue::NULL, |keys| Uint8Array::from(keys).into());
    // It is a plain object that was made here.
    let _ = Reflect::set(&Object::from(answer.clone()), &"keys".into(), &keys);
    Ok(answer)
}

/// The columns of a key, which is an object.
fn parts(key: &JsValue, argument: &str) -> Result<Vec<(String, Part)>> {
    let Some(key) = key.dyn_ref::<Object>() else { return Ok(Vec::new()) };
    let entries = Object::entries(key);
    let parts = entries.iter().map(|entry| {
        let entry: Array = entry.unchecked_into();
        let name = entry.get(0).as_string().unwrap_or_default();
        let part =
            part(&entry.get(1)).ok_or_else(|| wrong(&format!("{argument}.{name}"), "a key value", "of no such type"));
        part.map(|part| (name, part))
    });
    parts.collect()
}

fn part(value: &JsValue) -> Option<Part> {
    if let Some(text) = value.as_string() {
        return Some(Part::Text(text));
    }
    if let Some(bytes) = value.dyn_ref::<Uint8Array>() {
        return Some(Part::Bytes(bytes.to_vec()));
    }
    if let Some(number) = value.as_f64() {
        // A key value of another kind was refused by the read before.
        #[expect(clippy::cast_possible_truncation, reason = "a safe integer")]
        return Some(Part::Integer(number as i64));
    }
    if let Ok(integer) = i64::try_from(value.clone()) {
        return Some(Part::Integer(integer));
    }
    match Reflect::get(value, &"infinity".into()).ok()?.as_string()?.as_str() {
        "min" => Some(Part::Min),
        "max" => Some(Part::Max),
        _ => None,
    }
}

fn key(parts: &[(String, Part)]) -> KeyInput<'_> {
    let mut key = KeyInput::any_order();
    for (name, part) in parts {
        let part = match part {
            Part::Integer(value) => KeyPart::Value(ValueRef::Integer(*value)),
            Part::Text(value) => KeyPart::Value(ValueRef::String(value)),
            Part::Bytes(value) => KeyPart::Value(ValueRef::Binary(value)),
            Part::Min => KeyPart::InfMin,
            Part::Max => KeyPart::InfMax,
        };
        key.push(name, part);
    }
    key
}
