//! Reads response frames as a client does: for clients in Rust and tests.

use super::contract::{self, RowFoundGained, RowWrittenGained, RowsPutGained};
use super::page_reader::{Page, PageRow};
use super::parts::{Failure, Part as _, RemoteError};
use super::{Damage, Reader, VERSION};
use crate::model::{Consumed, KeyValue};

/// One response: the request's id, and its payload or why it was refused.
#[derive(Clone, Debug)]
pub struct Response<'a> {
    /// The request.
    pub id: u64,
    /// What it gave.
    pub payload: Result<Reader<'a>, RemoteError>,
}

/// The responses of a frame.
///
/// # Errors
/// Damage.
pub fn responses(frame: &[u8]) -> Result<Vec<Response<'_>>, Damage> {
    let mut reader = Reader::new_at(frame, 0);
    if reader.u8()? != VERSION {
        return Err(Damage { what: "the frame is of an unknown version", at: 0 });
    }
    let mut all = Vec::new();
    while reader.left() > 0 {
        let (id, status) = (reader.uv()?, reader.u8()?);
        let mut payload = Reader::new_at(reader.bytes()?, 0);
        let payload = if status == 0 { Ok(payload) } else { Err(Failure::read(&mut payload)?) };
        all.push(Response { id, payload });
    }
    Ok(all)
}

/// Up to which load everything is stored, and which loads failed, behind the units.
pub type Stored = (Consumed, u64, Vec<(u64, RemoteError)>);
/// By which load rows were taken, its bytes so far, how many rows there were, and which were refused.
pub type Taken = (u64, u64, u64, Vec<(u64, RemoteError)>);

impl Reader<'_> {
    /// What PUT_ROW, UPDATE_ROW and DELETE_ROW give.
    ///
    /// # Errors
    /// Damage, as for all that follow.
    pub fn written(&mut self) -> Result<(Consumed, Option<PageRow>), Damage> {
        let (consumed, row) = contract::Written::read(self)?;
        Ok((consumed, row.flatten()))
    }

    /// What START_LOCAL_TRANSACTION gives.
    pub fn started(&mut self) -> Result<(Consumed, String), Damage> {
        contract::Started::read(self)
    }

    /// What COMMIT_TRANSACTION and ABORT_TRANSACTION give.
    pub fn ended(&mut self) -> Result<Consumed, Damage> {
        Ok(contract::Ended::read(self)?.0)
    }

    /// What GET_ROW gives.
    pub fn found(&mut self) -> Result<(Consumed, Option<PageRow>), Damage> {
        let (consumed, mut page) = contract::Found::read(self)?;
        Ok((consumed, page.rows.pop()))
    }

    /// What GET_RANGE gives: the units, the rows, and where the next call starts.
    pub fn range(&mut self) -> Result<(Consumed, Page, Option<Vec<KeyValue>>), Damage> {
        let (consumed, next, page) = contract::Range::read(self)?;
        Ok((consumed, page, next))
    }

    /// What COUNT_ROWS gives: the units, the rows, and where the next call starts.
    #[expect(clippy::type_complexity, reason = "only tests read this, and they take it apart at once")]
    pub fn counted(&mut self) -> Result<(Consumed, u64, Option<Vec<(String, KeyValue)>>), Damage> {
        contract::Counted::read(self)
    }

    /// What BATCH_GET_ROW gives, table by table: each key's units and whether it was found, and the found rows.
    #[expect(clippy::type_complexity, reason = "only tests read this, and they take it apart at once")]
    pub fn batch_found(&mut self) -> Result<Vec<(Vec<Result<(bool, u64), RemoteError>>, Page)>, Damage> {
        let row = |row| match row {
            RowFoundGained::Absent { read } => Ok((false, read)),
            RowFoundGained::Present { read } => Ok((true, read)),
            RowFoundGained::Failed { error } => Err(error),
        };
        let (tables,) = contract::BatchFound::read(self)?;
        Ok(tables.into_iter().map(|(rows, page)| (rows.into_iter().map(row).collect(), page)).collect())
    }

    /// What PUT_ROWS gives where rows were taken. Where they were written at once, there is nothing.
    ///
    /// # Errors
    /// Damage.
    pub fn rows_put(&mut self) -> Result<Option<Taken>, Damage> {
        Ok(match contract::RowsPut::read(self)? {
            RowsPutGained::Taken { load, bytes, rows, refused } => Some((load, bytes, rows, refused)),
            RowsPutGained::Written { .. } => None,
        })
    }

    /// What STORE_ROWS gives.
    ///
    /// # Errors
    /// Damage.
    pub fn rows_stored(&mut self) -> Result<Stored, Damage> {
        contract::RowsStored::read(self)
    }

    /// What BATCH_WRITE_ROW gives: each row's units and whether it gives back a row, and those rows.
    #[expect(clippy::type_complexity, reason = "only tests read this, and they take it apart at once")]
    pub fn batch_written(&mut self) -> Result<(Vec<Result<(Consumed, bool), RemoteError>>, Vec<Page>), Damage> {
        let row = |row| match row {
            RowWrittenGained::Done { consumed, returns } => Ok((consumed, returns)),
            RowWrittenGained::Failed { error } => Err(error),
        };
        let (rows, pages) = contract::BatchWritten::read(self)?;
        Ok((rows.into_iter().map(row).collect(), pages))
    }
}
