//! Checked filters, which judge rows.

use super::transfer::Rule;
use super::{ColumnFilter, Comparator, Comparison, Filter};
use crate::error::{Error, Result};
use crate::model::{CellRef, TableSchema, ValueRef, limits};
use std::cell::Cell;
use std::ops::Range;

/// A checked filter, ready to be applied to rows.
#[derive(Clone, Debug)]
pub struct CheckedFilter<'f> {
    pub(super) root: Node<'f>,
    /// The number of columns to skip, and to return then.
    page: Option<(usize, usize)>,
    /// The columns that it names, perhaps more than once.
    columns: Vec<&'f str>,
    work: Cell<u64>,
    newest_only: bool,
    /// Whether it has a regular expression.
    pub(super) transfers: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Node<'f> {
    Column(&'f ColumnFilter<'f>, Option<Rule>),
    Not(Box<Self>),
    And(Vec<Self>),
    Or(Vec<Self>),
}

/// Where a pagination filter may stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pages {
    /// Here, or below an AND that is here.
    Root,
    /// Here.
    Child,
    Nowhere,
}

impl<'f> Filter<'f> {
    /// Checks a filter. With `pages` it may have pagination: as the whole filter, or as a child of an AND that is the
    /// whole filter.
    ///
    /// # Errors
    /// `OTSParameterInvalid`.
    pub fn check(&'f self, pages: bool) -> Result<CheckedFilter<'f>> {
        let most = limits::FILTER_NODES;
        if !self.fits(&mut { most }) {
            return Err(Error::parameter(format!("The count of filter exceeds the max: {most}.")));
        }
        let mut page = None;
        let root = self.node(if pages { Pages::Root } else { Pages::Nowhere }, &mut page)?;
        let (mut columns, mut newest_only, mut transfers) = (Vec::new(), true, false);
        self.each(&mut |filter| {
            columns.push(filter.column.as_str());
            newest_only &= filter.latest_version_only;
            transfers |= filter.transfer.is_some();
        });
        Ok(CheckedFilter { root, page, columns, work: Cell::new(0), newest_only, transfers })
    }

    fn each(&'f self, visit: &mut dyn FnMut(&'f ColumnFilter<'f>)) {
        match self {
            Self::Not(children) | Self::And(children) | Self::Or(children) => {
                children.iter().for_each(|child| child.each(visit));
            }
            Self::Column(filter) => visit(filter),
            Self::Page { .. } => {}
        }
    }

    /// Whether it has at most `left` nodes; looks no deeper than that.
    fn fits(&self, left: &mut usize) -> bool {
        if *left == 0 {
            return false;
        }
        *left -= 1;
        match self {
            Self::Not(children) | Self::And(children) | Self::Or(children) => {
                children.iter().all(|child| child.fits(left))
            }
            Self::Column(_) | Self::Page { .. } => true,
        }
    }

    fn node(&'f self, pages: Pages, page: &mut Option<(usize, usize)>) -> Result<Node<'f>> {
        match self {
            Self::Column(column) => {
                if column.comparator.compares() && column.value.is_none() {
                    return Err(Error::parameter("No value is given for column name."));
                }
                if let Some(value) = column.value {
                    limits::check_attribute_bytes(column.column.as_str(), value.metered_bytes())?;
                }
                let rule = column.transfer.as_ref().map(Rule::compile).transpose()?;
                Ok(Node::Column(column, rule))
            }
            Self::Not(children) => match children.as_slice() {
                [child] => Ok(Node::Not(Box::new(child.node(Pages::Nowhere, page)?))),
                _ => Err(Error::parameter("Invalid NOT operator: the number of sub-filters must be 1.")),
            },
            Self::And(children) | Self::Or(children) => {
                if children.len() < 2 {
                    return Err(Error::parameter(
                        "Invalid AND/OR operator: the number of sub-filters must be more than 1.",
                    ));
                }
                let all = matches!(self, Self::And(_));
                let below = if all && pages == Pages::Root { Pages::Child } else { Pages::Nowhere };
                let nodes = children.iter().map(|child| child.node(below, page)).collect::<Result<_>>()?;
                Ok(if all { Node::And(nodes) } else { Node::Or(nodes) })
            }
            Self::Page { offset, limit } => {
                if pages == Pages::Nowhere || page.is_some() {
                    return Err(Error::parameter("Invalid type of filter: FT_COLUMN_PAGINATION."));
                }
                if *limit <= 0 {
                    return Err(Error::parameter("Limit in ColumnPaginationFilter must be greater than 0."));
                }
                if *offset < 0 {
                    let text = "Offset in ColumnPaginationFilter must be greater than or equal to 0.";
                    return Err(Error::parameter(text));
                }
                let size = |number: i64| usize::try_from(number).unwrap_or(usize::MAX);
                *page = Some((size(*offset), size(*limit)));
                // It holds for every row.
                Ok(Node::And(Vec::new()))
            }
        }
    }
}

impl<'f> CheckedFilter<'f> {
    /// Whether it judges each column by its newest version alone.
    #[must_use]
    pub fn needs_newest_only(&self) -> bool {
        self.newest_only
    }

    /// Whether a row passes. It takes the values of the key in the schema's order, and the cells that the filter may see,
    /// sorted by column, then newest first.
    #[must_use]
    pub fn passes(&self, schema: &TableSchema, key: &[ValueRef<'_>], cells: &[CellRef<'_>]) -> bool {
        self.holds(&self.root, &Row { schema, key, cells })
    }

    /// The columns that it reads; the content of others does not matter.
    #[must_use]
    pub fn columns(&self) -> &[&'f str] {
        &self.columns
    }

    /// The number of a row's columns to leave out first, and to return then; `None` if it returns all.
    #[must_use]
    pub fn columns_of_page(&self) -> Option<(usize, usize)> {
        self.page
    }

    /// A row's cells on the filter's page; all of them without pagination.
    #[must_use]
    pub fn page(&self, cells: &[CellRef<'_>]) -> Range<usize> {
        let Some((offset, limit)) = self.page else { return 0..cells.len() };
        let mut columns = cells.chunk_by(|a, b| a.column == b.column).map(<[_]>::len);
        let start = columns.by_ref().take(offset).sum::<usize>();
        start..start + columns.take(limit).sum::<usize>()
    }

    /// The work of its regular expressions for all rows so far: bytes of text times a measure of the expression.
    #[must_use]
    pub fn work(&self) -> u64 {
        self.work.get()
    }

    fn holds(&self, node: &Node<'_>, row: &Row<'_>) -> bool {
        match node {
            Node::Column(filter, rule) => self.column_holds(filter, rule.as_ref(), row),
            Node::Not(child) => !self.holds(child, row),
            Node::And(children) => children.iter().all(|child| self.holds(child, row)),
            Node::Or(children) => children.iter().any(|child| self.holds(child, row)),
        }
    }

    fn column_holds(&self, filter: &ColumnFilter<'_>, rule: Option<&Rule>, row: &Row<'_>) -> bool {
        let column = filter.column.as_str();
        let of_key;
        let cells = match row.key_value(column) {
            Some(value) => {
                of_key = [CellRef { column, version: 0, value }];
                &of_key[..]
            }
            None => row.cells_of(column),
        };
        let Some(newest) = cells.first() else {
            return match filter.comparator {
                Comparator::Exist => false,
                Comparator::NotExist => true,
                _ => filter.pass_if_missing,
            };
        };
        if filter.comparator == Comparator::NotExist {
            return false;
        }
        let seen = if filter.latest_version_only { std::slice::from_ref(newest) } else { cells };
        seen.iter().any(|cell| match rule {
            None => filter.compare(cell.value),
            Some(rule) => {
                self.work.set(self.work.get().saturating_add(rule.work(cell.value)));
                rule.take(cell.value, &|taken| filter.compare(taken))
            }
        })
    }
}

/// A row that is judged.
struct Row<'r> {
    schema: &'r TableSchema,
    key: &'r [ValueRef<'r>],
    cells: &'r [CellRef<'r>],
}

impl<'r> Row<'r> {
    fn key_value(&self, name: &str) -> Option<ValueRef<'r>> {
        let at = self.schema.key().iter().position(|column| column.name == name)?;
        self.key.get(at).copied()
    }

    fn cells_of(&self, column: &str) -> &'r [CellRef<'r>] {
        let start = self.cells.partition_point(|cell| cell.column < column);
        let rest = self.cells.get(start..).unwrap_or_default();
        let count = rest.iter().take_while(|cell| cell.column == column).count();
        rest.get(..count).unwrap_or_default()
    }
}

impl ColumnFilter<'_> {
    /// Whether the comparison holds for a value. Values of different types never match.
    pub(super) fn compare(&self, value: ValueRef<'_>) -> bool {
        self.comparison().holds(value)
    }

    /// The comparison.
    pub(super) fn comparison(&self) -> Comparison<'_> {
        let Self { comparator, value, .. } = self;
        let with = value.filter(|_| comparator.compares());
        Comparison { with, orders: comparator.orders(), any: *comparator == Comparator::Exist }
    }
}
