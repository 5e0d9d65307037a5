//! The door of the Table Store service: requests of any bytes, sound ones that were damaged, and rows of any cells whose checksums
//! are right, so that what is behind them is reached.

use super::NOW;
use super::entrance::Entrance;
use super::input::Input;
use tabstore::doors::tablestore::answer;
use tabstore::doors::{Access, Request, Response};

/// A table that no input names.
const KNOWN: &str = "a_table_that_no_input_names";
const TABLES: [&str; 8] = ["t", "t", "t", "t", "t", "t", "u", "index_of_t"];
const COLUMNS: [&str; 16] = ["a", "a", "a", "a", "b", "b", "b", "b", "s", "s", "s", "c", "列", "id", "", "#"];
const OPERATIONS: [&str; 27] = [
    "PutRow",
    "UpdateRow",
    "DeleteRow",
    "GetRow",
    "GetRange",
    "BatchGetRow",
    "BatchWriteRow",
    "StartLocalTransaction",
    "CommitTransaction",
    "AbortTransaction",
    "CreateTable",
    "ListTable",
    "DescribeTable",
    "UpdateTable",
    "DeleteTable",
    "ComputeSplitPointsBySize",
    "CreateIndex",
    "DropIndex",
    "AddDefinedColumn",
    "DeleteDefinedColumn",
    "ListStream",
    "DescribeStream",
    "GetShardIterator",
    "GetStreamRecord",
    "ListSearchIndex",
    "Nothing",
    "",
];

/// A message that is being written.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value > 127 {
            self.0.push(value as u8 | 128);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(mut self, field: u64, value: i64) -> Self {
        self.varint(field << 3);
        self.varint(value.cast_unsigned());
        self
    }

    fn bytes(mut self, field: u64, value: impl AsRef<[u8]>) -> Self {
        self.varint(field << 3 | 2);
        self.varint(value.as_ref().len() as u64);
        self.0.extend(value.as_ref());
        self
    }

    fn message(self, field: u64, value: Self) -> Self {
        self.bytes(field, value.0)
    }

    fn maybe(self, input: &mut Input<'_>, add: impl FnOnce(Self, &mut Input<'_>) -> Self) -> Self {
        if input.one_in(3) { add(self, input) } else { self }
    }
}

fn checksum(bytes: &[u8]) -> u8 {
    let step = |crc: u8| if crc & 128 == 0 { crc << 1 } else { crc << 1 ^ 7 };
    bytes.iter().fold(0, |crc, byte| (0..8).fold(crc ^ byte, |crc, _| step(crc)))
}

/// A value with its type.
fn variant(input: &mut Input<'_>) -> Vec<u8> {
    let sized = |tag: u8, bytes: Vec<u8>| [&[tag][..], &(bytes.len() as u32).to_le_bytes(), &bytes].concat();
    match input.pick(24) {
        0..12 => [&[0][..], &input.integer().to_le_bytes()].concat(),
        12..14 => [&[1][..], &input.double().to_le_bytes()].concat(),
        14 => vec![2, input.byte()],
        15..19 => sized(3, input.text().into_bytes()),
        19 => sized(3, input.bytes()),
        20..22 => sized(7, input.bytes()),
        22 => vec![input.of(&[6, 9, 10, 11])],
        _ => vec![input.byte(), input.byte()],
    }
}

/// A cell, and its checksum.
fn cell(name: &str, value: Option<Vec<u8>>, op: Option<u8>, version: Option<i64>) -> (Vec<u8>, u8) {
    let mut summed = name.as_bytes().to_vec();
    let mut bytes = [&[3, 4][..], &(name.len() as u32).to_le_bytes(), name.as_bytes()].concat();
    if let Some(value) = value {
        bytes.push(5);
        bytes.extend((value.len() as u32).to_le_bytes());
        bytes.extend(&value);
        summed.extend(value);
    }
    bytes.extend(op.iter().flat_map(|op| [6, *op]));
    if let Some(version) = version {
        bytes.push(7);
        bytes.extend(version.to_le_bytes());
        summed.extend(version.to_le_bytes());
    }
    summed.extend(op);
    let sum = checksum(&summed);
    bytes.extend([10, sum]);
    (bytes, sum)
}

/// What a row is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Key,
    End,
    Put,
    Update,
    Delete,
}

