//! Passwords behind their names in other languages, which have letters that names in code have not.

use super::harmless::is_plain;
use super::marks::Marks;
use super::opaque::is_odd;
use super::sentence::is_address;
use super::shape::{apart, run};
use super::word::length_of_word;
use std::ops::Range;
use std::sync::LazyLock;

/// No password is longer.
const LONGEST: usize = 256;

static MARKS: LazyLock<Marks> = LazyLock::new(|| {
    Marks::of([
        "contraseña",
        "Contraseña",
        "пароль",
        "Пароль",
        "密码",
        "密碼",
        "口令",
        "パスワード",
        "비밀번호",
        "hasło",
        "Hasło",
        "lösenord",
        "Lösenord",
        "jelszó",
        "Jelszó",
        "κωδικός",
        "şifre",
        "Şifre",
        "סיסמה",
        "ennwort",
        "asswort",
        "mot de passe",
        "Mot de passe",
        "wachtwoord",
        "Wachtwoord",
        "palavra-passe",
        "Senha",
        "senha",
        "salasana",
        "Salasana",
        "heslo",
        "Heslo",
        "parola",
        "Parola",
        "mật khẩu",
        "รหัสผ่าน",
        "पासवर्ड",
        "암호",
        "losenord",
        "LÖSENORD",
        "adgangskode",
        "Adgangskode",
        "ADGANGSKODE",
        "kodeord",
        "Kodeord",
        "passord",
        "Passord",
        "lykilorð",
        "CONTRASEÑA",
        "contrasenya",
        "contrasinal",
        "ENNWORT",
        "ASSWORT",
        "MOT DE PASSE",
        "WACHTWOORD",
        "SENHA",
        "SALASANA",
        "salasõna",
        "HASŁO",
        "hasłem",
        "heslem",
        "паролем",
        "HESLO",
        "PAROLA",
        "parolă",
        "Parolă",
        "парола",
        "Парола",
        "лозинка",
        "Лозинка",
        "ПАРОЛЬ",
        "lozinka",
        "Lozinka",
        "geslo",
        "Geslo",
        "JELSZÓ",
        "slaptažodis",
        "Slaptažodis",
        "kata sandi",
        "Kata sandi",
        "كلمة المرور",
        "كلمة السر",
        "رمز عبور",
        "clave",
        "Clave",
        "mdp",
    ])
});

/// Names that are parts of other words, or have other meanings.
const DOUBTFUL: [&str; 3] = ["clave", "Clave", "mdp"];

/// The word behind a colon or an equals sign, or the first of the sentence that reads like a password.
pub(super) fn find_foreign(text: &str) -> Vec<Range<usize>> {
    let found = MARKS.places_in(text).filter_map(|(at, _, mark)| {
        let is_of_word = |b: &u8| b.is_ascii_alphanumeric() || b"_-./".contains(b);
        let is_doubtful = DOUBTFUL.contains(&mark);
        if is_doubtful && text.as_bytes()[..at].last().is_some_and(is_of_word) {
            return None;
        }
        let end = at + mark.len();
        let from = end + length_of_ending(&text[end..]);
        let sure = |place: &Range<usize>| {
            !is_doubtful && from == end || reads_like_a_password(&text[place.clone()])
        };
        behind_sign(text, from)
            .filter(sure)
            .or_else(|| in_sentence(text, from))
    });
    apart(found.collect())
}

/// How long what a language puts behind a noun is: `lösenordet`, `Kennworts`, `hasłem`.
fn length_of_ending(rest: &str) -> usize {
    const LONGEST_ENDING: usize = 8;
    let near = &rest[..rest.floor_char_boundary(LONGEST_ENDING)];
    let length = near.find(|c: char| !is_of_alphabet(c)).unwrap_or_default();
    match near[length..].starts_with([' ', ':', '=']) {
        true => length,
        false => 0,
    }
}

/// A letter of Latin, Greek or Cyrillic: they part words by blanks.
fn is_of_alphabet(c: char) -> bool {
    const BEHIND_CYRILLIC: char = '\u{530}';
    c.is_alphabetic() && c < BEHIND_CYRILLIC
}

