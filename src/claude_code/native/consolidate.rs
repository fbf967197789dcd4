//! What could be mended in a memory folder: files that say the same become one, index lines fit their files, frontmatter can
//! be read. A proposal is an edit of whole files, to be shown as a diff; nothing that a file says is lost by one.
//!
//! Our own files and lines are export's business and stay.

use std::collections::BTreeMap;

use super::contradiction::contradicts;
use super::file::{File, Type};
use super::folder::Folder;
use super::index::{Index, Line, span};
use super::merge::merged;
use super::twins::Said;
use super::{INDEX, own_id};
use crate::claude_code::wiring::Edit;
use crate::model::Id;
use crate::text::{links, words};

/// One thing that would be mended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// Short stable code.
    pub code: &'static str,
    /// The file it is about.
    pub file: String,
    /// One sentence.
    pub says: String,
}

/// What is proposed, and the files as they would be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proposed {
    /// One by one.
    pub proposals: Vec<Proposal>,
    /// All of them together.
    pub edits: Vec<Edit>,
}

/// Looks for what could be mended.
pub fn propose(folder: &Folder) -> Proposed {
    let mut draft = Draft {
        files: folder.files.clone(),
        index: folder.index_text().to_owned(),
        newline: if folder.index_text().contains("\r\n") { "\r\n" } else { "\n" },
        proposals: Vec::new(),
    };
    draft.frontmatter();
    draft.mend_links();
    draft.merge_files();
    draft.merge_lines();
    draft.mend_index();
    let mut after: BTreeMap<&str, &str> = draft.files.iter().map(|f| (f.name.as_str(), f.text.as_str())).collect();
    let edit = |name: &str, now: Option<&str>, after: Option<&str>| Edit {
        path: folder.path.join(name),
        now: now.map(str::to_owned),
        after: after.map(str::to_owned),
        before: now.map(str::to_owned),
        note: None,
    };
    let mut edits: Vec<Edit> = folder.files.iter().map(|f| edit(&f.name, Some(&f.text), after.remove(f.name.as_str()))).collect();
    let index = Some(draft.index.as_str()).filter(|text| folder.index.is_some() || !text.is_empty());
    edits.push(edit(INDEX, folder.index.as_deref(), index));
    edits.retain(Edit::changes);
    Proposed { proposals: draft.proposals, edits }
}

/// The folder as it would be.
struct Draft {
    files: Vec<File>,
    index: String,
    newline: &'static str,
    proposals: Vec<Proposal>,
}

impl Draft {
    fn propose(&mut self, code: &'static str, file: &str, says: impl Into<String>) {
        self.proposals.push(Proposal { code, file: file.to_owned(), says: says.into() });
    }

    fn file(&self, name: &str) -> Option<&File> {
        self.files.iter().find(|f| f.name == name)
    }

    fn rewrite(&mut self, at: usize, text: &str) {
        let Some(file) = self.files.get_mut(at) else { return };
        *file = File::read(&file.name, text, file.day.clone());
    }

    /// Frontmatter that can be read, with a name and a type.
    fn frontmatter(&mut self) {
        for at in 0..self.files.len() {
            let Some(file) = self.files.get(at).filter(|f| own_id(&f.name).is_none() && !f.faults.is_empty()) else { continue };
            let (name, before) = (file.name.clone(), file.faults.len());
            let codes: Vec<&str> = file.faults.iter().map(|f| f.code).collect();
            let mended = mended(file);
            let better = File::read(&name, &mended, file.day.clone());
            if mended != file.text && better.faults.len() < before && better.body().trim_start() == file.body().trim_start() {
                self.rewrite(at, &mended);
                self.propose("frontmatter", &name, format!("its frontmatter becomes readable ({})", codes.join(", ")));
            }
        }
    }

    /// Files that say the same become the one that says more; what only the other says is put behind it.
    fn merge_files(&mut self) {
        let mut said: Vec<Said> = self.files.iter().map(Said::of).collect();
        let mut first = 0;
        while first < self.files.len() {
            let twin = (first + 1..self.files.len()).find(|second| {
                let ours = [first, *second].iter().any(|at| own_id(&self.files[*at].name).is_some());
                !ours && said[first].is(&said[*second])
            });
            let Some(second) = twin else {
                first += 1;
                continue;
            };
            let (stays, goes) =
                if self.files[second].body().len() > self.files[first].body().len() { (second, first) } else { (first, second) };
            let (keep, gone) = (self.files[stays].clone(), self.files[goes].clone());
            self.rewrite(stays, &merged(&keep, &gone));
            said[stays] = Said::of(&self.files[stays]);
            self.files.remove(goes);
            said.remove(goes);
            self.follow(&gone, &keep);
            self.propose("merge", &gone.name, format!("goes into {}, which says the same", keep.name));
        }
    }

