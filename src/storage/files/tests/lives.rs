//! Random lives of a store in files, with deaths and losses of power.

use super::*;

/// What a store must hold. A manifest names segments: eight bytes for each.
#[derive(Clone, Default, PartialEq)]
struct Model {
    log: BTreeMap<u64, Bytes>,
    manifests: BTreeMap<u64, Bytes>,
}

impl Model {
    /// Its numbers, for a report.
    fn told(&self) -> String {
        let (first, last) = (self.log.keys().next(), self.log.keys().next_back());
        format!("log {first:?} to {last:?}, manifest {:?}", self.manifests.keys().next_back())
    }
}

/// The blocks of segments, apart from the model: they are changed by no commit.
type Blocks = BTreeMap<(u64, u32), Bytes>;

fn named(manifest: &Bytes) -> Vec<u64> {
    manifest.chunks_exact(8).map(|id| u64::from_le_bytes(id.try_into().unwrap())).collect()
}

fn model_of(storage: &Files) -> Model {
    let loaded = now(storage.load(&|_| Ok(LogNumber(0)))).unwrap();
    Model {
        log: loaded.log.into_iter().map(|(number, bytes)| (number.0, bytes)).collect(),
        manifests: loaded.manifests.into_iter().map(|(id, bytes)| (id.0, bytes)).collect(),
    }
}

/// One life of a store on a device, with deaths of the process and losses of power.
struct Life<'r> {
    random: &'r mut Random<'r>,
    device: Device,
    storage: Option<Files>,
    durability: Durability,
    /// The states that a loss of power may leave; the last one is what a process finds.
    states: Vec<Model>,
    /// Whether the last of them is of a commit that was not acknowledged.
    is_begun: bool,
    blocks: Blocks,
    next_log: u64,
    next_segment: u64,
    deaths: [u64; 2],
}

