//! The engine, for JavaScript: frames in, frames out, and the operations that are not about rows.

use super::admin::{self, Arguments, Known, OpenOptions};
use super::env::BrowserEnv;
use super::error::{promise, to_js};
use super::idb::catalogue::not_there;
use super::{AnyStorage, instances};
use crate::engine::{ClockMode, Engine as Core, Options};
use crate::error::{Code, Error, Result};
use crate::model::{InstanceKind, InstanceName, TableName};
use crate::session::Session;
use crate::storage::MemoryStorage;
use crate::tablestore::Instance;
use js_sys::{Function, Promise, Uint8Array};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use wasm_bindgen::prelude::*;

/// An open instance and its one client.
///
/// Frames pass by one buffer each way, which JavaScript finds in the memory: what the generated glue does with a list of
/// bytes (a buffer of its own for each, results as arrays) costs as much as reading a row.
#[wasm_bindgen]
pub struct Engine {
    inner: Rc<Inner>,
    /// The frame that comes.
    room: Cell<Vec<u8>>,
    /// The responses that went last.
    answer: RefCell<Vec<u8>>,
    failure: Cell<Option<Error>>,
}

/// What operations that take a while hold on to.
struct Inner {
    session: Session<AnyStorage>,
    instance: Rc<Instance<AnyStorage>>,
    env: Rc<BrowserEnv>,
    kind: InstanceKind,
    options: Options,
}

#[wasm_bindgen]
impl Engine {
    /// Opens an instance. `on_responses` gets the frames of responses that [`Engine::run`] did not give. `granted` is a
    /// promise of `{ held }`, which tells whether the instance's lock is the caller's, also later; nothing of the
    /// instance is written before. `on_end` gets the error that every call fails with from then on, when the data is
    /// deleted behind the engine's back. `on_trouble` gets what is wrong and ends nothing, and `null` when that is over.
    ///
    /// # Errors
    /// `{ code, status, retryable, message, hint }`: a wrong name or option, `OTSObjectNotExist`, `OTSQuotaExhausted`,
    /// `Unavailable`, `QuotaExceeded`, `Corrupt`; `Busy` without the lock.
    pub fn open(
        options: JsValue,
        on_responses: Function,
        granted: Promise,
        on_end: Function,
        on_trouble: Function,
    ) -> Promise {
        promise(async move {
            let options: OpenOptions = Arguments::new(options).read()?;
            let deliver = move |frame: Vec<u8>| {
                // What the client's code throws is the client's trouble; it must not end the engine's task.
                let _ = on_responses.call1(&JsValue::UNDEFINED, &Uint8Array::from(&frame[..]));
            };
            let inner = Rc::new(Inner::open(options, deliver, granted, on_end).await?);
            inner.instance.on_trouble(move |error| {
                drop(on_trouble.call1(&JsValue::UNDEFINED, &error.map_or(JsValue::NULL, to_js)));
            });
            Ok(Self { inner, room: Cell::default(), answer: RefCell::default(), failure: Cell::default() }.into())
        })
    }

    /// Makes room for a request frame of so many bytes. Gives where it goes.
    pub fn room(&self, bytes: usize) -> *mut u8 {
        let mut room = self.inner.session.buffer(bytes);
        let at = room.as_mut_ptr();
        self.room.set(room);
        at
    }

    /// Starts the requests of the frame in the room. Gives the length of the frame of those responses that are ready at
    /// once, 0 if there are none, -1 when it failed: then [`Engine::failure`] says why.
    pub fn run(&self) -> i32 {
        match self.inner.session.submit(self.room.take()) {
            Ok(ready) => {
                let ready = ready.unwrap_or_default();
                let length = i32::try_from(ready.len()).unwrap_or(i32::MAX);
                self.inner.session.reuse(self.answer.replace(ready));
                length
            }
            Err(error) => {
                self.failure.set(Some(error));
                -1
            }
        }
    }

    /// Where the responses are that [`Engine::run`] gave, until it runs again.
    pub fn answer(&self) -> *const u8 {
        self.answer.borrow().as_ptr()
    }

    /// Why [`Engine::run`] failed: `OTSParameterInvalid` when the bytes are no frame.
    pub fn failure(&self) -> JsValue {
        self.failure.take().map_or(JsValue::UNDEFINED, |error| to_js(&error))
    }

