//! Operations on tables: their options, indexes, partitions and costs.

use super::Instance;
use crate::error::Result;
use crate::model::meter::Prices;
use crate::model::{DefinedColumn, KeyValue};
use crate::tablestore::operations::consumed::{ComputeConsumed, ConsumedSeries};
use crate::tablestore::operations::missing_rows::MissingRows;
use crate::tablestore::operations::splits::{SplitRequest, Splits};
use crate::tablestore::operations::stored::Stored;
use crate::tablestore::operations::{admin, consumed, index_admin, missing_rows, partitions, splits, stored};
use crate::tablestore::table::descriptions::{
    CreateTable, IndexSpec, PartitionDescription, TableDescription, UpdateTable,
};
use crate::tablestore::units::failure::Outcome;

impl Instance {
    /// Creates a table with its indexes. They are usable when this returns.
    ///
    /// # Errors
    /// A wrong name, key, option, throughput, defined column or index; `OTSObjectAlreadyExist`; `OTSQuotaExhausted`.
    pub fn create_table(&self, request: CreateTable) -> impl Future<Output = Result<()>> {
        admin::create_table(&self.state, request)
    }

    /// The names of all tables, sorted.
    pub fn list_table(&self) -> Vec<String> {
        self.state.catalog.names(false)
    }

    /// The same without indexes, which nobody can delete by their names.
    pub fn list_base_table(&self) -> Vec<String> {
        self.state.catalog.base_names()
    }

    /// The description of a table, also of one of another data model.
    ///
    /// # Errors
    /// A wrong name; `OTSObjectNotExist`.
    pub fn describe_table(&self, name: &str) -> Result<TableDescription> {
        admin::describe_table(&self.state, name)
    }

    /// Changes options and reserved throughput, while the table stays readable and writable (T5). A table of another data model
    /// has a stream to change, and nothing else.
    ///
    /// # Errors
    /// A wrong name, option or throughput; `OTSObjectNotExist`; `OTSTooFrequentReservedThroughputAdjustment` within two
    /// minutes of the last change of throughput (T6). Then nothing changes.
    pub fn update_table(&self, request: UpdateTable) -> impl Future<Output = Result<TableDescription>> {
        admin::update_table(&self.state, request)
    }

    /// Deletes a table, its rows and its indexes.
    ///
    /// # Errors
    /// A wrong name; `OTSObjectNotExist`; `OTSParameterInvalid` for an index, which DropIndex deletes.
    pub fn delete_table(&self, name: &str) -> impl Future<Output = Result<()>> {
        admin::delete_table(&self.state, name)
    }

    /// Creates an index of a table. It takes part in every write that is asked for after this resolves. With
    /// `include_base_data` it is also built over the existing rows, in the background, and cannot be read until that is
    /// complete.
    ///
    /// # Errors
    /// A wrong name, column or option; `OTSObjectNotExist`; `OTSObjectAlreadyExist`; `OTSQuotaExhausted`.
    pub fn create_index(
        &self,
        table: &str,
        spec: IndexSpec,
        include_base_data: bool,
    ) -> impl Future<Output = Result<()>> {
        index_admin::create_index(&self.state, table, spec, include_base_data)
    }

    /// Deletes an index.
    ///
    /// # Errors
    /// A wrong name; `OTSObjectNotExist` if there is no such table, or it has no such index.
    pub fn drop_index(&self, table: &str, index: &str) -> impl Future<Output = Result<()>> {
        index_admin::drop_index(&self.state, table, index)
    }

    /// Defines the type of columns, so that indexes can use them. Existing values stay unchanged.
    ///
    /// # Errors
    /// A wrong name, one that is defined already, too many; `OTSObjectNotExist`.
    pub fn add_defined_column(&self, table: &str, columns: Vec<DefinedColumn>) -> impl Future<Output = Result<()>> {
        index_admin::add_defined_column(&self.state, table, columns)
    }

    /// Removes the fixed type of columns; rows keep their values.
    ///
    /// # Errors
    /// A column that is not defined, or that an index uses; `OTSObjectNotExist`.
    pub fn delete_defined_column(&self, table: &str, columns: &[String]) -> impl Future<Output = Result<()>> {
        index_admin::delete_defined_column(&self.state, table, columns)
    }

    /// The partitions of a table or an index, ascending (P1).
    ///
    /// # Errors
    /// A wrong name; `OTSObjectNotExist`.
    pub fn partitions(&self, table: &str) -> Result<Vec<PartitionDescription>> {
        partitions::partitions(&self.state, table)
    }

    /// Splits a table in front of this partition key value, whatever the partition's size.
    ///
    /// # Errors
    /// As for [`Instance::partitions`]; errors of the storage.
    pub fn split_partition(&self, table: &str, at: &KeyValue) -> impl Future<Output = Result<()>> {
        partitions::split_partition(&self.state, table, at)
    }

    /// Merges the partition with this id and the next one of the table, whatever their sizes.
    ///
    /// # Errors
    /// As for [`Instance::partitions`]; errors of the storage.
    pub fn merge_partition(&self, table: &str, id: u64) -> impl Future<Output = Result<()>> {
        partitions::merge_partition(&self.state, table, id)
    }

    /// Cuts a table into slices of about the wanted size, from the store's knowledge of its rows, without reading them.
    ///
    /// # Errors
    /// A wrong name, size, unit or limit; `OTSObjectNotExist`.
    pub fn compute_split_points_by_size(&self, request: &SplitRequest<'_>) -> impl Future<Output = Outcome<Splits>> {
        splits::compute_split_points_by_size(&self.state, request)
    }

    /// Weighs a table or an index by reading all of it at one instant. It charges no capacity units: it is the bill, not
    /// a read.
    ///
    /// # Errors
    /// A wrong name; `OTSObjectNotExist`; `Corrupt`.
    pub fn compute_storage(&self, name: &str) -> impl Future<Output = Result<Stored>> {
        stored::compute_storage(&self.state, name)
    }

    /// The unreadable data of an instance that was opened with `salvage`.
    #[must_use]
    pub fn missing(&self) -> Vec<MissingRows> {
        missing_rows::missing(&self.state)
    }

    /// The consumed units, second by second or hour by hour, and their cost (C2, C3).
    ///
    /// # Errors
    /// A wrong name; `OTSObjectNotExist`; errors of reading the meter's rows.
    pub fn compute_consumed(&self, request: &ComputeConsumed) -> impl Future<Output = Result<ConsumedSeries>> {
        consumed::compute_consumed(&self.state, request)
    }

    /// Read and write units used since the instance was opened.
    pub fn units_used(&self) -> [u64; 2] {
        self.state.meter.used()
    }

    /// The prices in this instance.
    pub fn prices(&self) -> Prices {
        self.state.options.prices
    }
}
