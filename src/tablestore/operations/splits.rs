//! ComputeSplitPointsBySize: cuts a table into slices of similar size, between partition keys (P4).

use crate::engine::{Mass, PartitionId, TreeId};
use crate::error::{Error, Result};
use crate::model::{Consumed, KeyType, KeyValue, TableName, TableSchema, decode_key, encode_value, limits};
use crate::tablestore::state::State;
use crate::tablestore::units::failure::{Charge, Outcome};
use crate::tablestore::units::meter::Consumes;
use std::rc::Rc;

/// The parameters of ComputeSplitPointsBySize.
#[derive(Clone, Copy, Debug)]
pub struct SplitRequest<'a> {
    /// The table's name.
    pub table: &'a str,
    /// The wanted size of a slice, in units.
    pub split_size: i64,
    /// Bytes of a unit; 100 MB by default.
    pub unit: Option<i64>,
    /// The most split points; slices become larger if there would be more.
    pub point_limit: Option<i64>,
}

/// A table cut into slices.
#[derive(Clone, Debug, PartialEq)]
pub struct Splits {
    /// The table's primary key.
    pub schema: Rc<TableSchema>,
    /// The boundaries of slices, ascending: partition key values that belong to the slice behind. All other key columns
    /// are `INF_MIN` there. There is one boundary less than slices.
    pub points: Vec<KeyValue>,
    /// The location of each slice's start, 32 characters: the same for slices that begin in one partition.
    pub locations: Vec<String>,
    /// The cost: a read unit for each slice.
    pub consumed: Consumed,
}

/// See [`Instance::compute_split_points_by_size`](crate::tablestore::Instance::compute_split_points_by_size).
pub(crate) async fn compute_split_points_by_size(state: &State, request: &SplitRequest<'_>) -> Outcome<Splits> {
    state.clock();
    state.table_operation().map_err(|error| Charge::Nothing.failure(error))?;
    let name = TableName::parse(request.table).map_err(|error| Charge::Read.failure(error))?;
    let table = state.catalog.named(name);
    let splits = split(state, name, request).await.map_err(|error| Charge::Read.failure(error));
    state.metered_on(table.as_deref(), splits)
}

async fn split(state: &State, name: TableName<'_>, request: &SplitRequest<'_>) -> Result<Splits> {
    let size = checked_size(request)?;
    let table = state.catalog.readable(name)?;
    let masses = state.engine.profile(table.tree()).await?;
    let schema = table.schema();
    let weights: Vec<u64> = masses.iter().map(|mass| weight(mass, schema)).collect();
    let most = request.point_limit.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
    let cuts = cut(&weights, size, most);
    let partition = |cut: &usize| decode_key(&masses.get(*cut)?.partition)?.pop().and_then(successor);
    let points: Vec<KeyValue> = cuts.iter().filter_map(partition).collect();
    let partitions = state.engine.partitions(table.tree());
    let location = |start: Option<&KeyValue>| {
        let mut key = Vec::new();
        if let Some(start) = start {
            encode_value(start.as_value(), &mut key);
        }
        let place = partitions.partition_point(|partition| partition.from <= key).saturating_sub(1);
        let partition = partitions.get(place).map_or(PartitionId(0), |partition| partition.id);
        location(table.tree(), table.created(), partition)
    };
    let locations = std::iter::once(None).chain(points.iter().map(Some)).map(location).collect();
    let slices = u32::try_from(points.len() + 1).unwrap_or(u32::MAX);
    Ok(Splits { schema: Rc::clone(schema), points, locations, consumed: Consumed::reading(slices) })
}

impl Consumes for Splits {
    fn consumed(&self) -> Consumed {
        self.consumed
    }
}

/// The bytes of a slice.
fn checked_size(request: &SplitRequest<'_>) -> Result<u64> {
    if request.split_size <= 0 {
        return Err(Error::parameter("The split_size should be greater than 0."));
    }
    let (least, unit) = (limits::SPLIT_UNIT_BYTES, request.unit.unwrap_or(limits::SPLIT_UNIT_DEFAULT_BYTES));
    if unit < least {
        return Err(Error::parameter(format!("The split_size_unit_in_byte should be greater equal than: {least}")));
    }
    if request.point_limit.is_some_and(|most| most <= 0) {
        return Err(Error::parameter("The split_point_limit should be greater than 0."));
    }
    Ok(request.split_size.unsigned_abs().saturating_mul(unit.unsigned_abs()))
}

/// The units' bytes of these rows (C1): with the names of their key columns, and without the bytes that encoding adds.
fn weight(mass: &Mass, schema: &TableSchema) -> u64 {
    let added = |key_type: KeyType| if key_type == KeyType::Integer { 1 } else { 3 };
    let added: u64 = schema.key().iter().map(|column| added(column.key_type)).sum();
    (mass.bytes + mass.rows * schema.name_bytes() as u64).saturating_sub(mass.rows * added)
}

