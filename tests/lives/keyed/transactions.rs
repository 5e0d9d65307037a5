//! Transactions of a keyed life: several at once, each on its partition key.

use super::Life;
use super::model::{Change, Id, Rows};
use super::world;
use std::rc::Rc;
use tabstore::Code;

/// An open transaction and its view of its rows.
pub(super) struct Open {
    pub(super) id: String,
    pub(super) p: i64,
    started: i64,
    pub(super) rows: Rows,
}

impl Open {
    pub(super) fn is_alive(&self, now: i64) -> bool {
        now < self.started + 60_000
    }
}

impl Life {
    /// One step of some transaction.
    pub(super) fn transact(&mut self) {
        self.pass(1 + self.pick(20).cast_signed());
        if self.open.is_empty() || self.pick(6) == 0 {
            return self.start();
        }
        let at = self.pick(self.open.len() as u64) as usize;
        match self.pick(16) {
            0..8 => self.write_inside(at),
            8..11 => self.read_inside(at),
            11 => self.write_outside_its_key(at),
            12 => self.abort(at),
            13 => self.expire(at),
            _ => self.commit(at),
        }
    }

    /// Starts a transaction. No other one gets the same partition key.
    fn start(&mut self) {
        let p = self.partition();
        let key = world::partition(p);
        let started = self.world.instance.start_local_transaction(world::name("t"), &key);
        match started {
            Ok(_) if self.is_locked(p) => self.fail("two transactions have one partition key"),
            Err(failure) if self.is_locked(p) => self.refused(&failure.error, Code::RowOperationConflict),
            Err(failure) => self.fail(&format!("a transaction cannot be started: {}", failure.error)),
            Ok(started) => {
                let (id, rows) = (started.id, self.rows.partition(p));
                self.open.push(Open { id, p, started: self.now, rows });
            }
        }
    }

    fn write_inside(&mut self, at: usize) {
        let (p, id) = (self.open[at].p, self.open[at].id.clone());
        let (row, change) = ((p, self.row()), self.change());
        let allowed = self.allow_update || !matches!(change, Change::Update(_));
        match self.world.write(Some(&id), row, &change) {
            Ok(_) if !allowed => self.fail("updates are not allowed, nor are they inside a transaction"),
            Err(failure) if !allowed => self.refused(&failure.error, Code::ParameterInvalid),
            Err(failure) => self.fail(&format!("{change:?} inside a transaction: {}", failure.error)),
            Ok(returned) => {
                let now = self.now;
                let sum = self.open[at].rows.apply(row, &change, now);
                if sum != returned {
                    self.fail(&format!("{change:?} inside a transaction came to {returned:?}, not {sum:?}"));
                }
            }
        }
        self.check_inside(at, row);
        self.check_row(row);
    }

    /// Only the transaction itself sees its writes.
    fn check_inside(&self, at: usize, row: Id) {
        let expected = self.open[at].rows.get(row, self.now, self.time_to_live);
        match self.world.get(Some(&self.open[at].id), row) {
            Ok(read) if read == expected => {}
            other => self.fail(&format!("inside its transaction row {row:?} is {other:?}, not {expected:?}")),
        }
    }

    fn read_inside(&mut self, at: usize) {
        let Open { id, p, rows, .. } = &self.open[at];
        let expected = rows.all(self.now, self.time_to_live);
        match self.world.scan("t", Some((id, *p))) {
            Ok(read) if read == expected => {}
            other => self.fail(&format!("inside its transaction key {p} has {other:?}, not {expected:?}")),
        }
    }

    /// A row of another partition key is not its business; the transaction lives on.
    fn write_outside_its_key(&mut self, at: usize) {
        let Open { id, p, .. } = &self.open[at];
        let row = (if *p == self.first.0 { p + 1 } else { p - 1 }, self.first.1);
        match self.world.write(Some(id), row, &Change::Delete) {
            Err(failure) => self.refused(&failure.error, Code::DataOutOfRange),
            Ok(_) => self.fail("a row of another partition key was written"),
        }
        self.check_inside(at, (*p, self.first.1));
    }

    fn commit(&mut self, at: usize) {
        let Open { id, p, rows, .. } = self.open.remove(at);
        let instance = Rc::clone(&self.world.instance);
        if let Err(failure) = self.world.env.run(instance.commit_transaction(&id, None)) {
            self.fail(&format!("a commit failed: {}", failure.error));
        }
        self.rows.take(p, &rows);
        self.is_over(&id);
        self.check_all();
    }

    fn abort(&mut self, at: usize) {
        let Open { id, p, .. } = self.open.remove(at);
        if let Err(failure) = self.world.instance.abort_transaction(&id) {
            self.fail(&format!("an abort failed: {}", failure.error));
        }
        self.is_over(&id);
        self.check_row((p, self.first.1));
    }

    /// A minute after its start nobody finds it any more.
    fn expire(&mut self, at: usize) {
        let (id, wait) = (self.open[at].id.clone(), self.open[at].started + 60_000 - self.now);
        self.pass(wait);
        self.is_over(&id);
    }

    pub(super) fn is_over(&self, id: &str) {
        match self.world.write(Some(id), self.first, &Change::Delete) {
            Err(failure) => self.refused(&failure.error, Code::SessionNotExist),
            Ok(_) => self.fail("a transaction that is over was written to"),
        }
        match self.world.env.run(self.world.instance.commit_transaction(id, None)) {
            Err(failure) => self.refused(&failure.error, Code::SessionNotExist),
            Ok(_) => self.fail("a transaction was ended twice"),
        }
    }
}
