//! Decides what an answer of AWS means. Pure: codes, statuses and instants in, a condition out.
//!
//! Codes are those of the EC2, Auto Scaling, Route 53 and S3 API references' lists of errors (read 2026-11).

use quake_model::ports::Condition;
use quake_model::time::Timestamp;

/// How far off the clock may be before it is blamed for a refused signature: one minute below the five
/// minutes that EC2 allows.
const SUSPICIOUS_SKEW_MILLIS: u64 = 240_000;

/// What an answer says of its failure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The error's code, such as `VolumeInUse`.
    pub(super) code: String,
    pub(super) message: String,
    pub(super) status: u16,
    /// When the server answered, by its own clock.
    pub(super) answered: Option<Timestamp>,
    /// When it arrived, by ours.
    pub(super) received: Timestamp,
}

impl Refusal {
    /// What the answer means.
    pub(super) fn condition(&self) -> Condition {
        self.by_code().unwrap_or_else(|| self.by_status())
    }

    /// Whether the credentials were good and are not any more.
    pub(super) fn is_of_expired_credentials(&self) -> bool {
        matches!(
            self.code.as_str(),
            "ExpiredToken" | "ExpiredTokenException" | "TokenRefreshRequired"
        )
    }

    /// Whether an encryption key of KMS cannot be used. That KMS itself is slow or broken is another matter.
    pub(super) fn is_of_key(&self) -> bool {
        // EC2's references spell it InvalidKmsKey and InvalidKMSKey; S3 passes on codes of KMS, `KMS.…`.
        let code = self.code.to_ascii_lowercase();
        let passes = self.status >= 500 || code.contains("throttl");
        code.starts_with("kms") && !passes
            || code.starts_with("invalidkmskey")
            || code == "customerkeyhasbeenrevoked"
    }

    /// Whether the two clocks disagree by more than a request would survive.
    pub(super) fn is_skewed(&self) -> bool {
        self.answered
            .is_some_and(|answered| answered.0.abs_diff(self.received.0) > SUSPICIOUS_SKEW_MILLIS)
    }

    fn by_code(&self) -> Option<Condition> {
        let condition = match self.code.as_str() {
            "RequestTimeTooSkewed" | "RequestExpired" | "RequestInTheFuture" => {
                Condition::ClockSkew
            }
            "SignatureDoesNotMatch" | "AuthFailure" | "InvalidSignatureException"
                if self.is_skewed() =>
            {
                Condition::ClockSkew
            }
            _ if self.is_of_expired_credentials() => Condition::Unreachable,
            "UnauthorizedOperation"
            | "AccessDenied"
            | "AccessDeniedException"
            | "AuthFailure"
            | "SignatureDoesNotMatch"
            | "InvalidAccessKeyId"
            | "InvalidClientTokenId"
            | "InvalidToken"
            | "UnrecognizedClientException"
            | "OptInRequired"
            | "Blocked"
            | "InvalidObjectState" => Condition::Denied,
            _ if self.is_of_key() => Condition::Denied,
            "AttachmentLimitExceeded" | "VolumeLimitExceeded" | "TagLimitExceeded" => {
                Condition::Limit
            }
            "RequestLimitExceeded"
            | "Throttling"
            | "ThrottlingException"
            | "ThrottledException"
            | "RequestThrottled"
            | "TooManyRequestsException"
            | "BandwidthLimitExceeded"
            | "SlowDown"
            | "EC2ThrottledException"
            | "KMS.ThrottlingException" => Condition::Throttled,
            "NoSuchBucket" => Condition::Unknown,
            "NoSuchKey" | "NoSuchVersion" => Condition::Missing,
            // Route 53's word for a batch that does not fit the records is the second.
            "VolumeInUse" | "InvalidChangeBatch" => Condition::Conflict,
            // Auto Scaling's word for whatever a request names and it does not have, such as `No active Lifecycle Action
            // found with instance ID`. The requests of this agent are well-formed.
            "ValidationError" => Condition::Missing,
            // Of Auto Scaling, and of a zone that is busy with an earlier batch.
            "ResourceContention" | "PriorRequestNotComplete" => Condition::Throttled,
            "InvalidDevice.InUse" => Condition::Occupied,
            "InvalidParameterValue" if self.message.contains("already in use") => {
                Condition::Occupied
            }
            // An instance that asks on its own behalf exists; EC2 only does not show it everywhere yet.
            "IncorrectState" | "IncorrectInstanceState" | "InvalidInstanceID.NotFound" => {
                Condition::NotReady
            }
            "InvalidVolume.ZoneMismatch" => Condition::Impossible,
            code if code.ends_with(".NotFound") => Condition::Missing,
            "InternalError" | "InternalFailure" | "Unavailable" | "ServiceUnavailable" => {
                Condition::Unreachable
            }
            _ => return None,
        };
        // S3 says ServiceUnavailable with 503 when it means that it is asked too much.
        match (condition, self.status) {
            (Condition::Unreachable, 503) => Some(Condition::Throttled),
            (condition, _) => Some(condition),
        }
    }

    fn by_status(&self) -> Condition {
        match self.status {
            401 | 403 => Condition::Denied,
            404 => Condition::Missing,
            409 => Condition::Conflict,
            429 | 503 => Condition::Throttled,
            // Of a proxy that asks who we are, and of one that gave up waiting: AWS itself did not answer.
            407 | 408 => Condition::Unreachable,
            400..=499 => Condition::Malformed,
            _ => Condition::Unreachable,
        }
    }
}

