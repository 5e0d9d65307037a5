//! The contract between a client and the engine: the layout of every request and response, and the administrative operations.
//! All are declared once.
//!
//! `layout.rs` makes Rust's codec from it, for both sides. `cargo xtask build` renders `pkg/src/codec/contract*.ts` from it.
//! The fuzz targets draw requests from it. Each of them defines the macro `contract!` and then includes this file.
//!
//! A declaration names its kind:
//!
//! - `operations`: number, name in metrics, request, response, whether a transaction may contain it, and whether it may be done twice.
//!   In a transaction, `IN_TRANSACTION` is added to the number, and the id of the transaction follows. Metrics omit an empty name. If
//!   an engine goes without an answer, the next one is asked again for what is `repeatable`. It is asked for the others, which are
//!   done `once`, only if it knows the answers of the last one.
//! - `tags`: the bytes before values. Fragments have the same (`model/tags.rs`).
//! - `choice`: one byte for one of some names. Another byte refuses the request (`refuse`) or is damage of the frame (`damage`).
//! - `record`: its fields, one after another. The fields have their names in Rust.
//! - `rows`: a record with a last field that depends on the number of the operation. `Row` is it behind that number, and `RowOfLoad`
//!   a `Row` whose refusal does not affect others.
//! - `flags`: a byte with a bit for each field that follows.
//! - `union`: a byte, and the fields that belong to it.
//! - `response` and `outcome`: a record and a union that the engine sends.
//!
//! - `administration`: all other operations. Their arguments and answers are plain objects. An operation that names its arguments in
//!   parentheses is called with what an application gave, so the package checks it. The package's own code makes the arguments of
//!   the others. `src/wasm/admin` reads them.
//! - `arguments`: an object among those arguments.
//!
//! The layouts of single fields are in `fields.rs` (requests) and `response_fields.rs` (responses). Those know nothing of what is declared here:
//! `ColumnFilter` gets the layouts that it needs as parameters.
//!
//! Administrative operations have names between tabs, so that tabs of two releases understand each other: a name stays. The thread
//! that has the engine refuses unknown names. Those of `engine` are grouped by the code that does them: `Core` is in the core,
//! `Engine` where an instance is opened (src/wasm/opened.rs), each other group in the module of its name. The thread itself does
//! those of `thread`. Between a thread and its engine, which are of one build, an operation is its place in this list. Each says
//! two things:
//!
//! - What becomes of a call when its engine goes without an answer. `repeatable`: the next engine is asked, and it may be done twice.
//!   `once`: the next engine is asked under the same number, and gives the stored answer if the call was done. `unrepeatable`: the
//!   caller gets `LeaderChanged`, and decides.
//! - Whether it keeps its order. While the engine finds an operation too frequent, so that it waits for a retry, later `ordered`
//!   operations wait behind it, and `unordered` ones do not.