/// A row with checksums that are right. Its key is mostly one of the table `t`, and its cells mostly fit what it is for.
fn row(input: &mut Input<'_>, is_for: Use) -> Vec<u8> {
    let mut bytes = vec![0x75, 0, 0, 0, 1];
    let mut sums = Vec::new();
    let mut add = |bytes: &mut Vec<u8>, (cell, sum): (Vec<u8>, u8)| {
        bytes.extend(cell);
        sums.push(sum);
    };
    if input.one_in(16) {
        for _ in 0..input.pick(7) {
            let (name, value) = (input.of(&COLUMNS), Some(variant(input)));
            add(&mut bytes, cell(name, value, None, None));
        }
    } else {
        let is_infinite = if is_for == Use::End { input.one_in(2) } else { input.one_in(24) };
        let value = [&[0][..], &i64::from(input.byte() % 4).to_le_bytes()].concat();
        let value = if is_infinite { vec![input.of(&[9, 10, 11])] } else { value };
        add(&mut bytes, cell("id", Some(value), None, None));
    }
    if matches!(is_for, Use::Put | Use::Update) || input.one_in(24) {
        bytes.push(2);
        for _ in 0..1 + input.pick(3) {
            let op = if is_for == Use::Update { input.of(&[None, None, Some(1), Some(3), Some(4)]) } else { None };
            let op = if input.one_in(24) { Some(input.byte()) } else { op };
            let value = match op {
                None => Some(variant(input)),
                Some(4) => Some([&[0][..], &input.integer().to_le_bytes()].concat()),
                _ => None,
            };
            let version = if op == Some(3) || op.is_none() && input.one_in(4) {
                Some(NOW + i64::from(input.byte()))
            } else {
                None
            };
            add(&mut bytes, cell(input.of(&COLUMNS), value, op, version));
        }
    }
    let is_deleted = (is_for == Use::Delete) != input.one_in(24);
    if is_deleted {
        bytes.push(8);
    }
    sums.push(u8::from(is_deleted));
    bytes.extend([9, checksum(&sums)]);
    bytes
}

fn filter(input: &mut Input<'_>, depth: usize) -> Message {
    match input.pick(if depth > 4 { 1 } else { 3 }) {
        0 => {
            let inner = Message::default().number(1, i64::from(input.byte() % 10)).bytes(2, input.of(&COLUMNS));
            let inner = inner.bytes(3, variant(input)).number(4, i64::from(input.byte() % 2)).number(5, 1);
            let inner = inner.maybe(input, |inner, input| {
                let regex = input.of(&["[0-9]+", "a(b*)c", "(", "x{1000}{1000}", ""]);
                inner.message(6, Message::default().bytes(1, regex).number(2, i64::from(input.byte() % 5)))
            });
            Message::default().number(1, 1).message(2, inner)
        }
        1 => {
            let operator = Message::default().number(1, i64::from(input.byte() % 5));
            let all = (0..input.pick(4)).fold(operator, |all, _| all.message(2, filter(input, depth + 1)));
            Message::default().number(1, 2).message(2, all)
        }
        _ => Message::default()
            .number(1, 3)
            .message(2, Message::default().number(1, input.integer()).number(2, input.integer())),
    }
}

/// The options of a read, by the numbers of its fields.
fn read(body: Message, input: &mut Input<'_>, columns: u64, filtered: u64) -> Message {
    let body = body.maybe(input, |body, input| body.bytes(columns, input.of(&COLUMNS)));
    let range = |input: &mut Input<'_>| Message::default().number(1, input.integer()).number(2, input.integer());
    let body = if input.one_in(8) { body.message(columns + 1, range(input)) } else { body };
    let body = if input.one_in(12) { body } else { body.number(columns + 2, 1 + i64::from(input.byte() % 3)) };
    if input.one_in(6) { body.message(filtered, filter(input, 0)) } else { body }
}

fn condition(input: &mut Input<'_>) -> Message {
    let condition = Message::default().number(1, input.of(&[0, 0, 0, 0, 0, 1, 2, 3]));
    if input.one_in(8) { condition.message(2, filter(input, 0)) } else { condition }
}

