//! Opening: the manifests, the log behind them, and becoming the leader.
//!
//! A leader is who wrote the newest leadership record. The record takes the next log number, so it can only be written
//! by one of several who try, and whoever led before fails at its next commit, which would take the same number.
//!
//! So a leadership record stays for ever, also when there is a newer one. A leader that was replaced takes, at its next
//! commit, the number of the record that replaced it and no other, however late: its tab may have been frozen while others
//! came and went. If just that record were gone, the commit would succeed, and be acknowledged, where nobody reads any more.
//! Those before the start of the log are neither read nor listed; a flush moves that start, so openings do not make the log
//! longer that the next one has to replay.

use super::Engine;
use super::bulk_load::BulkLoads;
use super::cache::{BlockCache, Pins, RecordId};
use super::clock::Clock;
use super::commit_line::CommitLine;
use super::contents::{self, Contents, log_start};
use super::counters::Counters;
use super::health::Health;
use super::holds::Holds;
use super::housekeeping::Housekeeping;
use super::images::Images;
use super::leadership::Leadership;
use super::manifest::StoredVersion;
use super::memtable::Memtable;
use super::missing::{Missing, or_salvage};
use super::options::{ClockMode, Options};
use super::reserve::{FIRST_GIVEN, Reserve};
use super::slices::Slices;
use super::traffic::Traffic;
use super::turns::Turns;
use super::version::Version;
use super::view::View;
use crate::env::Env;
use crate::error::{Code, Error, Result};
use crate::format::log::{self, LogHead, LogKind};
use crate::format::record::{self, Place};
use crate::storage::{Commit, Durability, LogNumber, Storage};
use futures_util::future::join;
use std::cell::RefCell;
use std::rc::Rc;

/// How often to try again when another leader writes at the same time.
const ATTEMPTS: u32 = 8;

/// So many indexes of segments are read while the lead is taken, and of the cache they take this part.
const EARLY_INDEXES: usize = 16;
const EARLY_PART: u64 = 32;

/// What is known once the leadership record is stored.
struct Opening {
    found: Contents,
    epoch: u64,
    /// The device's clock, as the store recorded it last.
    clock: i64,
    /// Leadership records in the log, the new one last.
    leaderships: Vec<LogNumber>,
    /// The new one, unless there was no room for it.
    lead: Option<LogNumber>,
    reserve: Reserve,
    /// It has what is read first.
    cache: BlockCache,
}

/// What is sure to be read first: indexes, those of the first tree before others, and the first block of that, which is
/// the catalog.
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

/// The commit that takes the lead. No two are alike.
fn lead_record(env: &dyn Env, number: LogNumber, head: LogHead, durability: Durability) -> Commit {
    let mut nonce = [0; log::NONCE_BYTES];
    env.fill_random(&mut nonce);
    let payload = log::encode_leadership(head, nonce);
    Commit { log: vec![(number, record::seal(Place::Log(number), &payload))], durability, ..Commit::default() }
}

/// Whether there was no room.
fn is_full(stored: &Result<()>) -> bool {
    stored.as_ref().is_err_and(|error| error.code() == Code::QuotaExceeded)
}

