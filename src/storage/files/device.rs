//! A simulated device with one folder, for tests: processes die, power is lost, calls fail, writes are partial.

use super::folder::{File, Folder, SharedFolder};
use crate::error::{Code, Error, Result};
use crate::storage::faults::yield_once;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A write is torn between sectors only.
const SECTOR: usize = 512;

/// A simulated device. Clones are the same device.
#[derive(Clone, Default)]
pub struct Device(Rc<RefCell<Content>>);

/// A number below its argument.
pub type Random<'a> = dyn FnMut(u64) -> u64 + 'a;

#[derive(Clone, Default)]
struct Content {
    /// The names as processes see them, and as a loss of power leaves them.
    names: BTreeMap<String, usize>,
    flushed_names: BTreeMap<String, usize>,
    /// The changes between the two; `None` deletes.
    pending_names: Vec<(String, Option<usize>)>,
    files: Vec<Data>,
    open: Vec<usize>,
    openings: u64,
    room: Option<u64>,
    /// The calls that change something until one fails, and what it fails with. Later ones fail too if it lasts.
    failing: Option<Failing>,
    changes: u64,
    /// The most bytes of one write or read.
    most: Option<usize>,
    /// What happens while a file tells its length.
    on_length: Option<Rc<dyn Fn()>>,
    opens: Opens,
}

/// When a file is open that somebody opens.
#[derive(Clone, Copy, Default)]
pub enum Opens {
    /// At once.
    #[default]
    AtOnce,
    /// After others had a turn.
    Later,
    /// Never.
    Never,
}

#[derive(Clone, Copy)]
struct Failing {
    left: u64,
    code: Code,
    lasts: bool,
}

#[derive(Clone, Default)]
struct Data {
    /// As processes see it.
    bytes: Vec<u8>,
    /// As a loss of power leaves it, if nothing of `pending` has come to the device.
    flushed: Vec<u8>,
    pending: Vec<Pending>,
}

#[derive(Clone)]
enum Pending {
    Write(usize, Vec<u8>),
    Length(usize),
}

/// Changes the bytes of a file as a write does.
fn write(bytes: &mut Vec<u8>, at: usize, given: &[u8]) {
    if bytes.len() < at + given.len() {
        bytes.resize(at + given.len(), 0);
    }
    bytes[at..at + given.len()].copy_from_slice(given);
}

impl Content {
    /// Counts a call that changes something, and fails it if it is its turn.
    fn change(&mut self) -> Result<()> {
        self.changes += 1;
        let Some(failing) = &mut self.failing else { return Ok(()) };
        if failing.left > 0 {
            failing.left -= 1;
            return Ok(());
        }
        let code = failing.code;
        if !failing.lasts {
            self.failing = None;
        }
        Err(Error::new(code, "the device was told to fail"))
    }

    fn used(&self) -> u64 {
        self.names.values().map(|file| self.files[*file].bytes.len() as u64).sum()
    }
}

impl Device {
    /// The folder of the device. Nobody else may have it open.
    #[must_use]
    pub fn folder(&self) -> DeviceFolder {
        DeviceFolder { device: self.clone(), can_open: true }
    }

    /// The same, for a thread that can open no file, and only look at them.
    #[must_use]
    pub fn folder_to_look_at(&self) -> DeviceFolder {
        DeviceFolder { device: self.clone(), can_open: false }
    }

    /// The device after the death of all processes.
    #[must_use]
    pub fn image(&self) -> Self {
        let content = Content { open: Vec::new(), failing: None, ..self.0.borrow().clone() };
        Self(Rc::new(RefCell::new(content)))
    }

    /// The device after a loss of power. What was not flushed is there in any combination: changes of files, of which each
    /// sector may be there or not, and of names.
    #[must_use]
    pub fn power_cut(&self, random: &mut Random<'_>) -> Self {
        let image = self.image();
        {
            let mut content = image.0.borrow_mut();
            // Some devices write nearly everything before the power is gone, some nearly nothing.
            let most = random(5);
            let comes = |random: &mut Random<'_>| random(4) < most;
            for data in &mut content.files {
                let mut bytes = std::mem::take(&mut data.flushed);
                for pending in std::mem::take(&mut data.pending) {
                    match pending {
                        Pending::Write(at, given) => {
                            let mut start = 0;
                            while start < given.len() {
                                let end = ((at + start) / SECTOR * SECTOR + SECTOR - at).min(given.len());
                                if comes(random) {
                                    write(&mut bytes, at + start, &given[start..end]);
                                }
                                start = end;
                            }
                        }
                        Pending::Length(length) => {
                            if comes(random) {
                                bytes.resize(length, 0);
                            }
                        }
                    }
                }
                data.bytes.clone_from(&bytes);
                data.flushed = bytes;
            }
            let mut names = std::mem::take(&mut content.flushed_names);
            for (name, file) in std::mem::take(&mut content.pending_names) {
                if comes(random) {
                    match file {
                        Some(file) => names.insert(name, file),
                        None => names.remove(&name),
                    };
                }
            }
            content.names.clone_from(&names);
            content.flushed_names = names;
        }
        image
    }

    /// Lets a call that changes something fail with this code, after so many that do not; once, or from then on.
    pub fn fail_after(&self, left: u64, code: Code, lasts: bool) {
        self.0.borrow_mut().failing = Some(Failing { left, code, lasts });
    }

    /// Ends [`Device::fail_after`]. Returns whether the failure is still to come.
    pub fn heal(&self) -> bool {
        self.0.borrow_mut().failing.take().is_some_and(|failing| !failing.lasts || failing.left > 0)
    }

