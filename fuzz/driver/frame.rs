//! Frames of requests that are whole, whatever they say: any names, types, sizes, options, filters, transactions.

use super::input::Input;
use tabstore::format::wire::{put_bytes, put_sv, put_uv};

/// Tables that are there, or may be, and one that is not.
pub(crate) const TABLES: [&str; 10] =
    ["one", "one", "two", "two", "two", "counted", "counted", "by_a", "by_p_b", "nowhere"];
/// Operations, the usual ones several times.
const OPERATIONS: [u8; 21] = [1, 1, 1, 2, 2, 2, 3, 4, 4, 5, 6, 6, 7, 8, 8, 9, 10, 11, 12, 12, 13];
const COLUMNS: [&str; 12] = ["a", "a", "b", "b", "c", "c", "d", "d", "e", "e", "f", "p"];

/// A value, or what stands in the place of one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item {
    Integer(i64),
    Double(f64),
    Boolean(bool),
    Text(String),
    Binary(Vec<u8>),
    InfMin,
    InfMax,
    AutoIncrement,
}

/// Key columns as they are named in a request.
pub(crate) type Key = Vec<(String, Item)>;

/// A PutRow that was asked for plainly: in no transaction, and alone in its frame.
#[derive(Debug)]
pub(crate) struct Put {
    pub(crate) table: String,
    pub(crate) key: Key,
    /// Column, given version, value.
    pub(crate) cells: Vec<(String, Option<i64>, Item)>,
}

/// Builds a frame.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    requests: Vec<u8>,
    names: Vec<String>,
    count: u64,
}

impl Item {
    fn any(input: &mut Input<'_>) -> Self {
        match input.pick(12) {
            0..4 => Self::Integer(input.integer()),
            4..7 => Self::Text(input.text()),
            7 => Self::Binary(input.bytes()),
            8 if input.one_in(3) => Self::Double(input.double()),
            8 => Self::Double(0.5),
            9 => Self::Boolean(input.one_in(2)),
            10 => Self::Text("7".into()),
            _ if input.one_in(6) => input.of(&[&Self::InfMin, &Self::InfMax, &Self::AutoIncrement]).clone(),
            _ => Self::Integer(7),
        }
    }

    fn of_key(input: &mut Input<'_>, column: &str, range: bool) -> Self {
        match (input.pick(32), column) {
            (31, _) => Self::any(input),
            (28..31, _) if range => Self::InfMin,
            (24..28, _) if range => Self::InfMax,
            (16..31, "n") if !range => Self::AutoIncrement,
            (_, "q" | "b") => Self::Text(input.of(&["", "x", "y", "é"]).into()),
            _ => Self::Integer((input.byte() % 8).into()),
        }
    }
}

fn table(input: &mut Input<'_>) -> String {
    if input.one_in(60) { input.text() } else { input.of(&TABLES).into() }
}

fn column(input: &mut Input<'_>) -> String {
    if input.one_in(60) { input.text() } else { input.of(&COLUMNS).into() }
}

fn key(input: &mut Input<'_>, table: &str, range: bool) -> Key {
    let columns: &[&str] = match table {
        _ if input.one_in(60) => &["q", "p", "q", "p", "q"],
        "one" => &["p"],
        "two" => &["p", "q"],
        "counted" => &["p", "n"],
        "by_a" => &["a", "p", "q"],
        "by_p_b" => &["p", "b", "q"],
        _ => &[],
    };
    columns.iter().map(|name| ((*name).to_owned(), Item::of_key(input, name, range))).collect()
}

impl Builder {
    pub(crate) fn finish(self) -> Vec<u8> {
        let mut frame = vec![1];
        frame.extend((self.requests.len() as u32 + 5).to_le_bytes());
        frame.extend(&self.requests);
        put_uv(self.names.len() as u64, &mut frame);
        self.names.iter().for_each(|name| put_bytes(name.as_bytes(), &mut frame));
        frame
    }

