//! What a statement names of a code base: files, symbols, commands, versions. These can be looked up, so they can go stale.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

/// One thing that can be looked up in a repository.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mention {
    /// A file or folder: with a slash as it counts from the top, without one a name anywhere.
    Path(String),
    /// A function, type, field or variable.
    Symbol(String),
    /// A script that a tool runs: `npm run build`, `make deploy`, `just test`.
    Script {
        /// `npm`, `make`, `just`; the other package managers of Node count as `npm`.
        tool: &'static str,
        /// What it is called there.
        name: String,
    },
    /// A dependency or tool with its version: `serde 1.38`.
    Version {
        /// In lower case.
        name: String,
        /// As written, without `v`.
        version: String,
    },
}

impl Mention {
    /// As a person would write it.
    pub fn name(&self) -> String {
        match self {
            Self::Path(name) | Self::Symbol(name) => name.clone(),
            Self::Script { tool, name } if *tool == "npm" => format!("npm run {name}"),
            Self::Script { tool, name } => format!("{tool} {name}"),
            Self::Version { name, version } => format!("{name} {version}"),
        }
    }

    /// What sort of thing it is, for JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Path(_) => "file",
            Self::Symbol(_) => "symbol",
            Self::Script { .. } => "command",
            Self::Version { .. } => "version",
        }
    }
}

/// Endings of files that a name without a slash is taken for a file by. (`example.com` and `Node.js` are none.)
const ENDINGS: &[&str] = &[
    "rs", "py", "ts", "tsx", "js", "jsx", "mjs", "cjs", "go", "java", "kt", "kts", "swift", "c", "h", "cc", "cpp", "hpp", "cs", "rb",
    "php", "scala", "sql", "sh", "bash", "zsh", "ps1", "toml", "yaml", "yml", "json", "jsonc", "xml", "md", "mdx", "txt", "css", "scss",
    "html", "vue", "svelte", "proto", "graphql", "tf", "lock", "env", "ini", "cfg", "conf", "csv", "ipynb", "dart", "lua", "ex", "exs",
    "gradle",
];

/// Files that have no ending.
const BARE: &[&str] = &["Makefile", "Dockerfile", "Justfile", "justfile", "Procfile", "Gemfile", "Rakefile", "Jenkinsfile", "CODEOWNERS"];

/// What ends in `.js` and is a product.
const PRODUCTS: &[&str] =
    &["node", "vue", "next", "nuxt", "express", "three", "d3", "chart", "react", "angular", "ember", "moment", "alpine"];

static CODE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"`([^`\n]+)`").ok());
static SNAKE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\b[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+\b(?:\(\))?").ok());
static CALL: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\b([A-Za-z_][A-Za-z0-9_]{2,})\(\)").ok());
static SCRIPT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\b(?:(?:npm|pnpm|yarn|bun) run ([A-Za-z0-9:_-]+)|(make|just) ([A-Za-z0-9][A-Za-z0-9:_-]*))").ok());
static VERSION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let name = r"(@?[A-Za-z](?:[A-Za-z0-9/._-]*[A-Za-z])?)";
    let between = r"(?:\s*(?:@|==|>=|[:=^~])\s*v?|\s+(?:version\s+|v)?|\s*版本\s*)";
    Regex::new(&format!(r"{name}{between}([0-9]+(?:\.[0-9]+)*)")).ok()
});

/// Everything that a text names, without repeats.
pub fn mentions(text: &str) -> BTreeSet<Mention> {
    let mut found = paths(text);
    found.extend(symbols(text));
    found.extend(scripts(text));
    found.extend(versions(text));
    found
}

/// Only the files: what an injection looks at, since a look at a file costs next to nothing.
pub fn paths(text: &str) -> BTreeSet<Mention> {
    // An address keeps its `//` in one run; what stands before the colon is not looked at.
    let runs = text.split(|c: char| !c.is_ascii_alphanumeric() && !"_@.~/+-".contains(c)).filter(|run| !run.contains("//"));
    let mut found: BTreeSet<Mention> = runs.filter_map(path_of).map(Mention::Path).collect();
    if !text.is_ascii() {
        // A name in another script ends where a space, a quote or a mark stands.
        let ends = |c: char| c.is_whitespace() || "`'\"“”‘’「」《》()（）[]【】，。、：；！？,;:!?".contains(c);
        // 配置见config.toml is a sentence that ends in a file.
        let sentence = |name: &str| name.rsplit(|c: char| !c.is_ascii()).next().and_then(path_of).is_some();
        let names = text.split(ends).filter(|name| !name.is_ascii() && !name.contains("//") && !sentence(name));
        found.extend(names.filter_map(path_of).map(Mention::Path));
    }
    found
}

fn path_of(run: &str) -> Option<String> {
    let path = run.trim_end_matches(['.', '-', '+', '@']);
    let path = path.strip_prefix("./").unwrap_or(path);
    // Outside the repository, or a package name.
    if path.starts_with(['/', '~', '@', '-', '+']) || path.split('/').any(|part| part == "..") {
        return None;
    }
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    if BARE.contains(&name) {
        return Some(path.to_owned());
    }
    let (stem, ending) = name.rsplit_once('.').map_or((name, ""), |(stem, ending)| (stem, ending));
    let file = ENDINGS.contains(&ending.to_ascii_lowercase().as_str()) && (!stem.is_empty() || ending == "env");
    if path.contains('/') {
        // `read/write` is no folder; `src/pay/` is one.
        let folder = path.ends_with('/') && path.len() > 2;
        return (file || folder).then(|| path.to_owned());
    }
    let product = ending.eq_ignore_ascii_case("js") && PRODUCTS.contains(&stem.to_ascii_lowercase().as_str());
    (file && !product).then(|| path.to_owned())
}