impl<S: Storage> Engine<S> {
    /// Opens the store in `storage`, or makes a new one, and becomes its only writer: whoever wrote to it before is
    /// fenced off. Where there is no room for that, it becomes so when there is; what is stored can be read meanwhile.
    ///
    /// # Errors
    /// `Corrupt` names a record of the manifest or the log that is damaged or missing; `LeaderChanged` if others keep
    /// taking over meanwhile; what the storage says.
    pub async fn open(storage: S, env: Rc<dyn Env>, options: Options) -> Result<Rc<Self>> {
        if options.salvage {
            return Box::pin(Self::salvage(storage, env, options)).await;
        }
        for _ in 0..ATTEMPTS {
            let found = contents::read(&storage).await.map_err(or_salvage)?;
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
            let cache = BlockCache::new(options.cache_bytes);
            let wants = first_wants(version, options.cache_bytes);
            let mut pins = Pins::default();
            // Who needs what cannot be read is told then.
            let taking = storage.commit(lead.clone());
            let (mut stored, _) = join(taking, cache.load(&storage, &wants, &mut pins, true)).await;
            let mut reserve_is_out = false;
            if is_full(&stored) && options.reserve_bytes > 0 {
                reserve_is_out = storage.delete_segments(&FIRST_GIVEN).await.is_ok();
                if reserve_is_out {
                    stored = storage.commit(lead).await;
                }
            }
            // Whatever is stored can be read all the same.
            let lead = stored.is_ok().then_some(number);
            if is_full(&stored) {
                stored = Ok(());
            }
            match stored {
                Ok(()) => {
                    leaderships.extend(lead);
                    let reserve = Reserve::new(options.reserve_bytes, reserve_is_out);
                    let opening = Opening { found, epoch, clock, leaderships, lead, reserve, cache };
                    let engine = Self::start(storage, env, options, opening)?;
                    engine.clock.compare_with_stored(&engine.health);
                    engine.tell_rebuilt();
                    match lead {
                        Some(_) => engine.collect_orphans(),
                        // That takes the lead too.
                        None => engine.keep_reserve(),
                    }
                    // A new store gets its reserve after its first writes.
                    if engine.reserve.is_due() && engine.last_seqno() > 0 {
                        engine.keep_reserve();
                    }
                    // A full memtable has waited before. Compaction waits for the first commit, or the first look at the
                    // clock behind the first second: who only opens a store and reads a row is not kept from that.
                    if !engine.view.borrow().frozen.is_empty() {
                        engine.start_background();
                    }
                    // What is worth it goes soon: this life may end like the last one.
                    engine.flush_when_quiet();
                    return Ok(engine);
                }
                Err(error) if error.code() == Code::Fenced => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::new(Code::Fenced, "other tabs keep taking over the instance"))
    }

    /// Opens what can be opened, and changes nothing.
    async fn salvage(storage: S, env: Rc<dyn Env>, options: Options) -> Result<Rc<Self>> {
        let (found, next_log, missing) = contents::read_what_is_whole(&storage).await?;
        let (epoch, clock) = (found.opened.record.epoch, found.opened.record.clock);
        let cache = BlockCache::new(options.cache_bytes);
        let reserve = Reserve::new(0, false);
        let opening = Opening { found, epoch, clock, leaderships: Vec::new(), lead: None, reserve, cache };
        let engine = Self::start(storage, env, options, opening)?;
        // Behind a damaged record too: who looks whether another leads must not come to that.
        engine.line.skip_log_to(next_log);
        engine.missing.borrow_mut().extend(missing);
        engine.leave_out_damage().await?;
        Ok(engine)
    }

    fn start(storage: S, env: Rc<dyn Env>, options: Options, opening: Opening) -> Result<Rc<Self>> {
        let Opening { found: Contents { opened, log }, epoch, clock, leaderships, lead, reserve, cache } = opening;
        let StoredVersion { manifests, record, version } = opened;
        let start = log_start(&version);
        let line = CommitLine::new(version.next_seqno.max(1), start, record.last_stamp);
        let view = View::new(manifests, version, Memtable::new(start, clock));
        let clock = Clock::new(Rc::clone(&env), options.clock, clock);
        let engine = Rc::new_cyclic(|me| Self {
            me: me.clone(),
            cache,
            images: Images::default(),
            storage,
            traffic: Traffic::new(clock.steady_ms()),
            clock,
            health: Health::default(),
            slices: Rc::new(Slices::new(Rc::clone(&env))),
            env,
            options,
            holds: Holds::default(),
            turns: Turns::default(),
            line,
            view: RefCell::new(view),
            leadership: Leadership::new(epoch, leaderships, lead.is_none()),
            house: Housekeeping::default(),
            loads: BulkLoads::default(),
            counters: Counters::default(),
            missing: RefCell::default(),
            reserve,
        });
        for logged in &log {
            match engine.replay(logged) {
                Err(error) if engine.is_read_only() => engine.misses(Missing::writes(error)),
                replayed => replayed.map_err(or_salvage)?,
            }
        }
        if let Some(lead) = lead {
            engine.add_record(lead, 0, 0, 0);
        }
        Ok(engine)
    }

    /// Takes the lead, if there was no room for that at the opening. What is known is what was stored then: if anybody has
    /// written since, the record's number is taken.
    ///
    /// # Errors
    /// `QuotaExceeded` if there still is none; anything else ends the engine.
    pub(super) async fn lead(&self) -> Result<()> {
        if !self.leadership.is_due() {
            return Ok(());
        }
        let turn = self.leadership.turns.take(&[]);
        turn.come().await;
        self.check_alive()?;
        if !self.leadership.is_due() {
            return Ok(());
        }
        let number = self.line.next_log();
        let head = LogHead { epoch: self.leadership.epoch(), clock: self.clock.to_store() };
        let stored = self.storage.commit(lead_record(&*self.env, number, head, self.options.durability)).await;
        match stored {
            Ok(()) => {}
            Err(error) if error.code() == Code::QuotaExceeded => return Err(error),
            Err(error) => {
                self.stop(error.clone());
                return Err(error);
            }
        }
        self.leadership.take(number);
        self.add_record(number, 0, 0, 0);
        self.collect_orphans();
        Ok(())
    }
}
