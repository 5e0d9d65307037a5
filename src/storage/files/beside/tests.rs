mod beginnings;
mod lives;

use super::super::device::{Device, DeviceFolder, Opens};
use super::*;
use crate::env::LocalFuture;
use crate::env::sim::SimEnv;
use crate::modules::Module;
use crate::storage::contract::{self, Stores};
use crate::storage::faults::{Call, Gates, Hook, Hooked, Moment, YieldOnce};
use crate::storage::{AnyStorage, ManifestId, MemoryStorage};
use futures_util::FutureExt as _;
use std::collections::BTreeMap;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// So the journal turns often.
const TURN: u64 = 3000;

/// A world in which a sleep takes its time at once, after others had a turn.
#[derive(Clone)]
struct Hasty {
    world: SimEnv,
    /// Whether a task runs at once, and not when the world runs.
    runs_tasks: bool,
}

impl Env for Hasty {
    fn now_ms(&self) -> i64 {
        self.world.now_ms()
    }

    fn ticks_us(&self) -> u64 {
        self.world.ticks_us()
    }

    fn fill_random(&self, out: &mut [u8]) {
        self.world.fill_random(out);
    }

    fn spawn(&self, task: LocalFuture<()>) {
        if self.runs_tasks {
            run(task);
        } else {
            self.world.spawn(task);
        }
    }

    fn yield_now(&self) -> LocalFuture<()> {
        self.world.yield_now()
    }

    fn sleep(&self, ms: u32) -> LocalFuture<()> {
        let world = self.world.clone();
        Box::pin(async move {
            world.yield_now().await;
            world.pass(u64::from(ms));
        })
    }

    fn has(&self, module: Module) -> bool {
        self.world.has(module)
    }

    fn load(&self, module: Module) -> LocalFuture<Result<()>> {
        self.world.load(module)
    }
}

/// Runs a future without tasks beside it.
fn run<T>(future: impl Future<Output = T>) -> T {
    run_beside(future, || {})
}

/// The same. `other` is called whenever the future waits.
fn run_beside<T>(future: impl Future<Output = T>, mut other: impl FnMut()) -> T {
    let mut future = pin!(future);
    for _ in 0..100_000 {
        if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return done;
        }
        other();
    }
    panic!("it never ends")
}

/// The states in which a loss of power may leave a storage: as after its last strict commit, or a later one.
#[derive(Default)]
struct Kept {
    storage: MemoryStorage,
    states: RefCell<Vec<MemoryStorage>>,
    /// Whether the storage is known to have lost its connection.
    is_cut: Cell<bool>,
}

impl Hook for Kept {
    async fn after(&self, call: &Call) -> Result<()> {
        if let Call::Commit(commit) = call {
            let mut states = self.states.borrow_mut();
            if commit.durability == Durability::Strict {
                states.clear();
            }
            states.push(self.storage.image());
        }
        Ok(())
    }

    fn is_connected(&self) -> bool {
        !self.is_cut.get()
    }
}

type Base = Hooked<Hooked<Hooked<MemoryStorage, YieldOnce>, Rc<Kept>>, Rc<Gates>>;
type Logged = LogInFiles<Base, DeviceFolder>;

/// What outlives tabs: a storage and files.
#[derive(Clone)]
struct Origin {
    world: SimEnv,
    storage: MemoryStorage,
    kept: Rc<Kept>,
    gates: Rc<Gates>,
    device: Device,
    /// Whether tasks run at once.
    runs_tasks: bool,
}

impl Origin {
    fn new(seed: u64) -> Self {
        Self::with(SimEnv::shuffled(0, seed), MemoryStorage::new(), Device::default())
    }

    fn with(world: SimEnv, storage: MemoryStorage, device: Device) -> Self {
        let kept =
            Kept { storage: storage.clone(), states: RefCell::new(vec![storage.image()]), is_cut: Cell::new(false) };
        Self { world, storage, kept: Rc::new(kept), gates: Rc::default(), device, runs_tasks: true }
    }

    fn base(&self) -> Base {
        let kept = Hooked::new(Hooked::new(self.storage.clone(), YieldOnce), Rc::clone(&self.kept));
        Hooked::new(kept, Rc::clone(&self.gates))
    }

    fn env(&self) -> Hasty {
        Hasty { world: self.world.clone(), runs_tasks: self.runs_tasks }
    }

