//! A storage call that fails, at every single call of the script, before and after it took effect: nothing acknowledged
//! is lost, and the store goes on or opens again.

use crate::script::{self, Known};
use crate::store::NOW;
use std::rc::Rc;
use tabstore::env::sim::{SimEnv, share};
use tabstore::storage::MemoryStorage;
use tabstore::storage::faults::{FailAt, Hooked, Moment, YieldOnce};
use tabstore::{Code, Error};

/// Runs the script on a storage with this fault; opens it anew whenever it does not go on. Returns how many calls the
/// storage saw.
fn survive(fault: FailAt, name: &str) -> u64 {
    let (env, memory, fault) = (SimEnv::new(NOW), MemoryStorage::new(), Rc::new(fault));
    let mut known = Known::default();
    env.run(async {
        let healthy = script::open(&env, memory.clone()).await.expect("opens");
        script::create(&healthy).await.expect("created");
        let storage = Hooked::new(Hooked::new(memory.clone(), Rc::clone(&fault)), YieldOnce);
        // Opening itself may meet the fault; then it is tried again, as an application would.
        let faulty = script::open(&env, storage).await;
        for step in script::steps() {
            env.advance(7);
            let gone_on = match &faulty {
                Ok(instance) => script::take(instance, &step, &mut known).await,
                Err(_) => false,
            };
            if !gone_on {
                break;
            }
        }
        if let Ok(instance) = &faulty {
            // Readable rows are never wrong, and reads of the others fail.
            if let Err(wrong) = script::check(instance, &known, &known).await {
                assert!(wrong.contains("cannot be read"), "{name}, before reopening: {wrong}");
            }
        }
    });
    env.run_until_idle();
    env.crash();
    env.run(async {
        let instance = script::open(&env, memory.clone()).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        let checked = script::check(&instance, &known, &known).await;
        assert_eq!(checked, Ok(()), "{name}");
        for step in script::steps() {
            assert!(script::take(&instance, &step, &mut known).await, "{name}: {step:?} after reopening");
        }
        assert_eq!(script::check(&instance, &known, &known).await, Ok(()), "{name}, in the end");
    });
    fault.calls()
}

/// Lives a life as often as it makes storage calls, which are more than `least`. Each of them fails once, or all from
/// it on, before or after it took effect. Where a part of the lives is taken, it is one of the two before, and the other one after.
pub(crate) fn at_every_call(least: u64, survive: impl Fn(FailAt, &str) -> u64) {
    let calls = survive(FailAt::once(u64::MAX, Moment::Before), "no fault");
    assert!(calls > least, "the script makes {calls} calls");
    for call in 0..calls {
        for (at, moment) in (call..).zip([Moment::Before, Moment::After]) {
            if share() == 1 || at % 2 == 0 {
                survive(FailAt::once(call, moment), &format!("call {call} fails once, {moment:?}"));
            }
            if share() == 1 || at % 2 == 1 {
                survive(FailAt::from(call, moment), &format!("the storage is lost at call {call}, {moment:?}"));
            }
        }
    }
}

/// Lives a life as often as it makes storage calls: the disk is full at each of them, once or from it on.
pub(crate) fn with_a_full_disk_at_every_call(survive: impl Fn(FailAt, &str) -> u64) {
    let full = || Error::new(Code::QuotaExceeded, "the origin is full");
    let calls = survive(FailAt::once(u64::MAX, Moment::Before), "no fault");
    for call in 0..calls {
        let once = FailAt::once(call, Moment::Before).with_error(full());
        survive(once, &format!("the disk is full at call {call}"));
        let from = FailAt::from(call, Moment::Before).with_error(full());
        survive(from, &format!("the disk is full from call {call} on"));
    }
}

#[test]
fn a_call_that_fails_once_or_for_ever_anywhere_loses_nothing() {
    at_every_call(60, survive);
}

#[test]
fn a_full_disk_at_any_call_loses_nothing() {
    with_a_full_disk_at_every_call(survive);
}
