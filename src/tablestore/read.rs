//! GetRow, BatchGetRow and GetRange (R1, R2, R3, V8).

use super::check;
use super::failure::{Charge, Outcome};
use super::in_order::in_order;
use super::instance::Instance;
use super::meter::Consumes;
use super::prepared::key_value;
use super::range::range_of;
use super::request::{GetRange, GetRow, ReadOptions, TableRead};
use super::sift::Sifted;
use super::table::Table;
use super::throttle::{Partition, Throttle};
use super::transaction::TransactionUse;
use crate::engine::{RowView, TreeId};
use crate::error::{Code, Error, Result};
use crate::model::capacity::{Weight, cells_bytes, column_bytes, units};
use crate::model::filter::CheckedFilter;
use crate::model::order::same;
use crate::model::select::{self, Need, ReadSelection, Stretch};
use crate::model::version::Retention;
use crate::model::{
    CellChange, CellOp, CellRef, Consumed, KeyColumn, KeyInput, KeyReader, KeyRefs, KeyValue, RowSink, TableName,
    TableSchema, limits,
};
use crate::storage::Storage;
use std::borrow::Cow;
use std::ops::{ControlFlow, Range};
use std::rc::Rc;

const NO_VERSIONS: &str = "No version condition is specified.";
const NO_VERSIONS_IN_BATCH: &str = "No version condition is specified while querying row.";

/// What reading one row gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Whether there is such a row, and the filter lets it pass; the sink has it.
    pub row: bool,
    /// What it cost (C1): what is returned; or, of a row that the filter dropped, what was selected for it to judge.
    pub consumed: Consumed,
}

/// What GetRange gave, besides the rows that the sink has.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeRead {
    /// The table's schema.
    pub schema: Rc<TableSchema>,
    /// What it cost (C1).
    pub consumed: Consumed,
    /// Where the next call starts; `None` when the range was read to its end.
    pub next: Option<Vec<KeyValue>>,
}

/// A row that exists, seen through a table's options and a reader's wishes.
struct Seen<'c> {
    /// What the reader selected.
    cells: Cow<'c, [CellRef<'c>]>,
    /// Which of those are returned; none where the row is not: it has no column that the reader named, or does not pass
    /// the filter.
    returned: Option<Range<usize>>,
}

/// What a request wants of every row of a table, checked.
struct Wanted<'a> {
    selection: ReadSelection<'a>,
    filter: Option<CheckedFilter<'a>>,
}

/// How one request looks at the rows of one table.
struct Reader<'a> {
    wanted: Wanted<'a>,
    schema: Rc<TableSchema>,
    retention: Retention,
    now: i64,
    /// Whether the table is an index: its rows are there as long as what their keys are made of.
    index: bool,
    /// Whether every row is wanted as it is.
    takes_all: bool,
    /// Whether a key column is among the named ones: then every row is wanted.
    names_key: bool,
    name_bytes: usize,
    tree: TreeId,
    throttle: &'a Throttle,
}

impl<'a> Reader<'a> {
    fn new(wanted: Wanted<'a>, table: &Table, now: i64, throttle: &'a Throttle) -> Self {
        let schema = Rc::clone(table.schema());
        let names = |column: &KeyColumn| wanted.selection.names(&column.name);
        Self {
            takes_all: wanted.filter.is_none() && wanted.selection.takes_all(),
            names_key: wanted.selection.names_columns() && schema.key().iter().any(names),
            wanted,
            retention: table.options().retention(),
            now,
            index: table.index_of().is_some(),
            name_bytes: schema.name_bytes(),
            tree: table.tree(),
            throttle,
            schema,
        }
    }

    /// Whether a read of a single row needs some of its cells.
    fn needs(&self, stretch: &Stretch<'_>) -> Need {
        // A row is there with its key alone, whatever cell makes it exist.
        if self.names_key { Need::Yes } else { self.wanted.selection.needs(stretch, self.retention, self.now) }
    }

    fn exists(&self, row: &RowView<'_>, sifted: Option<&Sifted<'_>>) -> bool {
        let put = |marker: i64| marker >= self.retention.oldest(self.now);
        let shows = || {
            let put_together = || select::exists(row.cells(), None, self.retention, self.now);
            sifted.map_or_else(put_together, |sifted| sifted.shows)
        };
        row.marker().is_some_and(put) || (!self.index && shows())
    }

