//! Pages of other origins: the rules that the service's properties have, and what browsers ask and hear.
//!
//! All of it is a gate of [`Module::Access`](crate::modules::Module::Access).

use super::headers::is_cached;
use super::reply::Reply;
use crate::azure::{AzureCode, AzureResult};
use crate::doors::Request;

/// A rule for other origins. Lists as they were set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rule {
    /// Origins, or `*`.
    pub(super) origins: String,
    /// Methods.
    pub(super) methods: String,
    /// Headers of requests, or beginnings of their names.
    pub(super) headers: String,
    /// Headers of responses, or beginnings of their names.
    pub(super) exposed: String,
    /// For how many seconds a browser may remember the answer.
    pub(super) max_age: u32,
}

impl Rule {
    /// Whether it is about an origin and a method.
    fn is_for(&self, origin: &str, method: &str) -> bool {
        let has_origin = items(&self.origins).any(|item| item == "*" || item == origin);
        has_origin && items(&self.methods).any(|item| item == method)
    }

    /// Whether it is for all origins.
    fn is_open(&self) -> bool {
        items(&self.origins).any(|item| item == "*")
    }

    /// The headers of an answer that are the same for both kinds.
    fn tell(&self, origin: &str, reply: &mut Reply) {
        let allowed = if self.is_open() { "*" } else { origin };
        reply.headers.push(("Access-Control-Allow-Origin", allowed.to_owned()));
        if !self.is_open() {
            reply.headers.push(("Access-Control-Allow-Credentials", "true".to_owned()));
        }
    }
}

/// Answers a browser that asks before it sends a request. The first rule that fits counts.
///
/// # Errors
/// `MissingRequiredHeader`, `CorsPreflightFailure`.
pub(super) fn preflight(rules: &[Rule], request: &Request<'_>) -> AzureResult<Reply> {
    let needed = |name| request.header(name).ok_or(AzureCode::MissingRequiredHeader);
    let (origin, method) = (needed("origin")?, needed("access-control-request-method")?);
    let headers = request.header("access-control-request-headers").unwrap_or_default();
    let takes = |rule: &&Rule| {
        rule.is_for(origin, method)
            && items(headers).all(|header| items(&rule.headers).any(|allowed| is_named(allowed, header)))
            // They are sent back.
            && headers.bytes().all(|byte| matches!(byte, b' '..=b'~'))
    };
    let rule = rules.iter().find(takes).ok_or(AzureCode::CorsPreflightFailure)?;
    let mut reply = Reply::new(200);
    rule.tell(origin, &mut reply);
    reply.headers.push(("Access-Control-Allow-Methods", method.to_owned()));
    if !headers.is_empty() {
        reply.headers.push(("Access-Control-Allow-Headers", headers.to_owned()));
    }
    reply.headers.push(("Access-Control-Max-Age", rule.max_age.to_string()));
    Ok(reply)
}

/// Lets a page of another origin see an answer, if a rule does. The origin is empty if there is none: a rule for all fits then, and
/// a cache may give the answer to any page. Without one, a cache has to ask again for each origin.
pub(super) fn allow(rules: &[Rule], origin: &str, method: &str, reply: &mut Reply) {
    let rule = rules.iter().find(|rule| rule.is_for(origin, method));
    if is_cached(method) && !rules.is_empty() && !rule.is_some_and(Rule::is_open) {
        reply.headers.push(("Vary", "Origin".to_owned()));
    }
    let Some(rule) = rule else { return };
    rule.tell(origin, reply);
    let exposed = reply.headers.iter().map(|(name, _)| *name).chain(["x-ms-request-id", "x-ms-version"]);
    let exposed: Vec<_> = exposed.filter(|name| items(&rule.exposed).any(|allowed| is_named(allowed, name))).collect();
    if !exposed.is_empty() {
        let exposed = exposed.join(",");
        reply.headers.push(("Access-Control-Expose-Headers", exposed));
    }
}

/// Whether a name is the allowed one, in any case. A star at the end stands for any ending.
fn is_named(allowed: &str, name: &str) -> bool {
    match allowed.strip_suffix('*') {
        Some(start) => name.get(..start.len()).is_some_and(|own| own.eq_ignore_ascii_case(start)),
        None => allowed.eq_ignore_ascii_case(name),
    }
}

/// The items of a list with commas.
fn items(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|item| !item.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(origins: &str) -> Rule {
        Rule {
            origins: origins.into(),
            methods: "GET,PUT".into(),
            headers: "x-ms-meta*,Content-Type".into(),
            exposed: "x-ms-*,etag".into(),
            max_age: 60,
        }
    }

    fn asked(rules: &[Rule], headers: &[(&str, &str)]) -> Result<Reply, AzureCode> {
        let request = Request { method: "OPTIONS", url: "", headers: headers.to_vec(), body: b"" };
        preflight(rules, &request).map_err(|error| error.code)
    }

    #[test]
    fn a_preflight_is_answered_by_the_first_rule_that_fits() {
        let rules = [rule("http://a.example, http://b.example"), rule("*")];
        let ask = |origin, method, headers| {
            asked(
                &rules,
                &[
                    ("Origin", origin),
                    ("Access-Control-Request-Method", method),
                    ("Access-Control-Request-Headers", headers),
                ],
            )
        };
        let reply = ask("http://b.example", "PUT", "X-MS-META-a, content-type").expect("allowed");
        let header =
            |reply: &Reply, name| reply.headers.iter().find(|(other, _)| *other == name).map(|(_, v)| v.clone());
        assert_eq!(reply.status, 200);
        assert_eq!(header(&reply, "Access-Control-Allow-Origin").as_deref(), Some("http://b.example"));
        assert_eq!(header(&reply, "Access-Control-Allow-Headers").as_deref(), Some("X-MS-META-a, content-type"));
        assert_eq!(header(&reply, "Access-Control-Max-Age").as_deref(), Some("60"));
        assert_eq!(header(&reply, "Vary"), None, "nobody keeps such an answer");
        let open = ask("http://c.example", "GET", "").expect("allowed");
        assert_eq!(header(&open, "Access-Control-Allow-Origin").as_deref(), Some("*"));
        let failed = Err(AzureCode::CorsPreflightFailure);
        assert_eq!(ask("http://a.example", "DELETE", ""), failed);
        assert_eq!(ask("http://a.example", "GET", "x-other"), failed);
        assert_eq!(ask("http://a.example", "GET", "x-ms-meta-a\r\nSet-Cookie: b"), failed);
        assert_eq!(asked(&[], &[("Origin", "o"), ("Access-Control-Request-Method", "GET")]), failed);
        assert_eq!(asked(&rules, &[("Origin", "http://a.example")]), Err(AzureCode::MissingRequiredHeader));
    }

    #[test]
    fn an_answer_tells_the_origin_which_headers_it_may_see() {
        let mut reply = Reply::new(204).with("ETag", "x").with("Location", "y");
        allow(&[rule("http://a.example")], "http://a.example", "PUT", &mut reply);
        let exposed = reply.headers.iter().find(|(name, _)| *name == "Access-Control-Expose-Headers");
        assert_eq!(exposed.map(|(_, value)| value.as_str()), Some("ETag,x-ms-request-id,x-ms-version"));
        let mut other = Reply::new(204);
        allow(&[rule("http://a.example")], "http://b.example", "PUT", &mut other);
        assert_eq!(other, Reply::new(204));
    }
}
