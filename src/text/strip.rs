//! Blocks that are not words: code, tables, logs, quotes. Each leaves one line that says what stood there.
//!
//! Code is found by the spans of `pulldown-cmark`; tables, logs and quotes by lines. Inline code stays with its words.
//! Three decisions where Markdown and people differ:
//! - an indented block is code only if most of its lines look like code: people indent prose under list items;
//! - an unclosed fence ends at the first paragraph that reads like a sentence: Markdown would let it swallow the
//!   rest of a prompt, and the rest is usually what the person wants;
//! - a shell prompt or a comparison (`>= 3`) at the start of a line is no quote.
//!
//! Not here: tags (`tags`), secrets (`redact`).

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};

use crate::text::pasted::{is_code, is_error, is_machine, is_prose};
use crate::text::words::{clip, count};

/// A text without its blocks, and how many of each kind were taken out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stripped {
    /// The words, with one stub line for each block.
    pub text: String,
    /// Code blocks.
    pub blocks: u32,
    /// Tables.
    pub tables: u32,
    /// Logs, stack traces, terminal output.
    pub logs: u32,
    /// Quotes of foreign text.
    pub quotes: u32,
}

/// Words with which a stub begins.
const STUBS: &[&str] = &["code", "table", "log", "quote", "pasted", "data", "cut"];
/// Wide characters of an error line or a short paste that are kept in a stub.
const STUB_WIDTH: f64 = 100.0;
/// Lines of pasted text that are kept, marked as pasted.
const SHORT_PASTE: usize = 3;
/// Lines from which machine output counts as a log.
const LOG_LINES: usize = 3;
/// Characters of one unbroken word from which it is data (base64, minified code).
const DATA_CHARS: usize = 400;

/// A stub line: `[kind: detail]`.
pub fn stub(kind: &str, detail: &str) -> String {
    format!("[{kind}: {detail}]")
}

/// Whether a line stands for a block that was taken out: these are not the speaker's words.
pub fn is_stub_line(line: &str) -> bool {
    let line = line.trim().trim_start_matches(['-', '*', ' ']);
    line.strip_prefix('[')
        .and_then(|inner| inner.strip_suffix(']'))
        .and_then(|inner| inner.split_once(": "))
        .is_some_and(|(kind, _)| STUBS.contains(&kind))
}

/// Pasted text as one line: the words if there are at most three lines, else only their number.
pub fn paste(content: &str) -> String {
    let lines: Vec<&str> = content.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.len() > SHORT_PASTE {
        stub("pasted", &count(lines.len(), "line", "lines"))
    } else {
        stub("pasted", &clip(&lines.join(" / "), 2.0 * STUB_WIDTH))
    }
}

/// What a run of lines is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    Code,
    Table,
    Log,
    Quote,
    Data,
}

/// A block of whole lines.
struct Run {
    block: Block,
    first: usize,
    /// Behind the last line.
    end: usize,
    /// Language of the fence, or whatever stood there.
    info: String,
}

/// Takes the blocks out.
pub fn strip(text: &str) -> Stripped {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let lines: Vec<&str> = text.split('\n').collect();
    let mut runs = code_runs(&text, &lines);
    let mut taken = vec![false; lines.len()];
    mark(&runs, &mut taken);
    for find in [table_run, log_run, quote_run, data_run] {
        let more = line_runs(&lines, &taken, find);
        mark(&more, &mut taken);
        runs.extend(more);
    }
    runs.sort_by_key(|run| run.first);
    assemble(&lines, &runs)
}

fn mark(runs: &[Run], taken: &mut [bool]) {
    for run in runs {
        taken.iter_mut().take(run.end).skip(run.first).for_each(|line| *line = true);
    }
}

/// The text with stubs, blank lines folded, line ends trimmed.
fn assemble(lines: &[&str], runs: &[Run]) -> Stripped {
    let mut out = Stripped::default();
    let mut kept: Vec<String> = Vec::new();
    let (mut at, mut runs) = (0, runs.iter().peekable());
    while let Some(line) = lines.get(at) {
        if let Some(run) = runs.next_if(|run| run.first <= at) {
            if run.end <= at {
                continue;
            }
            *match run.block {
                Block::Code | Block::Data => &mut out.blocks,
                Block::Table => &mut out.tables,
                Block::Log => &mut out.logs,
                Block::Quote => &mut out.quotes,
            } += 1;
            kept.push(describe(run, lines.get(run.first..run.end).unwrap_or_default()));
            at = run.end;
            continue;
        }
        let line = line.trim_end();
        if !line.is_empty() || kept.last().is_some_and(|last| !last.is_empty()) {
            kept.push(line.to_owned());
        }
        at += 1;
    }
    out.text = kept.join("\n").trim_end().trim_start_matches('\n').to_owned();
    out
}

