//! The properties of the table service: a document with parts that are set one by one.
//!
//! The store has no request log and no metrics of this kind, so those parts are kept and come back, and do nothing. The rules
//! for other origins count ([`cors`](super::cors)).
//!
//! All of it is a gate of [`Module::Access`](crate::modules::Module::Access).

use super::cors::Rule;
use super::xml::{self, Element, wrong};
use crate::azure::AzureResult;

/// Rules for other origins.
const RULES: usize = 5;
/// The longest list of a rule, and of a name in it.
const LIST: usize = 64 * 256;
/// Days for which data may be kept.
const DAYS: std::ops::RangeInclusive<u32> = 1..=365;

/// The properties.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Properties {
    logging: Logging,
    hour: Metrics,
    minute: Metrics,
    /// The rules for other origins.
    pub(super) cors: Vec<Rule>,
}

/// For how many days data is kept; `None` for ever.
type Days = Option<u32>;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Logging {
    delete: bool,
    read: bool,
    write: bool,
    days: Days,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Metrics {
    is_on: bool,
    apis: Option<bool>,
    days: Days,
}

impl Properties {
    /// The properties of a stored document. Without one they are the first ones.
    ///
    /// # Errors
    /// `InvalidXmlDocument`.
    pub(super) fn stored(document: &[u8]) -> AzureResult<Self> {
        let mut properties = Self::default();
        if !document.is_empty() {
            properties.set(document)?;
        }
        Ok(properties)
    }

    /// Sets the parts that a document has, and keeps the others.
    ///
    /// # Errors
    /// `InvalidXmlDocument`.
    pub(super) fn set(&mut self, document: &[u8]) -> AzureResult<()> {
        let root = Element::read(document)?;
        if root.name != "StorageServiceProperties" {
            return Err(wrong());
        }
        let [logging, hour, minute, cors] = root.fields(["Logging", "HourMetrics", "MinuteMetrics", "Cors"])?;
        if let Some(logging) = logging {
            self.logging = read_logging(logging)?;
        }
        if let Some(hour) = hour {
            self.hour = read_metrics(hour)?;
        }
        if let Some(minute) = minute {
            self.minute = read_metrics(minute)?;
        }
        if let Some(cors) = cors {
            if cors.children.len() > RULES || cors.children.iter().any(|rule| rule.name != "CorsRule") {
                return Err(wrong());
            }
            self.cors.clear();
            for rule in &cors.children {
                self.cors.push(read_rule(rule)?);
            }
        }
        Ok(())
    }

    /// Writes the whole document.
    pub(super) fn write(&self) -> String {
        let Self { logging, hour, minute, cors } = self;
        let mut out = String::from(xml::DECLARATION);
        out.push_str("<StorageServiceProperties><Logging><Version>1.0</Version>");
        for (name, value) in [("Delete", logging.delete), ("Read", logging.read), ("Write", logging.write)] {
            xml::element(name, truth(value), &mut out);
        }
        write_days(logging.days, &mut out);
        out.push_str("</Logging>");
        for (name, metrics) in [("HourMetrics", hour), ("MinuteMetrics", minute)] {
            out.extend(["<", name, "><Version>1.0</Version>"]);
            xml::element("Enabled", truth(metrics.is_on), &mut out);
            if let Some(apis) = metrics.apis {
                xml::element("IncludeAPIs", truth(apis), &mut out);
            }
            write_days(metrics.days, &mut out);
            out.extend(["</", name, ">"]);
        }
        out.push_str("<Cors>");
        for rule in cors {
            out.push_str("<CorsRule>");
            for (name, value) in [
                ("AllowedOrigins", &rule.origins),
                ("AllowedMethods", &rule.methods),
                ("AllowedHeaders", &rule.headers),
                ("ExposedHeaders", &rule.exposed),
                ("MaxAgeInSeconds", &rule.max_age.to_string()),
            ] {
                xml::element(name, value, &mut out);
            }
            out.push_str("</CorsRule>");
        }
        out.push_str("</Cors></StorageServiceProperties>");
        out
    }
}

fn read_logging(element: &Element) -> AzureResult<Logging> {
    let [version, delete, read, write, days] =
        element.fields(["Version", "Delete", "Read", "Write", "RetentionPolicy"])?;
    check_version(version)?;
    Ok(Logging { delete: flag(delete)?, read: flag(read)?, write: flag(write)?, days: read_days(days)? })
}

/// Metrics that are on say whether they include APIs; metrics that are off do not.
fn read_metrics(element: &Element) -> AzureResult<Metrics> {
    let [version, is_on, apis, days] = element.fields(["Version", "Enabled", "IncludeAPIs", "RetentionPolicy"])?;
    check_version(version)?;
    let (is_on, apis) = (flag(is_on)?, apis.map(|apis| flag(Some(apis))).transpose()?);
    if is_on && apis.is_none() {
        return Err(wrong());
    }
    Ok(Metrics { is_on, apis: apis.filter(|_| is_on), days: read_days(days)? })
}

fn check_version(element: Option<&Element>) -> AzureResult<()> {
    if element.ok_or_else(wrong)?.value()? == "1.0" { Ok(()) } else { Err(wrong()) }
}

fn read_days(element: Option<&Element>) -> AzureResult<Days> {
    let [is_on, days] = element.ok_or_else(wrong)?.fields(["Enabled", "Days"])?;
    if !flag(is_on)? {
        return Ok(None);
    }
    let days = number(days.ok_or_else(wrong)?.value()?)?;
    if DAYS.contains(&days) { Ok(Some(days)) } else { Err(wrong()) }
}

fn write_days(days: Days, out: &mut String) {
    out.push_str("<RetentionPolicy>");
    xml::element("Enabled", truth(days.is_some()), out);
    if let Some(days) = days {
        xml::element("Days", &days.to_string(), out);
    }
    out.push_str("</RetentionPolicy>");
}

fn read_rule(element: &Element) -> AzureResult<Rule> {
    let names = ["AllowedOrigins", "AllowedMethods", "AllowedHeaders", "ExposedHeaders", "MaxAgeInSeconds"];
    let fields = element.fields(names)?;
    let [origins, methods, headers, exposed, max_age] = fields.map(|field| field.map(Element::value));
    let list = |field: Option<AzureResult<&str>>| {
        let text = field.ok_or_else(wrong)??;
        // It becomes a header.
        let is_right = text.len() <= LIST && text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        if is_right { Ok(text.to_owned()) } else { Err(wrong()) }
    };
    let rule = Rule {
        origins: list(origins)?,
        methods: list(methods)?,
        headers: list(headers)?,
        exposed: list(exposed)?,
        max_age: number(max_age.ok_or_else(wrong)??)?,
    };
    let known = ["DELETE", "GET", "HEAD", "MERGE", "POST", "OPTIONS", "PUT", "PATCH", "CONNECT", "TRACE"];
    let methods = rule.methods.split(',').map(str::trim);
    if rule.origins.is_empty() || !methods.clone().all(|method| known.contains(&method)) {
        return Err(wrong());
    }
    Ok(rule)
}

fn flag(element: Option<&Element>) -> AzureResult<bool> {
    match element.ok_or_else(wrong)?.value()? {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(wrong()),
    }
}

fn number(text: &str) -> AzureResult<u32> {
    text.parse::<i64>().ok().and_then(|number| number.try_into().ok()).ok_or_else(wrong)
}

fn truth(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGGING: &str = "<Logging><Version>1.0</Version><Delete>true</Delete><Read>false</Read><Write>true</Write>\
                           <RetentionPolicy><Enabled>true</Enabled><Days>7</Days></RetentionPolicy></Logging>";
    const HOUR: &str = "<HourMetrics><Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>false</IncludeAPIs>\
                        <RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></HourMetrics>";
    const CORS: &str = "<Cors><CorsRule><AllowedOrigins>http://a.example,*</AllowedOrigins><AllowedMethods>GET,MERGE\
                        </AllowedMethods><AllowedHeaders>x-*</AllowedHeaders><ExposedHeaders></ExposedHeaders>\
                        <MaxAgeInSeconds>5</MaxAgeInSeconds></CorsRule></Cors>";

    fn document(parts: &str) -> String {
        format!("<StorageServiceProperties>{parts}</StorageServiceProperties>")
    }

    #[test]
    fn properties_are_set_part_by_part_and_come_back() {
        let mut properties = Properties::default();
        properties.set(document(&[LOGGING, CORS].concat()).as_bytes()).expect("set");
        properties.set(document(HOUR).as_bytes()).expect("set");
        assert_eq!(properties.logging, Logging { delete: true, read: false, write: true, days: Some(7) });
        assert_eq!(properties.hour, Metrics { is_on: true, apis: Some(false), days: None });
        assert_eq!(properties.cors.len(), 1);
        let written = properties.write();
        assert_eq!(Properties::stored(written.as_bytes()), Ok(properties.clone()));
        for part in [LOGGING, HOUR] {
            assert!(written.contains(part), "{written}");
        }
        properties.set(document("<Cors/>").as_bytes()).expect("set");
        assert_eq!(properties.cors, []);
        assert_eq!(Properties::stored(b""), Ok(Properties::default()));
    }

    #[test]
    fn wrong_properties_are_refused() {
        let six = format!("<Cors>{}</Cors>", CORS.replace("<Cors>", "").replace("</Cors>", "").repeat(6));
        for parts in [
            "<Other/>",
            "<Logging/>",
            &LOGGING.replace("1.0", "2.0"),
            &LOGGING.replace("<Days>7", "<Days>0"),
            &LOGGING.replace("<Days>7", "<Days>366"),
            &LOGGING.replace("<Days>7</Days>", ""),
            &LOGGING.replace("<Read>false", "<Read>no"),
            &HOUR.replace("<IncludeAPIs>false</IncludeAPIs>", ""),
            &[HOUR, HOUR].concat(),
            &CORS.replace("GET", "FETCH"),
            &CORS.replace("http://a.example,*", ""),
            &CORS.replace("http://a.example,*", "é"),
            &CORS.replace('5', "-5"),
            &CORS.replace("<ExposedHeaders></ExposedHeaders>", ""),
            &six,
        ] {
            assert!(Properties::default().set(document(parts).as_bytes()).is_err(), "{parts}");
        }
        assert!(Properties::default().set(b"<Properties/>").is_err());
    }
}