    /// A request of any kind. Tells a PutRow that stands alone.
    pub(crate) fn request(&mut self, input: &mut Input<'_>, transactions: &[String]) -> Option<Put> {
        let operation = input.of(&OPERATIONS);
        let within = matches!(operation, 1..=4 | 6 | 7) && input.one_in(4);
        self.head(if within { operation | 0x40 } else { operation });
        if within {
            self.transaction(input, transactions);
        }
        match operation {
            1..=3 => return self.write(input, operation).filter(|_| !within),
            4 => {
                let table = table(input);
                self.name(&table);
                self.key(&key(input, &table, false));
                self.options(input);
            }
            5 => {
                let tables = self.counted(input, 4);
                for _ in 0..tables {
                    let table = table(input);
                    self.name(&table);
                    self.options(input);
                    let keys = self.counted(input, 6);
                    (0..keys).for_each(|_| self.key(&key(input, &table, false)));
                }
            }
            6 => {
                let table = table(input);
                self.name(&table);
                self.requests.push(input.of(&[0, 1]));
                self.key(&key(input, &table, true));
                self.key(&key(input, &table, true));
                self.uv(if input.one_in(2) { input.integer().cast_unsigned() } else { 0 });
                self.options(input);
            }
            8 => {
                let table = table(input);
                self.name(&table);
                let mut key = key(input, &table, false);
                key.truncate(if input.one_in(8) { 2 } else { 1 });
                self.key(&key);
            }
            9 | 10 => self.transaction(input, transactions),
            12 if input.one_in(2) => self.load(input),
            12 => {
                self.uv(input.pick(2) as u64);
                self.rows(input, &[1, 1, 1, 2]);
            }
            13 => self.uv(input.pick(2) as u64),
            _ => self.rows(input, &[1, 2, 3]),
        }
        None
    }

    fn rows(&mut self, input: &mut Input<'_>, operations: &[u8]) {
        let rows = self.counted(input, 8);
        for _ in 0..rows {
            let operation = input.of(operations);
            self.requests.push(operation);
            self.write(input, operation);
        }
    }

    /// So many puts of ascending rows that they may go into a segment at once.
    fn load(&mut self, input: &mut Input<'_>) {
        self.uv(input.pick(2) as u64);
        let rows = 250 + input.pick(20);
        self.uv(rows as u64);
        let (first, step) = (input.integer() % 300, 1 + i64::from(input.byte() % 2));
        for at in 0..rows as i64 {
            self.requests.push(1);
            self.name("one");
            self.key(&vec![("p".to_owned(), Item::Integer(first + at * step))]);
            self.requests.extend([0, 0, 0]);
            self.uv(1);
            self.name("a");
            self.requests.extend([0, 1]);
            put_sv(at, &mut self.requests);
        }
    }

    /// GetRow of everything in a row.
    pub(crate) fn get(&mut self, table: &str, key: &Key) {
        self.head(4);
        self.name(table);
        self.key(key);
        self.requests.push(1);
        self.uv(i64::MAX.cast_unsigned());
    }

    fn head(&mut self, operation: u8) {
        self.count += 1;
        self.uv(self.count);
        self.requests.push(operation);
    }

    fn uv(&mut self, value: u64) {
        put_uv(value, &mut self.requests);
    }

    fn text(&mut self, text: &str) {
        put_bytes(text.as_bytes(), &mut self.requests);
    }

    /// A count, mostly of few, and so many.
    fn counted(&mut self, input: &mut Input<'_>, few: usize) -> usize {
        let count = match input.pick(100) {
            98 => 0,
            99 => 201,
            _ => 1 + input.pick(few),
        };
        self.uv(count as u64);
        count
    }

    fn name(&mut self, name: &str) {
        let index = self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        self.uv(index as u64);
    }

    fn transaction(&mut self, input: &mut Input<'_>, transactions: &[String]) {
        let any = input.text();
        let id = if transactions.is_empty() || input.one_in(6) {
            &any
        } else {
            &transactions[input.pick(transactions.len())]
        };
        self.text(id);
    }

    fn key(&mut self, key: &Key) {
        self.requests.push(key.len() as u8);
        for (name, item) in key {
            self.name(name);
            self.item(item);
        }
    }

    fn item(&mut self, item: &Item) {
        let out = &mut self.requests;
        match item {
            Item::Integer(value) => {
                out.push(1);
                put_sv(*value, out);
            }
            Item::Double(value) => {
                out.push(2);
                out.extend(value.to_le_bytes());
            }
            Item::Boolean(value) => out.push(if *value { 4 } else { 3 }),
            Item::Text(value) => {
                out.push(5);
                put_bytes(value.as_bytes(), out);
            }
            Item::Binary(value) => {
                out.push(6);
                put_bytes(value, out);
            }
            Item::InfMin => out.push(7),
            Item::InfMax => out.push(8),
            Item::AutoIncrement => out.push(9),
        }
    }

    fn version(&mut self, input: &mut Input<'_>) -> Option<i64> {
        let version = if input.one_in(3) {
            Some(if input.one_in(12) { input.integer() } else { super::NOW + i64::from(input.byte()) })
        } else {
            None
        };
        self.requests.push(u8::from(version.is_some()));
        if let Some(version) = version {
            put_sv(version, &mut self.requests);
        }
        version
    }

