//! Makes the codec of the contract: for each declaration a type that reads and writes it.
//!
//! Requests implement [`Field`](super::fields::Field), responses [`ResponseField`](super::response_fields::ResponseField). The macros expand the
//! declared order directly. Nothing is looked up at run time.

/// Expands every declaration of the contract.
macro_rules! contract {
    ($($(#[$doc:meta])* $kind:ident $name:ident { $($body:tt)* })*) => {
        use super::fields::*;
        use super::frame_writer::FrameWriter;
        use super::response_fields::*;
        use super::request::{Read, RequestReader};
        use super::values::{self, Variants};
        use super::Reader;
        use crate::error::Result as Answer;

        /// Compares one column.
        pub type ColumnFilter = Comparison<Comparator, Transfer>;

        $(layout! { $kind $name { $($body)* } })*
    };
}

/// Makes types that read and write a field.
macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident: $value:ty, |$reader:ident| $read:expr, |$given:ident, $out:ident| $write:expr;)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug)]
            pub struct $name;

            impl Field for $name {
                type Value<'f> = $value;

                fn read<'f>($reader: &mut RequestReader<'f>) -> Read<Option<$value>> {
                    $read
                }

                fn write($given: &Self::Value<'_>, $out: &mut FrameWriter) {
                    $write
                }
            }
        )*
    };
}

