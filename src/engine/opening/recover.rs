//! Opening: the manifests, the log behind them, and becoming the leader.
//!
//! The leader is the engine that wrote the newest leadership record. The record takes the next log number, so only one of
//! several candidates can write it. The previous leader fails at its next commit, which would take the same number.
//!
//! So a leadership record stays for ever, even when there is a newer one. A replaced leader's next commit takes the
//! number of the record that replaced it and no other, however late: its tab may have been frozen while others came and
//! went. If just that record were gone, the commit would succeed and be acknowledged, at a place where no opening reads
//! any more. Records before the start of the log are neither read nor listed. A flush moves that start, so openings do
//! not make the next replay longer.
//!
//! A candidate may be as late. If the leader has trimmed its log since the candidate read it, the number of the candidate's
//! record is free again. So a candidate leads only if nothing of another leader is behind its record.

use super::contents::{self, Contents, log_start};
use super::salvage::leave_out_damage;
use super::stored_state::StoredState;
use crate::engine::Engine;
use crate::engine::base::missing::{Missing, or_salvage};
use crate::engine::base::options::{ClockMode, Options};
use crate::engine::memory::memtable::Memtable;
use crate::engine::segment::cache::{BlockCache, Pins, RecordId, Usage};
use crate::engine::space::{FIRST_GIVEN, Reserve};
use crate::engine::store::commit_line::CommitLine;
use crate::engine::store::leadership::Leadership;
use crate::engine::store::readiness::{another_behind, lead_record};
use crate::engine::versions::manifest::StoredVersion;
use crate::engine::versions::version::Version;
use crate::engine::versions::view::View;
use crate::env::{Env, LocalFuture};
use crate::error::{Code, Error, Result};
use crate::format::log::{LogHead, LogKind};
use crate::modules::Module;
use crate::storage::{AnyStorage, LogNumber};
use futures_util::future::join;
use std::rc::Rc;

/// How often to try again when another leader writes at the same time.
const ATTEMPTS: u32 = 8;

/// The most indexes of segments to read while the lead is taken, and the most of the cache that they may take.
const EARLY_INDEXES: usize = 16;
const EARLY_PART: u64 = 32;

/// The state once the leadership record is stored.
struct Opening {
    found: Contents,
    epoch: u64,
    /// The device's clock, as the store last recorded it.
    clock: i64,
    /// Leadership records in the log, the new one last.
    leaderships: Vec<LogNumber>,
    /// The new one, unless there was no room for it.
    lead: Option<LogNumber>,
    reserve: Reserve,
    /// The cache, with the records that are read first.
    cache: BlockCache,
}

/// Records that are needed first: the indexes, those of the first tree before others, and the first block of that tree,
/// which is the catalog.
fn first_wants(version: &Version, cache_bytes: usize) -> Vec<RecordId> {
    let mut wants = Vec::new();
    let mut bytes = 0;
    for (tree, partitions) in version.trees.iter() {
        for part in partitions.parts() {
            let index = RecordId::Meta(part.segment.meta());
            if wants.contains(&index) {
                continue;
            }
            bytes += u64::from(part.segment.index_bytes);
            if wants.len() >= EARLY_INDEXES || bytes * EARLY_PART > cache_bytes as u64 {
                return wants;
            }
            wants.push(index);
            if tree.0 == 0 {
                wants.push(RecordId::Block(part.segment.block(0)));
            }
        }
    }
    wants
}

/// Whether the disk was full.
fn is_full(stored: &Result<()>) -> bool {
    stored.as_ref().is_err_and(|error| error.code() == Code::QuotaExceeded)
}

/// A gate of [`Module::Occasional`].
#[inline(never)]
fn salvage(storage: AnyStorage, env: Rc<dyn Env>, options: Options) -> LocalFuture<Result<Rc<Engine>>> {
    Box::pin(open_damaged(storage, env, options))
}

/// Not generic, so the opening is compiled with the library, and not with each program that opens.
pub(crate) fn open(storage: AnyStorage, env: Rc<dyn Env>, options: Options) -> LocalFuture<Result<Rc<Engine>>> {
    Box::pin(take_lead(storage, env, options))
}