    /// Links and index lines of a file that went lead to the one it went into.
    fn follow(&mut self, gone: &File, keep: &File) {
        for at in 0..self.files.len() {
            let mut text = self.files[at].text.clone();
            for link in [Some(gone.stem()), gone.slug.as_deref()].into_iter().flatten() {
                text = links::renamed(&text, &links::slug(link), keep.stem()).unwrap_or(text);
            }
            if text != self.files[at].text {
                self.rewrite(at, &text);
            }
        }
        let lines: Vec<Line> = Index::read(&self.index).lines.into_iter().filter(|l| l.file == gone.name).collect();
        for line in lines {
            self.set_line(line.number, Some(&line.text.replacen(&format!("({})", gone.name), &format!("({})", keep.name), 1)));
        }
    }

    /// One index line for each file; what each says stays.
    fn merge_lines(&mut self) {
        loop {
            let index = Index::read(&self.index);
            let twin = index.lines.iter().enumerate().find_map(|(n, line)| {
                let first = index.lines[..n].iter().find(|l| l.file == line.file && own_id(&l.file).is_none())?;
                Some((first.clone(), line.clone()))
            });
            let Some((first, second)) = twin else { break };
            // A hook that came in from another line stands behind a semicolon.
            let there: Vec<&str> = first.hook.split("; ").chain([first.hook.as_str(), first.title.as_str()]).collect();
            let more: Vec<&str> =
                [second.hook.as_str(), second.title.as_str()].into_iter().filter(|t| !t.is_empty() && !there.contains(t)).collect();
            self.set_line(second.number, None);
            if !more.is_empty() {
                let hook = if first.hook.is_empty() { more.join("; ") } else { format!("{}; {}", first.hook, more.join("; ")) };
                self.set_line(first.number, Some(&with_hook(&first, &hook)));
            }
            self.propose("index_twice", INDEX, format!("the two lines of {} become one", first.file));
        }
    }

    /// `[[links]]` and index lines that miss their file by a hyphen, a case or a prefix.
    fn mend_links(&mut self) {
        for at in 0..self.files.len() {
            let file = self.files[at].clone();
            let mut text = file.text.clone();
            let dead = |link: &String| Id::parse(link).is_none() && !self.files.iter().any(|f| f.is_called(link));
            let lost: Vec<String> = file.links().into_iter().map(|(_, link)| link).filter(dead).collect();
            for link in lost {
                let Some(meant) = self.meant(&link).filter(|_| own_id(&file.name).is_none()) else { continue };
                text = links::renamed(&text, &links::slug(&link), &meant).unwrap_or(text);
                self.propose("link", &file.name, format!("[[{link}]] becomes [[{meant}]]"));
            }
            if text != file.text {
                self.rewrite(at, &text);
            }
        }
        let lost: Vec<Line> =
            Index::read(&self.index).lines.into_iter().filter(|l| self.file(&l.file).is_none() && own_id(&l.file).is_none()).collect();
        for line in lost {
            let Some(meant) = self.meant(line.file.trim_end_matches(".md")) else { continue };
            self.set_line(line.number, Some(&line.text.replacen(&format!("({})", line.file), &format!("({meant}.md)"), 1)));
            self.propose("index_link", INDEX, format!("{} becomes {meant}.md", line.file));
        }
    }

    /// The one file that a link can mean.
    fn meant(&self, link: &str) -> Option<String> {
        let wanted = plain(link);
        let mut fits = self.files.iter().filter(|f| plain(f.stem()) == wanted || f.slug.as_deref().is_some_and(|s| plain(s) == wanted));
        let found = fits.next()?.stem().to_owned();
        fits.next().is_none().then_some(found)
    }

    /// An index line for each file, and none that contradicts it.
    fn mend_index(&mut self) {
        for line in Index::read(&self.index).lines {
            let Some(at) = self.files.iter().position(|f| f.name == line.file && own_id(&f.name).is_none()) else { continue };
            let file = &self.files[at];
            let (Some(why), Some(description)) = (contradicts(&line, file), file.description.clone()) else { continue };
            // The line may have said more than what was wrong with it, so its words go into the file.
            let newline = if file.text.contains("\r\n") { "\r\n" } else { "\n" };
            let gap = if file.text.ends_with('\n') { newline.to_owned() } else { newline.repeat(2) };
            let text = format!("{}{gap}{}{newline}", file.text, before(&line.hook));
            let name = file.name.clone();
            self.rewrite(at, &text);
            self.set_line(line.number, Some(&with_hook(&line, &description)));
            self.propose(
                "contradicts",
                INDEX,
                format!("the line of {name} says what the file says ({why}); its old words go into the file"),
            );
        }
        let index = Index::read(&self.index);
        let missing: Vec<(String, String)> = self
            .files
            .iter()
            .filter(|f| own_id(&f.name).is_none() && !index.leads_to(&f.name))
            .map(|f| (f.name.clone(), line_of(f)))
            .collect();
        for (name, line) in missing {
            if !self.index.is_empty() && !self.index.ends_with('\n') {
                self.index.push_str(self.newline);
            }
            self.index.push_str(&line);
            self.index.push_str(self.newline);
            self.propose("not_in_index", INDEX, format!("{name} gets a line"));
        }
    }

