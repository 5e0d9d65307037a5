//! Checks that a write fits its table: its kind, its options, its columns, its indexes.

use super::request::{ColumnOp, Mutation, RowWrite};
use crate::error::{Error, Result};
use crate::model::version::Window;
use crate::model::{ColumnName, DefinedColumn, ValueRef, ValueType, limits};
use crate::tablestore::table::Table;
use std::rc::Rc;

/// Refuses an index: the store alone writes it.
pub(crate) fn no_index(table: &Table) -> Result<()> {
    if table.index_of().is_some() { Err(Error::parameter("Can't write index table directly")) } else { Ok(()) }
}

/// Checks a write against its table, at the time `now`.
pub(crate) fn check(write: &RowWrite<'_>, table: &Table, now: i64) -> Result<()> {
    no_index(table)?;
    let options = table.options();
    let columns =
        Columns { table, window: options.window(now), defined: table.some_defined(), indexed: table.is_indexed() };
    match &write.mutation {
        Mutation::Put(cells) => {
            for cell in cells {
                columns.attribute(cell.column)?;
                columns.put(cell.column, cell.version, cell.value)?;
            }
        }
        Mutation::Update(changes) => {
            changes.iter().try_for_each(|change| columns.attribute(change.column))?;
            if !options.allow_update {
                return Err(Error::parameter("Update operation is not allowed in this table"));
            }
            for change in changes {
                match change.op {
                    ColumnOp::Put { version, value } => columns.put(change.column, version, value)?,
                    ColumnOp::Increment(_) => columns.defined(change.column, ValueType::Integer)?,
                    ColumnOp::DeleteVersion(_) => columns.no_version(change.column)?,
                    ColumnOp::DeleteColumn => {}
                }
            }
        }
        Mutation::Delete => {}
    }
    Ok(())
}

/// A table's rules for the columns of a write.
struct Columns<'t> {
    table: &'t Table,
    window: Window,
    defined: Option<Rc<[DefinedColumn]>>,
    indexed: bool,
}

impl Columns<'_> {
    /// A version outside the window of the table's options (V6).
    fn outside(&self, column: ColumnName<'_>, version: i64) -> Error {
        let (from, to) = self.window.ends();
        let name = self.table.name();
        let hint = format!(
            "Table '{name}', column '{column}': the version {version} has to be at least {from} and less than {to}, by the \
             time, maxVersionOffset and timeToLive."
        );
        Error::parameter(format!("Invalid timestamp. Cell:{column}.")).with_hint(hint)
    }

    fn attribute(&self, column: ColumnName<'_>) -> Result<()> {
        if self.table.schema().is_key(column.as_str()) {
            return Err(Error::parameter(format!(
                "Duplicated attribute column name with primary key column: {column}."
            )));
        }
        Ok(())
    }

    fn put(&self, column: ColumnName<'_>, version: Option<i64>, value: ValueRef<'_>) -> Result<()> {
        if let Some(version) = version {
            self.no_version(column)?;
            if !self.window.contains(version) {
                return Err(self.outside(column, version));
            }
        }
        self.defined(column, value.value_type())?;
        let (length, max) = (value.metered_bytes(), limits::KEY_VALUE_BYTES);
        if self.indexed && length > max {
            let indexes = self.table.indexes();
            if indexes.iter().any(|index| index.table.schema().is_key(column.as_str())) {
                return Err(Error::parameter(format!(
                    "The length of primary key column: '{column}' exceeds the MaxLength:{max} with CurrentLength:{length}."
                )));
            }
        }
        Ok(())
    }

    /// A table with an index has one version of every column, which the store chooses.
    fn no_version(&self, column: ColumnName<'_>) -> Result<()> {
        if self.indexed {
            return Err(Error::parameter(format!(
                "Timestamp cannot be given for a table with an index. Cell:{column}."
            )));
        }
        Ok(())
    }

    fn defined(&self, column: ColumnName<'_>, given: ValueType) -> Result<()> {
        let mut defined = self.defined.iter().flat_map(|defined| defined.iter());
        let defined = defined.find(|defined| defined.name == column.as_str());
        match defined {
            Some(defined) if defined.column_type != given => {
                let (expect, actual) = (defined.column_type.variant(), given.variant());
                let text = format!("Invalid column type for column {column} expect {expect} actual {actual}");
                let name = self.table.name();
                let hint = format!(
                    "Table '{name}' has defined '{column}' as {expect}. In JavaScript double(12) is a Double, 12 an Integer."
                );
                Err(Error::parameter(text).with_hint(hint))
            }
            _ => Ok(()),
        }
    }
}