    fn open_with(&self, folder: DeviceFolder) -> impl Future<Output = Result<Logged>> + use<> {
        let check: Check = Rc::new(|| Box::pin(async { Ok(()) }));
        LogInFiles::open_with(self.base(), folder, Rc::new(self.env()), check, TURN)
    }

    fn open(&self) -> Result<Logged> {
        run(self.open_with(self.device.folder()))
    }

    /// Opens it in a thread that can open no file.
    fn open_in_page(&self) -> Result<Logged> {
        run(self.open_with(self.device.folder_to_look_at()))
    }

    fn fence(&self) -> Fence {
        run(self.storage.fence()).unwrap()
    }

    /// The origin after the death of all tabs.
    fn image(&self) -> Self {
        let runs_tasks = self.runs_tasks;
        Self { runs_tasks, ..Self::with(self.world.clone(), self.storage.image(), self.device.image()) }
    }
}

impl Origin {
    /// The origin after a loss of power.
    fn power_cut(&self) -> Self {
        let mut random = |below: u64| self.world.random() % below;
        let states = self.kept.states.borrow();
        let storage = states[random(states.len() as u64) as usize].image();
        let runs_tasks = self.runs_tasks;
        Self { runs_tasks, ..Self::with(self.world.clone(), storage, self.device.power_cut(&mut random)) }
    }
}

#[derive(Default)]
struct Handles(RefCell<BTreeMap<String, Logged>>);

impl Stores for Handles {
    async fn open(&self, name: &str) -> Result<AnyStorage> {
        if let Some(storage) = self.0.borrow().get(name) {
            return Ok(storage.clone().into());
        }
        let origin = Origin::new(1);
        let storage = origin.open_with(origin.device.folder()).await?;
        self.0.borrow_mut().insert(name.to_owned(), storage.clone());
        Ok(storage.into())
    }
}

/// Each opening finds what a tab that was killed has left.
#[derive(Default)]
struct Tabs(RefCell<BTreeMap<String, Origin>>);

impl Stores for Tabs {
    async fn open(&self, name: &str) -> Result<AnyStorage> {
        let origin = self.0.borrow().get(name).map_or_else(|| Origin::new(1), Origin::image);
        self.0.borrow_mut().insert(name.to_owned(), origin.clone());
        Ok(origin.open_with(origin.device.folder()).await?.into())
    }
}

mod keeps_the_contract {
    use super::*;

    macro_rules! each {
        ($($rule:ident)*) => { $(
            #[test]
            fn $rule() {
                run(contract::$rule(&Handles::default())).unwrap();
            }
        )* };
    }
    crate::storage_contract_rules!(each);
}

#[test]
fn a_log_in_files_outlives_its_tab() {
    run(contract::a_reopened_store_has_everything(&Tabs::default())).unwrap();
    run(contract::large_records_come_back(&Tabs::default())).unwrap();
}

fn append(number: u64, bytes: usize) -> Commit {
    Commit { log: vec![(LogNumber(number), vec![number as u8; bytes].into())], ..Commit::default() }
}

fn with_manifest(id: u64, number: u64) -> Commit {
    let trim_log = (1..number).map(LogNumber).collect();
    Commit { manifest: Some((ManifestId(id), Bytes::from_static(b"manifest"))), trim_log, ..append(number, 50) }
}

fn numbers(storage: &impl Storage) -> Vec<u64> {
    run(storage.read_log(LogNumber(0))).unwrap().into_iter().map(|(number, _)| number.0).collect()
}

fn names(device: &Device) -> Vec<String> {
    device.files().into_iter().map(|(name, _)| name).collect()
}

/// The first record goes to the storage, where it keeps out leaders that know no files. The next one goes to the files too, and
/// names them. Later ones go to the files alone.
#[test]
fn records_go_to_the_files_and_the_first_ones_to_the_storage_too() {
    let origin = Origin::new(1);
    let storage = origin.open().unwrap();
    assert_eq!(origin.fence(), Fence::default(), "nothing is changed before the first commit");
    run(storage.commit(append(1, 100))).unwrap();
    assert!(!storage.has_log_in_files() && origin.fence().note.is_empty());
    (2..=5).for_each(|number| run(storage.commit(append(number, 100))).unwrap());
    assert!(storage.has_log_in_files());
    assert_eq!(numbers(&origin.storage), [1, 2]);
    assert_eq!(numbers(&storage), [1, 2, 3, 4, 5]);
    assert_eq!(origin.fence().number, 1);
    run(storage.commit(with_manifest(1, 6))).unwrap();
    assert_eq!(numbers(&origin.storage), [6]);
    run(storage.commit(append(7, 100))).unwrap();
    drop(storage);
    let again = origin.open().unwrap();
    assert_eq!(numbers(&again), [6, 7]);
    assert_eq!(origin.fence().number, 2);
}

