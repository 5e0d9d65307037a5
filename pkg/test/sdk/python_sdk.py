"""The PyPI package tablestore, as it is published, against a server: each operation that it has for wide columns.

Arguments: the endpoint, and the name of a table with transactions, whose key is (pk1 INTEGER, pk2 STRING). All tests run with both
versions of the signature.
"""

import logging
import sys
import time
import unittest

from tablestore import (
    INF_MAX,
    INF_MIN,
    PK_AUTO_INCR,
    BatchGetRowRequest,
    BatchWriteRowRequest,
    CapacityUnit,
    ComparatorType,
    CompositeColumnCondition,
    Condition,
    DeleteRowItem,
    Direction,
    LogicalOperator,
    OTSClient,
    OTSServiceError,
    PutRowItem,
    ReservedThroughput,
    ReturnType,
    Row,
    RowExistenceExpectation,
    SecondaryIndexMeta,
    SingleColumnCondition,
    TableInBatchGetRowItem,
    TableInBatchWriteRowItem,
    TableMeta,
    TableOptions,
    UpdateRowItem,
    UpdateTableResponse,
)
from tablestore.metadata import SecondaryIndexType
from tablestore.retry import NoRetryPolicy

ENDPOINT, TRANSACTIONS = sys.argv[1:3]
UNITS = ReservedThroughput(CapacityUnit(0, 0))
SCHEMA = [("pk1", "INTEGER"), ("pk2", "STRING")]
ANY = Condition(RowExistenceExpectation.IGNORE)
EXISTS = Condition(RowExistenceExpectation.EXPECT_EXIST)


def key(pk1, pk2="a"):
    return [("pk1", pk1), ("pk2", pk2)]


def cells(row):
    return [(name, value) for name, value, _ in row.attribute_columns]