    /// The number of calls that have changed something.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.0.borrow().changes
    }

    /// Sets what happens while a file tells its length.
    pub fn set_on_length(&self, on_length: impl Fn() + 'static) {
        self.0.borrow_mut().on_length = Some(Rc::new(on_length));
    }

    /// How often files were opened.
    pub fn openings(&self) -> u64 {
        self.0.borrow().openings
    }

    /// Sets when files are open.
    pub fn set_opens(&self, opens: Opens) {
        self.0.borrow_mut().opens = opens;
    }

    /// Reads and writes take at most so many bytes at once.
    pub fn set_most(&self, most: usize) {
        self.0.borrow_mut().most = Some(most);
    }

    /// Sets or lifts the room for all files.
    pub fn set_room(&self, room: Option<u64>) {
        self.0.borrow_mut().room = room;
    }

    /// The bytes of all files.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.0.borrow().used()
    }

    /// The names and bytes of all files.
    #[must_use]
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        let content = self.0.borrow();
        content.names.iter().map(|(name, file)| (name.clone(), content.files[*file].bytes.clone())).collect()
    }

    /// Changes the bytes of a file, as damage does.
    pub fn damage(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut content = self.0.borrow_mut();
        let file = content.names[name];
        let data = &mut content.files[file];
        change(&mut data.bytes);
        data.flushed.clone_from(&data.bytes);
        data.pending.clear();
    }
}

/// The folder of a [`Device`].
pub struct DeviceFolder {
    device: Device,
    can_open: bool,
}

/// A file of a [`Device`].
pub struct DeviceFile {
    device: Device,
    file: usize,
}

impl Folder for DeviceFolder {
    type File = DeviceFile;

    async fn open(&self, name: &str) -> Result<DeviceFile> {
        let opens = self.device.0.borrow().opens;
        match opens {
            Opens::AtOnce => {}
            Opens::Later => yield_once().await,
            Opens::Never => std::future::pending().await,
        }
        assert!(self.can_open, "{name} can only be looked at here");
        let mut content = self.device.0.borrow_mut();
        let file = if let Some(file) = content.names.get(name) {
            *file
        } else {
            content.change()?;
            let file = content.files.len();
            content.files.push(Data::default());
            content.names.insert(name.to_owned(), file);
            content.pending_names.push((name.to_owned(), Some(file)));
            file
        };
        if content.open.contains(&file) {
            return Err(Error::new(Code::Busy, format!("{name} is open already")));
        }
        content.open.push(file);
        content.openings += 1;
        Ok(DeviceFile { device: self.device.clone(), file })
    }

    async fn remove(&self, name: &str) -> Result<()> {
        let mut content = self.device.0.borrow_mut();
        content.change()?;
        if let Some(file) = content.names.remove(name) {
            if content.open.contains(&file) {
                content.names.insert(name.to_owned(), file);
                return Err(Error::new(Code::Busy, format!("{name} is open")));
            }
            content.pending_names.push((name.to_owned(), None));
        }
        Ok(())
    }

    async fn list(&self) -> Result<Vec<String>> {
        Ok(self.device.0.borrow().names.keys().cloned().collect())
    }

    fn flush_names(&self) -> Result<()> {
        let mut content = self.device.0.borrow_mut();
        content.change()?;
        content.pending_names.clear();
        content.flushed_names = content.names.clone();
        Ok(())
    }

    fn release(&self) {}
}

impl SharedFolder for DeviceFolder {
    async fn peek(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let content = self.device.0.borrow();
        Ok(content.names.get(name).map(|file| content.files[*file].bytes.clone()))
    }

    fn can_open(&self) -> bool {
        self.can_open
    }
}

impl Drop for DeviceFile {
    fn drop(&mut self) {
        let mut content = self.device.0.borrow_mut();
        let file = self.file;
        content.open.retain(|other| *other != file);
    }
}

impl File for DeviceFile {
    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<usize> {
        let content = self.device.0.borrow();
        let rest = content.files[self.file].bytes.get(at as usize..).unwrap_or_default();
        let read = rest.len().min(into.len()).min(content.most.unwrap_or(usize::MAX));
        into[..read].copy_from_slice(&rest[..read]);
        Ok(read)
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> Result<usize> {
        let mut content = self.device.0.borrow_mut();
        let failed = content.change();
        let at = at as usize;
        // A write that fails may have written a part.
        let mut given = bytes.len().min(content.most.unwrap_or(usize::MAX));
        if failed.is_err() {
            given /= 2;
        }
        let growth = (at + given).saturating_sub(content.files[self.file].bytes.len()) as u64;
        if content.room.is_some_and(|room| content.used() + growth > room) {
            return Err(Error::new(Code::QuotaExceeded, "the device is full"));
        }
        let data = &mut content.files[self.file];
        write(&mut data.bytes, at, &bytes[..given]);
        data.pending.push(Pending::Write(at, bytes[..given].to_vec()));
        failed.map(|()| given)
    }

    fn length(&self) -> Result<u64> {
        let on_length = self.device.0.borrow().on_length.clone();
        if let Some(on_length) = on_length {
            on_length();
        }
        Ok(self.device.0.borrow().files[self.file].bytes.len() as u64)
    }

    fn set_length(&self, length: u64) -> Result<()> {
        let mut content = self.device.0.borrow_mut();
        content.change()?;
        let data = &mut content.files[self.file];
        data.bytes.resize(length as usize, 0);
        data.pending.push(Pending::Length(length as usize));
        Ok(())
    }

    fn flush(&self) -> Result<()> {
        let mut content = self.device.0.borrow_mut();
        content.change()?;
        let Data { flushed, pending, .. } = &mut content.files[self.file];
        for change in pending.drain(..) {
            match change {
                Pending::Write(at, given) => write(flushed, at, &given),
                Pending::Length(length) => flushed.resize(length, 0),
            }
        }
        Ok(())
    }
}
