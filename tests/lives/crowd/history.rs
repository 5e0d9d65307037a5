//! The requests of one partition key, in the order in which they were asked, and the possible rows after them.
//!
//! Each request waits here until its client has the answer. Then every state that the rows may be in goes through it.
//! An acknowledged write changes all of them, a refused one none. One of unknown fate leaves both, before and after. A
//! read drops the states that it cannot have seen. If none is left, the store was wrong.

use super::state::{Row, Rules, Seen, Write};
use std::cell::{OnceCell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// The result of a request, once its client has the answer.
pub(crate) type Slot<T> = Rc<OnceCell<T>>;

/// The result of writes that are stored together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Told {
    /// They are stored, with the results of increments.
    Done(Vec<Option<i64>>),
    /// A condition did not hold: nothing is stored.
    Refused,
    /// Nothing is stored.
    Nothing,
    /// They may be stored.
    Unknown,
}

impl Told {
    /// The results of increments.
    pub(crate) fn sums(self) -> Vec<Option<i64>> {
        if let Self::Done(sums) = self { sums } else { Vec::new() }
    }
}

/// The result of loading rows.
#[derive(Clone, Debug)]
pub(crate) enum Taken {
    /// A load with this number took those that are true.
    Load(u64, Vec<bool>),
    /// They were written.
    Written(Vec<Told>),
}

/// The loads that failed, and whether something of them may be stored; nothing if storing was not asked for.
pub(crate) type Failed = Option<Vec<(u64, Told)>>;

/// The rows that a reader saw, while the clock showed these seconds.
#[derive(Clone, Debug)]
pub(crate) struct Sight {
    pub(crate) rows: Vec<(usize, Seen)>,
    pub(crate) seconds: Vec<i64>,
}

/// One request, or the part of it that is about this partition key. Transactions have numbers.
#[derive(Debug)]
pub(crate) enum Entry {
    Write(Option<u64>, Vec<Write>, Slot<Told>),
    /// Nothing was seen if the read failed.
    Read(Option<u64>, Slot<Option<Sight>>),
    Start(u64),
    End(u64, Slot<Told>),
    /// The loader with this number.
    Load(u64, Vec<Write>, Slot<Taken>),
    /// A loader's rows are stored, but these loads are not or may not be. None: storing was not asked for.
    Landed(u64, Slot<Failed>),
}

/// One of the states that the rows may be in.
#[derive(Clone, Debug, PartialEq)]
struct State {
    rows: Vec<Row>,
    /// The open transaction, and the rows as it sees them.
    inside: Option<(u64, Vec<Row>)>,
    /// They may land at any moment.
    loads: Vec<Load>,
}

/// Rows that were taken by a loader, and are not known to be stored.
#[derive(Clone, Debug)]
struct Load {
    loader: u64,
    number: u64,
    rows: Rc<Vec<Write>>,
    landed: bool,
}

impl PartialEq for Load {
    fn eq(&self, other: &Self) -> bool {
        (self.loader, self.number, self.landed) == (other.loader, other.number, other.landed)
    }
}

/// The rows of one partition key.
pub(crate) struct History {
    pub(crate) rules: Rules,
    /// Every second that the clock has shown.
    seconds: Rc<RefCell<Vec<i64>>>,
    states: Vec<State>,
    waiting: VecDeque<Entry>,
    /// The entries that were gone through, for the report of an error.
    past: VecDeque<Entry>,
}

const REPORTED: usize = 30;

impl Entry {
    fn is_told(&self) -> bool {
        match self {
            Self::Write(_, _, told) | Self::End(_, told) => told.get().is_some(),
            Self::Read(_, sight) => sight.get().is_some(),
            Self::Load(_, _, taken) => taken.get().is_some(),
            Self::Landed(_, told) => told.get().is_some(),
            Self::Start(_) => true,
        }
    }

    /// Everything is lost before the client is told.
    fn lose(&self) {
        match self {
            Self::Write(Some(_), _, told) => drop(told.set(Told::Nothing)),
            Self::Write(None, _, told) | Self::End(_, told) => drop(told.set(Told::Unknown)),
            Self::Read(_, sight) => drop(sight.set(None)),
            Self::Load(_, writes, taken) => drop(taken.set(Taken::Written(vec![Told::Unknown; writes.len()]))),
            Self::Landed(_, told) => drop(told.set(None)),
            Self::Start(_) => {}
        }
    }
}