/// A request that is mostly sound.
fn body(operation: &str, input: &mut Input<'_>, transaction: &str) -> Vec<u8> {
    let table = input.of(&TABLES);
    let named = || Message::default().bytes(1, table);
    let within = |body: Message, field: u64, input: &mut Input<'_>| {
        if input.one_in(8) { body.bytes(field, transaction) } else { body }
    };
    let returns = |body: Message, input: &mut Input<'_>| {
        body.maybe(input, |body, input| {
            body.message(4, Message::default().number(1, i64::from(input.byte() % 4)).bytes(2, "a"))
        })
    };
    let written = match operation {
        "PutRow" | "UpdateRow" | "DeleteRow" => {
            let is_for = match operation {
                "PutRow" => Use::Put,
                "UpdateRow" => Use::Update,
                _ => Use::Delete,
            };
            let body = named().bytes(2, row(input, is_for)).message(3, condition(input));
            within(returns(body, input), 5, input)
        }
        "GetRow" => {
            let body = named().bytes(2, row(input, Use::Key));
            within(read(body, input, 3, 7), 11, input)
        }
        "GetRange" => {
            let body = named()
                .number(2, i64::from(input.byte() % 3))
                .bytes(7, row(input, Use::End))
                .bytes(8, row(input, Use::End));
            within(read(body, input, 3, 10), 14, input).maybe(input, |body, input| body.number(6, input.integer()))
        }
        "BatchGetRow" => (0..input.pick(4)).fold(Message::default(), |all, _| {
            let table = Message::default().bytes(1, input.of(&TABLES));
            let keys = (0..input.pick(4)).fold(table, |body, _| body.bytes(2, row(input, Use::Key)));
            all.message(1, read(keys, input, 4, 8))
        }),
        "BatchWriteRow" => {
            let all = (0..1 + input.pick(3)).fold(Message::default(), |all, _| {
                let table = Message::default().bytes(1, input.of(&TABLES));
                let rows = (0..input.pick(4)).fold(table, |body, _| {
                    let one = {
                        let (kind, is_for) = input.of(&[
                            (1, Use::Put),
                            (1, Use::Put),
                            (2, Use::Update),
                            (3, Use::Delete),
                            (4, Use::Put),
                        ]);
                        Message::default().number(1, kind).bytes(2, row(input, is_for))
                    };
                    body.message(2, returns(one.message(3, condition(input)), input))
                });
                all.message(1, rows)
            });
            within(all, 2, input).maybe(input, |body, _| body.number(3, 1))
        }
        "StartLocalTransaction" => named().bytes(2, row(input, Use::Key)),
        "CommitTransaction" | "AbortTransaction" => Message::default().bytes(1, transaction),
        "CreateTable" => {
            let column = Message::default().bytes(1, input.of(&COLUMNS)).number(2, i64::from(input.byte() % 6));
            let column = column.maybe(input, |column, _| column.number(3, 1));
            let defined = Message::default().bytes(1, "a").number(2, i64::from(input.byte() % 8));
            let meta = named().message(2, column).message(3, defined);
            let units = Message::default().message(1, Message::default().number(1, input.integer()));
            let body = Message::default().message(1, meta).message(2, units);
            let body = body.maybe(input, |body, input| body.message(3, options(input)));
            body.maybe(input, |body, input| body.message(5, stream(input)))
                .maybe(input, |body, input| body.message(7, index(input)))
        }
        "UpdateTable" => {
            let body = named().maybe(input, |body, input| body.message(3, options(input)));
            body.maybe(input, |body, input| body.message(4, stream(input)))
        }
        "ComputeSplitPointsBySize" => {
            named().number(2, input.integer()).maybe(input, |body, input| body.number(3, input.integer()))
        }
        "CreateIndex" => named().message(2, index(input)).number(3, i64::from(input.byte() % 2)),
        "AddDefinedColumn" => {
            named().message(2, Message::default().bytes(1, "b").number(2, i64::from(input.byte() % 8)))
        }
        "GetShardIterator" => named().bytes(2, "1").maybe(input, |body, input| body.number(3, input.integer())),
        _ => named().maybe(input, |body, input| body.bytes(2, input.of(&["index_of_t", "a", "1"]))),
    };
    written.0
}

fn options(input: &mut Input<'_>) -> Message {
    let ttl = input.of(&[-1, 86_400, 5]);
    Message::default()
        .number(1, ttl)
        .number(2, i64::from(input.byte() % 4))
        .number(5, 86_400)
        .number(6, i64::from(input.byte() % 2))
}

fn stream(input: &mut Input<'_>) -> Message {
    Message::default().number(1, i64::from(input.byte() % 2)).number(2, i64::from(input.byte()))
}

