//! Which names tell of a secret, and how surely.

use super::label::{Form, Sign};
use super::phrase_names::{CODES, PHRASES};
use super::secret_names::{
    DIRECTIVES, DOUBTFUL_ENDS, DOUBTFUL_WORDS, OF_DIGESTS, OF_KEYS, OF_THINGS, PUBLIC,
    SECRET_EARLY, SECRET_ENDS, SECRET_WORDS, SUFFIXES,
};

/// What is a password and nothing else.
const PASSWORDS: &[&str] = &["password", "passwd", "passphrase", "pass", "pwd"];

/// How words end that name a password, so that a word with digits behind them is one.
const PASSWORD_ENDS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "pass",
    "pwd",
    "bindpw",
    "rootpw",
    "userpw",
    "authtok",
    "masterauth",
    "psk",
];

/// No name has more words that matter.
const MOST_WORDS: usize = 6;

/// How a value is read beside this name; nothing if the name tells of no secret.
pub(super) fn form_of(name: &[u8], sign: Sign) -> Option<Form> {
    let (words, count) = last_words(name);
    let words = &words[..count];
    let ends = |known: &[&str]| known.iter().any(|end| ends_with(name, end.as_bytes()));
    if ends(PUBLIC) {
        return None;
    }
    let sure = match is_odd_beside(name, words, sign) {
        true => Form::Odd,
        false => form_of_sure(words.first()?, sign),
    };
    if ends(SECRET_ENDS) {
        return Some(sure);
    }
    if is_doubtful(name) {
        return Some(Form::OpaqueOrHex);
    }
    let skipped = words.iter().take_while(|word| is_suffix(word)).count();
    let word = words.get(skipped)?;
    if is_one_of(word, SECRET_WORDS) {
        return Some(sure);
    }
    let joined = SECRET_ENDS
        .iter()
        .any(|end| ends_with(word, end.as_bytes()));
    let two = words.get(skipped + 1).is_some_and(|before| {
        SECRET_ENDS
            .iter()
            .any(|end| is_joined(before, word, end.as_bytes()))
    });
    if skipped > 0 && (joined || two) {
        return Some(match sure {
            Form::Doubtful => Form::Secretive,
            other => other,
        });
    }
    if is_one_of(word, &["pin", "puk", "otp", "totp", "passcode", "passkey"])
        && !matches!(sign, Sign::Verb | Sign::Word)
    {
        return Some(Form::Code);
    }
    if is_one_of(word, &["community"]) {
        return Some(Form::Odd);
    }
    if !is_one_of(word, DOUBTFUL_WORDS) || matches!(sign, Sign::Verb) {
        // `apikey_of_that`, `password_super_secure`
        let early = words
            .iter()
            .skip(1)
            .any(|word| is_one_of(word, SECRET_EARLY));
        return (early && !is_one_of(word, OF_THINGS)).then_some(Form::OpaqueOrHex);
    }
    match is_of_passwords(name, word, words.len() > skipped + 1, sign) {
        true => Some(Form::Odd),
        false => form_of_doubtful(word, words.get(skipped + 1)),
    }
}

/// Whether what stands beside a name that ends so may be a password, too.
fn is_of_passwords(name: &[u8], word: &[u8], has_more: bool, sign: Sign) -> bool {
    match sign {
        Sign::Colon => is_one_of(word, &["passwords", "passphrases"]),
        // `credentials=value`, as in `slapd.conf`, and `REDISCLI_AUTH=value`: a variable, in which a key is often a name.
        Sign::Equals => {
            let is_variable = has_more && !name.iter().any(u8::is_ascii_lowercase);
            is_one_of(word, &["credentials"]) || is_variable && is_one_of(word, VARIABLES)
        }
        _ => false,
    }
}

/// Last words of variables whose values are passwords, too.
const VARIABLES: &[&str] = &[
    "auth",
    "salt",
    "pepper",
    "cred",
    "creds",
    "credential",
    "credentials",
];

