//! The house rules that a machine can hold: sizes, layers, who may do what.

use std::path::{Path, PathBuf};

/// Rust files below a folder of the project.
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut folders = vec![root.join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("readable").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = std::fs::read_to_string(&path).expect("UTF-8");
                found.push((path.strip_prefix(root).expect("inside").to_owned(), text));
            }
        }
    }
    assert!(!found.is_empty(), "{folder} has no sources");
    found
}

#[test]
fn no_file_is_over_500_lines() {
    for folder in ["src", "tests"] {
        for (path, text) in sources(folder) {
            let lines = text.lines().count();
            assert!(lines <= 500, "{} has {lines} lines", path.display());
        }
    }
}

#[test]
fn every_file_says_what_it_is() {
    for (path, text) in sources("src") {
        assert!(text.starts_with("//!"), "{} begins without a module comment", path.display());
    }
}

/// Which modules a module may name with `crate::`; what is not listed here is free to use everything below `cli`.
const LAYERS: &[(&str, &[&str])] = &[
    ("src/error.rs", &[]),
    ("src/model", &["error", "model"]),
    ("src/text", &["error", "model", "text"]),
    ("src/transcript", &["error", "model", "text", "transcript"]),
    ("src/store", &["cores", "error", "model", "text", "store"]),
    ("src/foreign", &["error", "model", "text", "store", "foreign"]),
    ("src/extract", &["error", "env", "config", "model", "text", "extract", "store"]),
    ("src/reconcile", &["cores", "error", "model", "text", "extract", "store", "reconcile"]),
    ("src/recall", &["error", "model", "text", "store", "recall", "reconcile"]),
    ("src/mcp", &["error", "env", "config", "model", "text", "store", "extract", "reconcile", "recall", "pipeline", "mcp"]),
    (
        "src/pipeline",
        &[
            "error",
            "env",
            "config",
            "cores",
            "model",
            "text",
            "transcript",
            "foreign",
            "store",
            "extract",
            "reconcile",
            "recall",
            "repo",
            "pipeline",
        ],
    ),
    ("src/repo", &["text", "repo"]),
];

#[test]
fn uses_point_one_way() {
    let mut wrong = Vec::new();
    for (path, text) in sources("src") {
        let shown = path.display().to_string();
        let Some((_, allowed)) = LAYERS.iter().find(|(layer, _)| shown.starts_with(layer)) else { continue };
        for (number, line) in text.lines().enumerate() {
            for part in line.split("crate::").skip(1) {
                let names = part.strip_prefix('{').map_or_else(|| vec![part], |inner| inner.split(", ").collect());
                for name in names {
                    let name: String = name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                    if !name.is_empty() && !allowed.contains(&name.as_str()) && !line.trim_start().starts_with("//") {
                        wrong.push(format!("{shown}:{}: {name}", number + 1));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "a lower layer uses a higher one:\n{}", wrong.join("\n"));
}

/// Modules that do no I/O, read no clock and start nothing.
const PURE: &[&str] = &[
    "src/model",
    "src/text",
    "src/transcript",
    "src/foreign",
    "src/reconcile",
    "src/store/markdown",
    "src/extract/rules",
    "src/extract/ground",
    "src/recall",
];

#[test]
fn the_core_is_pure() {
    let mut wrong = Vec::new();
    for (path, text) in sources("src") {
        let shown = path.display().to_string();
        if !PURE.iter().any(|p| shown.starts_with(p)) || shown.ends_with("/tests.rs") {
            continue;
        }
        let product = text.split("#[cfg(test)]").next().unwrap_or_default();
        for word in ["std::fs", "std::env", "std::process", "std::net", "std::thread", "tokio", "reqwest", "Instant::now", "SystemTime"] {
            if product.contains(word) {
                wrong.push(format!("{shown}: {word}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn one_file_names_backoff_and_one_prints() {
    for (path, text) in sources("src") {
        let shown = path.display().to_string();
        assert!(!text.contains("use backoff") || shown == "src/extract/retry.rs", "{shown} names backoff");
        let prints =
            text.lines().any(|l| !l.trim_start().starts_with("//") && (l.contains("println!(") || l.contains("std::io::stdout()")));
        assert!(!prints || shown == "src/cli/ui/mod.rs", "{shown} prints");
    }
}

#[test]
fn every_dependency_says_why() {
    let manifest = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).expect("Cargo.toml");
    let mut inside = false;
    let mut previous = "";
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line.contains("dependencies]");
        } else if inside && line.contains(" = ") {
            assert!(previous.starts_with('#'), "no comment above: {line}");
        }
        previous = line;
    }
}
