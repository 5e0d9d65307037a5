//! Reads of tools, which come in a request frame of their own: GET_ROW, answered with more than the row.
//!
//! All of it is a gate of [`Module::Inspection`].

use super::codec::contract::{self, op};
use super::codec::{Frame, PageWriter, RequestHead, ResponseWriter};
use crate::engine::{SegmentContents, SegmentQuery, Trace};
use crate::error::{Error, Result};
use crate::model::Consumed;
use crate::modules::Module;
use crate::tablestore::{GetRow, Instance, StoredRow};

/// Opens a frame with one GET_ROW.
fn open(instance: &Instance, frame: Vec<u8>) -> Result<(Frame, RequestHead)> {
    let frame = Frame::parse(frame, instance.limits().names)?;
    match frame.next_request()? {
        Some(head) if head.op == op::GET_ROW && frame.transaction(&head).is_none() => Ok((frame, head)),
        _ => Err(Error::parameter("Cannot deserialize the request data. It is no read of a row.")),
    }
}

/// The request, or what refuses it.
fn request<'f>(frame: &'f Frame, head: &RequestHead) -> Result<GetRow<'f>> {
    let damaged = || Error::parameter("Cannot deserialize the request data.");
    frame.payload::<contract::GetRow>(head).ok_or_else(damaged)?
}

/// Reads a row, and tells the path of the read. The first is a frame with the response to the request, which may be a refusal.
///
/// # Errors
/// `OTSParameterInvalid` for a frame that is none of one GET_ROW; `Unavailable` if code is missing that its filter needs.
pub async fn traced_row(instance: &Instance, frame: Vec<u8>) -> Result<(Vec<u8>, Option<Trace>)> {
    let (frame, head) = open(instance, frame)?;
    let (mut response, mut page) = (ResponseWriter::default(), PageWriter::default());
    let request = request(&frame, &head)?;
    if frame.has_rule() {
        instance.load(Module::Rules).await?;
    }
    let trace = match instance.inspect().trace_row(&request, &mut page).await {
        Ok((found, trace)) => {
            response.response::<contract::Found>(head.id, (found.consumed, &page));
            Some(trace)
        }
        Err(failure) => {
            response.error(head.id, &failure.error);
            None
        }
    };
    Ok((response.take(), trace))
}

/// Reads the stored versions of a row; see [`Inspection::stored_row`](crate::tablestore::Inspection::stored_row). The first is a
/// frame with a response to GET_ROW.
///
/// # Errors
/// As for [`traced_row`], and those of the read.
pub async fn stored_row(instance: &Instance, frame: Vec<u8>) -> Result<(Vec<u8>, StoredRow)> {
    let (frame, head) = open(instance, frame)?;
    let (mut response, mut page) = (ResponseWriter::default(), PageWriter::default());
    let stored = instance.inspect().stored_row(&request(&frame, &head)?, &mut page).await?;
    response.response::<contract::Found>(head.id, (Consumed::default(), &page));
    Ok((response.take(), stored))
}

/// Reads a segment. The row of a frame with GET_ROW is the one that the filter is asked for.
///
/// # Errors
/// As for [`Inspection::segment`](crate::tablestore::Inspection::segment) and [`traced_row`].
pub async fn segment(
    instance: &Instance,
    id: u64,
    query: SegmentQuery<'_>,
    frame: Option<Vec<u8>>,
) -> Result<Option<SegmentContents>> {
    let Some(frame) = frame else { return instance.inspect().segment(id, query, None).await };
    let (frame, head) = open(instance, frame)?;
    let request = request(&frame, &head)?;
    instance.inspect().segment(id, query, Some((request.table.as_str(), &request.key))).await
}
