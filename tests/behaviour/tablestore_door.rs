//! The door of the Table Store service: how tests pass it. What they send and read is written and read here by code of their own.

use crate::store::*;
use tabstore::doors::tablestore::answer;
use tabstore::doors::{Access, Request, Response};
use tabstore::model::Value;

/// A message that is being written.
#[derive(Clone, Default)]
pub(crate) struct Proto(pub(crate) Vec<u8>);

/// A new message.
pub(crate) fn proto() -> Proto {
    Proto::default()
}

fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value > 127 {
        out.push(value as u8 & 127 | 128);
        value >>= 7;
    }
    out.push(value as u8);
}

impl Proto {
    /// Adds a number.
    pub(crate) fn n(mut self, field: u64, value: i64) -> Self {
        put_varint(field << 3, &mut self.0);
        put_varint(value as u64, &mut self.0);
        self
    }

    /// Adds bytes.
    pub(crate) fn b(mut self, field: u64, value: impl AsRef<[u8]>) -> Self {
        put_varint(field << 3 | 2, &mut self.0);
        put_varint(value.as_ref().len() as u64, &mut self.0);
        self.0.extend(value.as_ref());
        self
    }

    /// Adds a message.
    pub(crate) fn m(self, field: u64, value: Proto) -> Self {
        self.b(field, value.0)
    }
}

/// A field of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Field {
    N(i64),
    B(Vec<u8>),
}

/// A message of an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Got(pub(crate) Vec<(u64, Field)>);

fn varint(bytes: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let (first, rest) = bytes.split_first().expect("a number");
        *bytes = rest;
        value |= u64::from(first & 127) << shift;
        shift += 7;
        if first < &128 {
            return value;
        }
    }
}

impl Got {
    pub(crate) fn of(mut bytes: &[u8]) -> Self {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let head = varint(&mut bytes);
            let value = varint(&mut bytes);
            fields.push((
                head >> 3,
                match head & 7 {
                    0 => Field::N(value as i64),
                    2 => {
                        let (inner, rest) = bytes.split_at(value as usize);
                        bytes = rest;
                        Field::B(inner.to_vec())
                    }
                    other => panic!("a field of type {other}"),
                },
            ));
        }
        Self(fields)
    }

    /// All values of a field.
    pub(crate) fn all(&self, field: u64) -> Vec<Vec<u8>> {
        let bytes =
            |(_, value): &(u64, Field)| if let Field::B(bytes) = value { bytes.clone() } else { panic!("a number") };
        self.0.iter().filter(|(other, _)| *other == field).map(bytes).collect()
    }

    /// The bytes of a field that comes once, if it comes.
    pub(crate) fn bytes(&self, field: u64) -> Option<Vec<u8>> {
        let mut all = self.all(field);
        assert!(all.len() < 2, "{field} comes twice");
        all.pop()
    }

    pub(crate) fn text(&self, field: u64) -> Option<String> {
        self.bytes(field).map(|bytes| String::from_utf8(bytes).expect("text"))
    }

    pub(crate) fn texts(&self, field: u64) -> Vec<String> {
        self.all(field).into_iter().map(|bytes| String::from_utf8(bytes).expect("text")).collect()
    }

    pub(crate) fn number(&self, field: u64) -> Option<i64> {
        self.0.iter().find(|(other, _)| *other == field).map(|(_, value)| match value {
            Field::N(number) => *number,
            Field::B(bytes) => panic!("{field} has bytes: {bytes:?}"),
        })
    }

    pub(crate) fn message(&self, field: u64) -> Self {
        self.bytes(field).map(|bytes| Self::of(&bytes)).unwrap_or_default()
    }

    pub(crate) fn messages(&self, field: u64) -> Vec<Self> {
        self.all(field).iter().map(|bytes| Self::of(bytes)).collect()
    }

    /// Read and write units in a field.
    pub(crate) fn units(&self, field: u64) -> (i64, i64) {
        let units = self.message(field).message(1);
        (units.number(1).expect("read units"), units.number(2).expect("write units"))
    }
}

