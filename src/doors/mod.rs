//! Doors: protocols of HTTP on the engine. A door is a function from a request to a response.
//!
//! A door is in a module of its own and knows no network. Whoever has a request, a page or a server, passes it in. What is here
//! belongs to each door: it is compiled into each, because code that two modules share would be in the core.

pub mod azure;
pub mod tablestore;

use crate::error::{Error, Result};
use crate::format::wire::{Decoded, Reader, put_bytes, put_uv};
use crate::modules::Module;
use std::pin::Pin;

/// The way of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Passed<R> {
    /// Its response.
    Answered(R),
    /// Nothing was done: this module has to be loaded first.
    Needs(Module),
}

impl<R> Passed<R> {
    /// The response, where all code is there.
    ///
    /// # Errors
    /// A module is missing.
    pub fn answered(self) -> Result<R> {
        match self {
            Self::Answered(response) => Ok(response),
            Self::Needs(module) => Err(Error::internal(format!("the module {} is missing", module.name()))),
        }
    }
}

impl Passed<Response> {
    /// The response in bytes, and whether it is an error (I5).
    #[inline(always)]
    fn into_bytes(self) -> Passed<(Vec<u8>, bool)> {
        match self {
            Self::Answered(response) => {
                let mut out = Vec::with_capacity(response.body.len() + 512);
                response.write(&mut out);
                Passed::Answered((out, response.status >= 400))
            }
            Self::Needs(module) => Passed::Needs(module),
        }
    }
}

/// A request on its way: its response in bytes, and whether that is an error (I5).
pub type Passing<'a> = Pin<Box<dyn Future<Output = Result<Passed<(Vec<u8>, bool)>>> + 'a>>;

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub struct Request<'a> {
    /// The method, in capitals.
    pub method: &'a str,
    /// The absolute URL, encoded.
    pub url: &'a str,
    /// Names, in any case, and values.
    pub headers: Vec<(&'a str, &'a str)>,
    /// The body; empty if there is none.
    pub body: &'a [u8],
}

/// A response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// The body; empty if there is none.
    pub body: Vec<u8>,
}

/// Who may pass a door (I6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access<'a> {
    /// Whoever signs the request with a key of the instance.
    #[default]
    Signed,
    /// Whoever gave this secret of a key when it opened the door.
    Secret(&'a str),
    /// Everybody (`auth: "off"`).
    Off,
}

impl<'a> Request<'a> {
    /// Reads a request, and who may pass:
    ///
    /// ```text
    /// u8 access: 0 signed · 1 str secret · 2 off | str method | str url | uv headers, each: str name, str value | bytes body
    /// ```
    ///
    /// # Errors
    /// Bytes that are no request.
    #[inline(always)]
    pub fn read(bytes: &'a [u8]) -> Result<(Self, Access<'a>)> {
        Self::decode(bytes).map_err(|damage| Error::parameter(format!("The bytes are no request of HTTP: {damage}.")))
    }

    #[inline(always)]
    fn decode(bytes: &'a [u8]) -> Decoded<(Self, Access<'a>)> {
        let mut reader = Reader::new(bytes);
        let access = match reader.u8()? {
            0 => Access::Signed,
            1 => Access::Secret(reader.str()?),
            2 => Access::Off,
            _ => return Err(reader.damage("a request has an unknown access")),
        };
        let (method, url) = (reader.str()?, reader.str()?);
        let mut headers = Vec::new();
        for _ in 0..reader.count()? {
            headers.push((reader.str()?, reader.str()?));
        }
        Ok((Self { method, url, headers, body: reader.bytes()? }, access))
    }
}

impl Request<'_> {
    /// The value of a header, by its name in any case. A gate of [`Module::Azure`].
    #[must_use]
    #[inline(never)]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }
}

impl Response {
    /// Writes it: `uv status | uv headers, each: str name, str value | bytes body`.
    #[inline(always)]
    pub fn write(&self, out: &mut Vec<u8>) {
        put_uv(u64::from(self.status), out);
        put_uv(self.headers.len() as u64, out);
        for (name, value) in &self.headers {
            put_bytes(name.as_bytes(), out);
            put_bytes(value.as_bytes(), out);
        }
        put_bytes(&self.body, out);
    }
}
