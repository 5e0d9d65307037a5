//! The options with which instances are opened and created.

use super::meter::SomePrices;
use crate::engine::{ClockMode, Options, Shape};
use crate::model::limits::INSTANCES;
use crate::model::meter::Prices;
use crate::model::{InstanceKind, Limits};
use crate::storage::Durability;
use crate::tablestore::{InstanceOptions, ThrottleOptions};
use serde::Deserialize;

/// The options of `Engine.open`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::wasm) struct OpenOptions {
    pub(in crate::wasm) name: String,
    storage: Option<StorageName>,
    /// Whether this thread can keep the log in files.
    log_in_files: Option<bool>,
    create: Option<bool>,
    kind: Option<InstanceKind>,
    durability: Option<Durability>,
    cache_bytes: Option<u32>,
    memtable_bytes: Option<u32>,
    reserve_bytes: Option<u32>,
    partitions: Option<Partitions>,
    salvage: Option<bool>,
    lost: Option<Lost>,
    /// The injected clock.
    pub(in crate::wasm) clock: Option<i64>,
    limits: Option<LimitsName>,
    quotas: Option<Quotas>,
    prices: Option<SomePrices>,
    throttle: Option<ThrottleOptions>,
}

/// The options of `createInstance`.
#[derive(Deserialize)]
pub(in crate::wasm) struct CreateInstance {
    kind: Option<InstanceKind>,
    quotas: Option<Quotas>,
}

/// What becomes of an instance that the browser has lost.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Lost {
    Refuse,
    Recreate,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StorageName {
    #[default]
    IndexedDb,
    Memory,
    Files,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum LimitsName {
    #[default]
    Document,
    Sdk,
}

/// When partitions are split and merged (P1).
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Partitions {
    split_bytes: Option<u64>,
    merge_bytes: Option<u64>,
    split_operations: Option<u64>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Quotas {
    /// Instances of the origin (I3).
    instances: Option<u32>,
    /// Tables of the instance (I3).
    tables: Option<u32>,
    /// Reserved units of a table (T6).
    reserved_throughput: Option<u32>,
}

impl OpenOptions {
    /// Whether the data lives in memory only.
    pub(in crate::wasm) fn is_in_memory(&self) -> bool {
        self.storage == Some(StorageName::Memory)
    }

    /// Whether the data lives in files of the host.
    pub(in crate::wasm) fn is_in_files(&self) -> bool {
        self.storage == Some(StorageName::Files)
    }

    /// Whether the log of an instance in IndexedDB goes to files.
    pub(in crate::wasm) fn keeps_log_in_files(&self) -> bool {
        self.log_in_files.unwrap_or(false)
    }

    /// Whether what is left of damaged data is opened.
    pub(in crate::wasm) fn salvages(&self) -> bool {
        self.salvage.unwrap_or(false)
    }

    /// Whether a missing instance is created.
    pub(in crate::wasm) fn creates(&self) -> bool {
        self.create.unwrap_or(true)
    }

    /// Whether a lost instance is created anew.
    pub(in crate::wasm) fn recreates(&self) -> bool {
        self.lost == Some(Lost::Recreate)
    }

    /// The options of a new instance.
    pub(in crate::wasm) fn new_instance(&self) -> CreateInstance {
        CreateInstance { kind: self.kind, quotas: self.quotas }
    }

    /// The options of the engine of an instance of this kind.
    pub(in crate::wasm) fn engine(&self, kind: InstanceKind) -> Options {
        let mut defaults = Options::of(kind);
        if self.is_in_files() {
            defaults = defaults.in_files();
        }
        let bytes = |given: Option<u32>, usual: usize| given.map_or(usual, |given| given as usize);
        // Memory has no quota.
        let reserve = if self.is_in_memory() { Some(0) } else { self.reserve_bytes };
        Options {
            memtable_bytes: bytes(self.memtable_bytes, defaults.memtable_bytes),
            cache_bytes: bytes(self.cache_bytes, defaults.cache_bytes),
            durability: self.durability.unwrap_or(defaults.durability),
            reserve_bytes: bytes(reserve, defaults.reserve_bytes),
            shape: self.partitions.map_or(defaults.shape, |partitions| partitions.shape(defaults.shape)),
            salvage: self.salvage.unwrap_or(defaults.salvage),
            pausable: self.is_in_memory(),
            clock: if self.clock.is_some() { ClockMode::Injected } else { ClockMode::Device },
            ..defaults
        }
    }

    /// The options of an instance of this kind.
    pub(in crate::wasm) fn instance(&self, kind: InstanceKind) -> InstanceOptions {
        let base = match self.limits.unwrap_or_default() {
            LimitsName::Document => Limits::DOCUMENT,
            LimitsName::Sdk => Limits::SDK,
        };
        let quotas = self.quotas.unwrap_or_default();
        let limits = Limits {
            tables: quotas.tables.map_or(base.tables, |tables| tables as usize),
            reserved_units: quotas.reserved_throughput.unwrap_or(base.reserved_units),
            ..base
        };
        let prices = self.prices.unwrap_or_default().over(Prices::default());
        InstanceOptions { limits, kind, prices, throttle: self.throttle.unwrap_or_default() }
    }
}

impl CreateInstance {
    /// Its kind (I4).
    pub(in crate::wasm) fn kind(&self) -> InstanceKind {
        self.kind.unwrap_or_default()
    }

    /// The most instances that may exist (I3).
    pub(in crate::wasm) fn most(&self) -> u32 {
        self.quotas.and_then(|quotas| quotas.instances).unwrap_or(INSTANCES)
    }
}

impl Partitions {
    fn shape(self, usual: Shape) -> Shape {
        let partition_bytes = self.split_bytes.unwrap_or(usual.partition_bytes);
        Shape {
            partition_bytes,
            merge_bytes: self.merge_bytes.unwrap_or(partition_bytes / 4),
            partition_operations: self.split_operations.unwrap_or(usual.partition_operations),
            ..usual
        }
    }
}
