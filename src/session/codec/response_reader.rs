//! Reads response frames, for clients in Rust and tests.

use super::contract::{self, RowFoundGained, RowWrittenGained, RowsPutGained};
use super::page_reader::{Page, PageRow};
use super::response_fields::{Failure, RemoteError, ResponseField as _};
use super::{Damage, Reader, VERSION};
use crate::model::{Consumed, KeyValue};

/// One response: the request's id, and its payload or its error.
#[derive(Clone, Debug)]
pub struct Response<'a> {
    /// The request.
    pub id: u64,
    /// The payload, or the error.
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

/// The units, the last load up to which everything is stored, and the failed loads.
pub type Stored = (Consumed, u64, Vec<(u64, RemoteError)>);
/// The load that took the rows, its bytes so far, the number of rows, and the refused ones.
pub type Taken = (u64, u64, u64, Vec<(u64, RemoteError)>);

impl Reader<'_> {
    /// The payload of PUT_ROW, UPDATE_ROW and DELETE_ROW.
    ///
    /// # Errors
    /// Damage, as for all that follow.
    pub fn written(&mut self) -> Result<(Consumed, Option<PageRow>), Damage> {
        let (consumed, row) = contract::Written::read(self)?;
        Ok((consumed, row.flatten()))
    }

    /// The payload of START_LOCAL_TRANSACTION.
    pub fn started(&mut self) -> Result<(Consumed, String), Damage> {
        contract::Started::read(self)
    }

    /// The payload of COMMIT_TRANSACTION and ABORT_TRANSACTION.
    pub fn ended(&mut self) -> Result<Consumed, Damage> {
        Ok(contract::Ended::read(self)?.0)
    }

    /// The payload of GET_ROW.
    pub fn found(&mut self) -> Result<(Consumed, Option<PageRow>), Damage> {
        let (consumed, mut page) = contract::Found::read(self)?;
        Ok((consumed, page.rows.pop()))
    }

    /// The payload of GET_RANGE: the units, the rows, and the start of the next call.
    pub fn range(&mut self) -> Result<(Consumed, Page, Option<Vec<KeyValue>>), Damage> {
        let (consumed, next, page) = contract::Range::read(self)?;
        Ok((consumed, page, next))
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

    /// The payload of PUT_ROWS if the rows were taken. Nothing if they were written at once.
    ///
    /// # Errors
    /// Damage.
    pub fn rows_put(&mut self) -> Result<Option<Taken>, Damage> {
        Ok(match contract::RowsPut::read(self)? {
            RowsPutGained::Taken { load, bytes, rows, refused } => Some((load, bytes, rows, refused)),
            RowsPutGained::Written { .. } => None,
        })
    }

    /// The payload of STORE_ROWS.
    ///
    /// # Errors
    /// Damage.
    pub fn rows_stored(&mut self) -> Result<Stored, Damage> {
        contract::RowsStored::read(self)
    }

    /// The payload of BATCH_WRITE_ROW: each row's units and whether it returns a row, and those rows.
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
