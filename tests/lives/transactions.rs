//! Transactions among others: transfers between accounts while others write, read, flush and compact; crashes and
//! faults at every storage call. The writes of a transaction are there as a whole, or not at all (R7, R4, R5).

use crate::faults::{at_every_call, with_a_full_disk_at_every_call};
use crate::partitioning;
use crate::script;
use crate::store::{self, NOW, Rows};
use futures_util::future::join_all;
use std::cell::Cell;
use std::rc::Rc;
use tabstore::engine::Direction;
use tabstore::env::Env;
use tabstore::env::sim::SimEnv;
use tabstore::model::{KeyColumn, KeyInput, KeyType, TableName, Value};
use tabstore::storage::MemoryStorage;
use tabstore::storage::faults::{CrashImages, FailAt, Hooked, YieldOnce};
use tabstore::tablestore::{CreateTable, GetRow, Instance};
use tabstore::{Code, Error, Result};

/// Accounts of a bank, and the balance of each at the start. A bank is a partition key value.
const ACCOUNTS: i64 = 4;
const BALANCE: i64 = 100;

/// The row of a bank that plain writers count on.
const VISITS: i64 = 99;

fn table() -> TableName<'static> {
    TableName::parse("bank").expect("a name")
}

fn account<'a>(bank: i64, id: i64) -> KeyInput<'a> {
    store::key(&[("bank", store::int(bank)), ("id", store::int(id))])
}

async fn open_banks(instance: &Instance, banks: i64) -> Result<()> {
    let key = ["bank", "id"].map(|name| KeyColumn::new(name, KeyType::Integer)).to_vec();
    instance.create_table(CreateTable { name: "bank".into(), key, ..CreateTable::default() }).await?;
    for bank in 0..banks {
        for id in 0..ACCOUNTS {
            let cells = [store::cell("n", store::int(BALANCE))];
            instance.write_row(&store::put("bank", account(bank, id), &cells), None).await?;
        }
    }
    Ok(())
}

fn balance(cells: &[store::Cell]) -> i64 {
    match cells.first() {
        Some((_, _, Value::Integer(balance))) => *balance,
        other => panic!("{other:?} is no balance"),
    }
}

/// The balance of every account of every bank, one bank after the other.
async fn balances(instance: &Instance, banks: i64) -> Result<Vec<Vec<i64>>> {
    let mut rows = Rows::default();
    instance.get_range(&store::range("bank", Direction::Forward), &mut rows).await?;
    let mut rows = rows.0.iter().filter(|(key, _)| key[1] != tabstore::model::KeyValue::Integer(VISITS));
    Ok((0..banks).map(|_| rows.by_ref().take(ACCOUNTS as usize).map(|(_, cells)| balance(cells)).collect()).collect())
}

async fn read_in(instance: &Instance, tx: &str, key: KeyInput<'_>) -> Result<i64> {
    let mut rows = Rows::default();
    instance.get_row_in(Some(tx), &GetRow { table: table(), key, options: store::versions(1) }, &mut rows).await?;
    Ok(rows.0.first().map_or(0, |(_, cells)| balance(cells)))
}

/// Moves `amount` inside a transaction: one account by what was read, the other by an increment.
async fn transfer(instance: &Instance, tx: &str, bank: i64, from: i64, amount: i64) -> Result<()> {
    let to = (from + 1) % ACCOUNTS;
    let left = read_in(instance, tx, account(bank, from)).await? - amount;
    let cells = [store::cell("n", store::int(left))];
    instance.write_row_in(Some(tx), &store::put("bank", account(bank, from), &cells), None).await?;
    let count = [store::increment("n", amount)];
    instance.write_row_in(Some(tx), &store::update("bank", account(bank, to), &count), None).await?;
    assert_eq!(read_in(instance, tx, account(bank, from)).await?, left, "it sees what it wrote");
    Ok(())
}

fn start(instance: &Instance, bank: i64) -> Result<String> {
    let key = store::key(&[("bank", store::int(bank))]);
    Ok(instance.start_local_transaction(table(), &key)?.id)
}

