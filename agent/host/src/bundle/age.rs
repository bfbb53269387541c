//! The file format of age, version 1, for recipients with an X25519 key (age-encryption.org/v1): only what it takes to
//! encrypt, of the primitives that TLS brings along anyway.
//!
//! The crate of that name would bring 76 others, among them a second library of the same cryptography.

use aws_lc_rs::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::agreement::{EphemeralPrivateKey, UnparsedPublicKey, X25519, agree_ephemeral};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};
use aws_lc_rs::hmac;
use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

const VERSION: &str = "age-encryption.org/v1";

/// What is encrypted in one piece, in bytes.
const CHUNK: usize = 64 << 10;

/// A public key of X25519.
pub(super) type PublicKey = [u8; 32];

/// Encrypts the bytes so that each of these keys' owners can read them.
///
/// Fails when the system gives no randomness, or a key is one of the few that agree on nothing.
pub(super) fn encrypt(bytes: &[u8], to: &[PublicKey]) -> Result<Vec<u8>, Unspecified> {
    let random = SystemRandom::new();
    let mut file_key = [0; 16];
    random.fill(&mut file_key)?;
    let mut header = format!("{VERSION}\n");
    for recipient in to {
        header.push_str(&stanza(&random, &file_key, recipient)?);
    }
    header.push_str("---");
    let key = hmac::Key::new(hmac::HMAC_SHA256, &derive(&file_key, &[], b"header")?);
    let code = STANDARD_NO_PAD.encode(hmac::sign(&key, header.as_bytes()));
    header.push_str(&format!(" {code}\n"));
    let mut sealed = header.into_bytes();
    let mut nonce = [0; 16];
    random.fill(&mut nonce)?;
    sealed.extend_from_slice(&nonce);
    let key = sealing_key(&derive(&file_key, &nonce, b"payload")?)?;
    seal_chunks(&key, bytes, &mut sealed)?;
    Ok(sealed)
}

/// The key of the file, for one recipient.
fn stanza(
    random: &dyn SecureRandom,
    file_key: &[u8],
    recipient: &PublicKey,
) -> Result<String, Unspecified> {
    let ours = EphemeralPrivateKey::generate(&X25519, random)?;
    let share = ours.compute_public_key()?;
    let mut salt = share.as_ref().to_vec();
    salt.extend_from_slice(recipient);
    let theirs = UnparsedPublicKey::new(&X25519, recipient);
    let info = format!("{VERSION}/X25519");
    let key = agree_ephemeral(ours, theirs, Unspecified, |shared| {
        derive(shared, &salt, info.as_bytes())
    })?;
    let mut body = file_key.to_vec();
    let nonce = Nonce::assume_unique_for_key([0; 12]);
    sealing_key(&key)?.seal_in_place_append_tag(nonce, Aad::empty(), &mut body)?;
    let (share, body) = (STANDARD_NO_PAD.encode(share), STANDARD_NO_PAD.encode(body));
    Ok(format!("-> X25519 {share}\n{body}\n"))
}

fn derive(secret: &[u8], salt: &[u8], info: &[u8]) -> Result<[u8; 32], Unspecified> {
    let mut key = [0; 32];
    let extracted = Salt::new(HKDF_SHA256, salt).extract(secret);
    extracted.expand(&[info], HKDF_SHA256)?.fill(&mut key)?;
    Ok(key)
}

fn sealing_key(key: &[u8]) -> Result<LessSafeKey, Unspecified> {
    UnboundKey::new(&CHACHA20_POLY1305, key).map(LessSafeKey::new)
}

/// Chunk by chunk, each with its number in its nonce, and the last marked as such, so that none can be left out.
fn seal_chunks(key: &LessSafeKey, bytes: &[u8], sealed: &mut Vec<u8>) -> Result<(), Unspecified> {
    // Nothing at all is one empty chunk; a last chunk is never empty else.
    let count = bytes.len().div_ceil(CHUNK).max(1);
    for number in 0..count {
        let start = number * CHUNK;
        let mut chunk = bytes[start..bytes.len().min(start + CHUNK)].to_vec();
        let nonce = nonce_of(number, number + 1 == count);
        key.seal_in_place_append_tag(nonce, Aad::empty(), &mut chunk)?;
        sealed.append(&mut chunk);
    }
    Ok(())
}