/// A close leaves a store that a version without files opens; the next opening has files again.
#[test]
fn a_close_moves_the_log_to_the_storage() {
    let origin = Origin::new(2);
    for round in 0..3 {
        let storage = origin.open().unwrap();
        (1..=5).for_each(|number| run(storage.commit(append(round * 5 + number, 100))).unwrap());
        assert!(!origin.fence().note.is_empty());
        run(storage.close());
        assert!(origin.fence().note.is_empty());
        assert_eq!(numbers(&origin.storage), (1..=round * 5 + 5).collect::<Vec<_>>());
        assert_eq!(names(&origin.device), ["1-0", "1-1"], "files are made once");
    }
}

/// A log that is too long for that stays in its files; a thread that cannot open files need not wait for anybody.
#[test]
fn a_long_log_stays_in_files_that_are_closed() {
    let origin = Origin::new(3);
    let storage = origin.open().unwrap();
    let last = MOVED as u64 + 10;
    (1..=last).for_each(|number| run(storage.commit(append(number, 1))).unwrap());
    run(storage.close());
    assert!(Note::of(&origin.fence()).unwrap().unwrap().is_closed);
    let before = origin.world.ticks_us();
    let page = origin.open_in_page().unwrap();
    assert!(origin.world.ticks_us() - before < 1000, "nobody can write");
    assert!(!page.has_log_in_files());
    assert_eq!(numbers(&page), (1..=last).collect::<Vec<_>>());
    assert!(origin.fence().note.is_empty());
    run(page.commit(append(last + 1, 1))).unwrap();
    assert_eq!(numbers(&origin.storage).last(), Some(&(last + 1)));
}

/// The next leader waits until a frozen one acknowledges nothing any more, and has its log elsewhere.
#[test]
fn a_frozen_leader_that_wakes_acknowledges_nothing() {
    for in_page in [false, true] {
        let origin = Origin::new(4);
        let frozen = origin.open().unwrap();
        (1..=5).for_each(|number| run(frozen.commit(append(number, 100))).unwrap());
        let before = origin.world.ticks_us();
        let next = if in_page { origin.open_in_page() } else { origin.open() }.unwrap();
        assert!(origin.world.ticks_us() - before >= PATIENCE_US);
        assert_eq!(numbers(&next), [1, 2, 3, 4, 5]);
        run(next.commit(append(6, 10))).unwrap();
        for (number, commit) in [(6, append(6, 77)), (7, with_manifest(1, 7))] {
            let refused = run(frozen.commit(commit)).unwrap_err();
            assert_eq!(refused.code(), Code::Fenced, "{number}");
        }
        run(next.commit(append(7, 10))).unwrap();
        drop((frozen, next));
        let last = origin.open().unwrap();
        let found = run(last.read_log(LogNumber(6))).unwrap();
        assert_eq!(found, [6, 7].map(|number| (LogNumber(number), Bytes::from(vec![number as u8; 10]))));
    }
}

/// What a frozen leader has left is deleted once it is gone.
#[test]
fn files_of_former_leaders_are_deleted() {
    let origin = Origin::new(5);
    let frozen = origin.open().unwrap();
    (1..=2).for_each(|number| run(frozen.commit(append(number, 100))).unwrap());
    let next = origin.open().unwrap();
    run(next.commit(append(3, 100))).unwrap();
    origin.world.run_until_idle();
    let third = origin.open().unwrap();
    run(third.commit(append(4, 100))).unwrap();
    origin.world.run_until_idle();
    assert_eq!(names(&origin.device).len(), 6, "the frozen ones have their files open");
    drop((frozen, next, third));
    let last = origin.open().unwrap();
    origin.world.run_until_idle();
    assert_eq!(names(&origin.device).len(), 4, "its own and the usual ones");
    assert_eq!(numbers(&last), [1, 2, 3, 4]);
    run(last.close());
    assert_eq!(names(&origin.device), ["1-0", "1-1"]);
}

