//! Split blocks are rebuilt exactly, and damaged ones are reported.

mod known_rows;

use super::stream::Share;
use super::*;
use crate::format::block::Block;
use crate::format::fragment::{self, FragmentHead};
use crate::format::names::NameBuilder;
use crate::format::wire::{Decoded, Reader, put_bytes, put_sv, put_uv};
use crate::model::{CellChange, CellOp, ValueRef};
use proptest::prelude::*;

/// A cell: column, kind, number, text.
type CellSeed = (u8, u8, i64, String);
/// A row: key, seqno, stamp, marker, cells.
type RowSeed = (Vec<u8>, u64, i64, Option<i64>, Vec<CellSeed>);

fn split(payload: &[u8], form: Form) -> Option<Vec<u8>> {
    super::split(payload, form).map(|(stored, _)| stored)
}

fn join(stored: &[u8], raw: usize) -> Decoded<Vec<u8>> {
    join_rows(stored, raw, None)
}

fn join_rows(stored: &[u8], raw: usize, keys: Option<&[&[u8]]>) -> Decoded<Vec<u8>> {
    super::join(stored, raw, keys).map(|(payload, _)| payload)
}

fn payload(rows: &[RowSeed]) -> Vec<u8> {
    let (mut names, mut entries) = (NameBuilder::default(), Vec::new());
    let (base_stamp, base_seqno) = rows.first().map_or((0, 0), |row| (row.2, row.1));
    for (key, seqno, stamp, marker, cells) in rows {
        put_bytes(key, &mut entries);
        put_sv(seqno.wrapping_sub(base_seqno).cast_signed(), &mut entries);
        let columns: Vec<_> = cells.iter().map(|cell| format!("c{}", cell.0)).collect();
        let changes = cells.iter().zip(&columns).map(|((_, kind, number, text), column)| {
            let version = if kind & 16 == 0 { *stamp } else { *number };
            let op = match kind & 15 {
                0 => CellOp::DeleteColumn,
                1 => CellOp::DeleteVersion(*number),
                2 => CellOp::Put(version, ValueRef::Integer(*number)),
                3 => CellOp::Put(version, ValueRef::Double(f64::from_bits(number.cast_unsigned()))),
                4 => CellOp::Put(version, ValueRef::Double((*number % 100_000) as f64 / 100.0)),
                5 => CellOp::Put(version, ValueRef::Boolean(*number > 0)),
                6 => CellOp::Put(version, ValueRef::Binary(&key[..])),
                _ => CellOp::Put(version, ValueRef::String(text)),
            };
            CellChange { column, op }
        });
        let head = FragmentHead { hides_older: cells.len() % 2 == 0, marker: *marker, stamp: *stamp };
        let mut fragment = Vec::new();
        fragment::encode(head, changes, base_stamp, &mut names, &mut fragment);
        put_bytes(&fragment, &mut entries);
    }
    let mut payload = Vec::new();
    put_sv(base_stamp, &mut payload);
    put_uv(base_seqno, &mut payload);
    put_uv(rows.len() as u64, &mut payload);
    names.encode(&mut payload);
    payload.extend(entries);
    payload
}

/// The entries of a block, with the cells of their fragments.
fn entries(block: &Block) -> Vec<(Vec<u8>, u64, FragmentHead, String)> {
    let entries = (0..block.len()).filter_map(|index| block.entry(index));
    let read = entries.map(|entry| {
        let mut fragment = block.fragment(&entry).expect("a fragment");
        let (head, mut cells) = (fragment.head(), String::new());
        while let Some(cell) = fragment.next_cell().expect("a cell") {
            cells += &format!("{cell:?} ");
        }
        (entry.key.to_vec(), entry.seqno, head, cells)
    });
    read.collect()
}

fn cell() -> impl Strategy<Value = CellSeed> {
    let number = prop_oneof![any::<i64>(), -70i64..70, 1_000_000i64..1_000_300];
    (0u8..6, 0u8..32, number, "[a-c\0é]{0,12}")
}

fn row() -> impl Strategy<Value = RowSeed> {
    let key = prop_oneof![
        (0u64..400).prop_map(|id| [&[0, 0, 0, 1, 2][..], &id.to_be_bytes()].concat()),
        proptest::collection::vec(0u8..3, 0..12),
        any::<[u8; 8]>().prop_map(Vec::from),
    ];
    let marker = proptest::option::of(any::<i64>());
    (key, any::<u64>(), any::<i64>(), marker, proptest::collection::vec(cell(), 0..8))
}