    /// Looks at a row without putting it together, if it is simple and goes to the sink cell by cell.
    fn sift<'r>(&self, row: &RowView<'r>, sink: &dyn RowSink) -> Option<Sifted<'r>> {
        let Wanted { selection, filter } = &self.wanted;
        let oldest = self.retention.oldest(self.now);
        sink.streams().then(|| Sifted::new(row, selection, filter.as_ref(), oldest)).flatten()
    }

    /// Judges a row that was sifted and exists, and gives it to the sink if it is returned; tells the bytes of the returned
    /// cells, or that there are none. Nothing is done where it gives nothing.
    fn give(&self, sifted: &Sifted<'_>, key: &KeyRefs<'_>, sink: &mut dyn RowSink) -> Option<Option<usize>> {
        let Wanted { selection, filter } = &self.wanted;
        let none = sifted.columns == 0 && selection.names_columns() && !self.names_key;
        let passes = match filter {
            _ if none => false,
            Some(filter) => sifted.passes(filter, &self.schema, key)?,
            None => true,
        };
        if passes { sifted.give(selection, filter.as_ref(), key, sink).map(Some) } else { Some(None) }
    }

    /// Gives a row to the sink as it is stored, cell by cell, if all of it is wanted and visible: as most rows are. Gives
    /// the bytes of its cells, as units count them. Nothing is done where it gives nothing.
    fn pass(&self, key: &KeyRefs<'_>, row: &RowView<'_>, sink: &mut dyn RowSink) -> Option<usize> {
        let mut fragment = row.alone().filter(|_| self.takes_all)?;
        let oldest = self.retention.oldest(self.now);
        row.marker().filter(|marker| *marker >= oldest)?;
        let (mut bytes, mut plain, mut last) = (0, true, None);
        let streamed = sink.stream(key, &mut || match fragment.next_cell() {
            Ok(Some(CellChange { column, op: CellOp::Put(version, value) }))
                if version >= oldest && !last.is_some_and(|last| same(last, column)) =>
            {
                bytes += column_bytes(column, value);
                last = Some(column);
                Some(CellRef { column, version, value })
            }
            Ok(None) => None,
            _ => {
                plain = false;
                None
            }
        });
        if streamed && !plain {
            sink.undo();
        }
        (streamed && plain).then_some(bytes)
    }

    /// Looks at a row that exists: first columns and versions are selected, then the filter judges what is selected, then
    /// the page is taken.
    fn see<'c>(&self, key: &KeyRefs<'_>, row: &'c RowView<'_>) -> Seen<'c> {
        let Wanted { selection, filter } = &self.wanted;
        let cells = selection.apply(row.cells(), self.retention, self.now);
        let returned = if cells.is_empty() && selection.names_columns() && !self.names_key {
            None
        } else {
            match filter {
                None => Some(0..cells.len()),
                Some(filter) => filter.passes(&self.schema, key, &cells).then(|| filter.page(&cells)),
            }
        };
        Seen { cells, returned }
    }

    /// Reads one row by its key and its encoded key.
    fn single(&self, (key, encoded): &Asked<'_>, row: Option<&RowView<'_>>, sink: &mut dyn RowSink) -> Result<Found> {
        let admit = |row: bool, units: u32| {
            if self.throttle.watches() {
                self.throttle.take(self.now, &[(Partition::of(self.tree, encoded), units)])?;
            }
            Ok(Found { row, consumed: Consumed::reading(units) })
        };
        let Some(row) = row else { return admit(false, 1) };
        if let Some(bytes) = self.pass(key, row, sink) {
            let admitted = admit(true, units(self.name_bytes + key.metered_bytes() + bytes));
            if admitted.is_err() {
                sink.undo();
            }
            return admitted;
        }
        let sifted = self.sift(row, sink);
        let exists = self.exists(row, sifted.as_ref());
        row.check().map_err(|damage| Error::corrupt("a row", damage))?;
        if !exists {
            return admit(false, 1);
        }
        let key_bytes = self.name_bytes + key.metered_bytes();
        if let Some(sifted) = sifted
            && let Some(returned) = self.give(&sifted, key, sink)
        {
            let admitted = match returned {
                Some(bytes) => admit(true, units(key_bytes + bytes)),
                None if sifted.columns == 0 => admit(false, 1),
                None => admit(false, units(key_bytes + sifted.selected)),
            };
            if admitted.is_err() && returned.is_some() {
                sink.undo();
            }
            return admitted;
        }
        let Seen { cells, returned } = self.see(key, row);
        row.check().map_err(|damage| Error::corrupt("a row", damage))?;
        let row = returned.is_some();
        let read = returned.and_then(|page| cells.get(page)).unwrap_or(&cells);
        if !row && read.is_empty() {
            return admit(false, 1);
        }
        let found = admit(row, units(key_bytes + cells_bytes(read)))?;
        if row {
            sink.row(key, read);
        }
        Ok(found)
    }
}

