//! What a client asks, as the contract with the engine declares it (src/session/codec/contract.rs), as data.
//!
//! The renderer of the TypeScript codec reads it, and so do the fuzz targets, which include this file too.

/// Added to the number of an operation that belongs to a transaction.
pub(crate) const IN_TRANSACTION: u8 = 0x40;

/// A declaration of the contract: its name and its shape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Declaration {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    Operations(&'static [Operation]),
    /// In the order of their numbers. The last ones are done by the thread of the engine.
    Administration(&'static [Administrative]),
    /// An object among the arguments of such an operation.
    Arguments(&'static [Field]),
    Tags(&'static [(&'static str, u8)]),
    Choice(Unknown, &'static [Choice]),
    Record(&'static [Field]),
    Rows(&'static [Field], &'static [Branch]),
    /// Each variant has one field and the name of that field.
    Flags(&'static [Variant]),
    Union(Unknown, &'static [Variant]),
    /// What the engine sends.
    Response,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    pub(crate) number: u8,
    pub(crate) request: Codec,
    pub(crate) in_transaction: bool,
    pub(crate) again: Again,
}

/// An administrative operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Administrative {
    pub(crate) docs: &'static [&'static str],
    pub(crate) name: &'static str,
    /// What an application gives; `None` if the package's own code makes the arguments.
    pub(crate) arguments: Option<&'static [Field]>,
    pub(crate) again: Again,
    pub(crate) is_ordered: bool,
}

/// What becomes of a call when its engine goes without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    /// The next engine is asked.
    Repeatable,
    /// The next engine is asked under the same number.
    Once,
    /// It is refused.
    Unrepeatable,
}

/// The scope of the damage by an unknown number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    Request,
    Frame,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    pub(crate) number: u8,
    pub(crate) text: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) codec: Codec,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Variant {
    pub(crate) number: u8,
    pub(crate) name: &'static str,
    pub(crate) fields: &'static [Field],
}

/// The fields of one operation's row, beside the fields that all rows have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Branch {
    pub(crate) operation: &'static str,
    pub(crate) name: &'static str,
    pub(crate) codec: Option<Codec>,
}

/// The layout of a field: a name, perhaps with another codec in `<>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Codec(pub(crate) &'static str);

impl Codec {
    pub(crate) fn name(self) -> &'static str {
        self.0.split('<').next().unwrap_or_default().trim()
    }

    pub(crate) fn inner(self) -> Option<Self> {
        let (_, inner) = self.0.split_once('<')?;
        Some(Self(inner.trim().strip_suffix('>')?.trim()))
    }
}

/// The declaration with this name.
pub(crate) fn shape(name: &str) -> Option<Shape> {
    DECLARATIONS.iter().find(|declared| declared.name == name).map(|declared| declared.shape)
}

pub(crate) fn operations() -> &'static [Operation] {
    match shape("op") {
        Some(Shape::Operations(operations)) => operations,
        _ => &[],
    }
}

/// The administrative operations, each at the place of its number.
pub(crate) fn administration() -> &'static [Administrative] {
    match shape("admin") {
        Some(Shape::Administration(operations)) => operations,
        _ => &[],
    }
}

macro_rules! contract {
    ($($kind:ident $name:ident { $($body:tt)* })*) => {
        pub(crate) const DECLARATIONS: &[super::Declaration] =
            &[$(super::Declaration { name: stringify!($name), shape: shape!($kind { $($body)* }) }),*];
    };
}

