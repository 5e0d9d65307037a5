//! The files of a host: all of an instance in Node, and its log in a worker of a browser.

use super::env::load;
use super::idb::IdbStorage;
use super::instances::{check_lock, parse_kind};
use crate::env::{Env, LocalFuture};
use crate::error::{Code, Error, Result};
use crate::model::InstanceKind;
use crate::modules::Module;
use crate::storage::AnyStorage;
use crate::storage::files::{File, FileStorage, Folder, LogInFiles, SharedFolder};
use js_sys::{Array, Function, Promise, Reflect, Uint8Array};
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

#[wasm_bindgen]
extern "C" {
    /// The folder of an instance, `HostFolder` of the package.
    #[derive(Clone)]
    type HostFolder;

    #[wasm_bindgen(method, catch)]
    fn open(this: &HostFolder, name: &str) -> Result<JsValue, JsValue>;

    #[wasm_bindgen(method, catch)]
    fn remove(this: &HostFolder, name: &str) -> Result<JsValue, JsValue>;

    #[wasm_bindgen(method, catch)]
    fn list(this: &HostFolder) -> Result<JsValue, JsValue>;

    #[wasm_bindgen(method, catch)]
    fn flush(this: &HostFolder) -> Result<(), JsValue>;

    #[wasm_bindgen(method)]
    fn release(this: &HostFolder);

    #[wasm_bindgen(method, catch)]
    fn peek(this: &HostFolder, name: &str) -> Result<JsValue, JsValue>;

    #[wasm_bindgen(method, getter, js_name = canOpen)]
    fn can_open(this: &HostFolder) -> bool;

    #[wasm_bindgen(method, getter)]
    fn kind(this: &HostFolder) -> Option<String>;

    #[wasm_bindgen(method, getter, js_name = isUsed)]
    fn is_used(this: &HostFolder) -> bool;

    /// An open file, `HostFile` of the package.
    type HostFile;

    #[wasm_bindgen(method, catch)]
    fn read(this: &HostFile, at: f64, into: &mut [u8]) -> Result<u32, JsValue>;

    #[wasm_bindgen(method, catch)]
    fn write(this: &HostFile, at: f64, bytes: &[u8]) -> Result<u32, JsValue>;

    #[wasm_bindgen(method, catch)]
    fn length(this: &HostFile) -> Result<f64, JsValue>;

    #[wasm_bindgen(method, catch, js_name = setLength)]
    fn set_length(this: &HostFile, length: f64) -> Result<(), JsValue>;

    #[wasm_bindgen(method, catch, js_name = flush)]
    fn flush_file(this: &HostFile) -> Result<(), JsValue>;

    #[wasm_bindgen(method)]
    fn close(this: &HostFile);
}

/// The folder of an instance in files, and what is known of the instance.
pub(super) struct OpenFolder {
    pub(super) storage: AnyStorage,
    /// The kind of the instance, as stored with its files.
    pub(super) kind: Option<InstanceKind>,
    /// Whether an engine has opened the instance before, so there are data.
    pub(super) is_used: bool,
}

/// Opens the storage in the folder that `folder` opens. It must be called once at a time.
pub(super) async fn open(folder: &Function, salvages: bool) -> Result<OpenFolder> {
    load(Module::Files).await?;
    open_folder(folder.clone(), salvages).await
}

/// With what drops its future, a gate of [`Module::Files`].
#[inline(never)]
fn open_folder(folder: Function, salvages: bool) -> LocalFuture<Result<OpenFolder>> {
    Box::pin(async move {
        let folder = resolved(folder.call0(&JsValue::UNDEFINED)).await?.unchecked_into::<HostFolder>();
        let (kind, is_used) = (folder.kind(), folder.is_used());
        let kind = match kind.map(|kind| parse_kind(&kind, "the folder of the instance")).transpose() {
            // A salvage reads blocks of every kind.
            Err(_) if salvages => None,
            kind => kind?,
        };
        let folder = FilesOfHost(folder);
        let storage = if salvages { FileStorage::salvage(folder).await? } else { FileStorage::open(folder).await? };
        Ok(OpenFolder { storage: storage.into(), kind, is_used })
    })
}

/// Opens the log of an instance, in `storage` and in the folder that `folder` gives. The caller has the instance's lock.
pub(super) async fn open_log(
    folder: &Function,
    storage: IdbStorage,
    env: Rc<dyn Env>,
    granted: &Promise,
    salvages: bool,
) -> Result<AnyStorage> {
    load(Module::Files).await?;
    open_log_folder(folder.clone(), storage, env, granted.clone(), salvages).await
}

