//! The seam between the storage and the files of a platform.

use crate::error::{Code, Error, Result};
use std::future::Future;

/// An open file. Its calls return when the operating system has done them; dropping it closes the file.
///
/// # Errors
/// All calls: `QuotaExceeded` if a device is full, `Unavailable` otherwise.
pub trait File: 'static {
    /// Reads bytes from `at` on. Returns their number, which may be smaller than asked; 0 at the end of the file.
    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<usize>;

    /// Writes bytes from `at` on. Returns their number, which may be smaller than given. The file grows as needed.
    fn write_at(&self, at: u64, bytes: &[u8]) -> Result<usize>;

    /// The bytes of the file.
    fn length(&self) -> Result<u64>;

    /// Cuts the file off, or makes it longer with zeros.
    fn set_length(&self, length: u64) -> Result<()>;

    /// Waits until the device has the bytes and the length. Nobody knows what it has after a failure.
    fn flush(&self) -> Result<()>;
}

/// A folder that only this storage uses.
///
/// # Errors
/// As for [`File`].
pub trait Folder: 'static {
    /// Its files.
    type File: File;

    /// Opens a file. Creates it if it is missing. A file is opened once at a time.
    fn open(&self, name: &str) -> impl Future<Output = Result<Self::File>>;

    /// Deletes a file that is not open. It may be missing.
    fn remove(&self, name: &str) -> impl Future<Output = Result<()>>;

    /// The names of its files.
    fn list(&self) -> impl Future<Output = Result<Vec<String>>>;

    /// Waits until the device has the names of all files that were opened before.
    fn flush_names(&self) -> Result<()>;

    /// Gives the folder back. No call follows. A file that is being opened is closed as soon as it is open.
    fn release(&self);
}

/// A folder whose files another process may have open, also one that is frozen.
///
/// # Errors
/// As for [`Folder`]; [`Folder::open`] also fails with `Busy` while another process has the file open.
pub trait SharedFolder: Folder {
    /// The bytes of a file that another process may have open; `None` if it is missing. `Busy` if it changes meanwhile.
    fn peek(&self, name: &str) -> impl Future<Output = Result<Option<Vec<u8>>>>;

    /// Whether files can be opened here. Elsewhere they can only be looked at.
    fn can_open(&self) -> bool;
}

/// The bytes of a file in memory, to be read.
pub(super) struct Image(pub(super) Vec<u8>);

impl File for Image {
    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<usize> {
        let rest = self.0.get(at as usize..).unwrap_or_default();
        let read = rest.len().min(into.len());
        if let (Some(into), Some(rest)) = (into.get_mut(..read), rest.get(..read)) {
            into.copy_from_slice(rest);
        }
        Ok(read)
    }

    fn write_at(&self, _: u64, _: &[u8]) -> Result<usize> {
        Err(Error::internal("an image is only read"))
    }

    fn length(&self) -> Result<u64> {
        Ok(self.0.len() as u64)
    }

    fn set_length(&self, _: u64) -> Result<()> {
        Err(Error::internal("an image is only read"))
    }

    fn flush(&self) -> Result<()> {
        Ok(())
    }
}

/// Reads a whole file.
///
/// # Errors
/// Errors of the file.
pub(super) fn read_whole(file: &impl File) -> Result<Image> {
    let mut bytes = vec![0; file.length()? as usize];
    read_exactly(file, 0, &mut bytes)?;
    Ok(Image(bytes))
}

/// Reads exactly these bytes.
///
/// # Errors
/// `Corrupt` if the file ends before; errors of the file.
pub(crate) fn read_exactly(file: &(impl File + ?Sized), at: u64, into: &mut [u8]) -> Result<()> {
    let mut done = 0;
    while let Some(rest) = into.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match file.read_at(at + done as u64, rest)? {
            0 => return Err(Error::corrupt("a stored file", "it ends too early")),
            read => done += read,
        }
    }
    Ok(())
}

/// Writes all bytes.
///
/// # Errors
/// Errors of the file; `QuotaExceeded` if it takes no more bytes. A part may be written then.
pub(crate) fn write_all(file: &(impl File + ?Sized), at: u64, bytes: &[u8]) -> Result<()> {
    let mut done = 0;
    while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
        match file.write_at(at + done as u64, rest)? {
            // So Firefox says that the origin is full.
            0 => return Err(Error::new(Code::QuotaExceeded, "a file takes no more bytes")),
            written => done += written,
        }
    }
    Ok(())
}