/// The action and the resource that a refusal names itself, which is more exact than what was asked:
/// `User: … is not authorized to perform: kms:Decrypt on resource: arn:… because …`.
pub(super) fn named_permission(message: &str) -> Option<(&str, &str)> {
    let (_, rest) = message.split_once("not authorized to perform: ")?;
    let (action, rest) = rest.split_once(" on resource: ")?;
    let resource = rest.split_whitespace().next()?;
    let resource = resource.trim_matches(|c| matches!(c, '"' | '.' | ','));
    let plain = action.split_once(':').is_some() && !action.contains(char::is_whitespace);
    plain.then_some((action, resource))
}

/// A refusal's text and the encoded reason that EC2 appends to it.
///
/// The text ends where it begins to quote the request: what a refused signature should have been computed
/// of, which holds the session token.
pub(super) fn split_encoded(message: &str) -> (&str, Option<&str>) {
    let (text, encoded) = match message.split_once("Encoded authorization failure message:") {
        Some((text, encoded)) => (text, Some(encoded.trim())),
        None => (message, None),
    };
    let text = text.split("The Canonical String").next().unwrap_or(text);
    (text.lines().next().unwrap_or_default().trim_end(), encoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(code: &str, status: u16) -> Condition {
        let refusal = Refusal {
            code: code.to_owned(),
            status,
            ..Refusal::default()
        };
        refusal.condition()
    }

    #[test]
    fn each_code_has_its_condition() {
        for (code, status, expected) in [
            ("UnauthorizedOperation", 403, Condition::Denied),
            ("AccessDenied", 403, Condition::Denied),
            ("AuthFailure", 401, Condition::Denied),
            ("RequestLimitExceeded", 503, Condition::Throttled),
            ("Throttling", 400, Condition::Throttled),
            ("SlowDown", 503, Condition::Throttled),
            ("ServiceUnavailable", 503, Condition::Throttled),
            ("InternalError", 500, Condition::Unreachable),
            ("RequestTimeTooSkewed", 403, Condition::ClockSkew),
            ("RequestExpired", 400, Condition::ClockSkew),
            ("ExpiredToken", 400, Condition::Unreachable),
            ("InvalidVolume.NotFound", 400, Condition::Missing),
            ("InvalidInstanceID.NotFound", 400, Condition::NotReady),
            ("VolumeInUse", 400, Condition::Conflict),
            ("IncorrectState", 400, Condition::NotReady),
            ("IncorrectInstanceState", 400, Condition::NotReady),
            ("InvalidVolume.ZoneMismatch", 400, Condition::Impossible),
            ("InvalidDevice.InUse", 400, Condition::Occupied),
            ("AttachmentLimitExceeded", 400, Condition::Limit),
            ("InvalidKmsKey.NotFound", 400, Condition::Denied),
            ("InvalidKMSKey.InvalidState", 400, Condition::Denied),
            ("CustomerKeyHasBeenRevoked", 400, Condition::Denied),
            ("KMS.DisabledException", 400, Condition::Denied),
            ("KMS.ThrottlingException", 400, Condition::Throttled),
            ("KMSInternalException", 500, Condition::Unreachable),
            ("NoSuchBucket", 404, Condition::Unknown),
            ("NoSuchKey", 404, Condition::Missing),
        ] {
            assert_eq!(condition(code, status), expected, "{code}");
        }
    }

    #[test]
    fn an_unknown_code_is_judged_by_its_status() {
        for (status, expected) in [
            (400, Condition::Malformed),
            (403, Condition::Denied),
            (404, Condition::Missing),
            (407, Condition::Unreachable),
            (429, Condition::Throttled),
            (500, Condition::Unreachable),
            (503, Condition::Throttled),
        ] {
            assert_eq!(condition("", status), expected, "{status}");
            assert_eq!(condition("SomethingNew", status), expected, "{status}");
        }
    }

    #[test]
    fn a_device_name_in_use_is_occupied_and_another_bad_parameter_is_not() {
        let refusal = |message: &str| Refusal {
            code: "InvalidParameterValue".to_owned(),
            message: message.to_owned(),
            status: 400,
            ..Refusal::default()
        };
        let taken = refusal(
            "Invalid value '/dev/xvdba' for unixDevice. Attachment point /dev/xvdba is already in use",
        );
        assert_eq!(taken.condition(), Condition::Occupied);
        let wrong = refusal("Value (banana) for parameter device is invalid");
        assert_eq!(wrong.condition(), Condition::Malformed);
    }

    #[test]
    fn a_refused_signature_is_the_clocks_fault_only_when_the_clock_is_off() {
        let at = |answered: u64| Refusal {
            code: "AuthFailure".to_owned(),
            status: 401,
            answered: Some(Timestamp(answered)),
            received: Timestamp(1_000_000_000),
            ..Refusal::default()
        };
        assert_eq!(at(1_000_000_000).condition(), Condition::Denied);
        assert_eq!(at(1_000_240_000).condition(), Condition::Denied);
        assert_eq!(at(1_000_240_001).condition(), Condition::ClockSkew);
        assert_eq!(at(999_759_999).condition(), Condition::ClockSkew);
    }

    #[test]
    fn the_permission_a_refusal_names_is_read_from_its_text() {
        let text = "User: arn:aws:sts::1:assumed-role/nodes/i-1 is not authorized to perform: kms:Decrypt on resource: arn:aws:kms:us-west-2:1:key/abc because no identity-based policy allows";
        let named = Some(("kms:Decrypt", "arn:aws:kms:us-west-2:1:key/abc"));
        assert_eq!(named_permission(text), named);
        assert_eq!(named_permission("Access Denied"), None);
    }

    #[test]
    fn the_encoded_reason_is_told_apart_from_the_text() {
        let text = "You are not authorized to perform this operation. Encoded authorization failure message: abc-DEF";
        let (reported, encoded) = split_encoded(text);
        assert_eq!(
            reported,
            "You are not authorized to perform this operation."
        );
        assert_eq!(encoded, Some("abc-DEF"));
    }
}
