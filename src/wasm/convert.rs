//! Objects from and to JavaScript: options, arguments and answers of the operations that are not about rows.
//!
//! Options and arguments come from the application: each is read by its name, so that a wrong one can be named.

use crate::engine::{Metrics, Shape, TreeMetrics};
use crate::error::{Error, Result};
use crate::model::meter::{Consumption, Period, Prices, Units};
use crate::model::{DefinedColumn, IndexKind, InstanceKind, KeyColumn, KeyType, Limits, ValueType};
use crate::session::ActivityReport;
use crate::storage::Durability;
use crate::tablestore::{
    ComputeConsumed, ConsumedSeries, CreateTable, IndexSpec, OptionsChange, Right, Rights, SplitRequest,
    ThrottleOptions, UpdateTable,
};
use js_sys::{Array, Number, Object, Reflect};
use wasm_bindgen::{JsCast as _, JsValue};

/// What `Engine.open` is given.
#[derive(Debug)]
pub(super) struct OpenOptions {
    pub(super) name: String,
    /// Whether the data lives in memory only.
    pub(super) memory: bool,
    /// Whether the instance is made if it is missing.
    pub(super) create: bool,
    pub(super) kind: InstanceKind,
    pub(super) durability: Durability,
    pub(super) cache_bytes: Option<usize>,
    pub(super) memtable_bytes: Option<usize>,
    pub(super) reserve_bytes: Option<usize>,
    pub(super) shape: Shape,
    /// Whether what is left of it is opened, read-only.
    pub(super) salvage: bool,
    /// The injected clock.
    pub(super) clock: Option<i64>,
    pub(super) client: u64,
    pub(super) limits: Limits,
    pub(super) prices: Prices,
    pub(super) throttle: ThrottleOptions,
    pub(super) instances: Option<u32>,
}

/// The kinds by their names.
const KINDS: [(&str, InstanceKind); 2] =
    [("high-performance", InstanceKind::HighPerformance), ("capacity", InstanceKind::Capacity)];

/// The kinds of indexes by their names.
pub(super) const INDEX_KINDS: [(&str, IndexKind); 2] = [("GLOBAL", IndexKind::Global), ("LOCAL", IndexKind::Local)];

/// The kind that the list of instances has stored.
pub(super) fn stored_kind(name: &str) -> Result<InstanceKind> {
    let found = KINDS.into_iter().find(|(text, _)| *text == name);
    found.map(|(_, kind)| kind).ok_or_else(|| Error::corrupt("the list of instances", format!("unknown kind '{name}'")))
}

/// The name of a kind.
pub(super) fn kind_name(kind: InstanceKind) -> &'static str {
    KINDS.into_iter().find(|(_, other)| *other == kind).map_or("", |(name, _)| name)
}

/// A plain object.
pub(super) fn object(fields: &[(&str, JsValue)]) -> Object {
    let object = Object::new();
    for (name, value) in fields {
        set(&object, name, value);
    }
    object
}

pub(super) fn set(object: &Object, name: &str, value: &JsValue) {
    // A fresh object takes every property.
    let _ = Reflect::set(object, &JsValue::from_str(name), value);
}

/// The arguments of an operation, or an object inside them.
pub(super) struct Arguments {
    object: JsValue,
    /// How messages call it: `` or `reservedThroughput.`.
    prefix: String,
}

impl Arguments {
    pub(super) fn new(object: JsValue) -> Self {
        Self { object, prefix: String::new() }
    }

    fn get(&self, name: &str) -> JsValue {
        // Reading a property of what is no object throws; so there is none.
        Reflect::get(&self.object, &JsValue::from_str(name)).unwrap_or(JsValue::UNDEFINED)
    }

    fn wrong(&self, name: &str, value: &JsValue, wanted: &str) -> Error {
        let given = if value.is_undefined() {
            "missing".to_owned()
        } else if value.is_null() {
            "null".to_owned()
        } else if let Some(number) = value.dyn_ref::<Number>() {
            // By JavaScript: Rust's own way to print doubles weighs 15 KB.
            AsRef::<Object>::as_ref(number).to_string().into()
        } else if let Some(text) = value.as_string() {
            format!("'{text}'")
        } else {
            format!("a {}", value.js_typeof().as_string().unwrap_or_default())
        };
        let path = format!("{}{name}", self.prefix);
        let error = Error::parameter(format!("The argument '{path}' is {given}; it must be {wanted}."));
        error.with_argument(&path, wanted, given)
    }