/// The least legal value above this one; `None` if there is none. A value of the greatest length has no longer successor.
pub(crate) fn successor(value: KeyValue) -> Option<KeyValue> {
    let most = limits::KEY_VALUE_BYTES;
    match value {
        KeyValue::Integer(value) => value.checked_add(1).map(KeyValue::Integer),
        KeyValue::String(mut value) if value.len() < most => {
            value.push('\0');
            Some(KeyValue::String(value))
        }
        KeyValue::String(mut value) => loop {
            let last = value.pop()?;
            // A longer character may not fit.
            if let Some(next) = (last..=char::MAX).nth(1).filter(|next| value.len() + next.len_utf8() <= most) {
                value.push(next);
                break Some(KeyValue::String(value));
            }
        },
        KeyValue::Binary(mut value) if value.len() < most => {
            value.push(0);
            Some(KeyValue::Binary(value))
        }
        KeyValue::Binary(mut value) => loop {
            if let Some(next) = value.pop()?.checked_add(1) {
                value.push(next);
                break Some(KeyValue::Binary(value));
            }
        },
    }
}

/// A hint of 32 characters, from the table's tree and the partition.
fn location(tree: TreeId, created: i64, partition: PartitionId) -> String {
    format!("{:012x}{:08x}{:012x}", created & 0xFFFF_FFFF_FFFF, tree.0, partition.0 & 0xFFFF_FFFF_FFFF)
}

/// Weights are first combined into pieces of this fraction of a slice; finer cuts are not worth their time.
const PIECES_PER_SLICE: u64 = 256;

/// The greatest tolerated distance of a slice from the wanted size, as a fraction of it.
const TOLERANCE: f64 = 0.3;

/// A key larger than a slice may have neighbours in its slice. From this size on they count as too much: at least on one
/// side of the key they could be a slice of their own.
const BESIDE_LARGE: f64 = 1.4;

/// A slice of more than this many times its size is only considered if it cannot be smaller.
const LARGEST: u64 = 2;

/// The places behind which to cut, ascending: slices of about `size`, at most `most` cuts.
fn cut(weights: &[u64], size: u64, most: usize) -> Vec<usize> {
    let mut size = size;
    loop {
        let cuts = cut_to(weights, size);
        if cuts.len() <= most {
            return cuts;
        }
        let larger = size.saturating_mul(cuts.len() as u64 + 1) / (most as u64 + 1);
        size = larger.max(size.saturating_add(1));
    }
}