/// Records of a leader whose outcome was unknown are there, and their numbers are taken.
#[test]
fn a_commit_without_an_answer_may_be_stored() {
    let origin = Origin::new(6);
    let storage = origin.open().unwrap();
    (1..=2).for_each(|number| run(storage.commit(append(number, 100))).unwrap());
    origin.world.pass(1000);
    origin.gates.fail(1, |call| matches!(call, Call::Fence), Moment::Before, Code::Unavailable);
    assert_eq!(run(storage.commit(append(3, 100))).unwrap_err().code(), Code::Unavailable);
    assert_eq!(numbers(&storage), [1, 2, 3]);
    assert_eq!(run(storage.commit(append(3, 50))).unwrap_err().code(), Code::Fenced);
    run(storage.commit(append(4, 100))).unwrap();
    drop(storage);
    assert_eq!(numbers(&origin.open().unwrap()), [1, 2, 3, 4]);
}

/// A disk without room for the fence: everything can be read, and the lead is taken once there is room.
#[test]
fn a_full_disk_lets_the_lead_wait() {
    let origin = Origin::new(7);
    let storage = origin.open().unwrap();
    (1..=3).for_each(|number| run(storage.commit(append(number, 100))).unwrap());
    drop(storage);
    origin.gates.fail(1, |call| matches!(call, Call::Commit(_)), Moment::Before, Code::QuotaExceeded);
    let storage = origin.open().unwrap();
    assert_eq!(numbers(&storage), [1, 2, 3]);
    origin.gates.fail(1, |call| matches!(call, Call::Commit(_)), Moment::Before, Code::QuotaExceeded);
    assert_eq!(run(storage.commit(append(4, 100))).unwrap_err().code(), Code::QuotaExceeded);
    run(storage.commit(append(4, 100))).unwrap();
    assert!(storage.has_log_in_files());
    drop(storage);
    assert_eq!(numbers(&origin.open().unwrap()), [1, 2, 3, 4]);
}

/// A full origin may take no bytes of a write, and call that no error.
#[test]
fn a_file_that_takes_no_bytes_is_full() {
    let origin = Origin::new(13);
    let storage = origin.open().unwrap();
    (1..=2).for_each(|number| run(storage.commit(append(number, 100))).unwrap());
    origin.device.set_most(0);
    assert_eq!(run(storage.commit(append(3, 100))).unwrap_err().code(), Code::QuotaExceeded);
    origin.device.set_most(usize::MAX);
    run(storage.commit(append(3, 50))).unwrap();
    let found = run(storage.read_log(LogNumber(3))).unwrap();
    assert_eq!(found, [(LogNumber(3), Bytes::from(vec![3; 50]))]);
}

type Damage = fn(&mut Vec<u8>);

/// R5: damaged or missing files are reported by name, and a salvage gives the rest and says that there was more.
#[test]
fn damaged_files_are_reported_and_a_salvage_gives_the_rest() {
    let origin = Origin::new(8);
    let storage = origin.open().unwrap();
    for number in 1..=7 {
        // The first ones make the fence firm. A damaged record before a flushed one is no torn end.
        let durability = if [1, 2, 6].contains(&number) { Durability::Strict } else { Durability::Relaxed };
        run(storage.commit(Commit { durability, ..append(number, 100) })).unwrap();
    }
    drop(storage);
    let name = Note::of(&origin.fence()).unwrap().unwrap().names();
    let in_use = usize::from(origin.device.files()[0].1.len() < origin.device.files()[1].1.len());
    let damages: [(&str, Damage, Vec<u64>, Option<u64>); 4] = [
        ("empty", Vec::clear, vec![1, 2], Some(3)),
        ("zeros", |bytes| bytes.fill(0), vec![1, 2], Some(3)),
        ("its state", |bytes| bytes[8] ^= 1, vec![1, 2, 3, 4, 5, 6, 7], Some(8)),
        ("a record in the middle", |bytes| bytes[300] ^= 1, vec![1, 2, 4, 5, 6, 7], None),
    ];
    for (what, damage, left, more) in damages {
        let origin = origin.image();
        origin.device.damage(&name[in_use], damage);
        let files = origin.device.files();
        let opened = origin.open().unwrap();
        let refused = run(opened.load(&|_| Ok(LogNumber(1)))).unwrap_err();
        assert_eq!(refused.code(), Code::Corrupt, "{what}");
        drop(opened);
        let salvaged =
            run(LogInFiles::salvage(origin.base(), origin.device.folder_to_look_at(), Rc::new(origin.env()))).unwrap();
        let mut found = run(salvaged.read_log(LogNumber(0))).unwrap();
        if let Some(number) = more {
            assert_eq!(found.pop(), Some((LogNumber(number), Bytes::new())), "{what}: there was more");
        }
        assert_eq!(found.iter().map(|(number, _)| number.0).collect::<Vec<_>>(), left, "{what}");
        assert_eq!(run(salvaged.commit(append(9, 1))).unwrap_err().code(), Code::ReadOnly);
        run(salvaged.close());
        assert_eq!(origin.device.files(), files, "{what}: nothing is changed");
    }
}

