//! What a single line looks like: machine output, code, or somebody's words. Guesses for text that has no Markdown
//! marks around it; every guess leans towards words, since a lost decision costs more than a kept log line.

use std::sync::LazyLock;

use regex::RegexSet;

use crate::text::words::is_cjk;

/// Beginnings of lines that machines write. Times need a time of day: a diary of decisions has dates too.
const MACHINE: &[&str] = &[
    // 2026-06-10T14:03:22Z, 2026-06-10 14:03:22,123, [2026/06/10 14:03:22], Jun 10 14:03:22, 10/Jun/2026:14:03:22, 14:03:22.123
    r"^[\[(]?\d{4}[-/]\d{2}[-/]\d{2}[T _]\d{2}:\d{2}",
    r"^(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) {1,2}\d{1,2} \d{2}:\d{2}:\d{2}",
    r"^[\[(]?\d{2}:\d{2}:\d{2}(?:[.,]\d+)?[\])]?\s",
    r"^\S+ \S+ \S+ \[\d{2}/[A-Z][a-z]{2}/\d{4}:",
    // levels
    r"^\[?\s{0,2}(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE)\s?[\]:|\s]",
    r"^(?:error|warning)(?:\[[A-Z0-9]+\])?: ",
    r"^(?:npm|pnpm|yarn) (?:ERR!|WARN|error|warn|notice)",
    r"^(?:E|W|I|D)/[\w.]+\(?",
    // stack traces
    r"^\s*at\s+[\w.$<>/ \[\]]+\(?.*[:(]\d*",
    r#"^\s*File ".+", line \d+"#,
    r"^Traceback \(most recent call last\)",
    r"^(?:Caused by|Exception in thread|Uncaught|Unhandled|panic|fatal error|thread '.*' panicked)\b",
    r"^[\w.]+(?:Error|Exception|Warning|Panic): ",
    r"^\s+\d+:\s+(?:0x[0-9a-f]+ - )?[\w<>:$ ]+(?:::|$)",
    r"^goroutine \d+ \[",
    r"^\s*\.\.\. \d+ (?:more|common frames)",
    r"^\s+\|$|^\s*\d+ \| |^\s+--> \S+:\d+",
    // terminals, builds, tests
    r"^(?:❯|➜|λ) \S",
    r"^\$ \S",
    r"^PS [A-Z]:\\",
    r"^[\w.-]+@[\w.-]+:\S*[$#] ",
    r"^\[\+\] Building|^ ?=> |^#\d+ (?:\[|DONE|CACHED|\d+\.\d+ )|^Step \d+/\d+ : |^ ---> ",
    r"^\s+(?:Compiling|Downloading|Downloaded|Checking|Finished|Running|Installing|Building|Updating|Fresh) \S+",
    r"^\d+\.\d{1,3} +(?:npm|yarn|pnpm|error|warn|#|\[|>)",
    r"^test \S+ \.\.\. (?:ok|FAILED|ignored)",
    r"^(?:PASS|FAIL|ok|---\s(?:PASS|FAIL):)\s+\S+[./]\S+",
    r"^\s*(?:✓|✗|✕|×|✔|✖) ",
    r"^[d-][rwx-]{9}[@+. ]",
    r"^(?:diff --git|index [0-9a-f]{7,}\.\.|@@ -\d+,?\d* \+\d+|\+\+\+ |--- [ab]/)",
];

/// Whether a line begins like a log record, a stack frame or terminal output.
pub fn is_machine(line: &str) -> bool {
    static SET: LazyLock<Option<RegexSet>> = LazyLock::new(|| RegexSet::new(MACHINE).ok());
    // Long lines are told by their beginning.
    let head = line.char_indices().nth(200).map_or(line, |(end, _)| line.get(..end).unwrap_or(line));
    SET.as_ref().is_some_and(|set| set.is_match(head))
}