/// Rows of a few shapes, as tables have them, or of any.
fn rows() -> impl Strategy<Value = Vec<RowSeed>> {
    let alike = (row(), 0usize..200).prop_map(|(first, count)| {
        let row = |i: usize| {
            let mut row = first.clone();
            row.0 = (i as u64).to_be_bytes().into();
            row.1 = row.1.wrapping_add(i as u64);
            row.4.iter_mut().for_each(|cell| cell.2 = cell.2.wrapping_add(i as i64 * 7));
            row
        };
        (0..count).map(row).collect::<Vec<_>>()
    });
    prop_oneof![alike, proptest::collection::vec(row(), 0..120)].prop_map(|mut rows| {
        rows.sort();
        rows
    })
}

#[test]
fn a_key_that_shares_more_than_there_is_is_refused() {
    // Else it could be the key before, and pass for another one.
    let row = |seqno| -> RowSeed { (vec![7, 7, 1], seqno, 1, Some(1), Vec::new()) };
    let payload = payload(&[row(2), row(1)]);
    let mut stored = split(&payload, Form::Fast).expect("it is a block's payload");
    let at = stored.windows(5).position(|bytes| bytes == [16, 1, 3, 4, 0]).expect("the keys");
    stored[at + 3] = 5;
    assert!(join(&stored, payload.len()).is_err());
}

#[test]
fn a_part_of_a_block_does_not_pass_for_the_whole() {
    let row = |id| -> RowSeed { (vec![7, 7, id], 1, 1, Some(1), Vec::new()) };
    let payload = payload(&[row(1), row(2)]);
    let stored = split(&payload, Form::Fast).expect("it is a block's payload");
    let part = join_rows(&stored, payload.len(), Some(&[&[7, 7, 1]])).expect("a row");
    assert!(part.len() < payload.len());
    assert!(join_rows(&stored, part.len(), Some(&[&[7, 7, 1]])).is_err());
}

proptest! {
    #[test]
    fn any_block_comes_together_again(rows in rows()) {
        let payload = payload(&rows);
        for form in [Form::Fast, Form::Dense] {
            let stored = split(&payload, form).expect("it is a block's payload");
            let joined = join(&stored, payload.len());
            prop_assert_eq!(joined.as_deref(), Ok(&payload[..]));
        }
    }

    #[test]
    fn the_entries_of_some_keys_are_those_of_the_whole_block(rows in rows(), picks in proptest::collection::vec((any::<usize>(), 0u8..8), 0..6)) {
        let payload = payload(&rows);
        let mut keys: Vec<Vec<u8>> = picks.iter().map(|(at, kind)| {
            let key = rows.get(at % rows.len().max(1)).map(|row| row.0.clone()).unwrap_or_default();
            // Mostly keys of rows, and some beside them.
            match kind {
                0 => [&key[..], &[7]].concat(),
                1 => key.split_last().map(|(_, rest)| rest.to_vec()).unwrap_or_default(),
                2 => vec![255; 9],
                _ => key,
            }
        }).collect();
        keys.sort();
        let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        let whole = Block::decode(payload.clone().into()).expect("a block");
        for form in [Form::Fast, Form::Dense] {
            let stored = split(&payload, form).expect("it is a block's payload");
            let part = Block::decode(join_rows(&stored, payload.len(), Some(&keys)).expect("rows").into()).expect("a block");
            prop_assert_eq!(entries(&part), entries(&whole).into_iter().filter(|entry| keys.contains(&&*entry.0)).collect::<Vec<_>>());
            for key in &keys {
                prop_assert_eq!(part.entries_of(key).len(), whole.entries_of(key).len());
            }
        }
    }

    #[test]
    fn a_damaged_form_is_damage_or_another_block(rows in rows(), at in any::<usize>(), to in any::<u8>(), raw in 0usize..5000, dense in any::<bool>()) {
        let payload = payload(&rows);
        let mut stored = split(&payload, if dense { Form::Dense } else { Form::Fast }).expect("it is a block's payload");
        let at = at % stored.len();
        stored[at] = to;
        if let Ok(joined) = join(&stored, payload.len()) {
            prop_assert_eq!(joined.len(), payload.len());
        }
        let keys: Vec<&[u8]> = rows.iter().step_by(3).map(|row| &row.0[..]).collect();
        if let Ok(joined) = join_rows(&stored, payload.len(), Some(&keys)) {
            prop_assert!(joined.len() <= payload.len());
        }
        stored.truncate(at);
        prop_assert!(join(&stored, raw).is_ok_and(|joined| joined.len() == raw) || join(&stored, raw).is_err());
    }

    #[test]
    fn garbage_is_damage(bytes in proptest::collection::vec(any::<u8>(), 0..300), raw in 0usize..3000) {
        prop_assert!(join_rows(&bytes, raw, Some(&[b"", b"\0"])).is_ok_and(|joined| joined.len() <= raw) || join_rows(&bytes, raw, Some(&[b"", b"\0"])).is_err());
        if let Ok(joined) = join(&bytes, raw) {
            prop_assert_eq!(joined.len(), raw);
        }
        let _ = split(&bytes, Form::Dense);
    }
}

