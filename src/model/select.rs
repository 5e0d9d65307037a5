//! Selects the cells of a row that a read returns (V2 to V5, V8; columns_to_get, start and end column).
//!
//! First come the cells that the table shows: of every column the newest `max_versions` that have not expired. From those
//! the read selects columns, a range of versions or one exact version, and the newest N.

use super::version::Retention;
use super::{CellPlace, CellRef};
use crate::collections::sort::sort_by;
use crate::error::{Error, Result};
use crate::model::limits;
use std::borrow::Cow;
use std::ops::Range;

/// The versions that a reader asks for, as given in a request (V8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VersionQuery {
    /// This many newest versions of a column.
    pub max_versions: Option<i64>,
    /// Versions (ms) from the first, inclusive, to the second, exclusive.
    pub range: Option<(i64, i64)>,
    /// One exact version (ms).
    pub version: Option<i64>,
}

impl VersionQuery {
    /// The newest version of every column.
    pub const NEWEST: Self = Self { max_versions: Some(1), range: None, version: None };

    fn check(self, nothing_asked: &str) -> Result<(usize, Range<i64>)> {
        // The misspelled word is the service's.
        match (self.max_versions, self.range, self.version) {
            (None, None, None) => return Err(Error::parameter(nothing_asked)),
            (Some(_), Some(_), Some(_)) => {
                return Err(Error::parameter(
                    "Specific tiemstamp, time range and max versions cannot be given at the same time.",
                ));
            }
            (Some(_), None, Some(_)) => {
                return Err(Error::parameter("Specific tiemstamp and max versions cannot be given at the same time."));
            }
            (None, Some(_), Some(_)) => {
                return Err(Error::parameter("Specific tiemstamp and time range cannot be given at the same time."));
            }
            _ => {}
        }
        let count = match self.max_versions {
            Some(count) if count <= 0 => {
                let text = format!("Invalid max versions: {count} . Reason: Max versions must be positive.");
                return Err(Error::parameter(text));
            }
            Some(count) => usize::try_from(count).unwrap_or(usize::MAX),
            None => usize::MAX,
        };
        if let Some(version) = self.version {
            if version < 0 {
                return Err(Error::parameter("Specific timestamp cannot be less than 0.."));
            }
            if version >= limits::VERSION_END {
                return Err(Error::parameter("Timestamp must be in range [0, INT64_MAX/1000)."));
            }
            return Ok((count, version..version + 1));
        }
        match self.range {
            Some((start, _)) if !(0..limits::VERSION_END).contains(&start) => {
                Err(Error::parameter("Timestamp must be in range [0, INT64_MAX/1000)."))
            }
            Some((start, end)) if end <= start => {
                Err(Error::parameter(format!("Invalid time range: start {start} must be less than end {end}.")))
            }
            Some((start, end)) => Ok((count, start..end)),
            None => Ok((count, i64::MIN..i64::MAX)),
        }
    }
}

/// A reader's selection for every row, checked, and ready to be applied to many.
#[derive(Clone, Debug)]
pub struct ReadSelection<'a> {
    versions: Range<i64>,
    count: usize,
    /// Sorted; empty asks for all columns.
    columns: Vec<&'a str>,
    start: Option<&'a str>,
    end: Option<&'a str>,
}

impl<'a> ReadSelection<'a> {
    /// Checks a request for versions. `nothing_asked` is the error text if it asks for none.
    ///
    /// # Errors
    /// `OTSParameterInvalid` for a meaningless combination or number.
    pub fn new(versions: VersionQuery, nothing_asked: &str) -> Result<Self> {
        let (count, versions) = versions.check(nothing_asked)?;
        Ok(Self { versions, count, columns: Vec::new(), start: None, end: None })
    }

    /// Asks for every visible version of every column.
    #[must_use]
    pub fn everything() -> Self {
        Self { versions: i64::MIN..i64::MAX, count: usize::MAX, columns: Vec::new(), start: None, end: None }
    }

    /// Asks only for these columns; for all if there are none.
    #[must_use]
    pub fn columns(mut self, mut columns: Vec<&'a str>) -> Self {
        sort_by(&mut columns, Ord::cmp);
        self.columns = columns;
        self
    }

    /// Asks only for columns from `start` (inclusive) to `end` (exclusive), by bytes.
    #[must_use]
    pub fn between(mut self, start: Option<&'a str>, end: Option<&'a str>) -> Self {
        self.start = start;
        self.end = end;
        self
    }

    /// Whether the reader asks for the newest version of every column, or for more.
    #[must_use]
    pub fn takes_all(&self) -> bool {
        self.takes_all_versions() && self.columns.is_empty()
    }

