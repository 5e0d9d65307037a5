//! Filters against a model that spells the rules out, and regular expressions against cases.

use super::*;
use crate::model::{CellRef, KeyColumn, KeyType, NameRules, TableSchema, Value};
use proptest::prelude::*;
use proptest::sample::select;

fn column(name: &str) -> ColumnName<'_> {
    ColumnName::parse(name, NameRules::Document).expect("a name")
}

fn comparing<'a>(name: &'a str, comparator: Comparator, value: ValueRef<'a>) -> ColumnFilter<'a> {
    ColumnFilter {
        column: column(name),
        comparator,
        value: comparator.compares().then_some(value),
        pass_if_missing: true,
        latest_version_only: true,
        transfer: None,
    }
}

fn schema() -> TableSchema {
    TableSchema::new(vec![KeyColumn::new("k", KeyType::Integer), KeyColumn::new("s", KeyType::String)]).expect("right")
}

/// The rule as the statement words it.
fn expected(filter: &Filter<'_>, key: &[(&str, Value)], cells: &[(String, Value)]) -> bool {
    match filter {
        Filter::Not(children) => !expected(&children[0], key, cells),
        Filter::And(children) => !children.iter().any(|child| !expected(child, key, cells)),
        Filter::Or(children) => children.iter().filter(|child| expected(child, key, cells)).count() > 0,
        Filter::Page { .. } => true,
        Filter::Column(filter) => {
            let name = filter.column.as_str();
            let mut values: Vec<&Value> = key.iter().filter(|(column, _)| *column == name).map(|(_, v)| v).collect();
            values.extend(cells.iter().filter(|(column, _)| column == name).map(|(_, value)| value));
            match filter.comparator {
                Comparator::Exist => return !values.is_empty(),
                Comparator::NotExist => return values.is_empty(),
                _ if values.is_empty() => return filter.pass_if_missing,
                _ => {}
            }
            if filter.latest_version_only {
                values.truncate(1);
            }
            let with = filter.value.expect("compares").to_owned();
            values.into_iter().any(|value| compares(value, filter.comparator, &with))
        }
    }
}

fn compares(value: &Value, comparator: Comparator, with: &Value) -> bool {
    let (less, equal) = match (value, with) {
        (Value::Integer(a), Value::Integer(b)) => (a < b, a == b),
        (Value::Double(a), Value::Double(b)) => (a < b, a == b),
        (Value::Boolean(a), Value::Boolean(b)) => (!a & b, a == b),
        (Value::String(a), Value::String(b)) => (a.as_bytes() < b.as_bytes(), a == b),
        (Value::Binary(a), Value::Binary(b)) => (a < b, a == b),
        _ => return false,
    };
    match comparator {
        Comparator::Equal => equal,
        Comparator::NotEqual => !equal,
        Comparator::GreaterThan => !less && !equal,
        Comparator::GreaterEqual => !less,
        Comparator::LessThan => less,
        Comparator::LessEqual => less || equal,
        Comparator::Exist | Comparator::NotExist => panic!("compares nothing"),
    }
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-2i64..3).prop_map(Value::Integer),
        (-2i32..3).prop_map(|v| Value::Double(f64::from(v) / 2.0)),
        any::<bool>().prop_map(Value::Boolean),
        "[ab]{0,2}".prop_map(Value::String),
        proptest::collection::vec(prop_oneof![Just(0u8), Just(255)], 0..2).prop_map(Value::Binary),
    ]
}

#[derive(Clone, Debug)]
enum Sketch {
    Column(String, Comparator, Value, bool, bool),
    Not(Box<Sketch>),
    And(Vec<Sketch>),
    Or(Vec<Sketch>),
}

impl Sketch {
    fn filter(&self) -> Filter<'_> {
        match self {
            Self::Column(name, comparator, value, pass_if_missing, latest_version_only) => {
                Filter::Column(ColumnFilter {
                    pass_if_missing: *pass_if_missing,
                    latest_version_only: *latest_version_only,
                    ..comparing(name, *comparator, value.as_ref())
                })
            }
            Self::Not(child) => Filter::Not(vec![child.filter()]),
            Self::And(children) => Filter::And(children.iter().map(Self::filter).collect()),
            Self::Or(children) => Filter::Or(children.iter().map(Self::filter).collect()),
        }
    }
}