impl Consumes for Found {
    fn consumed(&self) -> Consumed {
        self.consumed
    }
}

impl Consumes for RangeRead {
    fn consumed(&self) -> Consumed {
        self.consumed
    }
}

impl<S: Storage> Instance<S> {
    /// Reads one row; `sink` gets it if it exists.
    ///
    /// # Errors
    /// Everything that can be wrong with the request or its key; `Corrupt` when stored data is damaged.
    pub async fn get_row(&self, request: &GetRow<'_>, sink: &mut dyn RowSink) -> Outcome<Found> {
        self.get_row_in(None, request, sink).await
    }

    /// The same as part of a transaction: what that has written is seen.
    ///
    /// # Errors
    /// As for [`Instance::get_row`], and those of transactions: `OTSParameterInvalid` for what is no id,
    /// `OTSSessionNotExist`, `OTSSessionBusy`, `OTSDataOutOfRange`.
    pub async fn get_row_in(
        &self,
        transaction: Option<&str>,
        request: &GetRow<'_>,
        sink: &mut dyn RowSink,
    ) -> Outcome<Found> {
        let table = self.named(request.table);
        let found = self.read_one(transaction, request, sink).await.map_err(|error| Charge::Read.failure(error));
        self.metered_on(table.as_deref(), found)
    }

    async fn read_one(&self, transaction: Option<&str>, request: &GetRow<'_>, sink: &mut dyn RowSink) -> Result<Found> {
        self.check_row_key(request.table, &request.key)?;
        let wanted = self.wanted(&request.options, NO_VERSIONS)?;
        let using = self.enter(transaction)?;
        let table = self.readable(request.table)?;
        let asked = encoded(&request.key, &table)?;
        using.iter().try_for_each(|using| using.check_row(&table, &asked.1))?;
        let reader = Reader::new(wanted, &table, self.clock(), &self.throttle);
        sink.start(table.schema());
        let mut found = Err(unvisited());
        let overlay = using.as_ref().map(TransactionUse::overlay);
        let mut visit = |_: usize, row: Option<&RowView<'_>>| found = reader.single(&asked, row, sink);
        let needs = |stretch: &Stretch<'_>| reader.needs(stretch);
        self.engine.read_parts(overlay, table.tree(), &[&asked.1], Some(&needs), &mut visit).await?;
        found
    }

