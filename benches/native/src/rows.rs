//! The rows of the benchmarks: 6 columns with the key, about 150 bytes, the same shape as in `benches/browser`.

use tabstore::engine::{Decide, RowView, TreeId, Writes};
use tabstore::model::{CellChange, CellOp, ChangeKind, RowChange, ValueRef};

/// The tree that they are in.
pub const TREE: TreeId = TreeId(1);

const WORDS: &str = "river station morning pressure cloud window harbour signal bridge valley copper engine garden winter marble \
    paper thunder orange silver market pencil forest mountain island kitchen lantern machine needle ocean planet quarter \
    railway shadow ticket umbrella village whistle yellow basket candle desert eagle flower guitar hammer iron jacket kettle \
    ladder mirror notebook onion pocket rabbit saddle table vessel wagon anchor barrel cotton dragon";
const NAMES: [&str; 8] = [
    "Ada Brandt",
    "Ben Costa",
    "Clara Dubois",
    "David Ivanov",
    "Greta Novak",
    "Hugo Rossi",
    "Liang Sato",
    "Rosa Weber",
];
const CITIES: [&str; 8] = ["Seattle", "Hamburg", "Osaka", "Nairobi", "Helsinki", "Toronto", "Chennai", "Lisbon"];

/// Random numbers that a seed repeats.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// From a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.draw() % end
    }
}

/// A row.
#[derive(Clone, Debug, Default)]
pub struct Row {
    pub name: &'static str,
    pub city: &'static str,
    pub note: String,
    pub score: f64,
    pub count: i64,
}

/// Makes rows.
#[derive(Debug)]
pub struct Rows(Vec<&'static str>);

impl Default for Rows {
    fn default() -> Self {
        Self(WORDS.split(' ').filter(|word| !word.is_empty()).collect())
    }
}

impl Rows {
    /// The row with this id, as it is in a round of overwriting.
    pub fn make(&self, id: u64, round: u64, into: &mut Row) {
        let mut random = Random::new(id.wrapping_mul(31).wrapping_add(round * 7919 + 1));
        into.note.clear();
        while into.note.len() < 88 {
            into.note.push_str(self.0[random.below(self.0.len() as u64) as usize]);
            into.note.push(' ');
        }
        into.name = NAMES[random.below(8) as usize];
        into.city = CITIES[random.below(8) as usize];
        into.score = random.below(100_000) as f64 / 8.0;
        into.count = random.below(1_000_000) as i64;
    }
}

/// The bytes of a row as its user has them: key, column names and values. 150, about.
pub fn user_bytes(row: &Row) -> u64 {
    (8 + 4 + 4 + 4 + 5 + 5 + row.name.len() + row.city.len() + row.note.len() + 16) as u64
}

/// The encoded primary key: one Integer.
pub fn key(id: u64) -> [u8; 9] {
    let mut key = [2; 9];
    key[1..].copy_from_slice(&(id ^ (1 << 63)).to_be_bytes());
    key
}

/// The ids below `count` (a power of ten), each once, in no order.
pub fn scattered(at: u64, count: u64) -> u64 {
    (u128::from(at) * 2_654_435_761 % u128::from(count)) as u64
}

/// Writes rows as one group.
pub struct Put<'r> {
    pub rows: &'r Rows,
    pub ids: &'r mut dyn Iterator<Item = u64>,
    pub round: u64,
    pub stamp: i64,
    /// The bytes of all rows written.
    pub bytes: u64,
}

impl Decide for Put<'_> {
    fn see(&mut self, _: usize, _: Option<&RowView<'_>>) -> tabstore::Result<()> {
        Ok(())
    }

    fn write(&mut self, writes: &mut Writes<'_>) {
        let mut row = Row::default();
        for id in &mut *self.ids {
            self.rows.make(id, self.round, &mut row);
            self.bytes += user_bytes(&row);
            let put = |column, value| CellChange { column, op: CellOp::Put(self.stamp, value) };
            let cells = [
                put("city", ValueRef::String(row.city)),
                put("count", ValueRef::Integer(row.count)),
                put("name", ValueRef::String(row.name)),
                put("note", ValueRef::String(&row.note)),
                put("score", ValueRef::Double(row.score)),
            ];
            let change = RowChange { kind: ChangeKind::Put, stamp: self.stamp, cells: &cells };
            writes.change(TREE, &key(id), &change);
        }
    }
}

/// Deletes rows as one group.
pub struct Delete<'r>(pub &'r mut dyn Iterator<Item = u64>, pub i64);

impl Decide for Delete<'_> {
    fn see(&mut self, _: usize, _: Option<&RowView<'_>>) -> tabstore::Result<()> {
        Ok(())
    }

    fn write(&mut self, writes: &mut Writes<'_>) {
        for id in &mut *self.0 {
            writes.change(TREE, &key(id), &RowChange { kind: ChangeKind::Delete, stamp: self.1, cells: &[] });
        }
    }
}
