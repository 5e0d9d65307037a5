//! What the operations that are not about rows answer, as the plain objects of the package.

use super::convert::{INDEX_KINDS, count, number, object, set};
use super::error::to_js;
use crate::model::{KeyValue, TableSchema};
use crate::tablestore::{
    AccessKey, IndexDescription, MissingRows, PartitionDescription, Right, Splits, Stored, TableDescription,
};
use js_sys::{Array, BigInt, Uint8Array};
use wasm_bindgen::JsValue;

fn column(name: &str, type_name: &str, counted: bool) -> JsValue {
    let column = object(&[("name", JsValue::from_str(name)), ("type", JsValue::from_str(type_name))]);
    if counted {
        set(&column, "autoIncrement", &JsValue::TRUE);
    }
    column.into()
}

fn key(schema: &TableSchema) -> Array {
    schema.key().iter().map(|own| column(&own.name, own.key_type.as_str(), own.auto_increment)).collect()
}

/// A table's description as a plain object, `TableDescription` of the package.
pub(super) fn table(description: &TableDescription) -> JsValue {
    let defined = description.defined.iter();
    let defined: Array = defined.map(|own| column(&own.name, own.column_type.as_str(), false)).collect();
    let indexes: Array = description.indexes.iter().map(index).collect();
    // The package wants `null` for what never happened.
    let time = |time: Option<i64>| time.map_or(JsValue::NULL, number);
    let throughput = object(&[
        ("read", JsValue::from(description.throughput.read)),
        ("write", JsValue::from(description.throughput.write)),
        ("lastIncreaseTime", time(description.last_increase)),
        ("lastDecreaseTime", time(description.last_decrease)),
    ]);
    let options = &description.options;
    let fields = [
        ("tableName", JsValue::from_str(&description.name)),
        ("primaryKey", key(&description.schema).into()),
        ("timeToLive", number(options.time_to_live)),
        ("maxVersions", number(options.max_versions)),
        ("maxVersionOffset", number(options.max_version_offset)),
        ("allowUpdate", JsValue::from_bool(options.allow_update)),
        ("reservedThroughput", throughput.into()),
        ("status", JsValue::from_str("ACTIVE")),
        ("creationTime", number(description.created)),
        ("definedColumns", defined.into()),
        ("indexes", indexes.into()),
        ("indexOf", description.index_of.as_deref().map_or(JsValue::NULL, JsValue::from_str)),
        ("enableLocalTransaction", JsValue::from_bool(description.local_transactions)),
        ("partitions", description.partitions.iter().map(partition).collect::<Array>().into()),
    ];
    object(&fields).into()
}

fn partition(partition: &PartitionDescription) -> JsValue {
    let bound = |bound: &Option<KeyValue>| bound.as_ref().map_or(JsValue::NULL, key_value);
    let fields = [
        ("partitionId", count(partition.id)),
        ("lowerBound", bound(&partition.lower)),
        ("upperBound", bound(&partition.upper)),
        ("bytes", count(partition.bytes)),
        ("entries", count(partition.entries)),
        ("operationsPerSecond", count(partition.operations_per_second)),
        ("exceedsAdvice", JsValue::from_bool(partition.exceeds_advice)),
    ];
    object(&fields).into()
}

fn index(index: &IndexDescription) -> JsValue {
    let names = |names: &[String]| JsValue::from(names.iter().map(|name| JsValue::from_str(name)).collect::<Array>());
    let kind = INDEX_KINDS.into_iter().find(|(_, kind)| *kind == index.kind).map_or("", |(name, _)| name);
    let fields = [
        ("indexName", JsValue::from_str(&index.name)),
        ("type", JsValue::from_str(kind)),
        ("primaryKey", names(&index.key)),
        ("columns", names(&index.columns)),
        ("timeToLive", number(index.time_to_live)),
        ("phase", JsValue::from_str(if index.building { "FULL" } else { "INCR" })),
        ("builtRows", count(index.built_rows)),
        ("lagMs", number(index.lag_ms)),
        ("failure", index.failure.as_ref().map_or(JsValue::NULL, to_js)),
    ];
    object(&fields).into()
}

