//! Loads in a random life: their rows are there when they are stored, and not before.

use super::{IDS, Life};
use crate::{store, texts};
use tabstore::tablestore::{Loader, PutRows};

impl Life {
    /// Loads some rows; says nothing of them before they are stored, and all of them after.
    pub(super) fn load(&mut self) {
        let loader = Loader::of_at_least(1);
        let mut first = 0;
        let mut loaded: Vec<(i64, i64)> = Vec::new();
        for _ in 0..=self.pick(2) {
            let ids: Vec<i64> = (first..IDS.cast_signed()).filter(|_| self.pick(4) == 0).collect();
            let Some(last) = ids.last() else { continue };
            first = last + 1;
            let rows: Vec<(i64, i64)> = ids.iter().map(|&id| (id, self.value())).collect();
            let writes: Vec<_> = rows
                .iter()
                .map(|&(id, value)| {
                    Ok(store::put("t", self.key(id), &[store::cell("a", store::text(texts::word(value)))]))
                })
                .collect();
            match self.store.env.run(self.store.instance.put_rows(&loader, writes, None)) {
                PutRows::Taken { refused, .. } if refused.is_empty() => {
                    // Seen only when they are stored. Values that others get meanwhile may have to be above.
                    self.drawn();
                    loaded.extend(rows);
                }
                PutRows::Written(results) if results.iter().all(Result::is_ok) => self.loaded(&rows),
                other => self.fail(&format!("{other:?}")),
            }
            if self.pick(3) == 0 {
                self.check(self.id());
            }
        }
        match self.pick(5) {
            0 => {
                drop(loader);
                self.drawn();
            }
            // Writes among the rows come after them.
            1 if !loaded.is_empty() => {
                let id = loaded[self.pick(loaded.len() as u64) as usize].0;
                let deleted = store::delete("t", self.key(id));
                self.store.write(&deleted).expect("deleted");
                loaded.retain(|row| row.0 != id);
                // Nothing tells the stamp of its put.
                self.drawn();
                self.loaded(&loaded);
                self.table.delete(id, 0);
                self.drawn();
                self.check(id);
            }
            _ => {
                let stored = self.store.env.run(self.store.instance.store_rows(&loader));
                assert!(stored.failed.is_empty(), "{stored:?}");
                self.loaded(&loaded);
            }
        }
    }

    /// These rows were put.
    fn loaded(&mut self, rows: &[(i64, i64)]) {
        for &(id, value) in rows {
            let before = self.table.rows.get(&id).map_or(0, |row| row.last_stamp);
            self.table.put(id, &[], before);
            if let Some(stamp) = self.stamp_of(id, &[("a", value)]) {
                self.table.put(id, &[("a".to_owned(), stamp, value)], stamp);
            } else {
                self.store.write(&store::delete("t", self.key(id))).expect("deleted");
                self.table.delete(id, before);
                self.drawn();
            }
            self.check(id);
        }
    }
}
