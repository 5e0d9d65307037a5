//! The contract between a client and the engine: the layout of every request and response, declared once.
//!
//! `layout.rs` makes Rust's codec from it, for both sides. `cargo xtask build` renders `pkg/src/codec/contract*.ts` from it.
//! The fuzz targets draw requests from it. Each of them defines the macro `contract!` and then includes this file.
//!
//! A declaration names its kind:
//!
//! - `operations`: number, name in metrics, request, response, and whether a transaction may contain it. In a transaction,
//!   `IN_TRANSACTION` is added to the number, and the id of the transaction follows. Metrics omit an empty name.
//! - `tags`: the bytes before values. Fragments have the same (`model/tags.rs`).
//! - `choice`: one byte for one of some names. Another byte refuses the request (`refuse`) or is damage of the frame (`damage`).
//! - `record`: its fields, one after another. The fields have their names in Rust.
//! - `rows`: a record with a last field that depends on the number of the operation.
//! - `flags`: a byte with a bit for each field that follows.
//! - `union`: a byte, and the fields that belong to it.
//! - `response` and `outcome`: a record and a union that the engine sends.
//!
//! The layouts of single fields are in `fields.rs` (requests) and `parts.rs` (responses).

contract! {
    operations op {
        /// PutRow (R1).
        PUT_ROW = 1, "PutRow", RowWrite => Written, in_transaction;
        /// UpdateRow (R1).
        UPDATE_ROW = 2, "UpdateRow", RowWrite => Written, in_transaction;
        /// DeleteRow (R1).
        DELETE_ROW = 3, "DeleteRow", RowWrite => Written, in_transaction;
        /// GetRow (R1).
        GET_ROW = 4, "GetRow", GetRow => Found, in_transaction;
        /// BatchGetRow (R2).
        BATCH_GET_ROW = 5, "BatchGetRow", Batch<TableRead> => BatchFound, alone;
        /// GetRange (R3).
        GET_RANGE = 6, "GetRange", GetRange => Range, in_transaction;
        /// BatchWriteRow (R2).
        BATCH_WRITE_ROW = 7, "BatchWriteRow", Batch<Row> => BatchWritten, in_transaction;
        /// StartLocalTransaction (R7).
        START_LOCAL_TRANSACTION = 8, "StartLocalTransaction", StartLocalTransaction => Started, alone;
        /// CommitTransaction (R7).
        COMMIT_TRANSACTION = 9, "CommitTransaction", Text => Ended, alone;
        /// AbortTransaction (R7).
        ABORT_TRANSACTION = 10, "AbortTransaction", Text => Ended, alone;
        /// BatchWriteRow, all rows or none.
        BATCH_WRITE_ROW_ATOMIC = 11, "BatchWriteRow", Batch<Row> => BatchWritten, alone;
        /// Puts of rows by the thousand, stored when asked for.
        PUT_ROWS = 12, "BatchWriteRow", PutRows => RowsPut, alone;
        /// Asks for the rows of PUT_ROWS to be stored.
        STORE_ROWS = 13, "", Unsigned => RowsStored, alone;
        /// CountRows: the rows of a range, as far as one call reads (R3).
        COUNT_ROWS = 14, "CountRows", CountRows => Counted, alone;
        /// The client has all answers to requests below this number. It gets no answer to this.
        ACKNOWLEDGE = 15, "", Unsigned => Unsigned, alone;
        /// A request to the door of the Azure Table service (Z2), as it came (`doors/mod.rs`).
        AZURE = 16, "AzureTable", Blob => Passed, alone;
        /// Writes of rows of any tables, all of them or none. The service has no such operation.
        ATOMIC = 17, "Atomic", Batch<Row> => BatchWritten, alone;
        /// Deletes the rows of a range, as far as one call goes. The service has no such operation.
        DELETE_RANGE = 18, "DeleteRange", CountRows => Counted, alone;
    }

    tags tag {
        INTEGER = 2,
        DOUBLE = 3,
        FALSE = 4,
        TRUE = 5,
        STRING = 6,
        BINARY = 7,
        INF_MIN = 8,
        INF_MAX = 9,
        AUTO_INCREMENT = 10,
    }

    rows RowWrite {
        table: Table,
        key: Key,
        condition: Existence,
        column_condition: Maybe<Boxed<Filter>>,
        returns: ReturnContent;
        mutation: Mutation {
            PUT_ROW => Put(List<PutCell>),
            UPDATE_ROW => Update(List<ColumnChange>),
            DELETE_ROW => Delete,
        }
    }

    choice Existence {
        refuse "Invalid row-existence expectation";
        0 => Ignore "IGNORE",
        1 => ExpectExist "EXPECT_EXIST",
        2 => ExpectNotExist "EXPECT_NOT_EXIST",
    }

    union ReturnContent {
        refuse "Invalid return type";
        0 => None,
        1 => PrimaryKey,
        2 => AfterModify(columns: List<Column>),
    }

    record PutCell { column: Column, version: Maybe<Signed>, value: Attribute }

    record ColumnChange { column: Column, op: ColumnOp }

    union ColumnOp {
        damage "a column change is of an unknown kind";
        1 => Put { version: Maybe<Signed>, value: Attribute },
        2 => DeleteVersion(version: Signed),
        3 => DeleteColumn,
        4 => Increment(delta: Signed),
    }

    record GetRow { table: Table, key: Key, options: ReadOptions }

    record TableRead { table: Table, options: ReadOptions, keys: Batch<Key> }

    record GetRange {
        table: Table,
        direction: Direction,
        start: RangeEnd,
        end: RangeEnd,
        limit: Limit,
        options: ReadOptions,
    }

    record CountRows { table: Table, start: RangeEnd, end: RangeEnd, filter: Maybe<Filter> }

    choice Direction {
        damage "a range has an unknown direction";
        0 => Forward "FORWARD",
        1 => Backward "BACKWARD",
    }

    flags ReadOptions {
        damage "read options have unknown flags";
        1 => versions.max_versions: Count,
        2 => versions.range: Span,
        4 => versions.version: Signed,
        8 => columns: List<Column>,
        16 => start_column: Text,
        32 => end_column: Text,
        64 => filter: Filter,
    }

    union Filter {
        damage "a filter is of an unknown kind";
        1 => Column(comparison: ColumnFilter),
        2 => Composite(operator: LogicalOperator, children: Deeper<List<Filter>>),
        3 => Page { offset: Signed, limit: Signed },
    }

    choice LogicalOperator {
        refuse "Invalid logical operator";
        1 => Not "NOT",
        2 => And "AND",
        3 => Or "OR",
    }

    choice Comparator {
        refuse "Invalid relation operator";
        1 => Equal "EQUAL",
        2 => NotEqual "NOT_EQUAL",
        3 => GreaterThan "GREATER_THAN",
        4 => GreaterEqual "GREATER_EQUAL",
        5 => LessThan "LESS_THAN",
        6 => LessEqual "LESS_EQUAL",
        7 => Exist "EXIST",
        8 => NotExist "NOT_EXIST",
    }

    choice CastType {
        refuse "Invalid cast type";
        0 => Integer "INTEGER",
        1 => Double "DOUBLE",
        3 => String "STRING",
    }

    record Transfer { regex: Text, cast: CastType }

    record StartLocalTransaction { table: Table, key: PartitionKey }

    record PutRows { loader: Unsigned, rows: List<RowOfLoad> }

    response Written { consumed: Consumed, row: Maybe<ReturnedRow> }

    response Found { consumed: Consumed, page: Page }

    response Range { consumed: Consumed, next: Maybe<NextKey>, page: Page }

    response Counted { consumed: Consumed, rows: Unsigned, next: Maybe<NamedKey> }

    response BatchFound { tables: List<TableFound> }

    response TableFound { rows: List<RowFound>, page: Page }

    outcome RowFound {
        0 => Absent { read: Unsigned },
        1 => Present { read: Unsigned },
        2 => Failed { error: Failure },
    }

    response BatchWritten { rows: List<RowWritten>, pages: Pages }

    outcome RowWritten {
        0 => Failed { error: Failure },
        1 => Done { consumed: Consumed, returns: Flag },
    }

    response Started { consumed: Consumed, id: Text }

    response Ended { consumed: Consumed }

    outcome RowsPut {
        0 => Taken { load: Unsigned, bytes: Unsigned, rows: Unsigned, refused: List<Refusal> },
        1 => Written { batch: BatchWritten },
    }

    response RowsStored { consumed: Consumed, until: Unsigned, failed: List<Refusal> }

    response Passed { response: Blob }

    response Refusal { number: Unsigned, error: Failure }
}