/// Moves money about in transactions; some are aborted, some left to themselves for others to wait out.
async fn teller(instance: Rc<Instance>, env: SimEnv, banks: i64, steps: u64) {
    for step in 0..steps {
        let bank = (env.random() % banks as u64) as i64;
        let tx = match start(&instance, bank) {
            Ok(tx) => tx,
            Err(error) => {
                assert_eq!(error.code(), Code::RowOperationConflict, "{error}");
                env.advance(20_000);
                env.yield_now().await;
                continue;
            }
        };
        let (from, amount) = ((env.random() % ACCOUNTS as u64) as i64, (env.random() % 50) as i64);
        let moved = transfer(&instance, &tx, bank, from, amount).await;
        let ended = match (moved, env.random() % 4) {
            (Err(error), _) => Err(error),
            (_, 0) => instance.abort_transaction(&tx).map(|_| ()).map_err(Error::from),
            (_, 1) if step % 7 == 0 => Ok(()),
            _ => instance.commit_transaction(&tx, None).await.map(|_| ()).map_err(Error::from),
        };
        if let Err(error) = ended {
            assert_eq!(error.code(), Code::SessionNotExist, "its minute was over: {error}");
        }
    }
}

/// Counts in a row of each bank without a transaction, and moves money in atomic batches; gives how often it was let.
async fn visitor(instance: Rc<Instance>, env: SimEnv, banks: i64, steps: u64, visits: Rc<Cell<i64>>) {
    for _ in 0..steps {
        let bank = (env.random() % banks as u64) as i64;
        let count = store::update("bank", account(bank, VISITS), &[store::increment("n", 1)]);
        match instance.write_row(&count, None).await {
            Ok(_) => visits.set(visits.get() + 1),
            Err(failure) => assert_eq!(failure.error.code(), Code::RowOperationConflict, "{failure}"),
        }
        let from = (env.random() % ACCOUNTS as u64) as i64;
        let move_one = [(from, -1), ((from + 1) % ACCOUNTS, 1)]
            .map(|(id, amount)| store::update("bank", account(bank, id), &[store::increment("n", amount)]));
        for result in instance.batch_write_row_atomic(&move_one, None).await.expect("a right batch") {
            if let Err(failure) = result {
                assert_eq!(failure.error.code(), Code::RowOperationConflict, "{failure}");
            }
        }
        env.yield_now().await;
    }
}

/// Looks at all banks, flushes and compacts: no look sees money on its way.
async fn auditor(instance: Rc<Instance>, env: SimEnv, banks: i64, steps: u64) {
    for _ in 0..steps {
        match env.random() % 5 {
            0 => instance.flush().await.expect("flushed"),
            2 => partitioning::change(&env, &instance).await.expect("changed"),
            1 if env.random().is_multiple_of(4) => instance.compact().await.expect("compacted"),
            _ => {}
        }
        for bank in balances(&instance, banks).await.expect("read") {
            assert_eq!(bank.iter().sum::<i64>(), ACCOUNTS * BALANCE, "{bank:?}");
        }
    }
}

/// R7, R5: in random orders of tasks on a storage that lets others go first at every call.
#[test]
fn r7_no_money_is_lost_or_seen_on_its_way_whatever_meets() {
    const BANKS: i64 = 3;
    let mut all_visits = 0;
    for seed in 1..=40 {
        let env = SimEnv::shuffled(NOW, seed);
        let storage = Hooked::new(MemoryStorage::new(), YieldOnce);
        let instance = env.run(script::open(&env, storage)).expect("opens");
        env.run(open_banks(&instance, BANKS)).expect("opened");
        let visits = Rc::new(Cell::new(0));
        for _ in 0..3 {
            env.spawn(Box::pin(teller(Rc::clone(&instance), env.clone(), BANKS, 40)));
            let visitor = visitor(Rc::clone(&instance), env.clone(), BANKS, 60, Rc::clone(&visits));
            env.spawn(Box::pin(visitor));
        }
        env.spawn(Box::pin(auditor(Rc::clone(&instance), env.clone(), BANKS, 60)));
        env.run_until_idle();
        env.run(auditor(Rc::clone(&instance), env.clone(), BANKS, 5));
        all_visits += visits.get();
        let counted = env.run(join_all((0..BANKS).map(|bank| {
            let instance = &instance;
            async move {
                let mut rows = Rows::default();
                let request = GetRow { table: table(), key: account(bank, VISITS), options: store::versions(1) };
                instance.get_row(&request, &mut rows).await.expect("read");
                rows.0.first().map_or(0, |(_, cells)| balance(cells))
            }
        })));
        assert_eq!(counted.iter().sum::<i64>(), visits.get(), "seed {seed}: no visit is lost");
    }
    assert!(all_visits > 40 * 30, "{all_visits} visits: others were hardly let");
}

/// The results of a script's transactions: the balances after each that was acknowledged, and after the one in
/// progress.
struct History {
    known: Vec<i64>,
    next: Vec<i64>,
}

