//! Decisions about more rows than their blocks can be held for, while flushes, compactions and other decisions run and commits
//! fail.

use crate::store::NOW;
use std::cell::Cell;
use std::ops::{Bound, ControlFlow};
use std::rc::Rc;
use tabstore::engine::{Decide, Direction, Engine, KeyRange, Options, RowView, Shape, TreeId, Writes};
use tabstore::env::Env;
use tabstore::env::sim::SimEnv;
use tabstore::model::{CellChange, CellOp, ChangeKind, RowChange, ValueRef};
use tabstore::storage::MemoryStorage;
use tabstore::storage::faults::{Call, Hook, Hooked, YieldOnce};
use tabstore::{Code, Error, Result};

const TREE: TreeId = TreeId(1);
const ACCOUNTS: i64 = 60;
const BALANCE: i64 = 1000;

/// One commit of so many fails, before or after it has taken effect; the caller is not told which.
struct FailSome(SimEnv, Cell<bool>);

impl FailSome {
    fn maybe(&self, call: &Call) -> Result<()> {
        let fails = self.1.get() && matches!(call, Call::Commit(_)) && self.0.random().is_multiple_of(20);
        if fails { Err(Error::new(Code::Unavailable, "made to fail")) } else { Ok(()) }
    }
}

impl Hook for FailSome {
    async fn before(&self, call: &Call) -> Result<()> {
        YieldOnce.before(call).await?;
        self.maybe(call)
    }

    async fn after(&self, call: &Call) -> Result<()> {
        YieldOnce.after(call).await?;
        self.maybe(call)
    }
}

fn key(account: i64) -> Vec<u8> {
    format!("account {account:03}").into_bytes()
}

fn balance(row: Option<&RowView<'_>>) -> i64 {
    match row.and_then(|row| row.cells().first()).map(|cell| cell.value) {
        Some(ValueRef::Integer(value)) => value,
        other => panic!("{other:?} was never written"),
    }
}

/// Moves money between the first two of the rows that it sees; if these are all, their sum is known.
struct Transfer<'s> {
    accounts: Vec<i64>,
    balances: Vec<i64>,
    amount: i64,
    stamps: &'s Cell<i64>,
}

impl Decide for Transfer<'_> {
    fn see(&mut self, at: usize, row: Option<&RowView<'_>>) -> Result<()> {
        self.balances.resize(self.accounts.len(), 0);
        self.balances[at] = balance(row);
        Ok(())
    }

    fn write(&mut self, writes: &mut Writes<'_>) {
        if self.accounts.len() == ACCOUNTS as usize {
            assert_eq!(self.balances.iter().sum::<i64>(), ACCOUNTS * BALANCE, "{:?}", self.balances);
        }
        for (at, amount) in [(0, -self.amount), (1, self.amount)] {
            self.stamps.set(self.stamps.get() + 1);
            let stamp = self.stamps.get();
            let value = ValueRef::Integer(self.balances[at] + amount);
            let cells = [CellChange { column: "n", op: CellOp::Put(stamp, value) }];
            let kind = [ChangeKind::Put, ChangeKind::Update][(stamp % 2) as usize];
            writes.change(TREE, &key(self.accounts[at]), &RowChange { kind, stamp, cells: &cells });
        }
    }
}

async fn client(engine: Rc<Engine>, env: SimEnv, stamps: Rc<Cell<i64>>, done: Rc<Cell<u64>>) {
    for _ in 0..40 {
        let pick = |count: u64| env.random() % count;
        let other = |error: Error| assert_eq!(error.code(), Code::Unavailable, "{error}");
        match pick(10) {
            0 => engine.flush().await.unwrap_or_else(other),
            1 => engine.compact().await.unwrap_or_else(other),
            2 => {
                let (mut sum, range) = (0, KeyRange { lower: Bound::Unbounded, upper: Bound::Unbounded });
                let mut visit = |_: &[u8], row: &RowView<'_>| {
                    sum += balance(Some(row));
                    ControlFlow::Continue(())
                };
                engine.scan(TREE, range, Direction::Forward, &mut visit).await.expect("scanned");
                assert_eq!(sum, ACCOUNTS * BALANCE);
            }
            of => {
                let from = pick(ACCOUNTS as u64).cast_signed();
                let seen = if of < 7 { ACCOUNTS } else { 2 };
                let accounts: Vec<_> = (0..seen).map(|at| (from + at * 7) % ACCOUNTS).collect();
                let keys: Vec<_> = accounts.iter().map(|account| key(*account)).collect();
                let rows: Vec<_> = keys.iter().map(|key| (TREE, &key[..])).collect();
                let amount = pick(50).cast_signed();
                let mut transfer = Transfer { accounts, balances: Vec::new(), amount, stamps: &stamps };
                match engine.modify(&rows, None, &mut transfer).await {
                    Ok(()) => done.set(done.get() + 1),
                    Err(error) => other(error),
                }
            }
        }
    }
}

/// R4, R5: each sees all of its rows at one instant, nothing of failed decisions, and no request comes in between.
#[test]
fn r4_no_money_is_lost_by_decisions_about_more_rows_than_are_held_in_memory() {
    let done = Rc::new(Cell::new(0));
    for seed in 1..=30 * crate::times() {
        let env = SimEnv::shuffled(NOW, seed);
        let hook = Rc::new(FailSome(env.clone(), Cell::new(false)));
        let storage = Hooked::new(MemoryStorage::new(), Rc::clone(&hook));
        // Nothing stays in the cache, and four blocks are held at once.
        let options = Options { memtable_bytes: 3000, cache_bytes: 1, shape: Shape::TINY, ..Options::default() };
        let engine = env.run(Engine::open(storage, Rc::new(env.clone()), options)).expect("opens");
        let stamps = Rc::new(Cell::new(1));
        env.run(async {
            for account in 0..ACCOUNTS {
                let cells = [CellChange { column: "n", op: CellOp::Put(1, ValueRef::Integer(BALANCE)) }];
                let change = RowChange { kind: ChangeKind::Put, stamp: 1, cells: &cells };
                engine.write(TREE, &key(account), &change, None).await.expect("written");
            }
            engine.flush().await.expect("flushed");
        });
        hook.1.set(true);
        for _ in 0..4 {
            let client = client(Rc::clone(&engine), env.clone(), Rc::clone(&stamps), Rc::clone(&done));
            env.spawn(Box::pin(client));
        }
        env.run_until_idle();
    }
    assert!(done.get() > 30 * 40, "{} were stored", done.get());
}
