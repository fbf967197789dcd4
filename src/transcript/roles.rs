//! Role names and role lines: `User:`, `**Assistant:**`, `## 👤 User`, `用户：` … as one table for every text format.

use crate::model::Speaker;

/// How sure a name is: weak ones (`Q`, `A`, `问`, `答`) also begin ordinary lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// Only ever a role.
    Strong,
    /// A role only in files that begin with such a name.
    Weak,
}

use Name::{Strong, Weak};
use Speaker::{Assistant, Harness, Tool, User};

/// Names in lower case, whose they are, and how sure.
const NAMES: &[(&str, Speaker, Name)] = &[
    ("user", User, Strong),
    ("human", User, Strong),
    ("me", User, Strong),
    ("you", User, Strong),
    ("you said", User, Strong),
    ("prompt", User, Weak),
    ("q", User, Weak),
    ("用户", User, Strong),
    ("使用者", User, Strong),
    ("用戶", User, Strong),
    ("人类", User, Strong),
    ("我", User, Strong),
    ("你说", User, Strong),
    ("提问", User, Strong),
    ("问", User, Weak),
    ("ユーザー", User, Strong),
    ("ユーザ", User, Strong),
    ("사용자", User, Strong),
    ("나", User, Weak),
    ("assistant", Assistant, Strong),
    ("claude", Assistant, Strong),
    ("claude code", Assistant, Strong),
    ("ai", Assistant, Strong),
    ("chatgpt", Assistant, Strong),
    ("chatgpt said", Assistant, Strong),
    ("gpt", Assistant, Strong),
    ("gpt-4", Assistant, Strong),
    ("gemini", Assistant, Strong),
    ("agent", Assistant, Strong),
    ("bot", Assistant, Strong),
    ("model", Assistant, Weak),
    ("response", Assistant, Weak),
    ("a", Assistant, Weak),
    ("助手", Assistant, Strong),
    ("助理", Assistant, Strong),
    ("机器人", Assistant, Strong),
    ("回答", Assistant, Strong),
    ("答", Assistant, Weak),
    ("アシスタント", Assistant, Strong),
    ("어시스턴트", Assistant, Strong),
    ("tool", Tool, Strong),
    ("tool result", Tool, Strong),
    ("tool_result", Tool, Strong),
    ("function", Tool, Weak),
    ("工具", Tool, Strong),
    ("ツール", Tool, Strong),
    ("도구", Tool, Strong),
    ("system", Harness, Strong),
    ("系统", Harness, Strong),
    ("developer", Harness, Weak),
];

/// The speaker of a role name in a message object.
pub fn speaker(name: &str) -> Option<Speaker> {
    find(name).map(|(speaker, _)| speaker)
}

fn find(name: &str) -> Option<(Speaker, Name)> {
    let name = name.trim().to_lowercase();
    NAMES.iter().find(|(n, ..)| *n == name).map(|(_, speaker, sure)| (*speaker, *sure))
}

/// How a role line is written. The first one of a file decides for the whole file, so that other lines that look
/// like roles stay content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// `## User`, with this many `#`.
    Heading(u8),
    /// `**User:**` or `**User**` alone.
    Bold,
    /// `User: words`.
    Colon,
}

/// A line that begins a turn.
#[derive(Debug, PartialEq, Eq)]
pub struct RoleLine<'a> {
    /// Whose turn.
    pub speaker: Speaker,
    /// How it is written.
    pub style: Style,
    /// How sure its name is.
    pub name: Name,
    /// Words behind the name on the same line.
    pub rest: &'a str,
    /// A time in parentheses behind the name.
    pub time: Option<&'a str>,
}

/// Reads a role line; up to three spaces may stand before it.
pub fn role_line(line: &str) -> Option<RoleLine<'_>> {
    let text = line.trim_start_matches(' ');
    if line.len() - text.len() > 3 {
        return None;
    }
    let hashes = text.bytes().take_while(|b| *b == b'#').count();
    let text = text.get(hashes..)?;
    if hashes > 0 && !text.starts_with(' ') {
        return None;
    }
    let text = text.trim_start().trim_start_matches(is_picture).trim_start();
    let bold = text.starts_with("**");
    let text = text.trim_start_matches('*').trim_start_matches(is_picture).trim_start();
    // The name ends at a colon, at the closing stars, at a time in parentheses, or with the line.
    let end = text.find([':', '：', '*', '(', '（']).unwrap_or(text.len());
    let (speaker, name) = find(text.get(..end)?)?;
    let mut rest = text.get(end..)?.trim_start_matches('*');
    let mut time = None;
    if let Some(inside) = rest.strip_prefix('(').or_else(|| rest.strip_prefix('（')) {
        let (inner, behind) = inside.split_once([')', '）'])?;
        time = Some(inner.trim());
        rest = behind.trim_start_matches('*');
    }
    let colon = rest.starts_with([':', '：']);
    let rest = rest.trim_start_matches([':', '：', '*']).trim();
    // `**Tool: Read**`: the closing stars are those before the name.
    let rest = rest.strip_suffix("**").filter(|inner| bold && !inner.contains("**")).unwrap_or(rest);
    let style = match (hashes, bold) {
        (0, true) if colon || rest.is_empty() || text.get(end..)?.trim_start_matches('*').starts_with([':', '：']) => Style::Bold,
        (0, false) if colon => Style::Colon,
        (0, _) => return None,
        // A heading that goes on is a heading of the text.
        (n, _) if rest.is_empty() || colon => Style::Heading(u8::try_from(n).unwrap_or(u8::MAX)),
        _ => return None,
    };
    Some(RoleLine { speaker, style, name, rest, time })
}

/// Pictures that exporters put before a name, with their joiners.
fn is_picture(c: char) -> bool {
    matches!(c, '\u{1f300}'..='\u{1faff}' | '\u{2600}'..='\u{27bf}' | '\u{fe0f}' | '\u{200d}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn role_lines_of_many_hands() {
        let cases = [
            ("User: hello", Some((User, Style::Colon, "hello"))),
            ("用户：你好", Some((User, Style::Colon, "你好"))),
            ("助手:", Some((Assistant, Style::Colon, ""))),
            ("**Human:** hi", Some((User, Style::Bold, "hi"))),
            ("**Tool: Read**", Some((Tool, Style::Bold, "Read"))),
            ("**Assistant**: hi", Some((Assistant, Style::Bold, "hi"))),
            ("## 👤 User", Some((User, Style::Heading(2), ""))),
            ("  ## 🤖 **Claude**", Some((Assistant, Style::Heading(2), ""))),
            ("### User (2026-01-05)", Some((User, Style::Heading(3), ""))),
            ("ユーザー：はい", Some((User, Style::Colon, "はい"))),
            ("사용자: 네", Some((User, Style::Colon, "네"))),
            ("## User stories", None),
            ("## Summary", None),
            ("**User** stories are fine", None),
            ("User stories: three", None),
            ("#user: x", None),
            ("     User: code", None),
            ("", None),
        ];
        for (line, expected) in cases {
            let found = role_line(line);
            assert_eq!(found.as_ref().map(|r| (r.speaker, r.style, r.rest)), expected, "{line}");
        }
        assert_eq!(role_line("**User (2026-01-05 10:00)**").and_then(|r| r.time), Some("2026-01-05 10:00"));
    }
}
