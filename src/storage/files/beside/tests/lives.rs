//! Random lives of the tabs of an origin, against a model.

use super::*;

/// What the log and the manifest must have.
#[derive(Clone, Default)]
struct Model {
    /// Acknowledged records.
    log: BTreeMap<u64, Bytes>,
    /// Records that may be there instead, or besides.
    maybe: Vec<(u64, Bytes)>,
    manifest: u64,
    start: u64,
    /// All acknowledged records and manifests, with the starts of their logs: a loss of power may bring older ones back.
    history: BTreeMap<u64, Bytes>,
    manifests: BTreeMap<u64, u64>,
    /// A manifest, and its start of the log, that may be there.
    maybe_manifest: Option<(u64, u64)>,
    /// The last record that no loss of power takes.
    firm: u64,
}

impl Model {
    fn next(&self) -> u64 {
        self.log.keys().next_back().map_or(self.start, |last| last + 1).max(1)
    }
}

/// Tabs of one origin. The first one leads.
struct Life {
    origin: Origin,
    durability: Durability,
    leader: Option<Logged>,
    /// Former leaders, each with the number of its next record.
    frozen: Vec<(Logged, u64)>,
    model: Model,
    /// The first records of leaders, which are never trimmed.
    leads: Vec<u64>,
    counts: [u64; 6],
}

impl Life {
    fn random(&self, below: u64) -> u64 {
        self.origin.world.random() % below
    }

    fn bytes(&self) -> Bytes {
        vec![self.random(256) as u8; self.random(300) as usize].into()
    }

    /// A commit that comes next, and whether it has a manifest.
    fn commit(&self) -> (Commit, bool) {
        let model = &self.model;
        let mut commit = Commit { durability: self.durability, ..Commit::default() };
        for at in 0..=self.random(2) {
            commit.log.push((LogNumber(model.next() + at), self.bytes()));
        }
        let has_manifest = self.random(12) == 0;
        if has_manifest {
            commit.manifest = Some((ManifestId(model.manifest + 1), Bytes::from(model.next().to_le_bytes().to_vec())));
            commit.first_manifest = ManifestId(model.manifest + 1);
            let trimmed = (model.start..model.next()).filter(|number| !self.leads.contains(number));
            commit.trim_log = trimmed.map(LogNumber).collect();
        }
        (commit, has_manifest)
    }

    /// Makes a commit. Fails as the storage does.
    fn step(&mut self) -> Result<()> {
        let (commit, has_manifest) = self.commit();
        let log: Vec<_> = commit.log.iter().map(|(number, bytes)| (number.0, bytes.clone())).collect();
        self.model.maybe.extend(log.iter().cloned());
        if has_manifest {
            self.model.maybe_manifest = Some((self.model.manifest + 1, self.model.next()));
        }
        let next = self.model.next();
        run(self.leader.as_ref().unwrap().commit(commit))?;
        self.model.maybe.clear();
        self.model.history.extend(log.iter().cloned());
        self.model.log.extend(log);
        if let Some((id, start)) = self.model.maybe_manifest.take() {
            (self.model.manifest, self.model.start) = (id, start);
            self.model.manifests.insert(id, start);
            self.model.log.retain(|number, _| *number >= start);
            // Where the log is in the storage, it keeps what it was told to keep, and no more.
            if self.leader.as_ref().unwrap().has_log_in_files() {
                self.model.firm = next - 1;
            }
        }
        if self.durability == Durability::Strict {
            self.model.firm = self.model.next() - 1;
        }
        self.counts[0] += 1;
        Ok(())
    }

