//! Work on tables whose code is in a module of its own. What it finds is only lent: so no code of the door is needed to drop it.

use crate::error::Result;
use crate::model::DefinedColumn;
use crate::tablestore::{IndexSpec, Instance, SplitRequest, Splits, TableDescription, UpdateTable};
use std::pin::Pin;

/// Work on a table, named first.
pub(super) enum Work<'a> {
    Describe(&'a str),
    Update(UpdateTable),
    Delete(&'a str),
    CreateIndex(&'a str, IndexSpec, bool),
    DropIndex(&'a str, &'a str),
    Define(&'a str, Vec<DefinedColumn>),
    Undefine(&'a str, &'a [String]),
    Split(SplitRequest<'a>),
}

/// What some work tells.
pub(super) enum Report<'r> {
    Table(&'r TableDescription),
    Splits(&'r Splits),
}

/// Does it. A gate of [`Module::Occasional`](crate::modules::Module::Occasional).
#[inline(never)]
pub(super) fn administer<'a>(
    instance: &'a Instance,
    work: Work<'a>,
    tell: &'a mut dyn FnMut(Report<'_>),
) -> Pin<Box<dyn Future<Output = Result<()>> + 'a>> {
    Box::pin(async move {
        match work {
            Work::Describe(name) => tell(Report::Table(&instance.describe_table(name)?)),
            Work::Update(update) => tell(Report::Table(&instance.update_table(update).await?)),
            Work::Delete(name) => instance.delete_table(name).await?,
            Work::CreateIndex(table, spec, base) => instance.create_index(table, spec, base).await?,
            Work::DropIndex(table, index) => instance.drop_index(table, index).await?,
            Work::Define(table, columns) => instance.add_defined_column(table, columns).await?,
            Work::Undefine(table, columns) => instance.delete_defined_column(table, columns).await?,
            Work::Split(request) => {
                let splits = instance.compute_split_points_by_size(&request).await;
                tell(Report::Splits(&splits.map_err(|failure| failure.error)?));
            }
        }
        Ok(())
    })
}