/// The bytes match FORMAT.md, in this and every later version.
#[test]
fn golden_columns() {
    let text = |text: &str| (1, 7, 0, text.to_owned());
    let rows: Vec<RowSeed> = (0..3)
        .map(|i| {
            (
                vec![0, 0, 0, 1, 2, 0, 0, i],
                9 + u64::from(i),
                1000,
                Some(1000),
                vec![(0, 2, 77, String::new()), text("ab")],
            )
        })
        .collect();
    let payload = payload(&rows);
    let stored = split(&payload, Form::Fast).expect("a payload");
    assert_eq!(join(&stored, payload.len()).as_deref(), Ok(&payload[..]));
    let expected = [
        &[11, 0xd0, 0x0f, 9, 3, 2, 2, b'c', b'0', 2, b'c', b'1'][..], // the head as it is: 3 entries, 2 names
        &[16, 1, 8, 0, 0], // keys: eight bytes of its own, then two that are as long
        &[8, 1, 1],        // and one more than the last
        &[32, 0, 0, 0, 1, 2, 0, 0, 0],
        &[12, 0, 2, 2],                                        // seqnos
        &[12, 0, 0, 0],                                        // rows of shape 0
        &[24, 3, 2, 0, 2, 1, 6], // shapes: hides older and has a marker; an integer and a text
        &[12, 0, 0, 0],          // stamps
        &[12, 0, 0, 0],          // markers
        &[0],                    // versions
        &[1, 16, 0x9a, 1, 0, 0], // integers, as differences
        &[4, 36, b'a', b'b', 0, b'a', b'b', 0, b'a', b'b', 0], // texts
    ];
    assert_eq!(stored, expected.concat());
}

/// A table's integers, texts and numbers with few decimals take less than rows with LZ4.
#[test]
fn columns_are_smaller_than_rows() {
    let rows: Vec<RowSeed> = (0..1000u32)
        .map(|i| {
            let noise = i64::from(i.wrapping_mul(0x9E37_79B1) >> 12);
            let cells = vec![
                (0, 2, noise, String::new()),
                (1, 4, noise, String::new()),
                (2, 7, 0, format!("name {}", noise % 50)),
            ];
            ([&[0, 0, 0, 1, 2][..], &u64::from(i).to_be_bytes()].concat(), u64::from(i), 5, Some(5), cells)
        })
        .collect();
    let payload = payload(&rows);
    let stored = split(&payload, Form::Fast).expect("a payload").len();
    let mut lz4 = Vec::new();
    crate::format::lz4::compress(&payload, &mut lz4);
    assert!(stored * 2 < lz4.len(), "{stored} and {} of {}", lz4.len(), payload.len());
}

fn dense_there_and_back(input: &[u8]) -> usize {
    let mut stored = Vec::new();
    dense::compress(input, &mut stored);
    assert_eq!(dense::decompress(&stored, input.len(), input.len()).as_deref(), Ok(input));
    stored.len()
}

/// Bytes that repeat pieces of themselves.
fn repetitive() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec((proptest::collection::vec(any::<u8>(), 0..50), 0usize..30), 0..20)
        .prop_map(|pieces| pieces.iter().flat_map(|(piece, times)| piece.repeat(*times)).collect())
}

