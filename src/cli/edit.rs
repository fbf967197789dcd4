//! `edit`: change one entry, with flags or in an editor. Identity stays.

use clap::Args;

use super::app::{App, fields, json, one_line, record};
use super::editor::Draft;
use super::ui::{paint, style};
use crate::error::{Error, Kind, Result};
use crate::extract::ground;
use crate::model::{self, Layer, Memory, State, Validity, differences};
use crate::pipeline::by_hand;
use crate::store::markdown::{self, Document};
use crate::store::{Entry, Snapshot, Store};

/// Change one memory: with flags, or whole in your editor ($VISUAL, $EDITOR)
#[derive(Debug, Args)]
pub struct EditArgs {
    /// Id, or its first four characters
    #[arg(value_name = "ID")]
    id: String,
    /// What it says
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// Heading
    #[arg(long, value_name = "TEXT")]
    topic: Option<String>,
    /// decision, fact, todo, preference, convention
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// transient, working, long-term
    #[arg(long, value_name = "LAYER")]
    layer: Option<String>,
    /// valid, rejected, done, superseded, lapsed
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// Holds until this day; `lasting` for no end
    #[arg(long, value_name = "YYYY-MM-DD")]
    until: Option<String>,
    /// A word to find it by; may be repeated; replaces those it has
    #[arg(long, short, value_name = "WORD")]
    keyword: Vec<String>,
    /// Never decays, comes first
    #[arg(long, value_name = "BOOL")]
    pin: Option<bool>,
}

/// The entry that an edited text holds, or what is wrong with it. Nothing that was typed may get lost silently: what cannot be
/// read, and what has no place in an entry, is named with its line.
fn one_entry(text: &str, old: &Memory) -> Result<Memory, String> {
    let document = Document::parse(text, old.layer);
    let entries: Vec<_> = document.entries().collect();
    let [one] = entries.as_slice() else { return Err(format!("it holds {} entries instead of one", entries.len())) };
    if let Some(problem) = document.problems().first() {
        return Err(match problem.line {
            Some(line) => format!("line {line}: {}", problem.detail),
            None => problem.detail.clone(),
        });
    }
    if one.entry.id.as_ref() != Some(&old.id) {
        return Err(format!("its YAML block with the line `id: {}` is gone", old.id));
    }
    match homeless(text, &one.entry.memory) {
        Some((line, what)) => Err(format!("line {line} has no place in an entry: {what}")),
        None => Ok(one.entry.memory.clone()),
    }
}

/// The first line outside the YAML block that the memory does not say, with its number.
fn homeless<'a>(text: &'a str, memory: &Memory) -> Option<(usize, &'a str)> {
    let bare = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
    let mut printed = Document::parse("", memory.layer);
    printed.insert(memory);
    let kept = bare(&printed.render());
    // A label may be typed in many ways; what stands behind it counts.
    let behind_label = |line: &str| line.split_once([':', '：']).is_some_and(|(_, rest)| kept.contains(&bare(rest)));
    let mut fenced = false;
    let outside = text.lines().enumerate().filter(|(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        // The heading for "no topic" is in the language of what the entry said before.
        let untitled = memory.topic.is_none() && line.strip_prefix("## ").is_some_and(|name| markdown::is_general(name.trim()));
        !fence && !fenced && !untitled
    });
    let mut lost = outside.filter(|(_, line)| !kept.contains(&bare(line)) && !behind_label(line));
    lost.next().map(|(at, line)| (at + 1, line.trim()))
}

/// What differs, as `name: old → new`.
pub(super) fn changes(old: &Memory, new: &Memory) -> Vec<String> {
    let shown = |text: String| if text.is_empty() { "nothing".to_owned() } else { text };
    let lines = differences(old, new).into_iter().map(|d| format!("{}: {} → {}", d.field, shown(d.old), shown(d.new)));
    lines.collect()
}

/// Opens an entry as Markdown, with remarks above it. Text that cannot be used stays in its file, and the file is named; the
/// draft is for the same, should what is done with the memory fail.
pub(super) fn in_editor(app: &App, old: &Memory, remarks: &[String]) -> Result<(Memory, Draft)> {
    let mut document = Document::parse("", old.layer);
    document.insert(old);
    let above: String = remarks.iter().map(|r| format!("<!-- {} -->\n", r.replace("-->", "--"))).collect();
    let (draft, after) = Draft::new("memory", &format!("{above}{}", document.render()))?.edit(app)?;
    let entry: String = after.split_inclusive('\n').filter(|line| !line.starts_with("<!--")).collect();
    let read = one_entry(&entry, old).map_err(|what| Error::failure(format!("the edited entry cannot be read: {what}")));
    match read.and_then(|memory| by_hand::check(&memory).map(|()| memory)) {
        Ok(memory) => Ok((memory, draft)),
        Err(error) => draft.or_kept(Err(error)),
    }
}

