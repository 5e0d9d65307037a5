//! Modules of the code that most pages never use.
//!
//! In WebAssembly each module is a file of its own, loaded on first use by [`Env::load`](crate::env::Env::load). The
//! build cuts them out of the compiled code, at the functions whose documentation says that they are gates
//! (`xtask/wasm/src/gates.rs`). All modules work in one memory, so a module costs its users a download and nothing else. A gate
//! that is called before its module is loaded ends the engine. So each caller of a gate loads the module first, or asks
//! [`is_loaded`].
//!
//! Elsewhere all code is always there.

#[cfg(target_arch = "wasm32")]
use std::sync::atomic::{AtomicU16, Ordering};

/// A module of the code. The build reads this list: the modules, and which of them are closed. Whole parts of the crate are in a
/// closed module, and only functions that say so may call them from the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Module {
    /// Merging segments, and cutting partitions.
    Compaction,
    /// Writing blocks in the dense form.
    Dense,
    /// Regular expressions, for the value transfer rules of filters.
    Rules,
    /// Storing the answers of clients in other tabs.
    Answers,
    /// Streams: records of changes, and their readers.
    Streams,
    /// The tables and entities of the Azure Table service, and their door. A closed module.
    Azure,
    /// The wire protocol of the Table Store service: its door. A closed module.
    Tablestore,
    /// Who may pass a door: signatures, and the documents with policies, rules for origins and properties.
    /// A closed module.
    Access,
    /// Requests of several changes to a door. A closed module.
    Batches,
    /// Atomic batches; deleting a range; starting and ending local transactions.
    Transactions,
    /// Loading sorted rows in great numbers. A closed module.
    Loads,
    /// Storage in files of the host, and the log of IndexedDB in files.
    Files,
    /// Storage in memory, salvage, damaged indexes, full origins, and administration that most pages never ask for.
    Occasional,
    /// A look inside the store: its segments, its background work, the path of a read.
    /// A closed module.
    Inspection,
}

impl Module {
    /// The name of its file: that of the variant, in lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Compaction => "compaction",
            Self::Dense => "dense",
            Self::Rules => "rules",
            Self::Answers => "answers",
            Self::Streams => "streams",
            Self::Azure => "azure",
            Self::Tablestore => "tablestore",
            Self::Access => "access",
            Self::Batches => "batches",
            Self::Transactions => "transactions",
            Self::Loads => "loads",
            Self::Files => "files",
            Self::Occasional => "occasional",
            Self::Inspection => "inspection",
        }
    }
}

/// One bit for each module. Without a loader, all code is in one file.
#[cfg(target_arch = "wasm32")]
static LOADED: AtomicU16 = AtomicU16::new(u16::MAX);

/// Whether the code of a module may be called.
#[inline]
#[must_use]
pub fn is_loaded(module: Module) -> bool {
    #[cfg(target_arch = "wasm32")]
    return LOADED.load(Ordering::Relaxed) & 1 << module as u8 != 0;
    #[cfg(not(target_arch = "wasm32"))]
    {
        let _ = module;
        true
    }
}

/// From now on, the code of each module has to be loaded.
#[cfg(target_arch = "wasm32")]
pub(crate) fn expect_none() {
    LOADED.store(0, Ordering::Relaxed);
}

/// The code of a module is there.
#[cfg(target_arch = "wasm32")]
pub(crate) fn set_loaded(module: Module) {
    LOADED.fetch_or(1 << module as u8, Ordering::Relaxed);
}