    /// Reads up to 100 rows of one or many tables; gives each row's result, and the found rows to the sink of their
    /// table. There must be a sink for every table.
    ///
    /// # Errors
    /// When the request itself is wrong, or nothing can be read from the storage. What is wrong with single rows (no such
    /// table, a key that does not fit, damaged data) is their result.
    pub async fn batch_get_row<K: RowSink>(
        &self,
        tables: &[TableRead<'_>],
        sinks: &mut [K],
    ) -> Outcome<Vec<Vec<Outcome<Found>>>> {
        let nothing = |error| Charge::Nothing.failure(error);
        let wanted = self.check_batch(tables).map_err(nothing)?;
        // All tables are first polled now: no write that is asked for later comes before the read of the last table.
        let reads = tables.iter().zip(wanted).zip(sinks);
        let reads = reads.map(|((read, wanted), sink)| self.read_many(read, wanted, sink));
        in_order(reads).await.into_iter().collect::<Result<_>>().map_err(nothing)
    }

    fn check_batch<'a>(&self, tables: &'a [TableRead<'a>]) -> Result<Vec<Wanted<'a>>> {
        if tables.is_empty() {
            return Err(Error::parameter("No row specified in the request of BatchGetRow."));
        }
        let most = limits::BATCH_GET_ROWS;
        if tables.iter().map(|table| table.keys.len()).sum::<usize>() > most {
            return Err(Error::parameter(format!("Rows count exceeds the upper limit: {most}.")));
        }
        for table in tables {
            table.keys.iter().try_for_each(|key| self.check_row_key(table.table, key))?;
        }
        tables.iter().map(|table| self.wanted(&table.options, NO_VERSIONS_IN_BATCH)).collect()
    }

    fn check_row_key(&self, table: TableName<'_>, key: &KeyInput<'_>) -> Result<()> {
        self.check_key_count(table, key)?;
        key.check_row().map_err(|error| error.in_table(table.as_str()))
    }

    /// Refuses a number of key columns that no table has, before the table is looked for (R8). Only the key of an index
    /// may have more: its own columns, and those of its base table's key.
    fn check_key_count(&self, table: TableName<'_>, key: &KeyInput<'_>) -> Result<()> {
        let of_index = || {
            let tables = self.tables.borrow();
            let index = tables.get(table.as_str()).filter(|table| table.index_of().is_some());
            index.is_some_and(|index| (1..=index.schema().key().len()).contains(&key.count()))
        };
        match key.check_count() {
            Err(_) if of_index() => Ok(()),
            checked => checked.map_err(|error| error.in_table(table.as_str())),
        }
    }

    async fn read_many(
        &self,
        read: &TableRead<'_>,
        wanted: Wanted<'_>,
        sink: &mut dyn RowSink,
    ) -> Result<Vec<Outcome<Found>>> {
        let refused = |error: Error| Err(Charge::Read.failure(error));
        let table = match self.readable(read.table) {
            Ok(table) => table,
            Err(error) => {
                let none = |_| self.metered(read.table, refused(error.clone()));
                return Ok(read.keys.iter().map(none).collect());
            }
        };
        let reader = Reader::new(wanted, &table, self.clock(), &self.throttle);
        sink.start(table.schema());
        let keys = read.keys.iter().map(|key| encoded(key, &table)).collect::<Vec<_>>();
        let asked = keys.iter().flatten().collect::<Vec<_>>();
        let mut found = self.read_keys(&table, &reader, &asked, sink).await?.into_iter();
        let results = keys.iter().map(|key| match key {
            Ok(_) => found.next().unwrap_or_else(|| refused(unvisited())),
            Err(error) => refused(error.clone()),
        });
        Ok(results.map(|found| self.metered_on(Some(&table), found)).collect())
    }

    /// Reads rows by their keys, all at one instant. Only if some cannot be read, the rest are read one by one.
    async fn read_keys(
        &self,
        table: &Table,
        reader: &Reader<'_>,
        asked: &[&Asked<'_>],
        sink: &mut dyn RowSink,
    ) -> Result<Vec<Outcome<Found>>> {
        let keys = asked.iter().map(|(_, key)| key.as_slice()).collect::<Vec<_>>();
        let mut found = Vec::with_capacity(asked.len());
        let mut visit = |at: usize, row: Option<&RowView<'_>>| {
            if let Some(asked) = asked.get(at) {
                found.push(reader.single(asked, row, sink).map_err(|error| Charge::Read.failure(error)));
            }
        };
        let needs = |stretch: &Stretch<'_>| reader.needs(stretch);
        match self.engine.read_parts(None, table.tree(), &keys, Some(&needs), &mut visit).await {
            // What is damaged fails them all, wherever it lies; those before it in the order were visited already.
            Err(error) if error.code() == Code::Corrupt => {}
            read => return read.map(|()| found),
        }
        for asked in asked.iter().skip(found.len()) {
            let mut alone = Err(unvisited());
            let mut visit = |_: usize, row: Option<&RowView<'_>>| alone = reader.single(asked, row, sink);
            match self.engine.read_parts(None, table.tree(), &[&asked.1], Some(&needs), &mut visit).await {
                Err(error) if error.code() != Code::Corrupt => return Err(error),
                read => found.push(read.and(alone).map_err(|error| Charge::Read.failure(error))),
            }
        }
        Ok(found)
    }

    /// Reads a range of rows into `sink`: at most `limit`, and at most 5000 rows or 4 MB scanned, cut at whole rows. What
    /// is scanned counts whether or not the reader asked for it and the filter lets it pass: so a call may give no row and
    /// tell where the next one starts, and the filter does not make it cheaper. A call also ends after many rows that are
    /// deleted or have expired, or when the filter's regular expressions had to do too much.
    ///
    /// # Errors
    /// Everything that can be wrong with the request or its ends; `Corrupt` when stored data is damaged.
    pub async fn get_range(&self, request: &GetRange<'_>, sink: &mut dyn RowSink) -> Outcome<RangeRead> {
        self.get_range_in(None, request, sink).await
    }

    /// The same as part of a transaction: what that has written is seen.
    ///
    /// # Errors
    /// As for [`Instance::get_range`], and those of transactions.
    pub async fn get_range_in(
        &self,
        transaction: Option<&str>,
        request: &GetRange<'_>,
        sink: &mut dyn RowSink,
    ) -> Outcome<RangeRead> {
        let table = self.named(request.table);
        let read = self.read_range(transaction, request, sink).await.map_err(|error| Charge::Read.failure(error));
        self.metered_on(table.as_deref(), read)
    }

    async fn read_range(
        &self,
        transaction: Option<&str>,
        request: &GetRange<'_>,
        sink: &mut dyn RowSink,
    ) -> Result<RangeRead> {
        for end in [&request.start, &request.end] {
            if !end.is_empty() {
                self.check_key_count(request.table, end)?;
            }
            end.check_end().map_err(|error| error.in_table(request.table.as_str()))?;
        }
        let wanted = self.wanted(&request.options, NO_VERSIONS)?;
        let limit = match request.limit {
            None => usize::MAX,
            Some(limit) if limit > 0 => usize::try_from(limit).unwrap_or(usize::MAX),
            Some(_) => return Err(Error::parameter("The limit must be greater than 0.")),
        };
        let using = self.enter(transaction)?;
        let table = self.readable(request.table)?;
        let range = range_of(request, table.schema()).map_err(|error| error.in_table(table.name()))?;
        using.iter().try_for_each(|using| using.check_range(&table, &range))?;
        let reader = Reader::new(wanted, &table, self.clock(), &self.throttle);
        sink.start(table.schema());
        let mut scan = Scan::new(reader, limit, sink);
        let mut next = None;
        let mut visit = |key: &[u8], row: &RowView<'_>| match scan.visit(key, row) {
            Ok(Step::On) => ControlFlow::Continue(()),
            Ok(Step::Stop) => {
                next = Some(Ok(key.to_vec()));
                ControlFlow::Break(())
            }
            Err(error) => {
                next = Some(Err(error));
                ControlFlow::Break(())
            }
        };
        let overlay = using.as_ref().map(TransactionUse::overlay);
        self.engine.scan_over(overlay, table.tree(), range, request.direction, &mut visit).await?;
        let partitions: Vec<_> = scan.partitions.iter().map(|(partition, bytes)| (*partition, units(*bytes))).collect();
        self.throttle.take(scan.reader.now, &partitions)?;
        let consumed = Consumed::reading(units(scan.selected));
        let next = next.transpose()?.map(|key| next_key(&mut scan.keys, &key)).transpose()?;
        Ok(RangeRead { schema: Rc::clone(table.schema()), consumed, next })
    }

    fn wanted<'a>(&self, options: &'a ReadOptions<'a>, nothing_asked: &str) -> Result<Wanted<'a>> {
        let filter = options.filter.as_ref().map(|filter| filter.check(true)).transpose()?;
        Ok(Wanted { selection: check::selection(options, self.limits(), nothing_asked)?, filter })
    }
}

enum Step {
    On,
    /// The row was not read: the next call starts with it.
    Stop,
}

/// A range on its way.
struct Scan<'a, 's> {
    reader: Reader<'a>,
    limit: usize,
    sink: &'s mut dyn RowSink,
    keys: KeyReader,
    /// Stored rows and bytes that were looked at, deleted and hidden ones too.
    visited: usize,
    visited_bytes: usize,
    /// Rows that there are and what is visible of them, whether returned or not.
    scanned: usize,
    scanned_bytes: usize,
    /// Bytes that capacity units count: keys and selected cells.
    selected: usize,
    /// The same by partition key value, if that is watched.
    partitions: Vec<(Partition, usize)>,
    returned: usize,
}

impl<'a, 's> Scan<'a, 's> {
    fn new(reader: Reader<'a>, limit: usize, sink: &'s mut dyn RowSink) -> Self {
        Self {
            reader,
            limit,
            sink,
            keys: KeyReader::default(),
            visited: 0,
            visited_bytes: 0,
            scanned: 0,
            scanned_bytes: 0,
            selected: 0,
            partitions: Vec::new(),
            returned: 0,
        }
    }

