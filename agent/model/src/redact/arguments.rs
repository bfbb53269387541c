//! The table of programs whose flags carry secrets, and the words of a command line.

use super::items::length_of_argument;
use super::line::{blanks, length_of_break};
use super::quote::quoted;
use super::shape::run;
use std::ops::Range;

/// Where the secret is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// It is the word behind the flag.
    Next,
    /// It begins right behind the flag.
    Attached,
    /// Either.
    Either,
    /// It is what follows the colon, the percent sign, the equals sign, the comma or the slash of that word.
    User,
    Percent,
    Pair,
    Comma,
    Slash,
    /// It follows `pass:` in that word.
    Source,
    /// It is the last of the plain words, if the first word has this letter.
    Last,
    /// It is so many plain words behind this one.
    At(usize),
    /// It is the word behind a name that tells of it, behind this word.
    Setting,
    /// It is all that the program writes, if another reads a secret from it.
    Piped,
}

/// A program, and its flags that carry secrets.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) program: &'static str,
    /// A word without which its flags mean something else.
    pub(super) needs: Option<&'static str>,
    pub(super) flags: &'static [(&'static str, Of)],
}

const fn command(program: &'static str, flags: &'static [(&'static str, Of)]) -> Command {
    Command {
        program,
        needs: None,
        flags,
    }
}

const fn with(
    program: &'static str,
    needs: &'static str,
    flags: &'static [(&'static str, Of)],
) -> Command {
    Command {
        program,
        needs: Some(needs),
        flags,
    }
}

const LDAP: &[(&str, Of)] = &[("-w", Of::Either)];
const MONGO: &[(&str, Of)] = &[("-p", Of::Next)];
const SNMP: &[(&str, Of)] = &[("-A", Of::Next), ("-X", Of::Next), ("-c", Of::Either)];
const ORACLE: &[(&str, Of)] = &[("", Of::Slash)];
const SINK: &[(&str, Of)] = &[("", Of::At(1))];
const LOGIN: &[(&str, Of)] = &[("-p", Of::Either)];
const MOUNT: &[(&str, Of)] = &[("user", Of::Percent), ("username", Of::Percent)];
const PRINCIPAL: &[(&str, Of)] = &[("-pw", Of::Next)];
const REGISTRY: &[(&str, Of)] = &[("--creds", Of::User)];
const SAMBA: &[(&str, Of)] = &[("-U", Of::Percent), ("--user", Of::Percent)];