/// What a cell of a request holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Held {
    V(Value),
    InfMin,
    InfMax,
    Auto,
    Null,
    /// A String of any bytes.
    Raw(Vec<u8>),
}

/// A cell: name, what it holds, op, version.
pub(crate) type WireCell = (String, Option<Held>, Option<u8>, Option<i64>);

pub(crate) fn int(value: i64) -> Held {
    Held::V(Value::Integer(value))
}

pub(crate) fn text(value: &str) -> Held {
    Held::V(Value::String(value.into()))
}

/// A cell that is put.
pub(crate) fn put(name: &str, held: Held) -> WireCell {
    (name.into(), Some(held), None, None)
}

fn crc(bytes: &[u8]) -> u8 {
    bytes
        .iter()
        .fold(0, |crc, byte| (0..8).fold(crc ^ byte, |crc: u8, _| if crc & 128 == 0 { crc << 1 } else { crc << 1 ^ 7 }))
}

fn encoded(held: &Held) -> Vec<u8> {
    let sized = |tag: u8, bytes: &[u8]| [&[tag][..], &(bytes.len() as u32).to_le_bytes(), bytes].concat();
    match held {
        Held::V(Value::Integer(value)) => [&[0][..], &value.to_le_bytes()].concat(),
        Held::V(Value::Double(value)) => [&[1][..], &value.to_le_bytes()].concat(),
        Held::V(Value::Boolean(value)) => vec![2, u8::from(*value)],
        Held::V(Value::String(value)) => sized(3, value.as_bytes()),
        Held::Raw(value) => sized(3, value),
        Held::Null => vec![6],
        Held::V(Value::Binary(value)) => sized(7, value),
        Held::InfMin => vec![9],
        Held::InfMax => vec![10],
        Held::Auto => vec![11],
    }
}

/// A value without the frame of a cell.
pub(crate) fn variant(held: &Held) -> Vec<u8> {
    encoded(held)
}

fn put_cell((name, held, op, version): &WireCell, out: &mut Vec<u8>) -> u8 {
    let mut summed = name.as_bytes().to_vec();
    out.extend([3, 4]);
    out.extend((name.len() as u32).to_le_bytes());
    out.extend(name.as_bytes());
    if let Some(held) = held {
        let value = encoded(held);
        out.push(5);
        out.extend((value.len() as u32).to_le_bytes());
        out.extend(&value);
        summed.extend(value);
    }
    out.extend(op.iter().flat_map(|op| [6, *op]));
    if let Some(version) = version {
        out.push(7);
        out.extend(version.to_le_bytes());
        summed.extend(version.to_le_bytes());
    }
    summed.extend(op);
    out.extend([10, crc(&summed)]);
    crc(&summed)
}

/// A buffer with a row; `deleted` sets its marker.
pub(crate) fn row(key: &[(&str, Held)], cells: &[WireCell], deleted: bool) -> Vec<u8> {
    let mut out = vec![0x75, 0, 0, 0, 1];
    let mut sums = Vec::new();
    for (name, held) in key {
        sums.push(put_cell(&put(name, held.clone()), &mut out));
    }
    if !cells.is_empty() {
        out.push(2);
    }
    for cell in cells {
        sums.push(put_cell(cell, &mut out));
    }
    if deleted {
        out.push(8);
    }
    sums.push(u8::from(deleted));
    out.extend([9, crc(&sums)]);
    out
}

/// A buffer with a key.
pub(crate) fn key(columns: &[(&str, Held)]) -> Vec<u8> {
    row(columns, &[], false)
}

/// The key of a row of the table `t`.
pub(crate) fn id(value: i64) -> Vec<u8> {
    key(&[("id", int(value))])
}

/// A row of an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct WireRow {
    pub(crate) key: Vec<(String, Value)>,
    pub(crate) cells: Vec<WireCell>,
    /// Epoch, time in µs, number.
    pub(crate) extension: Option<(i32, i64, i32)>,
}

struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (taken, rest) = self.0.split_first_chunk().expect("bytes");
        self.0 = rest;
        *taken
    }

    fn sized(&mut self) -> Vec<u8> {
        let length = u32::from_le_bytes(self.take()) as usize;
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken.to_vec()
    }

    fn is_next(&self, tag: u8) -> bool {
        self.0.first() == Some(&tag)
    }

    fn cell(&mut self) -> (WireCell, u8) {
        assert_eq!(self.take(), [3, 4]);
        let name = self.sized();
        let (mut held, mut op, mut version) = (None, None, None);
        let mut summed = name.clone();
        if self.is_next(5) {
            let [_] = self.take();
            let value = self.sized();
            summed.extend(&value);
            held = Some(Held::V(match value[0] {
                0 => Value::Integer(i64::from_le_bytes(value[1..].try_into().expect("8"))),
                1 => Value::Double(f64::from_le_bytes(value[1..].try_into().expect("8"))),
                2 => Value::Boolean(value[1] == 1),
                3 => Value::String(String::from_utf8(value[5..].to_vec()).expect("text")),
                7 => Value::Binary(value[5..].to_vec()),
                other => panic!("a value of type {other}"),
            }));
        }
        if self.is_next(6) {
            let [_, given] = self.take();
            op = Some(given);
        }
        if self.is_next(7) {
            let [_] = self.take();
            let bytes = self.take();
            summed.extend(bytes);
            version = Some(i64::from_le_bytes(bytes));
        }
        summed.extend(op);
        let [tag, sum] = self.take();
        assert_eq!((tag, sum), (10, crc(&summed)), "the checksum of a cell");
        ((String::from_utf8(name).expect("text"), held, op, version), sum)
    }
}

/// The rows of a buffer of an answer.
pub(crate) fn rows(buffer: &[u8]) -> Vec<WireRow> {
    let (mut bytes, mut rows) = (Bytes(buffer), Vec::new());
    if buffer.is_empty() {
        return rows;
    }
    assert_eq!(bytes.take(), [0x75, 0, 0, 0]);
    while !bytes.0.is_empty() {
        let (mut found, mut sums) = (WireRow::default(), Vec::new());
        if bytes.is_next(1) {
            let [_] = bytes.take();
            while bytes.is_next(3) {
                let ((name, held, ..), sum) = bytes.cell();
                let Some(Held::V(value)) = held else { panic!("a key without a value") };
                found.key.push((name, value));
                sums.push(sum);
            }
        }
        if bytes.is_next(2) {
            let [_] = bytes.take();
            while bytes.is_next(3) {
                let (cell, sum) = bytes.cell();
                found.cells.push(cell);
                sums.push(sum);
            }
        }
        if bytes.is_next(11) {
            let [_, a, _, _, _, _, b, _, _, _, c] = bytes.take();
            assert_eq!((a, b, c), (24, 19, 13));
            let epoch = i32::from_le_bytes(bytes.take());
            let [_] = bytes.take();
            let time = i64::from_le_bytes(bytes.take());
            let [_] = bytes.take();
            found.extension = Some((epoch, time, i32::from_le_bytes(bytes.take())));
        }
        sums.push(0);
        assert_eq!(bytes.take(), [9, crc(&sums)], "the checksum of a row");
        rows.push(found);
    }
    rows
}

/// A row of the table `t`, without versions.
pub(crate) fn plain(row: &WireRow) -> (Vec<Value>, Vec<(String, Value)>) {
    let value = |cell: &WireCell| match &cell.1 {
        Some(Held::V(value)) => (cell.0.clone(), value.clone()),
        other => panic!("{other:?}"),
    };
    (row.key.iter().map(|(_, value)| value.clone()).collect(), row.cells.iter().map(value).collect())
}

/// The condition of a write: 0 none, 1 the row exists, 2 it does not.
pub(crate) fn condition(existence: i64) -> Proto {
    proto().n(1, existence)
}

/// PutRow, UpdateRow or DeleteRow.
pub(crate) fn write(table: &str, row: &[u8], existence: i64) -> Proto {
    proto().b(1, table).b(2, row).m(3, condition(existence))
}