fn sketch() -> impl Strategy<Value = Sketch> {
    let leaf = ("[abcks]", select(&Comparator::ALL[..]), value(), any::<bool>(), any::<bool>())
        .prop_map(|(name, number, value, pass, latest)| Sketch::Column(name, number, value, pass, latest));
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|child| Sketch::Not(Box::new(child))),
            proptest::collection::vec(inner.clone(), 2..4).prop_map(Sketch::And),
            proptest::collection::vec(inner, 2..4).prop_map(Sketch::Or),
        ]
    })
}

/// Pieces of regular expressions, valid or not.
const PIECES: &[&str] = &[
    "(",
    ")",
    "(?:",
    "(?P<n>",
    "(?i)",
    "(?x)",
    "(?-",
    "[",
    "[^",
    "]",
    "[[:alpha:]]",
    "[[:",
    "&&",
    "-",
    "{2,3}",
    "{0}",
    "{,5}",
    "{99}",
    "{9999999999}",
    "{2",
    "*",
    "+",
    "?",
    "|",
    "^",
    "$",
    ".",
    r"\b",
    r"\B",
    r"\d",
    r"\W",
    r"\A",
    r"\z",
    r"\pL",
    r"\x{10FFFF}",
    r"\x{D800}",
    r"\xff",
    r"\u00",
    r"\1",
    r"\",
    "#",
    "\n",
    "a",
    "z",
    "é",
    "€",
    "0",
    " ",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn r6_filters_judge_as_the_rules_say(
        sketch in sketch(),
        cells in proptest::collection::vec(("[abcd]", value()), 0..8),
        key in (-2i64..3, "[ab]{0,2}"),
    ) {
        let filter = sketch.filter();
        let Ok(checked) = filter.check(true) else { return Ok(()) };
        let mut cells = cells;
        cells.sort_by(|a, b| a.0.cmp(&b.0));
        let key = [("k", Value::Integer(key.0)), ("s", Value::String(key.1))];
        let values = key.iter().map(|(_, value)| value.as_ref()).collect::<Vec<_>>();
        let refs = cells.iter().map(|(column, value)| CellRef { column, version: 0, value: value.as_ref() });
        let refs = refs.collect::<Vec<_>>();
        prop_assert_eq!(checked.passes(&schema(), &values, &refs), expected(&filter, &key, &cells));
    }

    #[test]
    fn r6_pages_are_of_columns(
        cells in proptest::collection::vec("[a-e]", 0..12),
        offset in 0i64..6,
        limit in 1i64..6,
    ) {
        let mut cells = cells;
        cells.sort();
        let refs = cells.iter().map(|column| CellRef { column, version: 0, value: ValueRef::Integer(0) }).collect::<Vec<_>>();
        let filter = Filter::Page { offset, limit };
        let checked = filter.check(true).expect("right");
        let page = refs[checked.page(&refs)].iter().map(|cell| cell.column).collect::<Vec<_>>();
        let mut names = cells.clone();
        names.dedup();
        let names = names.iter().skip(offset as usize).take(limit as usize).collect::<Vec<_>>();
        let expected = cells.iter().filter(|cell| names.contains(cell)).collect::<Vec<_>>();
        prop_assert_eq!(page, expected);
    }

    #[test]
    fn any_regular_expression_is_compiled_or_refused(
        regex in prop_oneof![
            "[ -~]{0,40}".boxed(),
            "(?s).{0,30}".boxed(),
            proptest::collection::vec(prop::sample::select(PIECES), 0..24).prop_map(|pieces| pieces.concat()).boxed(),
        ],
        text in "[ -~é\n]{0,40}",
    ) {
        let transfer = Transfer { regex: &regex, cast: CastType::Double };
        let filter = Filter::Column(ColumnFilter {
            transfer: Some(transfer),
            ..comparing("a", Comparator::Equal, ValueRef::Double(1.0))
        });
        if let Ok(checked) = filter.check(false) {
            let cell = CellRef { column: "a", version: 0, value: ValueRef::String(&text) };
            let _ = checked.passes(&schema(), &[], &[cell]);
        }
    }
}

