//! The behaviour of the store, statement by statement, on storage in memory with a clock that tests move.
//!
//! The modules are the list of its features; each test names the requirement that it shows.

mod access_keys;
mod asked_again;
mod atomic;
mod auto_increment;
mod batches;
mod clock;
mod codec;
mod column_conditions;
mod conditions;
mod counting;
mod damage;
mod filters;
mod full_disk;
mod full_disk_kinds;
mod hints;
mod index_builds;
mod index_tables;
mod indexes;
mod kinds;
mod large_rows;
mod limits;
mod loads;
mod lost;
mod meter;
mod meter_late;
mod modules;
mod order;
mod partitions;
mod ranges;
mod rows;
mod salvage;
mod session;
mod sessions;
mod sifting;
mod splits;
mod store;
mod stored;
mod tables;
mod throttling;
mod transaction_life;
mod transactions;
mod units;
mod unknown_fates;
mod versions;