/// Whether a word has letters, of whatever alphabet, and digits, or a sign among letters of both cases.
fn reads_like_a_password(word: &str) -> bool {
    const SHORTEST_SIGNED: usize = 8;
    let has = |is: fn(char) -> bool| word.chars().any(is);
    let inner = word
        .get(1..word.len().saturating_sub(1))
        .unwrap_or_default();
    let is_signed = word.len() >= SHORTEST_SIGNED
        && inner.contains(['!', '#', '$', '%', '&', '*', '?', '^', '~', '+', '@'])
        && has(char::is_uppercase)
        && has(char::is_lowercase)
        && !word.contains(['-', '.', '/', ':', '(', '<', '=', ';']);
    // What `is_odd` asks for is letters of ASCII; those of others count the same.
    let plain: String = word
        .chars()
        .map(|c| if is_of_alphabet(c) { 'a' } else { c })
        .collect();
    is_odd(word) || is_signed || !word.is_ascii() && is_odd(&plain)
}

/// `Das Kennwort lautet value`, `パスワードは「value」です`
fn in_sentence(text: &str, from: usize) -> Option<Range<usize>> {
    const LONGEST_SENTENCE: usize = 96;
    let near = &text[from..text.floor_char_boundary(from + LONGEST_SENTENCE)];
    let line = near.split(['\n', '。']).next().unwrap_or_default();
    // A name, such as that of a file, begins no sentence.
    if line.starts_with(|c: char| c.is_ascii_alphanumeric() || "_-./".contains(c)) {
        return None;
    }
    let parts =
        |c: char| !(c.is_ascii_graphic() || is_of_alphabet(c)) || "\"'`()<>,;\\".contains(c);
    let mut start = from;
    for word in line.split_inclusive(parts) {
        let said = word
            .trim_end_matches(parts)
            .trim_end_matches(['.', ':', '!', '?']);
        if reads_like_a_password(said) && !is_address(said) {
            return Some(start..start + said.len());
        }
        start += word.len();
    }
    None
}

fn behind_sign(text: &str, from: usize) -> Option<Range<usize>> {
    let rest = &text[from..];
    let said = rest.strip_prefix(['"', '\'']).unwrap_or(rest);
    let said = said.strip_prefix(' ').unwrap_or(said);
    let value = said.strip_prefix([':', '=', '：'])?;
    let signs = run(value.as_bytes(), |b| b" \"'\\".contains(&b)).min(4);
    let value = &value[signs..];
    let start = text.len() - value.len();
    let value = &value[..value.floor_char_boundary(LONGEST)];
    // A sentence may go on without a blank.
    let ends = |c: char| !c.is_ascii() && !is_of_alphabet(c);
    let value = &value[..value.find(ends).unwrap_or(value.len())];
    let place = start..start + length_of_word(value.as_bytes());
    let words = text.get(place.clone())?;
    let is_secret = words.is_ascii() || reads_like_a_password(words);
    (words.len() >= 4 && is_secret && !is_plain(words)).then_some(place)
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn passwords_are_masked_whatever_they_are_called() {
        for (text, scrubbed) in [
            ("contraseña: hunter", "contraseña: ***"),
            ("{\"密码\": \"hunter\"}", "{\"密码\": \"***\"}"),
            ("Пароль=hunter;", "Пароль=***;"),
            ("senha=hunter", "senha=***"),
            ("初始密码:oBymFxtk,请登录", "初始密码:***,请登录"),
            (
                "Das vorläufige Kennwort lautet Gr4uwacke-Tal und gilt",
                "Das vorläufige Kennwort lautet *** und gilt",
            ),
            (
                "初期パスワードは「tKn8shiro」です",
                "初期パスワードは「***」です",
            ),
            (
                "ann: lösenordet är Räv&Uggla7 nu",
                "ann: lösenordet är *** nu",
            ),
            ("adgangskode: Ugle&Ræv", "adgangskode: ***"),
            ("mot de passe = hibou&7été", "mot de passe = ***"),
            ("la clave es Buho%Zorro", "la clave es ***"),
            ("clave: buho77x", "clave: ***"),
            ("hasłem jest Sowa&Lis", "hasłem jest ***"),
            ("пароль hunter2_x (до 31.12)", "пароль *** (до 31.12)"),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn what_is_said_of_them_stays() {
        for text in [
            "пароль: неверный",
            "contraseña",
            "密码: ",
            "la contraseña no es válida",
            "пароль истёк 2024-11-07",
            "Kennwort von 10.0.0.12 geändert",
            "autoclave: cycle12 and enclave=nitro-1a2b",
            "clave: valor",
            "lösenord för R&D-servern saknas",
            "contraseña: inválida",
            "Passwortes: falsch",
            "пароль изменён",
            "passwort_1 und heslo.x9y8z7",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