fn refused(filter: &Filter<'_>, pages: bool) -> String {
    filter.check(pages).expect_err("refused").message().to_owned()
}

fn leaf() -> Filter<'static> {
    Filter::Column(comparing("a", Comparator::Equal, ValueRef::Integer(1)))
}

#[test]
fn r6_a_filter_has_at_most_32_nodes_composites_included() {
    let wide = |leaves| Filter::Or(vec![leaf(); leaves]);
    assert!(wide(31).check(true).is_ok());
    assert_eq!(refused(&wide(32), true), "The count of filter exceeds the max: 32.");
    let deep = |nodes| (1..nodes).fold(leaf(), |filter, _| Filter::Not(vec![filter]));
    assert!(deep(32).check(true).is_ok());
    assert_eq!(refused(&deep(33), true), "The count of filter exceeds the max: 32.");
    assert_eq!(refused(&deep(1000), false), "The count of filter exceeds the max: 32.", "as the SDKs test it");
    // Counted before anything else is looked at.
    let wrong = Filter::Not(vec![Filter::And(vec![]); 40]);
    assert_eq!(refused(&wrong, true), "The count of filter exceeds the max: 32.");
}

#[test]
fn r6_operators_have_the_right_number_of_children() {
    let one = "Invalid NOT operator: the number of sub-filters must be 1.";
    let more = "Invalid AND/OR operator: the number of sub-filters must be more than 1.";
    for (filter, message) in [
        (Filter::Not(vec![]), one),
        (Filter::Not(vec![leaf(), leaf()]), one),
        (Filter::And(vec![]), more),
        (Filter::And(vec![leaf()]), more),
        (Filter::Or(vec![]), more),
        (Filter::Or(vec![leaf()]), more),
        (Filter::And(vec![leaf(), Filter::Or(vec![leaf()])]), more),
    ] {
        assert_eq!(refused(&filter, true), message);
        assert_eq!(refused(&filter, false), message);
    }
    let no_value =
        Filter::Column(ColumnFilter { value: None, ..comparing("a", Comparator::Equal, ValueRef::Integer(1)) });
    assert_eq!(refused(&no_value, true), "No value is given for column name.");
}

#[test]
fn r6_pagination_stands_at_the_root_or_below_its_and_and_not_in_conditions() {
    let page = Filter::Page { offset: 0, limit: 1 };
    assert!(page.check(true).is_ok());
    assert!(Filter::And(vec![leaf(), page.clone()]).check(true).is_ok());
    let nowhere = "Invalid type of filter: FT_COLUMN_PAGINATION.";
    for filter in [
        Filter::Not(vec![page.clone()]),
        Filter::Or(vec![leaf(), page.clone()]),
        Filter::And(vec![leaf(), Filter::And(vec![leaf(), page.clone()])]),
        Filter::And(vec![page.clone(), page.clone()]),
    ] {
        assert_eq!(refused(&filter, true), nowhere);
    }
    assert_eq!(refused(&page, false), nowhere);
    assert_eq!(refused(&Filter::And(vec![leaf(), page]), false), nowhere);
    let limit = "Limit in ColumnPaginationFilter must be greater than 0.";
    assert_eq!(refused(&Filter::Page { offset: 0, limit: 0 }, true), limit);
    assert_eq!(refused(&Filter::Page { offset: -1, limit: -1 }, true), limit);
    let offset = "Offset in ColumnPaginationFilter must be greater than or equal to 0.";
    assert_eq!(refused(&Filter::Page { offset: -1, limit: 1 }, true), offset);
}

