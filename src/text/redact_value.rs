//! Whether a value found beside a word such as `password` looks like a secret at all.
//!
//! The word alone proves nothing ("password policy is 90 days", "token bucket"); the value decides, by its characters,
//! its length and its entropy. Used by the rows of `secrets.toml` through [`Shape`].

use serde::Deserialize;

/// How a value must look so that a rule may redact it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// The pattern says it all.
    #[default]
    Any,
    /// Not a template, a variable or a mask.
    Literal,
    /// Random characters: digits and letters mixed, entropy of at least 3 bits per character.
    Random,
    /// Assigned (`password: x1y2z3`): six or more characters that are not just words.
    Assigned,
    /// Assigned to a word for a password: as `Assigned`, and four or more bare digits count too.
    Password,
    /// Told in a sentence (`the password is …`): needs more than an assignment does.
    Told,
    /// A mail address and not a file name with an `@` in it.
    Mail,
}

/// Bits per character below which a value is too regular to be random (a word has about 2.5, a key of 20 letters and
/// digits about 4; threshold found on the cases of `secrets.toml`).
const RANDOM_BITS: f64 = 3.0;

/// Technical words that mix letters and digits and are no secrets.
const KNOWN: &[&str] = &[
    "base64",
    "base58",
    "base32",
    "sha1",
    "sha256",
    "sha384",
    "sha512",
    "sha-256",
    "md5",
    "utf8",
    "utf-8",
    "oauth2",
    "oauth1",
    "argon2",
    "argon2id",
    "argon2i",
    "pbkdf2",
    "bcrypt",
    "scrypt",
    "aes128",
    "aes256",
    "aes-256",
    "hs256",
    "hs512",
    "rs256",
    "es256",
    "x509",
    "ed25519",
    "rsa2048",
    "rsa4096",
    "http2",
    "ipv4",
    "ipv6",
    "k8s",
    "s3",
    "ec2",
    "i18n",
    "p12",
    "pkcs8",
    "pkcs12",
    "1password",
    "vault2",
    "auth0",
    "int32",
    "int64",
    "uint32",
    "uint64",
    "u32",
    "u64",
    "i32",
    "i64",
    "v1",
    "v2",
    "v3",
    "v4",
];

/// Beginnings and parts of values that stand for a secret without being one.
const PLACEHOLDERS: &[&str] = &[
    "your",
    "changeme",
    "change-me",
    "change_me",
    "xxxx",
    "****",
    "••••",
    "....",
    "…",
    "<",
    "${",
    "{{",
    "%(",
    "$(",
    "process.env",
    "os.environ",
    "os.getenv",
    "getenv",
    "env.",
    "secrets.",
    "placeholder",
    "redacted",
    "dummy",
    "todo",
];

/// Ends of file names such as `icon@2x.png`; no top-level domains of mail.
const FILE_ENDS: &[&str] = &[
    "png", "jpg", "jpeg", "gif", "svg", "webp", "js", "ts", "css", "json", "md", "html", "yaml", "yml", "toml", "service", "timer", "local",
];

/// Whether a value has the shape of a secret.
pub fn looks_secret(value: &str, shape: Shape) -> bool {
    if shape == Shape::Any {
        return true;
    }
    let value = bare(value);
    if is_placeholder(value) {
        return false;
    }
    let count = Count::of(value);
    match shape {
        Shape::Any | Shape::Literal => !value.is_empty(),
        Shape::Random => count.digits > 0 && count.letters > 0 && entropy(value) >= RANDOM_BITS && !is_words(value),
        Shape::Password if count.digits == value.len() => value.len() >= 4,
        Shape::Assigned | Shape::Password => {
            value.len() >= 6 && count.kinds() >= 2 && (count.digits > 0 || count.marks > 0) && !is_words(value) && !is_code(value)
        }
        Shape::Mail => !value.rsplit('.').next().is_some_and(|end| FILE_ENDS.contains(&end.to_ascii_lowercase().as_str())),
        Shape::Told => value.len() >= 6 && count.letters > 0 && count.digits > 0 && !is_words(value) && !is_code(value),
    }
}

