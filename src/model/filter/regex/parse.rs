//! Regular expressions as text to a tree.
//!
//! The syntax is that of the crate regex-lite, to which the tests compare this: case is folded and classes are ASCII, there is
//! neither look-around nor a back-reference, and classes do not nest.

use super::{Look, Node};

type Parsed<T> = Result<T, &'static str>;
type Ranges = Vec<(char, char)>;

/// Groups in groups, at most, and operators around each other.
const DEPTH: usize = 50;

/// The inline flags; `u` is known and does nothing.
const FLAGS: &str = "imsUxRu";
const FOLD: u32 = 1;
const LINES: u32 = 2;
const DOT_IS_ALL: u32 = 4;
const SWAP_GREED: u32 = 8;
const SPACED: u32 = 16;
const CRLF: u32 = 32;

/// The tree of an expression.
pub(super) fn parse(text: &str) -> Parsed<Node> {
    let mut parser = Parser { text: text.chars().collect(), at: 0, flags: 0, depth: 0, groups: 0, names: Vec::new() };
    let node = parser.alternatives()?;
    if depth(&node) > DEPTH { Err("pattern has too much nesting") } else { Ok(node) }
}

fn depth(node: &Node) -> usize {
    match node {
        Node::Empty | Node::Set(_) | Node::Look(_) => 0,
        Node::Repeat { node, .. } | Node::Group(_, node) => 1 + depth(node),
        Node::All(nodes) | Node::Any(nodes) => 1 + nodes.iter().map(depth).max().unwrap_or(0),
    }
}

struct Parser {
    text: Vec<char>,
    at: usize,
    flags: u32,
    depth: usize,
    groups: usize,
    names: Vec<Vec<char>>,
}