    /// Opens it in another tab, while frozen ones may go on, and compares what is there.
    fn open(&mut self, after: &str, lost_power: bool) {
        let in_page = self.random(5) == 0;
        let folder = if in_page { self.origin.device.folder_to_look_at() } else { self.origin.device.folder() };
        let was_in_files = !self.origin.fence().note.is_empty();
        let opening = self.origin.open_with(folder);
        let mut writes = Vec::new();
        let opened = {
            let (frozen, origin) = (&self.frozen, &self.origin);
            let mut next = frozen.last().map_or(0, |(_, next)| *next);
            run_beside(opening, || {
                // The last leader was not frozen at all.
                let Some((last, _)) = frozen.last().filter(|_| origin.world.random() % 3 == 0) else { return };
                let bytes = Bytes::from(vec![origin.world.random() as u8; 20]);
                let commit = Commit { log: vec![(LogNumber(next), bytes.clone())], ..Commit::default() };
                let answer = run(last.commit(commit));
                writes.push((next, bytes, answer.is_ok()));
                next += u64::from(answer.is_ok());
            })
        }
        .unwrap_or_else(|error| panic!("{after}: {error}"));
        for (number, bytes, acknowledged) in writes {
            if acknowledged {
                self.model.history.insert(number, bytes.clone());
                if let Some((_, next)) = self.frozen.last_mut() {
                    *next = number + 1;
                }
                self.model.log.insert(number, bytes);
                self.counts[1] += 1;
            } else {
                self.model.maybe.push((number, bytes));
                self.counts[2] += 1;
            }
        }
        self.compare(after, &opened, was_in_files, lost_power);
        self.leader = Some(opened);
        // As an engine does: this record keeps out leaders that know no files.
        self.leads.push(self.model.next());
        if let Err(error) = self.step() {
            // The last leader has named its files meanwhile. An engine loads again then.
            assert_eq!(error.code(), Code::Fenced, "{after}");
            let opened = self.leader.take().unwrap();
            self.compare(after, &opened, false, lost_power);
            self.leader = Some(opened);
            *self.leads.last_mut().unwrap() = self.model.next();
            self.step().unwrap_or_else(|error| panic!("{after}: {error}"));
        }
    }

    fn compare(&mut self, after: &str, opened: &Logged, was_in_files: bool, lost_power: bool) {
        let begins = Cell::new(0);
        let loaded = run(opened.load(&|manifests: &[(ManifestId, Bytes)]| {
            let start = manifests.first().map_or(1, |(_, bytes)| u64::from_le_bytes(bytes[..].try_into().unwrap()));
            begins.set(start);
            Ok(LogNumber(start))
        }))
        .unwrap_or_else(|error| panic!("{after}: {error}"));
        let model = &mut self.model;
        let id = loaded.manifests.first().map_or(0, |(id, _)| id.0);
        if Some((id, begins.get())) == model.maybe_manifest {
            (model.manifest, model.start) = (id, begins.get());
        }
        if lost_power {
            model.manifests.insert(model.manifest, model.start);
            assert_eq!(model.manifests.get(&id), Some(&begins.get()), "{after}");
            (model.manifest, model.start) = (id, begins.get());
            model.log.clone_from(&model.history);
        }
        assert_eq!(id, model.manifest, "{after}");
        let found: BTreeMap<u64, Bytes> = loaded.log.into_iter().map(|(number, bytes)| (number.0, bytes)).collect();
        for (number, place) in found.keys().zip(begins.get()..) {
            assert_eq!(*number, place, "{after}: no record is missing");
        }
        let end = begins.get() + found.len() as u64;
        for (number, bytes) in &found {
            let same = model.log.get(number) == Some(bytes);
            let may_be = !model.log.contains_key(number) && model.maybe.contains(&(*number, bytes.clone()));
            assert!(same || may_be, "{after}: record {number} is another");
        }
        let last = model.log.keys().next_back().copied().unwrap_or(0);
        let needed = if lost_power { model.firm } else { last };
        assert!(end > needed || needed < begins.get(), "{after}: {needed} was acknowledged, the log ends before {end}");
        model.history.retain(|number, _| *number < end);
        model.history.extend(found.clone());
        model.manifests.retain(|other, _| *other < id);
        model.manifests.insert(id, begins.get());
        model.log = found;
        model.maybe.clear();
        model.maybe_manifest = None;
        model.start = begins.get();
        // An opening flushes the files.
        if lost_power || was_in_files && opened.has_log_in_files() {
            model.firm = end - 1;
        }
    }