/// Eleven bytes of counter and one that says whether it is the last.
fn nonce_of(number: usize, last: bool) -> Nonce {
    let mut nonce = [0; 12];
    nonce[3..11].copy_from_slice(&(number as u64).to_be_bytes());
    nonce[11] = u8::from(last);
    Nonce::assume_unique_for_key(nonce)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use aws_lc_rs::agreement::{PrivateKey, agree};

    /// The private key of a recipient that exists in tests alone.
    pub(in super::super) const SECRET: [u8; 32] = [7; 32];

    pub(in super::super) fn public(secret: &[u8; 32]) -> PublicKey {
        let key = PrivateKey::from_private_key(&X25519, secret).unwrap();
        key.compute_public_key()
            .unwrap()
            .as_ref()
            .try_into()
            .unwrap()
    }

    /// Reads a file as its format is specified, with the key of one recipient.
    pub(in super::super) fn decrypt(sealed: &[u8], secret: &[u8; 32]) -> Option<Vec<u8>> {
        let end = sealed.windows(5).position(|five| five == b"\n--- ")? + 5;
        let end = end + sealed[end..].iter().position(|b| *b == b'\n')? + 1;
        let header = std::str::from_utf8(&sealed[..end]).ok()?;
        let (signed, code) = header.trim_end().rsplit_once(' ')?;
        let lines: Vec<&str> = signed.lines().collect();
        assert_eq!(
            (lines.first(), lines.last()),
            (Some(&VERSION), Some(&"---"))
        );
        let stanzas = lines[1..lines.len() - 1].chunks(2);
        let file_key = stanzas
            .into_iter()
            .find_map(|stanza| unwrap(stanza[0], stanza[1], secret))?;
        let key = hmac::Key::new(
            hmac::HMAC_SHA256,
            &derive(&file_key, &[], b"header").unwrap(),
        );
        let code = STANDARD_NO_PAD.decode(code).ok()?;
        hmac::verify(&key, signed.as_bytes(), &code).ok()?;
        let (nonce, payload) = sealed[end..].split_at_checked(16)?;
        let key = sealing_key(&derive(&file_key, nonce, b"payload").unwrap()).unwrap();
        let chunks: Vec<&[u8]> = payload.chunks(CHUNK + 16).collect();
        let mut bytes = Vec::new();
        for (number, chunk) in chunks.iter().enumerate() {
            let mut chunk = chunk.to_vec();
            let nonce = nonce_of(number, number + 1 == chunks.len());
            bytes.extend_from_slice(key.open_in_place(nonce, Aad::empty(), &mut chunk).ok()?);
        }
        Some(bytes)
    }

    fn unwrap(line: &str, body: &str, secret: &[u8; 32]) -> Option<Vec<u8>> {
        let share = STANDARD_NO_PAD
            .decode(line.strip_prefix("-> X25519 ")?)
            .ok()?;
        let ours = PrivateKey::from_private_key(&X25519, secret).ok()?;
        let salt = [share.as_slice(), &public(secret)].concat();
        let theirs = UnparsedPublicKey::new(&X25519, &share);
        let info = b"age-encryption.org/v1/X25519";
        let key = agree(&ours, theirs, Unspecified, |shared| {
            derive(shared, &salt, info)
        })
        .ok()?;
        let mut body = STANDARD_NO_PAD.decode(body).ok()?;
        let nonce = Nonce::assume_unique_for_key([0; 12]);
        let opened = sealing_key(&key)
            .ok()?
            .open_in_place(nonce, Aad::empty(), &mut body)
            .ok()?
            .to_vec();
        Some(opened)
    }

    #[test]
    fn what_age_itself_encrypted_is_read_by_the_reader_of_these_tests() {
        let sealed = STANDARD_NO_PAD.decode(OF_AGE).unwrap();
        assert_eq!(decrypt(&sealed, &SECRET).unwrap(), b"hello");
    }

    #[test]
    fn every_length_comes_back_and_is_for_its_recipients_alone() {
        let other = [9; 32];
        for length in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 200_000] {
            let bytes: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            let sealed = encrypt(&bytes, &[public(&SECRET), public(&other)]).unwrap();
            assert_eq!(decrypt(&sealed, &SECRET).as_ref(), Some(&bytes), "{length}");
            assert_eq!(decrypt(&sealed, &other).as_ref(), Some(&bytes), "{length}");
            assert_eq!(decrypt(&sealed, &[8; 32]), None);
        }
    }

    #[test]
    fn a_file_that_was_changed_or_cut_is_not_read() {
        let sealed = encrypt(&[1; 100_000], &[public(&SECRET)]).unwrap();
        for at in [30, 80, 150, 200, sealed.len() - 1] {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            let read = std::panic::catch_unwind(|| decrypt(&changed, &SECRET));
            assert!(!matches!(read, Ok(Some(_))), "{at}");
        }
        assert_eq!(decrypt(&sealed[..sealed.len() - 40_000], &SECRET), None);
    }

    /// `hello`, as age 0.12.1 encrypted it to the public key of [`SECRET`].
    const OF_AGE: &str = "YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IFgyNTUxOSBka0tPREQwMzBYNjd4QVNhNlRmMnJwN3d3OHNVOURic2FDS3dKWVBMaGlRCkhvS2kvTWFDTERHUnJOdk1ZbVFyQkY4aDVqc3d2b05Saml2aVZtZTNLTUEKLT4gOD5HLWdyZWFzZSA6UjhiWid4ClFXOAotLS0gT1N2TitJQXFCdDlxVXAwRU1OMWd0SFhMQXlUemxHZUJHS1IyVU1pc1ltRQo8lMggRQtO+cFQm8hgftusBSRx9yhRHMUNXK/4x1G4+3Us85Yw";
}
