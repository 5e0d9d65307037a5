//! Random filters, and their right verdicts on a row: the rules again, in the plainest form.

use crate::model::Seen;
use crate::{store, texts};
use tabstore::env::sim::SimEnv;
use tabstore::model::ValueRef;
use tabstore::model::filter::{ColumnFilter, Comparator, Filter};

/// A filter whose values are numbers: of the counter `n` themselves, of the key `id` and of other columns those of texts.
/// None stands for a value of another type.
#[derive(Clone, Debug)]
pub(crate) enum Judge {
    Column { column: &'static str, comparator: Comparator, value: Option<i64>, if_missing: bool, newest_only: bool },
    Not(Box<Judge>),
    All(Vec<Judge>),
    Any(Vec<Judge>),
}

impl Judge {
    /// A filter of these columns, with values near those of `cells`.
    pub(crate) fn random(env: &SimEnv, columns: &[&'static str], cells: &[Seen]) -> Self {
        Self::within(env, columns, cells, 3)
    }

    fn within(env: &SimEnv, columns: &[&'static str], cells: &[Seen], depth: u32) -> Self {
        let pick = |count: usize| (env.random() >> 20) as usize % count;
        let some = || (0..2 + pick(2)).map(|_| Self::within(env, columns, cells, depth - 1)).collect();
        match pick(if depth == 0 { 4 } else { 8 }) {
            4 => Self::Not(Box::new(Self::within(env, columns, cells, depth - 1))),
            5 => Self::All(some()),
            6 => Self::Any(some()),
            _ => {
                use Comparator::*;
                let all = [Equal, NotEqual, GreaterThan, GreaterEqual, LessThan, LessEqual, Exist, NotExist];
                let near = if cells.is_empty() { 0 } else { cells[pick(cells.len())].2 };
                let (comparator, column) = (all[pick(all.len())], columns[pick(columns.len())]);
                let value = (pick(8) > 0).then(|| match column {
                    "id" => pick(texts::KEYS as usize) as i64,
                    "n" => near + pick(3) as i64 - 1,
                    _ => (near + pick(3) as i64 - 1).max(0),
                });
                Self::Column { column, comparator, value, if_missing: pick(2) == 0, newest_only: pick(2) == 0 }
            }
        }
    }

    /// The filter as a request carries it.
    pub(crate) fn filter(&self) -> Filter<'static> {
        let filters = |judges: &[Self]| judges.iter().map(Self::filter).collect();
        match self {
            Self::Column { column, comparator, value, if_missing, newest_only } => Filter::Column(ColumnFilter {
                column: store::column(column),
                comparator: *comparator,
                value: Some(value.map_or_else(|| other(column), |value| of(column, value))),
                pass_if_missing: *if_missing,
                latest_version_only: *newest_only,
                transfer: None,
            }),
            Self::Not(one) => Filter::Not(vec![one.filter()]),
            Self::All(all) => Filter::And(filters(all)),
            Self::Any(any) => Filter::Or(filters(any)),
        }
    }

    /// Whether it holds for a row with that key value in `id` and these cells, newest first in each column.
    pub(crate) fn holds(&self, id: i64, cells: &[Seen]) -> bool {
        match self {
            Self::Column { column, comparator, value, if_missing, newest_only } => {
                let mut values: Vec<i64> = cells.iter().filter(|cell| cell.0 == *column).map(|cell| cell.2).collect();
                if *column == "id" {
                    values = vec![id];
                }
                if *newest_only {
                    values.truncate(1);
                }
                match comparator {
                    Comparator::Exist => !values.is_empty(),
                    Comparator::NotExist => values.is_empty(),
                    _ if values.is_empty() => *if_missing,
                    // A text is neither the same as an integer nor another one.
                    _ => value.is_some_and(|with| {
                        values.iter().any(|value| compares(&of(column, *value), *comparator, &of(column, with)))
                    }),
                }
            }
            Self::Not(one) => !one.holds(id, cells),
            Self::All(all) => all.iter().all(|one| one.holds(id, cells)),
            Self::Any(any) => any.iter().any(|one| one.holds(id, cells)),
        }
    }
}

/// The value that a number stands for in a column.
fn of(column: &str, value: i64) -> ValueRef<'static> {
    match column {
        "id" => ValueRef::String(texts::key(value)),
        "n" => ValueRef::Integer(value),
        _ => ValueRef::String(texts::word(value)),
    }
}

/// A value of a type that the column never has.
fn other(column: &str) -> ValueRef<'static> {
    if column == "n" { ValueRef::String("text") } else { ValueRef::Integer(1) }
}

fn compares(value: &ValueRef<'_>, comparator: Comparator, with: &ValueRef<'_>) -> bool {
    let (value, with) = match (*value, *with) {
        (ValueRef::Integer(value), ValueRef::Integer(with)) => (value.cmp(&with), 0.cmp(&0)),
        (ValueRef::String(value), ValueRef::String(with)) => (value.as_bytes().cmp(with.as_bytes()), 0.cmp(&0)),
        other => panic!("{other:?} was never written"),
    };
    match comparator {
        Comparator::Equal => value == with,
        Comparator::NotEqual => value != with,
        Comparator::GreaterThan => value > with,
        Comparator::GreaterEqual => value >= with,
        Comparator::LessThan => value < with,
        Comparator::LessEqual => value <= with,
        Comparator::Exist | Comparator::NotExist => unreachable!("these compare nothing"),
    }
}

/// The cells of so many columns behind so many.
pub(crate) fn page(cells: &[Seen], offset: usize, limit: usize) -> Vec<Seen> {
    let mut columns: Vec<&str> = cells.iter().map(|cell| cell.0.as_str()).collect();
    columns.dedup();
    let columns: Vec<&str> = columns.into_iter().skip(offset).take(limit).collect();
    cells.iter().filter(|cell| columns.contains(&cell.0.as_str())).cloned().collect()
}