macro_rules! shape {
    (operations { $($(#[doc = $doc:literal])* $name:ident = $number:literal, $metric:literal, $request:ty => $response:ident, $scope:ident, $again:ident;)* }) => {
        super::Shape::Operations(&[$(super::Operation {
            name: stringify!($name),
            number: $number,
            request: super::Codec(stringify!($request)),
            in_transaction: scope!($scope),
            again: again!($again),
        }),*])
    };
    (administration {
        engine { $($group:ident { $($engine:tt)* })* }
        thread { $($thread:tt)* }
    }) => {
        super::Shape::Administration(administration!($($($engine)*)* $($thread)*))
    };
    (tags { $($name:ident = $number:literal),* $(,)? }) => {
        super::Shape::Tags(&[$((stringify!($name), $number)),*])
    };
    (choice { $unknown:ident $why:literal; $($number:literal => $variant:ident $text:literal),* $(,)? }) => {
        super::Shape::Choice(unknown!($unknown), &[$(super::Choice { number: $number, text: $text }),*])
    };
    (record { $($fields:tt)* }) => { super::Shape::Record(fields!($($fields)*)) };
    (arguments { $($fields:tt)* }) => { super::Shape::Arguments(fields!($($fields)*)) };
    (response { $($fields:tt)* }) => { super::Shape::Response };
    (rows {
        $($field:ident: $codec:ty),*;
        $last:ident: $kind:ident { $($operation:ident => $variant:ident $(($rest:ty))?),* $(,)? }
    }) => {
        super::Shape::Rows(fields!($($field: $codec),*), &[$(super::Branch {
            operation: stringify!($operation),
            name: stringify!($variant),
            codec: last!($(super::Codec(stringify!($rest)))?),
        }),*])
    };
    (flags { $unknown:ident $why:literal; $($bit:literal => $first:ident $(.$last:ident)?: $codec:ty),* $(,)? }) => {
        super::Shape::Flags(&[$(super::Variant {
            number: $bit,
            name: name!($first $($last)?),
            fields: &[super::Field { name: name!($first $($last)?), codec: super::Codec(stringify!($codec)) }],
        }),*])
    };
    (union { $unknown:ident $why:literal; $($variants:tt)* }) => {
        super::Shape::Union(unknown!($unknown), variants!($($variants)*))
    };
    (outcome { $($variants:tt)* }) => { super::Shape::Response };
}

macro_rules! administration {
    ($($(#[doc = $doc:literal])* $name:ident $(($($arguments:tt)*))?: $again:ident, $order:ident;)*) => {
        &[$(super::Administrative {
            docs: &[$($doc),*],
            name: stringify!($name),
            arguments: last!($(fields!($($arguments)*))?),
            again: again!($again),
            is_ordered: order!($order),
        }),*]
    };
}

macro_rules! again {
    (repeatable) => {
        super::Again::Repeatable
    };
    (once) => {
        super::Again::Once
    };
    (unrepeatable) => {
        super::Again::Unrepeatable
    };
}

macro_rules! order {
    (ordered) => {
        true
    };
    (unordered) => {
        false
    };
}

macro_rules! fields {
    ($($field:ident: $codec:ty),* $(,)?) => {
        &[$(super::Field { name: stringify!($field), codec: super::Codec(stringify!($codec)) }),*]
    };
}

macro_rules! variants {
    ($($number:literal => $variant:ident $(($($bare:tt)*))? $({ $($braced:tt)* })?),* $(,)?) => {
        &[$(super::Variant {
            number: $number,
            name: stringify!($variant),
            fields: fields!($($($bare)*)? $($($braced)*)?),
        }),*]
    };
}

macro_rules! scope {
    (in_transaction) => {
        true
    };
    (alone) => {
        false
    };
}

macro_rules! unknown {
    (refuse) => {
        super::Unknown::Request
    };
    (damage) => {
        super::Unknown::Frame
    };
}

macro_rules! last {
    () => {
        None
    };
    ($codec:expr) => {
        Some($codec)
    };
}

macro_rules! name {
    ($first:ident) => {
        stringify!($first)
    };
    ($first:ident $last:ident) => {
        stringify!($last)
    };
}

#[path = "../../../src/session/codec/contract.rs"]
mod contract;

pub(crate) use contract::DECLARATIONS;