#[test]
fn r6_integers_and_doubles_do_not_compare() {
    for comparator in Comparator::ALL.into_iter().filter(|comparator| comparator.compares()) {
        for (stored, with) in [
            (ValueRef::Integer(1), ValueRef::Double(1.0)),
            (ValueRef::Double(1.0), ValueRef::Integer(1)),
            (ValueRef::String("1"), ValueRef::Binary(b"1")),
            (ValueRef::Boolean(true), ValueRef::Integer(1)),
        ] {
            let filter = Filter::Column(comparing("a", comparator, with));
            let cell = CellRef { column: "a", version: 0, value: stored };
            assert!(!filter.check(true).expect("right").passes(&schema(), &[], &[cell]), "{comparator:?}");
        }
    }
}

/// Whether `comparator value` holds for the part that the rule takes out of `cell`.
fn taken(regex: &str, cast: CastType, cell: ValueRef<'_>, comparator: Comparator, value: ValueRef<'_>) -> bool {
    let transfer = Some(Transfer { regex, cast });
    let filter = Filter::Column(ColumnFilter { transfer, ..comparing("a", comparator, value) });
    let cell = CellRef { column: "a", version: 0, value: cell };
    filter.check(true).expect("right").passes(&schema(), &[], &[cell])
}

#[test]
fn r6_the_first_group_or_the_whole_match_is_compared() {
    use CastType::{Double, Integer, String};
    use Comparator::{Equal, Exist, GreaterEqual, GreaterThan, LessThan, NotEqual, NotExist};
    let cell =
        ValueRef::String("t1:abc,t2:-17,t3:2.50,é:9223372036854775807,big:9223372036854775808,e:1e3,n:nan,i:inf");
    let (text, int, double) = (ValueRef::String, ValueRef::Integer, ValueRef::Double);
    for (regex, cast, comparator, value, holds) in [
        ("t1:([a-z]+),", String, Equal, text("abc"), true),
        ("t1:([a-z]+),", String, GreaterEqual, text("abd"), false),
        ("t1:[a-z]+,", String, Equal, text("t1:abc,"), true),
        ("t1:([a-z])([a-z]+),", String, Equal, text("a"), true),
        ("t2:(-?[0-9]+)", Integer, Equal, int(-17), true),
        ("t2:(-?[0-9]+)", Integer, LessThan, int(-16), true),
        ("t2:(-?[0-9]+)", Integer, Equal, double(-17.0), false),
        ("t2:(-?[0-9]+)", Double, Equal, double(-17.0), true),
        ("t2:(-?[0-9]+)", String, Equal, text("-17"), true),
        ("t3:([0-9.]+)", Double, Equal, double(2.5), true),
        ("t3:([0-9.]+)", Double, GreaterThan, double(2.4), true),
        ("t3:([0-9.]+)", Integer, NotEqual, int(0), false),
        ("é:([0-9]+)", Integer, Equal, int(i64::MAX), true),
        ("big:([0-9]+)", Integer, NotEqual, int(0), false),
        ("big:([0-9]+)", Double, Equal, double(9_223_372_036_854_775_808.0), true),
        ("e:([0-9e]+)", Double, Equal, double(1000.0), true),
        ("n:([a-z]+)", Double, NotEqual, double(0.0), false),
        ("i:([a-z]+)", Double, GreaterThan, double(0.0), false),
        ("t1:([a-z]+),", Integer, NotEqual, int(0), false),
        ("t9:([a-z]+),", String, NotEqual, text("x"), false),
        ("()", Integer, NotEqual, int(0), false),
        ("()", Double, NotEqual, double(0.0), false),
        ("()", String, Equal, text(""), true),
        ("t9:|(t8:)|t1", String, NotEqual, text("x"), false),
        ("t1:([a-z]+),", String, Exist, text(""), true),
        ("t9:([a-z]+),", String, Exist, text(""), false),
        ("t9:([a-z]+),", String, NotExist, text(""), false),
        ("(?i)T1:([A-Z]+)", String, Equal, text("abc"), true),
        (r"t1:(\w+)\b", String, Equal, text("abc"), true),
    ] {
        assert_eq!(taken(regex, cast, cell, comparator, value), holds, "{regex} {cast:?} {comparator:?} {value:?}");
    }
}