impl State {
    /// The rows that a request sees: its transaction's, if it still has one.
    fn seen_by(&mut self, transaction: Option<u64>) -> Option<&mut Vec<Row>> {
        match (transaction, &mut self.inside) {
            (None, _) => Some(&mut self.rows),
            (Some(number), Some((open, rows))) if number == *open => Some(rows),
            _ => None,
        }
    }

    /// The state after writes, if these can have come to that.
    fn after(
        mut self,
        transaction: Option<u64>,
        writes: &[Write],
        sums: &[Option<i64>],
        (rules, now): (Rules, i64),
    ) -> Option<Self> {
        let rows = self.seen_by(transaction)?;
        for (write, sum) in writes.iter().zip(sums) {
            if !write.holds(rows, rules, now) {
                return None;
            }
            let came_to = write.apply(rows, rules, now);
            if sum.is_some() && came_to != *sum {
                return None;
            }
        }
        if transaction.is_none() {
            // A transaction that still was there would have kept the writer out.
            self.inside = None;
        }
        Some(self)
    }

    /// With the rows of a load that were not there before.
    fn with_load(mut self, at: usize, rules: Rules) -> Self {
        self.loads[at].landed = true;
        for write in self.loads[at].rows.iter() {
            write.apply(&mut self.rows, rules, write.second);
        }
        self
    }
}

impl History {
    pub(crate) fn new(rows: usize, rules: Rules, seconds: Rc<RefCell<Vec<i64>>>) -> Self {
        let state = State { rows: vec![Row::default(); rows], inside: None, loads: Vec::new() };
        Self { rules, seconds, states: vec![state], waiting: VecDeque::new(), past: VecDeque::new() }
    }

    pub(crate) fn ask(&mut self, entry: Entry) {
        self.waiting.push_back(entry);
    }

    /// How many states the rows may be in.
    pub(crate) fn doubts(&self) -> usize {
        self.states.len()
    }

    /// Everything in memory is lost.
    pub(crate) fn crash(&mut self) -> Result<(), String> {
        self.waiting.iter().for_each(Entry::lose);
        self.settle()?;
        // A load that somebody has asked for may have been stored.
        self.land_any();
        for state in &mut self.states {
            state.loads.clear();
            state.inside = None;
        }
        self.dedup();
        Ok(())
    }

    /// Goes through what clients were told.
    ///
    /// # Errors
    /// An observation that no state explains.
    pub(crate) fn settle(&mut self) -> Result<(), String> {
        while self.waiting.front().is_some_and(Entry::is_told) {
            let Some(entry) = self.waiting.pop_front() else { break };
            self.land_any();
            let before = self.states.clone();
            self.go_through(&entry);
            if self.states.is_empty() {
                let past: Vec<String> = self.past.iter().map(|entry| format!("{entry:?}")).collect();
                return Err(format!("{}\nthen {entry:?}\nof {before:?}", past.join("\n")));
            }
            self.dedup();
            self.past.push_back(entry);
            if self.past.len() > REPORTED {
                self.past.pop_front();
            }
        }
        Ok(())
    }