    fn visit(&mut self, key: &[u8], row: &RowView<'_>) -> Result<Step> {
        // However large the row is, it is looked at: so every call comes further.
        if self.visited >= limits::RANGE_VISITED_ROWS || self.visited_bytes >= limits::RANGE_VISITED_BYTES {
            return Ok(Step::Stop);
        }
        if self.reader.takes_all && self.scanned < limits::RANGE_ROWS && self.returned < self.limit {
            let values = self.keys.read(key).ok_or_else(|| damaged_key(key))?;
            if let Some(cells) = self.reader.pass(&values, row, self.sink) {
                let bytes = self.reader.name_bytes + values.metered_bytes() + cells;
                if self.scanned > 0 && self.scanned_bytes + bytes > limits::RANGE_BYTES {
                    self.sink.undo();
                    return Ok(Step::Stop);
                }
                self.visited += 1;
                self.visited_bytes += key.len() + cells;
                self.scanned += 1;
                self.scanned_bytes += bytes;
                self.returned += 1;
                self.select(key, bytes);
                return Ok(Step::On);
            }
        }
        let sifted = self.reader.sift(row, self.sink);
        let weigh = || Weight::of(row.cells(), self.reader.retention, self.reader.now);
        let weight = sifted.as_ref().map_or_else(weigh, |sifted| sifted.weight);
        self.visited += 1;
        self.visited_bytes += key.len() + weight.stored;
        if !self.reader.exists(row, sifted.as_ref()) {
            return Ok(Step::On);
        }
        let work = self.reader.wanted.filter.as_ref().map_or(0, CheckedFilter::work);
        if self.scanned == limits::RANGE_ROWS || self.returned == self.limit || work >= limits::RANGE_REGEX_WORK {
            return Ok(Step::Stop);
        }
        let values = self.keys.read(key).ok_or_else(|| damaged_key(key))?;
        let key_bytes = self.reader.name_bytes + values.metered_bytes();
        let bytes = key_bytes + weight.visible;
        if self.scanned > 0 && self.scanned_bytes + bytes > limits::RANGE_BYTES {
            return Ok(Step::Stop);
        }
        self.scanned += 1;
        self.scanned_bytes += bytes;
        if let Some(sifted) = sifted
            && let Some(returned) = self.reader.give(&sifted, &values, self.sink)
        {
            self.returned += usize::from(returned.is_some());
            self.select(key, key_bytes + sifted.selected);
            return Ok(Step::On);
        }
        let Seen { cells, returned } = self.reader.see(&values, row);
        // Mostly all is selected, and weighed already.
        let whole = cells.len() == row.cells().len();
        let selected = key_bytes + if whole { weight.stored } else { cells_bytes(&cells) };
        if let Some(page) = returned {
            self.returned += 1;
            self.sink.row(&values, cells.get(page).unwrap_or_default());
        }
        self.select(key, selected);
        Ok(Step::On)
    }