    pub(super) fn text(&self, name: &str) -> Result<String> {
        let value = self.get(name);
        value.as_string().ok_or_else(|| self.wrong(name, &value, "a string"))
    }

    /// An integer, as a number or a bigint; missing is `None`.
    pub(super) fn integer(&self, name: &str) -> Result<Option<i64>> {
        let value = self.get(name);
        if value.is_undefined() {
            return Ok(None);
        }
        let number = match value.as_f64() {
            #[expect(clippy::cast_possible_truncation, reason = "a safe integer")]
            Some(number) if number.fract() == 0.0 && number.abs() <= SAFE => Some(number as i64),
            Some(_) => None,
            None => i64::try_from(value.clone()).ok(),
        };
        number.map(Some).ok_or_else(|| self.wrong(name, &value, "an integer"))
    }

    /// An amount of money or of units.
    fn amount(&self, name: &str) -> Result<Option<f64>> {
        let value = self.get(name);
        if value.is_undefined() {
            return Ok(None);
        }
        let amount = value.as_f64().filter(|amount| (0.0..=f64::MAX).contains(amount));
        amount.map(Some).ok_or_else(|| self.wrong(name, &value, "a number of at least 0"))
    }

    /// Prices; those that are not given are as in `usual`.
    fn prices(&self, usual: Prices) -> Result<Prices> {
        let Some(prices) = self.inner("prices")? else { return Ok(usual) };
        let units = |name: &str, usual: Units| match prices.inner(name)? {
            Some(units) => Ok::<_, Error>(Units {
                read: units.amount("read")?.unwrap_or(usual.read),
                write: units.amount("write")?.unwrap_or(usual.write),
            }),
            None => Ok(usual),
        };
        Ok(Prices { reserved: units("reserved", usual.reserved)?, on_demand: units("onDemand", usual.on_demand)? })
    }

    fn throttle(&self) -> Result<ThrottleOptions> {
        let Some(throttle) = self.inner("throttle")? else { return Ok(ThrottleOptions::default()) };
        Ok(ThrottleOptions {
            units_per_second: throttle.count("unitsPerSecond")?,
            table_operations_per_second: throttle.count("tableOperationsPerSecond")?,
        })
    }

    /// When partitions are split and merged (P1).
    fn shape(&self) -> Result<Shape> {
        let usual = Shape::DEFAULT;
        let Some(partitions) = self.inner("partitions")? else { return Ok(usual) };
        let partition_bytes = partitions.count("splitBytes")?.unwrap_or(usual.partition_bytes);
        Ok(Shape {
            partition_bytes,
            merge_bytes: partitions.count("mergeBytes")?.unwrap_or(partition_bytes / 4),
            partition_operations: partitions.count("splitOperations")?.unwrap_or(usual.partition_operations),
            ..usual
        })
    }

    /// What is asked about consumption, at these prices unless others are given.
    pub(super) fn compute_consumed(&self, prices: Prices) -> Result<ComputeConsumed> {
        let table = if self.get("tableName").is_undefined() { None } else { Some(self.table()?) };
        Ok(ComputeConsumed {
            table,
            start: self.integer("start")?,
            end: self.integer("end")?,
            period: self.choice("period", &[("hour", Period::Hour), ("second", Period::Second)])?,
            prices: self.prices(prices)?,
        })
    }

    fn boolean(&self, name: &str) -> Result<Option<bool>> {
        let value = self.get(name);
        if value.is_undefined() {
            return Ok(None);
        }
        value.as_bool().map(Some).ok_or_else(|| self.wrong(name, &value, "true or false"))
    }

    fn inner(&self, name: &str) -> Result<Option<Self>> {
        let value = self.get(name);
        if value.is_undefined() {
            return Ok(None);
        }
        if !value.is_object() {
            return Err(self.wrong(name, &value, "an object"));
        }
        Ok(Some(Self { object: value, prefix: format!("{}{name}.", self.prefix) }))
    }

    fn list(&self, name: &str) -> Result<Vec<Self>> {
        let value = self.get(name);
        let Some(list) = value.dyn_ref::<Array>() else {
            return Err(self.wrong(name, &value, "an array"));
        };
        let item = |(at, object)| Self { object, prefix: format!("{}{name}[{at}].", self.prefix) };
        Ok(list.iter().enumerate().map(item).collect())
    }