contract! {
    operations op {
        /// PutRow (R1).
        PUT_ROW = 1, "PutRow", RowWrite => Written, in_transaction, once;
        /// UpdateRow (R1).
        UPDATE_ROW = 2, "UpdateRow", RowWrite => Written, in_transaction, once;
        /// DeleteRow (R1).
        DELETE_ROW = 3, "DeleteRow", RowWrite => Written, in_transaction, once;
        /// GetRow (R1).
        GET_ROW = 4, "GetRow", GetRow => Found, in_transaction, repeatable;
        /// BatchGetRow (R2).
        BATCH_GET_ROW = 5, "BatchGetRow", Batch<TableRead> => BatchFound, alone, repeatable;
        /// GetRange (R3).
        GET_RANGE = 6, "GetRange", GetRange => Range, in_transaction, repeatable;
        /// BatchWriteRow (R2).
        BATCH_WRITE_ROW = 7, "BatchWriteRow", Batch<Row> => BatchWritten, in_transaction, once;
        /// StartLocalTransaction (R7).
        START_LOCAL_TRANSACTION = 8, "StartLocalTransaction", StartLocalTransaction => Started, alone, repeatable;
        /// CommitTransaction (R7).
        COMMIT_TRANSACTION = 9, "CommitTransaction", Text => Ended, alone, once;
        /// AbortTransaction (R7).
        ABORT_TRANSACTION = 10, "AbortTransaction", Text => Ended, alone, repeatable;
        /// BatchWriteRow, all rows or none.
        BATCH_WRITE_ROW_ATOMIC = 11, "BatchWriteRow", Batch<Row> => BatchWritten, alone, once;
        /// Puts of rows by the thousand, stored when asked for.
        PUT_ROWS = 12, "BatchWriteRow", PutRows => RowsPut, alone, once;
        /// Asks for the rows of PUT_ROWS to be stored.
        STORE_ROWS = 13, "", Unsigned => RowsStored, alone, once;
        /// CountRows: the rows of a range, as far as one call reads (R3).
        COUNT_ROWS = 14, "CountRows", CountRows => Counted, alone, repeatable;
        /// The client has all answers to requests below this number. It gets no answer to this.
        ACKNOWLEDGE = 15, "", Unsigned => Unsigned, alone, once;
        /// A request to the door of the Azure Table service (Z2), as it came (`doors/mod.rs`).
        AZURE = 16, "AzureTable", Blob => Passed, alone, once;
        /// Writes of rows of any tables, all of them or none. The service has no such operation.
        ATOMIC = 17, "Atomic", Batch<Row> => BatchWritten, alone, once;
        /// Deletes the rows of a range, as far as one call goes. The service has no such operation.
        DELETE_RANGE = 18, "DeleteRange", CountRows => Counted, alone, repeatable;
        /// A request to the door of the Table Store service, as it came (`doors/mod.rs`).
        TABLE_STORE = 19, "TableStore", Blob => Passed, alone, once;
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

    arguments KeyColumn { name: Text, type: Text, auto_increment: Maybe<Flag>, allow_chosen: Maybe<Flag> }

    arguments DefinedColumn { name: Text, type: Text }

    arguments Index {
        index_name: Text,
        type: Maybe<Text>,
        primary_key: List<Text>,
        columns: Maybe<List<Text>>,
        time_to_live: Maybe<Integer>,
    }

    arguments Stream { enabled: Flag, expiration_hours: Maybe<Integer>, origin_columns: Maybe<List<Text>> }

    arguments Units { read: Maybe<Integer>, write: Maybe<Integer> }

    arguments Price { read: Maybe<Amount>, write: Maybe<Amount> }

    arguments Prices { reserved: Maybe<Price>, on_demand: Maybe<Price> }

    administration admin {
        engine {
            Core {
                /// CreateTable (T1).
                CreateTable(
                    table_name: Text,
                    primary_key: List<KeyColumn>,
                    time_to_live: Maybe<Integer>,
                    max_versions: Maybe<Integer>,
                    max_version_offset: Maybe<Integer>,
                    allow_update: Maybe<Flag>,
                    reserved_throughput: Maybe<Units>,
                    stream: Maybe<Stream>,
                    defined_columns: Maybe<List<DefinedColumn>>,
                    indexes: Maybe<List<Index>>,
                    enable_local_transaction: Maybe<Flag>,
                ): once, ordered;
                /// ListTable (T1).
                ListTable(): repeatable, ordered;
                /// Writes the memtable to segments.
                Flush(): repeatable, unordered;
            }
            Engine {
                /// Moves an injected clock.
                SetClock: repeatable, unordered;
                /// Figures of the engine and its sessions.
                Metrics(): repeatable, unordered;
            }
            Answers {
                /// Prepares the answers of a client in another tab, before its session opens.
                KeepAnswers: repeatable, unordered;
                /// Deletes the answers of clients that have gone.
                ForgetAnswers: repeatable, unordered;
            }
            Streams {
                /// ListStream (ST1).
                ListStream(table_name: Maybe<Text>): repeatable, unordered;
                /// DescribeStream (ST1).
                DescribeStream(stream_id: Text, inclusive_start_shard_id: Maybe<Text>, shard_limit: Maybe<Integer>): repeatable, unordered;
                /// GetShardIterator (ST1).
                GetShardIterator(
                    stream_id: Text,
                    shard_id: Text,
                    timestamp: Maybe<Integer>,
                    latest: Maybe<Flag>,
                    beginning: Maybe<Flag>,
                ): repeatable, unordered;
                /// GetStreamRecord (ST1).
                GetStreamRecord(shard_iterator: Text, limit: Maybe<Integer>): repeatable, unordered;
                /// Waits for a record behind one of some iterators.
                AwaitStreamRecord(shard_iterators: List<Text>): repeatable, unordered;
                /// Waits for a write among watched rows, or tells which there were.
                AwaitChange: repeatable, unordered;
            }
            Occasional {
                /// DescribeTable (T1).
                DescribeTable(table_name: Text): repeatable, ordered;
                /// UpdateTable (T5).
                UpdateTable(
                    table_name: Text,
                    time_to_live: Maybe<Integer>,
                    max_versions: Maybe<Integer>,
                    max_version_offset: Maybe<Integer>,
                    allow_update: Maybe<Flag>,
                    reserved_throughput: Maybe<Units>,
                    stream: Maybe<Stream>,
                ): once, ordered;
                /// DeleteTable (T1).
                DeleteTable(table_name: Text): once, ordered;
                /// CreateIndex.
                CreateIndex(table_name: Text, index: Index, include_base_data: Maybe<Flag>): once, ordered;
                /// DeleteIndex.
                DropIndex(table_name: Text, index_name: Text): once, ordered;
                /// AddDefinedColumn.
                AddDefinedColumn(table_name: Text, columns: List<DefinedColumn>): once, ordered;
                /// DeleteDefinedColumn.
                DeleteDefinedColumn(table_name: Text, columns: List<Text>): once, ordered;
                /// The units used in a time, and their price.
                ComputeConsumed(
                    table_name: Maybe<Text>,
                    start: Maybe<Integer>,
                    end: Maybe<Integer>,
                    period: Maybe<Text>,
                    prices: Maybe<Prices>,
                ): repeatable, unordered;
                /// The bytes of a table.
                ComputeStorage(table_name: Text): repeatable, unordered;
                /// ComputeSplitPointsBySize (P4).
                ComputeSplitPointsBySize(
                    table_name: Text,
                    split_size: Integer,
                    split_size_unit_bytes: Maybe<Integer>,
                    split_point_limit: Maybe<Integer>,
                ): repeatable, ordered;
                /// Makes an access key (I6).
                CreateAccessKey(
                    rights: List<Text>,
                    access_key_id: Maybe<Text>,
                    access_key_secret: Maybe<Text>,
                ): once, unordered;
                /// The access keys, without their secrets (I6).
                ListAccessKeys(): repeatable, unordered;
                /// Changes an access key (I6).
                UpdateAccessKey(access_key_id: Text, enabled: Maybe<Flag>, rights: Maybe<List<Text>>): once, unordered;
                /// Deletes an access key (I6).
                DeleteAccessKey(access_key_id: Text): once, unordered;
                /// Merges all segments of each partition.
                Compact(): repeatable, unordered;
                /// The tables of Azure accounts (Z2).
                ListForeignTable: repeatable, ordered;
                /// The key ranges that a salvage left out.
                Missing(): repeatable, unordered;
            }
            Inspection {
                /// Trees, partitions, levels and segments.
                DescribeStore: repeatable, unordered;
                /// One segment.
                DescribeSegment: repeatable, unordered;
                /// A read, and the path that it took.
                GetTracedRow: repeatable, unordered;
                /// A row with its hidden versions.
                GetStoredRow: repeatable, unordered;
                /// The background work behind a position.
                GetWorkEvents: repeatable, unordered;
                /// Waits for background work behind a position.
                AwaitWorkEvents: repeatable, unordered;
                /// Stops background work. Each answer tells what is next.
                PauseWork: unrepeatable, unordered;
                /// Does the next piece of background work.
                StepWork: unrepeatable, unordered;
                /// Lets background work go on.
                ResumeWork: unrepeatable, unordered;
            }
        }
        thread {
            /// Asks guests to give way to other options.
            Yield: repeatable, unordered;
        }
    }
}
