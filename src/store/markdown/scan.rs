//! Lines of Markdown: which are headings, which are inside a code block or a comment. Knows nothing of memories.

/// The lines of a text with their endings; joined they are the text.
pub(super) fn lines(text: &str) -> Vec<&str> {
    let mut start = 0;
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1).chain([text.len()]);
    let lines = ends.filter_map(|end| text.get(std::mem::replace(&mut start, end)..end));
    lines.filter(|line| !line.is_empty()).collect()
}

/// Whether a line shows nothing.
pub(super) fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

/// A line without its ending.
pub(super) fn bare(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// The line ending of the first line that has one; `\n` if none has.
pub(super) fn newline_of(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// Whether a line can begin a heading, a code block or a comment: most cannot, and are told by their first byte.
pub(super) fn may_open(line: &str) -> bool {
    matches!(line.as_bytes().first(), Some(b' ' | b'#' | b'`' | b'~' | b'<'))
}

/// A line without the up to three spaces that Markdown lets stand before a block.
fn unindented(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(' ');
    (line.len() - rest.len() <= 3).then_some(rest)
}

/// Level and text of an ATX heading. Closing `#`s stay in the text: a summary may end in `C#`.
pub(super) fn heading(line: &str) -> Option<(usize, &str)> {
    let rest = unindented(line)?;
    let text = rest.trim_start_matches('#');
    let level = rest.len() - text.len();
    ((1..=6).contains(&level) && (text.starts_with([' ', '\t', '\r', '\n']) || text.is_empty())).then(|| (level, text.trim()))
}

/// A fence line: its character, its length and what follows.
#[derive(Clone, Copy)]
struct Fence<'a> {
    mark: char,
    length: usize,
    info: &'a str,
}

fn fence(line: &str) -> Option<Fence<'_>> {
    let rest = unindented(line)?;
    let mark = rest.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let info = rest.trim_start_matches(mark);
    let length = rest.len() - info.len();
    let info = info.trim();
    (length >= 3 && !(mark == '`' && info.contains('`'))).then_some(Fence { mark, length, info })
}

/// Whether a line opens a YAML block.
pub(super) fn opens_yaml(line: &str) -> bool {
    fence(line).is_some_and(|f| is_yaml(f.info))
}

fn is_yaml(info: &str) -> bool {
    let word = info.split(|c: char| c.is_whitespace() || c == '{').next().unwrap_or_default();
    word.eq_ignore_ascii_case("yaml") || word.eq_ignore_ascii_case("yml")
}

/// Where a fence ends.
enum End {
    At(usize),
    /// An entry's heading with its own YAML block stands before any end.
    Cut,
    /// Not before the end of the text.
    Never,
}

/// Looks for the end of the fence opened at `open`. A fence without an end is no fence: it would swallow every entry
/// behind it.
fn closing(lines: &[&str], open: usize, opener: Fence<'_>) -> End {
    let mut above = "";
    for (at, line) in lines.iter().enumerate().skip(open + 1) {
        if let Some(f) = fence(line).filter(|f| f.mark == opener.mark && f.length >= opener.length) {
            if f.info.is_empty() {
                return End::At(at);
            }
            if is_yaml(f.info) && heading(above).is_some_and(|(level, _)| level == 3) {
                return End::Cut;
            }
        }
        if !is_blank(line) {
            above = line;
        }
    }
    End::Never
}

/// What is known to have no end further down, so that a text full of openers is not searched again and again.
#[derive(Default)]
pub(super) struct Unclosed {
    fence: Option<(char, usize)>,
    comment: bool,
}

/// If the line `at` opens a code block or a comment: the last line of it.
pub(super) fn block_end(lines: &[&str], at: usize, unclosed: &mut Unclosed) -> Option<usize> {
    let line = lines.get(at).filter(|line| may_open(line))?;
    if let Some(f) = fence(line) {
        if unclosed.fence.is_some_and(|(mark, length)| mark == f.mark && f.length >= length) {
            return None;
        }
        return match closing(lines, at, f) {
            End::At(end) => Some(end),
            End::Cut => None,
            End::Never => {
                unclosed.fence = Some((f.mark, f.length));
                None
            }
        };
    }
    let comment = unindented(line)?.strip_prefix("<!--")?;
    if comment.contains("-->") {
        return Some(at);
    }
    if unclosed.comment {
        return None;
    }
    let end = lines.iter().skip(at + 1).position(|l| l.contains("-->")).map(|n| at + 1 + n);
    unclosed.comment = end.is_none();
    end
}
