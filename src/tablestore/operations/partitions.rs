//! The partitions of a table, as in its description (P1 to P3).

use crate::engine::PartitionMetrics;
use crate::error::Result;
use crate::model::{KeyValue, TableName, decode_key, encode_value};
use crate::tablestore::instance::Instance;
use crate::tablestore::table::Table;
use crate::tablestore::table::descriptions::PartitionDescription;

impl Instance {
    /// The partitions of a table or an index, ascending (P1).
    ///
    /// # Errors
    /// A wrong name; `OTSObjectNotExist`.
    pub fn partitions(&self, table: &str) -> Result<Vec<PartitionDescription>> {
        let table = self.table(TableName::parse(table)?)?;
        Ok(self.partitions_of(&table))
    }

    pub(crate) fn partitions_of(&self, table: &Table) -> Vec<PartitionDescription> {
        let mut found = self.engine.partitions(table.tree());
        if found.is_empty() {
            found.push(PartitionMetrics::default());
        }
        let mut described: Vec<PartitionDescription> = Vec::with_capacity(found.len());
        for one in found {
            let lower = decode_key(&one.from).and_then(|mut key| key.pop());
            if let Some(before) = described.last_mut() {
                before.upper.clone_from(&lower);
            }
            described.push(PartitionDescription {
                id: one.id.0,
                lower,
                upper: None,
                bytes: one.bytes,
                entries: one.entries,
                operations_per_second: one.operations_per_second,
                exceeds_advice: one.of_one_key && one.bytes > self.options.limits.partition_key_bytes,
            });
        }
        described
    }

    /// Splits a table in front of this partition key value, whatever the partition's size.
    ///
    /// # Errors
    /// As for [`Instance::partitions`]; errors of the storage.
    pub async fn split_partition(&self, table: &str, at: &KeyValue) -> Result<()> {
        let table = self.table(TableName::parse(table)?)?;
        let mut key = Vec::new();
        encode_value(at.as_value(), &mut key);
        self.engine.split_partition(table.tree(), &key).await
    }

    /// Merges the partition with this id and the next one of the table, whatever their sizes.
    ///
    /// # Errors
    /// As for [`Instance::partitions`]; errors of the storage.
    pub async fn merge_partition(&self, table: &str, id: u64) -> Result<()> {
        let table = self.table(TableName::parse(table)?)?;
        self.engine.merge_partition(table.tree(), crate::engine::PartitionId(id)).await
    }
}
