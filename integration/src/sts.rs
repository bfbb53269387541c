//! AWS' security token service, as much of it as kops asks: who signed this request (AWS STS API
//! reference, `GetCallerIdentity`).

use crate::ec2::pairs;
use crate::http::{Reply, Request};
use crate::imds::{ACCESS_KEY_ID, SECRET_ACCESS_KEY};

use crate::sigv4::{self, Signed, Signer};
use crate::xml::Element;
use std::collections::BTreeMap;

/// The account of every caller.
pub const ACCOUNT: &str = "123456789012";

/// Answers a request at this time, in seconds since 1970. `callers` has the ARN of each session token.
pub fn answer(
    request: &Request,
    region: &str,
    callers: &BTreeMap<String, String>,
    now: u64,
) -> Reply {
    match caller(request, region, callers, now) {
        Ok(arn) => identity(arn),
        Err(why) => {
            let error = Element::of_children(
                "Error",
                vec![
                    Element::of_text("Code", "SignatureDoesNotMatch"),
                    Element::of_text("Message", &why),
                ],
            );
            Reply::new(
                403,
                Element::of_children("ErrorResponse", vec![error]).write(),
            )
        }
    }
}

fn identity(arn: &str) -> Reply {
    let result = Element::of_children(
        "GetCallerIdentityResult",
        vec![
            Element::of_text("Arn", arn),
            Element::of_text("UserId", "AROAEXAMPLE:session"),
            Element::of_text("Account", ACCOUNT),
        ],
    );
    let document = Element::of_children("GetCallerIdentityResponse", vec![result]);
    Reply::new(200, document.write()).with("content-type", "text/xml")
}

fn caller<'a>(
    request: &Request,
    region: &str,
    callers: &'a BTreeMap<String, String>,
    now: u64,
) -> Result<&'a str, String> {
    let query = request
        .target
        .split_once('?')
        .map_or("", |(_, query)| query);
    let query = pairs(query);
    let of_query = |name: &str| query.iter().find(|(known, _)| known == name);
    let token = match request.header("x-amz-security-token") {
        Some(token) => token,
        None => of_query("X-Amz-Security-Token").map_or("", |(_, token)| token),
    };
    let arn = callers.get(token).ok_or("nobody has this session")?;
    let signer = Signer {
        key_id: ACCESS_KEY_ID.to_owned(),
        secret: SECRET_ACCESS_KEY.to_owned(),
        session: Some(token.to_owned()),
        region: region.to_owned(),
        service: "sts".to_owned(),
    };
    let headers = request.headers.iter().cloned();
    let signed = Signed {
        method: &request.method,
        headers: headers.collect(),
        body: &request.body,
    };
    if of_query("X-Amz-Signature").is_some() {
        sigv4::check_presigned(&signer, &signed, &query, now)?;
    } else {
        sigv4::check(&signer, &signed, now)?;
    }
    Ok(arn)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: u64 = 1_716_038_342;
    const DATE: &str = "20240518T131902Z";

    /// A request that this session signed for STS of this region.
    fn request(session: &str, region: &str) -> Request {
        let body = b"Action=GetCallerIdentity&Version=2011-06-15".to_vec();
        let signer = Signer {
            key_id: ACCESS_KEY_ID.to_owned(),
            secret: SECRET_ACCESS_KEY.to_owned(),
            session: Some(session.to_owned()),
            region: region.to_owned(),
            service: "sts".to_owned(),
        };
        let mut headers = vec![
            ("host".to_owned(), format!("sts.{region}.amazonaws.com")),
            ("x-amz-date".to_owned(), DATE.to_owned()),
            ("x-amz-security-token".to_owned(), session.to_owned()),
        ];
        let signed = Signed {
            method: "POST",
            headers: headers.iter().cloned().collect(),
            body: &body,
        };
        let scope = format!("20240518/{region}/sts/aws4_request");
        let names = "host;x-amz-date;x-amz-security-token";
        let signature = signer.signature(&signed, "", names, (DATE, &scope));
        let signature = signature.expect("every header is there");
        headers.push((
            "authorization".to_owned(),
            format!(
                "AWS4-HMAC-SHA256 Credential={ACCESS_KEY_ID}/{scope}, SignedHeaders={names}, Signature={signature}"
            ),
        ));
        Request {
            method: "POST".to_owned(),
            target: "/".to_owned(),
            headers,
            body,
        }
    }

    #[test]
    fn the_role_of_a_session_is_told_to_who_signed_with_it_and_to_nobody_else() {
        let callers = ["a", "b"].map(|name| (name.to_owned(), format!("arn:of:{name}")));
        let callers = BTreeMap::from(callers);
        let answered = |request: &Request| {
            let reply = answer(request, "us-east-1", &callers, AT);
            (
                reply.status,
                String::from_utf8_lossy(&reply.body).into_owned(),
            )
        };
        let (status, body) = answered(&request("b", "us-east-1"));
        assert_eq!(status, 200, "{body}");
        assert!(body.contains("<Arn>arn:of:b</Arn>"), "{body}");
        assert_eq!(
            answered(&request("c", "us-east-1")).0,
            403,
            "no such session"
        );
        assert_eq!(
            answered(&request("a", "eu-west-1")).0,
            403,
            "another region"
        );
        let mut stolen = request("a", "us-east-1");
        stolen.body.push(b' ');
        assert_eq!(answered(&stolen).0, 403, "another body");
    }
}