class Operations:
    """All tests; the subclasses choose the signature."""

    options = {}
    serial = 0

    @classmethod
    def client(cls, key_id="testid", secret="testsecret", instance="demo"):
        return OTSClient(ENDPOINT, key_id, secret, instance, retry_policy=NoRetryPolicy(), logger_name=cls.__name__, **cls.options)

    def setUp(self):
        self.ots = self.client()
        Operations.serial += 1
        self.table = f"p{Operations.serial}"
        self.ots.create_table(TableMeta(self.table, SCHEMA), TableOptions(-1, 3, 86400), UNITS)

    def tearDown(self):
        self.ots.delete_table(self.table)

    def refused(self, status, code, message, call, *args, **named):
        with self.assertRaises(OTSServiceError) as raised:
            call(*args, **named)
        error = raised.exception
        self.assertEqual((error.get_http_status(), error.get_error_code()), (status, code), error.get_error_message())
        self.assertIn(message, error.get_error_message())
        self.assertTrue(error.get_request_id())

    def put(self, n, columns, pk2="a"):
        return self.ots.put_row(self.table, Row(key(n, pk2), columns), ANY)

    def get(self, n, **named):
        return self.ots.get_row(self.table, key(n), **named)[1]

    def test_t1_tables(self):
        self.assertIn(self.table, self.ots.list_table())
        described = self.ots.describe_table(self.table)
        self.assertEqual([tuple(column[:2]) for column in described.table_meta.schema_of_primary_key], SCHEMA)
        options = described.table_options
        self.assertEqual((options.time_to_live, options.max_version, options.max_time_deviation), (-1, 3, 86400))
        changed = self.ots.update_table(self.table, TableOptions(172800, 5, 86400))
        self.assertIsInstance(changed, UpdateTableResponse)
        self.assertEqual((changed.table_options.time_to_live, changed.table_options.max_version), (172800, 5))
        self.refused(404, "OTSObjectNotExist", "Requested table does not exist.", self.ots.describe_table, "missing")
        self.refused(404, "OTSObjectNotExist", "Requested table does not exist.", self.ots.delete_table, "missing")
        meta = TableMeta(self.table, SCHEMA)
        self.refused(409, "OTSObjectAlreadyExist", "Requested table already exists.", self.ots.create_table, meta, TableOptions(), UNITS)
        self.refused(400, "OTSParameterInvalid", "Invalid table name: '1t'.", self.ots.create_table, TableMeta("1t", SCHEMA), TableOptions(), UNITS)

    def test_r1_d2_rows_of_all_types(self):
        columns = [
            ("text", "é€😀"),
            ("empty", ""),
            ("most", 2**63 - 1),
            ("least", -(2**63)),
            ("double", 1.5),
            ("yes", True),
            ("no", False),
            ("bytes", bytearray(b"\x00\xff")),
        ]
        units, row = self.ots.put_row(self.table, Row(key(1), columns), ANY, ReturnType.RT_PK)
        self.assertEqual((units.read, units.write, row.primary_key), (0, 1, key(1)))
        units, row, token = self.ots.get_row(self.table, key(1))
        self.assertEqual((units.read, units.write, row.primary_key), (1, 0, key(1)))
        self.assertFalse(token)
        self.assertEqual(dict(cells(row)), dict(columns))
        self.assertEqual(cells(self.get(1, columns_to_get=["double", "missing"])), [("double", 1.5)])
        self.assertIsNone(self.get(2))
        change = {"put": [("text", "new")], "delete_all": ["most", "least"], "increment": [("count", 5)]}
        self.ots.update_row(self.table, Row(key(1), change), EXISTS)
        after = dict(cells(self.get(1)))
        self.assertEqual((after["text"], after.get("most"), after["count"]), ("new", None, 5))
        self.ots.delete_row(self.table, Row(key(1)), ANY)
        self.assertIsNone(self.get(1))
        self.refused(404, "OTSObjectNotExist", "", self.ots.get_row, "missing", key(1))
        self.refused(400, "OTSInvalidPK", "", self.ots.get_row, self.table, [("pk1", 1)])
        self.refused(400, "OTSParameterInvalid", "", self.ots.put_row, self.table, Row(key(1), [("a", "x" * (2 * 1024 * 1024 + 1))]), ANY)
        self.refused(400, "OTSParameterInvalid", "NaN", self.ots.put_row, self.table, Row(key(1), [("a", float("nan"))]), ANY)

    def test_r6_conditions(self):
        self.put(1, [("n", 5), ("s", "x")])
        is_five = SingleColumnCondition("n", 5, ComparatorType.EQUAL)
        is_six = SingleColumnCondition("n", 6, ComparatorType.EQUAL)
        either = CompositeColumnCondition(LogicalOperator.OR)
        either.add_sub_condition(is_five)
        either.add_sub_condition(is_six)
        failed = (403, "OTSConditionCheckFail", "Condition check failed.")
        change = Row(key(1), {"put": [("n", 6)]})
        self.refused(*failed, self.ots.update_row, self.table, change, Condition(RowExistenceExpectation.IGNORE, is_six))
        self.ots.update_row(self.table, change, Condition(RowExistenceExpectation.IGNORE, either))
        self.refused(*failed, self.ots.put_row, self.table, Row(key(1), []), Condition(RowExistenceExpectation.EXPECT_NOT_EXIST))
        self.refused(*failed, self.ots.delete_row, self.table, Row(key(9)), EXISTS)
        self.assertIsNone(self.get(1, column_filter=is_five))
        self.assertEqual(dict(cells(self.get(1, column_filter=is_six))), {"n": 6, "s": "x"})

    def test_v8_versions(self):
        now = int(time.time() * 1000)
        times = [now - 3000, now - 2000, now - 1000]
        for n, at in enumerate(times):
            self.ots.update_row(self.table, Row(key(1), {"put": [("c", f"v{n}", at)]}), ANY)
        values = lambda **named: [value for _, value in cells(self.get(1, **named))]
        self.assertEqual(values(max_version=2), ["v2", "v1"])
        self.assertEqual(values(max_version=3, time_range=(times[0], times[2])), ["v1", "v0"])
        self.assertEqual(values(max_version=None, time_range=times[1]), ["v1"])
        self.assertEqual([at for _, _, at in self.get(1, max_version=3).attribute_columns], times[::-1])
        self.ots.update_row(self.table, Row(key(1), {"delete": [("c", None, times[1])]}), ANY)
        self.assertEqual(values(max_version=3), ["v2", "v0"])
        late = Row(key(1), {"put": [("c", "late", now + 90_000_000)]})
        self.refused(400, "OTSParameterInvalid", "", self.ots.update_row, self.table, late, ANY)

    def test_r3_ranges(self):
        for n in range(10):
            self.put(1, [("n", n), ("m", f"m{n}")], f"k{n}")
        low, high = [("pk1", INF_MIN), ("pk2", INF_MIN)], [("pk1", INF_MAX), ("pk2", INF_MAX)]
        keys = lambda rows: [row.primary_key[1][1] for row in rows]
        units, start, rows, _ = self.ots.get_range(self.table, Direction.FORWARD, low, high)
        self.assertEqual((keys(rows), start, units.read), ([f"k{n}" for n in range(10)], None, 1))
        _, start, rows, _ = self.ots.get_range(self.table, Direction.BACKWARD, high, low, limit=4)
        self.assertEqual((keys(rows), start), (["k9", "k8", "k7", "k6"], key(1, "k5")))
        _, _, rows, _ = self.ots.get_range(self.table, Direction.FORWARD, key(1, "k2"), key(1, "k5"), ["m"])
        self.assertEqual([cells(row) for row in rows], [[("m", "m2")], [("m", "m3")], [("m", "m4")]])
        large = SingleColumnCondition("n", 7, ComparatorType.GREATER_EQUAL, pass_if_missing=False)
        _, _, rows, _ = self.ots.get_range(self.table, Direction.FORWARD, low, high, column_filter=large)
        self.assertEqual(keys(rows), ["k7", "k8", "k9"])
        counted = CapacityUnit(0, 0)
        found = self.ots.xget_range(self.table, Direction.FORWARD, low, high, counted, count=7)
        self.assertEqual(keys(found), [f"k{n}" for n in range(7)])
        self.assertGreater(counted.read, 0)
        self.refused(400, "OTSParameterInvalid", "", self.ots.get_range, self.table, Direction.FORWARD, high, low)

    def test_r2_batches(self):
        items = [
            PutRowItem(Row(key(1), [("a", "1")]), ANY),
            UpdateRowItem(Row(key(2), {"put": [("a", "2")]}), ANY),
            UpdateRowItem(Row(key(9), {"put": [("a", "9")]}), EXISTS),
            DeleteRowItem(Row(key(4)), ANY),
        ]
        request = BatchWriteRowRequest()
        request.add(TableInBatchWriteRowItem(self.table, items))
        result = self.ots.batch_write_row(request)
        self.assertFalse(result.is_all_succeed())
        self.assertEqual([len(part) for part in result.get_put()], [1, 0])
        succeeded, failed = result.get_update()
        self.assertEqual((len(succeeded), [item.error_code for item in failed]), (1, ["OTSConditionCheckFail"]))
        self.assertEqual([len(part) for part in result.get_delete()], [1, 0])
        request = BatchGetRowRequest()
        request.add(TableInBatchGetRowItem(self.table, [key(1), key(2), key(9)], max_version=1))
        request.add(TableInBatchGetRowItem("missing", [key(1)], max_version=1))
        result = self.ots.batch_get_row(request)
        found = result.get_result_by_table(self.table)
        self.assertEqual([item.is_ok for item in found], [True, True, True])
        self.assertEqual([item.row and cells(item.row) for item in found], [[("a", "1")], [("a", "2")], None])
        (missing,) = result.get_result_by_table("missing")
        self.assertEqual((missing.is_ok, missing.error_code), (False, "OTSObjectNotExist"))
        request = BatchWriteRowRequest()
        request.add(TableInBatchWriteRowItem(self.table, [PutRowItem(Row(key(n), []), ANY) for n in range(201)]))
        self.refused(400, "OTSParameterInvalid", "", self.ots.batch_write_row, request)

    def test_r6_auto_increment(self):
        name = self.table + "auto"
        meta = TableMeta(name, [("pk1", "INTEGER"), ("id", "INTEGER", PK_AUTO_INCR)])
        self.ots.create_table(meta, TableOptions(), UNITS)
        put = lambda n: self.ots.put_row(name, Row([("pk1", 1), ("id", PK_AUTO_INCR)], [("n", n)]), ANY, ReturnType.RT_PK)
        ids = [put(n)[1].primary_key[1][1] for n in range(3)]
        self.assertEqual(ids, sorted(set(ids)))
        self.assertEqual(cells(self.ots.get_row(name, [("pk1", 1), ("id", ids[1])])[1]), [("n", 1)])
        self.ots.delete_table(name)

    def test_indexes(self):
        name, index = self.table + "base", self.table + "index"
        meta = TableMeta(name, SCHEMA, [("name", "STRING"), ("size", "INTEGER")])
        self.ots.create_table(meta, TableOptions(), UNITS)
        self.ots.put_row(name, Row(key(1), [("name", "n"), ("size", 7)]), ANY)
        self.ots.create_secondary_index(name, SecondaryIndexMeta(index, ["name"], ["size"], SecondaryIndexType.GLOBAL_INDEX), True)
        (described,) = self.ots.describe_table(name).secondary_indexes
        self.assertEqual((described.index_name, described.primary_key_names), (index, ["name"]))
        low = [("name", "n"), ("pk1", INF_MIN), ("pk2", INF_MIN)]
        high = [("name", "n"), ("pk1", INF_MAX), ("pk2", INF_MAX)]
        rows, end = [], time.time() + 10
        while not rows and time.time() < end:
            try:
                rows = self.ots.get_range(index, Direction.FORWARD, low, high)[2]
            except OTSServiceError as error:
                self.assertIn("building base state", error.get_error_message())
            time.sleep(0.02)
        self.assertEqual([(row.primary_key, cells(row)) for row in rows], [([("name", "n"), *key(1)], [("size", 7)])])
        self.ots.delete_secondary_index(name, index)
        self.refused(404, "OTSObjectNotExist", "", self.ots.get_range, index, Direction.FORWARD, low, high)
        self.ots.delete_table(name)

    def test_r7_transactions(self):
        get = lambda n, **named: self.ots.get_row(TRANSACTIONS, key(n), **named)[1]
        put = lambda n, **named: self.ots.put_row(TRANSACTIONS, Row(key(n), [("a", "x")]), ANY, **named)
        n = 1000 * Operations.serial
        committed = self.ots.start_local_transaction(TRANSACTIONS, [("pk1", n)])
        put(n, transaction_id=committed)
        self.assertIsNone(get(n))
        self.assertEqual(cells(get(n, transaction_id=committed)), [("a", "x")])
        self.refused(409, "OTSRowOperationConflict", "", put, n)
        self.ots.commit_transaction(committed)
        self.assertEqual(cells(get(n)), [("a", "x")])
        aborted = self.ots.start_local_transaction(TRANSACTIONS, [("pk1", n + 1)])
        put(n + 1, transaction_id=aborted)
        self.ots.abort_transaction(aborted)
        self.assertIsNone(get(n + 1))
        self.refused(404, "OTSSessionNotExist", "", self.ots.commit_transaction, aborted)
        self.refused(400, "OTSParameterInvalid", "transaction", self.ots.start_local_transaction, self.table, [("pk1", 1)])

    def test_i6_access(self):
        for table in (self.table, "missing"):
            self.refused(403, "OTSAuthFailed", "", self.client(secret="wrong").get_row, table, key(1))
            self.refused(403, "OTSAuthFailed", "The AccessKeyID does not exist.", self.client("nobody").get_row, table, key(1))
            self.refused(403, "OTSAuthFailed", "The instance is not found.", self.client(instance="other").get_row, table, key(1))
        reader = self.client("reader", "reads")
        self.assertIn(self.table, reader.list_table())
        self.refused(403, "OTSNoPermissionAccess", "", reader.put_row, self.table, Row(key(1), []), ANY)


class SignatureV2(Operations, unittest.TestCase):
    """HMAC-SHA1, which is what the package does without a region."""


class SignatureV4(Operations, unittest.TestCase):
    """HMAC-SHA256 with a key of the day and the region."""

    options = {"region": "cn-hangzhou"}


if __name__ == "__main__":
    # The package tells each refusal in a log.
    logging.disable(logging.CRITICAL)
    unittest.main(argv=[sys.argv[0]], verbosity=1)