/// From the manual of each.
pub(super) const PROGRAMS: &[Command] = &[
    command("sshpass", &[("-p", Of::Either)]),
    command("redis-cli", &[("-a", Of::Next), ("--pass", Of::Next)]),
    command("valkey-cli", &[("-a", Of::Next), ("--pass", Of::Next)]),
    command("mysql", &[("-p", Of::Attached)]),
    command("mysqldump", &[("-p", Of::Attached)]),
    command(
        "mysqladmin",
        &[("-p", Of::Attached), ("password", Of::Next)],
    ),
    command("mariadb", &[("-p", Of::Attached)]),
    command("mariadb-dump", &[("-p", Of::Attached)]),
    command("mongo", MONGO),
    command("mongosh", MONGO),
    command("mongodump", MONGO),
    command("mongorestore", MONGO),
    command(
        "curl",
        &[
            ("-u", Of::User),
            ("--user", Of::User),
            ("-U", Of::User),
            ("--proxy-user", Of::User),
            ("--oauth2-bearer", Of::Next),
        ],
    ),
    command("http", &[("-a", Of::User), ("--auth", Of::User)]),
    command("https", &[("-a", Of::User), ("--auth", Of::User)]),
    command(
        "openssl",
        &[
            ("passwd", Of::At(0)),
            ("-passin", Of::Source),
            ("-passout", Of::Source),
            ("-pass", Of::Source),
            ("-k", Of::Next),
            ("-K", Of::Next),
            ("-hmac", Of::Next),
            ("-macopt", Of::User),
        ],
    ),
    command("htpasswd", &[("b", Of::Last)]),
    command("snmpbulkwalk", SNMP),
    command("snmpbulkget", SNMP),
    command("snmpgetnext", SNMP),
    command("snmptrap", SNMP),
    command("snmpinform", SNMP),
    command("snmptable", SNMP),
    command("trapsess", SNMP),
    command("trapsink", SINK),
    command("trap2sink", SINK),
    command("informsink", SINK),
    command("authCommunity", SINK),
    command("incominguser", SINK),
    command("outgoinguser", SINK),
    command("impdp", ORACLE),
    command("expdp", ORACLE),
    command("rman", ORACLE),
    command("sqlldr", ORACLE),
    command("db2", &[("using", Of::Next)]),
    command("mosquitto_passwd", &[("b", Of::Last)]),
    command(
        "pdftk",
        &[
            ("user_pw", Of::Next),
            ("owner_pw", Of::Next),
            ("input_pw", Of::Next),
        ],
    ),
    command(
        "qpdf",
        &[("--encrypt", Of::At(0)), ("--encrypt", Of::At(1))],
    ),
    command("veracrypt", &[("-p", Of::Next)]),
    command("signtool", &[("/p", Of::Next)]),
    command("iw", &[("key", Of::User)]),
    with("az", "update", LOGIN),
    with("az", "create", LOGIN),
    command("sentinel", &[("auth-pass", Of::At(1))]),
    command("SENTINEL", &[("auth-pass", Of::At(1))]),
    command("tacacs-server", &[("key", Of::Next)]),
    command("radius-server", &[("key", Of::Next)]),
    command("isakmp", &[("key", Of::At(0))]),
    command("snmp-server", &[("community", Of::At(0))]),
    command("key-string", &[("", Of::At(0))]),
    command("authentication-key", &[("md5", Of::Next)]),
    command("virsh", &[("secret-set-value", Of::At(1))]),
    command("ssh-keygen", &[("-N", Of::Next), ("-P", Of::Next)]),
    command("open", &[("-u", Of::Comma)]),
    command("addprinc", PRINCIPAL),
    command("ank", PRINCIPAL),
    command("cpw", PRINCIPAL),
    with("gh", "secret", &[("--body", Of::Next), ("-b", Of::Next)]),
    command("podman", REGISTRY),
    command("buildah", REGISTRY),
    with("docker", "login", LOGIN),
    with("podman", "login", LOGIN),
    with("nerdctl", "login", LOGIN),
    with("buildah", "login", LOGIN),
    with("crane", "login", LOGIN),
    with("helm", "login", LOGIN),
    with("oras", "login", LOGIN),
    with("oc", "login", LOGIN),
    with("az", "login", LOGIN),
    with("cf", "login", LOGIN),
    with("argocd", "login", LOGIN),
    command(
        "skopeo",
        &[
            ("--creds", Of::User),
            ("--src-creds", Of::User),
            ("--dest-creds", Of::User),
            ("-p", Of::Next),
        ],
    ),
    command("ctr", &[("-u", Of::User), ("--user", Of::User)]),
    command("crictl", &[("--creds", Of::User), ("--auth", Of::Next)]),
    command("etcdctl", &[("--user", Of::User), ("add", Of::User)]),
    command("smbclient", SAMBA),
    command("rpcclient", SAMBA),
    command("smbget", SAMBA),
    command("winexe", SAMBA),
    command("net", SAMBA),
    command("ldapsearch", LDAP),
    command("ldapadd", LDAP),
    command("ldapmodify", LDAP),
    command("ldapdelete", LDAP),
    command("ldapwhoami", LDAP),
    command(
        "ldappasswd",
        &[("-w", Of::Either), ("-s", Of::Next), ("-a", Of::Next)],
    ),
    command("radclient", &[("", Of::At(2))]),
    command("radtest", &[("", Of::At(1)), ("", Of::At(4))]),
    command("eapol_test", &[("-s", Of::Next)]),
    command("ipmitool", &[("-P", Of::Either)]),
    command("sqlcmd", &[("-P", Of::Either)]),
    command("bcp", &[("-P", Of::Either)]),
    command("isql", &[("-P", Of::Either), ("", Of::At(2))]),
    command("sqlplus", &[("", Of::Slash)]),
    command("mosquitto_pub", &[("-P", Of::Next)]),
    command("mosquitto_sub", &[("-P", Of::Next)]),
    command("snmpwalk", SNMP),
    command("snmpget", SNMP),
    command("snmpset", SNMP),
    command("7z", &[("-p", Of::Attached)]),
    command("7za", &[("-p", Of::Attached)]),
    command("zip", &[("-P", Of::Either)]),
    command("unzip", &[("-P", Of::Either)]),
    command("rar", &[("-p", Of::Attached), ("-hp", Of::Attached)]),
    command("unrar", &[("-p", Of::Attached)]),
    command("kubectl", &[("--from-literal", Of::Pair)]),
    command("psexec", &[("-p", Of::Next)]),
    command("psExec", &[("-p", Of::Next)]),
    command("PsExec.exe", &[("-p", Of::Next)]),
    command("PSEXEC", &[("-p", Of::Next)]),
    command("PSEXEC.EXE", &[("-p", Of::Next)]),
    command("plink", &[("-pw", Of::Next)]),
    command("pscp", &[("-pw", Of::Next)]),
    command("rdesktop", &[("-p", Of::Next)]),
    command("xfreerdp", &[("/p:", Of::Attached)]),
    command("useradd", &[("-p", Of::Next)]),
    command("usermod", &[("-p", Of::Next)]),
    command("cqlsh", &[("-p", Of::Next)]),
    command("lftp", &[("-u", Of::Comma)]),
    command("vault", &[("login", Of::At(0)), ("unseal", Of::At(0))]),
    command(
        "rabbitmqctl",
        &[("add_user", Of::At(1)), ("change_password", Of::At(1))],
    ),
    command("mc", &[("set", Of::At(3)), ("add", Of::At(3))]),
    command("aws", &[("set", Of::Setting)]),
    command("pulumi", &[("set", Of::Setting)]),
    command("npm", &[("set", Of::Setting)]),
    command("git", &[("config", Of::Setting)]),
    command("wpa_passphrase", &[("", Of::At(1))]),
    command("kadmin", &[("-w", Of::Next), ("-pw", Of::Next)]),
    command("kadmin.local", &[("-pw", Of::Next)]),
    command("restic", &[("--password-command", Of::Next)]),
    command("influx", &[("-t", Of::Next), ("-p", Of::Next)]),
    command("doctl", &[("-t", Of::Next)]),
    command("consul", &[("login", Of::At(0))]),
    command("cypher-shell", &[("-p", Of::Next)]),
    command("racadm", &[("-p", Of::Next)]),
    command("agent-auth", &[("-P", Of::Next)]),
    command("SUSEConnect", &[("-r", Of::Next)]),
    command("iscsiadm", &[("-n", Of::Setting)]),
    command("createUser", &[("", Of::At(2)), ("", Of::At(4))]),
    command("mount.cifs", MOUNT),
    command("mount", MOUNT),
    command("rootpw", &[("--plaintext", Of::Next)]),
    command("message-digest-key", &[("", Of::At(2))]),
    command("addauth", &[("digest", Of::User)]),
    command("tpm2_changeauth", &[("", Of::At(1))]),
    command("com2sec", &[("", Of::At(2))]),
    command("oathtool", &[("", Of::At(0))]),
    command("echo", &[("", Of::Piped)]),
    command("printf", &[("", Of::Piped)]),
];

