//! One memory: a claim worth knowing later, with the words that prove it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Identity of a memory: 10 characters of Crockford base32 in lower case, never derived from the text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Id(String);

/// The digits of an [`Id`]: Crockford base32 (no i, l, o, u), lower case.
pub const ID_DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

impl Id {
    /// Length of an id in characters.
    pub const LEN: usize = 10;

    /// Reads an id as a person typed it; `None` if it cannot be one.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        let ok = text.len() == Self::LEN && text.bytes().all(|b| ID_DIGITS.contains(&b));
        ok.then_some(Self(text))
    }

    /// An id from 50 bits (the low bits of `bits`).
    pub fn from_bits(bits: u64) -> Self {
        let digit = |i: usize| char::from(ID_DIGITS[(bits >> (5 * i)) as usize & 31]);
        Self((0..Self::LEN).rev().map(digit).collect())
    }

    /// The 50 bits, so that ids and their bits are in the same order.
    pub fn bits(&self) -> u64 {
        let digit = |b: u8| ID_DIGITS.iter().position(|d| *d == b).unwrap_or_default() as u64;
        self.0.bytes().fold(0, |bits, b| bits << 5 | digit(b))
    }

    /// The ten characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An enum whose variants have one lower-case name, used alike in Markdown, JSON, prompts and flags.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $text)] $variant),+ }

        impl $name {
            /// Every value, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name used in files, JSON, prompts and flags.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// The value with this name; case and `-`/`_` do not matter.
            pub fn parse(text: &str) -> Option<Self> {
                // Thousands of entries write it as we do.
                let written = Self::ALL.iter().copied().find(|v| v.name() == text);
                written.or_else(|| {
                    let text = text.trim().to_ascii_lowercase().replace('-', "_");
                    Self::ALL.iter().copied().find(|v| v.name().replace('-', "_") == text)
                })
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

named! {
    /// How long a memory is meant to live, hence the file it is in.
    Layer {
        /// This task, branch or week.
        Transient = "transient",
        /// This project, now.
        Working = "working",
        /// Lasting preferences and norms.
        LongTerm = "long_term",
    }
}

named! {
    /// What a memory says.
    Kind {
        /// A choice that was made and accepted.
        Decision = "decision",
        /// How something is.
        Fact = "fact",
        /// Open or just finished work.
        Todo = "todo",
        /// How this person likes it.
        Preference = "preference",
        /// A rule for everybody in scope.
        Convention = "convention",
    }
}

named! {
    /// Whether a memory holds.
    State {
        /// It holds.
        Valid = "valid",
        /// Considered and turned down, with the reason.
        Rejected = "rejected",
        /// A todo that is finished.
        Done = "done",
        /// Replaced by a newer memory, which it links to.
        Superseded = "superseded",
        /// Its date has passed.
        Lapsed = "lapsed",
    }
}

impl State {
    /// The state on `day` of a memory that holds until a date: the one rule of what has lapsed.
    pub fn on(self, until: Option<&str>, day: &str) -> Self {
        let over = !matches!(self, Self::Done | Self::Superseded) && until.is_some_and(|until| until < day);
        if over { Self::Lapsed } else { self }
    }
}

named! {
    /// Where a memory came from.
    Origin {
        /// Extracted by the Messages API.
        Claude = "claude",
        /// Extracted by the user's own `claude -p`.
        ClaudeCode = "claude-code",
        /// Extracted by local rules, no model.
        Rules = "rules",
        /// Typed by a person.
        Manual = "manual",
        /// Taken over from a file of another tool.
        Import = "import",
    }
}

named! {
    /// How one memory stands to another.
    RelationType {
        /// The same claim.
        Duplicate = "duplicate",
        /// Says it more exactly, loses nothing.
        Refines = "refines",
        /// Closes the todo.
        Completes = "completes",
        /// The user changed it.
        Supersedes = "supersedes",
        /// The other side of `supersedes`.
        SupersededBy = "superseded_by",
        /// Both claim to hold, unclear which.
        Conflicts = "conflicts",
        /// Stands or falls with the other.
        DependsOn = "depends_on",
    }
}

/// A link from one memory to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relation {
    /// The other memory.
    pub id: Id,
    /// What this one is to it.
    #[serde(rename = "type")]
    pub kind: RelationType,
}

/// When a memory stops holding by the calendar. (In words: [`Memory::lapses_when`].)
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Validity {
    /// No end known.
    #[default]
    Lasting,
    /// Ends with the conversation's task.
    Session,
    /// Holds up to and including this day, `YYYY-MM-DD`.
    Until(String),
}

impl Validity {
    /// `lasting`, `session` or `until`, as JSON has it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Lasting => "lasting",
            Self::Session => "session",
            Self::Until(_) => "until",
        }
    }

    /// The day of [`Validity::Until`].
    pub fn until_date(&self) -> Option<&str> {
        match self {
            Self::Until(day) => Some(day),
            _ => None,
        }
    }
}

