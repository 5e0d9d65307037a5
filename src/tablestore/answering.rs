//! The answers of clients in other tabs, from their first session to their end.
//!
//! What is asynchronous here belongs to [`Module::Answers`](crate::modules::Module::Answers), which must be loaded.

use super::answers;
use super::instance::Instance;
use crate::error::Result;
use crate::storage::Storage;

impl<S: Storage> Instance<S> {
    /// From now on, the stored answers to this client's writes are given again. If it is in another tab, it may outlive the
    /// engine, so it `stores` the answers to later ones too. No request of the client may be in progress.
    ///
    /// # Errors
    /// Errors of reading.
    pub async fn keep_answers(&self, client: u64, stores: bool) -> Result<()> {
        let mut found = Vec::new();
        let mut take = |_, place, record| found.push((place, record));
        answers::each(&self.engine, answers::places(client), &mut take).await?;
        self.answers.start(client, stores, found);
        Ok(())
    }

    /// Deletes the answers of a client that has ended, and those of all clients that neither live nor have a session.
    ///
    /// # Errors
    /// Errors of reading and writing.
    pub async fn forget_answers(&self, ended: Option<u64>, living: Vec<u64>) -> Result<()> {
        if let Some(client) = ended {
            self.answers.end(client);
        }
        let keeps = |client| Some(client) != ended && (living.contains(&client) || self.answers.has(client));
        answers::remove(&self.engine, &keeps).await
    }

    /// The client has all its answers to requests below this number: nobody will ask for them again.
    pub fn acknowledge(&self, client: u64, below: u64) {
        self.answers.acknowledge(client, below);
    }
}