proptest! {
    #[test]
    fn dense_streams_come_back(input in repetitive(), at in any::<usize>(), to in any::<u8>()) {
        dense_there_and_back(&input);
        let mut stored = Vec::new();
        dense::compress(&input, &mut stored);
        let at = at % stored.len();
        stored[at] = to;
        let read = dense::decompress(&stored, input.len(), input.len());
        prop_assert!(read.is_err() || read.is_ok_and(|bytes| bytes.len() == input.len()));
        stored.truncate(at);
        prop_assert!(input.len() < 8 || dense::decompress(&stored, input.len() * 9 + 999_999, input.len() * 9 + 999_999).is_err());
    }

    #[test]
    fn the_beginning_of_a_dense_stream_is_read_alone(input in repetitive(), wanted in any::<proptest::sample::Index>()) {
        let mut stored = Vec::new();
        dense::compress(&input, &mut stored);
        let wanted = wanted.index(input.len() + 1);
        let read = dense::decompress(&stored, input.len(), wanted).expect("its beginning");
        prop_assert!(read.len() >= wanted && input.starts_with(&read));
    }

    #[test]
    fn integers_of_any_size_come_back(least in any::<i64>(), factor in 1u64..1000, bits in 0u32..64, seeds in proptest::collection::vec(any::<u64>(), 1..200)) {
        let number = |seed: &u64| least.wrapping_add((seed >> bits).wrapping_mul(factor).cast_signed());
        let cells = |seed: &u64| vec![(0, 2, number(seed), String::new())];
        let row = |(i, seed): (usize, &u64)| ((i as u64).to_be_bytes().to_vec(), i as u64, 5, None, cells(seed));
        let payload = payload(&seeds.iter().enumerate().map(row).collect::<Vec<_>>());
        let stored = split(&payload, Form::Dense).expect("a payload");
        let joined = join(&stored, payload.len());
        prop_assert_eq!(joined.as_deref(), Ok(&payload[..]));
    }
}

proptest! {
    #[test]
    fn values_that_come_again_come_back(texts in proptest::collection::vec("[a-c\0é]{0,9}", 1..9), numbers in proptest::collection::vec(any::<i64>(), 1..9), picks in proptest::collection::vec(any::<usize>(), 1..300), at in any::<usize>(), to in any::<u8>()) {
        let row = |(i, &pick): (usize, &usize)| {
            let (number, text) = (numbers[pick % numbers.len()], texts[pick / 9 % texts.len()].clone());
            let cells = [2u8, 3, 4, 6, 7].map(|kind| (kind, kind, number, text.clone()));
            ((i as u64).to_be_bytes().to_vec(), i as u64, 5, None, cells.to_vec())
        };
        let payload = payload(&picks.iter().enumerate().map(row).collect::<Vec<_>>());
        let mut stored = split(&payload, Form::Dense).expect("a payload");
        let joined = join(&stored, payload.len());
        prop_assert_eq!(joined.as_deref(), Ok(&payload[..]));
        let at = at % stored.len();
        stored[at] = to;
        prop_assert!(join(&stored, payload.len()).is_err() || join(&stored, payload.len()).is_ok_and(|joined| joined.len() == payload.len()));
    }
}

/// One long listed value, and a row that claims to repeat it: no memory is taken for that.
#[test]
fn a_row_that_repeats_a_listed_value_too_often_is_damage() {
    let long = "x".repeat(3000);
    let rows: Vec<RowSeed> = (0..40u64)
        .map(|i| {
            let text = if i * i % 7 < 3 { long.clone() } else { format!("{long}y") };
            (i.to_be_bytes().to_vec(), i, 5, None, vec![(0, 7, 0, text)])
        })
        .collect();
    let whole = payload(&rows);
    let stored = split(&whole, Form::Dense).expect("a payload");
    assert_eq!(join(&stored, whole.len()).as_deref(), Ok(&whole[..]));
    assert!(join(&stored, 2000).is_err());
}

