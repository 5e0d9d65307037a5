//! Checks of a request without its table: limits, types, combinations (R8).

use super::request::{ColumnChange, ColumnOp, Existence, Mutation, ReadOptions, ReturnContent, RowWrite};
use crate::collections::sort::sort_by;
use crate::error::{Error, Result};
use crate::model::capacity::column_bytes;
use crate::model::filter::CheckedFilter;
use crate::model::limits::{self, Limits};
use crate::model::select::ReadSelection;
use crate::model::{ColumnName, ValueRef};

/// The weight of a write, as capacity units count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WriteWeight {
    /// The key: names and values.
    pub(crate) key: usize,
    /// The key and all written columns; a deleted column counts by its name.
    pub(crate) all: usize,
}

/// A write that passed all checks without its table.
#[derive(Clone, Debug)]
pub(crate) struct Checked<'w> {
    pub(crate) weight: WriteWeight,
    /// The number of given versions.
    pub(crate) versions: usize,
    pub(crate) condition: Option<CheckedFilter<'w>>,
}

/// Checks one row's write and weighs it.
pub(crate) fn row_write<'w>(write: &'w RowWrite<'_>) -> Result<Checked<'w>> {
    let table = write.table.as_str();
    write.key.check_count().and_then(|()| write.key.check_write()).map_err(|error| error.in_table(table))?;
    let mut versions = 0;
    let mut weight = write.key.metered_bytes();
    let key = weight;
    match &write.mutation {
        Mutation::Put(cells) => {
            columns(cells.len(), || cells.iter().map(|cell| cell.column))?;
            for cell in cells {
                versions += usize::from(cell.version.is_some());
                weight += put(cell.column, cell.version, cell.value)?;
            }
        }
        Mutation::Update(changes) => {
            if changes.is_empty() {
                return Err(Error::parameter("Attribute column is missing."));
            }
            columns(changes.len(), || changes.iter().map(|change| change.column))?;
            for change in changes {
                weight += match change.op {
                    ColumnOp::Put { version, value } => {
                        versions += usize::from(version.is_some());
                        put(change.column, version, value)?
                    }
                    ColumnOp::DeleteVersion(version) => {
                        versions += 1;
                        timestamp(version)?;
                        change.column.as_str().len()
                    }
                    ColumnOp::DeleteColumn => change.column.as_str().len(),
                    ColumnOp::Increment(delta) => column_bytes(change.column.as_str(), ValueRef::Integer(delta)),
                };
            }
            contradictions(changes, write.key.is_any_order())?;
        }
        Mutation::Delete => {}
    }
    returned(write)?;
    let condition = write.column_condition.as_ref().map(|condition| condition.check(false)).transpose()?;
    Ok(Checked { weight: WriteWeight { key, all: weight }, versions, condition })
}

/// Checks the size of one request's data; `operation` is its name, or what of it is counted.
pub(crate) fn size(operation: &str, bytes: usize, limit: usize) -> Result<()> {
    if bytes > limit {
        return Err(Error::parameter(format!(
            "The total data size of {operation} request exceeds the limit, limit size: {limit}, data size: {bytes}."
        )));
    }
    Ok(())
}

/// Checks the options of a read. `nothing_asked` is the error text if it asks for no versions.
pub(crate) fn selection<'a>(
    options: &ReadOptions<'a>,
    limits: &Limits,
    nothing_asked: &str,
) -> Result<ReadSelection<'a>> {
    let (limit, count) = (options.most_columns.unwrap_or(limits.columns_to_get), options.columns.len());
    if count > limit {
        return Err(Error::parameter(format!(
            "The number of columns from the request exceeds the limit, limit count: {limit}, column count: {count}."
        )));
    }
    Ok(ReadSelection::new(options.versions, nothing_asked)?
        .columns(options.columns.iter().map(|column| column.as_str()).collect())
        .between(options.start_column, options.end_column))
}

fn put(column: ColumnName<'_>, version: Option<i64>, value: ValueRef<'_>) -> Result<usize> {
    version.map_or(Ok(()), timestamp)?;
    match value {
        ValueRef::Double(v) if v.is_nan() => return Err(Error::parameter("NaN can't be set to double value.")),
        ValueRef::Double(v) if v.is_infinite() => {
            return Err(Error::parameter("Infinity can't be set to double value."));
        }
        _ => limits::check_attribute_bytes(column.as_str(), value.metered_bytes())?,
    }
    Ok(column_bytes(column.as_str(), value))
}

fn timestamp(version: i64) -> Result<()> {
    if (0..limits::VERSION_END).contains(&version) {
        Ok(())
    } else {
        Err(Error::parameter("Timestamp must be in range [0, INT64_MAX/1000)."))
    }
}

/// This counts columns, not cells: several versions of one column are one.
fn columns<'a, I: Iterator<Item = ColumnName<'a>>>(cells: usize, names: impl Fn() -> I) -> Result<()> {
    let limit = limits::COLUMNS_PER_WRITE;
    if cells <= limit {
        return Ok(());
    }
    let mut names = names().collect::<Vec<_>>();
    sort_by(&mut names, ColumnName::cmp);
    names.dedup();
    let count = names.len();
    if count > limit {
        return Err(Error::parameter(format!(
            "The number of attribute columns exceeds the limit, limit count: {limit}, column count: {count}."
        )));
    }
    Ok(())
}