/// GetRow of one version of each column.
pub(crate) fn get(table: &str, key: &[u8]) -> Proto {
    proto().b(1, table).b(2, key).n(5, 1)
}

/// GetRange of a whole table with the key column `id`.
pub(crate) fn all_of(table: &str) -> Proto {
    let ends = [Held::InfMin, Held::InfMax].map(|end| key(&[("id", end)]));
    proto().b(1, table).n(2, 0).n(5, 1).b(7, &ends[0]).b(8, &ends[1])
}

/// CreateTable with key columns: name, number of the type.
pub(crate) fn create(table: &str, key: &[(&str, i64)]) -> Proto {
    let meta = key.iter().fold(proto().b(1, table), |meta, (name, kind)| meta.m(2, proto().b(1, name).n(2, *kind)));
    proto().m(1, meta).m(2, proto().m(1, proto().n(1, 0).n(2, 0)))
}

/// An instance behind a door.
pub(crate) struct Door {
    pub(crate) store: Store,
}

impl Door {
    /// A door that everybody may pass, without a table.
    pub(crate) fn new() -> Self {
        Self { store: Store::new() }
    }

    /// The same with a table `t` whose key is the Integer column `id`.
    pub(crate) fn with_table() -> Self {
        let door = Self::new();
        door.done("CreateTable", create("t", &[("id", 1)]));
        door
    }

    pub(crate) fn pass(&self, request: &Request<'_>, access: Access<'_>) -> Response {
        self.store.env.run(answer(&self.store.instance, request, access, None)).expect("answered")
    }

    pub(crate) fn send(&self, operation: &str, body: &[u8]) -> Response {
        let url = format!("/{operation}");
        self.pass(&Request { method: "POST", url: &url, headers: Vec::new(), body }, Access::Off)
    }

    /// The answer to a request that has to work.
    #[track_caller]
    pub(crate) fn done(&self, operation: &str, Proto(body): Proto) -> Got {
        let response = self.send(operation, &body);
        assert_eq!(response.status, 200, "{operation}: {:?}", refusal(&response));
        Got::of(&response.body)
    }

    /// The refusal of a request: status, code and text.
    #[track_caller]
    pub(crate) fn refused(&self, operation: &str, Proto(body): Proto) -> String {
        let response = self.send(operation, &body);
        assert_ne!(response.status, 200, "{operation} was done");
        refusal(&response)
    }

    /// The row of the table `t` with this key, without versions.
    #[track_caller]
    pub(crate) fn row(&self, value: i64) -> Option<Vec<(String, Value)>> {
        let found = self.done("GetRow", get("t", &id(value)));
        let rows = rows(&found.bytes(2).expect("a field for the row"));
        rows.first().map(|row| plain(row).1)
    }

    /// Puts a row of the table `t`.
    #[track_caller]
    pub(crate) fn put(&self, value: i64, cells: &[WireCell]) {
        self.done("PutRow", write("t", &row(&[("id", int(value))], cells, false), 0));
    }
}

/// Status, code and text of a refusal.
pub(crate) fn refusal(response: &Response) -> String {
    let error = Got::of(&response.body);
    format!("{} {}: {}", response.status, error.text(1).unwrap_or_default(), error.text(2).unwrap_or_default())
}

/// The value of a header.
pub(crate) fn header<'r>(response: &'r Response, name: &str) -> Option<&'r str> {
    response.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
}

#[test]
fn every_answer_has_the_headers_that_clients_ask_for() {
    let door = Door::with_table();
    for (operation, status) in [("ListTable", 200), ("GetRow", 400)] {
        let response = door.send(operation, b"");
        assert_eq!(response.status, status);
        let id = header(&response, "x-ots-requestid").expect("a number");
        assert_eq!(id.len(), 36);
        assert_eq!(header(&response, "x-ots-date"), Some("2016-07-20T16:00:00.000Z"));
        assert_eq!(header(&response, "x-ots-contenttype"), Some("protocol buffer"));
        assert_eq!(header(&response, "x-ots-contentmd5").map(str::len), Some(24));
        assert!(
            header(&response, "Authorization").is_some_and(|signed| signed.starts_with("OTS :")),
            "signed for nobody"
        );
    }
}

