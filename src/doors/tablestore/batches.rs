//! BatchGetRow and BatchWriteRow (R2).

use super::Door;
use super::message::{ReadFields, WriteKind, consumed, error, read_options, required, table};
use super::protobuf::{Fields, Message};
use super::refusal::{Answer, Refusal, Stop, parameter};
use super::row::{self, Rows};
use super::rows::write;
use crate::model::limits;
use crate::modules::{self, Module};
use crate::tablestore::{Failure, RowWrite, TableRead};
use std::rc::Rc;

/// Refuses more rows than a batch may have, before the memory for them is taken.
fn check_count(count: usize, most: usize) -> Answer<()> {
    if count <= most { Ok(()) } else { parameter(format!("Rows count exceeds the upper limit: {most}.")) }
}

/// The refusal of one row. A failure that is no answer to it ends the whole batch.
fn of_row(failure: Failure) -> Answer<Refusal> {
    match Stop::from(failure) {
        Stop::Refused(refusal) => Ok(refusal),
        other => Err(other),
    }
}

/// The refusal of a row that an answer has no place for. Clients try it again.
fn too_much() -> Refusal {
    Refusal { code: "OTSServerBusy", status: 503, message: "Server is busy.".to_owned() }
}

/// The part of a BatchGetRow that reads one table.
fn table_read(message: &[u8]) -> Answer<TableRead<'_>> {
    let fields = Fields::read(message)?;
    let keys = fields.all(2)?;
    check_count(keys.len(), limits::BATCH_GET_ROWS)?;
    let options = read_options(&fields, ReadFields { columns: 4, filter: 8 })?;
    let keys = keys.into_iter().map(row::key_alone).collect::<Answer<_>>()?;
    Ok(TableRead { table: table(fields.text(1)?)?, keys, options })
}

/// The part of a BatchWriteRow that writes one table: its rows go behind the others.
fn table_write<'a>(message: &'a [u8], writes: &mut Vec<RowWrite<'a>>) -> Answer<&'a str> {
    let fields = Fields::read(message)?;
    let (table, rows) = (table(fields.text(1)?)?, fields.all(2)?);
    check_count(writes.len() + rows.len(), limits::BATCH_WRITE_ROWS)?;
    if rows.is_empty() {
        return parameter(format!("No operation is specified for table: '{table}'."));
    }
    for row in rows {
        let fields = Fields::read(row)?;
        let kind = match required(fields.number(1)?)? {
            1 => WriteKind::Put,
            2 => WriteKind::Update,
            3 => WriteKind::Delete,
            _ => return parameter("The type of row in batch write operation is invalid."),
        };
        writes.push(write(kind, table, &fields, 2)?);
    }
    Ok(table.as_str())
}

impl Door<'_> {
    /// Reads rows of one or many tables.
    pub(super) async fn batch_get_row(&self) -> Answer<Vec<u8>> {
        let tables = Fields::read(self.body)?.all(1)?;
        check_count(tables.len(), limits::BATCH_GET_ROWS)?;
        let tables = tables.into_iter().map(table_read).collect::<Answer<Vec<_>>>()?;
        let taken = Rc::default();
        let mut sinks: Vec<Rows> = tables.iter().map(|_| Rows::apart(&taken)).collect();
        let found = self.instance.batch_get_row(&tables, &mut sinks).await?;
        let mut answer = Message::default();
        for ((table, found), rows) in tables.iter().zip(found).zip(&sinks) {
            let (mut of_table, mut buffers) = (Message::default(), rows.buffers());
            of_table.text(1, table.table.as_str());
            for found in found {
                let mut of_one = Message::default();
                match found {
                    Ok(found) => {
                        let buffer = if found.row { buffers.next().unwrap_or_default() } else { &[] };
                        if found.row && buffer.is_empty() {
                            // A row has bytes; this one had no place.
                            refused_row(&mut of_one, &too_much());
                        } else {
                            of_one.number(1, 1);
                            consumed(&mut of_one, 3, found.consumed);
                            of_one.bytes(4, buffer);
                        }
                    }
                    Err(failure) => refused_row(&mut of_one, &of_row(failure)?),
                }
                of_table.bytes(2, &of_one.0);
            }
            answer.bytes(1, &of_table.0);
        }
        Ok(answer.0)
    }

    /// Writes rows of one or many tables.
    pub(super) async fn batch_write_row(&self) -> Answer<Vec<u8>> {
        let fields = Fields::read(self.body)?;
        // Of each table: its name, and the end of its rows.
        let (mut tables, mut writes) = (Vec::new(), Vec::new());
        for message in fields.all(1)? {
            let name = table_write(message, &mut writes)?;
            tables.push((name, writes.len()));
        }
        let (transaction, is_atomic) = (fields.text(2)?, fields.flag(3)?.unwrap_or_default());
        if is_atomic && transaction.is_some() {
            return parameter("A batch in a transaction cannot be atomic.");
        }
        let results = if is_atomic {
            if !modules::is_loaded(Module::Transactions) {
                return Err(Stop::Needs(Module::Transactions));
            }
            self.instance.batch_write_row_atomic(&writes, self.origin).await?
        } else {
            self.instance.batch_write_rows(transaction, writes, self.origin).await?
        };
        let (mut answer, mut results, mut written) = (Message::default(), results.into_iter(), 0);
        for (name, end) in tables {
            let mut of_table = Message::default();
            of_table.text(1, name);
            for result in results.by_ref().take(end - written) {
                let mut of_one = Message::default();
                match result {
                    Ok(done) => {
                        of_one.number(1, 1);
                        consumed(&mut of_one, 3, done.consumed);
                        if let Some(row) = &done.row {
                            of_one.bytes(4, &row::returned(row));
                        }
                    }
                    Err(failure) => refused_row(&mut of_one, &of_row(failure)?),
                }
                of_table.bytes(2, &of_one.0);
            }
            written = end;
            answer.bytes(1, &of_table.0);
        }
        Ok(answer.0)
    }
}

fn refused_row(message: &mut Message, refusal: &Refusal) {
    message.number(1, 0).message(2, |inner| error(inner, refusal));
}