    /// The same; missing is an empty one.
    fn list_or_none(&self, name: &str) -> Result<Vec<Self>> {
        if self.get(name).is_undefined() { Ok(Vec::new()) } else { self.list(name) }
    }

    /// A list of names.
    pub(super) fn names(&self, name: &str) -> Result<Vec<String>> {
        let of = |item: Self| item.object.as_string().ok_or_else(|| self.wrong(name, &item.object, "a list of names"));
        self.list_or_none(name)?.into_iter().map(of).collect()
    }

    /// One of `choices` by its name; the first one where none is given.
    fn choice<T: Copy>(&self, name: &str, choices: &[(&str, T)]) -> Result<T> {
        let value = self.get(name);
        let wanted = value.as_string();
        let found = match &wanted {
            None if value.is_undefined() => choices.first(),
            _ => choices.iter().find(|(text, _)| wanted.as_deref() == Some(text)),
        };
        found.map(|(_, choice)| *choice).ok_or_else(|| {
            let names: Vec<&str> = choices.iter().map(|(text, _)| *text).collect();
            self.wrong(name, &value, &names.join(" or "))
        })
    }

    /// A size or a count.
    fn count<T: TryFrom<i64>>(&self, name: &str) -> Result<Option<T>> {
        let number = self.integer(name)?.map(T::try_from).transpose();
        number.map_err(|_| self.wrong(name, &self.get(name), "an integer of at least 0"))
    }

    /// The options of `Engine.open`.
    pub(super) fn open(&self) -> Result<OpenOptions> {
        let base = self.choice("limits", &[("document", Limits::DOCUMENT), ("sdk", Limits::SDK)])?;
        let quotas = self.inner("quotas")?.unwrap_or(Self::new(JsValue::UNDEFINED));
        let limits = Limits {
            tables: quotas.count("tables")?.unwrap_or(base.tables),
            reserved_units: quotas.count("reservedThroughput")?.unwrap_or(base.reserved_units),
            ..base
        };
        let durabilities = [("relaxed", Durability::Relaxed), ("strict", Durability::Strict)];
        Ok(OpenOptions {
            name: self.text("name")?,
            memory: self.choice("storage", &[("indexeddb", false), ("memory", true)])?,
            create: self.boolean("create")?.unwrap_or(true),
            kind: self.kind()?,
            durability: self.choice("durability", &durabilities)?,
            cache_bytes: self.count("cacheBytes")?,
            memtable_bytes: self.count("memtableBytes")?,
            reserve_bytes: self.count("reserveBytes")?,
            shape: self.shape()?,
            salvage: self.boolean("salvage")?.unwrap_or(false),
            clock: self.integer("clock")?,
            client: self.count("client")?.unwrap_or(0),
            limits,
            prices: self.prices(Prices::default())?,
            throttle: self.throttle()?,
            instances: quotas.count("instances")?,
        })
    }

    /// The kind of an instance (I4).
    pub(super) fn kind(&self) -> Result<InstanceKind> {
        self.choice("kind", &KINDS)
    }

    /// How many instances there may be (I3).
    pub(super) fn instances(&self) -> Result<Option<u32>> {
        self.inner("quotas")?.map_or(Ok(None), |quotas| quotas.count("instances"))
    }

    /// The table that an operation is about.
    pub(super) fn table(&self) -> Result<String> {
        self.text("tableName")
    }

    fn table_options(&self) -> Result<OptionsChange> {
        Ok(OptionsChange {
            time_to_live: self.integer("timeToLive")?,
            max_versions: self.integer("maxVersions")?,
            max_version_offset: self.integer("maxVersionOffset")?,
            allow_update: self.boolean("allowUpdate")?,
        })
    }

    fn throughput(&self) -> Result<(Option<i64>, Option<i64>)> {
        match self.inner("reservedThroughput")? {
            Some(units) => Ok((units.integer("read")?, units.integer("write")?)),
            None => Ok((None, None)),
        }
    }

    pub(super) fn create_table(&self) -> Result<CreateTable> {
        let name = self.table()?;
        let column = |column: &Self| {
            let name = column.text("type")?;
            let key_type = KeyType::parse(&name).map_err(|error| {
                let path = format!("{}type", column.prefix);
                error.with_argument(&path, "STRING, INTEGER or BINARY", format_args!("'{name}'"))
            })?;
            let auto_increment = column.boolean("autoIncrement")?.unwrap_or(false);
            Ok(KeyColumn { name: column.text("name")?, key_type, auto_increment })
        };
        let key = self.list("primaryKey")?.iter().map(column).collect::<Result<_>>()?;
        let (reserved_read, reserved_write) = self.throughput()?;
        Ok(CreateTable {
            name,
            key,
            options: self.table_options()?,
            reserved_read,
            reserved_write,
            defined: self.defined_columns("definedColumns")?,
            indexes: self.list_or_none("indexes")?.iter().map(Self::index).collect::<Result<_>>()?,
            local_transactions: self.boolean("enableLocalTransaction")?,
        })
    }

