//! The contents of a storage when a store is opened: the manifests and, behind them, the log.

use crate::engine::base::missing::Missing;
use crate::engine::base::options::Options;
use crate::engine::segment::second_cache::StoreMark;
use crate::engine::store::raw_record::RawRecord;
use crate::engine::versions::manifest::{self, Segments, StoredVersion};
use crate::engine::versions::version::Version;
use crate::error::{Code, Error, Result};
use crate::format::record::Place;
use crate::storage::{AnyStorage, LogNumber, ManifestId};
use bytes::Bytes;
use std::cell::{Cell, RefCell};

/// The contents of the storage.
pub(crate) struct Contents {
    pub(crate) opened: StoredVersion,
    /// The state that they are of.
    pub(crate) mark: StoreMark,
    pub(crate) log: Vec<RawRecord>,
}

impl Contents {
    /// Fails if a store that has been opened before has no data: each opening stores a log record at least.
    pub(crate) fn check_expected(&self, options: &Options) -> Result<()> {
        if options.expects_data && self.opened.manifests.newest.0 == 0 && self.log.is_empty() {
            return Err(Error::new(Code::DataLost, "The browser has lost the data of this instance."));
        }
        Ok(())
    }
}

/// The first log record that a version does not include.
pub(crate) fn log_start(version: &Version) -> LogNumber {
    version.log_start.max(LogNumber(1))
}

/// Reads the manifests and their log at one instant, because the current leader may still commit.
pub(crate) async fn read(storage: &AnyStorage) -> Result<Contents> {
    let (opened, mark) = (RefCell::new(StoredVersion::default()), Cell::new(StoreMark::default()));
    let from = |manifests: &[(ManifestId, Bytes)]| {
        *opened.borrow_mut() = manifest::open(manifests, Segments::default())?;
        mark.set(manifests.first().map(|(id, record)| StoreMark::new(*id, record)).unwrap_or_default());
        Ok(log_start(&opened.borrow().version))
    };
    let log = storage.load(&from).await?.log;
    let opened = opened.into_inner();
    let from = log_start(&opened.version);
    let expected = (from.0..).map(LogNumber);
    if let Some((_, missing)) = log.iter().zip(expected).find(|((number, _), expected)| number != expected) {
        return Err(Error::corrupt(Place::Log(missing), "it is missing"));
    }
    if opened.manifests.newest.0 > 0 && log.is_empty() {
        return Err(Error::corrupt(Place::Log(from), "it is missing"));
    }
    // Remove the frames once: records are examined before the lead is taken, and replayed after.
    let log = log.into_iter().map(|(number, stored)| RawRecord::open(number, &stored)).collect::<Result<_>>()?;
    Ok(Contents { opened, mark: mark.get(), log })
}

/// Reads the newest readable version and the readable log behind it. Also returns the number behind the log.
pub(crate) async fn read_what_is_whole(storage: &AnyStorage) -> Result<(Contents, LogNumber, Vec<Missing>)> {
    let found = RefCell::new((StoredVersion::default(), Vec::<Missing>::new()));
    let from = |manifests: &[(ManifestId, Bytes)]| {
        let mut missing: Vec<Missing> = Vec::new();
        for at in 0..=manifests.len() {
            match manifest::open(manifests.get(at..).unwrap_or_default(), Segments::default()) {
                Ok(opened) => {
                    let start = log_start(&opened.version);
                    *found.borrow_mut() = (opened, missing);
                    return Ok(start);
                }
                // Manifests before this one lead to the same missing one.
                Err(error) if missing.last().is_some_and(|last| last.error.message() == error.message()) => {}
                Err(error) => missing.push(Missing::writes(error)),
            }
        }
        Ok(LogNumber(1))
    };
    let stored = storage.load(&from).await?.log;
    let (opened, mut missing) = found.into_inner();
    let version = &opened.version;
    let mut next = log_start(version);
    let mut log = Vec::new();
    for (number, stored) in stored {
        if number > next {
            let last = LogNumber(number.0 - 1);
            let error = Error::corrupt(Place::Log(next), format_args!("it is missing, as are all up to {}", last.0));
            missing.push(Missing::writes(error));
        }
        next = LogNumber(number.0 + 1);
        let whole = RawRecord::open(number, &stored).and_then(|logged| logged.decode().map(drop).map(|()| logged));
        match whole {
            Ok(logged) => log.push(logged),
            Err(error) => missing.push(Missing::writes(error)),
        }
    }
    if opened.manifests.newest.0 > 0 && next == log_start(version) {
        missing.push(Missing::writes(Error::corrupt(Place::Log(next), "it is missing")));
    }
    Ok((Contents { opened, mark: StoreMark::default(), log }, next, missing))
}
