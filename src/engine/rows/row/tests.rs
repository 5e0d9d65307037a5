use super::*;
use crate::format::fragment;
use crate::format::names::NameBuilder;
use crate::model::{ChangeKind, RowChange, ValueRef};
use proptest::prelude::*;

/// A history of changes of one row, oldest first, as fragments.
struct History {
    names: NameBuilder,
    bytes: Vec<Vec<u8>>,
}

fn put(column: &str, version: i64, value: i64) -> CellChange<'_> {
    CellChange { column, op: CellOp::Put(version, ValueRef::Integer(value)) }
}

fn history(changes: &[(ChangeKind, &[CellChange<'_>])]) -> History {
    let mut history = History { names: NameBuilder::default(), bytes: Vec::new() };
    for (stamp, &(kind, cells)) in (100..).zip(changes) {
        let change = RowChange { kind, stamp, cells };
        let mut bytes = Vec::new();
        let head = FragmentHead::of(&change);
        fragment::encode(head, cells.iter().copied(), 0, &mut history.names, &mut bytes);
        history.bytes.push(bytes);
    }
    history
}

impl History {
    fn fragments(&self) -> Vec<DatedFragment<'_>> {
        let decoded = self.bytes.iter().zip(1..).map(|(bytes, seqno)| DatedFragment {
            seqno,
            fragment: Fragment::decode(bytes, 0, self.names.names()).expect("decodes"),
        });
        let mut fragments: Vec<_> = decoded.collect();
        fragments.reverse();
        fragments
    }

    fn seen(&self) -> Option<Vec<(String, i64, String)>> {
        self.seen_at(Depth::Stored)
    }

    fn seen_at(&self, depth: Depth) -> Option<Vec<(String, i64, String)>> {
        let see = |row: &RowView<'_>| seen(row.cells());
        view(self.fragments(), (false, depth), |row| row.filter(|row| !row.is_deleted()).map(see)).expect("decodes")
    }
}

fn seen(cells: &[CellRef<'_>]) -> Vec<(String, i64, String)> {
    cells.iter().map(|cell| (cell.column.to_owned(), cell.version, format!("{:?}", cell.value))).collect()
}

fn cells(expected: &[(&str, i64, i64)]) -> Option<Vec<(String, i64, String)>> {
    Some(
        expected
            .iter()
            .map(|&(name, version, value)| (name.to_owned(), version, format!("Integer({value})")))
            .collect(),
    )
}

#[test]
fn r1_a_put_replaces_and_an_update_adds() {
    let a = [put("a", 1, 10), put("b", 1, 11)];
    let b = [put("a", 3, 20), put("c", 1, 22)];
    assert_eq!(
        history(&[(ChangeKind::Put, &a), (ChangeKind::Update, &b)]).seen(),
        cells(&[("a", 3, 20), ("a", 1, 10), ("b", 1, 11), ("c", 1, 22)])
    );
    assert_eq!(history(&[(ChangeKind::Put, &a), (ChangeKind::Put, &b)]).seen(), cells(&[("a", 3, 20), ("c", 1, 22)]));
    assert_eq!(history(&[(ChangeKind::Put, &a), (ChangeKind::Delete, &[])]).seen(), None);
    assert_eq!(history(&[(ChangeKind::Put, &[])]).seen(), cells(&[]));
}

#[test]
fn r1_the_newest_word_on_a_version_counts() {
    let first = [put("a", 5, 1), put("a", 4, 2)];
    let delete = [CellChange { column: "a", op: CellOp::DeleteVersion(5) }];
    let again = [put("a", 5, 3)];
    let changes: [(ChangeKind, &[CellChange<'_>]); 3] =
        [(ChangeKind::Update, &first), (ChangeKind::Update, &delete), (ChangeKind::Update, &again)];
    assert_eq!(history(&changes[..2]).seen(), cells(&[("a", 4, 2)]));
    assert_eq!(history(&changes).seen(), cells(&[("a", 5, 3), ("a", 4, 2)]));
}

#[test]
fn r1_deleting_a_column_silences_what_is_older_only() {
    let first = [put("a", 5, 1), put("b", 5, 2)];
    let delete = [CellChange { column: "a", op: CellOp::DeleteColumn }, put("a", 2, 7)];
    let again = [put("a", 1, 3)];
    let changes: [(ChangeKind, &[CellChange<'_>]); 3] =
        [(ChangeKind::Put, &first), (ChangeKind::Update, &delete), (ChangeKind::Update, &again)];
    assert_eq!(history(&changes).seen(), cells(&[("a", 2, 7), ("a", 1, 3), ("b", 5, 2)]));
}

#[test]
fn collapsing_keeps_what_may_still_reach_below() {
    let delete = [
        CellChange { column: "a", op: CellOp::DeleteColumn },
        CellChange { column: "b", op: CellOp::DeleteVersion(3) },
    ];
    let more = [CellChange { column: "a", op: CellOp::DeleteVersion(9) }, put("b", 4, 1)];
    let updates = history(&[(ChangeKind::Update, &delete), (ChangeKind::Update, &more)]);
    let merged = collapse(updates.fragments()).expect("decodes").expect("a row");
    assert!(!merged.head.hides_older);
    assert_eq!(merged.cells, [delete[0], put("b", 4, 1), delete[1]]);

    let bottom = retain(merged, &Retention::ALL, 0).expect("something is left");
    assert_eq!(bottom.cells, [put("b", 4, 1)]);
}

#[test]
fn v4_nothing_is_left_of_an_expired_row() {
    let retention = Retention { max_versions: 1, time_to_live: Some(86_400) };
    let now = 200_000_000;
    let old = history(&[(ChangeKind::Put, &[put("a", 1000, 1)])]);
    let merged = collapse(old.fragments()).expect("decodes").expect("a row");
    assert!(retain(merged, &retention, now).is_none());
}

#[test]
fn v2_the_newest_versions_of_each_column_are_retained() {
    let row = history(&[(ChangeKind::Put, &[put("a", 3, 1), put("a", 2, 1), put("a", 1, 1), put("b", 1, 1)])]);
    let merged = collapse(row.fragments()).expect("decodes").expect("a row");
    let kept = retain(merged, &Retention { max_versions: 2, time_to_live: None }, 0).expect("a row");
    assert_eq!(kept.cells, [put("a", 3, 1), put("a", 2, 1), put("b", 1, 1)]);
}

/// Cells of a change, in the engine's order: column, kind, version, value.
fn some_cells() -> impl Strategy<Value = Vec<CellChange<'static>>> {
    let cell = (0..4_usize, 0..16_u8, 0..4_i64, any::<i64>()).prop_map(|(column, kind, version, value)| {
        let op = match kind {
            0 => CellOp::DeleteColumn,
            1 => CellOp::DeleteVersion(version),
            _ => CellOp::Put(version, ValueRef::Integer(value)),
        };
        CellChange { column: ["", "a", "ab", "b"][column], op }
    });
    prop::collection::vec(cell, 0..6).prop_map(|mut cells| {
        cells.sort_by(|a, b| a.place().cmp(&b.place()));
        cells.dedup_by(|a, b| a.place() == b.place());
        cells
    })
}

proptest! {
    /// A reader of the newest versions sees them as one of all versions does.
    #[test]
    fn v2_the_newest_versions_are_those_of_a_whole_merge(
        changes in prop::collection::vec((any::<bool>(), some_cells()), 1..7),
    ) {
        let kinds = changes.iter().enumerate().map(|(at, (put, cells))| {
            let kind = if at == 0 || (*put && at % 3 == 0) { ChangeKind::Put } else { ChangeKind::Update };
            (kind, &cells[..])
        });
        let history = history(&kinds.collect::<Vec<_>>());
        let newest = |seen: Option<Vec<(String, i64, String)>>| {
            let mut seen = seen.unwrap_or_default();
            seen.dedup_by(|next, first| next.0 == first.0);
            seen
        };
        prop_assert_eq!(newest(history.seen_at(Depth::Newest)), newest(history.seen()));
    }
}
