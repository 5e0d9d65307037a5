# The SDK of Table Store for Python: pip install tablestore; npx tabstore serve; python3 tablestore_example.py
import sys
from tablestore import CapacityUnit, Condition, OTSClient, ReservedThroughput, Row, RowExistenceExpectation, TableMeta, TableOptions

client = OTSClient((sys.argv[1:] or ["http://127.0.0.1:7371"])[0], "testid", "testsecret", "demo")
client.create_table(TableMeta("python", [("station", "STRING"), ("at", "INTEGER")]), TableOptions(), ReservedThroughput(CapacityUnit(0, 0)))
key = [("station", "SEA"), ("at", 1)]
client.put_row("python", Row(key, [("tempMax", 12.8)]), Condition(RowExistenceExpectation.IGNORE))
consumed, row, next_token = client.get_row("python", key)
print(*row.attribute_columns[0][:2])