    fn run(&mut self, steps: u64) {
        self.open("new", false);
        for _ in 0..steps {
            self.origin.world.pass(self.random(20));
            if self.random(4) == 0 {
                // Files are opened, also those of tabs that were frozen meanwhile.
                self.origin.world.run_until_idle();
            }
            match self.random(300) {
                0..3 => {
                    self.counts[3] += 1;
                    self.leader = None;
                    self.open("death", false);
                }
                3..6 => {
                    self.counts[4] += 1;
                    let next = self.model.next();
                    self.frozen.extend(self.leader.take().map(|leader| (leader, next)));
                    if self.frozen.len() > 3 {
                        self.frozen.remove(0);
                    }
                    self.open("freeze", false);
                }
                6..9 => {
                    // Those that wake later do nothing that counts.
                    for (other, next) in &self.frozen {
                        self.origin.world.pass(self.random(2) * 300);
                        let commit = Commit { log: vec![(LogNumber(*next), self.bytes())], ..Commit::default() };
                        if self.random(2) == 0 {
                            let answer = run(other.commit(commit));
                            let told = (
                                next,
                                self.model.next(),
                                self.model.start,
                                other.has_log_in_files(),
                                self.origin.fence(),
                            );
                            assert!(answer.is_err(), "a former leader has acknowledged a write: {told:?}");
                        } else {
                            run(other.close());
                        }
                    }
                }
                9..12 => {
                    self.counts[5] += 1;
                    self.leader = None;
                    self.frozen.clear();
                    self.origin = self.origin.power_cut();
                    self.open("power", true);
                }
                12..14 => {
                    run(self.leader.take().unwrap().close());
                    self.open("close", false);
                }
                14..20 => {
                    let code = if self.random(2) == 0 { Code::QuotaExceeded } else { Code::Unavailable };
                    if self.random(2) == 0 {
                        self.origin.device.fail_after(self.random(4), code, false);
                    } else {
                        let moment = if self.random(2) == 0 || code == Code::QuotaExceeded {
                            Moment::Before
                        } else {
                            Moment::After
                        };
                        self.origin.gates.fail(1, |_| true, moment, code);
                    }
                    let failed = self.step().is_err();
                    self.origin.device.heal();
                    self.origin.gates.fail(0, |_| true, Moment::Before, code);
                    if failed {
                        self.leader = None;
                        self.open("failure", false);
                    }
                }
                _ => self.step().unwrap(),
            }
        }
    }
}

/// A3 and Q: whatever becomes of tabs, and whenever, the log has every acknowledged record, in its order, and nothing that was
/// refused; after a loss of power it has the first ones, and with strict durability all. `TABSTORE_TIMES=50` makes a million
/// commits.
#[test]
fn a_log_in_files_survives_deaths_freezes_and_losses_of_power() {
    let times = std::env::var("TABSTORE_TIMES").ok().and_then(|times| times.parse().ok()).unwrap_or(1);
    let mut counts = [0; 6];
    for durability in [Durability::Relaxed, Durability::Strict] {
        for seed in 0..10 * times {
            let origin = Origin { runs_tasks: false, ..Origin::new(seed + 1) };
            origin.device.set_opens(Opens::Later);
            let mut life = Life {
                origin,
                durability,
                leader: None,
                frozen: Vec::new(),
                model: Model { start: 1, manifests: BTreeMap::from([(0, 1)]), ..Model::default() },
                leads: Vec::new(),
                counts: [0; 6],
            };
            life.run(1000);
            for (all, own) in counts.iter_mut().zip(life.counts) {
                *all += own;
            }
        }
    }
    assert!(counts.iter().all(|count| *count > 50), "{counts:?}");
}
