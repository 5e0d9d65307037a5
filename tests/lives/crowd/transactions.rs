//! The transactions and loads of a crowd.

use super::Life;
use super::ask::{Lock, slot, tell};
use super::history::{Entry, Failed, Slot, Taken, Told};
use super::reads::name;
use super::state::Expected;
use super::world::PARTITIONS;
use crate::store;
use std::cell::Cell;
use std::rc::Rc;
use tabstore::Code;
use tabstore::tablestore::{Loader, PutRows};

/// A transaction lives for so many ms.
const LIFE: i64 = 60_000;

/// A transaction that somebody has started.
pub(super) struct Transaction {
    pub(super) number: u64,
    pub(super) id: String,
    pub(super) table: usize,
    pub(super) partition: usize,
    started: i64,
    busy: Cell<bool>,
    committing: Cell<bool>,
    /// It has ended.
    over: Cell<bool>,
    /// An index of its table changed, or is going to: it may have ended.
    pub(super) doubtful: Cell<bool>,
}

/// A request of a transaction that is on its way.
pub(super) struct Busy<'t>(&'t Transaction);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.busy.set(false);
    }
}

impl Transaction {
    pub(super) fn busy(&self) -> Busy<'_> {
        self.busy.set(true);
        Busy(self)
    }

    /// Whether it locks its rows, unless it is doubtful.
    pub(super) fn is_alive(&self, now: i64) -> bool {
        !self.over.get() && (self.committing.get() || now - self.started < LIFE)
    }

    pub(super) fn may_be_over(&self, now: i64) -> bool {
        self.doubtful.get() || self.over.get() || now - self.started >= LIFE
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.get()
    }
}

/// Rows that somebody loads.
pub(super) struct Loading {
    number: u64,
    table: usize,
    loader: Rc<Loader>,
    /// Rows may be taken from this partition on.
    next: usize,
    /// Requests that are on their way.
    busy: Rc<Cell<bool>>,
    taken: Rc<Cell<bool>>,
    parts: Vec<usize>,
}

impl Life {
    /// Starts a transaction, or does something in one of those that are open.
    pub(super) fn transact(&mut self) {
        let now = self.now;
        self.transactions.retain(|open| !open.is_over() && (open.is_alive(now) || open.busy.get()));
        let free: Vec<_> = self.transactions.iter().filter(|open| !open.busy.get()).map(Rc::clone).collect();
        if free.is_empty() || (self.transactions.len() < 3 && self.pick(4) == 0) {
            return self.start();
        }
        let open = Rc::clone(&free[self.pick(free.len() as u64) as usize]);
        match self.pick(12) {
            0..5 => self.write_in(&open),
            5..8 => self.get(open.table, open.partition, Some(open)),
            8 => self.range(open.table, Some(open.partition), Some(open)),
            9 | 10 => self.commit(&open),
            _ => self.abort(&open),
        }
    }

    fn start(&mut self) {
        let (table, partition) = self.place();
        let lock = self.lock(table, partition);
        let key = store::key(&[("p", self.tables[table].partitions[partition])]);
        match self.world.instance.start_local_transaction(name(self.tables[table].name), &key) {
            Ok(started) => {
                self.clients.used(started.consumed);
                if lock == Lock::Held {
                    self.clients.is_wrong("two transactions have the same rows".into());
                }
                self.number += 1;
                self.histories[table][partition].ask(Entry::Start(self.number));
                let doubtful = Cell::new(self.tables[table].indexed && self.changing.get());
                self.transactions.push(Rc::new(Transaction {
                    number: self.number,
                    id: started.id,
                    table,
                    partition,
                    started: self.now,
                    busy: Cell::default(),
                    committing: Cell::default(),
                    over: Cell::default(),
                    doubtful,
                }));
            }
            Err(failure) => {
                self.clients.used(failure.consumed);
                if lock == Lock::Free || failure.error.code() != Code::RowOperationConflict {
                    self.clients.explains(&failure.error, "the start of a transaction");
                }
            }
        }
    }