#[test]
fn r6_rules_look_at_text_and_bytes_only() {
    let of = |cell, regex, with| taken(regex, CastType::String, cell, Comparator::Equal, ValueRef::String(with));
    assert!(of(ValueRef::Binary(b"x=12;"), "x=([0-9]+)", "12"));
    assert!(of(ValueRef::Binary("é=1".as_bytes()), "(é)=", "é"), "bytes that are text are text");
    assert!(of(ValueRef::Binary(&[0xff, b'x', b'=', b'1', 0xfe]), "x=([0-9]+)", "1"), "others byte by byte");
    assert!(of(ValueRef::Binary(&[0xff, 0xe9]), "^.(.)$", "é"));
    for value in [ValueRef::Integer(1), ValueRef::Double(1.0), ValueRef::Boolean(true)] {
        assert!(!taken("", CastType::String, value, Comparator::NotEqual, ValueRef::String("x")));
        assert!(!taken("", CastType::String, value, Comparator::Exist, ValueRef::String("x")));
    }
    let key = [ValueRef::Integer(1), ValueRef::String("user:77")];
    let filter = Filter::Column(ColumnFilter {
        transfer: Some(Transfer { regex: "user:([0-9]+)", cast: CastType::Integer }),
        ..comparing("s", Comparator::Equal, ValueRef::Integer(77))
    });
    assert!(filter.check(true).expect("right").passes(&schema(), &key, &[]), "a key column");
}

#[test]
fn r6_regular_expressions_are_short_and_small() {
    let refused = |regex: &str| {
        let transfer = Some(Transfer { regex, cast: CastType::String });
        let value = ValueRef::String("");
        let filter = Filter::Column(ColumnFilter { transfer, ..comparing("a", Comparator::Equal, value) });
        filter.check(true).map(|_| ()).map_err(|error| error.message().to_owned())
    };
    assert_eq!(refused(&"a".repeat(256)), Ok(()));
    let long = "The length of regular expression exceeds the MaxLength:256 with CurrentLength:257.";
    assert_eq!(refused(&"a".repeat(257)), Err(long.into()));
    for (regex, why) in
        [("(", "Invalid regular expression '(': "), ("a{900}{900}", "Invalid regular expression 'a{900}{900}': ")]
    {
        let message = refused(regex).expect_err("refused");
        assert!(message.starts_with(why) && message.ends_with('.'), "{message}");
    }
    assert!(refused(r"(a)\1").is_err(), "no references to groups: matching stays linear");
    assert!(refused("(?=a)").is_err(), "no looking around");
    for regex in ["(?:){99999999}", "(?:(?:(?:(?:a?){99}){99}){99}){99}", &"(".repeat(256), &"(?:a|".repeat(51)] {
        assert!(refused(regex).is_err(), "{regex}");
    }
    assert_eq!(refused(&"()".repeat(128)), Ok(()));
}

/// Expressions that take for ever in a matcher that tries one way after another.
#[test]
fn r6_no_text_makes_matching_slow() {
    let text = "a".repeat(50_000);
    for regex in ["(a*)*b", "(a+)+$b", "(?:a|a|aa)+$b", "([a-z]+)*[0-9]"] {
        assert!(!taken(regex, CastType::String, ValueRef::String(&text), Comparator::Exist, ValueRef::String("")));
    }
}

#[test]
fn r6_work_grows_with_text_and_expression() {
    let work = |regex: &str, text: &str| {
        let transfer = Some(Transfer { regex, cast: CastType::String });
        let value = ValueRef::String("");
        let filter = Filter::Column(ColumnFilter { transfer, ..comparing("a", Comparator::Equal, value) });
        let checked = filter.check(true).expect("right");
        let cell = CellRef { column: "a", version: 0, value: ValueRef::String(text) };
        for _ in 0..2 {
            let _ = checked.passes(&schema(), &[], &[cell]);
        }
        checked.work()
    };
    assert_eq!(work("t1:([a-z]+),", "abcde"), 2 * 5 * 2);
    assert!(work("[a-z]{200}", "abcde") > work("[a-z]{20}", "abcde"));
    assert!(work(&"()".repeat(50), "abcde") > work("()", "abcde"));
}