async fn take_lead(storage: AnyStorage, env: Rc<dyn Env>, options: Options) -> Result<Rc<Engine>> {
    if options.salvage {
        env.load(Module::Occasional).await?;
        return salvage(storage, env, options).await;
    }
    for _ in 0..ATTEMPTS {
        let found = contents::read(&storage).await.map_err(or_salvage)?;
        found.check_expected(&options)?;
        let StoredVersion { record, version, .. } = &found.opened;
        let (mut epoch, mut clock) = (record.epoch, record.clock);
        let mut leaderships = Vec::new();
        for logged in &found.log {
            let (kind, head) = logged.head()?;
            epoch = epoch.max(head.epoch);
            clock = head.clock;
            if kind == LogKind::Leadership {
                leaderships.push(logged.number);
            }
        }
        epoch += 1;
        let number = found.log.last().map_or(log_start(version), |logged| LogNumber(logged.number.0 + 1));
        let now = if options.clock == ClockMode::Device { env.now_ms() } else { clock };
        let lead = lead_record(&*env, number, LogHead { epoch, clock: now }, options.durability);
        let cache = BlockCache::new(options.cache_bytes, Rc::clone(&env));
        let wants = first_wants(version, options.cache_bytes);
        let mut pins = Pins::default();
        // A failed read is reported to the reader that needs the record.
        let taking = storage.commit(lead.clone());
        let (mut stored, _) = join(taking, cache.load(&storage, &wants, &mut pins, Usage::All)).await;
        let mut reserve_is_out = false;
        if is_full(&stored) && options.reserve_bytes > 0 {
            reserve_is_out = storage.delete_segments(&FIRST_GIVEN).await.is_ok();
            if reserve_is_out {
                stored = storage.commit(lead).await;
            }
        }
        // Stored data can be read all the same.
        let lead = stored.is_ok().then_some(number);
        if is_full(&stored) {
            stored = Ok(());
        }
        if lead.is_some() && another_behind(&storage, LogNumber(number.0 + 1), epoch).await? {
            continue;
        }
        match stored {
            Ok(()) => {
                leaderships.extend(lead);
                let reserve = Reserve::new(options.reserve_bytes, reserve_is_out);
                let opening = Opening { found, epoch, clock, leaderships, lead, reserve, cache };
                let engine = start(storage, env, options, opening)?;
                engine.runtime.clock.compare_with_stored(&engine.runtime.health);
                engine.reader.tell_rebuilt();
                match lead {
                    Some(_) => engine.space.collect_orphans(),
                    // This takes the lead too.
                    None => engine.space.keep_reserve(),
                }
                // A new store gets its reserve after its first writes.
                if engine.space.reserve.is_due() && engine.last_seqno() > 0 {
                    engine.space.keep_reserve();
                }
                // A full memtable has waited before the opening. Compaction waits for the first commit, or for the
                // first clock check after a second. So an opening for a single read is not delayed.
                if !engine.store.view.borrow().frozen.is_empty() {
                    engine.start_background();
                }
                // Flush a long log soon: this session may end like the last one.
                engine.flusher.flush_when_quiet();
                return Ok(engine);
            }
            Err(error) if error.code() == Code::Fenced => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::new(Code::Fenced, "other tabs keep taking over the instance"))
}

/// Opens the readable data, and changes nothing.
/// Its future is a gate of [`Module::Occasional`].
async fn open_damaged(storage: AnyStorage, env: Rc<dyn Env>, options: Options) -> Result<Rc<Engine>> {
    let (found, next_log, missing) = contents::read_what_is_whole(&storage).await?;
    if missing.is_empty() {
        found.check_expected(&options)?;
    }
    let (epoch, clock) = (found.opened.record.epoch, found.opened.record.clock);
    let cache = BlockCache::new(options.cache_bytes, Rc::clone(&env));
    let reserve = Reserve::new(0, false);
    let opening = Opening { found, epoch, clock, leaderships: Vec::new(), lead: None, reserve, cache };
    let engine = start(storage, env, options, opening)?;
    // Skip damaged records too: a check of the lead must not meet them.
    engine.store.line.skip_log_to(next_log);
    engine.missing.borrow_mut().extend(missing);
    let lost = leave_out_damage(&engine.store, &engine.reader).await?;
    engine.missing.borrow_mut().extend(lost);
    Ok(engine)
}

fn start(storage: AnyStorage, env: Rc<dyn Env>, options: Options, opening: Opening) -> Result<Rc<Engine>> {
    let Opening { found: Contents { opened, mark, log }, epoch, clock, leaderships, lead, reserve, cache } = opening;
    let StoredVersion { manifests, record, version } = opened;
    let start = log_start(&version);
    let line = CommitLine::new(version.next_seqno.max(1), start, record.last_stamp);
    let view = View::new(manifests, version, Memtable::new(start, clock));
    let leadership = Leadership::new(epoch, leaderships, lead.is_none());
    let state = StoredState { line, view, leadership, cache, reserve };
    let engine = Engine::wire(storage, env, options, clock, state);
    for logged in &log {
        match engine.store.replay(logged) {
            Err(error) if engine.runtime.is_read_only() => engine.misses(Missing::writes(error)),
            replayed => replayed.map_err(or_salvage)?,
        }
    }
    if let Some(lead) = lead {
        engine.store.add_record(lead, 0, 0, 0);
        engine.store.open_second_cache(mark);
    }
    Ok(engine)
}
