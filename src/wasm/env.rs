//! The environment of an engine in a browser, a worker or Node: clock, randomness, background tasks.

use crate::env::{Env, LocalFuture};
use crate::error::{Code, Error, Result};
use crate::modules::{self, Module};
use js_sys::{Function, Promise, Reflect};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::MessageChannel;

/// The device's clock or an injected one, the platform's randomness, the page's event loop.
pub struct BrowserEnv {
    /// The injected clock, if there is one (V10).
    clock: Cell<Option<i64>>,
    turns: Turns,
}

impl BrowserEnv {
    /// With the device's clock, or with one that stands at `clock` until it is set.
    #[must_use]
    pub fn new(clock: Option<i64>) -> Self {
        Self { clock: Cell::new(clock), turns: Turns::default() }
    }

    /// Moves the injected clock.
    pub fn set_clock(&self, now_ms: i64) {
        self.clock.set(Some(now_ms));
    }
}

/// The browser's clock that only goes forward, in the unit of [`Env::ticks_us`].
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "milliseconds since the page began")]
pub(super) fn ticks_us(ms: f64) -> u64 {
    (ms * 1000.0) as u64
}

impl Env for BrowserEnv {
    fn now_ms(&self) -> i64 {
        #[expect(clippy::cast_possible_truncation, reason = "whole milliseconds, far below 2^63")]
        #[expect(clippy::disallowed_methods, reason = "this is the place where the engine's time comes from")]
        self.clock.get().unwrap_or_else(|| js_sys::Date::now() as i64)
    }

    fn ticks_us(&self) -> u64 {
        ticks_us(performance_now())
    }

    fn fill_random(&self, out: &mut [u8]) {
        #[expect(clippy::disallowed_methods, reason = "this is the place where the engine's randomness comes from")]
        let filled = getrandom::fill(out).is_ok();
        assert!(filled, "every platform that runs wasm has a source of randomness");
    }

    fn spawn(&self, task: LocalFuture<()>) {
        wasm_bindgen_futures::spawn_local(task);
    }

    fn yield_now(&self) -> LocalFuture<()> {
        Box::pin(self.turns.next())
    }

    fn sleep(&self, ms: u32) -> LocalFuture<()> {
        sleep(ms)
    }

    fn has(&self, module: Module) -> bool {
        modules::is_loaded(module)
    }

    fn load(&self, module: Module) -> LocalFuture<Result<()>> {
        Box::pin(load(module))
    }
}

thread_local! {
    /// Loads a module by its name, and returns a promise. All engines of this thread share the code.
    static LOADER: RefCell<Option<Function>> = const { RefCell::new(None) };
}

/// Sets the function that loads a module of the code by its name, and returns a promise. Without it, all code is there.
#[wasm_bindgen(js_name = setLoader)]
pub fn set_loader(load: Function) {
    modules::expect_none();
    LOADER.replace(Some(load));
}

/// Loads the code of a module, unless it is there.
pub(super) async fn load(module: Module) -> Result<()> {
    if modules::is_loaded(module) {
        return Ok(());
    }
    let loading =
        LOADER.with_borrow(|loader| loader.as_ref().map(|load| load.call1(&JsValue::UNDEFINED, &module.name().into())));
    let loaded = match loading.unwrap_or(Ok(JsValue::UNDEFINED)) {
        Ok(promise) => JsFuture::from(Promise::resolve(&promise)).await,
        thrown => thrown,
    };
    match loaded {
        Ok(_) => {
            modules::set_loaded(module);
            Ok(())
        }
        Err(why) => {
            let why = Reflect::get(&why, &"message".into()).ok().and_then(|text| text.as_string()).unwrap_or_default();
            Err(Error::new(Code::Unavailable, why))
        }
    }
}

/// Resolves after this many milliseconds.
pub(super) fn sleep(ms: u32) -> LocalFuture<()> {
    let me: Waiting = Rc::default();
    let timer = Timer::new(ms, Rc::clone(&me));
    Box::pin(async move {
        wait(me).await;
        drop(timer);
    })
}