/// Names in code spelling; a name with capitals inside may be a product (`GitHub`), so it counts only between backticks.
fn symbols(text: &str) -> BTreeSet<Mention> {
    let quoted = CODE.iter().flat_map(|p| p.captures_iter(text)).filter_map(|c| identifier(c.get(1)?.as_str()));
    let snake = SNAKE.iter().flat_map(|p| p.find_iter(text)).filter(|m| stands_alone(text, m.start(), m.end()));
    let snake = snake.map(|m| m.as_str().trim_end_matches("()").to_owned());
    let calls = CALL.iter().flat_map(|p| p.captures_iter(text)).filter_map(|c| Some(c.get(1)?.as_str().to_owned()));
    quoted.chain(snake).chain(calls).map(Mention::Symbol).collect()
}

/// Not a part of a path, an address or a longer name.
fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let before = text.get(..start).and_then(|t| t.chars().next_back());
    let after = text.get(end..).and_then(|t| t.chars().next());
    let joins = |c: Option<char>| c.is_some_and(|c| "/-@$".contains(c));
    let dotted = after == Some('.') && text.get(end + 1..).is_some_and(|t| t.starts_with(|c: char| c.is_ascii_alphanumeric()));
    !joins(before) && !joins(after) && !dotted && before != Some('.')
}

/// The last part of `a::b::Name`, `a.name` or `name()` if that is an identifier that one would search for.
fn identifier(code: &str) -> Option<String> {
    let code = code.trim().trim_end_matches("()");
    if path_of(code).is_some() || code.contains(' ') {
        return None;
    }
    let last = code.rsplit([':', '.', '#']).next()?;
    let plain =
        last.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && last.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let telling = last.contains('_') || last.chars().skip(1).any(|c| c.is_ascii_uppercase()) || code.contains("::");
    (plain && telling && last.len() >= 3).then(|| last.to_owned())
}

fn scripts(text: &str) -> BTreeSet<Mention> {
    let found = SCRIPT.iter().flat_map(|p| p.captures_iter(text));
    // "make sure", "just a": outside backticks these are English.
    let quoted = |at: usize| text.get(..at).is_some_and(|before| before.matches('`').count() % 2 == 1);
    found
        .filter_map(|c| {
            let (tool, name) = match (c.get(1), c.get(2), c.get(3)) {
                (Some(name), ..) => ("npm", name),
                (_, Some(tool), Some(name)) if quoted(name.start()) => (if tool.as_str() == "make" { "make" } else { "just" }, name),
                _ => return None,
            };
            Some(Mention::Script { tool, name: name.as_str().to_owned() })
        })
        .collect()
}

fn versions(text: &str) -> BTreeSet<Mention> {
    let found = VERSION.iter().flat_map(|p| p.captures_iter(text));
    found
        .filter_map(|c| {
            let (name, version) = (c.get(1)?.as_str(), c.get(2)?);
            // `2025-06-10`, `3/4`, `10k` are no versions.
            let after = text.get(version.end()..)?.chars().next();
            let cut = after.is_some_and(|c| c.is_ascii_alphanumeric() || "-/:%_".contains(c));
            (!cut && path_of(name).is_none())
                .then(|| Mention::Version { name: name.to_ascii_lowercase(), version: version.as_str().to_owned() })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str, kind: &str) -> Vec<String> {
        mentions(text).iter().filter(|m| m.kind() == kind).map(Mention::name).collect()
    }

    #[test]
    fn files_are_known_by_slash_and_ending() {
        for (text, want) in [
            ("Refunds live in src/pay/refund.rs, see docs/.", vec!["docs/", "src/pay/refund.rs"]),
            ("退款逻辑在src/pay/refund.rs里，配置见config.toml。", vec!["config.toml", "src/pay/refund.rs"]),
            ("`./scripts/deploy.sh:12` runs the Makefile", vec!["Makefile", "scripts/deploy.sh"]),
            ("返金は `app/payments.py` にある", vec!["app/payments.py"]),
            ("说明写在 文档.md 里，流程见“设计/支付 回调.md”和`设计/退款.md`", vec!["回调.md", "文档.md", "设计/退款.md"]),
            ("read/write, TCP/IP, Node.js, example.com, https://x.dev/a.html, /etc/hosts.conf, ~/x.md, ../up.rs, v1.2", vec![]),
        ] {
            assert_eq!(names(text, "file"), want, "{text}");
        }
    }

    #[test]
    fn symbols_are_known_by_their_spelling() {
        for (text, want) in [
            ("call verify_signature() before `PaymentGateway`", vec!["PaymentGateway", "verify_signature"]),
            ("用 `store::Snapshot` 和 retry_count", vec!["Snapshot", "retry_count"]),
            ("GitHub, PostgreSQL and `main` stay; snake_case.rs is a file, my_pkg/x.py too", vec![]),
        ] {
            assert_eq!(names(text, "symbol"), want, "{text}");
        }
    }

    #[test]
    fn commands_and_versions() {
        assert_eq!(
            names("run `make deploy` or pnpm run build:prod; just do it, make sure", "command"),
            ["make deploy", "npm run build:prod"]
        );
        assert_eq!(names("serde 1.38 on Node v20, react@18.2.0", "version"), ["node 20", "react 18.2.0", "serde 1.38"]);
        assert_eq!(names("升级到 Spring Boot 3.2", "version"), ["boot 3.2"]);
        assert!(names("on 2025-06-10 we had 10k users, 3/4 done", "version").is_empty());
    }
}
