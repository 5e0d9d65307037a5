//! An open instance: how it is opened, and its administrative operations.

use super::admin::{self, Arguments, Known, OpenOptions};
use super::env::{BrowserEnv, load};
use super::error::to_js;
use super::idb;
use super::idb::catalogue::{self, not_there};
use super::{files, instances};
use crate::engine::{ClockMode, Engine as Core, Options, Origin};
use crate::env::Env as _;
use crate::error::{Code, Error, Result};
use crate::format::columns::Form;
use crate::model::{InstanceKind, InstanceName, TableName};
use crate::modules::Module;
use crate::session::Sessions;
use crate::session::codec::contract::admin::{Administration, Engine as OfEngine};
use crate::storage::{AnyStorage, MemoryStorage, Storage as _};
use crate::tablestore::Instance;
use js_sys::{Function, Promise};
use std::cell::Cell;
use std::rc::Rc;
use wasm_bindgen::prelude::*;

/// The parts of an open instance. Operations in progress keep them.
pub(super) struct Opened {
    pub(super) sessions: Sessions,
    pub(super) instance: Rc<Instance>,
    /// The storage, to be cut. In memory there is nothing to cut.
    pub(super) storage: Option<idb::IdbStorage>,
    env: Rc<BrowserEnv>,
    kind: InstanceKind,
    options: Options,
    /// Whether this opening was the instance's first one.
    pub(super) is_first: bool,
    /// The number of operations that wait for [`Module::Occasional`]. Later operations wait too, so they keep their order.
    loading: Cell<usize>,
}

/// Finds the place of the log of an instance in IndexedDB.
async fn open_log(
    storage: idb::IdbStorage,
    options: &OpenOptions,
    folder: &Function,
    env: &Rc<BrowserEnv>,
    granted: &Promise,
) -> Result<AnyStorage> {
    let has_files = options.keeps_log_in_files() && !options.salvages() && load(Module::Files).await.is_ok();
    if !has_files && !storage.has_log_elsewhere().await? {
        return Ok(storage.into());
    }
    files::open_log(folder, storage, Rc::clone(env) as _, granted, options.salvages()).await
}

impl Opened {
    pub(super) async fn new(
        options: OpenOptions,
        granted: Promise,
        existed: &Function,
        folder: &Function,
        on_end: Function,
    ) -> Result<Self> {
        let name = InstanceName::parse(&options.name)?;
        let env = Rc::new(BrowserEnv::new(options.clock));
        let mut row = None;
        // The storage, to be closed if the engine does not open.
        let mut closable = None;
        let mut is_used = false;
        let (storage, kind) = if options.is_in_memory() {
            if !options.creates() {
                return Err(not_there(&name));
            }
            env.load(Module::Occasional).await?;
            (MemoryStorage::new().into(), options.new_instance().kind())
        } else if options.is_in_files() {
            let folder = files::open(folder, options.salvages()).await?;
            is_used = folder.is_used;
            (folder.storage, folder.kind.unwrap_or(options.new_instance().kind()))
        } else {
            if options.keeps_log_in_files() {
                // If this fails, the opening says so.
                env.spawn(Box::pin(async { drop(load(Module::Files).await) }));
            }
            let (storage, kind, found) = instances::open(&name, &options, &*env, &granted, existed).await?;
            row = Some(found);
            closable = Some(storage.clone());
            storage.on_end(move |error| drop(on_end.call1(&JsValue::UNDEFINED, &to_js(error))));
            match open_log(storage.clone(), &options, folder, &env, &granted).await {
                Ok(storage) => (storage, kind),
                Err(error) => {
                    storage.close().await;
                    return Err(error);
                }
            }
        };
        let mut engine_options = options.engine(kind);
        engine_options.expects_data = row.as_ref().map_or(is_used, |row| row.opened) && !options.recreates();
        if engine_options.form == Form::Dense {
            // Without it, blocks are written in the fast form, which every opening reads.
            let _ = env.load(Module::Dense).await;
        }
        if engine_options.salvage {
            env.load(Module::Occasional).await?;
        }
        // Loading may have taken long.
        instances::check_lock(&granted).await?;
        let core = match Core::open(storage, Rc::clone(&env) as _, engine_options.clone()).await {
            Ok(core) => core,
            Err(error) => {
                if let Some(storage) = closable {
                    storage.close().await;
                }
                return Err(if error.code() == Code::DataLost { instances::lost(&name) } else { error });
            }
        };
        let row = row.filter(|row| !row.opened && !engine_options.salvage);
        let is_first = row.is_some();
        if let Some(row) = row {
            // Now its storage has data. If this cannot be recorded, the next opening tries again.
            let _ = catalogue::set_opened(&name, &row, true).await;
        }
        let instance = Instance::open(core, options.instance(kind)).await?;
        let sessions = Sessions::new(Rc::clone(&instance), Rc::clone(&env) as _);
        Ok(Self {
            sessions,
            instance,
            storage: closable,
            env,
            kind,
            options: engine_options,
            is_first,
            loading: Cell::default(),
        })
    }