    fn write(&mut self, input: &mut Input<'_>, operation: u8) -> Option<Put> {
        let table = table(input);
        let key = key(input, &table, false);
        self.name(&table);
        self.key(&key);
        self.requests.push(if input.one_in(5) { input.of(&[1, 1, 1, 2, 2, 2, 9]) } else { 0 });
        let condition = input.one_in(6);
        self.requests.push(u8::from(condition));
        if condition {
            self.filter(input, 0);
        }
        let returns =
            if input.one_in(60) { 5 } else { input.of(&[0, 0, 0, 0, 1, 1, if operation == 2 { 2 } else { 0 }]) };
        self.requests.push(returns);
        if returns == 2 {
            let columns = self.counted(input, 3);
            (0..columns).for_each(|_| self.name(&column(input)));
        }
        let mut cells = Vec::new();
        match operation {
            1 => {
                let count = if input.one_in(100) { 1025 } else { input.pick(6) };
                self.uv(count as u64);
                for at in 0..count {
                    let column = if count > 1000 { format!("c{at}") } else { column(input) };
                    self.name(&column);
                    let version = self.version(input);
                    let item = Item::any(input);
                    self.item(&item);
                    cells.push((column, version, item));
                }
                return Some(Put { table, key, cells });
            }
            2 => {
                let changes = self.counted(input, 5);
                for _ in 0..changes {
                    self.name(&column(input));
                    let kind = input.of(&[1, 1, 1, 2, 3, 4, 4]);
                    self.requests.push(kind);
                    match kind {
                        1 => {
                            self.version(input);
                            self.item(&Item::any(input));
                        }
                        3 => {}
                        _ => put_sv(input.integer(), &mut self.requests),
                    }
                }
            }
            _ => {}
        }
        None
    }

    fn options(&mut self, input: &mut Input<'_>) {
        // Mostly something that can be asked for.
        let flags =
            if input.one_in(20) { input.byte() & 0x7f } else { input.of(&[1, 1, 2, 3, 4, 9, 65, 65, 73, 49, 113]) };
        self.requests.push(flags);
        if flags & 1 != 0 {
            let many = if input.one_in(8) { input.integer().cast_unsigned() } else { 1 + u64::from(input.byte()) };
            self.uv(many);
        }
        for _ in 0..(flags >> 1 & 1) * 2 + (flags >> 2 & 1) {
            let time = if input.one_in(12) { input.integer() } else { super::NOW + i64::from(input.byte()) };
            put_sv(time, &mut self.requests);
        }
        if flags & 8 != 0 {
            let columns = self.counted(input, 4);
            (0..columns).for_each(|_| self.name(&column(input)));
        }
        for flag in [16, 32] {
            if flags & flag != 0 {
                self.text(&column(input));
            }
        }
        if flags & 64 != 0 {
            self.filter(input, 0);
        }
    }

    fn filter(&mut self, input: &mut Input<'_>, depth: u32) {
        // An input of nothing but ones must not build a tower; 64 is what the format allows.
        let composite = depth < 60 && if depth < 4 { input.one_in(3) } else { input.byte() == 255 };
        if composite {
            self.requests.extend([2, input.of(&[1, 2, 3])]);
            let children = if input.one_in(40) { 33 } else { input.pick(4) };
            self.uv(children as u64);
            // Wide ones are flat, or the frame would grow without end.
            (0..children).for_each(|_| self.filter(input, if children > 4 { 60 } else { depth + 1 }));
        } else if input.one_in(6) {
            self.requests.push(3);
            let few = if input.one_in(6) { input.integer() } else { i64::from(input.byte() % 4) };
            put_sv(few, &mut self.requests);
            put_sv(few.saturating_add(1), &mut self.requests);
        } else {
            self.requests.push(1);
            self.name(&column(input));
            let comparator = input.of(&[1, 2, 3, 4, 5, 6, 7, 8]);
            self.requests.push(comparator);
            if comparator < 7 {
                self.item(&Item::any(input));
            }
            let flags = input.byte() & 7;
            self.requests.push(flags);
            if flags & 4 != 0 {
                let patterns =
                    ["(", "a*", "([0-9]+)", "(a|b|(c))+$", "\\d{1,3}", ".*.*.*.*=.*", "[", "(?i)É", "\\p{L}"];
                let pattern = if input.one_in(4) { input.text() } else { input.of(&patterns).into() };
                self.text(&pattern);
                self.requests.push(if input.one_in(40) { 7 } else { input.of(&[0, 1, 3]) });
            }
        }
    }
}
