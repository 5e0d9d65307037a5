//! Regular expressions, in linear time: a program of states, and threads that walk through it side by side.
//!
//! They find what the crate regex-lite finds (the leftmost match, of those the one that the expression prefers), and only what
//! is asked for here: where the first group is. The crate weighs 10 KB more.

mod parse;
#[cfg(test)]
mod tests;

use parse::parse;

/// A part of an expression.
#[derive(Debug)]
enum Node {
    Empty,
    /// One character of these ascending ranges.
    Set(Vec<(char, char)>),
    Look(Look),
    Repeat {
        node: Box<Node>,
        min: u32,
        max: Option<u32>,
        greedy: bool,
    },
    /// A group that captures, by its number from 1.
    Group(usize, Box<Node>),
    /// One after the other.
    All(Vec<Node>),
    /// One of them, the earlier the better.
    Any(Vec<Node>),
}

/// What is true of a place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Start,
    End,
    StartLf,
    EndLf,
    StartCrlf,
    EndCrlf,
    Word,
    NotWord,
    WordStart,
    WordEnd,
    WordStartHalf,
    WordEndHalf,
}

impl Look {
    fn holds(self, text: &[u8], at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|at| text.get(at)).copied();
        let after = text.get(at).copied();
        let word = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        match self {
            Self::Start => before.is_none(),
            Self::End => after.is_none(),
            Self::StartLf => matches!(before, None | Some(b'\n')),
            Self::EndLf => matches!(after, None | Some(b'\n')),
            Self::StartCrlf => matches!(before, None | Some(b'\n')) || before == Some(b'\r') && after != Some(b'\n'),
            Self::EndCrlf => matches!(after, None | Some(b'\r')) || after == Some(b'\n') && before != Some(b'\r'),
            Self::Word => word(before) != word(after),
            Self::NotWord => word(before) == word(after),
            Self::WordStart => !word(before) && word(after),
            Self::WordEnd => word(before) && !word(after),
            Self::WordStartHalf => !word(before),
            Self::WordEndHalf => !word(after),
        }
    }
}

type StateId = u32;

#[derive(Clone, Debug)]
enum State {
    /// One character of these ranges, then the next state.
    Set(Vec<(char, char)>, StateId),
    Look(Look, StateId),
    /// Notes the place in a slot.
    Save(usize, StateId),
    /// All of them, the earlier the better.
    Split(Vec<StateId>),
    Match,
}

/// Where the whole match and the first group start and end.
type Slots = [usize; 4];
const NONE: usize = usize::MAX;

/// A compiled expression.
#[derive(Clone, Debug)]
pub(super) struct Regex {
    states: Vec<State>,
    start: StateId,
    /// What is found starts where the text does.
    anchored: bool,
    groups: usize,
    bytes: usize,
}

/// What a state weighs, and a range or a branch in it, as wasm has them: a program is as large on every machine.
const STATE_BYTES: usize = 16;
const PART_BYTES: usize = 8;