/// One bank, one transfer after another, with aborted ones, batches and flushes between them. Ends at the first failure.
async fn transfers(instance: &Instance, history: &mut History, mut after: impl FnMut(&History)) {
    for step in 0..12 {
        let (from, amount) = (step % ACCOUNTS, 10 + step);
        let Ok(tx) = start(instance, 0) else { return };
        if transfer(instance, &tx, 0, from, amount).await.is_err() {
            // A read that failed ends no transaction: it could be tried again.
            let _ = instance.abort_transaction(&tx);
            return;
        }
        if step % 4 == 3 {
            if instance.abort_transaction(&tx).is_err() {
                return;
            }
        } else {
            history.next = history.known.clone();
            history.next[from as usize] -= amount;
            history.next[((from + 1) % ACCOUNTS) as usize] += amount;
            if instance.commit_transaction(&tx, None).await.is_err() {
                return;
            }
            history.known = history.next.clone();
        }
        if step % 3 == 2 && instance.flush().await.is_err() {
            return;
        }
        after(history);
    }
}

fn beginning() -> History {
    History { known: vec![BALANCE; ACCOUNTS as usize], next: vec![BALANCE; ACCOUNTS as usize] }
}

/// R7, R4: a crash after any change of the storage leaves every transaction whole or leaves nothing of it.
#[test]
fn r7_a_crash_at_any_change_of_the_storage_leaves_transactions_whole() {
    let (env, memory) = (SimEnv::new(NOW), MemoryStorage::new());
    env.run(async {
        let instance = script::open(&env, memory.clone()).await.expect("opens");
        open_banks(&instance, 1).await.expect("opened");
        instance.close().await;
    });
    let images = Rc::new(CrashImages::new(&memory));
    let mut seen = vec![(images.count(), beginning().known)];
    env.run(async {
        let storage = Hooked::new(memory.clone(), Rc::clone(&images));
        let instance = script::open(&env, storage).await.expect("opens");
        let count = Rc::clone(&images);
        transfers(&instance, &mut beginning(), |history| seen.push((count.count(), history.known.clone()))).await;
    });
    assert_eq!(seen.len(), 13, "nothing failed");
    for (number, image) in images.take().into_iter().enumerate() {
        let done = seen.iter().rposition(|(images, _)| *images <= number + 1).unwrap_or(0);
        let allowed = [&seen[done].1, &seen[(done + 1).min(seen.len() - 1)].1];
        let env = SimEnv::new(NOW + 1000);
        let found = env.run(async {
            let instance = script::open(&env, image).await.expect("opens");
            balances(&instance, 1).await.expect("read").remove(0)
        });
        assert!(allowed.contains(&&found), "image {number}: {found:?}, not one of {allowed:?}");
    }
}

/// Runs the transfers on a storage with this fault, then looks what is stored. Gives how many calls the storage saw.
fn survive(fault: FailAt, name: &str) -> u64 {
    let (env, memory, fault) = (SimEnv::new(NOW), MemoryStorage::new(), Rc::new(fault));
    let mut history = beginning();
    env.run(async {
        let healthy = script::open(&env, memory.clone()).await.expect("opens");
        open_banks(&healthy, 1).await.expect("opened");
        let storage = Hooked::new(Hooked::new(memory.clone(), Rc::clone(&fault)), YieldOnce);
        let Ok(faulty) = script::open(&env, storage).await else { return };
        transfers(&faulty, &mut history, |_| ()).await;
        // A transaction that failed holds nobody up.
        if let Err(error) = start(&faulty, 0) {
            panic!("{name}: {error}");
        }
        if let Ok(found) = balances(&faulty, 1).await {
            assert!([&history.known, &history.next].contains(&&found[0]), "{name}, before reopening: {found:?}");
        }
    });
    env.run_until_idle();
    env.crash();
    env.run(async {
        let instance = script::open(&env, memory.clone()).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        let found = balances(&instance, 1).await.expect("read").remove(0);
        assert!([&history.known, &history.next].contains(&&found), "{name}: {found:?}");
        let mut goes_on = History { known: found, next: Vec::new() };
        transfers(&instance, &mut goes_on, |_| ()).await;
        assert_eq!(balances(&instance, 1).await.expect("read")[0], goes_on.known, "{name}, in the end");
    });
    fault.calls()
}

/// R7, R4: a call that fails, once or from then on, before or after it took effect.
#[test]
fn r7_a_failing_call_anywhere_leaves_transactions_whole() {
    at_every_call(15, survive);
}

/// R7: where there is no room for a transaction, nothing of it is stored, and it is over.
#[test]
fn r7_a_full_disk_at_any_call_leaves_transactions_whole() {
    with_a_full_disk_at_every_call(survive);
}