    /// Runs the operation called `op`; gives a promise of its answer.
    pub fn call(&self, op: String, arguments: JsValue) -> Promise {
        // The promise holds on to what it needs, so that this object stays free for other calls.
        let inner = Rc::clone(&self.inner);
        promise(async move { inner.call(&op, &Arguments::new(arguments)).await })
    }

    /// Closes the instance; gives a promise.
    pub fn close(&self) -> Promise {
        let inner = Rc::clone(&self.inner);
        promise(async move {
            inner.instance.close().await;
            Ok(JsValue::UNDEFINED)
        })
    }

    /// Moves an injected clock at once, before the next request.
    ///
    /// # Errors
    /// `OTSParameterInvalid` when the instance was opened without one.
    #[wasm_bindgen(js_name = setClock)]
    pub fn set_clock(&self, now: f64) -> Result<(), JsValue> {
        #[expect(clippy::cast_possible_truncation, reason = "the package gives a safe integer")]
        self.inner.set_clock(now as i64).map_err(|error| to_js(&error))
    }

    /// The WebAssembly memory.
    pub fn memory(&self) -> JsValue {
        wasm_bindgen::memory()
    }

    /// Bytes of the WebAssembly memory. It never shrinks.
    #[wasm_bindgen(js_name = memoryBytes)]
    pub fn memory_bytes(&self) -> f64 {
        const PAGE: f64 = 65536.0;
        PAGE * f64::from(u32::try_from(core::arch::wasm32::memory_size::<0>()).unwrap_or(u32::MAX))
    }
}

impl Inner {
    async fn open(
        options: OpenOptions,
        deliver: impl Fn(Vec<u8>) + 'static,
        granted: Promise,
        on_end: Function,
    ) -> Result<Self> {
        let name = InstanceName::parse(&options.name)?;
        let env = Rc::new(BrowserEnv::new(options.clock));
        let (storage, kind) = if options.is_in_memory() {
            if !options.creates() {
                return Err(not_there(&name));
            }
            (AnyStorage::Memory(MemoryStorage::new()), options.new_instance().kind())
        } else {
            let (storage, kind) = instances::open(&name, &options, &*env, granted).await?;
            storage.on_end(move |error| drop(on_end.call1(&JsValue::UNDEFINED, &to_js(error))));
            (AnyStorage::Idb(storage), kind)
        };
        let engine_options = options.engine(kind);
        let core = Core::open(storage, Rc::clone(&env) as _, engine_options.clone()).await?;
        let instance = Instance::open(core, options.instance(kind)).await?;
        let session = Session::new(Rc::clone(&instance), Rc::clone(&env) as _, options.client(), deliver);
        Ok(Self { session, instance, env, kind, options: engine_options })
    }

    async fn call(&self, op: &str, arguments: &Arguments) -> Result<JsValue> {
        // What was asked before comes before.
        self.session.started().await;
        match op {
            "metrics" => Ok(self.metrics()),
            "setClock" => {
                self.set_clock(arguments.get("now")?)?;
                Ok(JsValue::UNDEFINED)
            }
            _ => admin::run(&self.instance, op, arguments).await,
        }
    }

    fn set_clock(&self, now: i64) -> Result<()> {
        if self.options.clock != ClockMode::Injected {
            return Err(Error::new(
                Code::ParameterInvalid,
                "The clock cannot be set: the instance was opened without the option 'clock'.",
            ));
        }
        // What was asked before is done at the time before.
        self.session.start_held();
        self.env.set_clock(now);
        Ok(())
    }

    fn metrics(&self) -> JsValue {
        let instance = &self.instance;
        let tree = |name: &str| TableName::parse(name).and_then(|name| instance.tree_of(name)).ok();
        let names = instance.list_table();
        let table_of =
            |number: u32| names.iter().map(String::as_str).find(|name| tree(name).is_some_and(|tree| tree.0 == number));
        let known = Known {
            kind: self.kind,
            options: &self.options,
            now: instance.now_ms(),
            table_of: &table_of,
            activity: &self.session.activity(),
            units: instance.units_used(),
        };
        admin::metrics(&instance.metrics(), &known).to_js()
    }
}

/// Shows panics in the console by their message, not as `unreachable`.
#[wasm_bindgen(start)]
fn start() {
    console_error_panic_hook::set_once();
}