/// A record is added before the look at the clock, so a loss of the lead in between is noticed.
#[test]
fn a_lead_that_was_not_proven_lately_is_proven_before_the_answer() {
    let origin = Origin::new(9);
    let storage = origin.open().unwrap();
    (1..=2).for_each(|number| run(storage.commit(append(number, 10))).unwrap());
    let looks = Rc::new(Cell::new(0));
    let seen = Rc::clone(&looks);
    origin.gates.hold(move |call| {
        seen.set(seen.get() + u32::from(matches!(call, Call::Fence)));
        false
    });
    assert!(storage.commit(append(3, 10)).now_or_never().unwrap().is_ok(), "no look, no wait");
    origin.world.pass(501);
    run(storage.commit(append(4, 10))).unwrap();
    assert_eq!(looks.get(), 1);
    run(storage.commit(append(5, 10))).unwrap();
    assert_eq!(looks.get(), 1);
}

/// The data of a site may be deleted while it is open. Its files can be written on, and nobody will find them again.
#[test]
fn a_storage_that_may_be_gone_is_looked_at_before_the_answer() {
    let origin = Origin::new(10);
    let storage = origin.open().unwrap();
    (1..=2).for_each(|number| run(storage.commit(append(number, 10))).unwrap());
    origin.kept.is_cut.set(true);
    origin.gates.fail(1, |call| matches!(call, Call::Fence), Moment::Before, Code::Closed);
    assert_eq!(run(storage.commit(append(3, 10))).unwrap_err().code(), Code::Closed);
    // It was connected again.
    run(storage.commit(append(4, 10))).unwrap();
    origin.kept.is_cut.set(false);
    assert!(storage.commit(append(5, 10)).now_or_never().unwrap().is_ok(), "no look, no wait");
}

/// After a commit of unknown outcome the engine loads what is behind its last record. That is not where the log begins.
#[test]
fn a_load_from_the_middle_of_the_log_takes_nothing_away() {
    let origin = Origin::new(14);
    let storage = origin.open().unwrap();
    run(storage.load(&|_| Ok(LogNumber(0)))).unwrap();
    (1..=5).for_each(|number| run(storage.commit(append(number, 100))).unwrap());
    assert!(run(storage.load(&|_| Ok(LogNumber(6)))).unwrap().log.is_empty());
    assert_eq!(numbers(&origin.image().open().unwrap()), [1, 2, 3, 4, 5], "after a death");
    run(storage.commit(append(6, 100))).unwrap();
    run(storage.close());
    drop(storage);
    assert_eq!(numbers(&origin.base()), [1, 2, 3, 4, 5, 6]);
}