    /// Replaces or removes a line (1-based) of the index.
    fn set_line(&mut self, number: usize, text: Option<&str>) {
        let at = span(&self.index, number);
        let old = &self.index[at.clone()];
        let end = &old[old.trim_end_matches(['\n', '\r']).len()..];
        let mark = if number == 1 && old.starts_with('\u{feff}') { "\u{feff}" } else { "" };
        let new = text.map_or_else(|| mark.to_owned(), |text| format!("{mark}{}{end}", text.trim_start_matches('\u{feff}')));
        self.index.replace_range(at, &new);
    }
}

/// A link without what people and models mix up.
fn plain(link: &str) -> String {
    let link = link.to_lowercase().replace(['_', ' '], "-");
    let bare = Type::ALL.iter().find_map(|t| link.strip_prefix(t.name())?.strip_prefix('-'));
    bare.map(str::to_owned).unwrap_or(link)
}

/// An index line with another hook.
fn with_hook(line: &Line, hook: &str) -> String {
    let text = line.text.trim_end();
    match text.strip_suffix(line.hook.as_str()).filter(|_| !line.hook.is_empty()) {
        Some(head) => format!("{head}{hook}"),
        None => format!("{text} — {hook}"),
    }
}

/// What an index line said before, as a remark in its file.
fn before(hook: &str) -> String {
    match words::language(hook) {
        words::Language::Chinese => format!("索引行原来写的是：“{hook}”"),
        _ => format!("Its index line used to say: “{hook}”"),
    }
}

/// A new index line for a file.
fn line_of(file: &File) -> String {
    let title: String = file.stem().split(['-', '_']).filter(|w| !w.is_empty()).collect::<Vec<_>>().join(" ");
    let mut letters = title.chars();
    let title = letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect());
    format!("- [{title}]({}) — {}", file.name, words::clip(&file.statement().replace('\n', " "), words::MAX_WIDTH))
}

/// The type that a file's name tells.
fn named_type(file: &File) -> Option<Type> {
    Type::parse(file.stem().split(['-', '_']).next().unwrap_or_default())
}

/// A file with frontmatter that can be read; its text stays.
fn mended(file: &File) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    if file.head.is_empty() && file.faults.iter().any(|f| f.code == "no_frontmatter") {
        let kind = named_type(file).unwrap_or(Type::Project).name();
        let head = format!(
            "---\nname: {}\ndescription: {}\nmetadata:\n  type: {kind}\n---\n\n",
            quoted(file.stem()),
            quoted(&words::clip(&file.statement(), words::MAX_WIDTH))
        );
        return format!("{}{head}{}", &file.text[..file.body_at], file.body());
    }
    let has = |code: &str| file.faults.iter().any(|f| f.code == code);
    let mut head = String::new();
    for line in file.text[file.head.clone()].split_inclusive('\n') {
        let end = &line[line.trim_end().len()..];
        // What YAML takes for something else than text.
        let odd = |v: &str| {
            v.contains(": ") || v.contains(" #") || v.ends_with(':') || v.starts_with(['@', '`', '%', '&', '*', '!', '?', '#', '-', ','])
        };
        let open = |key: &str| line.strip_prefix(key).map(str::trim).filter(|v| odd(v) && !v.starts_with(['"', '\'']));
        match ["description: ", "name: "].into_iter().find_map(|key| Some((key, open(key)?))) {
            Some((key, value)) if has("bad_frontmatter") || has("cut_description") => {
                head.extend([key, quoted(value).as_str(), end]);
            }
            _ => head.push_str(line),
        }
    }
    if has("no_name") {
        head.insert_str(0, &format!("name: {}\n", quoted(file.stem())));
    }
    if let Some(kind) = named_type(file).filter(|_| has("no_type") && !head.contains("metadata:")) {
        head.extend(["metadata:\n  type: ", kind.name(), "\n"]);
    }
    format!("{}{head}{}", &file.text[..file.head.start], &file.text[file.head.end..])
}