#[test]
fn other_paths_and_methods_get_the_services_error() {
    let door = Door::new();
    assert_eq!(door.refused("Nothing", proto()), "400 OTSParameterInvalid: Unsupported operation: Nothing.");
    assert_eq!(door.refused("", proto()), "400 OTSParameterInvalid: Unsupported operation: .");
    assert_eq!(door.refused("Search", proto()), "400 OTSParameterInvalid: Unsupported operation: Search.");
    let request = Request { method: "GET", url: "/ListTable", headers: Vec::new(), body: b"" };
    let refused = refusal(&door.pass(&request, Access::Off));
    assert_eq!(refused, "405 OTSMethodNotAllowed: Only POST method for requests is supported, not GET.");
    assert_eq!(door.done("ListSearchIndex", proto()), Got::default(), "no table has one");
}

#[test]
fn damaged_requests_change_nothing_and_are_refused_by_the_part_that_is_damaged() {
    let door = Door::with_table();
    door.put(1, &[put("a", int(1))]);
    let sound = row(&[("id", int(1))], &[put("a", int(2))], false);
    let damaged = |at: usize| {
        let mut bytes = sound.clone();
        bytes[at] ^= 1;
        door.refused("PutRow", write("t", &bytes, 0))
    };
    assert!(damaged(0).contains("Cell data broken, mismatch header"), "{}", damaged(0));
    assert!(
        damaged(sound.len() - 1).contains("Cell data broken, checksum is mismatch"),
        "{}",
        damaged(sound.len() - 1)
    );
    for at in 0..sound.len() {
        assert!(damaged(at).starts_with("400 OTSParameterInvalid: "), "byte {at}");
    }
    let message = write("t", &sound, 0).0;
    for end in 0..message.len() {
        let response = door.send("PutRow", &message[..end]);
        assert_eq!(response.status, 400, "{end} bytes");
        assert_eq!(Got::of(&response.body).text(1).as_deref(), Some("OTSParameterInvalid"));
    }
    for body in [&[0xff_u8; 3][..], &[0x0b, 1], &[8]] {
        let refused = refusal(&door.send("PutRow", body));
        assert_eq!(refused, "400 OTSParameterInvalid: Parse PBMessage from RawString failed.");
    }
    assert_eq!(door.row(1), Some(vec![("a".into(), Value::Integer(1))]), "nobody changed it");
}

/// A false length reserves no memory: it is compared with the bytes that are there.
#[test]
fn r8_bodies_that_are_too_large_or_not_whole_are_refused() {
    let door = Door::new();
    let large = vec![0; 5 * 1024 * 1024 + 1];
    let refused = "413 OTSRequestBodyTooLarge: The size of POST data is too large.";
    assert_eq!(refusal(&door.send("PutRow", &large)), refused);
    let with_length = |length: &str, body: &[u8]| {
        let headers = vec![("Content-Length", length)];
        refusal(&door.pass(&Request { method: "POST", url: "/PutRow", headers, body }, Access::Off))
    };
    assert_eq!(with_length("5242881", b""), refused);
    assert_eq!(with_length("7", b"abc"), "408 OTSRequestTimeout: The request body was not received completely.");
    let false_length = [&[0x0a][..], &[0xff, 0xff, 0xff, 0xff, 0x7f]].concat();
    assert_eq!(
        refusal(&door.send("PutRow", &false_length)),
        "400 OTSParameterInvalid: Parse PBMessage from RawString failed."
    );
    let false_name = [&[0x75, 0, 0, 0, 1, 3, 4][..], &[0xff; 4]].concat();
    let refused = door.refused("PutRow", write("t", &false_name, 0));
    assert_eq!(refused, "400 OTSParameterInvalid: Cell data broken, the data ends too early.");
}
