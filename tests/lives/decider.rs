//! Decisions in a few words: one row, a closure, at most one integer put.

use std::cell::RefCell;
use tabstore::engine::{Decide, Engine, RowView, TreeId, Writes};
use tabstore::error::Result;
use tabstore::model::{CellChange, CellOp, ChangeKind, RowChange, ValueRef};

/// A write: its kind, its stamp, and the value of the column `x` at that version, if it has one.
pub(crate) type Change = (ChangeKind, i64, Option<i64>);

struct Decider<'d, F, R> {
    key: &'d [u8],
    tree: TreeId,
    decide: F,
    decided: &'d RefCell<Option<(Option<Change>, R)>>,
}

impl<F: FnMut(Option<&RowView<'_>>) -> Result<(Option<Change>, R)>, R> Decide for Decider<'_, F, R> {
    fn see(&mut self, _: usize, row: Option<&RowView<'_>>) -> Result<()> {
        *self.decided.borrow_mut() = Some((self.decide)(row)?);
        Ok(())
    }

    fn write(&mut self, writes: &mut Writes<'_>) {
        if let Some((Some((kind, stamp, value)), _)) = &*self.decided.borrow() {
            let put = value.map(|value| CellChange { column: "x", op: CellOp::Put(*stamp, ValueRef::Integer(value)) });
            writes.change(self.tree, self.key, &RowChange { kind: *kind, stamp: *stamp, cells: put.as_slice() });
        }
    }
}

/// Reads a row and writes what `decide` says.
pub(crate) async fn modify<R>(
    engine: &Engine,
    tree: TreeId,
    key: &[u8],
    decide: impl FnMut(Option<&RowView<'_>>) -> Result<(Option<Change>, R)>,
) -> Result<R> {
    let decided = RefCell::new(None);
    engine.modify(&[(tree, key)], None, &mut Decider { key, tree, decide, decided: &decided }).await?;
    Ok(decided.into_inner().expect("decided").1)
}
