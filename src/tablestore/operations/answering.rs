//! The answers of clients in other tabs, from their first session to their end.
//!
//! What is asynchronous here belongs to [`Module::Answers`](crate::modules::Module::Answers), which must be loaded. So does the
//! answer to a change that was done before.

use super::describe::describe;
use crate::engine::Origin;
use crate::error::Result;
use crate::tablestore::state::access::AccessKey;
use crate::tablestore::state::{State, answers, catalog_rows};
use crate::tablestore::table::descriptions::TableDescription;

/// What a change of the catalog returned, or may have returned.
#[derive(Debug)]
pub enum Changed {
    /// It stored a table. Its indexes and partitions are those of now.
    Table(Box<TableDescription>),
    /// It stored an access key.
    AccessKey(AccessKey),
    /// It only deleted.
    Nothing,
}

/// The clients of other tabs, whose answers may outlive the engine.
#[derive(Clone, Copy)]
pub struct Clients<'i> {
    pub(crate) state: &'i State,
}

impl Clients<'_> {
    /// From now on, the stored answers to this client's writes are given again. If it is in another tab, it may outlive the
    /// engine, so it `stores` the answers to later ones too. `life` is the number by which its tab is known to live: several
    /// clients may be in one tab. No request of the client may be in progress.
    ///
    /// # Errors
    /// Errors of reading.
    pub async fn keep_answers(self, life: u64, client: u64, stores: bool) -> Result<()> {
        // An earlier session of this client may have left loads.
        self.state.engine.after_asked_loads().await;
        let found = answers::stored(&self.state.engine, life, client).await?;
        self.state.answers.start([life, client], stores, found);
        Ok(())
    }

    /// Deletes the answers of a client that has ended, and those of all clients without a session whose tab is not among the
    /// `living`.
    /// Its future is a gate of [`Module::Answers`](crate::modules::Module::Answers).
    ///
    /// # Errors
    /// Errors of reading and writing.
    pub async fn forget_answers(self, ended: Option<u64>, living: Vec<u64>) -> Result<()> {
        if let Some(client) = ended {
            self.state.answers.end(client);
        }
        let keeps = |life, client| Some(client) != ended && (living.contains(&life) || self.state.answers.has(client));
        answers::remove(&self.state.engine, &keeps).await
    }

    /// Runs a change of the catalog for a client: its answer is stored with it, if the client may outlive the engine.
    ///
    /// # Errors
    /// Those of `work`. The next answer that is stored for the client carries them.
    pub async fn asked_by<T>(self, origin: Option<Origin>, work: impl Future<Output = Result<T>>) -> Result<T> {
        let done = self.state.catalog.asked_by(origin, work).await;
        done.inspect_err(|error| self.state.answers.refuse(origin, 0, error))
    }

    /// Whether a client's answers are known or stored.
    pub fn has_answers(self, client: u64) -> bool {
        self.state.answers.has(client)
    }

    /// The answer to a change of the catalog that was done before, if it was.
    ///
    /// # Errors
    /// Its refusal, if a later request of the client was done; `Corrupt`.
    pub fn changed_before(self, origin: Option<Origin>) -> Result<Option<Changed>> {
        if let Some((_, refusal)) = self.state.answers.refusal(origin) {
            return Err(refusal);
        }
        let Some((key, record)) = self.state.answers.recall_change(origin) else { return Ok(None) };
        if key.is_empty() {
            return Ok(Some(Changed::Nothing));
        }
        let mut stored = catalog_rows::read(&key, &record)?;
        if let Some(table) = stored.tables.pop() {
            if let Some(now) = self.state.catalog.get(table.name())
                && now.tree() == table.tree()
            {
                table.set_indexes(now.indexes().to_vec());
                table.set_stream(now.stream());
            }
            return Ok(Some(Changed::Table(Box::new(describe(self.state, &table)))));
        }
        Ok(Some(stored.keys.pop().map_or(Changed::Nothing, Changed::AccessKey)))
    }

    /// The client has all its answers to requests below this number: nobody will ask for them again.
    pub fn acknowledge(self, client: u64, below: u64) {
        self.state.answers.acknowledge(client, below);
    }
}