#[wasm_bindgen]
extern "C" {
    /// Exists in every page, every worker and Node.
    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    fn performance_now() -> f64;

    /// Exists in Node, but not in browsers.
    #[wasm_bindgen(js_name = setImmediate, catch)]
    fn set_immediate(callback: &JsValue) -> std::result::Result<JsValue, JsValue>;

    #[wasm_bindgen(js_name = setTimeout)]
    fn set_timeout(callback: &JsValue, ms: u32) -> JsValue;

    #[wasm_bindgen(js_name = clearTimeout)]
    fn clear_timeout(timer: &JsValue);
}

/// A timer, which is cancelled when it is dropped.
struct Timer {
    id: JsValue,
    _callback: Closure<dyn FnMut()>,
}

impl Timer {
    fn new(ms: u32, waiting: Waiting) -> Self {
        let callback = Closure::<dyn FnMut()>::new(move || wake(&waiting));
        let id = set_timeout(callback.as_ref(), ms);
        // In Node, a timer would keep the process alive. In browsers `id` is a number.
        if let Ok(unref) = Reflect::get(&id, &"unref".into())
            && let Some(unref) = unref.dyn_ref::<Function>()
        {
            let _ = unref.call0(&id);
        }
        Self { id, _callback: callback }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        clear_timeout(&self.id);
    }
}

/// Turns of the event loop. Callbacks of a promise run before any message, timer or click, and browsers slow timers
/// down to 4 ms. So the engine sends itself a message.
#[derive(Default)]
struct Turns {
    bell: RefCell<Option<Bell>>,
    waiting: Rc<RefCell<VecDeque<Waiting>>>,
}

/// A waiter for the next turn.
type Waiting = Rc<RefCell<(bool, Option<Waker>)>>;

/// A way to be called in the next turn.
enum Bell {
    Channel(
        MessageChannel,
        #[expect(dead_code, reason = "the channel's listener lives as long as it")] Closure<dyn FnMut()>,
    ),
    /// In Node, where an open channel would keep the process alive.
    Immediate(Closure<dyn FnMut()>),
}

impl Turns {
    fn next(&self) -> impl Future<Output = ()> + 'static {
        let me: Waiting = Rc::default();
        self.waiting.borrow_mut().push_back(Rc::clone(&me));
        self.ring();
        wait(me)
    }

    fn ring(&self) {
        let mut bell = self.bell.borrow_mut();
        let rung = match bell.get_or_insert_with(|| Bell::new(&self.waiting)) {
            Bell::Channel(channel, _) => channel.port2().post_message(&JsValue::NULL),
            Bell::Immediate(callback) => set_immediate(callback.as_ref()).map(drop),
        };
        // Without an event loop there is no other work to yield to.
        if rung.is_err() {
            wake_next(&self.waiting);
        }
    }
}

impl Bell {
    fn new(waiting: &Rc<RefCell<VecDeque<Waiting>>>) -> Self {
        let waiting = Rc::clone(waiting);
        let callback = Closure::<dyn FnMut()>::new(move || wake_next(&waiting));
        let in_node = Reflect::has(&js_sys::global(), &"setImmediate".into()).unwrap_or(false);
        if !in_node && let Ok(channel) = MessageChannel::new() {
            channel.port1().set_onmessage(Some(callback.as_ref().unchecked_ref()));
            return Self::Channel(channel, callback);
        }
        Self::Immediate(callback)
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        if let Self::Channel(channel, _) = self {
            channel.port1().set_onmessage(None);
            channel.port1().close();
        }
    }
}

/// Wakes one waiter for each turn, so other work of the event loop runs in between.
fn wake_next(waiting: &RefCell<VecDeque<Waiting>>) {
    if let Some(next) = waiting.borrow_mut().pop_front() {
        wake(&next);
    }
}

fn wait(me: Waiting) -> impl Future<Output = ()> + 'static {
    poll_fn(move |context| {
        let mut state = me.borrow_mut();
        if state.0 {
            return Poll::Ready(());
        }
        state.1 = Some(context.waker().clone());
        Poll::Pending
    })
}

fn wake(waiting: &Waiting) {
    let mut state = waiting.borrow_mut();
    state.0 = true;
    if let Some(waker) = state.1.take() {
        waker.wake();
    }
}
