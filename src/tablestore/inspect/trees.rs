//! The trees of an instance, by what they hold.

use super::Inspection;
use crate::engine::{Layout, SegmentContents, SegmentQuery, TreeId};
use crate::error::Result;
use crate::model::{KeyInput, TableName};
use crate::tablestore::rows::point_read::encoded;
use crate::tablestore::state::{answers, catalog_rows};
use crate::tablestore::units::meter;

/// What a tree holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeKind {
    /// The rows of a table.
    Table,
    /// The rows of an index.
    Index,
    /// The records of a table's stream.
    Stream,
    /// The tables of the instance.
    Catalog,
    /// Used capacity units.
    Meter,
    /// Answers to clients in other tabs.
    Answers,
    /// Settings of Azure accounts.
    Documents,
    /// A table or a stream that was deleted: compaction has still to drop it.
    Deleted,
}

impl TreeKind {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Index => "index",
            Self::Stream => "stream",
            Self::Catalog => "catalog",
            Self::Meter => "meter",
            Self::Answers => "answers",
            Self::Documents => "documents",
            Self::Deleted => "deleted",
        }
    }
}

/// A tree, as people call it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeName {
    /// What it holds.
    pub kind: TreeKind,
    /// Its table: that of a stream too.
    pub table: Option<String>,
    /// The names of the key columns.
    pub key: Vec<String>,
}

impl Inspection<'_> {
    /// The state of the store; see [`Layout`].
    #[must_use]
    pub fn layout(self) -> Layout {
        self.state.engine.inspect().layout()
    }

    /// Reads a segment; see [`crate::engine::Inspector::segment`]. `row` is a table and a key to ask the filter for.
    ///
    /// # Errors
    /// A wrong name or key; `OTSObjectNotExist`; `Corrupt`; errors of the storage.
    pub async fn segment(
        self,
        id: u64,
        query: SegmentQuery<'_>,
        row: Option<(&str, &KeyInput<'_>)>,
    ) -> Result<Option<SegmentContents>> {
        let Some((table, key)) = row else { return self.state.engine.inspect().segment(id, query).await };
        let table = self.state.catalog.table(TableName::parse(table)?)?;
        let (_, key) = encoded(key, &table)?;
        self.state.engine.inspect().segment(id, SegmentQuery { key: Some((table.tree(), &key)), ..query }).await
    }

    /// What a tree is.
    #[must_use]
    pub fn tree_name(self, tree: TreeId) -> TreeName {
        for table in self.state.catalog.all().values() {
            let name = Some(table.name().to_owned());
            if table.tree() == tree {
                let kind = if table.index_of().is_some() { TreeKind::Index } else { TreeKind::Table };
                let key = table.schema().key().iter().map(|column| column.name.clone()).collect();
                return TreeName { kind, table: name, key };
            }
            if table.stream().is_some_and(|stream| stream.tree == tree) {
                let key = vec!["shardId".to_owned(), "sequence".to_owned()];
                return TreeName { kind: TreeKind::Stream, table: name, key };
            }
        }
        let kind = match tree {
            catalog_rows::TREE => TreeKind::Catalog,
            meter::TREE => TreeKind::Meter,
            answers::TREE => TreeKind::Answers,
            TreeId::DOCUMENTS => TreeKind::Documents,
            _ => TreeKind::Deleted,
        };
        TreeName { kind, table: None, key: Vec::new() }
    }
}
