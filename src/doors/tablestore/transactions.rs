//! StartLocalTransaction, CommitTransaction and AbortTransaction (R7).

use super::Door;
use super::message::{required, table};
use super::protobuf::{Fields, Message};
use super::refusal::{Answer, Stop};
use super::row;
use crate::engine::Origin;
use crate::error::Result;
use crate::model::{KeyInput, TableName};
use crate::modules::{self, Module};
use crate::tablestore::{Failure, Instance};
use std::pin::Pin;

/// An operation on a transaction.
enum Work<'a> {
    Start(TableName<'a>, &'a KeyInput<'a>),
    Commit(&'a str),
    Abort(&'a str),
}

/// The id of a transaction that was started, or nothing.
type Done<'a> = Pin<Box<dyn Future<Output = Result<Option<String>, Failure>> + 'a>>;

/// Works on a transaction. A gate of [`Module::Transactions`].
#[inline(never)]
fn work<'a>(instance: &'a Instance, work: Work<'a>, origin: Option<Origin>) -> Done<'a> {
    Box::pin(async move {
        match work {
            Work::Start(table, key) => {
                let client = origin.map(|origin| origin.client);
                instance.start_local_transaction_of(client, table, key).map(|started| Some(started.id))
            }
            Work::Commit(id) => instance.commit_transaction(id, origin).await.map(|_| None),
            Work::Abort(id) => instance.abort_transaction(id).map(|_| None),
        }
    })
}

impl Door<'_> {
    async fn work(&self, asked: Work<'_>) -> Answer<Option<String>> {
        if !modules::is_loaded(Module::Transactions) {
            return Err(Stop::Needs(Module::Transactions));
        }
        Ok(work(self.instance, asked, self.origin).await?)
    }

    /// Starts a transaction.
    pub(super) async fn start_transaction(&self) -> Answer<Vec<u8>> {
        let fields = Fields::read(self.body)?;
        let (name, key) = (table(fields.text(1)?)?, row::key_alone(required(fields.bytes(2)?)?)?);
        let id = self.work(Work::Start(name, &key)).await?;
        let mut answer = Message::default();
        answer.text(1, &id.unwrap_or_default());
        Ok(answer.0)
    }

    /// Commits or aborts a transaction.
    pub(super) async fn end_transaction(&self, commits: bool) -> Answer<Vec<u8>> {
        let id = required(Fields::read(self.body)?.text(1)?)?;
        self.work(if commits { Work::Commit(id) } else { Work::Abort(id) }).await?;
        let mut answer = Message::default();
        if !commits {
            // One client reads this answer as if it were the request. Others ignore the field.
            answer.text(1, id);
        }
        Ok(answer.0)
    }
}