    /// Columns with a name and a type.
    pub(super) fn defined_columns(&self, name: &str) -> Result<Vec<DefinedColumn>> {
        let column = |column: &Self| {
            // None is a type that has to be said.
            column.text("type")?;
            Ok(DefinedColumn { name: column.text("name")?, column_type: column.choice("type", &ValueType::NAMES)? })
        };
        self.list_or_none(name)?.iter().map(column).collect()
    }

    fn index(&self) -> Result<IndexSpec> {
        Ok(IndexSpec {
            name: self.text("indexName")?,
            kind: self.choice("type", &INDEX_KINDS)?,
            key: self.names("primaryKey")?,
            columns: self.names("columns")?,
            time_to_live: self.integer("timeToLive")?,
        })
    }

    /// The index to be made, and whether it takes over what its table holds.
    pub(super) fn create_index(&self) -> Result<(IndexSpec, bool)> {
        let index = self.inner("index")?.unwrap_or(Self::new(JsValue::UNDEFINED));
        Ok((index.index()?, self.boolean("includeBaseData")?.unwrap_or(true)))
    }

    /// How a table is to be cut.
    pub(super) fn split<'a>(&self, table: &'a str) -> Result<SplitRequest<'a>> {
        let split_size = self.integer("splitSize")?;
        Ok(SplitRequest {
            table,
            split_size: split_size.ok_or_else(|| self.wrong("splitSize", &JsValue::UNDEFINED, "an integer"))?,
            unit: self.integer("splitSizeUnitBytes")?,
            point_limit: self.integer("splitPointLimit")?,
        })
    }

    /// The rights of an access key, if they are given.
    pub(super) fn rights(&self) -> Result<Option<Rights>> {
        if self.get("rights").is_undefined() {
            return Ok(None);
        }
        let mut rights = Vec::new();
        for name in self.names("rights")? {
            let found = Right::NAMES.into_iter().find(|(other, _)| *other == name);
            let (_, right) =
                found.ok_or_else(|| self.wrong("rights", &JsValue::from_str(&name), "read, write or admin"))?;
            rights.push(right);
        }
        Ok(Some(Rights::of(&rights)))
    }

    /// Whether something is on, if it is said.
    pub(super) fn enabled(&self) -> Result<Option<bool>> {
        self.boolean("enabled")
    }

    pub(super) fn update_table(&self) -> Result<UpdateTable> {
        let (reserved_read, reserved_write) = self.throughput()?;
        Ok(UpdateTable { name: self.table()?, options: self.table_options()?, reserved_read, reserved_write })
    }
}

/// The largest integer up to which doubles hold all of them: `Number.MAX_SAFE_INTEGER`.
const SAFE: f64 = 9_007_199_254_740_991.0;

/// What was consumed as a plain object: `ComputeConsumedResult` of the package.
pub(super) fn consumed(series: &ConsumedSeries) -> JsValue {
    let period = |period: &Consumption| {
        let pair = |units: Units| object(&[("read", units.read.into()), ("write", units.write.into())]).into();
        JsValue::from(object(&[
            ("start", number(period.start)),
            ("reserved", pair(period.reserved)),
            ("onDemand", pair(period.on_demand)),
            ("consumed", pair(period.consumed)),
            ("cost", period.cost.into()),
        ]))
    };
    let periods: Array = series.periods.iter().map(period).collect();
    object(&[("periods", periods.into()), ("total", period(&series.total))]).into()
}

/// A number: the nearest double.
#[expect(clippy::cast_precision_loss, reason = "what JavaScript can hold; exact for every real time and count")]
pub(super) fn number(value: i64) -> JsValue {
    JsValue::from_f64(value as f64)
}

/// A count or a size.
#[expect(clippy::cast_precision_loss, reason = "exact below 2^53")]
pub(super) fn count(value: u64) -> JsValue {
    JsValue::from_f64(value as f64)
}