/// The value without the punctuation of its sentence or its code.
pub fn bare(value: &str) -> &str {
    value.trim_end_matches(['.', ',', ';', ':', ')', ']', '}', '?', '"', '\'', '`'])
}

/// Shannon entropy in bits per character.
pub fn entropy(text: &str) -> f64 {
    let mut counts = [0u32; 256];
    for byte in text.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let total = text.len() as f64;
    counts.iter().filter(|&&n| n > 0).map(|&n| f64::from(n) / total).map(|p| -p * p.log2()).sum()
}

struct Count {
    letters: usize,
    digits: usize,
    /// Characters that names and paths do not have.
    marks: usize,
}

impl Count {
    fn of(value: &str) -> Self {
        let mut count = Self { letters: 0, digits: 0, marks: 0 };
        for c in value.chars() {
            match c {
                c if c.is_alphabetic() => count.letters += 1,
                c if c.is_ascii_digit() => count.digits += 1,
                '-' | '_' | '.' | '/' | ':' | ' ' => {}
                _ => count.marks += 1,
            }
        }
        count
    }

    fn kinds(&self) -> usize {
        [self.letters, self.digits, self.marks].iter().filter(|&&n| n > 0).count()
    }
}

/// Whether the value is made of words, numbers and known technical names only, such as `prod-db-2` or `AES-256`.
fn is_words(value: &str) -> bool {
    let lower = value.to_lowercase();
    if KNOWN.contains(&lower.as_str()) {
        return true;
    }
    let word = |piece: &str| piece.chars().all(char::is_alphabetic) || piece.chars().all(|c| c.is_ascii_digit()) || KNOWN.contains(&piece);
    let mut pieces = lower.split(['-', '_', '.', '/', ':', '+', ' ']).peekable();
    let several = lower.contains(['-', '_', '.', '/', ':', '+', ' ']);
    (several || lower.chars().all(char::is_alphabetic)) && pieces.all(word)
}

/// Calls, indexing, member access and variables: `getToken()`, `config.token`, `$TOKEN`, `tokens[0]`.
fn is_code(value: &str) -> bool {
    let name = |s: &str| !s.is_empty() && s.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '>' | '-' | '$' | '@'));
    value.starts_with(['$', '%', '&', '@', '(', '[', '{', '/'])
        || ["http://", "https://", "self.", "this."].iter().any(|start| value.starts_with(start))
        || value.split_once(['(', '[']).is_some_and(|(head, _)| name(head))
        || value.contains("::")
        || value.contains("=>")
        || value.contains("->")
}

fn is_placeholder(value: &str) -> bool {
    let lower = value.to_lowercase();
    let mut chars = lower.chars();
    let first = chars.next();
    let variable =
        value.strip_prefix(['$', '%']).is_some_and(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '%'));
    first.is_none() || variable || chars.all(|c| Some(c) == first) && lower.len() > 1 || PLACEHOLDERS.iter().any(|p| lower.contains(p))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_in_bits() {
        assert!(entropy("aaaa").abs() < 1e-9);
        assert!((entropy("abcd") - 2.0).abs() < 1e-9);
    }

    #[test]
    fn words_are_no_secrets() {
        for value in ["required", "AES-256", "prod-db-2", "base64-encoded", "sha256", "oauth2/token", "bcrypt-12", "90"] {
            assert!(!looks_secret(value, Shape::Told) && !looks_secret(value, Shape::Assigned), "{value}");
        }
        for value in ["${DB_PASS}", "<your-key>", "********", "process.env.TOKEN", "getToken()", "config.get(\"x\")"] {
            assert!(!looks_secret(value, Shape::Password), "{value}");
        }
    }
}