    /// Runs an operation, for a client that may have asked another engine for it before if it has an `origin`.
    pub(super) async fn call(
        &self,
        op: Administration,
        arguments: &Arguments,
        origin: Option<Origin>,
    ) -> Result<JsValue> {
        let work: admin::Boxed<'_> = match op {
            Administration::Engine(OfEngine::SetClock) => {
                self.set_clock(arguments.get("now")?, 0)?;
                return Ok(JsValue::UNDEFINED);
            }
            Administration::Engine(OfEngine::Metrics) => {
                self.env.load(Module::Occasional).await?;
                return Ok(self.metrics());
            }
            Administration::Answers(op) => {
                self.env.load(Module::Answers).await?;
                return admin::run_answers(&self.instance, op, arguments).await;
            }
            Administration::Streams(op) => {
                self.env.load(Module::Streams).await?;
                return admin::run_streams(&self.instance, op, arguments).await;
            }
            Administration::Core(op) => Box::pin(self.run(op, arguments)),
            Administration::Occasional(op) => Box::pin(self.run_occasional(op, arguments)),
            Administration::Inspection(op) => Box::pin(self.run_inspection(op, arguments)),
        };
        // The module is there: it has read what the client asked before.
        let is_known = origin.is_some_and(|origin| self.instance.clients().has_answers(origin.client));
        if is_known { admin::run_once(&self.instance, op, origin, work) } else { work }.await
    }

    async fn run(&self, op: admin::Core, arguments: &Arguments) -> Result<JsValue> {
        self.wait().await;
        admin::run(&self.instance, op, arguments).await
    }

    async fn run_occasional(&self, op: admin::Occasional, arguments: &Arguments) -> Result<JsValue> {
        self.load_occasional().await?;
        admin::run_occasional(&self.instance, op, arguments).await
    }

    /// A caller of [`Module::Inspection`].
    async fn run_inspection(&self, op: admin::Inspection, arguments: &Arguments) -> Result<JsValue> {
        self.load_occasional().await?;
        self.env.load(Module::Inspection).await?;
        admin::run_inspection(&self.instance, op, arguments).await
    }

    /// Waits for earlier operations that wait for [`Module::Occasional`].
    async fn wait(&self) {
        if self.loading.get() > 0 {
            // If this fails, the earlier operations have failed.
            let _ = self.env.load(Module::Occasional).await;
        }
    }

    async fn load_occasional(&self) -> Result<()> {
        self.wait().await;
        self.loading.set(self.loading.get() + 1);
        let loaded = self.env.load(Module::Occasional).await;
        self.loading.set(self.loading.get() - 1);
        loaded
    }

    /// Moves the clock. Earlier requests take effect at the time before, if the clock moves by more than `runs_ms`.
    pub(super) fn set_clock(&self, now: i64, runs_ms: u64) -> Result<()> {
        if self.options.clock != ClockMode::Injected {
            return Err(Error::new(
                Code::ParameterInvalid,
                "The clock cannot be set: the instance was opened without the option 'clock'.",
            ));
        }
        // This starts requests whatever memory they take.
        if now.abs_diff(self.env.now_ms()) > runs_ms {
            self.sessions.start_held();
        }
        self.env.set_clock(now);
        Ok(())
    }

    /// A gate of [`Module::Occasional`].
    #[inline(never)]
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
            activity: &self.sessions.activity(),
            sessions: self.sessions.count() as u64,
            units: instance.units_used(),
        };
        admin::metrics(&instance.metrics(), &known).to_js()
    }
}