impl Parser {
    fn char(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn is(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// Steps over a character. Whether something is left.
    fn bump(&mut self) -> bool {
        self.at += 1;
        self.char().is_some()
    }

    fn bump_and_space(&mut self) -> bool {
        self.at += 1;
        self.space();
        self.char().is_some()
    }

    fn bump_if(&mut self, prefix: &str) -> bool {
        let mut rest = self.text.iter().skip(self.at);
        let starts = prefix.chars().all(|char| rest.next() == Some(&char));
        if starts {
            self.at += prefix.len();
        }
        starts
    }

    /// Steps over white space and comments, where they mean nothing.
    fn space(&mut self) {
        if !self.is(SPACED) {
            return;
        }
        let mut comment = false;
        while let Some(char) = self.char().filter(|char| comment || char.is_whitespace() || *char == '#') {
            comment = (comment || char == '#') && char != '\n';
            self.at += 1;
        }
    }

    /// What stands behind this character, and the space behind it.
    fn peek_behind_space(&mut self) -> Option<char> {
        let at = self.at;
        self.bump_and_space();
        let behind = self.char();
        self.at = at;
        behind
    }

    fn alternatives(&mut self) -> Parsed<Node> {
        if self.depth > DEPTH {
            return Err("pattern has too much nesting");
        }
        self.depth += 1;
        let (mut any, mut all) = (Vec::new(), Vec::new());
        loop {
            self.space();
            match self.char() {
                None => break,
                Some('(') => {
                    let flags = self.flags;
                    if let Some(node) = self.group()? {
                        all.push(node);
                        self.flags = flags;
                    }
                    if self.char() != Some(')') {
                        return Err("found open group without closing ')'");
                    }
                    self.at += 1;
                }
                Some(')') if self.depth == 1 => return Err("found closing ')' without matching '('"),
                Some(')') => break,
                Some('|') => {
                    any.push(all_of(std::mem::take(&mut all)));
                    self.at += 1;
                }
                Some('[') => all.push(self.class()?),
                Some(char @ ('?' | '*' | '+')) => {
                    let error = "uncounted repetition operator must be applied to a sub-expression";
                    let node = all.pop().ok_or(error)?;
                    let (min, max) = match char {
                        '?' => (0, Some(1)),
                        '*' => (0, None),
                        _ => (1, None),
                    };
                    self.at += 1;
                    all.push(self.repeat(node, min, max));
                }
                Some('{') => {
                    let error = "counted repetition operator must be applied to a sub-expression";
                    let node = all.pop().ok_or(error)?;
                    let (min, max) = self.counts()?;
                    let repeat = self.repeat(node, min, max);
                    if max.is_some_and(|max| min > max) {
                        return Err("found counted repetition with a min bigger than its max");
                    }
                    all.push(repeat);
                }
                Some(char) => {
                    self.at += 1;
                    all.push(self.primitive(char)?);
                }
            }
        }
        self.depth -= 1;
        any.push(all_of(all));
        Ok(if any.len() > 1 { Node::Any(any) } else { any.pop().unwrap_or(Node::Empty) })
    }

    fn repeat(&mut self, node: Node, min: u32, max: Option<u32>) -> Node {
        let lazy = self.char() == Some('?');
        self.at += usize::from(lazy);
        let greedy = lazy == self.is(SWAP_GREED);
        match (min, max) {
            (0, Some(0)) => Node::Empty,
            (1, Some(1)) => node,
            _ => Node::Repeat { node: Box::new(node), min, max, greedy },
        }
    }

    /// What stands in braces behind what is repeated.
    fn counts(&mut self) -> Parsed<(u32, Option<u32>)> {
        if !self.bump_and_space() {
            return Err("found unclosed counted repetition operator");
        }
        let min = self.decimal()?;
        let mut max = Some(min);
        if self.char().is_none() {
            return Err("found incomplete and unclosed counted repetition operator");
        }
        if self.char() == Some(',') {
            if !self.bump_and_space() {
                return Err("found counted repetition operator with a comma that is unclosed");
            }
            max = if self.char() == Some('}') { None } else { Some(self.decimal()?) };
            if self.char().is_none() {
                return Err("found counted repetition with min and max that is unclosed");
            }
        }
        if self.char() != Some('}') {
            return Err("expected closing brace for counted repetition, but got something else");
        }
        self.bump_and_space();
        Ok((min, max))
    }

    fn decimal(&mut self) -> Parsed<u32> {
        while self.char().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
        let mut number = None;
        while let Some(digit) = self.char().and_then(|char| char.to_digit(10)) {
            let before = number.unwrap_or(Some(0_u32));
            number = Some(before.and_then(|before| before.checked_mul(10)?.checked_add(digit)));
            self.bump_and_space();
        }
        while self.char().is_some_and(char::is_whitespace) {
            self.bump_and_space();
        }
        number.ok_or("expected decimal number, but found no digits")?.ok_or("got invalid decimal number")
    }

    fn primitive(&mut self, char: char) -> Parsed<Node> {
        let look = |parser: &Self, lf, crlf, whole| match (parser.is(LINES), parser.is(CRLF)) {
            (true, true) => crlf,
            (true, false) => lf,
            (false, _) => whole,
        };
        Ok(match char {
            '\\' => return self.escape(),
            '.' if self.is(DOT_IS_ALL) => Node::Set(vec![('\0', char::MAX)]),
            '.' if self.is(CRLF) => Node::Set(negated(vec![('\n', '\n'), ('\r', '\r')])),
            '.' => Node::Set(negated(vec![('\n', '\n')])),
            '^' => Node::Look(look(self, Look::StartLf, Look::StartCrlf, Look::Start)),
            '$' => Node::Look(look(self, Look::EndLf, Look::EndCrlf, Look::End)),
            _ => self.literal(char),
        })
    }

    fn literal(&self, char: char) -> Node {
        let ranges = vec![(char, char)];
        Node::Set(if self.is(FOLD) { folded(ranges) } else { ranges })
    }

    /// What stands behind a backslash.
    fn escape(&mut self) -> Parsed<Node> {
        let char = self.char().ok_or("saw start of escape sequence, but saw end of pattern before it finished")?;
        self.at += 1;
        Ok(match char {
            '0'..='9' => return Err("backreferences are not supported"),
            'p' | 'P' => return Err("Unicode character classes are not supported"),
            'x' => return self.hex(2),
            'u' => return self.hex(4),
            'U' => return self.hex(8),
            'd' | 's' | 'w' | 'D' | 'S' | 'W' => {
                let name = match char.to_ascii_lowercase() {
                    'd' => "digit",
                    's' => "space",
                    _ => "word",
                };
                let ranges = named_class(name).unwrap_or_default();
                Node::Set(if char.is_ascii_uppercase() { negated(ranges) } else { ranges })
            }
            'a' => self.literal('\x07'),
            'f' => self.literal('\x0C'),
            't' => self.literal('\t'),
            'n' => self.literal('\n'),
            'r' => self.literal('\r'),
            'v' => self.literal('\x0B'),
            'A' => Node::Look(Look::Start),
            'z' => Node::Look(Look::End),
            'b' if self.char() == Some('{') => Node::Look(self.special_boundary()?.unwrap_or(Look::Word)),
            'b' => Node::Look(Look::Word),
            'B' => Node::Look(Look::NotWord),
            '<' => Node::Look(Look::WordStart),
            '>' => Node::Look(Look::WordEnd),
            _ if char.is_ascii() && !char.is_ascii_alphanumeric() => self.literal(char),
            _ => return Err("unrecognized escape sequence"),
        })
    }

    /// What stands in braces behind `\b`, unless it is a number of repetitions.
    fn special_boundary(&mut self) -> Parsed<Option<Look>> {
        let start = self.at;
        if !self.bump_and_space() {
            return Err("found start of special word boundary or repetition without an end");
        }
        let mut name = String::new();
        while let Some(char) = self.char().filter(|char| char.is_ascii_alphabetic() || *char == '-') {
            name.push(char);
            self.bump_and_space();
        }
        if name.is_empty() {
            self.at = start;
            return Ok(None);
        }
        if self.char() != Some('}') {
            return Err("special word boundary assertion is unclosed or has an invalid character");
        }
        self.at += 1;
        Ok(Some(match name.as_str() {
            "start" => Look::WordStart,
            "end" => Look::WordEnd,
            "start-half" => Look::WordStartHalf,
            "end-half" => Look::WordEndHalf,
            _ => return Err("special word boundary assertion is unrecognized"),
        }))
    }

    /// A character by its number: so many digits, or any number in braces.
    fn hex(&mut self, length: usize) -> Parsed<Node> {
        self.space();
        if self.char().is_none() {
            return Err("expected hexadecimal number, but saw end of pattern first");
        }
        let digit = |parser: &Self| parser.char().and_then(|char| char.to_digit(16));
        let (mut number, mut invalid) = (0_u32, "got invalid fixed length hexadecimal number");
        let mut push = |digit: u32| number = if number < 1 << 28 { number << 4 | digit } else { u32::MAX };
        if self.char() == Some('{') {
            invalid = "got invalid hexadecimal number in braces";
            let mut empty = true;
            while self.bump_and_space() && self.char() != Some('}') {
                push(digit(self).ok_or("expected hexadecimal number in braces, but got non-hex digit")?);
                empty = false;
            }
            if self.char().is_none() {
                return Err("expected hexadecimal number, but saw end of pattern before closing brace");
            }
            if empty {
                return Err("expected hexadecimal number in braces, but got no digits");
            }
        } else {
            for at in 0..length {
                if at > 0 && !self.bump_and_space() {
                    return Err("expected fixed length hexadecimal number, but saw end of pattern first");
                }
                push(digit(self).ok_or("expected fixed length hexadecimal number, but got non-hex digit")?);
            }
        }
        self.bump_and_space();
        char::from_u32(number).map(|char| self.literal(char)).ok_or(invalid)
    }

    /// A group without its closing parenthesis; `None` is one that only sets flags.
    fn group(&mut self) -> Parsed<Option<Node>> {
        self.bump_and_space();
        if ["?=", "?!", "?<=", "?<!"].into_iter().any(|prefix| self.bump_if(prefix)) {
            return Err("look-around is not supported");
        }
        let named = self.bump_if("?P<") || self.bump_if("?<");
        if !named && self.bump_if("?") {
            if self.char().is_none() {
                return Err("expected closing ')', but got end of pattern");
            }
            let start = self.at;
            self.read_flags()?;
            if self.char() == Some(')') {
                return if self.at == start { Err("empty flag directive '(?)' is not allowed") } else { Ok(None) };
            }
            self.at += 1;
            return self.alternatives().map(Some);
        }
        self.groups += 1;
        let group = self.groups;
        if named {
            self.group_name()?;
        }
        Ok(Some(Node::Group(group, Box::new(self.alternatives()?))))
    }

    fn group_name(&mut self) -> Parsed<()> {
        if self.char().is_none() {
            return Err("expected capture group name, but got end of pattern");
        }
        let mut name = Vec::new();
        while let Some(char) = self.char().filter(|char| *char != '>') {
            let later = !name.is_empty() && (matches!(char, '.' | '[' | ']') || char.is_numeric());
            if char != '_' && !char.is_alphabetic() && !later {
                return Err("invalid group name");
            }
            name.push(char);
            self.at += 1;
        }
        if self.char().is_none() {
            return Err("expected end of capture group name, but got end of pattern");
        }
        self.at += 1;
        if name.is_empty() {
            return Err("empty capture group names are not allowed");
        }
        if self.names.contains(&name) {
            return Err("duplicate capture group name");
        }
        self.names.push(name);
        Ok(())
    }

    fn read_flags(&mut self) -> Parsed<()> {
        let (mut flags, mut seen, mut negate, mut dangling) = (self.flags, 0, false, false);
        while let Some(char) = self.char().filter(|char| !matches!(char, ':' | ')')) {
            dangling = char == '-';
            if dangling {
                if negate {
                    return Err("inline flag negation cannot be repeated");
                }
                negate = true;
            } else {
                let flag = 1 << FLAGS.find(char).ok_or("unrecognized inline flag")?;
                flags = if negate { flags & !flag } else { flags | flag };
                if seen & flag != 0 {
                    return Err("duplicate inline flag is not allowed");
                }
                seen |= flag;
            }
            if !self.bump() {
                return Err("expected ':' or ')' to end inline flags, but got end of pattern");
            }
        }
        if dangling {
            return Err("inline flags cannot end with negation directive");
        }
        self.flags = flags;
        Ok(())
    }

    fn class(&mut self) -> Parsed<Node> {
        let mut ranges = Vec::new();
        if !self.bump_and_space() {
            return Err("found unclosed character class");
        }
        let negate = self.char() == Some('^');
        if negate && !self.bump_and_space() {
            return Err("negated character class has no closing bracket");
        }
        while self.char() == Some('-') {
            ranges.push(('-', '-'));
            if !self.bump_and_space() {
                return Err("non-empty character class has no closing bracket after dash");
            }
        }
        if ranges.is_empty() && self.char() == Some(']') {
            ranges.push((']', ']'));
            if !self.bump_and_space() {
                return Err("character class begins with literal ']' but has no closing bracket");
            }
        }
        loop {
            self.space();
            let char = self.char().ok_or("found unclosed character class")?;
            let twice = self.text.get(self.at + 1) == Some(&char);
            match char {
                '[' => ranges.extend(self.posix_class().ok_or("nested character classes are not supported")?),
                ']' => break,
                '&' if twice => return Err("character class intersection is not supported"),
                '-' if twice => return Err("character class difference is not supported"),
                '~' if twice => return Err("character class symmetric difference is not supported"),
                _ => self.class_range(&mut ranges)?,
            }
        }
        self.at += 1;
        let ranges = if self.is(FOLD) { folded(ranges) } else { sorted(ranges) };
        Ok(Node::Set(if negate { negated(ranges) } else { ranges }))
    }

    fn class_range(&mut self, ranges: &mut Ranges) -> Parsed<()> {
        let first = self.class_item()?;
        self.space();
        if self.char().is_none() {
            return Err("non-empty character class has no closing bracket");
        }
        if self.char() != Some('-') || matches!(self.peek_behind_space(), Some(']' | '-')) {
            match first {
                Node::Set(found) => ranges.extend(found),
                _ => return Err("invalid escape sequence in character class"),
            }
            return Ok(());
        }
        if !self.bump_and_space() {
            return Err("non-empty character class has no closing bracket after dash");
        }
        let last = self.class_item()?;
        let one = |node| match node {
            Node::Set(ranges) if matches!(ranges[..], [(first, last)] if first == last) => Ok(ranges[0].0),
            _ => Err("character class ranges must start and end with a single character"),
        };
        let (first, last) = (one(first)?, one(last)?);
        if first > last {
            return Err("invalid range in character class");
        }
        ranges.push((first, last));
        Ok(())
    }

    fn class_item(&mut self) -> Parsed<Node> {
        let char = self.char().unwrap_or_default();
        self.at += 1;
        if char == '\\' { self.escape() } else { Ok(Node::Set(vec![(char, char)])) }
    }

    /// A class like `[:alpha:]`, if there is one here.
    fn posix_class(&mut self) -> Option<Ranges> {
        let start = self.at;
        let found = self.bump_if("[:").then(|| {
            let negate = self.bump_if("^");
            let mut name = String::new();
            while let Some(char) = self.char().filter(|char| *char != ':') {
                name.push(char);
                self.at += 1;
            }
            let ranges = named_class(&name).filter(|_| self.bump_if(":]"))?;
            Some(if negate { negated(ranges) } else { ranges })
        });
        let found = found.flatten();
        if found.is_none() {
            self.at = start;
        }
        found
    }
}

fn all_of(mut nodes: Vec<Node>) -> Node {
    if nodes.len() > 1 { Node::All(nodes) } else { nodes.pop().unwrap_or(Node::Empty) }
}

/// The classes by their names: pairs of the first and the last character of ranges.
const CLASSES: [(&str, &str); 14] = [
    ("alnum", "09AZaz"),
    ("alpha", "AZaz"),
    ("ascii", "\0\x7f"),
    ("blank", "\t\t  "),
    ("cntrl", "\0\x1f\x7f\x7f"),
    ("digit", "09"),
    ("graph", "!~"),
    ("lower", "az"),
    ("print", " ~"),
    ("punct", "!/:@[`{~"),
    ("space", "\t\r  "),
    ("upper", "AZ"),
    ("word", "09AZ__az"),
    ("xdigit", "09AFaf"),
];

fn named_class(name: &str) -> Option<Ranges> {
    let (_, ends) = CLASSES.into_iter().find(|(other, _)| *other == name)?;
    let ends: Vec<char> = ends.chars().collect();
    Some(ends.chunks_exact(2).map(|ends| (ends[0], ends[1])).collect())
}

/// Ascending, none of which touches another.
fn sorted(mut ranges: Ranges) -> Ranges {
    let mut sorted: Ranges = Vec::new();
    while let Some(least) = (0..ranges.len()).min_by_key(|&at| ranges[at]) {
        let (first, last) = ranges.swap_remove(least);
        match sorted.last_mut() {
            Some((_, end)) if u32::from(first) <= u32::from(*end) + 1 => *end = last.max(*end),
            _ => sorted.push((first, last)),
        }
    }
    sorted
}

/// With the letters of the other case.
fn folded(mut ranges: Ranges) -> Ranges {
    for at in 0..ranges.len() {
        let (first, last) = ranges[at];
        for (from, to, change) in
            [('a', 'z', char::to_ascii_uppercase as fn(&char) -> char), ('A', 'Z', char::to_ascii_lowercase)]
        {
            let (first, last) = (first.max(from), last.min(to));
            if first <= last {
                ranges.push((change(&first), change(&last)));
            }
        }
    }
    sorted(ranges)
}

/// All characters that are in none of these ascending ranges.
fn negated(ranges: Ranges) -> Ranges {
    let (mut negated, mut next) = (Vec::new(), Some('\0'));
    for (first, last) in ranges {
        if let Some(from) = next.filter(|from| *from < first) {
            negated.extend((from..first).next_back().map(|to| (from, to)));
        }
        next = (last..=char::MAX).nth(1);
    }
    negated.extend(next.map(|from| (from, char::MAX)));
    negated
}