/// What a table's data weighs, as a plain object.
pub(super) fn stored(stored: Stored) -> JsValue {
    object(&[("rows", count(stored.rows)), ("bytes", count(stored.bytes))]).into()
}

/// The slices of a table, `ComputeSplitPointsBySizeResult` of the package.
pub(super) fn splits(splits: &Splits) -> JsValue {
    let infinity = |end: &str| JsValue::from(object(&[("infinity", JsValue::from_str(end))]));
    // A point is a partition key before all that follow it; outside, the table's ends.
    let end = |point: Option<&KeyValue>, outside: &str| {
        let rest = infinity(if point.is_some() { "min" } else { outside });
        let first = point.map_or_else(|| rest.clone(), key_value);
        let columns = splits.schema.key().iter().enumerate();
        let columns: Vec<_> = columns
            .map(|(at, column)| (column.name.as_str(), if at == 0 { first.clone() } else { rest.clone() }))
            .collect();
        JsValue::from(object(&columns))
    };
    let slice = |number: usize| {
        let lower = number.checked_sub(1).and_then(|before| splits.points.get(before));
        let fields = [
            ("lower", end(lower, "min")),
            ("upper", end(splits.points.get(number), "max")),
            ("location", JsValue::from_str(splits.locations.get(number).map_or("", String::as_str))),
        ];
        JsValue::from(object(&fields))
    };
    let consumed = [("read", splits.consumed.read.into()), ("write", splits.consumed.write.into())];
    let fields = [
        ("primaryKey", key(&splits.schema).into()),
        ("splits", (0..=splits.points.len()).map(slice).collect::<Array>().into()),
        ("consumed", object(&consumed).into()),
    ];
    object(&fields).into()
}

/// What an instance that is salvaged lacks, a list of `MissingRows` of the package.
pub(super) fn missing(missing: &[MissingRows]) -> JsValue {
    let keys = |keys: &Option<Vec<KeyValue>>| {
        let values = keys.as_ref().map(|keys| keys.iter().map(key_value).collect::<Array>());
        values.map_or(JsValue::NULL, JsValue::from)
    };
    let one = |one: &MissingRows| {
        let [from, to] = &one.keys;
        let fields = [
            ("tableName", one.table.as_deref().map_or(JsValue::NULL, JsValue::from_str)),
            ("tree", one.tree.map_or(JsValue::NULL, |tree| tree.0.into())),
            ("from", keys(from)),
            ("to", keys(to)),
            ("reason", JsValue::from_str(one.error.message())),
        ];
        object(&fields)
    };
    missing.iter().map(one).collect::<Array>().into()
}

fn key_value(value: &KeyValue) -> JsValue {
    match value {
        KeyValue::Integer(value) if value.unsigned_abs() < 1 << 53 => number(*value),
        KeyValue::Integer(value) => BigInt::from(*value).into(),
        KeyValue::String(value) => JsValue::from_str(value),
        KeyValue::Binary(value) => Uint8Array::from(&value[..]).into(),
    }
}

/// An access key, `AccessKey` of the package; a new one with its secret.
pub(super) fn access_key(key: &AccessKey, new: bool) -> JsValue {
    let rights = Right::NAMES.into_iter().filter(|(_, right)| key.rights.has(*right));
    let rights: Array = rights.map(|(name, _)| JsValue::from_str(name)).collect();
    let fields = [
        ("accessKeyId", JsValue::from_str(&key.id)),
        ("rights", rights.into()),
        ("enabled", JsValue::from_bool(key.enabled)),
        ("creationTime", number(key.created)),
    ];
    let object = object(&fields);
    if new {
        set(&object, "accessKeySecret", &JsValue::from_str(&key.secret));
    }
    object.into()
}
