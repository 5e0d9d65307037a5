//! Requests in progress: each is read, run by the instance, and answered.

use super::codec::contract::{self, Row, op};
use super::codec::fields::{Batch, Blob, Field, Text, Unsigned};
use super::codec::values::{PutRows, StartLocalTransaction};
use super::codec::{Frame, RequestHead, ResponseWriter};
use super::shared::{Shared, ended};
use crate::doors::{Passed, azure, tablestore};
use crate::engine::Origin;
use crate::env::LocalFuture;
use crate::error::{Code, Error};
use crate::model::limits;
use crate::modules::Module;
use crate::tablestore::Scope;
use std::rc::Rc;

/// The use of requests after reading.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Start,
    /// Nothing: the frame is only checked for damage.
    Check,
    /// Refuse them: there are too many.
    Refuse,
    /// Refuse them: the session has ended.
    End,
}

/// A gate of [`Module::Transactions`].
#[inline(never)]
fn transact(job: Job) -> LocalFuture<()> {
    Box::pin(job.transact())
}

/// One request in progress.
pub(super) struct Job {
    pub(super) shared: Rc<Shared>,
    pub(super) frame: Rc<Frame>,
    pub(super) head: RequestHead,
    /// The arrival of its frame.
    pub(super) started: u64,
    pub(super) step: Step,
}

impl Job {
    /// All of it, still to be polled. `None` if there is no such operation.
    pub(super) fn start(self) -> Option<LocalFuture<()>> {
        Some(match self.head.op {
            op::PUT_ROW | op::UPDATE_ROW | op::DELETE_ROW => Box::pin(self.row_write()),
            op::GET_ROW => Box::pin(self.get_row()),
            op::BATCH_GET_ROW => Box::pin(self.batch_get()),
            op::GET_RANGE => Box::pin(self.get_range()),
            op::BATCH_WRITE_ROW | op::BATCH_WRITE_ROW_ATOMIC | op::ATOMIC => Box::pin(self.batch_write()),
            op::PUT_ROWS => Box::pin(self.put_rows()),
            op::STORE_ROWS => Box::pin(self.store_rows()),
            op::COUNT_ROWS | op::DELETE_RANGE => Box::pin(self.count_rows()),
            op::ACKNOWLEDGE => Box::pin(self.acknowledge()),
            op::AZURE | op::TABLE_STORE => Box::pin(self.door()),
            op::START_LOCAL_TRANSACTION..=op::ABORT_TRANSACTION => {
                if self.shared.env.has(Module::Transactions) {
                    transact(self)
                } else {
                    Box::pin(self.wait_for_transactions())
                }
            }
            _ => return None,
        })
    }