impl EditArgs {
    fn by_flags(&self, old: &Memory) -> Result<Memory> {
        let mut memory = old.clone();
        let usage = |what: &str, text: &str, hint: &str| Error::new(Kind::Usage, format!("`{text}` is no {what}")).hint(hint.to_owned());
        if let Some(summary) = &self.summary {
            memory.summary = summary.split_whitespace().collect::<Vec<_>>().join(" ");
        }
        if let Some(text) = &self.kind {
            memory.kind =
                model::Kind::parse(text).ok_or_else(|| usage("kind", text, "use decision, fact, todo, preference or convention"))?;
        }
        if let Some(text) = &self.layer {
            memory.layer = Layer::parse(text).ok_or_else(|| usage("layer", text, "use transient, working or long-term"))?;
        }
        if let Some(text) = &self.state {
            memory.state = State::parse(text).ok_or_else(|| usage("state", text, "use valid, rejected, done, superseded or lapsed"))?;
        }
        match self.until.as_deref() {
            Some("lasting") => memory.validity = Validity::Lasting,
            Some(text) => {
                let day = text.parse::<jiff::civil::Date>().map_err(|_| usage("day", text, "write it as YYYY-MM-DD"))?;
                memory.validity = Validity::Until(day.to_string());
            }
            None => {}
        }
        let given = |field: &Option<String>, old: Option<String>| field.clone().map(|t| Some(t).filter(|t| !t.is_empty())).unwrap_or(old);
        memory.reason = given(&self.why, memory.reason);
        memory.topic = given(&self.topic, memory.topic);
        if !self.keyword.is_empty() {
            memory.keywords = ground::keywords(&self.keyword, memory.topic.as_deref(), &memory.summary);
        }
        memory.pinned = self.pin.unwrap_or(memory.pinned);
        Ok(memory)
    }

    fn has_flags(&self) -> bool {
        let texts = [&self.summary, &self.why, &self.topic, &self.kind, &self.layer, &self.state, &self.until];
        texts.iter().any(|t| t.is_some()) || self.pin.is_some() || !self.keyword.is_empty()
    }

    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let store = app.store()?;
        let (snapshot, entry) = app.find(&store, &self.id)?;
        if self.has_flags() {
            let memory = self.by_flags(&entry.memory)?;
            by_hand::check(&memory)?;
            return change(app, &store, &snapshot, &entry, memory);
        }
        if !app.ui.can_ask() {
            return Err(Error::new(Kind::Usage, "there is no terminal to edit at").hint("use flags such as --summary TEXT"));
        }
        let (memory, draft) = in_editor(app, &entry.memory, &[])?;
        draft.or_kept(change(app, &store, &snapshot, &entry, memory))
    }
}

/// Puts an entry into other words, and says what differs.
fn change(app: &App, store: &Store, snapshot: &Snapshot, entry: &Entry, memory: Memory) -> Result<()> {
    if memory == entry.memory {
        app.ui.unchanged();
        return Ok(());
    }
    let memory = by_hand::own(&memory);
    if let Some(day) =
        memory.validity.until_date().filter(|day| *day < app.env.today().as_str() && memory.validity != entry.memory.validity)
    {
        app.ui.warn(&format!("{day} is past, so it will not be given to any conversation"));
    }
    app.update(store, &snapshot.project, &mut |now| {
        if now.entry(&memory.id).map(|e| &e.memory) != Some(&entry.memory) {
            return Err(Error::new(Kind::Busy, format!("{} was changed by somebody else meanwhile", memory.id))
                .hint("look at it with show, and edit again"));
        }
        let mut plan = app.plan(now, "edit");
        plan.changes.extend(by_hand::amend(now, &memory));
        Ok(plan)
    })?;
    if app.ui.wishes.json && !app.ui.wishes.dry_run {
        let (snapshot, entry) = app.find(store, memory.id.as_str())?;
        app.ui.object("edit", fields([("memories", json(&[record(&snapshot, &entry)])?)]));
        return Ok(());
    }
    let changed = changes(&entry.memory, &memory);
    app.ui.done("edit", fields([("changes", json(&changed)?)]), ("changed", "change"), &one_line(&app.ui, &memory));
    if !app.ui.wishes.json {
        for change in &changed {
            app.ui.report(&paint(style::DIM, &format!("  {}", app.ui.foreign(change))));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Id;

    fn memory() -> Memory {
        let mut memory = Memory::new(Id::from_bits(7), Layer::Working, model::Kind::Decision, "支付回调用订单号做唯一索引");
        memory.topic = Some("支付".into());
        memory.reason = Some("回调可能重复".into());
        memory
    }

    fn printed() -> String {
        let mut document = Document::parse("", Layer::Working);
        document.insert(&memory());
        document.render()
    }

    #[test]
    fn what_was_printed_is_read_back() {
        assert_eq!(one_entry(&printed(), &memory()), Ok(memory()));
        let relabelled = printed().replace("**Why:** 回调可能重复", "**原因：** 回调可能重复，也可能乱序");
        assert_eq!(one_entry(&relabelled, &memory()).unwrap().reason.as_deref(), Some("回调可能重复，也可能乱序"));
    }

    #[test]
    fn without_a_topic_it_may_change_its_language() {
        let english = Memory::new(Id::from_bits(7), Layer::Working, model::Kind::Fact, "Logs are kept for 30 days");
        let mut document = Document::parse("", Layer::Working);
        document.insert(&english);
        let text = document.render().replace(&english.summary, "日志保留三十天");
        assert_eq!(one_entry(&text, &english).map(|m| m.summary).as_deref(), Ok("日志保留三十天"));
    }

    #[test]
    fn nothing_typed_is_lost_silently() {
        for (text, says) in [
            (format!("a line above\n\n{}", printed()), "line 1 has no place in an entry: a line above"),
            (printed().replace("kind: decision", "kind: banana"), "banana"),
            (printed().replace("```yaml\n", ""), "YAML block"),
            (format!("{}\n一段说明\n", printed()), "一段说明"),
            (format!("{}\n## Another topic\n", printed()), "Another topic"),
            (String::new(), "0 entries"),
        ] {
            let refused = one_entry(&text, &memory()).unwrap_err();
            assert!(refused.contains(says), "{refused:?} does not say {says:?}");
        }
    }
}