    /// Whether the reader asks for the newest version of each column that it wants, and wants those that it names, or all.
    #[must_use]
    pub fn takes_all_versions(&self) -> bool {
        let Self { versions, count, start, end, .. } = self;
        *count > 0 && *versions == (i64::MIN..i64::MAX) && start.is_none() && end.is_none()
    }

    /// The columns that the reader named, sorted, each once.
    pub fn named(&self) -> impl Iterator<Item = &'a str> + use<'_, 'a> {
        self.columns.chunk_by(|a, b| a == b).filter_map(|same| same.first().copied())
    }

    /// Whether the reader named columns. A row without any of them is then not returned.
    #[must_use]
    pub fn names_columns(&self) -> bool {
        !self.columns.is_empty()
    }

    /// Whether the reader named this column, which may be one of the key.
    #[must_use]
    pub fn names(&self, column: &str) -> bool {
        self.columns.binary_search(&column).is_ok()
    }

    /// The returned cells, from all stored cells of a row (sorted by column, then newest first) at `now`. Borrows them
    /// all if none is left out.
    #[must_use]
    pub fn apply<'c>(&self, cells: &'c [CellRef<'c>], retention: Retention, now: i64) -> Cow<'c, [CellRef<'c>]> {
        let oldest = retention.oldest(now);
        let keep = usize::try_from(retention.max_versions).unwrap_or(usize::MAX);
        let mut named = self.columns.as_slice();
        let mut column: Option<&str> = None;
        let (mut wanted, mut shown, mut taken) = (false, 0, 0);
        let mut selected: Option<Vec<CellRef<'c>>> = None;
        for (at, cell) in cells.iter().enumerate() {
            if column != Some(cell.column) {
                column = Some(cell.column);
                (shown, taken) = (0, 0);
                wanted = self.wants(cell.column, &mut named);
            }
            let visible = shown < keep && cell.version >= oldest;
            shown += usize::from(visible);
            if visible && wanted && taken < self.count && self.versions.contains(&cell.version) {
                taken += 1;
                if let Some(selected) = &mut selected {
                    selected.push(*cell);
                }
            } else if selected.is_none() {
                let mut kept = Vec::with_capacity(cells.len());
                kept.extend(cells.iter().take(at).copied());
                selected = Some(kept);
            }
        }
        selected.map_or(Cow::Borrowed(cells), Cow::Owned)
    }

    /// Whether a read of the row needs a stretch of its cells. Without unneeded cells the read gives the same result, and
    /// also knows whether there is one.
    #[must_use]
    pub fn needs(&self, stretch: &Stretch<'_>, retention: Retention, now: i64) -> Need {
        let Stretch { first, rank, end } = stretch;
        let Some(end) = end else { return Need::Yes };
        if self.names_columns() && !self.columns.iter().any(|name| (first.column..=end.column).contains(name)) {
            return Need::No;
        }
        let Some(newest) = first.version.filter(|_| *rank > 0 && first.column == end.column) else { return Need::Yes };
        // Older versions of a column with newer ones in the same entry.
        let most = u64::from(retention.max_versions).min(self.count as u64);
        if newest < retention.oldest(now) {
            Need::No
        } else if newest < self.versions.start || (*rank >= most && self.versions.end == i64::MAX) {
            Need::IfDeleted
        } else {
            Need::Yes
        }
    }

    /// The reader's selection for a row in which each column has one version.
    #[must_use]
    pub fn walk(&self) -> Walk<'_, 'a> {
        Walk { selection: self, named: &self.columns }
    }

    /// `named` is the rest of the named columns. They and the columns of a row both come in order.
    fn wants(&self, column: &str, named: &mut &[&'a str]) -> bool {
        if self.start.is_some_and(|start| column < start) || self.end.is_some_and(|end| column >= end) {
            return false;
        }
        if self.columns.is_empty() {
            return true;
        }
        while let Some((first, rest)) = named.split_first() {
            if *first >= column {
                return *first == column;
            }
            *named = rest;
        }
        false
    }
}

/// Adjacent cells of a row in one entry, from `first` up to `end`, which is not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch<'a> {
    /// The first of them.
    pub first: CellPlace<'a>,
    /// The number of puts of its column before it.
    pub rank: u64,
    /// The cell behind them. `None`: the end is unknown.
    pub end: Option<CellPlace<'a>>,
}

/// Whether a read needs cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It may.
    Yes,
    /// Only if single versions of newer cells are deleted.
    IfDeleted,
    /// No: the result is the same without them.
    No,
}

/// A walk along the columns of a row, in their order.
#[derive(Debug)]
pub struct Walk<'s, 'a> {
    selection: &'s ReadSelection<'a>,
    named: &'s [&'a str],
}