/// The stub of a block.
fn describe(run: &Run, lines: &[&str]) -> String {
    let error = || lines.iter().find(|line| is_error(line)).map(|line| one_line(line));
    let filled = lines.iter().filter(|line| !line.trim().is_empty()).count();
    match run.block {
        Block::Code => {
            let fenced = lines.first().is_some_and(|line| is_fence(line));
            let closed = fenced && lines.len() > 1 && lines.last().is_some_and(|line| is_fence(line));
            let inner = filled.saturating_sub(usize::from(fenced) + usize::from(closed));
            let mut parts: Vec<String> = Vec::new();
            let language = run.info.split([' ', ',', '{', ':']).next().unwrap_or_default();
            if !language.is_empty() && !language.contains(['/', '[', ']', '.']) {
                parts.push(clip(language, 12.0));
            }
            parts.push(count(inner, "line", "lines"));
            parts.extend(path_of(run, lines));
            parts.extend(error().filter(|_| language.is_empty() || language == "text" || language == "console"));
            stub("code", &parts.join(", "))
        }
        Block::Table => {
            let rows = lines.iter().filter(|line| !is_rule_row(line)).count();
            stub("table", &count(rows, "row", "rows"))
        }
        Block::Log => stub("log", &[Some(count(filled, "line", "lines")), error()].into_iter().flatten().collect::<Vec<_>>().join(", ")),
        Block::Quote => stub("quote", &count(filled, "line", "lines")),
        Block::Data => stub("data", &format!("{} characters", lines.iter().map(|line| line.chars().count()).sum::<usize>())),
    }
}

/// A line for a stub: short, without brackets or pipes that could be read as structure.
fn one_line(line: &str) -> String {
    let plain: String = line.trim().chars().map(|c| if matches!(c, '[' | ']' | '|' | '`' | '<' | '>') { ' ' } else { c }).collect();
    clip(&plain.split_whitespace().collect::<Vec<_>>().join(" "), STUB_WIDTH)
}

/// A path named by the fence or by a comment in the first line of code.
fn path_of(run: &Run, lines: &[&str]) -> Option<String> {
    let comment = lines
        .iter()
        .find(|line| !is_fence(line))
        .map(|line| line.trim())
        .filter(|line| ["//", "#", "--", "/*", "<!--"].iter().any(|c| line.starts_with(c)));
    [Some(run.info.as_str()), comment]
        .into_iter()
        .flatten()
        .flat_map(|text| {
            text.split(|c: char| {
                c.is_whitespace() || matches!(c, '"' | '\'' | '=' | ':' | ',' | '{' | '}' | '(' | ')' | '[' | ']' | '<' | '>')
            })
        })
        .find(|word| is_path(word))
        .map(|word| clip(word, STUB_WIDTH))
}

/// A relative or absolute path with a file extension.
fn is_path(word: &str) -> bool {
    let plain = |s: &str| !s.is_empty() && s.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '@' | '~' | '+'));
    word.rsplit_once('.').is_some_and(|(stem, ext)| {
        plain(stem)
            && stem.contains(char::is_alphabetic)
            && !word.starts_with("//")
            && (1..=6).contains(&ext.len())
            && ext.chars().all(|c| c.is_ascii_alphanumeric())
            && ext.starts_with(|c: char| c.is_ascii_alphabetic())
    })
}

fn is_fence(line: &str) -> bool {
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '>' | '-' | '*' | '+' | '.' | ')') || c.is_ascii_digit());
    line.starts_with("```") || line.starts_with("~~~")
}

/// Code by Markdown spans.
fn code_runs(text: &str, lines: &[&str]) -> Vec<Run> {
    if !(text.contains("```") || text.contains("~~~") || text.contains("    ") || text.contains('\t')) {
        return Vec::new();
    }
    let mut starts = Vec::with_capacity(lines.len());
    let mut at = 0;
    for line in lines {
        starts.push(at);
        at += line.len() + 1;
    }
    let line_of = |offset: usize| starts.partition_point(|&start| start <= offset).saturating_sub(1);
    let mut runs: Vec<Run> = Vec::new();
    for (event, range) in Parser::new_ext(text, Options::empty()).into_offset_iter() {
        let Event::Start(Tag::CodeBlock(kind)) = event else { continue };
        let first = line_of(range.start);
        let mut end = line_of(range.end.saturating_sub(1).max(range.start)) + 1;
        if lines.get(first).is_some_and(|line| is_quote(line)) || runs.last().is_some_and(|run| first < run.end) {
            continue;
        }
        let body = lines.get(first..end).unwrap_or_default();
        let info = match kind {
            CodeBlockKind::Fenced(info) => {
                if !is_closed(body) {
                    end = first + words_after(body);
                }
                info.trim().to_owned()
            }
            CodeBlockKind::Indented => {
                let filled = body.iter().filter(|line| !line.trim().is_empty());
                let code = filled.clone().filter(|line| is_code(line) || is_machine(line)).count();
                if code * 2 < filled.count() {
                    continue;
                }
                String::new()
            }
        };
        runs.push(Run { block: Block::Code, first, end, info });
    }
    runs
}

