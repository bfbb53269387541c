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
    ])
});

/// The word behind a colon or an equals sign, or the first of the sentence that reads like a password.
pub(super) fn find_foreign(text: &str) -> Vec<Range<usize>> {
    let found = MARKS.places_in(text).filter_map(|(at, _, mark)| {
        let from = at + mark.len();
        behind_sign(text, from).or_else(|| in_sentence(text, from))
    });
    apart(found.collect())
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
    let parts = |c: char| !c.is_ascii_graphic() || "\"'`()<>,;\\".contains(c);
    let mut start = from;
    for word in line.split_inclusive(parts) {
        let said = word
            .trim_end_matches(parts)
            .trim_end_matches(['.', ':', '!', '?']);
        if is_odd(said) && !is_address(said) {
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
    let value = &value[..value.find(|c: char| !c.is_ascii()).unwrap_or(value.len())];
    let place = start..start + length_of_word(value.as_bytes());
    let words = text.get(place.clone())?;
    (words.len() >= 4 && words.is_ascii() && !is_plain(words)).then_some(place)
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
            "passwort_1 und heslo.x9y8z7",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
