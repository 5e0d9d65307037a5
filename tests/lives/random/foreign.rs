//! Texts and names of any script in a random life: pages of the ones are exact, the others are refused.

use super::Life;
use crate::{store, texts};
use std::rc::Rc;
use tabstore::model::{
    ColumnName, DefinedColumn, KeyColumn, KeyType, KeyValue, NameRules, TableName, ValueRef, ValueType,
};
use tabstore::session::Sessions;
use tabstore::session::codec::{FrameWriter, Page, PageWriter, Reader, responses};
use tabstore::tablestore::{CreateTable, GetRange, IndexSpec, PutCell};

impl Life {
    /// The same rows come in a page as a client gets it, whose texts are cut by their lengths in UTF-16.
    pub(super) fn check_page(&self, request: &GetRange<'_>, rows: &[store::Row]) {
        let (mut page, mut bytes) = (PageWriter::default(), Vec::new());
        self.store.env.run(self.store.instance.get_range(request, &mut page)).expect("read");
        page.encode(&mut bytes);
        let page = Page::read(&mut Reader::new(&bytes)).expect("whole");
        let key = |value: &KeyValue| value.as_value().to_owned();
        let expected = rows.iter().map(|row| (row.0.iter().map(key).collect::<Vec<_>>(), &row.1));
        if !page.rows.iter().map(|row| (row.key.clone(), &row.cells)).eq(expected) {
            self.fail(&format!("a page has {page:?}, not {rows:?}"));
        }
    }

    /// Names of any script are refused wherever a name is given, and nothing is stored.
    pub(super) fn foreign_names(&self) {
        let name = texts::word(self.pick(1000).cast_signed());
        let name = if self.pick(2) == 0 { format!("t{name}") } else { name.to_owned() };
        if TableName::parse(&name).is_ok() {
            return;
        }
        let (env, instance) = (&self.store.env, &self.store.instance);
        let before = instance.list_table();
        let id = |name: &str| vec![KeyColumn::new(name, KeyType::String)];
        let new = || CreateTable { name: "new".into(), key: id("id"), ..CreateTable::default() };
        let index = || IndexSpec { name: name.clone(), key: vec!["id".into()], ..IndexSpec::default() };
        let column = || DefinedColumn { name: name.clone(), column_type: ValueType::String };
        let tables = [
            CreateTable { name: name.clone(), ..new() },
            CreateTable { key: id(&name), ..new() },
            CreateTable { defined: vec![column()], ..new() },
            CreateTable { indexes: vec![index()], ..new() },
        ];
        let mut refused: Vec<_> = tables.map(|table| env.run(instance.create_table(table))).into();
        refused.push(env.run(instance.create_index("t", index(), true)));
        refused.push(env.run(instance.add_defined_column("t", vec![column()])));
        refused.push(env.run(instance.delete_table(&name)));
        refused.push(instance.describe_table(&name).map(|_| ()));
        refused.push(ColumnName::parse(&name, NameRules::Document).map(|_| ()));
        for outcome in refused {
            match outcome {
                Err(error) if error.message().contains(&format!(" name: '{name}'")) => {}
                other => self.fail(&format!("the name {name:?} came to {other:?}")),
            }
        }
        self.foreign_column(&name);
        if instance.list_table() != before {
            self.fail(&format!("the name {name:?} changed the tables"));
        }
        self.check(self.id());
    }

    /// The same of a row that a client writes.
    fn foreign_column(&self, name: &str) {
        let Ok(column) = ColumnName::parse(name, NameRules::Sdk) else { return };
        let id = self.id();
        let cell = PutCell { column, version: None, value: ValueRef::Integer(1) };
        let sessions = Sessions::new(Rc::clone(&self.store.instance), Rc::new(self.store.env.clone()));
        let session = sessions.open(1, |_| ()).expect("opened");
        let mut frame = FrameWriter::default();
        frame.row_write(1, &store::put("t", self.key(id), &[cell]));
        let answer = session.submit(frame.finish()).expect("a frame").expect("an answer at once");
        let error = responses(&answer).expect("whole").remove(0).payload.expect_err("refused");
        if error.message != format!("Invalid column name: '{name}'.") {
            self.fail(&format!("the column {name:?} came to {error:?}"));
        }
        self.check(id);
    }
}