/// Whether a fenced block has its closing fence.
fn is_closed(body: &[&str]) -> bool {
    body.len() > 1 && body.last().is_some_and(|line| is_fence(line) && line.trim().chars().all(|c| matches!(c, '`' | '~' | '>' | ' ')))
}

/// Where the words begin again inside an unclosed fence: behind a blank line, at a line that reads like a sentence.
fn words_after(body: &[&str]) -> usize {
    (2..body.len())
        .find(|&at| {
            let (Some(before), Some(line)) = (body.get(at - 1), body.get(at)) else { return false };
            before.trim().is_empty() && !line.starts_with([' ', '\t']) && is_prose(line)
        })
        .unwrap_or(body.len())
}

/// Runs of free lines, found by a function that says how many of the given lines belong together from the first on.
fn line_runs(lines: &[&str], taken: &[bool], find: fn(&[&str]) -> Option<(Block, usize)>) -> Vec<Run> {
    let mut runs = Vec::new();
    let (mut at, mut free) = (0, 0);
    while at < lines.len() {
        if at >= free {
            free = at + taken.get(at..).unwrap_or_default().iter().take_while(|taken| !**taken).count();
        }
        match lines.get(at..free).and_then(find) {
            Some((block, length)) => {
                runs.push(Run { block, first: at, end: at + length, info: String::new() });
                at += length.max(1);
            }
            None => at += 1,
        }
    }
    runs
}

/// Two or more rows with cells: framed by `|`, or with a rule row below the head.
fn table_run(lines: &[&str]) -> Option<(Block, usize)> {
    let framed = |line: &&&str| {
        let line = line.trim();
        line.len() > 1 && line.starts_with('|') && line.ends_with('|')
    };
    let mut rows = lines.iter().take_while(framed).count();
    if rows < 2 && lines.first().is_some_and(|line| line.contains('|')) && lines.get(1).is_some_and(|line| is_rule_row(line)) {
        rows = lines.iter().take_while(|line| line.contains('|')).count();
    }
    (rows >= 2).then_some((Block::Table, rows))
}

/// The row of dashes below a table's head.
fn is_rule_row(line: &str) -> bool {
    line.contains('-') && line.contains('|') && line.chars().all(|c| matches!(c, '|' | '-' | ':' | '+' | ' ' | '\t'))
}

/// Three or more machine lines; blank, indented and up to two other lines between them belong to it.
fn log_run(lines: &[&str]) -> Option<(Block, usize)> {
    if !lines.first().is_some_and(|line| is_machine(line)) {
        return None;
    }
    let (mut machine, mut end, mut gap, mut diff) = (0, 0, 0, false);
    for (at, line) in lines.iter().enumerate() {
        diff |= line.starts_with("@@ ");
        if is_machine(line) || (diff && line.starts_with(['+', '-']) && !is_prose(line)) {
            machine += 1;
            end = at + 1;
            gap = 0;
        } else if is_stub_line(line) || (gap >= 2 && !line.starts_with([' ', '\t'])) || (!line.starts_with([' ', '\t']) && is_prose(line)) {
            break;
        } else {
            gap += usize::from(!line.starts_with([' ', '\t']));
        }
    }
    (machine >= LOG_LINES).then_some((Block::Log, end))
}

/// Lines quoted with `>`.
fn quote_run(lines: &[&str]) -> Option<(Block, usize)> {
    let length = lines.iter().take_while(|line| is_quote(line)).count();
    (length > 0).then_some((Block::Quote, length))
}

/// `> text`, `>text`, `>`; not `>= 3`, `>5 ms`.
fn is_quote(line: &str) -> bool {
    let bare = line.trim_start_matches(' ');
    line.len() - bare.len() <= 3
        && bare
            .strip_prefix('>')
            .is_some_and(|rest| rest.chars().next().is_none_or(|c| c == ' ' || c == '>' || c == '*' || c == '`' || c.is_alphabetic()))
}

/// One line with an endless word: base64, minified code.
fn data_run(lines: &[&str]) -> Option<(Block, usize)> {
    let endless =
        lines.first()?.split(|c: char| c.is_whitespace() || c == '，' || c == '。').any(|word| word.len() >= DATA_CHARS && word.is_ascii());
    endless.then_some((Block::Data, 1))
}