fn index(input: &mut Input<'_>) -> Message {
    let kind = i64::from(input.byte() % 3);
    Message::default()
        .bytes(1, "index_of_t")
        .bytes(2, input.of(&["a", "id", "s"]))
        .bytes(3, "s")
        .number(4, kind)
        .number(5, kind)
}

/// Each request gets an answer of the protocol, none a fault of the program, and a stranger gets nothing.
pub(crate) fn tablestore(data: &[u8]) {
    done_at_the_door(data);
}

/// The same. Returns the number of requests on rows by those who may pass, and of those that were done.
pub(crate) fn done_at_the_door(data: &[u8]) -> (usize, usize) {
    let mut input = Input::new(data);
    let entrance = Entrance::new();
    let Entrance { env, instance, .. } = &entrance;
    let pass = |operation: &str, body: &[u8], access| {
        let url = format!("/{operation}");
        let request = Request { method: "POST", url: &url, headers: vec![("x-ots-accesskeyid", "x")], body };
        env.run(answer(instance, &request, access, None)).expect("answered")
    };
    for table in [KNOWN, "t"] {
        let column = Message::default().bytes(1, "id").number(2, 1);
        let meta = Message::default().bytes(1, table).message(2, column);
        let body = Message::default()
            .message(1, meta)
            .message(2, Message::default().message(1, Message::default()))
            .number(8, 1);
        assert_eq!(pass("CreateTable", &body.0, Access::Off).status, 200);
    }
    let (mut transaction, mut asked, mut done) = (String::new(), 0, 0);
    while !input.is_empty() {
        let operation = match input.of(&OPERATIONS) {
            // Most inputs keep their tables.
            "DeleteTable" if !input.one_in(8) => "PutRow",
            other => other,
        };
        let mut bytes = if input.one_in(16) { input.bytes() } else { body(operation, &mut input, &transaction) };
        for _ in 0..input.of(&[0, 0, 0, 0, 0, 1, 1, 4]) {
            damage(&mut bytes, &mut input);
        }
        let access = entrance.any(&mut input);
        let response = pass(operation, &bytes, access);
        check(operation, &response);
        if access != Access::Signed && operation.contains("Row") {
            asked += 1;
            done += usize::from(response.status == 200);
        }
        assert!(access != Access::Signed || response.status != 200, "a stranger passed: {operation}");
        if operation == "StartLocalTransaction" && response.status == 200 {
            let id = response.body.get(2..).unwrap_or_default();
            transaction = String::from_utf8(id.to_vec()).expect("an id");
        }
    }
    let described = pass("DescribeTable", &Message::default().bytes(1, KNOWN).0, Access::Off);
    assert_eq!(described.status, 200, "nobody touched it");
    (asked, done)
}

/// Takes some bytes out, doubles them, or changes one.
fn damage(bytes: &mut Vec<u8>, input: &mut Input<'_>) {
    let at = (input.pick(256) * 256 + input.pick(256)) % (bytes.len() + 1);
    let end = (at + input.pick(12)).min(bytes.len());
    match input.pick(4) {
        0 => drop(bytes.drain(at..end)),
        1 => {
            let part = bytes[at..end].to_vec();
            bytes.splice(at..at, part);
        }
        2 => bytes.truncate(at),
        _ => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = input.byte();
            }
        }
    }
}

/// An answer that a client can read, and no fault.
fn check(operation: &str, response: &Response) {
    let Response { status, headers, body } = response;
    let code = error_code(body);
    assert!(matches!(status, 200 | 400 | 403 | 404 | 409), "a fault of the program: {operation} {status} {code:?}");
    assert!(*status == 200 || code.is_some_and(|code| code.starts_with("OTS")), "{operation} {status} {code:?}");
    for name in ["x-ots-contentmd5", "x-ots-contenttype", "x-ots-date", "x-ots-requestid"] {
        let value = headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str());
        assert!(value.is_some_and(|value| !value.is_empty() && value.is_ascii()), "{operation}: {name} {value:?}");
    }
}

/// The code of an error, if the body is one.
fn error_code(body: &[u8]) -> Option<&str> {
    let (head, rest) = body.split_first_chunk::<2>()?;
    let code = rest.get(..usize::from(head[1]))?;
    if head[0] == 0x0a { std::str::from_utf8(code).ok() } else { None }
}