/// Whether a whole name tells, if the value looks like a secret: `HA1` is a hash of a password (RFC 7616), and `sha1` is none.
fn is_doubtful(name: &[u8]) -> bool {
    let mut ends = DOUBTFUL_ENDS.iter();
    name.eq_ignore_ascii_case(b"ha1") || ends.any(|end| ends_with(name, end.as_bytes()))
}

/// `db_pass is value`, where a pass alone is one of many, and `shared-secret "value"`.
fn is_odd_beside(name: &[u8], words: &[&[u8]], sign: Sign) -> bool {
    match (sign, words) {
        (Sign::Verb, [word, _, ..]) => is_one_of(word, PASSWORDS),
        (Sign::Quote, [word, _, ..]) if is_one_of(word, &["pass", "pwd", "pw"]) => true,
        (Sign::Quote, _) => ends_with(name, b"sharedsecret"),
        _ => false,
    }
}

/// How a value is read beside a name whose last word is doubtful, as in `routingKey`; `before` is the word before it.
fn form_of_doubtful(word: &[u8], before: Option<&&[u8]>) -> Option<Form> {
    let of_key = word.len() <= 4
        && word
            .get(..3)
            .is_some_and(|start| start.eq_ignore_ascii_case(b"key"));
    match before {
        Some(before) if of_key && is_one_of(before, OF_KEYS) => None,
        Some(_) => Some(Form::OpaqueOrHex),
        None if is_one_of(word, OF_DIGESTS) => Some(Form::Opaque),
        None => Some(Form::OpaqueOrHex),
    }
}

/// How a value is read beside a name of several words, of which the last alone tells too little.
pub(super) fn form_of_phrase(name: &[u8]) -> Option<Form> {
    let number = name.iter().rev().take_while(|b| b.is_ascii_digit());
    let name = name[..name.len() - number.count()].trim_ascii_end();
    if CODES.iter().any(|end| ends_with(name, end.as_bytes())) {
        return Some(Form::Typed);
    }
    PHRASES
        .iter()
        .any(|end| ends_with(name, end.as_bytes()))
        .then_some(Form::OpaqueOrHex)
}

/// How a value is read beside a name that surely tells.
fn form_of_sure(word: &[u8], sign: Sign) -> Form {
    // With `--token value` it is the flag that tells; with `token "value"` it may be the name of a thing.
    match sign {
        // `pass: 12 fail: 3`
        Sign::Colon if is_one_of(word, &["pass"]) => Form::Secretive,
        Sign::Quote if is_one_of(word, &["psk"]) => Form::Doubtful,
        Sign::Quote | Sign::Verb if !is_one_of(word, &["password", "passwd", "passphrase"]) => {
            Form::Opaque
        }
        Sign::Verb => Form::Odd,
        Sign::Directive if is_one_of(word, DIRECTIVES) => Form::Doubtful,
        Sign::Directive => Form::Odd,
        Sign::Word
            if PASSWORD_ENDS
                .iter()
                .any(|end| ends_with(word, end.as_bytes())) =>
        {
            Form::Odd
        }
        Sign::Word => Form::OpaqueOrHex,
        _ => Form::Doubtful,
    }
}

/// Whether a name tells of a secret, so that what is paired with it is one.
pub(super) fn tells(name: &[u8]) -> Option<Form> {
    const OTHERS: [&str; 3] = ["clientkeydata", "dockerconfigjson", "dockercfg"];
    let of_others = OTHERS.iter().any(|end| ends_with(name, end.as_bytes()));
    match of_others {
        true => Some(Form::Doubtful),
        false => form_of(name, Sign::Equals),
    }
}

fn is_one_of(word: &[u8], known: &[&str]) -> bool {
    known
        .iter()
        .any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
}

fn is_suffix(word: &[u8]) -> bool {
    word.iter().all(u8::is_ascii_digit) || is_one_of(word, SUFFIXES)
}

