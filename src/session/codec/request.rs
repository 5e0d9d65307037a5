//! The payloads of requests.
//!
//! ```text
//! PUT_ROW         name table | key | condition | u8 return | uv cells | each: name, u8 has version, [sv version], value
//! UPDATE_ROW      name table | key | condition | u8 return, [2: uv count, names] | uv changes | each: name, u8 kind, rest
//!                 kinds: 1 put (u8 has version, [sv version], value) | 2 delete version (sv) | 3 delete column | 4 increment (sv)
//! DELETE_ROW      name table | key | condition | u8 return
//! GET_ROW         name table | key | read options
//! BATCH_GET_ROW   uv tables | each: name table, read options, uv keys, keys
//! GET_RANGE       name table | u8 direction (0 forward, 1 backward) | start key | end key | uv limit (0: none) | read options
//! BATCH_WRITE_ROW, BATCH_WRITE_ROW_ATOMIC: uv rows | each: u8 op, that op's payload
//! PUT_ROWS        uv load, a number of the client's | as BATCH_WRITE_ROW
//! STORE_ROWS      uv load
//! START_LOCAL_TRANSACTION name table | key, of the partition key only
//! COMMIT_TRANSACTION, ABORT_TRANSACTION: str id
//! key             u8 columns (0 in a range: its open end) | each: name, value
//! condition       u8 row existence (0 ignore, 1 expect exist, 2 expect not exist) | u8 0, or 1 and a filter
//! read options    u8 flags | 1: uv max versions | 2: sv start, sv end | 4: sv version | 8: uv count, names
//!                    | 16: str start column | 32: str end column | 64: filter
//! filter          u8 1: name | u8 comparator (1 = 2 <> 3 > 4 >= 5 < 6 <= 7 exist 8 not exist) | value, not for 7 and 8
//!                    | u8 flags (1 pass if missing, 2 latest version only)
//!                    | 4: str regex, u8 cast (0 INTEGER, 1 DOUBLE, 3 STRING)
//!                 u8 2: u8 operator (1 NOT, 2 AND, 3 OR) | uv count | filters, at most 64 deep
//!                 u8 3: pagination by columns: sv offset | sv limit
//! value           u8 tag | 1 INTEGER sv | 2 DOUBLE f64 | 3 FALSE | 4 TRUE | 5 STRING str | 6 BINARY bytes
//!                    | 7, 8 INF_MIN, INF_MAX | 9 AUTO_INCREMENT, in the key of a row that is put or updated
//! ```
//!
//! What is whole but wrong (a bad name, an infinity as an attribute) refuses the one request; the rest of its bytes is
//! read all the same, so that the next request is found.

use super::dictionary::Names;
use super::{Damage, Reader};
use super::{op, tag};
use crate::engine::Direction;
use crate::error::{Error, Result as Answer};
use crate::model::filter::{CastType, ColumnFilter, Comparator, Filter, Transfer};
use crate::model::select::VersionQuery;
use crate::model::{ColumnName, KeyInput, KeyPart, TableName, ValueRef};
use crate::tablestore::{
    ColumnChange, ColumnOp, Existence, GetRange, GetRow, Mutation, PutCell, ReadOptions, ReturnContent, RowWrite,
    TableRead,
};

/// Filters are read, and later dropped, by recursion: deeper ones are damage.
const FILTER_DEPTH: usize = 64;

/// Reads the payload of one request.
#[derive(Debug)]
pub struct RequestReader<'f> {
    names: &'f Names,
    reader: Reader<'f>,
    /// The first thing that was wrong.
    refused: Option<Error>,
}

/// A value as it stands in a request.
enum Item<'f> {
    Value(ValueRef<'f>),
    InfMin,
    InfMax,
    AutoIncrement,
}

type Read<T> = Result<T, Damage>;

impl<'f> RequestReader<'f> {
    pub(super) fn new(names: &'f Names, reader: Reader<'f>) -> Self {
        Self { names, reader, refused: None }
    }

    pub(super) fn at(&self) -> usize {
        self.reader.at()
    }

    pub(super) fn refusal(self) -> Option<Error> {
        self.refused
    }