/// Columns that nothing uses, each with a table of codes: memory stays within what the block could have.
#[test]
fn columns_that_ask_for_more_than_their_block_can_hold_are_damage() {
    // No entries and no names; nine empty streams.
    let start = [&[4, 0, 0, 0, 0][..], &[0; 9]].concat();
    let opened = |column: &[u8], times: usize, raw: usize| join(&[&start, &column.repeat(times)[..]].concat(), raw);
    assert_eq!(opened(&[], 0, 4).as_deref(), Ok(&[0; 4][..]));
    // One text is listed, empty, with a code of one bit.
    let one = [6, 1, 4, 4, 0, 4, 1];
    let mut reader = Reader::new(&one);
    let column = column::Stored::take(&mut reader, &mut 2, Share::ALL).expect("a column");
    assert_eq!(column.values().expect("a list").memory(), 1 + 2 * size_of::<usize>() + 4);
    assert_eq!(opened(&one, 2, 4).expect_err("no cell").what, "more columns than values");
    assert_eq!(opened(&[6, 0, 4, 0, 0], 1, 4).expect_err("none").what, "none or too many values are listed");
    // Thirteen integers, packed into no bits; codes of 1 to 12 bits.
    let mut long = vec![6, 13, 8, 12, 0, 1, 0, 28];
    long.extend([0x21, 0x43, 0x65, 0x87, 0xa9, 0xcb, 0x0c]);
    let column = column::Stored::take(&mut Reader::new(&long), &mut 10, Share::ALL).expect("a column");
    assert!(column.values().expect("a list").memory() > 8192);
    assert_eq!(opened(&long, 6000, 30_004).expect_err("too much").what, "the lists hold more than the block");
}

/// Most of a column's bytes may be those of the first rows, or of the last ones. Only a share of them is decompressed.
#[test]
fn rows_at_any_place_of_a_long_block_are_those_of_the_whole_block() {
    const TEXT: u8 = 7;
    let noise = |n: i64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15u64.cast_signed()) >> 20;
    let text =
        |n: i64, words: i64| (0..words).map(|word| format!("{:x} ", noise(n * 31 + word) & 0xFFF)).collect::<String>();
    let row = |n: i64| {
        let mut cells = vec![(0, TEXT, 0, text(n, if n < 90 { 12 } else { 1 })), (1, 3, noise(n), String::new())];
        cells.push((2, 2, noise(n) & 0xFFFF, String::new()));
        cells.push((3, TEXT, 0, text(n, n / 70) + if n % 100 == 7 { "\0" } else { "" }));
        if n > 500 {
            // With a version of its own.
            cells.push((4, TEXT | 16, n, text(n, 9)));
        }
        if n % 3 == 0 {
            // Integers that repeat, and more shapes than have numbers.
            cells.extend((0..n % 70).map(|at| (5, 2 | 16, at, String::new())));
        }
        let marker = (n % 5 == 0).then_some(n);
        // Every third key has two entries.
        let id = if n % 4 == 1 { n - 1 } else { n } as u64;
        ((id * 2).to_be_bytes().to_vec(), 600 - n as u64, n, marker, cells)
    };
    let mut rows: Vec<_> = (0..600).map(row).collect();
    rows.sort_by(|a, b| (&a.0, b.1).cmp(&(&b.0, a.1)));
    let payload = payload(&rows);
    let whole = entries(&Block::decode(payload.clone().into()).expect("a block"));
    let places: [&[u64]; 10] =
        [&[0], &[2, 3, 4], &[20, 24, 160], &[176], &[400], &[599, 1012], &[7, 1198], &[1198], &[2000], &[]];
    for form in [Form::Fast, Form::Dense] {
        let stored = split(&payload, form).expect("it is a block's payload");
        let (mut in_part, mut anew) = (0, 0);
        for places in places {
            let keys: Vec<_> = places.iter().map(|place| place.to_be_bytes()).collect();
            let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
            let part = join_rows(&stored, payload.len(), Some(&keys)).expect("rows");
            let part = entries(&Block::decode(part.into()).expect("a block"));
            let wanted: Vec<_> = whole.iter().filter(|entry| keys.contains(&&*entry.0)).cloned().collect();
            assert_eq!(part, wanted, "{form:?} {places:?}");
            match join::is_in_share(&stored, payload.len(), &keys) {
                true => in_part += 1,
                false => anew += 1,
            }
        }
        assert!(in_part >= 3 && anew >= 1, "{form:?}: {in_part} in a share, {anew} anew");
    }
}

