//! The process's surroundings as values: variables, folders, clock, random. Read here, once, and handed in.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::{Timestamp, tz::TimeZone};

use crate::error::{Error, Result};
use crate::model::Id;

/// Where Unix keeps the rules of the local time zone (TZif, RFC 9636) if `TZ` does not name another.
const LOCAL_ZONE: &str = "/etc/localtime";

/// Everything the program knows of its surroundings.
#[derive(Debug)]
pub struct Env {
    vars: BTreeMap<String, String>,
    /// Working folder at start.
    pub cwd: PathBuf,
    zone: TimeZone,
    fixed: Option<Timestamp>,
    seed: RefCell<Option<u64>>,
}

impl Env {
    /// The real surroundings. `CLAUDE_MEM_NOW` (RFC 3339) and `CLAUDE_MEM_SEED` (a number) fix the clock and the
    /// ids, so that a run can be repeated byte for byte.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub fn system() -> Result<Self> {
        let vars: BTreeMap<String, String> =
            std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?))).collect();
        let cwd = std::env::current_dir()
            .map_err(|e| Error::failure(format!("the working folder cannot be read: {e}")).hint("change into a folder that exists"))?;
        // Read directly: looking a zone up by its name lists the whole database first, which a hook would wait for.
        let own = std::fs::read(LOCAL_ZONE).ok().filter(|_| !vars.contains_key("TZ"));
        let zone = own.and_then(|rules| TimeZone::tzif("Local", &rules).ok()).unwrap_or_else(TimeZone::system);
        Self::of(vars, cwd, zone)
    }

    /// Surroundings made of values, for tests and embedding.
    pub fn of(vars: BTreeMap<String, String>, cwd: PathBuf, zone: TimeZone) -> Result<Self> {
        let bad = |name: &str, value: &str| {
            Error::new(crate::error::Kind::Config, format!("{name} has the value {value:?}, which cannot be read"))
                .hint(format!("unset {name}"))
        };
        let (mut fixed, mut zone) = (None, zone);
        if let Some(text) = vars.get("CLAUDE_MEM_NOW") {
            fixed = Some(text.parse::<Timestamp>().map_err(|_| bad("CLAUDE_MEM_NOW", text))?);
            zone = TimeZone::UTC;
        }
        let seed = match vars.get("CLAUDE_MEM_SEED") {
            Some(text) => Some(text.parse::<u64>().map_err(|_| bad("CLAUDE_MEM_SEED", text))?),
            None => None,
        };
        Ok(Self { vars, cwd, zone, fixed, seed: RefCell::new(seed) })
    }

    /// The time zone of dates.
    pub fn zone(&self) -> TimeZone {
        self.zone.clone()
    }

    /// A variable; empty counts as unset.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str).filter(|v| !v.is_empty())
    }

    /// The user's home folder.
    pub fn user_home(&self) -> Result<PathBuf> {
        self.var("HOME").or_else(|| self.var("USERPROFILE")).map(PathBuf::from).ok_or_else(|| {
            Error::new(crate::error::Kind::Config, "HOME is not set, so the memory folder cannot be found")
                .hint("set HOME, or pass --home DIR")
        })
    }

    /// `path` made absolute against the working folder.
    pub fn absolute(&self, path: &Path) -> PathBuf {
        self.cwd.join(path)
    }

    /// Now, RFC 3339 with the local offset, whole seconds: `2025-06-10T14:03:22+08:00`.
    pub fn now(&self) -> String {
        let now = self.timestamp().to_zoned_datetime(self.zone.clone());
        now.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
    }

    /// A time (RFC 3339) as a person reads it here, to the minute: `2025-06-10 14:03`; as it is if it is no time.
    pub fn local(&self, at: &str) -> String {
        match at.parse::<Timestamp>() {
            Ok(time) => time.to_zoned_datetime(self.zone.clone()).strftime("%Y-%m-%d %H:%M").to_string(),
            Err(_) => at.to_owned(),
        }
    }

    /// The moment at which a day begins here.
    pub fn midnight(&self, day: jiff::civil::Date) -> Option<Timestamp> {
        day.to_zoned_datetime(self.zone.clone()).ok().map(|time| time.timestamp())
    }

    /// Today in the local time zone, `YYYY-MM-DD`.
    pub fn today(&self) -> String {
        self.now()[..10].to_owned()
    }

    /// The file of this program, to start a helper with.
    pub fn program(&self) -> Result<PathBuf> {
        std::env::current_exe().map_err(|e| Error::failure(format!("this program's own file cannot be found: {e}")))
    }

    /// The clock.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
    pub fn timestamp(&self) -> Timestamp {
        self.fixed.unwrap_or_else(Timestamp::now)
    }

    /// A new memory id: random, or a sequence if `CLAUDE_MEM_SEED` is set.
    pub fn new_id(&self) -> Result<Id> {
        let mut seed = self.seed.borrow_mut();
        if let Some(state) = seed.as_mut() {
            // splitmix64 (Steele, Lea, Flood 2014): a full-period sequence from any seed.
            *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = *state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            return Ok(Id::from_bits(z ^ (z >> 31)));
        }
        let bits = getrandom::u64().map_err(|e| Error::failure(format!("the system gives no random numbers: {e}")))?;
        Ok(Id::from_bits(bits))
    }
}
