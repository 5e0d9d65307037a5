//! The outside world of an engine in this browser.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tabstore::env::Env as _;
use tabstore::wasm::env::BrowserEnv;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::wasm_bindgen_test;

/// V10: the clock can be injected, and moves only when it is told to.
#[wasm_bindgen_test]
fn v10_the_clock_is_the_devices_or_an_injected_one() {
    let env = BrowserEnv::new(None);
    assert!(env.now_ms() > 1_700_000_000_000);
    env.set_clock(5);
    assert_eq!(env.now_ms(), 5);
    assert_eq!(BrowserEnv::new(Some(-7)).now_ms(), -7);
}

#[wasm_bindgen_test]
fn randomness_is_random() {
    let env = BrowserEnv::new(None);
    let (mut first, mut second) = ([0; 32], [0; 32]);
    env.fill_random(&mut first);
    env.fill_random(&mut second);
    assert_ne!(first, second);
}

/// Background work lets clicks and messages in: a turn of the event loop lies between two of its slices, and promises,
/// however many, do not delay it.
#[wasm_bindgen_test]
async fn yielding_lets_everything_else_go_first() {
    let env = BrowserEnv::new(None);
    let order = Rc::new(RefCell::new(Vec::new()));
    let promises = Rc::clone(&order);
    env.spawn(Box::pin(async move {
        for _ in 0..5 {
            JsFuture::from(js_sys::Promise::resolve(&JsValue::NULL)).await.unwrap();
        }
        promises.borrow_mut().push("promises");
    }));
    env.yield_now().await;
    order.borrow_mut().push("turn");
    assert_eq!(*order.borrow(), ["promises", "turn"]);

    // Many waiters: each gets its turn, in order.
    let turns = Rc::new(Cell::new(0));
    for number in 0..10 {
        let (turn, turns) = (env.yield_now(), Rc::clone(&turns));
        env.spawn(Box::pin(async move {
            turn.await;
            assert_eq!(turns.replace(number + 1), number);
        }));
    }
    while turns.get() < 10 {
        env.yield_now().await;
    }
}
