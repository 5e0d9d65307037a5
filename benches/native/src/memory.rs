//! Counts the memory of the process without the storage's records: those stand for the disk.
//!
//! The allocator counts every requested byte. The storage (`store.rs`) tells how many of them are stored records. It
//! copies records into allocations of their exact size. So the rest is the engine's, with the benchmark's own few
//! kilobytes.

#![allow(unsafe_code, reason = "an allocator is unsafe by nature; this one only counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

static LIVE: AtomicI64 = AtomicI64::new(0);
static STORED: AtomicI64 = AtomicI64::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);

/// The system's allocator, counting.
pub struct Counting;

fn add(bytes: i64) {
    let live = LIVE.fetch_add(bytes, Relaxed) + bytes - STORED.load(Relaxed);
    PEAK.fetch_max(live, Relaxed);
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as i64);
        // SAFETY: the caller's promises are those that the system's allocator wants.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as i64, Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

/// This many of the allocated bytes are stored records.
pub fn stored(bytes: i64) {
    STORED.fetch_add(bytes, Relaxed);
}

/// The most bytes in use since the last call, without stored records.
pub fn take_peak() -> u64 {
    let now = LIVE.load(Relaxed) - STORED.load(Relaxed);
    PEAK.swap(now, Relaxed).max(now).unsigned_abs()
}

/// The bytes in use now, without stored records.
pub fn in_use() -> u64 {
    (LIVE.load(Relaxed) - STORED.load(Relaxed)).unsigned_abs()
}