    /// Whether everyone was told.
    pub(crate) fn is_settled(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Rows that are being loaded may have landed since.
    fn land_any(&mut self) {
        let mut at = 0;
        while at < self.states.len() {
            let landed: Vec<State> = (0..self.states[at].loads.len())
                .filter(|load| !self.states[at].loads[*load].landed)
                .map(|load| self.states[at].clone().with_load(load, self.rules))
                .filter(|state| !self.states.contains(state))
                .collect();
            self.states.extend(landed);
            at += 1;
        }
    }

    fn dedup(&mut self) {
        let mut kept: Vec<State> = Vec::with_capacity(self.states.len());
        for state in self.states.drain(..) {
            if !kept.contains(&state) {
                kept.push(state);
            }
        }
        self.states = kept;
    }

    /// The seconds at which writes may have been decided: those that the clock has shown since they were asked for.
    fn seconds_of<'s>(seconds: &'s [i64], writes: &[Write]) -> &'s [i64] {
        let asked = writes.first().map_or(i64::MAX, |write| write.second);
        &seconds[seconds.partition_point(|second| *second < asked)..]
    }

    fn go_through(&mut self, entry: &Entry) {
        let rules = self.rules;
        let states = std::mem::take(&mut self.states);
        self.states = match entry {
            Entry::Write(transaction, writes, told) => {
                let told = told.get().cloned().unwrap_or(Told::Unknown);
                let (seconds, seconds_of) = (self.seconds.borrow(), Self::seconds_of);
                let of = |state| written(state, *transaction, writes, &told, (rules, seconds_of(&seconds, writes)));
                states.into_iter().flat_map(of).collect()
            }
            Entry::Read(transaction, sight) => {
                let Some(Some(sight)) = sight.get() else {
                    self.states = states;
                    return;
                };
                let sees = |state: &mut State| {
                    let Some(rows) = state.seen_by(*transaction) else { return false };
                    let at =
                        |second: &i64| sight.rows.iter().all(|(row, seen)| rows[*row].is_seen(seen, rules, *second));
                    sight.seconds.iter().any(at)
                };
                states.into_iter().filter_map(|mut state| sees(&mut state).then_some(state)).collect()
            }
            Entry::Start(number) => {
                let start = |state: State| State { inside: Some((*number, state.rows.clone())), ..state };
                states.into_iter().map(start).collect()
            }
            Entry::End(number, told) => {
                let told = told.get().cloned().unwrap_or(Told::Unknown);
                states.into_iter().flat_map(|state| ended(state, *number, &told)).collect()
            }
            Entry::Load(loader, writes, taken) => match taken.get() {
                Some(Taken::Load(load, rows)) => {
                    let of: Vec<Write> =
                        writes.iter().zip(rows).filter(|row| *row.1).map(|row| row.0.clone()).collect();
                    let load = Load { loader: *loader, number: *load, rows: Rc::new(of), landed: false };
                    let mut states = states;
                    states.iter_mut().for_each(|state| state.loads.push(load.clone()));
                    states
                }
                Some(Taken::Written(all)) => {
                    let (mut states, seconds) = (states, self.seconds.borrow());
                    for (write, told) in writes.iter().zip(all) {
                        let one = std::slice::from_ref(write);
                        let at = (rules, Self::seconds_of(&seconds, one));
                        states = states.into_iter().flat_map(|state| written(state, None, one, told, at)).collect();
                    }
                    states
                }
                None => states,
            },
            Entry::Landed(loader, told) => {
                let failed = told.get().cloned().flatten();
                states.into_iter().filter_map(|state| landed(state, *loader, failed.as_deref())).collect()
            }
        };
    }
}

/// The states after writes, which were decided at one of these seconds.
fn written(
    state: State,
    transaction: Option<u64>,
    writes: &[Write],
    told: &Told,
    (rules, seconds): (Rules, &[i64]),
) -> Vec<State> {
    let after = |state: &State, sums: &[Option<i64>]| {
        let mut all: Vec<State> = Vec::new();
        for &now in seconds {
            let next = state.clone().after(transaction, writes, sums, (rules, now));
            all.extend(next.filter(|next| !all.contains(next)));
        }
        all
    };
    match told {
        Told::Done(sums) => after(&state, sums),
        Told::Nothing => vec![state],
        Told::Refused => {
            let mut state = state;
            let Some(rows) = state.seen_by(transaction) else { return vec![state] };
            let holds = |now: &i64| writes.iter().all(|write| write.holds(rows, rules, *now));
            if seconds.iter().all(holds) { Vec::new() } else { vec![state] }
        }
        Told::Unknown => {
            let after = after(&state, &vec![None; writes.len()]);
            std::iter::once(state).chain(after).collect()
        }
    }
}

/// The states after the end of a transaction.
fn ended(state: State, number: u64, told: &Told) -> Vec<State> {
    let State { rows, inside, loads } = state;
    let (open, other) = match inside {
        Some((open, inside)) if open == number => (Some(inside), None),
        other => (None, other),
    };
    let without = State { rows, inside: other, loads: loads.clone() };
    let with = open.map(|rows| State { rows, inside: None, loads });
    match told {
        Told::Done(_) => with.into_iter().collect(),
        Told::Nothing | Told::Refused => vec![without],
        Told::Unknown => std::iter::once(without).chain(with).collect(),
    }
}

/// The state when a loader's loads have landed, but for those that failed; or when they were given up.
fn landed(mut state: State, loader: u64, failed: Option<&[(u64, Told)]>) -> Option<State> {
    let possible = failed.is_none_or(|failed| {
        let told = |load: u64| failed.iter().find(|other| other.0 == load).map(|other| &other.1);
        state.loads.iter().filter(|load| load.loader == loader).all(|load| match told(load.number) {
            None => load.landed,
            Some(Told::Unknown) => true,
            Some(_) => !load.landed,
        })
    });
    state.loads.retain(|load| load.loader != loader);
    possible.then_some(state)
}