/// The same load reads files again that cannot be trusted, as often as needed, and finds out whether this leader still leads.
#[test]
fn a_load_after_a_commit_without_an_answer_heals_or_ends() {
    let origin = Origin::new(15);
    let storage = origin.open().unwrap();
    run(storage.load(&|_| Ok(LogNumber(0)))).unwrap();
    (1..=3).for_each(|number| run(storage.commit(append(number, 100))).unwrap());
    origin.device.fail_after(0, Code::Unavailable, true);
    assert_eq!(run(storage.commit(append(4, 100))).unwrap_err().code(), Code::Unavailable);
    let find_out = |storage: &Logged| run(storage.load(&|_| Ok(LogNumber(4))));
    assert_eq!(find_out(&storage).map(drop).unwrap_err().code(), Code::Unavailable);
    assert_eq!(find_out(&storage).map(drop).unwrap_err().code(), Code::Unavailable);
    origin.device.heal();
    let found = find_out(&storage).unwrap().log.len() as u64;
    run(storage.commit(append(4 + found, 100))).unwrap();
    assert_eq!(numbers(&storage), (1..=4 + found).collect::<Vec<_>>());

    let next = origin.open().unwrap();
    assert_eq!(find_out(&storage).map(drop).unwrap_err().code(), Code::Fenced, "another one leads");
    assert_eq!(numbers(&next), (1..=4 + found).collect::<Vec<_>>());
}

/// A look at the fence on a full disk fails behind a record that is stored. Its error must not say that nothing was stored.
#[test]
fn an_error_behind_a_record_does_not_say_that_nothing_is_stored() {
    let origin = Origin::new(16);
    let storage = origin.open().unwrap();
    (1..=2).for_each(|number| run(storage.commit(append(number, 100))).unwrap());
    origin.world.pass(1000);
    origin.gates.fail(1, |call| matches!(call, Call::Fence), Moment::Before, Code::QuotaExceeded);
    assert_eq!(run(storage.commit(append(3, 100))).unwrap_err().code(), Code::Unavailable);
    assert_eq!(numbers(&storage), [1, 2, 3]);
    // The device has the fence then.
    run(storage.commit(append(4, 100))).unwrap();
    let strict = Commit { durability: Durability::Strict, ..append(5, 100) };
    origin.device.fail_after(1, Code::QuotaExceeded, false);
    assert_eq!(run(storage.commit(strict)).unwrap_err().code(), Code::Unavailable, "the flush");
    assert_eq!(numbers(&storage), [1, 2, 3, 4, 5]);
}

/// Whatever becomes of the files, blocks can be read.
#[test]
fn blocks_can_be_read_while_files_cannot_be_trusted() {
    let origin = Origin::new(24);
    let storage = origin.open().unwrap();
    (1..=2).for_each(|number| run(storage.commit(append(number, 100))).unwrap());
    let blocks = vec![(0, Bytes::from_static(b"block"))];
    run(storage.stage(SegmentId(1), blocks, Durability::Relaxed)).unwrap();
    origin.device.fail_after(0, Code::Unavailable, true);
    assert_eq!(run(storage.commit(append(3, 100))).unwrap_err().code(), Code::Unavailable);
    assert_eq!(run(storage.commit(append(3, 100))).unwrap_err().code(), Code::Unavailable);
    let found = run(storage.get_blocks(&[BlockId { segment: SegmentId(1), block: 0 }])).unwrap();
    assert_eq!(found, [Some(Bytes::from_static(b"block"))]);
}

/// Records in files are flushed before the next manifest. So no earlier manifest may be lost with the power.
#[test]
fn manifests_beside_a_log_in_files_are_strict() {
    let origin = Origin::new(17);
    let storage = origin.open().unwrap();
    (1..=2).for_each(|number| run(storage.commit(append(number, 100))).unwrap());
    let manifests = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&manifests);
    origin.gates.hold(move |call| {
        if let Call::Commit(commit) = call
            && commit.manifest.is_some()
        {
            seen.borrow_mut().push(commit.durability);
        }
        false
    });
    run(storage.commit(Commit { trim_log: Vec::new(), ..with_manifest(1, 3) })).unwrap();
    run(storage.commit(Commit { manifest: with_manifest(2, 0).manifest, ..Commit::default() })).unwrap();
    assert_eq!(*manifests.borrow(), [Durability::Strict; 2]);
}

/// A full file does not take what a commit trimmed, and a close must not bring it back.
#[test]
fn trimmed_records_do_not_come_back_from_full_files() {
    let origin = Origin::new(18);
    let storage = origin.open().unwrap();
    (1..=5).for_each(|number| run(storage.commit(append(number, 100))).unwrap());
    origin.device.set_room(Some(0));
    run(storage.commit(with_manifest(1, 6))).unwrap();
    run(storage.close());
    drop(storage);
    assert_eq!(numbers(&origin.base()), [6]);
}
