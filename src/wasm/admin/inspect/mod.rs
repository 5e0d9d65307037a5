//! A look inside the store: the operations, and their answers.
//!
//! All of it is a gate of [`Module::Inspection`](crate::modules::Module::Inspection).

mod keys;
mod layout;
mod segment;
mod trace;
mod work;

use super::answers::{Answer, Members};
use super::arguments::Arguments;
use crate::engine::SegmentQuery;
use crate::error::{Error, Result};
use crate::session::codec::contract::admin::Inspection;
use crate::session::inspect;
use crate::tablestore::{Hidden, Instance};
use js_sys::Uint8Array;
use wasm_bindgen::{JsCast as _, JsValue};

/// Runs an operation.
pub(super) async fn run(instance: &Instance, op: Inspection, arguments: &Arguments) -> Result<JsValue> {
    Ok(match op {
        Inspection::DescribeStore => layout::layout(instance, &instance.inspect().layout()),
        Inspection::DescribeSegment => segment(instance, arguments).await?,
        Inspection::GetTracedRow => {
            let (response, traced) = inspect::traced_row(instance, frame(arguments)?.unwrap_or_default()).await?;
            let trace = traced.as_ref().map(trace::trace);
            Members::default().and("response", Answer::Bytes(&response)).and("trace", trace).end().to_js()
        }
        Inspection::GetStoredRow => {
            let (response, stored) = inspect::stored_row(instance, frame(arguments)?.unwrap_or_default()).await?;
            let hidden = Answer::list(&stored.hidden, |hidden| match hidden {
                None => Answer::Null,
                Some(Hidden::Expired) => "expired".into(),
                Some(Hidden::Surplus) => "surplus".into(),
            });
            let answer = Members::default().and("response", Answer::Bytes(&response)).and("hidden", hidden);
            answer.and("isStored", stored.is_stored).and("exists", stored.is_there).end().to_js()
        }
        Inspection::GetWorkEvents => work::events(instance, &instance.inspect().work_events(position(arguments)?)?),
        Inspection::AwaitWorkEvents => {
            let events = instance.inspect().await_work_events(position(arguments)?).await?;
            work::events(instance, &events)
        }
        Inspection::PauseWork => {
            instance.inspect().pause_work().await?;
            work::due(instance, &[]).await?
        }
        Inspection::StepWork => {
            let done = instance.inspect().step_work().await?;
            work::due(instance, &done).await?
        }
        Inspection::ResumeWork => {
            instance.inspect().resume_work()?;
            JsValue::UNDEFINED
        }
    })
}

fn position(arguments: &Arguments) -> Result<u64> {
    Ok(arguments.get::<Option<u64>>("position")?.unwrap_or(0))
}

/// The frame with a read of a row.
fn frame(arguments: &Arguments) -> Result<Option<Vec<u8>>> {
    let given = arguments.raw("frame");
    if given.is_undefined() {
        return Ok(None);
    }
    let bytes = given.dyn_ref::<Uint8Array>().map(Uint8Array::to_vec);
    bytes.map(Some).ok_or_else(|| Error::parameter("Cannot deserialize the request data."))
}

async fn segment(instance: &Instance, arguments: &Arguments) -> Result<JsValue> {
    let id: u64 = arguments.get("segmentId")?;
    let block = arguments.get::<Option<u32>>("block")?.unwrap_or(0);
    let rows = arguments.get::<Option<u32>>("rows")?.unwrap_or(0) as usize;
    let query = SegmentQuery { block, rows, key: None };
    let Some(found) = inspect::segment(instance, id, query, frame(arguments)?).await? else { return Ok(JsValue::NULL) };
    Ok(segment::segment(instance, id, &found))
}