    fn write_in(&mut self, open: &Rc<Transaction>) {
        let asked = self.write_of(open.table, open.partition, Some(false));
        let slot = slot();
        let entry = Entry::Write(Some(open.number), vec![asked.write], Rc::clone(&slot));
        self.histories[open.table][open.partition].ask(entry);
        let (instance, clients, open) = (Rc::clone(&self.world.instance), Rc::clone(&self.clients), Rc::clone(open));
        self.launch("a write in a transaction", async move {
            let _busy = open.busy();
            let outcome = instance.write_row_in(Some(&open.id), &asked.request, None).await;
            let mut known = asked.known;
            known.inside = Some(open.may_be_over(instance.now_ms()));
            tell(&slot, clients.told(outcome, known));
        });
    }

    fn commit(&mut self, open: &Rc<Transaction>) {
        let slot = slot();
        self.histories[open.table][open.partition].ask(Entry::End(open.number, Rc::clone(&slot)));
        // While it is being committed its minute does not end.
        let in_time = open.is_alive(self.now) && !open.doubtful.get();
        open.committing.set(true);
        let (instance, clients, open) = (Rc::clone(&self.world.instance), Rc::clone(&self.clients), Rc::clone(open));
        self.launch("a commit", async move {
            let _busy = open.busy();
            let told = match instance.commit_transaction(&open.id, None).await {
                Ok(consumed) => {
                    clients.used(consumed);
                    Told::Done(Vec::new())
                }
                Err(failure) => {
                    clients.used(failure.consumed);
                    match failure.error.code() {
                        Code::SessionNotExist if !in_time => Told::Nothing,
                        _ if clients.explains(&failure.error, "a commit") => Told::Unknown,
                        _ => Told::Nothing,
                    }
                }
            };
            open.over.set(true);
            tell(&slot, told);
        });
    }

    fn abort(&mut self, open: &Rc<Transaction>) {
        let slot: Slot<Told> = slot();
        tell(&slot, Told::Nothing);
        self.histories[open.table][open.partition].ask(Entry::End(open.number, slot));
        match self.world.instance.abort_transaction(&open.id) {
            Ok(consumed) => self.clients.used(consumed),
            Err(failure) => {
                self.clients.used(failure.consumed);
                if failure.error.code() != Code::SessionNotExist || !open.may_be_over(self.now) {
                    self.clients.explains(&failure.error, "an abort");
                }
            }
        }
        open.over.set(true);
    }

    /// Begins to load rows, goes on with that, or ends it.
    pub(super) fn load(&mut self) {
        if self.loading.is_empty() || (self.loading.len() < 2 && self.pick(4) == 0) {
            self.number += 1;
            self.loading.push(Loading {
                number: self.number,
                table: self.pick(2) as usize,
                loader: Rc::new(Loader::of_at_least(1)),
                next: self.pick(3) as usize,
                busy: Rc::default(),
                taken: Rc::default(),
                parts: Vec::new(),
            });
        }
        let at = self.pick(self.loading.len() as u64) as usize;
        if self.loading[at].busy.get() {
            return;
        }
        match self.pick(3) {
            0 => self.store_rows(at),
            1 if self.pick(3) == 0 => self.give_up(at),
            _ if self.loading[at].next == PARTITIONS => self.store_rows(at),
            _ => self.put_rows(at),
        }
    }