    /// PUT_ROW, UPDATE_ROW or DELETE_ROW. `None` where something was refused.
    ///
    /// # Errors
    /// Damage, as for all that follow.
    pub fn row_write(&mut self, op: u8) -> Read<Option<RowWrite<'f>>> {
        let table = self.table()?;
        let key = self.key()?;
        let (condition, column_condition) = self.condition()?;
        let returns = self.return_content()?;
        let mutation = match op {
            op::PUT_ROW => Mutation::Put(self.list(Self::put_cell)?),
            op::UPDATE_ROW => Mutation::Update(self.list(Self::column_change)?),
            op::DELETE_ROW => Mutation::Delete,
            _ => return Err(self.reader.damage("a row of a batch has an unknown operation")),
        };
        Ok(table.map(|table| RowWrite {
            table,
            key,
            condition,
            column_condition: column_condition.map(Box::new),
            returns,
            mutation,
        }))
    }

    /// BATCH_WRITE_ROW.
    pub fn batch_write(&mut self) -> Read<Vec<RowWrite<'f>>> {
        self.list(|reader| {
            let op = reader.reader.u8()?;
            reader.row_write(op)
        })
    }

    /// GET_ROW.
    pub fn get_row(&mut self) -> Read<Option<GetRow<'f>>> {
        let (table, key, options) = (self.table()?, self.key()?, self.read_options()?);
        Ok(table.map(|table| GetRow { table, key, options }))
    }

    /// BATCH_GET_ROW.
    pub fn batch_get(&mut self) -> Read<Vec<TableRead<'f>>> {
        self.list(|reader| {
            let (table, options) = (reader.table()?, reader.read_options()?);
            let keys = reader.list(|reader| reader.key().map(Some))?;
            Ok(table.map(|table| TableRead { table, keys, options }))
        })
    }

    /// GET_RANGE.
    pub fn get_range(&mut self) -> Read<Option<GetRange<'f>>> {
        let table = self.table()?;
        let direction = match self.reader.u8()? {
            0 => Direction::Forward,
            1 => Direction::Backward,
            _ => return Err(self.reader.damage("a range has an unknown direction")),
        };
        let (start, end) = (self.key()?, self.key()?);
        let limit = match self.reader.uv()? {
            0 => None,
            limit => Some(i64::try_from(limit).unwrap_or(i64::MAX)),
        };
        let options = self.read_options()?;
        Ok(table.map(|table| GetRange { table, direction, start, end, limit, options }))
    }

    /// PUT_ROWS: the client's number of its loader, and the rows. One that is refused fails alone.
    pub fn put_rows(&mut self) -> Read<(u64, Vec<Answer<RowWrite<'f>>>)> {
        let loader = self.reader.uv()?;
        let rows = self.list(|reader| {
            let op = reader.reader.u8()?;
            let write = reader.row_write(op)?;
            Ok(match reader.refused.take() {
                Some(error) => Some(Err(error)),
                None => write.map(Ok),
            })
        });
        Ok((loader, rows?))
    }

    /// STORE_ROWS.
    pub fn store_rows(&mut self) -> Read<u64> {
        self.reader.uv()
    }

    /// START_LOCAL_TRANSACTION.
    pub fn start_transaction(&mut self) -> Read<Option<(TableName<'f>, KeyInput<'f>)>> {
        let (table, key) = (self.table()?, self.key()?);
        Ok(table.map(|table| (table, key)))
    }

    /// COMMIT_TRANSACTION, ABORT_TRANSACTION.
    pub fn transaction_id(&mut self) -> Read<&'f str> {
        self.reader.str()
    }

    fn refuse(&mut self, error: Error) {
        self.refused.get_or_insert(error);
    }

    fn right<T>(&mut self, answer: Answer<T>) -> Option<T> {
        answer.map_err(|error| self.refuse(error)).ok()
    }

    /// A count and so many things; those that were refused are left out.
    fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Read<Option<T>>) -> Read<Vec<T>> {
        let count = self.reader.count()?;
        let mut list = Vec::with_capacity(count.min(1 << 12));
        for _ in 0..count {
            list.extend(one(self)?);
        }
        Ok(list)
    }

    fn table(&mut self) -> Read<Option<TableName<'f>>> {
        let index = self.reader.uv()?;
        let name = self.names.table(index).ok_or(self.reader.damage("a name is not in the dictionary"))?;
        Ok(self.right(name))
    }

    fn column(&mut self) -> Read<Option<ColumnName<'f>>> {
        let index = self.reader.uv()?;
        let name = self.names.column(index).ok_or(self.reader.damage("a name is not in the dictionary"))?;
        Ok(self.right(name))
    }

    fn key(&mut self) -> Read<KeyInput<'f>> {
        let mut key = KeyInput::any_order();
        for _ in 0..self.reader.u8()? {
            let index = self.reader.uv()?;
            let name = self.names.text(index).ok_or(self.reader.damage("a name is not in the dictionary"))?;
            match self.value()? {
                Item::Value(value) => key.push(name, KeyPart::Value(value)),
                Item::InfMin => key.push(name, KeyPart::InfMin),
                Item::InfMax => key.push(name, KeyPart::InfMax),
                Item::AutoIncrement => key.push(name, KeyPart::AutoIncrement),
            }
        }
        Ok(key)
    }

    fn condition(&mut self) -> Read<(Existence, Option<Filter<'f>>)> {
        let existence = match self.reader.u8()? {
            0 => Existence::Ignore,
            1 => Existence::ExpectExist,
            2 => Existence::ExpectNotExist,
            other => {
                self.refuse(Error::parameter(format!("Invalid row-existence expectation: {other}.")));
                Existence::Ignore
            }
        };
        let column_condition = match self.reader.u8()? {
            0 => None,
            1 => self.filter(FILTER_DEPTH)?,
            _ => return Err(self.reader.damage("a column condition is neither there nor absent")),
        };
        Ok((existence, column_condition))
    }

    /// A filter that is at most so many levels deep.
    fn filter(&mut self, depth: usize) -> Read<Option<Filter<'f>>> {
        let Some(deeper) = depth.checked_sub(1) else {
            return Err(self.reader.damage("a filter is too deep"));
        };
        Ok(match self.reader.u8()? {
            1 => self.column_filter()?.map(Filter::Column),
            2 => {
                let operator = self.reader.u8()?;
                let children = self.list(|reader| reader.filter(deeper))?;
                match operator {
                    1 => Some(Filter::Not(children)),
                    2 => Some(Filter::And(children)),
                    3 => Some(Filter::Or(children)),
                    other => {
                        self.refuse(Error::parameter(format!("Invalid logical operator: {other}.")));
                        None
                    }
                }
            }
            3 => Some(Filter::Page { offset: self.reader.sv()?, limit: self.reader.sv()? }),
            _ => return Err(self.reader.damage("a filter is of an unknown kind")),
        })
    }

    fn column_filter(&mut self) -> Read<Option<ColumnFilter<'f>>> {
        let column = self.column()?;
        let number = self.reader.u8()?;
        let comparator = Comparator::of(number);
        if comparator.is_none() {
            self.refuse(Error::parameter(format!("Invalid relation operator: {number}.")));
        }
        let value = if comparator.is_none_or(Comparator::compares) { self.attribute()? } else { None };
        let flags = self.reader.u8()?;
        if flags & !7 != 0 {
            return Err(self.reader.damage("a filter has unknown flags"));
        }
        let transfer = if flags & 4 != 0 { self.transfer()? } else { None };
        Ok(column.zip(comparator).map(|(column, comparator)| ColumnFilter {
            column,
            comparator,
            value,
            pass_if_missing: flags & 1 != 0,
            latest_version_only: flags & 2 != 0,
            transfer,
        }))
    }

    fn transfer(&mut self) -> Read<Option<Transfer<'f>>> {
        let (regex, number) = (self.reader.str()?, self.reader.u8()?);
        let cast = CastType::of(number);
        if cast.is_none() {
            self.refuse(Error::parameter(format!("Invalid cast type: {number}.")));
        }
        Ok(cast.map(|cast| Transfer { regex, cast }))
    }

    fn return_content(&mut self) -> Read<ReturnContent<'f>> {
        Ok(match self.reader.u8()? {
            0 => ReturnContent::None,
            1 => ReturnContent::PrimaryKey,
            2 => ReturnContent::AfterModify(self.list(Self::column)?),
            other => {
                self.refuse(Error::parameter(format!("Invalid return type: {other}.")));
                ReturnContent::None
            }
        })
    }

    fn put_cell(&mut self) -> Read<Option<PutCell<'f>>> {
        let column = self.column()?;
        let (version, value) = self.versioned()?;
        Ok(column.zip(value).map(|(column, value)| PutCell { column, version, value }))
    }

    fn column_change(&mut self) -> Read<Option<ColumnChange<'f>>> {
        let column = self.column()?;
        let op = match self.reader.u8()? {
            1 => {
                let (version, value) = self.versioned()?;
                value.map(|value| ColumnOp::Put { version, value })
            }
            2 => Some(ColumnOp::DeleteVersion(self.reader.sv()?)),
            3 => Some(ColumnOp::DeleteColumn),
            4 => Some(ColumnOp::Increment(self.reader.sv()?)),
            _ => return Err(self.reader.damage("a column change is of an unknown kind")),
        };
        Ok(column.zip(op).map(|(column, op)| ColumnChange { column, op }))
    }

    fn versioned(&mut self) -> Read<(Option<i64>, Option<ValueRef<'f>>)> {
        let version = match self.reader.u8()? {
            0 => None,
            1 => Some(self.reader.sv()?),
            _ => return Err(self.reader.damage("a version is neither there nor absent")),
        };
        Ok((version, self.attribute()?))
    }

    /// A value that an attribute can have.
    fn attribute(&mut self) -> Read<Option<ValueRef<'f>>> {
        let wrong = match self.value()? {
            Item::Value(value) => return Ok(Some(value)),
            Item::InfMin => "VT_INF_MIN",
            Item::InfMax => "VT_INF_MAX",
            Item::AutoIncrement => "VT_AUTO_INCREMENT",
        };
        self.refuse(Error::parameter(format!("{wrong} is an invalid type for the attribute column.")));
        Ok(None)
    }

    fn value(&mut self) -> Read<Item<'f>> {
        Ok(Item::Value(match self.reader.u8()? {
            tag::INTEGER => ValueRef::Integer(self.reader.sv()?),
            tag::DOUBLE => ValueRef::Double(self.reader.f64()?),
            tag::FALSE => ValueRef::Boolean(false),
            tag::TRUE => ValueRef::Boolean(true),
            tag::STRING => ValueRef::String(self.reader.str()?),
            tag::BINARY => ValueRef::Binary(self.reader.bytes()?),
            tag::INF_MIN => return Ok(Item::InfMin),
            tag::INF_MAX => return Ok(Item::InfMax),
            tag::AUTO_INCREMENT => return Ok(Item::AutoIncrement),
            _ => return Err(self.reader.damage("a value has an unknown tag")),
        }))
    }

    fn read_options(&mut self) -> Read<ReadOptions<'f>> {
        let flags = self.reader.u8()?;
        if flags & 0x80 != 0 {
            return Err(self.reader.damage("read options have unknown flags"));
        }
        let mut options = ReadOptions::default();
        let mut versions = VersionQuery::default();
        if flags & 1 != 0 {
            versions.max_versions = Some(i64::try_from(self.reader.uv()?).unwrap_or(i64::MAX));
        }
        if flags & 2 != 0 {
            versions.range = Some((self.reader.sv()?, self.reader.sv()?));
        }
        if flags & 4 != 0 {
            versions.version = Some(self.reader.sv()?);
        }
        options.versions = versions;
        if flags & 8 != 0 {
            options.columns = self.list(Self::column)?;
        }
        if flags & 16 != 0 {
            options.start_column = Some(self.reader.str()?);
        }
        if flags & 32 != 0 {
            options.end_column = Some(self.reader.str()?);
        }
        if flags & 64 != 0 {
            options.filter = self.filter(FILTER_DEPTH)?;
        }
        Ok(options)
    }
}