/// Refuses changes of which one would undo another. An incremented column has no other change in the request. If the changes have
/// no order, a deleted column, or a deleted version, is not put.
fn contradictions(changes: &[ColumnChange<'_>], is_any_order: bool) -> Result<()> {
    let is_put = |change: &ColumnChange<'_>| matches!(change.op, ColumnOp::Put { .. });
    if changes.len() < 2 || changes.iter().all(is_put) {
        return Ok(());
    }
    let version = |change: &ColumnChange<'_>| match change.op {
        ColumnOp::Put { version, .. } => version,
        ColumnOp::DeleteVersion(version) => Some(version),
        ColumnOp::DeleteColumn | ColumnOp::Increment(_) => None,
    };
    let mut sorted = changes.iter().collect::<Vec<_>>();
    sort_by(&mut sorted, |a, b| a.column.cmp(&b.column).then_with(|| version(a).cmp(&version(b))));
    for of_column in sorted.chunk_by(|a, b| a.column == b.column) {
        let Some((first, others)) = of_column.split_first() else { continue };
        let column = first.column;
        let any = |is: fn(&ColumnOp<'_>) -> bool| of_column.iter().any(|change| is(&change.op));
        let text = if !others.is_empty() && any(|op| matches!(op, ColumnOp::Increment(_))) {
            format!("Column '{column}' can not be incremented and changed otherwise in one request.")
        } else if !is_any_order {
            continue;
        } else if any(|op| matches!(op, ColumnOp::DeleteColumn)) && any(|op| matches!(op, ColumnOp::Put { .. })) {
            format!("Column '{column}' can not be put and deleted in one request.")
        } else if let Some([one, _]) = of_column
            .array_windows()
            .find(|[a, b]| version(a).is_some() && version(a) == version(b) && is_put(a) != is_put(b))
        {
            let version = version(one).unwrap_or_default();
            format!("Version {version} of column '{column}' can not be put and deleted in one request.")
        } else {
            continue;
        };
        return Err(Error::parameter(text).with_hint("Give the column to one of the two, or send two requests."));
    }
    Ok(())
}

/// Checks a write of a row with a key that the store will assign: there is no such row yet.
pub(crate) fn assigned(write: &RowWrite<'_>) -> Result<()> {
    let expects = match write.condition {
        Existence::Ignore => None,
        Existence::ExpectExist => Some("EXPECT_EXIST"),
        Existence::ExpectNotExist => Some("EXPECT_NOT_EXIST"),
    };
    if matches!(write.mutation, Mutation::Delete) {
        return Err(Error::parameter("Invalid row to delete which with pk auto increment"));
    }
    if let Some(expects) = expects {
        return Err(Error::parameter(format!("Invalid expect:{expects} when modify row with pk auto increment")));
    }
    if write.column_condition.is_some() {
        return Err(Error::parameter("Can't set condition when modify row with pk auto increment"));
    }
    Ok(())
}

/// Checks a write of a row whose key only the store gives: the row has to be there.
pub(crate) fn chosen(write: &RowWrite<'_>) -> Result<()> {
    if write.condition != Existence::ExpectNotExist {
        return Ok(());
    }
    let text = "Invalid expect: EXPECT_NOT_EXIST when modify a specific row for table with pk auto increment";
    Err(Error::parameter(text).with_hint("only the store gives new rows their key, unless allowChosen is set"))
}

fn returned(write: &RowWrite<'_>) -> Result<()> {
    let ReturnContent::AfterModify(columns) = &write.returns else { return Ok(()) };
    let Mutation::Update(changes) = &write.mutation else {
        return Err(Error::parameter("Invalid return type: RT_AFTER_MODIFY."));
    };
    for column in columns {
        let incremented =
            |change: &ColumnChange<'_>| change.column == *column && matches!(change.op, ColumnOp::Increment(_));
        if !changes.iter().any(incremented) {
            return Err(Error::parameter(format!("Invalid return column: '{column}' is not incremented.")));
        }
    }
    Ok(())
}

impl RowWrite<'_> {
    /// The operation's name in messages.
    pub(crate) fn operation(&self) -> &'static str {
        match self.mutation {
            Mutation::Put(_) => "PutRow",
            Mutation::Update(_) => "UpdateRow",
            Mutation::Delete => "DeleteRow",
        }
    }

    /// Whether it adds to a stored value.
    pub(crate) fn increments(&self) -> bool {
        let Mutation::Update(changes) = &self.mutation else { return false };
        changes.iter().any(|change| matches!(change.op, ColumnOp::Increment(_)))
    }

    /// Whether it has a condition, of either kind.
    pub(crate) fn has_condition(&self) -> bool {
        self.condition != Existence::Ignore || self.column_condition.is_some()
    }

    /// Whether it may not share its row with other writes of a batch.
    pub(crate) fn needs_row(&self) -> bool {
        self.has_condition() || self.increments()
    }

    /// Whether it deletes single versions.
    pub(crate) fn deletes_versions(&self) -> bool {
        let Mutation::Update(changes) = &self.mutation else { return false };
        changes.iter().any(|change| matches!(change.op, ColumnOp::DeleteVersion(_)))
    }

    /// Whether it needs the stored row.
    pub(crate) fn sees_row(&self) -> bool {
        let sees = |op| matches!(op, ColumnOp::Increment(_) | ColumnOp::DeleteVersion(_));
        self.has_condition()
            || matches!(&self.mutation, Mutation::Update(changes) if changes.iter().any(|change| sees(change.op)))
    }
}