/// So a crafted block asks for no more memory than its size allows.
#[test]
fn a_block_of_more_entries_than_fit_is_damage() {
    let mut stored = Vec::new();
    put_bytes(&[0, 0, 200, 1, 0], &mut stored);
    let key = *b"0123456789ab";
    for stream in [&[&[1, 12][..], &[0; 199]].concat()[..], &[0; 199], &key, &[0; 200], &[0; 200], &[0, 0]] {
        stream::put_raw(stream, &mut stored);
    }
    (0..3).for_each(|_| stream::put_raw(&[0; 200], &mut stored));
    let read = |raw| join_rows(&stored, raw, Some(&[&key])).expect_err("damage").what;
    assert_eq!(read(700), "more entries than the block has room for");
    assert_ne!(read(1100), "more entries than the block has room for");
}

#[test]
fn the_share_of_a_stream_is_its_beginning() {
    let input: Vec<u8> = (0..4000u32).flat_map(|n| (n / 3).to_le_bytes()).collect();
    for form in [Form::Fast, Form::Dense] {
        let mut stored = Vec::new();
        stream::put(&input, form, &mut stored);
        for (first, of, least, most) in
            [(0, 9, 0, 2000), (1, 8, 2000, 4000), (4, 8, 8000, 10_000), (8, 8, 16_000, 16_000), (5, 0, 16_000, 16_000)]
        {
            let (mut reader, mut budget) = (Reader::new(&stored), 16_000);
            let begun = stream::take(&mut reader, &mut budget, Share { first, of }).expect("a stream");
            assert!(
                (least..=most).contains(&begun.len()) && input.starts_with(&begun),
                "{first} of {of}: {}",
                begun.len()
            );
            assert_eq!((reader.left(), budget), (0, 0), "what follows, and what is left, does not depend on the share");
        }
    }
}

/// Counts that would need codes of more than twelve bits.
#[test]
fn dense_streams_of_very_unequal_bytes_come_back() {
    let (mut input, mut count, mut before) = (Vec::new(), 1usize, 1usize);
    for byte in 0..22u8 {
        input.extend((0..count).map(|i| if i % 2 == 0 { byte } else { byte.wrapping_mul(i as u8 | 1) % 22 }));
        (count, before) = (count + before, count);
    }
    assert!(dense_there_and_back(&input) < input.len());
    for input in [&[][..], &[3], &[3; 40], &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]] {
        dense_there_and_back(input);
    }
}

/// The bytes match FORMAT.md, in this and every later version.
#[test]
fn golden_dense() {
    let (mut stored, input) = (Vec::new(), b"abcabcabcabcabcabcabcabcabcabcabcabcaxyz");
    dense::compress(input, &mut stored);
    assert_eq!(stored, [238, 52, 51, 30, 48, 51, 222, 39, 30, 210, 16, 158, 34, 7, 235, 14]);
    // Another writer may choose other repetitions.
    let other = [238, 52, 35, 30, 48, 51, 222, 55, 30, 210, 16, 158, 34, 115, 66, 233, 0];
    for stored in [&stored[..], &other] {
        assert_eq!(dense::decompress(stored, 40, 40).as_deref(), Ok(&input[..]));
    }
}

/// The bytes match FORMAT.md, in this and every later version.
#[test]
fn golden_packed() {
    let numbers = [1350, 1000, 1050, 2550, 1000, 1850, 1100, 2300, 1950, 1050, 1450, 2500, 1000, 2050, 1600, 1150];
    let mut payload = Vec::new();
    numbers.iter().for_each(|&number| put_sv(number, &mut payload));
    let (mut values, mut reader) = (column::Values::new(tag::INTEGER), Reader::new(&payload));
    while !reader.is_empty() {
        values.read(&mut reader).expect("an integer");
    }
    let mut stored = Vec::new();
    values.put(&payload, Form::Dense, &mut stored);
    // Packed, raw, 14 bytes: from 1000 on by 50, in five bits each, the lowest bit first.
    let expected = [&[8, 56, 0xd0, 0x0f, 50, 5][..], &[7, 132, 15, 162, 208, 51, 36, 15, 42, 27]].concat();
    assert_eq!(stored, expected);
    let column = column::Stored::take(&mut Reader::new(&stored), &mut 100, Share::ALL).expect("a column");
    let (mut column, mut joined) = (column.values().expect("integers"), Vec::new());
    numbers.iter().for_each(|_| column.put_next(tag::INTEGER, &mut joined).expect("a value"));
    assert_eq!(joined, payload);
}

