//! What the manifests of a repository promise: scripts by tool, and versions by name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use super::State;

/// Scripts and versions as the manifests at the top of a repository have them.
#[derive(Debug, Default)]
pub(super) struct Manifests {
    /// By tool; a tool that is not here has no manifest.
    scripts: BTreeMap<&'static str, BTreeSet<String>>,
    /// By name in lower case. Locked versions replace what a manifest asks for.
    versions: BTreeMap<String, String>,
}

impl Manifests {
    /// Reads what is there. A manifest that cannot be read says nothing.
    pub(super) fn read(folder: &Path) -> Self {
        let text = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
        let mut found = Self::default();
        if let Some(package) = text("package.json").and_then(|t| serde_json::from_str::<Value>(&t).ok()) {
            found.package_json(&package);
        }
        for name in ["Makefile", "makefile", "GNUmakefile"] {
            found.targets("make", text(name));
        }
        for name in ["justfile", "Justfile", ".justfile"] {
            found.targets("just", text(name));
        }
        if let Some(cargo) = text("Cargo.toml").and_then(|t| t.parse::<toml::Table>().ok()) {
            found.cargo_toml(&cargo);
        }
        if let Some(lock) = text("Cargo.lock").and_then(|t| t.parse::<toml::Table>().ok()) {
            found.locked(&lock);
        }
        for name in ["requirements.txt", "go.mod", ".tool-versions"] {
            found.lines(&text(name).unwrap_or_default());
        }
        for (file, name) in [(".nvmrc", "node"), (".node-version", "node"), (".python-version", "python"), ("rust-toolchain", "rust")] {
            let version = text(file).and_then(|t| plain(t.trim()));
            found.versions.extend(version.map(|v| (name.to_owned(), v)));
        }
        found
    }

    fn package_json(&mut self, package: &Value) {
        let names = package.get("scripts").and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name.clone());
        self.scripts.entry("npm").or_default().extend(names);
        for table in ["dependencies", "devDependencies", "peerDependencies", "engines"] {
            let rows = package.get(table).and_then(Value::as_object).into_iter().flatten();
            self.versions.extend(rows.filter_map(|(name, v)| Some((name.to_lowercase(), plain(v.as_str()?)?))));
        }
    }

    /// Targets of a Makefile, recipes of a justfile: a name at the start of a line, then a colon.
    fn targets(&mut self, tool: &'static str, text: Option<String>) {
        let Some(text) = text else { return };
        let names = text.lines().filter(|l| l.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')).filter_map(|line| {
            let (head, rest) = line.split_once(':')?;
            (!rest.starts_with('=')).then(|| head.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        });
        self.scripts.entry(tool).or_default().extend(names.flatten());
    }

    fn cargo_toml(&mut self, cargo: &toml::Table) {
        let version = |v: &toml::Value| v.as_str().or_else(|| v.get("version")?.as_str()).and_then(plain);
        let workspace = cargo.get("workspace").and_then(toml::Value::as_table);
        for table in [Some(cargo), workspace].into_iter().flatten() {
            for name in ["dependencies", "dev-dependencies", "build-dependencies"] {
                let rows = table.get(name).and_then(toml::Value::as_table).into_iter().flatten();
                self.versions.extend(rows.filter_map(|(name, v)| Some((name.to_lowercase(), version(v)?))));
            }
        }
        let rust = cargo.get("package").and_then(|p| p.get("rust-version")).and_then(version);
        self.versions.extend(rust.map(|v| ("rust".to_owned(), v)));
    }

    /// Exact versions of those that a manifest names.
    fn locked(&mut self, lock: &toml::Table) {
        for package in lock.get("package").and_then(toml::Value::as_array).into_iter().flatten() {
            let field = |name: &str| package.get(name).and_then(toml::Value::as_str);
            let (Some(name), Some(version)) = (field("name"), field("version")) else { continue };
            if let Some(asked) = self.versions.get_mut(name)
                && agree(asked, version)
            {
                version.clone_into(asked);
            }
        }
    }

    /// `name==1.2`, `name v1.2`, `require name v1.2`, `node 20.1`.
    fn lines(&mut self, text: &str) {
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default().trim().trim_start_matches("require ");
            let Some(at) = line.find(['=', '<', '>', '~', ' ']) else { continue };
            let (name, rest) = line.split_at(at);
            self.versions.extend(plain(rest).filter(|_| !name.is_empty()).map(|v| (name.to_lowercase(), v)));
        }
    }

    /// Whether a tool still has a script.
    pub(super) fn script(&self, tool: &str, name: &str) -> State {
        match self.scripts.get(tool) {
            Some(names) if names.contains(name) => State::Fresh,
            Some(_) => State::Gone,
            None => State::Unknown,
        }
    }

    /// Whether a version is still the one, and the present one if not.
    pub(super) fn version(&self, name: &str, version: &str) -> (State, Option<String>) {
        match self.versions.get(name) {
            Some(now) if agree(now, version) => (State::Fresh, None),
            Some(now) => (State::Changed, Some(now.clone())),
            None => (State::Unknown, None),
        }
    }
}

/// The number in a requirement: `^1.2.3` is `1.2.3`; `*`, paths and the like are none.
fn plain(text: &str) -> Option<String> {
    let text = text.trim().trim_start_matches(['^', '~', '=', 'v', '>', '<', ' ']);
    let number: String = text.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    let number = number.trim_end_matches('.');
    (!number.is_empty()).then(|| number.to_owned())
}

/// Whether two versions are one, as far as both go: `1.38` and `1.38.2`.
fn agree(a: &str, b: &str) -> bool {
    a.split('.').zip(b.split('.')).all(|(x, y)| x == y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_agree_as_far_as_both_go() {
        for (a, b, same) in [("1.38", "1.38.2", true), ("1", "1.40", true), ("1.38", "1.4", false), ("18.2.0", "19", false)] {
            assert_eq!(agree(a, b), same, "{a} {b}");
        }
    }

    #[test]
    fn requirements_have_a_number() {
        assert_eq!(plain("^18.2.0").as_deref(), Some("18.2.0"));
        assert_eq!(plain(">= 3.9, < 4").as_deref(), Some("3.9"));
        assert_eq!(plain("workspace:*"), None);
    }

    #[test]
    fn targets_are_names_before_a_colon() {
        let mut found = Manifests::default();
        found.targets("make", Some("CC := gcc\nall: build test\n\tcc x.c\ndeploy prod: all\n".to_owned()));
        assert_eq!(found.script("make", "deploy"), State::Fresh);
        assert_eq!(found.script("make", "prod"), State::Fresh);
        assert_eq!(found.script("make", "CC"), State::Gone);
        assert_eq!(found.script("just", "deploy"), State::Unknown);
    }
}