impl Walk<'_, '_> {
    /// Whether the reader asked for this version of the next column, its only one.
    #[inline]
    pub fn takes(&mut self, column: &str, version: i64) -> bool {
        let selection = self.selection;
        selection.wants(column, &mut self.named) && selection.count > 0 && selection.versions.contains(&version)
    }
}

/// Whether a row exists at `now`: it shows a cell, or its put has not expired (R1, V4).
#[must_use]
pub fn exists(cells: &[CellRef<'_>], marker: Option<i64>, retention: Retention, now: i64) -> bool {
    let oldest = retention.oldest(now);
    marker.is_some_and(|put| put >= oldest) || cells.iter().any(|cell| cell.version >= oldest)
}

/// The newest visible value of a column.
#[must_use]
pub fn newest<'c>(cells: &[CellRef<'c>], column: &str, retention: Retention, now: i64) -> Option<CellRef<'c>> {
    let first = cells.partition_point(|cell| cell.column < column);
    cells.get(first).copied().filter(|cell| cell.column == column && cell.version >= retention.oldest(now))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ValueRef;
    use proptest::prelude::*;

    const ALL: Retention = Retention::ALL;

    fn cells(of: &'static [(&'static str, i64)]) -> Vec<CellRef<'static>> {
        of.iter().map(|&(column, version)| CellRef { column, version, value: ValueRef::Integer(version) }).collect()
    }

    fn picked(
        selection: &ReadSelection<'_>,
        cells: &[CellRef<'_>],
        retention: Retention,
        now: i64,
    ) -> Vec<(String, i64)> {
        selection.apply(cells, retention, now).iter().map(|cell| (cell.column.to_owned(), cell.version)).collect()
    }

    fn ask(max_versions: Option<i64>, range: Option<(i64, i64)>, version: Option<i64>) -> ReadSelection<'static> {
        ReadSelection::new(VersionQuery { max_versions, range, version }, "nothing").expect("right")
    }

    #[test]
    fn v8_newest_n_range_and_exact_version() {
        let row = cells(&[("a", 30), ("a", 20), ("a", 10), ("b", 15)]);
        let of = |selection: &ReadSelection<'_>| picked(selection, &row, ALL, 0);
        let pairs = |of: &[(&str, i64)]| of.iter().map(|&(c, v)| (c.to_owned(), v)).collect::<Vec<_>>();
        assert_eq!(of(&ask(Some(2), None, None)), pairs(&[("a", 30), ("a", 20), ("b", 15)]));
        assert_eq!(of(&ask(None, Some((10, 30)), None)), pairs(&[("a", 20), ("a", 10), ("b", 15)]));
        assert_eq!(of(&ask(Some(1), Some((10, 30)), None)), pairs(&[("a", 20), ("b", 15)]), "newest inside the range");
        assert_eq!(of(&ask(None, None, Some(10))), pairs(&[("a", 10)]));
        let kept = Retention { max_versions: 1, ..ALL };
        assert_eq!(picked(&ask(None, None, Some(10)), &row, kept, 0), [], "hidden versions are not read by number");
    }

    #[test]
    fn v8_senseless_version_requests_are_refused() {
        let refused = |max_versions, range, version| {
            ReadSelection::new(VersionQuery { max_versions, range, version }, "No version condition is specified.")
                .expect_err("refused")
                .message()
                .to_owned()
        };
        assert_eq!(refused(None, None, None), "No version condition is specified.");
        assert_eq!(
            refused(Some(1), None, Some(1)),
            "Specific tiemstamp and max versions cannot be given at the same time."
        );
        assert_eq!(
            refused(None, Some((1, 2)), Some(1)),
            "Specific tiemstamp and time range cannot be given at the same time."
        );
        assert_eq!(
            refused(Some(1), Some((1, 2)), Some(1)),
            "Specific tiemstamp, time range and max versions cannot be given at the same time."
        );
        assert_eq!(refused(Some(0), None, None), "Invalid max versions: 0 . Reason: Max versions must be positive.");
        assert_eq!(refused(None, None, Some(-1)), "Specific timestamp cannot be less than 0..");
        assert_eq!(refused(None, None, Some(i64::MAX / 1000)), "Timestamp must be in range [0, INT64_MAX/1000).");
        assert_eq!(refused(None, Some((-1, 5)), None), "Timestamp must be in range [0, INT64_MAX/1000).");
        assert_eq!(refused(None, Some((5, 5)), None), "Invalid time range: start 5 must be less than end 5.");
    }

    #[test]
    fn r6_columns_to_get_and_column_ranges() {
        let row = cells(&[("a", 1), ("b", 2), ("b", 1), ("d", 1)]);
        let of = |selection: &ReadSelection<'_>| {
            picked(selection, &row, ALL, 0).into_iter().map(|(c, _)| c).collect::<String>()
        };
        assert_eq!(of(&ReadSelection::everything().columns(vec!["d", "c", "b"])), "bbd");
        assert_eq!(of(&ReadSelection::everything().between(Some("b"), Some("d"))), "bb");
        assert_eq!(of(&ReadSelection::everything().columns(vec!["a", "b"]).between(Some("aa"), None)), "bb");
    }

    #[test]
    fn unchanged_rows_are_borrowed() {
        let row = cells(&[("a", 1), ("b", 2)]);
        assert!(matches!(ask(Some(1), None, None).apply(&row, ALL, 0), Cow::Borrowed(_)));
    }

    proptest! {
        /// V2, V4, V8 against a literal version of the statements, column by column.
        #[test]
        fn v2_v4_v8_selection_follows_the_rule(
            row in proptest::collection::btree_set((0usize..4, 0i64..12), 0..24),
            (max, ttl) in (1u32..5, proptest::option::of(1i64..8)),
            (n, range) in (proptest::option::of(1i64..4), proptest::option::of((0i64..12_000, 1i64..5_000))),
        ) {
            let names = ["a", "b", "c", "d"];
            let (now, retention) = (12_000, Retention { max_versions: max, time_to_live: ttl });
            let mut row = row.into_iter().map(|(c, s)| (names[c], s * 1000)).collect::<Vec<_>>();
            row.sort_by_key(|&(c, v)| (c, -v));
            let stored = row.iter().map(|&(column, version)| CellRef { column, version, value: ValueRef::Integer(version) }).collect::<Vec<_>>();
            let range = range.map(|(start, length)| (start, start + length));
            let mut expected = Vec::new();
            for name in names {
                let live = row.iter().filter(|(c, v)| *c == name && ttl.is_none_or(|ttl| v / 1000 >= now / 1000 - ttl));
                let visible = live.take(max as usize);
                let inside = visible.filter(|(_, v)| range.is_none_or(|(start, end)| start <= *v && *v < end));
                expected.extend(inside.take(n.unwrap_or(i64::MAX) as usize).map(|&(c, v)| (c.to_owned(), v)));
            }
            let selection = if n.is_none() && range.is_none() { ReadSelection::everything() } else { ask(n, range, None) };
            prop_assert_eq!(picked(&selection, &stored, retention, now), expected);
        }

        /// V8: leaving out cells that a read does not need changes nothing.
        #[test]
        fn v8_a_read_gives_the_same_without_what_it_does_not_need(
            row in proptest::collection::btree_set((0usize..4, 0i64..12), 0..40),
            cuts in proptest::collection::vec(any::<bool>(), 40),
            (max, ttl) in (1u32..5, proptest::option::of(1i64..8)),
            (n, range) in (proptest::option::of(1i64..4), proptest::option::of((0i64..12_000, 1i64..5_000))),
            named in proptest::collection::vec(0usize..5, 0..3),
        ) {
            let names = ["a", "b", "c", "d", "e"];
            let (now, retention) = (12_000, Retention { max_versions: max, time_to_live: ttl });
            let mut row = row.into_iter().map(|(c, s)| (names[c], s * 1000)).collect::<Vec<_>>();
            row.sort_by_key(|&(c, v)| (c, -v));
            let stored = row.iter().map(|&(column, version)| CellRef { column, version, value: ValueRef::Integer(version) }).collect::<Vec<_>>();
            let range = range.map(|(start, length)| (start, start + length));
            let selection = if n.is_none() && range.is_none() { ReadSelection::everything() } else { ask(n, range, None) };
            let selection = selection.columns(named.into_iter().map(|at| names[at]).collect());
            let starts: Vec<usize> = (1..row.len()).filter(|&at| cuts[at]).collect();
            let place = |at: usize| CellPlace { column: row[at].0, version: Some(row[at].1) };
            let mut kept = stored[..starts.first().copied().unwrap_or(row.len())].to_vec();
            for (which, &start) in starts.iter().enumerate() {
                let end = starts.get(which + 1).copied();
                let rank = row[..start].iter().filter(|(column, _)| *column == row[start].0).count() as u64;
                let stretch = Stretch { first: place(start), rank, end: end.map(place) };
                if selection.needs(&stretch, retention, now) == Need::Yes {
                    kept.extend_from_slice(&stored[start..end.unwrap_or(row.len())]);
                }
            }
            prop_assert_eq!(picked(&selection, &kept, retention, now), picked(&selection, &stored, retention, now));
            if !selection.names_columns() {
                prop_assert_eq!(exists(&kept, None, retention, now), exists(&stored, None, retention, now));
            }
        }
    }
}
