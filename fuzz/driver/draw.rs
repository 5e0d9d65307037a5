//! Draws requests of any kind in the layouts of the contract: any names, types, sizes, options, filters and transactions.
//!
//! A new operation, field or choice is drawn without a change here. This file only makes valid requests more frequent.

use super::described::{
    Branch, Choice, Codec, Field, IN_TRANSACTION, Operation, Shape, Unknown, Variant, operations, shape,
};
use super::frame::{Builder, Item, Key, number};
use super::input::Input;

/// Tables that exist or may exist, and one that does not.
pub(crate) const TABLES: [&str; 10] =
    ["one", "one", "two", "two", "two", "counted", "counted", "by_a", "by_p_b", "nowhere"];
const COLUMNS: [&str; 12] = ["a", "a", "b", "b", "c", "c", "d", "d", "e", "e", "f", "p"];
/// Operations that are drawn several times as often as others.
const USUAL: [(&str, usize); 6] = [
    ("PUT_ROW", 3),
    ("UPDATE_ROW", 3),
    ("GET_ROW", 2),
    ("GET_RANGE", 2),
    ("START_LOCAL_TRANSACTION", 2),
    ("PUT_ROWS", 2),
];
/// Read options that can be combined.
const OPTIONS: [&[&str]; 11] = [
    &["max_versions"],
    &["max_versions"],
    &["range"],
    &["max_versions", "range"],
    &["version"],
    &["max_versions", "columns"],
    &["max_versions", "filter"],
    &["max_versions", "filter"],
    &["max_versions", "columns", "filter"],
    &["max_versions", "start_column", "end_column"],
    &["max_versions", "start_column", "end_column", "filter"],
];
const CHANGES: [&str; 7] = ["Put", "Put", "Put", "DeleteVersion", "DeleteColumn", "Increment", "Increment"];
const PATTERNS: [&str; 9] = ["(", "a*", "([0-9]+)", "(a|b|(c))+$", "\\d{1,3}", ".*.*.*.*=.*", "[", "(?i)É", "\\p{L}"];
/// A depth that the format allows. A filter at this depth has no composite ones.
const DEEPEST: u32 = 60;

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

/// A started transaction. Its rows have this table and this partition key.
#[derive(Debug)]
pub(crate) struct Transaction {
    pub(crate) id: String,
    pub(crate) table: String,
    pub(crate) key: Key,
}

/// A request that was drawn. Of a table, a key and a column it has the last one.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    pub(crate) operation: &'static str,
    /// The transaction that it belongs to, or ends.
    pub(crate) transaction: Option<String>,
    pub(crate) table: String,
    pub(crate) key: Key,
    /// The cells of puts: column, given version, value.
    pub(crate) cells: Vec<(String, Option<i64>, Item)>,
}

impl Asked {
    /// Whether it is an operation inside a transaction.
    pub(crate) fn is_inside(&self) -> bool {
        self.transaction.is_some() && !is_end(self.operation)
    }
}

/// Whether an operation ends a transaction.
pub(crate) fn is_end(operation: &str) -> bool {
    matches!(operation, "COMMIT_TRANSACTION" | "ABORT_TRANSACTION")
}

/// Draws a request.
pub(crate) fn request(frame: &mut Builder, input: &mut Input<'_>, transactions: &[Transaction]) -> Asked {
    let often = |one: &Operation| USUAL.iter().find(|(name, _)| *name == one.name).map_or(1, |(_, often)| *often);
    // Transactions are seldom ended where none is open.
    let may_end = !transactions.is_empty() || input.one_in(8);
    let choices = operations().iter().filter(|one| may_end || !is_end(one.name));
    let choices = choices.flat_map(|one| std::iter::repeat_n(one, often(one))).collect::<Vec<_>>();
    let Operation { name, number, request, in_transaction, .. } = *input.of(&choices);
    let within = in_transaction && input.one_in(if transactions.is_empty() { 60 } else { 2 });
    frame.head(if within { number | IN_TRANSACTION } else { number });
    let mut draw = Draw {
        frame,
        input,
        transactions,
        inside: None,
        operation: name,
        drawn: Drawn::default(),
        depth: 0,
        wide: None,
        load: None,
    };
    if within {
        draw.inside = draw.transaction();
    }
    draw.codec(request, "");
    Asked { operation: name, ..draw.drawn.asked }
}