    fn put_rows(&mut self, at: usize) {
        let (table, first) = (self.loading[at].table, self.loading[at].next);
        let last = first + self.pick((PARTITIONS - first) as u64) as usize;
        self.loading[at].next = last + 1;
        let (mut requests, mut parts) = (Vec::new(), Vec::new());
        for partition in first..=last {
            let mut rows: Vec<_> = (0..3).map(|_| self.put_of(table, partition)).collect();
            rows.sort_by_key(|asked| asked.write.row);
            rows.dedup_by_key(|asked| asked.write.row);
            let slot: Slot<Taken> = slot();
            let writes = rows.iter().map(|row| row.write.clone()).collect();
            self.histories[table][partition].ask(Entry::Load(self.loading[at].number, writes, Rc::clone(&slot)));
            parts.push((slot, rows.iter().map(|row| row.known).collect::<Vec<_>>()));
            requests.extend(rows.into_iter().map(|row| Ok(row.request)));
            if !self.loading[at].parts.contains(&partition) {
                self.loading[at].parts.push(partition);
            }
        }
        let Loading { loader, busy, taken, .. } = &self.loading[at];
        let (loader, busy, taken) = (Rc::clone(loader), Rc::clone(busy), Rc::clone(taken));
        busy.set(true);
        let (instance, clients) = (Rc::clone(&self.world.instance), Rc::clone(&self.clients));
        self.launch("rows to be loaded", async move {
            let put = instance.put_rows(&loader, requests, None).await;
            busy.set(false);
            let mut row = 0;
            match put {
                PutRows::Taken { load, refused, .. } => {
                    taken.set(true);
                    refused.iter().for_each(|(_, failure)| clients.used(failure.consumed));
                    for (slot, known) in parts {
                        let kept = known.iter().map(|known| {
                            let failure = refused.iter().find(|refused| refused.0 == row).map(|refused| &refused.1);
                            row += 1;
                            clients.is_taken(failure, *known)
                        });
                        let kept = kept.collect();
                        tell(&slot, Taken::Load(load, kept));
                    }
                }
                PutRows::Written(outcomes) => {
                    let mut outcomes = outcomes.into_iter();
                    for (slot, known) in parts {
                        let told =
                            known.iter().zip(outcomes.by_ref()).map(|(known, outcome)| clients.told(outcome, *known));
                        tell(&slot, Taken::Written(told.collect()));
                    }
                }
            }
        });
    }

    /// A put without condition.
    fn put_of(&mut self, table: usize, partition: usize) -> super::ask::Asked {
        loop {
            let asked = self.write_of(table, partition, None);
            let put = matches!(asked.write.change, super::state::Change::Put(..));
            if put && asked.write.expected == Expected::Anything {
                return asked;
            }
        }
    }

    /// Asks for what was taken.
    fn store_rows(&mut self, at: usize) {
        let Loading { number, table, loader, parts, .. } = self.loading.remove(at);
        let slots = self.land(number, table, &parts);
        let (instance, clients) = (Rc::clone(&self.world.instance), Rc::clone(&self.clients));
        self.launch("rows to be stored", async move {
            let stored = instance.store_rows(&loader).await;
            clients.used(stored.consumed);
            let told = |(load, error): &(u64, tabstore::Error)| {
                let unknown = clients.explains(error, "a load");
                (*load, if unknown { Told::Unknown } else { Told::Nothing })
            };
            let failed: Vec<_> = stored.failed.iter().map(told).collect();
            slots.iter().for_each(|slot| tell(slot, Some(failed.clone())));
        });
    }

    fn give_up(&mut self, at: usize) {
        let Loading { number, table, parts, taken, .. } = self.loading.remove(at);
        if taken.get() {
            // Others may have it stored.
            self.clients.untold.set(true);
        }
        self.land(number, table, &parts).iter().for_each(|slot| tell(slot, None));
    }

    fn land(&mut self, number: u64, table: usize, parts: &[usize]) -> Vec<Slot<Failed>> {
        let slots: Vec<_> = parts.iter().map(|_| slot()).collect();
        for (partition, slot) in parts.iter().zip(&slots) {
            self.histories[table][*partition].ask(Entry::Landed(number, Rc::clone(slot)));
        }
        slots
    }

    /// Asks for everything that is being loaded.
    pub(super) fn store_all(&mut self) {
        while !self.loading.is_empty() {
            self.store_rows(0);
        }
    }
}