/// What `metrics` tells besides what the engine knows.
pub(super) struct MetricsExtra<'a> {
    pub(super) kind: InstanceKind,
    pub(super) memtable_budget: usize,
    pub(super) cache_capacity: usize,
    pub(super) reserve_capacity: usize,
    pub(super) now: i64,
    /// The name of a tree's table.
    pub(super) table_of: &'a dyn Fn(u32) -> Option<String>,
    pub(super) activity: &'a ActivityReport,
    /// Read and write units used since the instance was opened.
    pub(super) units: [u64; 2],
}

/// The engine's metrics as a plain object: `Metrics` of the package.
pub(super) fn metrics(metrics: &Metrics, extra: &MetricsExtra<'_>) -> JsValue {
    let group = |fields: &[(&str, u64)]| {
        let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, count(*value))).collect();
        JsValue::from(object(&fields))
    };
    let tree = |tree: &TreeMetrics| {
        let levels =
            tree.levels.iter().zip(0..).filter(|(level, _)| level.segments + level.bytes > 0).map(|(level, number)| {
                group(&[
                    ("level", number),
                    ("segments", level.segments),
                    ("bytes", level.bytes),
                    ("entries", level.entries),
                ])
            });
        let name = (extra.table_of)(tree.tree.0).map_or(JsValue::NULL, |name| JsValue::from_str(&name));
        let levels: Array = levels.collect();
        let partitions = tree.partitions.iter().map(|partition| {
            group(&[
                ("partitionId", partition.id.0),
                ("bytes", partition.bytes),
                ("entries", partition.entries),
                ("operationsPerSecond", partition.operations_per_second),
            ])
        });
        let partitions: Array = partitions.collect();
        JsValue::from(object(&[
            ("tree", tree.tree.0.into()),
            ("tableName", name),
            ("levels", levels.into()),
            ("partitions", partitions.into()),
        ]))
    };
    let trees: Array = metrics.trees.iter().map(tree).collect();
    let memtable = [
        ("bytes", metrics.memtable_bytes),
        ("entries", metrics.memtable_entries),
        ("frozen", metrics.frozen_memtables),
        ("budget", extra.memtable_budget as u64),
    ];
    let cache = [
        ("bytes", metrics.cache_bytes),
        ("capacity", extra.cache_capacity as u64),
        ("hits", metrics.cache_hits),
        ("misses", metrics.cache_misses),
    ];
    let reserve = [("bytes", metrics.reserve_bytes), ("capacity", extra.reserve_capacity as u64)];
    let work = [
        ("commits", metrics.commits),
        ("writes", metrics.writes),
        ("flushes", metrics.flushes),
        ("bytesFlushed", metrics.flushed_bytes),
        ("compactions", metrics.compactions),
        ("bytesCompactedIn", metrics.compacted_bytes_read),
        ("bytesCompacted", metrics.compacted_bytes_written),
        ("failedCompactions", metrics.failed_compactions),
        ("passedPartitions", metrics.passed_partitions),
        ("longestSliceUs", metrics.longest_slice_us),
    ];
    let operations = extra.activity.operations.iter().map(|operation| {
        let fields = [
            ("requests", count(operation.requests)),
            ("errors", count(operation.errors)),
            ("requestsPerSecond", operation.requests_per_second.into()),
            ("meanLatencyMs", operation.mean_latency_ms.into()),
        ];
        (operation.name, JsValue::from(object(&fields)))
    });
    let operations: Vec<_> = operations.collect();
    let [read, write] = extra.units;
    let capacity = [
        ("read", count(read)),
        ("write", count(write)),
        ("readPerSecond", extra.activity.read_per_second.into()),
        ("writePerSecond", extra.activity.write_per_second.into()),
    ];
    let fields = [
        ("kind", JsValue::from_str(kind_name(extra.kind))),
        ("reserve", group(&reserve)),
        ("operations", object(&operations).into()),
        ("capacity", object(&capacity).into()),
        ("memtable", group(&memtable)),
        ("log", group(&[("bytes", metrics.log_bytes), ("records", metrics.log_records)])),
        ("segments", group(&[("count", metrics.segments), ("bytes", metrics.segment_bytes)])),
        ("trees", trees.into()),
        ("cache", group(&cache)),
        ("work", group(&work)),
        ("manifest", count(metrics.manifest)),
        ("epoch", count(metrics.epoch)),
        ("now", number(extra.now)),
    ];
    object(&fields).into()
}