/// The usual most entries of a list.
fn few(of: &str) -> usize {
    match of {
        "Row" | "RowOfLoad" => 8,
        "TableRead" | "Column" => 4,
        _ => 6,
    }
}

/// The parts drawn last.
#[derive(Default)]
struct Drawn {
    asked: Asked,
    column: String,
    version: Option<i64>,
    value: Option<Item>,
    forward: bool,
}

/// A request that is being drawn.
struct Draw<'b, 'd> {
    frame: &'b mut Builder,
    input: &'b mut Input<'d>,
    transactions: &'b [Transaction],
    /// The transaction of the request.
    inside: Option<&'b Transaction>,
    /// The operation of the request, or of the row of a batch.
    operation: &'static str,
    drawn: Drawn,
    /// The depth of the filter.
    depth: u32,
    /// The index in a long list. Each of its entries names another column.
    wide: Option<usize>,
    /// The key of a row that may go into a segment at once. The rest of that row is plain.
    load: Option<i64>,
}

impl<'b> Draw<'b, '_> {
    fn codec(&mut self, codec: Codec, field: &str) {
        match (codec.name(), codec.inner()) {
            ("Maybe", Some(inner)) => self.maybe(inner, field),
            ("List" | "Batch", Some(inner)) => self.list(inner),
            ("Deeper", Some(inner)) => {
                self.depth += 1;
                self.codec(inner, field);
                self.depth -= 1;
            }
            ("Boxed", Some(inner)) => self.codec(inner, field),
            (name, _) => self.one(name, field),
        }
    }

    fn maybe(&mut self, inner: Codec, field: &str) {
        let seldom = if field == "column_condition" { 6 } else { 3 };
        let there = self.load.is_none() && self.input.one_in(seldom);
        self.frame.u8(u8::from(there));
        self.drawn.version = None;
        if there {
            self.codec(inner, field);
        }
    }

    fn list(&mut self, inner: Codec) {
        let depth = self.depth;
        let count = match inner.name() {
            _ if self.load.is_some() => 1,
            "RowOfLoad" if self.input.one_in(2) => return self.load(inner),
            "Filter" if self.input.one_in(40) => 33,
            "Filter" => self.input.pick(4),
            "PutCell" if self.input.one_in(100) => 1025,
            "PutCell" => self.input.pick(6),
            name => match self.input.pick(100) {
                98 => 0,
                99 => 201,
                _ => 1 + self.input.pick(few(name)),
            },
        };
        // Wide filters are flat. Otherwise the frame would grow without end.
        if count > 4 && inner.name() == "Filter" {
            self.depth = DEEPEST;
        }
        self.frame.uv(count as u64);
        for at in 0..count {
            // Many cells need many columns.
            self.wide = (count > 1000).then_some(at);
            self.codec(inner, "");
        }
        (self.depth, self.wide) = (depth, None);
    }

    /// Enough puts of ascending rows that they may go into a segment at once.
    fn load(&mut self, inner: Codec) {
        let rows = 250 + self.input.pick(20);
        let (first, step) = (self.input.integer() % 300, 1 + i64::from(self.input.byte() % 2));
        self.frame.uv(rows as u64);
        for at in 0..rows as i64 {
            self.load = Some(first + at * step);
            self.codec(inner, "");
        }
        self.load = None;
    }

    fn one(&mut self, name: &'static str, field: &str) {
        match name {
            "Table" => self.table(),
            "Column" => self.column(),
            "Key" => self.key(None, usize::MAX),
            "RangeEnd" => self.key(Some(field), usize::MAX),
            "PartitionKey" => {
                let columns = if self.input.one_in(8) { 2 } else { 1 };
                self.key(None, columns);
            }
            "Attribute" => self.attribute(),
            "Signed" => {
                let value = self.signed(field);
                self.frame.sv(value);
                self.drawn.version = Some(value);
            }
            "Span" => (0..2).for_each(|_| {
                let time = self.signed("version");
                self.frame.sv(time);
            }),
            "Unsigned" => {
                let value = self.input.pick(2);
                self.frame.uv(value as u64);
            }
            // To a door: sound requests are the affair of the target `azure`.
            "Blob" => {
                let bytes = match self.input.pick(3) {
                    0 => self.input.bytes(),
                    1 => b"\x00\x03GET\x0Ainproc://a\x00\x00".to_vec(),
                    _ => b"\x02\x03GET\x14inproc://acct/Tables\x01\x06accept\x10application/json\x00".to_vec(),
                };
                self.frame.bytes(&bytes);
            }
            "Count" | "Limit" => {
                let value = match name {
                    _ if self.input.one_in(8) => self.input.integer().cast_unsigned(),
                    "Limit" if self.input.one_in(2) => 0,
                    _ => 1 + u64::from(self.input.byte()),
                };
                self.frame.uv(value);
            }
            "Text" => self.text(field),
            "ColumnFilter" => self.comparison(),
            "Row" | "RowOfLoad" => self.row(name),
            _ => self.declared(name),
        }
    }

    fn declared(&mut self, name: &'static str) {
        match shape(name) {
            Some(Shape::Record(fields)) => {
                self.fields(fields);
                if name == "PutCell" {
                    let Drawn { asked, column, version, value, .. } = &mut self.drawn;
                    asked.cells.extend(value.take().map(|value| (column.clone(), *version, value)));
                }
            }
            Some(Shape::Rows(fields, branches)) => {
                self.fields(fields);
                let branch = branches.iter().find(|branch| branch.operation == self.operation);
                if let Some(Branch { codec: Some(codec), .. }) = branch {
                    self.codec(*codec, "");
                }
            }
            Some(Shape::Flags(variants)) => self.flags(name, variants),
            Some(Shape::Union(unknown, variants)) => self.union(name, unknown, variants),
            Some(Shape::Choice(unknown, choices)) => {
                let choice = self.choice(name, unknown, choices);
                if name == "Direction" {
                    self.drawn.forward = choice == Some("FORWARD");
                }
            }
            _ => unreachable!("nothing draws {name}: add its codec here"),
        }
    }

    fn fields(&mut self, fields: &'static [Field]) {
        fields.iter().for_each(|field| self.codec(field.codec, field.name));
    }

    fn flags(&mut self, name: &str, variants: &'static [Variant]) {
        // Mostly a valid combination.
        let any = self.input.one_in(20) || name != "ReadOptions";
        let (bits, usual) = (self.input.byte(), self.input.of(&OPTIONS));
        let chosen = |flag: &&Variant| if any { bits & flag.number != 0 } else { usual.contains(&flag.name) };
        let chosen = variants.iter().filter(chosen).collect::<Vec<_>>();
        self.frame.u8(chosen.iter().map(|flag| flag.number).sum());
        chosen.iter().for_each(|flag| self.fields(flag.fields));
    }

    fn union(&mut self, name: &str, unknown: Unknown, variants: &'static [Variant]) {
        if self.load.is_none() && unknown == Unknown::Request && self.input.one_in(60) {
            return self.frame.u8(variants.iter().map(|one| one.number).max().unwrap_or(0) + 1);
        }
        let usual = match name {
            "Filter" => self.kind_of_filter(),
            "ColumnOp" => self.input.of(&CHANGES),
            "ReturnContent" if self.load.is_none() && self.input.one_in(3) => {
                if self.operation == "UPDATE_ROW" && self.input.one_in(2) { "AfterModify" } else { "PrimaryKey" }
            }
            "ReturnContent" => "None",
            _ => "",
        };
        let variant = variants.iter().find(|one| one.name == usual);
        let variant = variant.unwrap_or_else(|| &variants[self.input.pick(variants.len())]);
        self.frame.u8(variant.number);
        self.fields(variant.fields);
    }

    fn kind_of_filter(&mut self) -> &'static str {
        // An input of ones only must not build a deep tower.
        let depth = self.depth;
        let composite = depth < DEEPEST && if depth < 4 { self.input.one_in(3) } else { self.input.byte() == 255 };
        match composite {
            true => "Composite",
            false if self.input.one_in(6) => "Page",
            false => "Column",
        }
    }

    /// The choice that was made, if this is a choice.
    fn choice(&mut self, name: &str, unknown: Unknown, choices: &'static [Choice]) -> Option<&'static str> {
        let usual = self.load.is_some() || (name == "Existence" && !self.input.one_in(5));
        if !usual && unknown == Unknown::Request && self.input.one_in(40) {
            self.frame.u8(choices.iter().map(|one| one.number).max().unwrap_or(0) + 1);
            return None;
        }
        let at = if usual { 0 } else { self.input.pick(choices.len()) };
        self.frame.u8(choices[at].number);
        Some(choices[at].text)
    }

    /// A comparison. The contract does not declare all of its parts.
    fn comparison(&mut self) {
        self.column();
        let Some(Shape::Choice(unknown, choices)) = shape("Comparator") else { unreachable!("they are declared") };
        // An unknown comparator has a value.
        if !matches!(self.choice("Comparator", unknown, choices), Some("EXIST" | "NOT_EXIST")) {
            self.attribute();
        }
        let flags = self.input.byte() & 7;
        self.frame.u8(flags);
        if flags & 4 != 0 {
            self.declared("Transfer");
        }
    }

    /// A row of a batch, with its operation before it.
    fn row(&mut self, name: &str) {
        let Some(Shape::Rows(_, branches)) = shape("RowWrite") else { unreachable!("rows are declared") };
        let put = self.load.is_some() || (name == "RowOfLoad" && !self.input.one_in(4));
        self.operation = if put { "PUT_ROW" } else { branches[self.input.pick(branches.len())].operation };
        self.frame.u8(number(self.operation));
        self.declared("RowWrite");
    }

    fn table(&mut self) {
        let table = match (self.load, self.inside) {
            (Some(_), _) => "one".into(),
            (_, Some(transaction)) if !self.input.one_in(20) => transaction.table.clone(),
            _ if self.input.one_in(60) => self.input.text(),
            _ => self.input.of(&TABLES).into(),
        };
        self.frame.name(&table);
        self.drawn.asked.table = table;
    }

    /// A key of at most so many columns. `end` is the end of a range that it is.
    fn key(&mut self, end: Option<&str>, columns: usize) {
        let mut key = match self.load {
            Some(id) => vec![("p".to_owned(), Item::Integer(id))],
            None => key(self.input, &self.drawn.asked.table, end.is_some()),
        };
        if let (Some(Transaction { key: partition, .. }), false) = (self.inside, self.input.one_in(20)) {
            key.iter_mut().zip(partition.iter().take(1)).for_each(|(column, known)| column.clone_from(known));
            if let (Some(end), Some((_, item)), false) = (end, key.get_mut(1), self.input.one_in(4)) {
                *item = if (end == "start") == self.drawn.forward { Item::InfMin } else { Item::InfMax };
            }
        }
        key.truncate(columns);
        self.frame.key(&key);
        self.drawn.asked.key = key;
    }

    fn column(&mut self) {
        self.drawn.column = match self.wide {
            _ if self.load.is_some() => "a".into(),
            Some(at) => format!("c{at}"),
            None => column(self.input),
        };
        self.frame.name(&self.drawn.column);
    }

    fn attribute(&mut self) {
        let item = self.load.map_or_else(|| Item::any(self.input), Item::Integer);
        self.frame.item(&item);
        self.drawn.value = Some(item);
    }

    fn signed(&mut self, field: &str) -> i64 {
        match field {
            "version" if !self.input.one_in(12) => super::NOW + i64::from(self.input.byte()),
            "offset" | "limit" if !self.input.one_in(6) => i64::from(self.input.byte() % 4),
            _ => self.input.integer(),
        }
    }

    fn text(&mut self, field: &str) {
        let text = match field {
            "regex" if !self.input.one_in(4) => self.input.of(&PATTERNS).into(),
            "start_column" | "end_column" => column(self.input),
            // A request with only a text.
            "" => {
                self.transaction();
                return;
            }
            _ => self.input.text(),
        };
        self.frame.text(&text);
    }

    /// The id of a transaction, mostly of a started one. Returns that one.
    fn transaction(&mut self) -> Option<&'b Transaction> {
        let started = match self.transactions {
            [] => None,
            _ if self.input.one_in(20) => None,
            all if self.input.one_in(4) => Some(&all[self.input.pick(all.len())]),
            all => all.last(),
        };
        let id = started.map_or_else(|| self.input.text(), |started| started.id.clone());
        self.frame.text(&id);
        self.drawn.asked.transaction = Some(id);
        started
    }
}
