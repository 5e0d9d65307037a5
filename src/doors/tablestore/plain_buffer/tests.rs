//! Rows as the official clients send them, to the byte.

use super::*;
use crate::model::ValueRef;
use proptest::prelude::*;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("a byte");
    digits.chunks(2).map(byte).collect()
}

/// The key pk1 = 1, pk2 = "a".
const KEY: &str =
    "01 03 0403000000706b31 0509000000 000100000000000000 0a50 03 0403000000706b32 0506000000 030100000061 0a7f";

fn key(row: &mut write::RowParts<'_>) {
    row.key("pk1", ValueRef::Integer(1));
    row.key("pk2", ValueRef::String("a"));
}

fn key_cells() -> Vec<Cell<'static>> {
    let cell = |name, value| Cell { name, value: Some(Payload::Value(value)), op: None, version: None };
    vec![cell("pk1", ValueRef::Integer(1)), cell("pk2", ValueRef::String("a"))]
}

#[test]
fn the_checksum_is_that_of_the_polynomial_7() {
    let mut checksum = Checksum::new();
    checksum.add(b"1234");
    checksum.add(b"56789");
    assert_eq!(checksum.end(), 0xF4);
    let table: Vec<u8> = (0..8).map(|byte| CHECKSUM.checksum(&[byte])).collect();
    assert_eq!(table, [0, 7, 14, 9, 28, 27, 18, 21]);
}

#[test]
fn a_key_is_read_and_written_as_clients_do() {
    let bytes = hex(&format!("75000000 {KEY} 0945"));
    assert_eq!(bytes.len(), 54);
    assert_eq!(Row::read(&bytes), Ok(Row { key: key_cells(), ..Row::default() }));
    let mut writer = RowWriter::default();
    writer.begin();
    let mut row = writer.row();
    key(&mut row);
    row.end(None);
    assert_eq!(writer.bytes, bytes);
    let deleted = hex(&format!("75000000 {KEY} 08 0942"));
    assert_eq!(Row::read(&deleted), Ok(Row { key: key_cells(), is_deleted: true, ..Row::default() }));
}

#[test]
fn cells_of_all_types_have_the_checksums_of_clients() {
    let mut writer = RowWriter::default();
    writer.begin();
    let mut row = writer.row();
    key(&mut row);
    row.attribute("a", Some(ValueRef::Double(1.0)), None, None);
    row.attribute("b", Some(ValueRef::Integer(5)), None, None);
    row.attribute("s", Some(ValueRef::String("x")), None, Some(1_700_000_000_000));
    row.attribute("bl", Some(ValueRef::Binary(&[1])), None, None);
    row.attribute("bo", Some(ValueRef::Boolean(true)), None, None);
    row.end(None);
    let bytes = writer.bytes;
    assert_eq!(bytes.last(), Some(&0x88), "the row's checksum");
    // Behind each checksum of a cell comes another cell, or the end of the row.
    let is_end = |three: &&[u8]| three[0] == CELL_CHECKSUM && [CELL, ROW_CHECKSUM].contains(&three[2]);
    let ends: Vec<u8> = bytes.windows(3).filter(is_end).map(|three| three[1]).collect();
    assert!(ends.ends_with(&[0xdd, 0xea, 0x8a, 0x55, 0xd6]), "{ends:x?}");
    let read = Row::read(&bytes).expect("sound");
    assert_eq!(read.cells.len(), 5);
    assert_eq!(read.cells[2].version, Some(1_700_000_000_000));
    assert_eq!(read.cells[3].value, Some(Payload::Value(ValueRef::Binary(&[1]))));
}