/// No command line is read further.
const LONGEST: usize = 1024;

/// The words behind a program, up to the end of its command: in a shell, in JSON, in a list of YAML.
pub(super) fn words_after(text: &str, from: usize) -> Vec<Range<usize>> {
    let end = text.floor_char_boundary(from + LONGEST);
    let bytes = &text.as_bytes()[..end];
    let mut words = Vec::new();
    let mut at = from;
    while let Some(start) = start_of_word(bytes, at) {
        let rest = &bytes[start..];
        let word = match quoted(rest) {
            Some(inner) => start + inner.start..start + inner.end,
            None => start..start + length_of_plain(rest),
        };
        at = match quoted(rest) {
            Some(_) => word.end + 1,
            None => word.end.max(start + 1),
        };
        words.push(word);
    }
    words
}

/// The length of a word without quotes, in which a backslash may stand: behind the domain of a user, and before a sign that a
/// shell would read.
fn length_of_plain(bytes: &[u8]) -> usize {
    let mut at = 0;
    loop {
        at += run(&bytes[at..], |b| {
            !b.is_ascii_whitespace() && !b"\"'`;|&<>\\,]".contains(&b)
        });
        let slashes = run(&bytes[at..], |b| b == b'\\');
        let is_domain = at > 0
            && bytes[..at]
                .iter()
                .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
        let goes_on = match bytes.get(at + slashes) {
            Some(b'x') if bytes[at..].starts_with(b"\\x00") => false,
            // As a rule they break a line.
            Some(b'n' | b'r' | b't' | b'u') => is_domain,
            Some(b) => b.is_ascii_alphanumeric() || b"_$!#&;|<>()*?%@".contains(b),
            None => false,
        };
        if slashes == 0 || at == 0 || !goes_on {
            return at;
        }
        at += slashes + 1;
    }
}

/// The length of an escaped quote behind which the next word comes.
fn ends_quote(bytes: &[u8]) -> usize {
    let slashes = run(bytes, |b| b == b'\\');
    let is_end = matches!(
        bytes.get(slashes..slashes + 2),
        Some([b'"' | b'\'', b' ' | b','])
    );
    if is_end { slashes + 1 } else { 0 }
}

/// Where the next word begins; nothing at the end of the command.
fn start_of_word(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        match bytes.get(at)? {
            b' ' if length_of_argument(&bytes[at..]).is_some() => {
                at += length_of_argument(&bytes[at..]).unwrap_or(1);
            }
            b' ' | b'\t' | b',' | b'[' => at += 1,
            // What parts the words of a process, as a log escapes it.
            b'\\' if bytes[at..].starts_with(b"\\x00") => at += 4,
            b'\\' if bytes[at..].starts_with(b"\\u0000") => at += 6,
            b'"' | b'\'' if matches!(bytes.get(at + 1), Some(b' ' | b',')) => at += 1,
            b'\\' if ends_quote(&bytes[at..]) > 0 => at += ends_quote(&bytes[at..]),
            b'\n' | b'\\' => {
                let length = length_of_break(&bytes[at..]);
                match length {
                    0 => return Some(at),
                    // An escaped backslash before it goes on with the line.
                    4.. => {
                        at += length;
                        continue;
                    }
                    _ => {}
                }
                let item = at + length + blanks(&bytes[at + length..]);
                if !bytes[item..].starts_with(b"- ") {
                    return None;
                }
                at = item + 2;
            }
            b';' | b'|' | b'&' | b'<' | b'>' | b'`' | b']' | b'\r' | b':' | b'=' => return None,
            _ => return Some(at),
        }
    }
}
