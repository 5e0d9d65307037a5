//! Reads response frames as a client does: for clients in Rust and tests.

use super::page_reader::{Page, PageRow};
use super::{Damage, Reader};
use super::{VERSION, tag};
use crate::model::{Consumed, KeyValue};

/// One response: the request's id, and its payload or why it was refused.
#[derive(Clone, Debug)]
pub struct Response<'a> {
    /// The request.
    pub id: u64,
    /// What it gave.
    pub payload: Result<Reader<'a>, RemoteError>,
}

/// An error as it travels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteError {
    /// Its code.
    pub code: String,
    /// The HTTP status that goes with it.
    pub status: u64,
    /// Whether the same call may succeed later.
    pub retryable: bool,
    /// What happened.
    pub message: String,
    /// What may help.
    pub hint: Option<String>,
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
        let payload = if status == 0 { Ok(payload) } else { Err(RemoteError::read(&mut payload)?) };
        all.push(Response { id, payload });
    }
    Ok(all)
}

impl RemoteError {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Damage> {
        let (code, status, flags) = (reader.str()?.to_owned(), reader.uv()?, reader.u8()?);
        let message = reader.str()?.to_owned();
        let hint = if flags & 2 != 0 { Some(reader.str()?.to_owned()) } else { None };
        Ok(Self { code, status, retryable: flags & 1 != 0, message, hint })
    }
}

impl Reader<'_> {
    fn consumed(&mut self) -> Result<Consumed, Damage> {
        let mut unit = || Ok(u32::try_from(self.uv()?).unwrap_or(u32::MAX));
        Ok(Consumed { read: unit()?, write: unit()? })
    }

    /// What PUT_ROW, UPDATE_ROW and DELETE_ROW give.
    ///
    /// # Errors
    /// Damage, as for all that follow.
    pub fn written(&mut self) -> Result<(Consumed, Option<PageRow>), Damage> {
        let consumed = self.consumed()?;
        let row = if self.u8()? == 1 { Page::read(self)?.rows.pop() } else { None };
        Ok((consumed, row))
    }

    /// What START_LOCAL_TRANSACTION gives.
    pub fn started(&mut self) -> Result<(Consumed, String), Damage> {
        Ok((self.consumed()?, self.str()?.to_owned()))
    }

    /// What COMMIT_TRANSACTION and ABORT_TRANSACTION give.
    pub fn ended(&mut self) -> Result<Consumed, Damage> {
        self.consumed()
    }

    /// What GET_ROW gives.
    pub fn found(&mut self) -> Result<(Consumed, Option<PageRow>), Damage> {
        Ok((self.consumed()?, Page::read(self)?.rows.pop()))
    }

    /// What GET_RANGE gives: the units, the rows, and where the next call starts.
    pub fn range(&mut self) -> Result<(Consumed, Page, Option<Vec<KeyValue>>), Damage> {
        let consumed = self.consumed()?;
        let next = if self.u8()? == 1 {
            let count = self.u8()?;
            Some((0..count).map(|_| self.key_value()).collect::<Result<Vec<_>, _>>()?)
        } else {
            None
        };
        Ok((consumed, Page::read(self)?, next))
    }

    /// What BATCH_GET_ROW gives, table by table: each key's units and whether it was found, and the found rows.
    #[expect(clippy::type_complexity, reason = "only tests read this, and they take it apart at once")]
    pub fn batch_found(&mut self) -> Result<Vec<(Vec<Result<(bool, u64), RemoteError>>, Page)>, Damage> {
        let tables = self.count()?;
        (0..tables)
            .map(|_| {
                let keys = self.count()?;
                let results = (0..keys).map(|_| match self.u8()? {
                    2 => Ok(Err(RemoteError::read(self)?)),
                    found => Ok(Ok((found == 1, self.uv()?))),
                });
                let results = results.collect::<Result<Vec<_>, Damage>>()?;
                Ok((results, Page::read(self)?))
            })
            .collect()
    }

    /// What PUT_ROWS gives where rows were taken: by which load, its bytes so far, how many rows there were, and which
    /// were refused. Where they were written, [`Reader::batch_written`] has to read on.
    ///
    /// # Errors
    /// Damage.
    #[expect(clippy::type_complexity, reason = "only tests read this, and they take it apart at once")]
    pub fn rows_put(&mut self) -> Result<Option<(u64, u64, u64, Vec<(u64, RemoteError)>)>, Damage> {
        if self.u8()? == 1 {
            return Ok(None);
        }
        Ok(Some((self.uv()?, self.uv()?, self.uv()?, self.errors()?)))
    }

    /// What STORE_ROWS gives: the units, up to which load everything is stored, and which loads failed.
    ///
    /// # Errors
    /// Damage.
    #[expect(clippy::type_complexity, reason = "only tests read this, and they take it apart at once")]
    pub fn rows_stored(&mut self) -> Result<(Consumed, u64, Vec<(u64, RemoteError)>), Damage> {
        Ok((self.consumed()?, self.uv()?, self.errors()?))
    }

    fn errors(&mut self) -> Result<Vec<(u64, RemoteError)>, Damage> {
        let count = self.count()?;
        (0..count).map(|_| Ok((self.uv()?, RemoteError::read(self)?))).collect()
    }

    /// What BATCH_WRITE_ROW gives: each row's units and whether it gives back a row, and those rows.
    #[expect(clippy::type_complexity, reason = "only tests read this, and they take it apart at once")]
    pub fn batch_written(&mut self) -> Result<(Vec<Result<(Consumed, bool), RemoteError>>, Vec<Page>), Damage> {
        let rows = self.count()?;
        let results = (0..rows).map(|_| match self.u8()? {
            1 => Ok(Ok((self.consumed()?, self.u8()? == 1))),
            _ => Ok(Err(RemoteError::read(self)?)),
        });
        let results = results.collect::<Result<Vec<_>, Damage>>()?;
        let mut pages = Vec::new();
        while self.left() > 0 {
            pages.push(Page::read(self)?);
        }
        Ok((results, pages))
    }

    fn key_value(&mut self) -> Result<KeyValue, Damage> {
        Ok(match self.u8()? {
            tag::INTEGER => KeyValue::Integer(self.sv()?),
            tag::STRING => KeyValue::String(self.str()?.to_owned()),
            tag::BINARY => KeyValue::Binary(self.bytes()?.to_vec()),
            _ => return Err(self.damage("a key value has an unknown tag")),
        })
    }
}