impl Life<'_> {
    fn state(&self) -> &Model {
        self.states.last().unwrap()
    }

    fn live(&self) -> Vec<u64> {
        self.state().manifests.values().next_back().map(named).unwrap_or_default()
    }

    fn bytes(&mut self) -> Bytes {
        let (length, byte) = ((self.random)(300), (self.random)(256) as u8);
        vec![byte; length as usize].into()
    }

    /// Makes one change. Fails as the device does.
    fn step(&mut self) -> Result<()> {
        let storage = self.storage.clone().unwrap();
        match (self.random)(16) {
            0..2 => {
                // Sometimes in two calls, the second of which replaces blocks of the first.
                let (segment, count) = (self.next_segment, 1 + (self.random)(4) as u32);
                self.next_segment += u64::from((self.random)(3) > 0);
                let blocks: Vec<(u32, Bytes)> = (0..count).map(|block| (block, self.bytes())).collect();
                now(storage.stage(SegmentId(segment), blocks.clone(), self.durability))?;
                self.blocks.extend(blocks.into_iter().map(|(block, bytes)| ((segment, block), bytes)));
            }
            2 => {
                // As the engine does, this deletes what no manifest names.
                let live = self.live();
                let gone: Vec<u64> = self.blocks.keys().map(|(id, _)| *id).filter(|id| !live.contains(id)).collect();
                // Even if it fails, some of them may be gone, and none is named again.
                self.blocks.retain(|(id, _), _| !gone.contains(id));
                now(storage.delete_segments(&gone.iter().map(|id| SegmentId(*id)).collect::<Vec<_>>()))?;
                // The journal is flushed before.
                if !gone.is_empty() {
                    self.states = vec![self.state().clone()];
                }
            }
            4 => {
                now(storage.squeeze());
            }
            other => {
                let mut next = self.state().clone();
                let mut commit = Commit { durability: self.durability, ..Commit::default() };
                let mut log = self.next_log;
                for _ in 0..=(self.random)(2) {
                    let bytes = self.bytes();
                    next.log.insert(log, bytes.clone());
                    commit.log.push((LogNumber(log), bytes));
                    log += 1;
                }
                if other == 3 {
                    let mut segments: Vec<u64> = self.blocks.keys().map(|(id, _)| *id).collect();
                    segments.dedup();
                    // The segment in the making is not whole.
                    segments.retain(|id| *id < self.next_segment && (self.random)(4) > 0);
                    let manifest: Bytes = segments.iter().flat_map(|id| id.to_le_bytes()).collect();
                    let id = next.manifests.keys().next_back().map_or(1, |last| last + 1);
                    commit.first_manifest = ManifestId(id - (self.random)(2).min(id - 1));
                    commit.trim_log = self.state().log.keys().map(|number| LogNumber(*number)).collect();
                    next.log.retain(|number, _| *number >= self.next_log);
                    next.manifests.retain(|id, _| *id >= commit.first_manifest.0);
                    next.manifests.insert(id, manifest.clone());
                    commit.manifest = Some((ManifestId(id), manifest));
                }
                // It counts as begun: if it fails, it may be stored or not.
                self.states.push(next);
                self.is_begun = true;
                now(storage.commit(commit))?;
                self.is_begun = false;
                self.next_log = log;
                if self.durability == Durability::Strict {
                    self.states.drain(..self.states.len() - 1);
                }
            }
        }
        Ok(())
    }

    /// Opens the store anew and compares it.
    fn reopen(&mut self, after: &str, allowed: &[Model]) {
        let storage = open(&self.device).unwrap_or_else(|error| panic!("{after}: {error}"));
        let found = model_of(&storage);
        let told: Vec<String> = allowed.iter().map(Model::told).collect();
        assert!(allowed.contains(&found), "{after}: {} is none of {told:?}", found.told());
        for segment in found.manifests.values().next_back().map(named).unwrap_or_default() {
            let blocks = self.blocks.range((segment, 0)..=(segment, u32::MAX));
            for ((_, block), bytes) in blocks {
                let id = BlockId { segment: SegmentId(segment), block: *block };
                assert_eq!(now(storage.get_blocks(&[id])).unwrap(), [Some(bytes.clone())], "{after}: {id:?}");
            }
        }
        // What no manifest names may be there or not.
        let live = found.manifests.values().next_back().map(named).unwrap_or_default();
        let orphans: Vec<SegmentId> = now(storage.list_segments()).unwrap();
        let orphans: Vec<SegmentId> = orphans.into_iter().filter(|id| !live.contains(&id.0)).collect();
        now(storage.delete_segments(&orphans)).unwrap();
        self.blocks.retain(|(id, _), _| live.contains(id));
        self.next_log = found.log.keys().next_back().map_or(self.next_log, |last| self.next_log.max(last + 1));
        self.next_segment += 1;
        // An opening flushes the journal.
        self.states = vec![found];
        self.is_begun = false;
        self.storage = Some(storage);
    }

    fn run(&mut self, steps: u64) {
        for _ in 0..steps {
            match (self.random)(400) {
                // The process dies in the middle of a change, or the power is lost then.
                0..4 => {
                    self.device.fail_after((self.random)(6), Code::Unavailable, true);
                    for _ in 0..8 {
                        if self.step().is_err() {
                            break;
                        }
                    }
                    self.die();
                }
                // One call fails, and life goes on.
                4..10 => {
                    let code = if (self.random)(2) == 0 { Code::QuotaExceeded } else { Code::Unavailable };
                    self.device.fail_after((self.random)(4), code, false);
                    let failed = self.step().is_err();
                    self.device.heal();
                    if self.storage.as_ref().unwrap().store.broken.borrow().is_some() {
                        self.die();
                    } else if failed && std::mem::take(&mut self.is_begun) {
                        // Nothing of it is stored, and its place is free.
                        self.states.pop();
                    }
                }
                10..12 => self.die(),
                12 => {
                    now(self.storage.take().unwrap().close());
                    let last = self.state().clone();
                    self.device = self.device.power_cut(self.random);
                    self.reopen("closed", &[last]);
                }
                _ => self.step().unwrap(),
            }
        }
    }

    /// The process ends, and perhaps the power too.
    fn die(&mut self) {
        drop(self.storage.take());
        let cut = (self.random)(2) == 0;
        let states = std::mem::take(&mut self.states);
        self.deaths[usize::from(cut)] += 1;
        if cut {
            self.device = self.device.power_cut(self.random);
            self.reopen("power", &states);
        } else {
            self.device = self.device.image();
            let allowed = if self.is_begun { 2 } else { 1 };
            self.reopen("death", &states[states.len() - allowed..]);
        }
    }
}

/// Q: whatever ends a process, and whenever, the store is as after one of its commits; with strict durability, or without a
/// loss of power, as after the last one that was acknowledged. `TABSTORE_TIMES=50` makes a million changes.
#[test]
fn a_store_in_files_survives_deaths_and_losses_of_power() {
    let times = std::env::var("TABSTORE_TIMES").ok().and_then(|times| times.parse().ok()).unwrap_or(1);
    let mut deaths = [0, 0];
    for durability in [Durability::Relaxed, Durability::Strict] {
        for seed in 0..10 * times {
            let chance = SimEnv::shuffled(0, seed + 1);
            let mut random = |below: u64| chance.random() % below;
            let device = Device::default();
            let storage = Some(open(&device).unwrap());
            let mut life = Life {
                random: &mut random,
                device,
                storage,
                durability,
                states: vec![Model::default()],
                is_begun: false,
                blocks: Blocks::new(),
                next_log: 1,
                next_segment: 1,
                deaths: [0, 0],
            };
            life.run(1000);
            deaths = [deaths[0] + life.deaths[0], deaths[1] + life.deaths[1]];
        }
    }
    assert!(deaths.iter().all(|count| *count > 100), "{deaths:?}");
}