#[test]
fn an_update_has_an_op_before_its_version_and_zeros_may_follow() {
    let cells = "02 03 0401000000 61 0506000000 0301000000 78 0a4d  03 0401000000 62 0603 07 0100000000000000 0ac5 \
                 03 0401000000 7a 0601 0a27  03 0401000000 69 0509000000 00 0100000000000000 0604 0abe  09c1";
    let mut bytes = hex(&format!("75000000 {KEY} {cells}"));
    let cell = |name, value: Option<ValueRef<'static>>, op, version| Cell {
        name,
        value: value.map(Payload::Value),
        op,
        version,
    };
    let expected = [
        cell("a", Some(ValueRef::String("x")), None, None),
        cell("b", None, Some(DELETE_ONE), Some(1)),
        cell("z", None, Some(DELETE_ALL), None),
        cell("i", Some(ValueRef::Integer(1)), Some(INCREMENT), None),
    ];
    assert_eq!(Row::read(&bytes).map(|row| row.cells), Ok(expected.to_vec()));
    let mut writer = RowWriter::default();
    writer.begin();
    let mut row = writer.row();
    key(&mut row);
    for Cell { name, value, op, version } in expected {
        let value = value.and_then(|value| if let Payload::Value(value) = value { Some(value) } else { None });
        row.attribute(name, value, op, version);
    }
    row.end(None);
    assert_eq!(writer.bytes, bytes);
    bytes.extend([0; 5]);
    assert_eq!(Row::read(&bytes).map(|row| row.cells.len()), Ok(4), "some clients send zeros behind the row");
}

#[test]
fn keys_may_be_infinite_or_left_to_the_store() {
    let min = hex("75000000 01 03 0403000000706b31 0501000000 09 0ac8 09");
    let mut checksum = Checksum::new();
    checksum.add(&[0xc8, 0]);
    let bytes = [&min[..], &[checksum.end()]].concat();
    assert_eq!(Row::read(&bytes).map(|row| row.key[0].value), Ok(Some(Payload::InfMin)));
    let auto = hex(
        "75000000 01 03 0403000000706b31 0509000000 000100000000000000 0a50 03 0403000000706b32 0501000000 0b 0af9 \
         02 03 0401000000 61 0506000000 0301000000 78 0a4d 0918",
    );
    assert_eq!(Row::read(&auto).map(|row| row.key[1].value), Ok(Some(Payload::AutoIncrement)));
}

#[test]
fn every_fault_has_the_services_text() {
    let fault = |bytes: &[u8]| Row::read(bytes).expect_err("a fault");
    let sound = hex(&format!("75000000 {KEY} 0945"));
    assert_eq!(fault(&hex("76000000 01")), "Cell data broken, mismatch header, actual: 118 , expect: 117.");
    assert_eq!(fault(&hex("75000000")), "Cell data broken, PK is empty.");
    assert_eq!(fault(&hex("75000000 02")), "Cell data broken, PK is empty.");
    assert_eq!(fault(&sound[..52]), "Invalid row: missing checksum.");
    assert_eq!(fault(&sound[..53]), "Invalid row: missing checksum.");
    assert_eq!(
        fault(&hex(&format!("75000000 {KEY} 0946"))),
        "Cell data broken, checksum is mismatch, actual: 70 , expect: 69."
    );
    assert_eq!(fault(&hex(&format!("75000000 {KEY} 10"))), "Cell data broken, row is not end with checksum tag.");
    assert_eq!(
        fault(&hex("75000000 01 03 0403000000706b31 0509000000 000100000000000000 09 45")),
        "Invalid Column(pk1): missing checksum."
    );
    // Some clients count characters where bytes are meant.
    let short = "75000000 01 03 0401000000 e5908d 0509000000 000100000000000000 0a50 0945";
    assert_eq!(fault(&hex(short)), "Cell data broken, unexpected tag: 144.");
    for cut in 0..52 {
        assert!(Row::read(&sound[..cut]).is_err(), "{cut}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_a_row_or_a_fault(bytes in proptest::collection::vec(any::<u8>(), 0..80), at in 0_usize..54, to in any::<u8>()) {
        let _ = Row::read(&[&[0x75, 0, 0, 0, 1], &bytes[..]].concat());
        let mut damaged = hex(&format!("75000000 {KEY} 0945"));
        let changed = damaged[at] != to;
        damaged[at] = to;
        prop_assert_eq!(Row::read(&damaged).is_err(), changed, "one wrong byte is noticed");
    }
}