/// Chooses slices so that as few as possible are further from `size` than [`TOLERANCE`]. Among such choices it minimises
/// the sum of the fourth powers of the distances, so the worst slices count most. For a partition key larger than a
/// slice, only its neighbours in the slice count, not the key.
///
/// Between 1.3 and 1.4 times the size neither one slice nor two can be within the tolerance; nor can a table smaller than
/// 0.7 times the size.
fn cut_to(weights: &[u64], size: u64) -> Vec<usize> {
    // Pieces: the place of the last weight, their total weight, and the heaviest single weight in them.
    let mut pieces: Vec<(usize, u64, u64)> = Vec::new();
    for (at, &weight) in weights.iter().enumerate() {
        match pieces.last_mut() {
            Some(piece) if piece.1.saturating_add(weight) <= size / PIECES_PER_SLICE => {
                *piece = (at, piece.1 + weight, piece.2.max(weight));
            }
            _ => pieces.push((at, weight, weight)),
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "a measure of quality")]
    let cost = |slice: u64, heaviest: u64| {
        let (off, most) = match heaviest > size {
            true => (slice - heaviest, BESIDE_LARGE),
            false => (slice.abs_diff(size), TOLERANCE),
        };
        let off = off as f64 / size as f64;
        // All good slices together cost less than one bad slice.
        if off > most { 1.0 + off.powi(4) } else { off.powi(4) / 1e9 }
    };
    // For each piece: the least cost of slices that end with it, and the start of the last of them.
    let mut best: Vec<(f64, usize)> = Vec::with_capacity(pieces.len());
    for end in 0..pieces.len() {
        let (mut slice, mut heaviest) = (0_u64, 0);
        let mut chosen = (f64::INFINITY, end);
        for (start, piece) in pieces.iter().enumerate().take(end + 1).rev() {
            slice += piece.1;
            heaviest = heaviest.max(piece.2);
            let before = start.checked_sub(1).and_then(|before| best.get(before)).map_or(0.0, |(cost, _)| *cost);
            let whole = before + cost(slice, heaviest);
            if whole < chosen.0 {
                chosen = (whole, start);
            }
            if slice - heaviest.min(slice) > size.saturating_mul(LARGEST) {
                break;
            }
        }
        best.push(chosen);
    }
    let mut cuts = Vec::new();
    let mut end = best.len();
    while let Some((_, start)) = end.checked_sub(1).and_then(|last| best.get(last)) {
        end = *start;
        if let Some((place, ..)) = end.checked_sub(1).and_then(|last| pieces.get(last)) {
            cuts.push(*place);
        }
    }
    cuts.reverse();
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The weights of the slices.
    fn slices(weights: &[u64], size: u64, most: usize) -> Vec<u64> {
        let cuts = cut(weights, size, most);
        let mut from = 0;
        let ends = cuts.into_iter().map(|cut| cut + 1).chain([weights.len()]);
        ends.map(|end| weights[std::mem::replace(&mut from, end)..end].iter().sum()).collect()
    }

    #[test]
    fn p4_slices_are_within_30_percent_of_the_asked_size() {
        for total in [75, 100, 125, 140, 149, 200, 333, 1000, 12_345] {
            for weight in [1, 2, 5, 7] {
                let weights = vec![weight; total / weight as usize];
                let slices = slices(&weights, 100, usize::MAX);
                assert!(slices.iter().all(|slice| (70..=130).contains(slice)), "{total} of {weight}: {slices:?}");
            }
        }
        assert_eq!(slices(&[60; 10], 100, usize::MAX), [120; 5], "as even as the keys allow");
        assert_eq!(slices(&[10], 100, usize::MAX), [10]);
        assert_eq!(slices(&[], 100, usize::MAX), [0], "an empty table is one slice");
    }

    /// P4: three good slices are better than one bad slice beside two that cannot be better.
    #[test]
    fn p4_all_slices_are_within_30_percent_where_that_is_possible() {
        assert_eq!(slices(&[69, 60, 40, 31, 71], 100, usize::MAX), [129, 71, 71]);
        let many: Vec<u64> = [69, 60, 40].into_iter().chain([31, 40].repeat(300)).chain([31, 71]).collect();
        let slices = slices(&many, 100, usize::MAX);
        assert!(slices.iter().all(|slice| (70..=130).contains(slice)), "{slices:?}");
    }

    /// P4: between 1.3 and 1.4 slices no number of slices is within 30 %, so the nearer one is taken.
    #[test]
    fn p4_between_1_3_and_1_4_slices_the_nearer_number_is_taken() {
        assert_eq!(slices(&[1; 130], 100, usize::MAX), [130]);
        assert_eq!(slices(&[1; 132], 100, usize::MAX), [132]);
        assert_eq!(slices(&[1; 140], 100, usize::MAX), [70, 70]);
    }

    #[test]
    fn p4_a_key_that_is_larger_than_a_slice_does_not_spoil_the_others() {
        let mut weights = vec![10; 100];
        weights.insert(43, 5000);
        weights.insert(71, 301);
        let slices = slices(&weights, 100, usize::MAX);
        let large: Vec<u64> = slices.iter().copied().filter(|slice| *slice > 130).collect();
        assert_eq!(large.len(), 2, "{slices:?}");
        assert!(large.contains(&5000) || large.iter().any(|slice| (5000..5070).contains(slice)), "{slices:?}");
        assert!(slices.iter().all(|slice| *slice >= 70), "{slices:?}");
    }

    #[test]
    fn p4_with_a_limit_of_points_slices_are_larger() {
        let weights = vec![1; 1000];
        for most in [1, 2, 3, 7, 98, 99] {
            let slices = slices(&weights, 10, most);
            assert!(slices.len() <= most + 1, "{most}: {}", slices.len());
            assert!(slices.len() > most / 2, "{most}: {}", slices.len());
            let (least, largest) = (slices.iter().min().expect("some"), slices.iter().max().expect("some"));
            assert!(*largest * 10 <= *least * 18, "{most}: {slices:?}");
        }
    }

    #[test]
    fn p4_the_next_slice_begins_behind_the_last_key_of_the_one_before() {
        assert_eq!(successor(KeyValue::Integer(7)), Some(KeyValue::Integer(8)));
        assert_eq!(successor(KeyValue::Integer(i64::MAX)), None);
        assert_eq!(successor(KeyValue::String("a".into())), Some(KeyValue::String("a\0".into())));
        assert_eq!(successor(KeyValue::Binary(vec![255])), Some(KeyValue::Binary(vec![255, 0])));
        let long = |last: &str| KeyValue::String(format!("{:z<1$}{last}", "", limits::KEY_VALUE_BYTES - last.len()));
        for (value, next) in
            [("a", "b"), ("a\u{7f}", "b"), ("aé", "aê"), ("a\u{d7ff}", "a\u{e000}"), ("a\u{10ffff}", "b")]
        {
            let next = match (long(value), next) {
                (KeyValue::String(mut long), next) => {
                    long.truncate(limits::KEY_VALUE_BYTES - value.len());
                    KeyValue::String(long + next)
                }
                (other, _) => other,
            };
            assert_eq!(successor(long(value)), Some(next), "{value:?}");
        }
        assert_eq!(successor(KeyValue::String("\u{10ffff}".repeat(256))), None);
        let mut bytes = vec![255; limits::KEY_VALUE_BYTES];
        assert_eq!(successor(KeyValue::Binary(bytes.clone())), None);
        bytes[0] = 7;
        assert_eq!(successor(KeyValue::Binary(bytes)), Some(KeyValue::Binary(vec![8])));
    }
}