macro_rules! layout {
    (operations $name:ident {
        $($(#[$doc:meta])* $op:ident = $number:literal, $metric:literal, $request:ty => $response:ty, $place:ident, $again:ident;)*
    }) => {
        /// The numbers of operations.
        pub mod $name {
            $($(#[$doc])* pub const $op: u8 = $number;)*
            pub use crate::session::codec::numbers::IN_TRANSACTION;

            /// Whether a transaction may contain the operation.
            pub(in crate::session) fn is_for_transactions(op: u8) -> bool {
                match op {
                    $($op => layout!(@place $place),)*
                    _ => false,
                }
            }

            /// The operations that metrics tell, by their names. Several may have one name.
            pub(in crate::session) const METRICS: &[(u8, &str)] = &[$(($op, $metric)),*];
        }

        /// Every request and response that is declared has a layout.
        const _: () = {
            const fn is_request<F: Field>() {}
            const fn is_response<P: ResponseField>() {}
            $(is_request::<$request>(); is_response::<$response>();)*
        };
    };
    (@place in_transaction) => { true };
    (@place alone) => { false };

    // The package checks them.
    (arguments $name:ident { $($argument:tt)* }) => {};

    (administration $name:ident {
        engine {
            $($group:ident { $($(#[$doc:meta])* $op:ident $(($($arguments:tt)*))?: $again:ident, $order:ident;)* })*
        }
        thread { $($thread:tt)* }
    }) => {
        /// The administrative operations that the engine does.
        pub mod $name {
            /// An operation, by the code that does it. A group is in the module of its name, or in the core.
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            #[expect(missing_docs, reason = "the operations of the group of this name")]
            pub enum Administration {
                $($group($group),)*
            }

            $(
                #[doc = concat!("The operations of `", stringify!($group), "`.")]
                #[derive(Clone, Copy, Debug, PartialEq, Eq)]
                pub enum $group {
                    $($(#[$doc])* $op,)*
                }
            )*

            impl Administration {
                /// All of them, each at the place of its number.
                const ALL: &[Self] = &[$($(Self::$group($group::$op),)*)*];
                /// The name of each, and what becomes of its calls when the engine goes without an answer; at the place of its
                /// number.
                pub const DECLARED: &[(&str, &str)] = &[$($((stringify!($op), stringify!($again)),)*)*];

                /// The operation with this number.
                #[must_use]
                pub fn of(number: u8) -> Option<Self> {
                    Self::ALL.get(usize::from(number)).copied()
                }
            }
        }
    };

    (tags $name:ident { $($tag:ident = $byte:literal),* $(,)? }) => {
        const _: () = assert!($(super::numbers::$name::$tag == $byte)&&*, "the codec uses other tags");
    };

    (choice $name:ident { $how:ident $message:literal; $($byte:literal => $variant:ident $text:literal),* $(,)? }) => {
        fields! {
            #[doc = concat!("The layout of `", stringify!($name), "`.")]
            $name: values::$name, |reader| {
                Ok(match reader.u8()? {
                    $($byte => Some(values::$name::$variant),)*
                    other => layout!(@unknown $how, $message, reader, other),
                })
            }, |value, out| {
                out.u8(match value { $(values::$name::$variant => $byte),* });
            };
        }
    };

    (record $name:ident { $($field:ident: $codec:ty),* $(,)? }) => {
        fields! {
            #[doc = concat!("The layout of `", stringify!($name), "`.")]
            $name: values::$name<'f>, |reader| {
                $(let $field = <$codec as Field>::read(reader)?;)*
                Ok(layout!(@all [$($field)*] values::$name { $($field),* }))
            }, |value, out| {
                $(<$codec as Field>::write(&value.$field, out);)*
            };
        }
    };

    (rows $name:ident {
        $($field:ident: $codec:ty),* ;
        $last:ident: $union:ident { $($op:ident => $variant:ident $(($payload:ty))?),* $(,)? }
    }) => {
        fields! {
            /// A row whose operation is already read.
            $name: values::$name<'f>,
                |reader| Self::read_as(reader.op(), reader),
                |value, out| Self::write_rest(value, out);
            /// A row to write, behind the number of its operation.
            Row: values::$name<'f>,
                |reader| { let op = reader.u8()?; $name::read_as(op, reader) },
                |row, out| { out.u8($name::op(row)); $name::write_rest(row, out); };
            /// A row of a load. Its refusal does not affect other rows.
            RowOfLoad: Answer<values::$name<'f>>,
                |reader| { let row = Row::read(reader)?; Ok(reader.take_refusal().map(Err).or(row.map(Ok))) },
                |row, out| row.iter().for_each(|row| Row::write(row, out));
        }

        impl $name {
            /// Reads a row behind the number of its operation.
            pub(super) fn read_as<'f>(op: u8, reader: &mut RequestReader<'f>) -> Read<Option<values::$name<'f>>> {
                $(let $field = <$codec as Field>::read(reader)?;)*
                let $last = match op {
                    $(op::$op => layout!(@payload reader, values::$union::$variant $(, $payload)?),)*
                    _ => return Err(reader.damage("a row of a batch has an unknown operation")),
                };
                Ok(layout!(@all [$($field)* $last] values::$name { $($field,)* $last }))
            }

            /// The number of a row's operation.
            pub(super) fn op(value: &values::$name<'_>) -> u8 {
                match &value.$last { $(values::$union::$variant { .. } => op::$op),* }
            }

            /// Writes a row behind the number of its operation.
            pub(super) fn write_rest(value: &values::$name<'_>, out: &mut FrameWriter) {
                $(<$codec as Field>::write(&value.$field, out);)*
                $($(if let values::$union::$variant(payload) = &value.$last {
                    <$payload as Field>::write(payload, out);
                })?)*
            }
        }
    };
    (@payload $reader:ident, $variant:path) => { Some($variant) };
    (@payload $reader:ident, $variant:path, $payload:ty) => { <$payload as Field>::read($reader)?.map($variant) };

    (flags $name:ident {
        damage $message:literal;
        $($bit:literal => $first:ident $(. $rest:ident)* : $codec:ty),* $(,)?
    }) => {
        fields! {
            #[doc = concat!("The layout of `", stringify!($name), "`.")]
            $name: values::$name<'f>, |reader| {
                let bits = reader.u8()?;
                if bits & !(0 $(| $bit)*) != 0 {
                    return Err(reader.damage($message));
                }
                let mut value = values::$name::default();
                $(if bits & $bit != 0 {
                    value.$first $(.$rest)*.hold(<$codec as Field>::read(reader)?);
                })*
                Ok(Some(value))
            }, |value, out| {
                let mut bits = 0;
                $(if value.$first $(.$rest)*.held().is_some() {
                    bits |= $bit;
                })*
                out.u8(bits);
                $(if let Some(held) = value.$first $(.$rest)*.held() {
                    <$codec as Field>::write(held, out);
                })*
            };
        }
    };

    (union $name:ident {
        $how:ident $message:literal;
        $($byte:literal => $variant:ident
            $(($($place:ident: $place_codec:ty),*))? $({ $($field:ident: $codec:ty),* })?),* $(,)?
    }) => {
        fields! {
            #[doc = concat!("The layout of `", stringify!($name), "`.")]
            $name: <values::$name<'f> as Variants>::Model, |reader| {
                let value = match reader.u8()? {
                    $($byte => {
                        $($(let $place = <$place_codec as Field>::read(reader)?;)*)?
                        $($(let $field = <$codec as Field>::read(reader)?;)*)?
                        layout!(@all [$($($place)*)? $($($field)*)?]
                            values::$name::$variant $(($($place),*))? $({ $($field),* })?)
                    })*
                    other => layout!(@unknown $how, $message, reader, other),
                };
                Ok(value.map(Variants::into_model))
            }, |value, out| {
                match &<values::$name<'_> as Variants>::of(value) {
                    $(values::$name::$variant $(($($place),*))? $({ $($field),* })? => {
                        out.u8($byte);
                        $($(<$place_codec as Field>::write($place, out);)*)?
                        $($(<$codec as Field>::write($field, out);)*)?
                    })*
                }
            };
        }
    };

    // A value, if all its fields were read and none was refused.
    (@all [] $($value:tt)*) => { Some($($value)*) };
    (@all [$($field:ident)+] $($value:tt)*) => {
        match ($($field,)+) {
            ($(Some($field),)+) => Some($($value)*),
            _ => None,
        }
    };
    (@unknown refuse, $message:literal, $reader:ident, $number:ident) => { $reader.refuse_number($message, $number) };
    (@unknown damage, $message:literal, $reader:ident, $number:ident) => {{
        let _ = $number;
        return Err($reader.damage($message));
    }};

    (response $name:ident { $($field:ident: $part:ty),* $(,)? }) => {
        #[doc = concat!("The layout of `", stringify!($name), "`.")]
        #[derive(Debug)]
        pub struct $name;

        impl ResponseField for $name {
            type Given<'a> = ($(<$part as ResponseField>::Given<'a>,)*);
            type Gained = ($(<$part as ResponseField>::Gained,)*);

            fn put(($($field,)*): Self::Given<'_>, out: &mut Vec<u8>) {
                $(<$part as ResponseField>::put($field, out);)*
            }

            fn read(reader: &mut Reader<'_>) -> Read<Self::Gained> {
                Ok(($(<$part as ResponseField>::read(reader)?,)*))
            }
        }
    };

    (outcome $name:ident { $($byte:literal => $variant:ident { $($field:ident: $part:ty),* }),* $(,)? }) => {
        pastey::paste! {
            /// One of several parts, to be put.
            #[derive(Debug)]
            #[expect(missing_docs, reason = "the contract tells them")]
            pub enum [<$name Given>]<'a> {
                $($variant { $($field: <$part as ResponseField>::Given<'a>),* },)*
            }

            /// One of several parts, after reading.
            #[derive(Debug)]
            #[expect(missing_docs, reason = "the contract tells them")]
            pub enum [<$name Gained>] {
                $($variant { $($field: <$part as ResponseField>::Gained),* },)*
            }

            #[doc = concat!("The layout of `", stringify!($name), "`.")]
            #[derive(Debug)]
            pub struct $name;

            impl ResponseField for $name {
                type Given<'a> = [<$name Given>]<'a>;
                type Gained = [<$name Gained>];

                fn put(given: [<$name Given>]<'_>, out: &mut Vec<u8>) {
                    match given {
                        $([<$name Given>]::$variant { $($field),* } => {
                            out.push($byte);
                            $(<$part as ResponseField>::put($field, out);)*
                        })*
                    }
                }

                fn read(reader: &mut Reader<'_>) -> Read<[<$name Gained>]> {
                    Ok(match reader.u8()? {
                        $($byte => [<$name Gained>]::$variant { $($field: <$part as ResponseField>::read(reader)?),* },)*
                        _ => return Err(reader.damage("a part of a response is of an unknown kind")),
                    })
                }
            }
        }
    };
}