/// With what drops its future, a gate of [`Module::Files`].
#[inline(never)]
fn open_log_folder(
    folder: Function,
    storage: IdbStorage,
    env: Rc<dyn Env>,
    granted: Promise,
    salvages: bool,
) -> LocalFuture<Result<AnyStorage>> {
    Box::pin(async move {
        let folder = FilesOfHost(resolved(folder.call0(&JsValue::UNDEFINED)).await?.unchecked_into::<HostFolder>());
        let log = if salvages {
            LogInFiles::salvage(storage, folder, env).await?
        } else {
            let check = move || -> LocalFuture<Result<()>> {
                let granted = granted.clone();
                Box::pin(async move { check_lock(&granted).await })
            };
            LogInFiles::open(storage, folder, env, Rc::new(check)).await?
        };
        Ok(log.into())
    })
}

/// The folder of a host.
pub(super) struct FilesOfHost(HostFolder);

/// A file of a host, closed when it is dropped.
pub(super) struct FileOfHost(HostFile);

/// The text of a member of an error.
fn text(error: &JsValue, name: &str) -> Option<String> {
    Reflect::get(error, &name.into()).ok().and_then(|value| value.as_string())
}

/// The error of a host, which says by its code what is the matter. Those of a browser have a name instead.
fn failed(error: &JsValue) -> Error {
    let code = match text(error, "code").or_else(|| text(error, "name")).as_deref() {
        Some("QuotaExceeded" | "QuotaExceededError") => Code::QuotaExceeded,
        Some("Busy" | "NoModificationAllowedError" | "NotReadableError") => Code::Busy,
        Some("OTSObjectNotExist") => Code::ObjectNotExist,
        Some("Corrupt") => Code::Corrupt,
        _ => Code::Unavailable,
    };
    Error::new(code, text(error, "message").unwrap_or_default())
}

/// The value of a promise, or of a call that gave none. With what drops its future, a gate of [`Module::Files`].
async fn resolved(value: Result<JsValue, JsValue>) -> Result<JsValue> {
    match value {
        Ok(value) => JsFuture::from(Promise::resolve(&value)).await,
        thrown => thrown,
    }
    .map_err(|error| failed(&error))
}

#[expect(clippy::cast_precision_loss, reason = "files are shorter than 2^53 bytes")]
fn number(value: u64) -> f64 {
    value as f64
}

impl Folder for FilesOfHost {
    type File = FileOfHost;

    async fn open(&self, name: &str) -> Result<FileOfHost> {
        Ok(FileOfHost(resolved(self.0.open(name)).await?.unchecked_into()))
    }

    async fn remove(&self, name: &str) -> Result<()> {
        resolved(self.0.remove(name)).await.map(drop)
    }

    async fn list(&self) -> Result<Vec<String>> {
        let names = resolved(self.0.list()).await?;
        Ok(Array::from(&names).iter().filter_map(|name| name.as_string()).collect())
    }

    fn flush_names(&self) -> Result<()> {
        self.0.flush().map_err(|error| failed(&error))
    }

    fn release(&self) {
        self.0.release();
    }
}

impl SharedFolder for FilesOfHost {
    async fn peek(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let Ok(peeking) = self.0.peek(name) else { return Ok(None) };
        match JsFuture::from(Promise::resolve(&peeking)).await {
            Ok(bytes) => Ok(bytes.dyn_ref::<Uint8Array>().map(Uint8Array::to_vec)),
            Err(error) if text(&error, "name").as_deref() == Some("NotFoundError") => Ok(None),
            Err(error) => Err(failed(&error)),
        }
    }

    fn can_open(&self) -> bool {
        self.0.can_open()
    }
}

impl File for FileOfHost {
    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<usize> {
        self.0.read(number(at), into).map(|read| read as usize).map_err(|error| failed(&error))
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> Result<usize> {
        self.0.write(number(at), bytes).map(|written| written as usize).map_err(|error| failed(&error))
    }

    fn length(&self) -> Result<u64> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of bytes")]
        self.0.length().map(|length| length as u64).map_err(|error| failed(&error))
    }

    fn set_length(&self, length: u64) -> Result<()> {
        self.0.set_length(number(length)).map_err(|error| failed(&error))
    }

    fn flush(&self) -> Result<()> {
        self.0.flush_file().map_err(|error| failed(&error))
    }
}

impl Drop for FileOfHost {
    fn drop(&mut self) {
        self.0.close();
    }
}