/// Whether a line names an error; the first such line is worth keeping from a log.
pub fn is_error(line: &str) -> bool {
    let lower = line.to_lowercase();
    [
        "error",
        "err!",
        "exception",
        "panicked",
        "panic:",
        "fatal",
        "failed",
        "failure",
        "denied",
        "traceback",
        "错误",
        "异常",
        "失败",
        "拒绝",
        "エラー",
        "오류",
    ]
    .iter()
    .any(|word| lower.contains(word))
}

/// First words of lines of code in the usual languages.
const CODE_STARTS: &[&str] = &[
    "def ",
    "fn ",
    "pub ",
    "func ",
    "function ",
    "class ",
    "import ",
    "from ",
    "const ",
    "let mut ",
    "var ",
    "return ",
    "return;",
    "#include",
    "#!/",
    "#[",
    "@",
    "//",
    "/*",
    "*/",
    "<?php",
    "<!--",
    "use std",
    "package ",
    "struct ",
    "enum ",
    "impl ",
    "interface ",
    "public ",
    "private ",
    "protected ",
    "static ",
    "async ",
    "await ",
    "export ",
    "SELECT ",
    "INSERT ",
    "UPDATE ",
    "CREATE ",
    "ALTER ",
    "FROM ",
    "WHERE ",
    "}",
    "{",
    ")",
    "]",
    "$ ",
    "sudo ",
    "npm ",
    "npx ",
    "pip ",
    "cargo ",
    "git ",
    "docker ",
    "kubectl ",
    "curl ",
    "cd ",
    "else",
    "elif ",
    "try:",
    "except",
];

/// Whether a line looks like code rather than like words.
pub fn is_code(line: &str) -> bool {
    let line = line.trim();
    if line.is_empty() {
        return false;
    }
    let (mut letters, mut marks, mut cjk) = (0usize, 0usize, 0usize);
    for c in line.chars() {
        match c {
            c if is_cjk(c) => cjk += 1,
            '{' | '}' | '(' | ')' | '[' | ']' | ';' | '=' | '<' | '>' | '$' | '&' | '|' | '\\' | '_' | '+' | '%' => marks += 1,
            c if c.is_whitespace() => {}
            _ => letters += 1,
        }
    }
    if cjk * 3 > letters {
        return false;
    }
    CODE_STARTS.iter().any(|start| line.starts_with(start))
        || line.ends_with(['{', '}', ';', '\\'])
        || line.ends_with("):")
        || line.ends_with("=>")
        || marks * 8 >= letters + marks && marks >= 2
}

/// Whether a line reads like a sentence: a few words, and not like code or machine output.
pub fn is_prose(line: &str) -> bool {
    let words = line.split_whitespace().count();
    let cjk = line.chars().filter(|&c| is_cjk(c)).count();
    (words >= 3 || cjk >= 4) && !is_code(line) && !is_machine(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_and_people() {
        for line in [
            "2026-06-10T14:03:22Z INFO start",
            "[2026-06-10 14:03:22] pool exhausted",
            "ERROR: relation does not exist",
            "    at Object.<anonymous> (/app/x.js:3:5)",
            "  File \"a.py\", line 3, in f",
            "java.lang.NullPointerException: x",
            "error[E0382]: use of moved value",
            "[+] Building 1.3s (1/2)",
        ] {
            assert!(is_machine(line), "{line}");
        }
        for line in [
            "2026-06-10 we decided to use pgbouncer",
            "at the moment we use Redis",
            "Error handling must return a Result",
            "info about the deploy: it runs at night",
            "10:30 standup moved to Tuesday",
            "错误码统一用字符串",
        ] {
            assert!(!is_machine(line), "{line}");
        }
    }

    #[test]
    fn code_and_sentences() {
        for line in ["let x = f(1);", "    return a + b", "if (x) {", "SELECT * FROM t", "x = [i for i in range(3)]"] {
            assert!(is_code(line), "{line}");
        }
        for line in ["Let's go with order_no as the unique index.", "用订单号做唯一索引吧", "and the retry limit is 3 (not 5)"] {
            assert!(is_prose(line), "{line}");
        }
    }
}