fn is_joined(first: &[u8], second: &[u8], whole: &[u8]) -> bool {
    let Some(at) = whole.len().checked_sub(second.len()) else {
        return false;
    };
    whole[at..].eq_ignore_ascii_case(second)
        && !whole[..at].is_empty()
        && ends_with(first, &whole[..at])
}

/// The last words, the last one first: parted by signs, by capitals, and by digits behind letters.
fn last_words(name: &[u8]) -> ([&[u8]; MOST_WORDS], usize) {
    let mut words: [&[u8]; MOST_WORDS] = [&[]; MOST_WORDS];
    let (mut count, mut end) = (0, name.len());
    while count < MOST_WORDS {
        let trailing = name[..end]
            .iter()
            .rev()
            .take_while(|b| !b.is_ascii_alphanumeric());
        end -= trailing.count();
        if end == 0 {
            break;
        }
        let mut start = end - 1;
        let digits = name[start].is_ascii_digit();
        while start > 0 && continues(name[start - 1], name[start], digits) {
            start -= 1;
        }
        // `v1` and `base64` are words with their digits.
        let letters = name[..start]
            .iter()
            .rev()
            .take_while(|b| b.is_ascii_alphabetic());
        let with_letters = start - letters.count();
        if digits && is_suffix(&name[with_letters..end]) {
            start = with_letters;
        }
        words[count] = &name[start..end];
        count += 1;
        end = start;
    }
    (words, count)
}

fn continues(before: u8, byte: u8, digits: bool) -> bool {
    if digits {
        return before.is_ascii_digit();
    }
    let camel = before.is_ascii_lowercase() && byte.is_ascii_uppercase();
    let capital_begins = before.is_ascii_uppercase() && byte.is_ascii_lowercase();
    before.is_ascii_alphabetic() && !camel && (!capital_begins || before.is_ascii_uppercase())
}

/// Whether the words end so, whatever signs are between.
pub(super) fn ends_with(words: &[u8], end: &[u8]) -> bool {
    start_of_end(words, end).is_some()
}

/// How much of the words comes before `end`, if they end so.
pub(super) fn start_of_end(words: &[u8], end: &[u8]) -> Option<usize> {
    let mut at = words.len();
    for expected in end.iter().rev() {
        loop {
            at = at.checked_sub(1)?;
            if words[at].is_ascii_alphanumeric() {
                break;
            }
        }
        if !words[at].eq_ignore_ascii_case(expected) {
            return None;
        }
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_in_every_case_and_with_every_suffix() {
        for name in [
            "DB_PASSWORD",
            "db.password",
            "dbPass",
            "rootPw",
            "API_KEY_BASE64",
            "tokenValue",
            "client_secret_json",
            "PASSWORD_2",
            "mysql-root-password-old",
            "smtp_pass",
            "wifi-psk",
            "SENTRY_DSN",
            "azureConnectionString",
            "secretData",
        ] {
            let form = form_of(name.as_bytes(), Sign::Equals);
            assert!(
                matches!(form, Some(Form::Doubtful | Form::Secretive)),
                "{name}: {form:?}"
            );
        }
        for name in [
            "key",
            "AES_KEY",
            "sessionCookie",
            "GITHUB_PAT",
            "auth",
            "creds",
        ] {
            let form = form_of(name.as_bytes(), Sign::Equals);
            assert!(
                matches!(form, Some(Form::Opaque | Form::OpaqueOrHex)),
                "{name}: {form:?}"
            );
        }
    }

    #[test]
    fn names_of_files_kinds_and_labels_do_not() {
        for name in [
            "tokenFile",
            "secretName",
            "sshKeyName",
            "kmsKeyId",
            "topologyKey",
            "publicKey",
            "authorization-mode",
            "token-ttl",
            "bypass",
            "compass",
            "clusterToken",
            "keyFile",
            "password-file",
            "tokenExpirationSeconds",
            "monkey",
            "kms-key",
        ] {
            assert_eq!(form_of(name.as_bytes(), Sign::Equals), None, "{name}");
        }
    }
}