/// The bytes match FORMAT.md, in this and every later version.
#[test]
fn golden_listed() {
    let texts =
        [0, 0, 1, 0, 2, 0, 1, 1, 0, 2, 0, 0, 0, 2, 1, 0, 1, 0, 0, 2, 0, 1, 0, 0].map(|i| ["idle", "on", "off"][i]);
    let mut payload = Vec::new();
    texts.iter().for_each(|text| put_bytes(text.as_bytes(), &mut payload));
    let (mut values, mut reader) = (column::Values::new(tag::STRING), Reader::new(&payload));
    while !reader.is_empty() {
        values.read(&mut reader).expect("a text");
    }
    let mut stored = Vec::new();
    values.put(&payload, Form::Dense, &mut stored);
    let mut expected = vec![6, 3, 4, 48]; // three are listed, each with a byte 00 behind it: 12 bytes as they are
    expected.extend_from_slice(b"idle\0on\0off\0");
    // Lengths of codes: 1, 2, 2 bits; so the codes are 0, 10 and 11.
    expected.extend_from_slice(&[24, 33, 66, 86, 198, 137, 5]);
    assert_eq!(stored, expected);
    let column = column::Stored::take(&mut Reader::new(&stored), &mut 100, Share::ALL).expect("a column");
    let (mut column, mut joined) = (column.values().expect("texts"), Vec::new());
    texts.iter().for_each(|_| column.put_next(tag::STRING, &mut joined).expect("a value"));
    assert_eq!(joined, payload);
}

/// Columns as tables have them: the dense form skips some attempts and loses nothing.
#[test]
fn what_is_not_tried_would_not_be_shorter() {
    let random = |n: i64| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15u64.cast_signed()) >> 20).rem_euclid(1_000_000);
    let columns: [(&str, &dyn Fn(i64) -> i64); 10] = [
        ("random", &random),
        ("random, mostly small", &|n| random(n) >> (random(n + 7) % 20)),
        ("few, at random", &|n| random(n) % 15),
        ("few, sorted", &|n| n / 40),
        ("few, in turn", &|n| n % 24 * 1000),
        ("few, mostly one", &|n| if random(n) % 20 == 0 { random(n) } else { 5 }),
        ("steps", &|n| 1_700_000_000_000 + n * 60_000),
        ("steps with gaps", &|n| 1_700_000_000_000 + n * 60_000 + n / 50 * 77_777),
        ("steps that shake", &|n| 1_700_000_000_000 + n * 60_000 + random(n) % 900),
        ("many, in turn", &|n| random(n % 200)),
    ];
    for (name, number) in columns {
        let mut payload = Vec::new();
        (0..500).for_each(|n| put_sv(number(n), &mut payload));
        let (mut values, mut reader) = (column::Values::new(super::tag::INTEGER), Reader::new(&payload));
        (0..500).for_each(|_| assert_eq!(values.read(&mut reader), Ok(0), "a number"));
        let (mut chosen, mut tried) = (Vec::new(), Vec::new());
        values.put(&payload, Form::Dense, &mut chosen);
        values.put_all(&payload, Form::Dense, true, &mut tried);
        assert!(chosen.len() <= tried.len() + tried.len() / 50, "{name}: {} instead of {}", chosen.len(), tried.len());
    }
}

#[test]
fn a_block_that_names_very_many_columns_is_not_taken_apart() {
    for (columns, apart) in [(1024, true), (1025, false)] {
        let named: Vec<_> = (0..columns).map(|at| format!("c{at:05}")).collect();
        let cells = named.iter().map(|column| CellChange { column, op: CellOp::Put(1, ValueRef::Integer(7)) });
        let (mut names, mut fragment, mut payload) = (NameBuilder::default(), Vec::new(), Vec::new());
        let head = FragmentHead { hides_older: true, marker: None, stamp: 1 };
        fragment::encode(head, cells, 1, &mut names, &mut fragment);
        put_sv(1, &mut payload);
        put_uv(1, &mut payload);
        put_uv(1, &mut payload);
        names.encode(&mut payload);
        put_bytes(b"key", &mut payload);
        put_sv(0, &mut payload);
        put_bytes(&fragment, &mut payload);
        assert_eq!(split(&payload, Form::Fast).is_some(), apart, "{columns} columns");
    }
}