    /// Reads the request. `None` when there is nothing to do: it was refused, or the frame is damaged.
    fn read<F: Field>(&self) -> Option<F::Value<'_>> {
        let request = self.frame.payload::<F>(&self.head)?;
        if self.step != Step::Start {
            self.pass();
            return None;
        }
        if let Some(module) = self.missing_module() {
            self.wait_for(module);
            return None;
        }
        request.map_err(|refusal| self.refuse(&refusal)).ok()
    }

    /// The code beside the core that the request needs, and that is not there.
    fn missing_module(&self) -> Option<Module> {
        let rules = self.frame.has_rule().then_some(Module::Rules);
        let needed = match self.head.op {
            op::AZURE => [Some(Module::Azure), None],
            op::TABLE_STORE => [Some(Module::Tablestore), None],
            op::BATCH_WRITE_ROW_ATOMIC | op::ATOMIC | op::DELETE_RANGE => [rules, Some(Module::Transactions)],
            // Without it, rows are written the normal way.
            op::PUT_ROWS if !self.does_without_loads() => [rules, Some(Module::Loads)],
            _ => [rules, None],
        };
        needed.into_iter().flatten().find(|module| !self.shared.env.has(*module))
    }

    /// Whether rows by the thousand waited in vain for their module, just now or not long ago.
    fn does_without_loads(&self) -> bool {
        let Shared { missing, without_loads, env, .. } = &*self.shared;
        missing.borrow().as_ref().is_some_and(|(missing, _)| *missing == Module::Loads)
            || env.ticks_us() < without_loads.get()
    }

    /// A module is not loaded yet: the session stops here until it is.
    #[cold]
    fn wait_for(&self, module: Module) {
        match &*self.shared.missing.borrow() {
            Some((missing, error)) if *missing == module => self.refuse(error),
            _ => self.shared.loading.set(Some(module)),
        }
    }

    /// Skips a request that is not started now.
    #[cold]
    fn pass(&self) {
        match self.step {
            Step::Refuse => {
                let hint = "Too many requests wait to be started. Wait for answers before you send more.";
                self.refuse(&Error::new(Code::ServerBusy, "Server is busy.").with_hint(hint));
            }
            Step::End => self.refuse(&ended()),
            Step::Start | Step::Check => {}
        }
    }

    fn refuse(&self, error: &Error) {
        self.shared.common.activity.borrow_mut().answered(self.head.op, self.started, true);
        self.shared.respond(|outbox| outbox.error(self.head.id, error));
    }

    fn answer(&self, write: impl FnOnce(&mut ResponseWriter)) {
        self.answer_after(false, write);
    }

    /// The same. `failed` says whether the request counts as failed (I5).
    fn answer_after(&self, failed: bool, write: impl FnOnce(&mut ResponseWriter)) {
        self.shared.common.activity.borrow_mut().answered(self.head.op, self.started, failed);
        self.shared.respond(write);
    }

    /// The id of the request's transaction.
    fn transaction(&self) -> Option<&str> {
        self.frame.transaction(&self.head)
    }

    fn origin(&self) -> Option<Origin> {
        Some(Origin { client: self.shared.client, request: self.head.id })
    }

    async fn row_write(self) {
        let Some(write) = self.read::<contract::RowWrite>() else { return };
        match self.shared.instance.write_row_in(self.transaction(), &write, self.origin()).await {
            Ok(written) => self.answer(|outbox| outbox.written(self.head.id, &written)),
            Err(failure) => self.refuse(&failure.error),
        }
    }

    async fn batch_write(self) {
        let Some(writes) = self.read::<Batch<Row>>() else { return };
        let (instance, origin) = (&self.shared.instance, self.origin());
        let done = match self.head.op {
            op::BATCH_WRITE_ROW => instance.batch_write_rows(self.transaction(), writes, origin).await,
            op::ATOMIC => instance.write_atomic(&writes, Scope::Tables, origin).await,
            _ => instance.batch_write_row_atomic(&writes, origin).await,
        };
        match done {
            Ok(rows) => self.answer(|outbox| outbox.batch_written(self.head.id, &rows)),
            Err(failure) => self.refuse(&failure.error),
        }
    }

    /// A caller of [`Module::Loads`].
    async fn put_rows(self) {
        let Some(PutRows { loader, rows }) = self.read::<contract::PutRows>() else { return };
        let loader = self.shared.loader(loader);
        let rows = self.shared.instance.put_rows(&loader, rows, self.origin()).await;
        self.answer(|outbox| outbox.rows_put(self.head.id, &rows));
    }

    /// A caller of [`Module::Loads`].
    async fn store_rows(self) {
        let Some(loader) = self.read::<Unsigned>() else { return };
        let stored = self.shared.instance.store_rows(&self.shared.loader(loader)).await;
        self.answer_after(!stored.failed.is_empty(), |outbox| outbox.rows_stored(self.head.id, &stored));
    }

    async fn get_row(self) {
        let Some(request) = self.read::<contract::GetRow>() else { return };
        let mut page = self.shared.page();
        match self.shared.instance.get_row_in(self.transaction(), &request, &mut page).await {
            Ok(found) => self.answer(|out| out.response::<contract::Found>(self.head.id, (found.consumed, &page))),
            Err(failure) => self.refuse(&failure.error),
        }
        self.shared.spare(page);
    }

    async fn batch_get(self) {
        let Some(tables) = self.read::<Batch<contract::TableRead>>() else { return };
        // A batch of more tables is refused.
        let pages = tables.iter().take(limits::BATCH_GET_ROWS).map(|_| self.shared.page());
        let mut pages = pages.collect::<Vec<_>>();
        match self.shared.instance.batch_get_row(&tables, &mut pages).await {
            Ok(results) => self.answer(|outbox| outbox.batch_found(self.head.id, &results, &pages)),
            Err(failure) => self.refuse(&failure.error),
        }
        pages.into_iter().for_each(|page| self.shared.spare(page));
    }

    async fn get_range(self) {
        let Some(request) = self.read::<contract::GetRange>() else { return };
        let mut page = self.shared.page();
        match self.shared.instance.get_range_in(self.transaction(), &request, &mut page).await {
            Ok(range) => {
                let given = (range.consumed, range.next.as_deref(), &page);
                self.answer(|out| out.response::<contract::Range>(self.head.id, given));
            }
            Err(failure) => self.refuse(&failure.error),
        }
        self.shared.spare(page);
    }

    async fn count_rows(self) {
        let Some(request) = self.read::<contract::CountRows>() else { return };
        let instance = &self.shared.instance;
        let done = match self.head.op {
            op::COUNT_ROWS => instance.count_rows(request).await,
            _ => instance.delete_range(request).await,
        };
        match done {
            Ok(count) => {
                let next = count.next.as_ref().map(|next| (&*count.schema, &next[..]));
                self.answer(|out| out.response::<contract::Counted>(self.head.id, (count.consumed, count.rows, next)));
            }
            Err(failure) => self.refuse(&failure.error),
        }
    }

    /// Nothing is answered, not even a refusal.
    async fn acknowledge(self) {
        if let Some(Ok(below)) = self.frame.payload::<Unsigned>(&self.head)
            && self.step == Step::Start
        {
            self.shared.instance.clients().acknowledge(self.shared.client, below);
        }
    }

    /// A caller of [`Module::Azure`], and a caller of [`Module::Tablestore`].
    async fn door(self) {
        let Some(request) = self.read::<Blob>() else { return };
        let instance = &self.shared.instance;
        let passing = match self.head.op {
            op::AZURE => azure::pass(instance, request, self.origin()),
            _ => tablestore::pass(instance, request, self.origin()),
        };
        match passing.await {
            Ok(Passed::Needs(module)) => self.wait_for(module),
            Ok(Passed::Answered((response, failed))) => {
                self.answer_after(failed, |out| out.response::<contract::Passed>(self.head.id, (&response,)));
            }
            Err(error) => self.refuse(&error),
        }
    }

    async fn wait_for_transactions(self) {
        // The next request lies behind this one.
        let is_read = if self.head.op == op::START_LOCAL_TRANSACTION {
            self.frame.payload::<contract::StartLocalTransaction>(&self.head).is_some()
        } else {
            self.frame.payload::<Text>(&self.head).is_some()
        };
        if !is_read {
            return;
        }
        if self.step == Step::Start {
            self.wait_for(Module::Transactions);
        } else {
            self.pass();
        }
    }

    /// Starts, commits or aborts a transaction.
    /// Its future is a gate of [`Module::Transactions`].
    async fn transact(self) {
        let instance = &self.shared.instance;
        let done = if self.head.op == op::START_LOCAL_TRANSACTION {
            let Some(StartLocalTransaction { table, key }) = self.read::<contract::StartLocalTransaction>() else {
                return;
            };
            let started = instance.start_local_transaction_of(Some(self.shared.client), table, &key);
            started.map(|started| (started.consumed, Some(started.id)))
        } else {
            let Some(id) = self.read::<Text>() else { return };
            let ended = match self.head.op {
                op::COMMIT_TRANSACTION => instance.commit_transaction(id, self.origin()).await,
                _ => instance.abort_transaction(id),
            };
            ended.map(|consumed| (consumed, None))
        };
        match done {
            Ok((consumed, id)) => self.answer(|out| out.transacted(self.head.id, consumed, id.as_deref())),
            Err(failure) => self.refuse(&failure.error),
        }
    }
}
