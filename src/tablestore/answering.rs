//! The answers of clients in other tabs, from their first session to their end.
//!
//! What is asynchronous here belongs to [`Module::Answers`](crate::modules::Module::Answers), which must be loaded.

use super::answers;
use super::instance::Instance;
use crate::error::Result;
use crate::storage::Storage;

impl<S: Storage> Instance<S> {
    /// From now on, the stored answers to this client's writes are given again. If it is in another tab, it may outlive the
    /// engine, so it `stores` the answers to later ones too. `life` is the number by which its tab is known to live: several
    /// clients may be in one tab. No request of the client may be in progress.
    ///
    /// # Errors
    /// Errors of reading.
    pub async fn keep_answers(&self, life: u64, client: u64, stores: bool) -> Result<()> {
        // An earlier session of this client may have left them.
        self.engine.after_asked_loads().await;
        let found = answers::stored(&self.engine, life, client).await?;
        self.answers.start([life, client], stores, found);
        Ok(())
    }

    /// Deletes the answers of a client that has ended, and those of all clients without a session whose tab is not among the
    /// `living`.
    ///
    /// # Errors
    /// Errors of reading and writing.
    pub async fn forget_answers(&self, ended: Option<u64>, living: Vec<u64>) -> Result<()> {
        if let Some(client) = ended {
            self.answers.end(client);
        }
        let keeps = |life, client| Some(client) != ended && (living.contains(&life) || self.answers.has(client));
        answers::remove(&self.engine, &keeps).await
    }

    /// The client has all its answers to requests below this number: nobody will ask for them again.
    pub fn acknowledge(&self, client: u64, below: u64) {
        self.answers.acknowledge(client, below);
    }
}