impl Regex {
    /// Compiles an expression to a program of at most `max_bytes`, about.
    ///
    /// # Errors
    /// What is wrong with the expression.
    pub(super) fn new(text: &str, max_bytes: usize) -> Result<Self, &'static str> {
        let node = parse(text)?;
        let anchored = starts_at_start(&node);
        let mut regex = Self { states: Vec::new(), start: 0, anchored, groups: 0, bytes: 0 };
        let end = regex.add(State::Match);
        regex.start = regex.emit(&Node::Group(0, Box::new(node)), end, max_bytes);
        if regex.bytes > max_bytes { Err("compiled regex exceeded size limit") } else { Ok(regex) }
    }

    /// How large it is, about, whatever the machine.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many groups it has, itself included.
    pub(super) fn groups(&self) -> usize {
        self.groups + 1
    }

    fn add(&mut self, state: State) -> StateId {
        let parts = match &state {
            State::Set(ranges, _) if !matches!(ranges[..], [(first, last)] if first == last) => ranges.len(),
            State::Split(targets) => targets.len(),
            _ => 0,
        };
        self.bytes += STATE_BYTES + parts * PART_BYTES;
        self.states.push(state);
        self.states.len() as StateId - 1
    }

    /// The first state of `node`, which goes on to the state `next`. Stops when the program is too large.
    fn emit(&mut self, node: &Node, next: StateId, max_bytes: usize) -> StateId {
        if self.bytes > max_bytes {
            return next;
        }
        match node {
            Node::Empty => {
                // So that it ends to repeat nothing without end.
                self.bytes += STATE_BYTES;
                next
            }
            Node::Set(ranges) => self.add(State::Set(ranges.clone(), next)),
            Node::Look(look) => self.add(State::Look(*look, next)),
            Node::Group(group, node) => {
                self.groups = self.groups.max(*group);
                let end = self.add(State::Save(group * 2 + 1, next));
                let start = self.emit(node, end, max_bytes);
                self.add(State::Save(group * 2, start))
            }
            Node::All(nodes) => nodes.iter().rev().fold(next, |next, node| self.emit(node, next, max_bytes)),
            Node::Any(nodes) => {
                let starts = nodes.iter().map(|node| self.emit(node, next, max_bytes)).collect();
                self.add(State::Split(starts))
            }
            Node::Repeat { node, min, max, greedy } => {
                let order = |again, next| State::Split(if *greedy { vec![again, next] } else { vec![next, again] });
                let (mut left, mut start) = (*min, next);
                if let Some(max) = max {
                    for _ in left..*max {
                        if self.bytes > max_bytes {
                            break;
                        }
                        let again = self.emit(node, start, max_bytes);
                        start = self.add(order(again, next));
                    }
                } else {
                    let split = self.add(State::Match);
                    let again = self.emit(node, split, max_bytes);
                    self.states[split as usize] = order(again, next);
                    start = match left {
                        // What may be empty is entered by a split of its own, or the wrong way through it would come first.
                        0 if may_be_empty(node) => self.add(order(again, next)),
                        0 => split,
                        _ => again,
                    };
                    left = left.saturating_sub(1);
                }
                for _ in 0..left {
                    if self.bytes > max_bytes {
                        break;
                    }
                    start = self.emit(node, start, max_bytes);
                }
                start
            }
        }
    }

    /// What the first group found in `text`, or the whole expression if it has none.
    pub(super) fn find<'a>(&self, text: &'a str) -> Option<&'a str> {
        let slots = self.search(text)?;
        let of = if self.groups > 0 { 2 } else { 0 };
        text.get(slots[of]..slots[of + 1])
    }

    fn search(&self, text: &str) -> Option<Slots> {
        let mut found = None;
        let (mut threads, mut next) = (Vec::new(), Vec::new());
        let mut search = Search { states: &self.states, text, reached: vec![0; self.states.len()], stack: Vec::new() };
        let mut chars = text.chars();
        loop {
            let at = text.len() - chars.as_str().len();
            if threads.is_empty() && (found.is_some() || self.anchored && at > 0) {
                break;
            }
            if found.is_none() {
                search.reach(self.start, [NONE; 4], at, &mut threads);
            }
            let char = chars.next();
            let behind = text.len() - chars.as_str().len();
            for (state, slots) in threads.drain(..) {
                match (&self.states[state as usize], char) {
                    (State::Match, _) => {
                        found = Some(slots);
                        break;
                    }
                    (State::Set(ranges, target), Some(char)) if is_in(ranges, char) => {
                        search.reach(*target, slots, behind, &mut next);
                    }
                    _ => {}
                }
            }
            if char.is_none() {
                break;
            }
            std::mem::swap(&mut threads, &mut next);
        }
        found
    }
}

fn is_in(ranges: &[(char, char)], char: char) -> bool {
    ranges.iter().any(|&(first, last)| first <= char && char <= last)
}

/// The states that threads are in, the preferred ones first.
type Threads = Vec<(StateId, Slots)>;

struct Search<'a> {
    states: &'a [State],
    text: &'a str,
    /// For each state, the last place at which a thread was in it, plus one: of two threads the first one goes on.
    reached: Vec<usize>,
    stack: Threads,
}

impl Search<'_> {
    /// Adds the states to `threads` that one gets to from `state` without a character.
    fn reach(&mut self, state: StateId, slots: Slots, at: usize, threads: &mut Threads) {
        let stack = &mut self.stack;
        stack.push((state, slots));
        while let Some((state, mut slots)) = stack.pop() {
            let last = std::mem::replace(&mut self.reached[state as usize], at + 1);
            if last == at + 1 {
                continue;
            }
            match &self.states[state as usize] {
                State::Set(..) | State::Match => threads.push((state, slots)),
                State::Look(look, target) => {
                    if look.holds(self.text.as_bytes(), at) {
                        stack.push((*target, slots));
                    }
                }
                State::Save(slot, target) => {
                    if let Some(slot) = slots.get_mut(*slot) {
                        *slot = at;
                    }
                    stack.push((*target, slots));
                }
                State::Split(targets) => stack.extend(targets.iter().rev().map(|target| (*target, slots))),
            }
        }
    }
}

fn may_be_empty(node: &Node) -> bool {
    match node {
        Node::Empty | Node::Look(_) => true,
        Node::Set(_) => false,
        Node::Repeat { node, min, .. } => *min == 0 || may_be_empty(node),
        Node::Group(_, node) => may_be_empty(node),
        Node::All(nodes) => nodes.iter().all(may_be_empty),
        Node::Any(nodes) => nodes.iter().any(may_be_empty),
    }
}

fn starts_at_start(node: &Node) -> bool {
    match node {
        Node::Look(look) => *look == Look::Start,
        Node::Empty | Node::Set(_) => false,
        Node::Repeat { node, min, .. } => *min > 0 && starts_at_start(node),
        Node::Group(_, node) => starts_at_start(node),
        Node::All(nodes) => nodes.first().is_some_and(starts_at_start),
        Node::Any(nodes) => nodes.iter().all(starts_at_start),
    }
}
