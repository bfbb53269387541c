//! Route 53 as a test arranges it at moto, and as it behaves before it: moto takes batches that do not fit the records.

use crate::http::{Reply, Request};
use crate::moto::Moto;
use crate::proxy::forward;
use crate::xml::Element;
use std::io;
use std::net::SocketAddr;

const XMLNS: &str = "xmlns=\"https://route53.amazonaws.com/doc/2013-04-01/\"";

/// What paths of Route 53's API begin with.
pub const API: &str = "/2013-04-01/";

impl Moto {
    /// Makes a public hosted zone; its id.
    ///
    /// # Errors
    ///
    /// As [`Moto::put_object`].
    pub fn create_zone(&self, name: &str) -> io::Result<String> {
        let body = format!(
            "<CreateHostedZoneRequest {XMLNS}><Name>{name}</Name><CallerReference>{name}</CallerReference></CreateHostedZoneRequest>"
        );
        let answer = self.ask_route53("POST", "hostedzone", &body)?;
        let id = answer
            .child("HostedZone")
            .map(|zone| zone.text_of("Id").to_owned());
        let id = id.unwrap_or_default();
        Ok(id.trim_start_matches("/hostedzone/").to_owned())
    }

    /// Lets a name lead to these addresses, whatever is there.
    ///
    /// # Errors
    ///
    /// As [`Moto::put_object`].
    pub fn put_addresses(&self, zone: &str, name: &str, addresses: &[&str]) -> io::Result<()> {
        let value =
            |address: &&str| format!("<ResourceRecord><Value>{address}</Value></ResourceRecord>");
        // moto takes the removal of a record only with its values in the order in which they were given.
        let mut sorted = addresses.to_vec();
        sorted.sort_unstable();
        let values: String = sorted.iter().map(value).collect();
        let body = format!(
            "<ChangeResourceRecordSetsRequest {XMLNS}><ChangeBatch><Changes><Change><Action>UPSERT</Action><ResourceRecordSet><Name>{name}.</Name><Type>A</Type><TTL>60</TTL><ResourceRecords>{values}</ResourceRecords></ResourceRecordSet></Change></Changes></ChangeBatch></ChangeResourceRecordSetsRequest>"
        );
        let path = format!("hostedzone/{zone}/rrset/");
        self.ask_route53("POST", &path, &body).map(drop)
    }

    /// Where a name leads, sorted.
    ///
    /// # Errors
    ///
    /// As [`Moto::put_object`].
    pub fn addresses(&self, zone: &str, name: &str) -> io::Result<Vec<String>> {
        let answer = self.ask_route53("GET", &format!("hostedzone/{zone}/rrset"), "")?;
        let mut found: Vec<String> = answer
            .set("ResourceRecordSets")
            .iter()
            .filter(|set| is_of(set, name))
            .flat_map(values_of)
            .collect();
        found.sort();
        Ok(found)
    }

    fn ask_route53(&self, method: &str, path: &str, body: &str) -> io::Result<Element> {
        let text = self.call_rest("route53", method, &format!("{API}{path}"), body)?;
        Element::parse(&text).ok_or_else(|| io::Error::other(text))
    }
}

fn is_of(set: &Element, name: &str) -> bool {
    set.text_of("Type") == "A" && set.text_of("Name").trim_end_matches('.') == name
}

fn values_of(set: &Element) -> Vec<String> {
    let records = set.set("ResourceRecords").iter();
    records
        .map(|record| record.text_of("Value").to_owned())
        .collect()
}

/// Route 53's answer to a batch that removes what is not there as given, or makes what is there; `None` for all other requests
/// ("Tried to …" are its own words).
pub(crate) fn misfit(moto: SocketAddr, request: &Request) -> Option<Reply> {
    let path = request.path();
    if request.method != "POST" || !path.contains("/rrset") {
        return None;
    }
    let batch = Element::parse(&String::from_utf8_lossy(&request.body))?;
    let changes = batch.child("ChangeBatch")?.set("Changes");
    let look = Request {
        method: "GET".to_owned(),
        target: path.trim_end_matches('/').to_owned(),
        headers: request.headers.clone(),
        body: Vec::new(),
    };
    let reply = forward(moto, &look);
    let found = Element::parse(&String::from_utf8_lossy(&reply.body))?;
    let mut there: Vec<Element> = found.set("ResourceRecordSets").to_vec();
    for change in changes {
        let set = change.child("ResourceRecordSet")?;
        let name = set.text_of("Name").trim_end_matches('.').to_owned();
        let at = there.iter().position(|set| is_of(set, &name));
        match (change.text_of("Action"), at) {
            ("CREATE", Some(_)) => {
                return Some(refusal(
                    400,
                    "InvalidChangeBatch",
                    &format!(
                        "Tried to create resource record set [name='{name}.', type='A'] but it already exists"
                    ),
                ));
            }
            ("DELETE", Some(at)) if is_same(&there[at], set) => {
                there.remove(at);
            }
            ("DELETE", _) => {
                return Some(refusal(
                    400,
                    "InvalidChangeBatch",
                    &format!(
                        "Tried to delete resource record set [name='{name}.', type='A'] but the values provided do not match the current values"
                    ),
                ));
            }
            _ => {}
        }
    }
    None
}

fn is_same(one: &Element, other: &Element) -> bool {
    let sorted = |set: &Element| {
        let mut values = values_of(set);
        values.sort();
        (set.text_of("TTL").to_owned(), values)
    };
    sorted(one) == sorted(other)
}

/// An error in Route 53's words.
pub(crate) fn refusal(status: u16, code: &str, message: &str) -> Reply {
    let body = format!(
        "<?xml version=\"1.0\"?>\n<ErrorResponse {XMLNS}><Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error><RequestId>r-1</RequestId></ErrorResponse>"
    );
    Reply::new(status, body).with("content-type", "text/xml")
}