    /// Counts what is selected of a row.
    fn select(&mut self, key: &[u8], bytes: usize) {
        self.selected += bytes;
        if self.reader.throttle.watches() {
            let partition = Partition::of(self.reader.tree, key);
            match self.partitions.last_mut() {
                Some((last, all)) if *last == partition => *all += bytes,
                _ => self.partitions.push((partition, bytes)),
            }
        }
    }
}

/// The key of a row, and the same encoded.
type Asked<'a> = (KeyRefs<'a>, Vec<u8>);

fn encoded<'a>(key: &KeyInput<'a>, table: &Table) -> Result<Asked<'a>> {
    let values = key.fit_row(table.schema()).map_err(|error| error.in_table(table.name()))?;
    let mut key = Vec::with_capacity(values.metered_bytes() + 3 * values.len());
    values.encode(&mut key);
    Ok((values, key))
}

fn next_key(keys: &mut KeyReader, key: &[u8]) -> Result<Vec<KeyValue>> {
    let values = keys.read(key).ok_or_else(|| damaged_key(key))?;
    Ok(values.iter().map(|value| key_value(*value)).collect())
}

fn damaged_key(key: &[u8]) -> Error {
    Error::corrupt("a stored row", format!("its key {key:02x?} is none"))
}

fn unvisited() -> Error {
    Error::internal("the engine did not answer for a key")
}