/// Words that were really said, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Session of the quote if it is not the memory's own (a later confirmation).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// 1-based turn number as read.
    pub turn: u32,
    /// Whose words.
    pub speaker: super::Speaker,
    /// Copied from the cleaned, redacted turn.
    pub quote: String,
}

/// One memory as the store, recall and the commands see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// Identity; an edit keeps it.
    pub id: Id,
    /// The file family it lives in.
    pub layer: Layer,
    /// What it says.
    pub kind: Kind,
    /// Heading it stands under.
    pub topic: Option<String>,
    /// One line, at most 100 wide characters, guides work by itself.
    pub summary: String,
    /// Why it is so; for a rejected one, why not.
    pub reason: Option<String>,
    /// What was turned down in favour of this, in words.
    pub rejected: Option<String>,
    /// How to act on it.
    pub how_to_apply: Option<String>,
    /// Whether it holds.
    pub state: State,
    /// When it ends by the calendar.
    pub validity: Validity,
    /// When it ends, in words.
    pub lapses_when: Option<String>,
    /// `global`, a project name, or a path inside the project; `None` is the project.
    pub scope: Option<String>,
    /// Git branch it was said on.
    pub branch: Option<String>,
    /// 2 to 5 words to find it by.
    pub keywords: Vec<String>,
    /// 1 to 3 quotes, then confirmations.
    pub evidence: Vec<Evidence>,
    /// Links to other memories.
    pub relations: Vec<Relation>,
    /// 0 to 1, where the extractor says.
    pub confidence: Option<f64>,
    /// Where it came from.
    pub origin: Origin,
    /// Session it was extracted from: `YYYY-MM-DD-xxxxxxxx`, the name of its transient file.
    pub session: Option<String>,
    /// RFC 3339 with offset.
    pub created: Option<String>,
    /// Never decays, comes first.
    pub pinned: bool,
}

impl Memory {
    /// A valid, lasting memory by hand with nothing but a summary: the start for every builder.
    pub fn new(id: Id, layer: Layer, kind: Kind, summary: impl Into<String>) -> Self {
        Self {
            id,
            layer,
            kind,
            topic: None,
            summary: summary.into(),
            reason: None,
            rejected: None,
            how_to_apply: None,
            state: State::Valid,
            validity: Validity::Lasting,
            lapses_when: None,
            scope: None,
            branch: None,
            keywords: Vec::new(),
            evidence: Vec::new(),
            relations: Vec::new(),
            confidence: None,
            origin: Origin::Manual,
            session: None,
            created: None,
            pinned: false,
        }
    }

    /// Ids this memory stands to in one way.
    pub fn related(&self, kind: RelationType) -> impl Iterator<Item = &Id> {
        self.relations.iter().filter(move |r| r.kind == kind).map(|r| &r.id)
    }

    /// Whose word it rests on: the hand or file it came from, else the weightiest speaker among its quotes; empty if nobody is
    /// quoted. What tools and web pages say is the word of `tool`.
    pub fn lane(&self) -> &'static str {
        match self.origin {
            Origin::Manual | Origin::Import => self.origin.name(),
            // Speakers are declared in the order of their weight.
            _ => self.evidence.iter().map(|e| e.speaker).min().map_or("", super::Speaker::name),
        }
    }

    /// Whether it would be a rule that nobody stated here: it came in a file, its owner has not taken it over, and no
    /// conversation has confirmed it since.
    pub fn is_unconfirmed(&self) -> bool {
        let rule = matches!(self.kind, Kind::Decision | Kind::Preference | Kind::Convention);
        let said = |e: &Evidence| e.speaker == super::Speaker::User && e.session.is_some();
        rule && self.origin == Origin::Import && !self.evidence.iter().any(said)
    }

    /// The day it was said: that of its session, else when it was made.
    pub fn day(&self) -> Option<jiff::civil::Date> {
        [&self.session, &self.created].into_iter().flatten().find_map(|text| text.get(..10)?.parse().ok())
    }

    /// Whether it holds on `day` (`YYYY-MM-DD`): valid, and its date has not passed.
    pub fn holds_on(&self, day: &str) -> bool {
        self.state_on(day) == State::Valid
    }

    /// Its state on `day` (`YYYY-MM-DD`): what is past its date has lapsed, whether or not `prune` has written that down yet.
    pub fn state_on(&self, day: &str) -> State {
        self.state.on(self.validity.until_date(), day)
    }
}
