//! What memories name, against a repository with a history of known days.

use std::process::Command;

use serde_json::Value;

use crate::support::World;

/// A repository whose commits have days; `None`, and a word, where git is missing.
struct Repository(World);

impl Repository {
    #[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
    fn new() -> Option<Self> {
        if Command::new("git").arg("--version").output().is_err() {
            println!("skipped: git is not here");
            return None;
        }
        let repository = Self(World::new());
        repository.git("2026-01-01", &["init", "-q", "-b", "main", "."]);
        Some(repository)
    }

    fn git(&self, day: &str, args: &[&str]) {
        let time = format!("{day}T12:00:00Z");
        let mut git = Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]).args(args);
        git.current_dir(self.0.cwd()).env("GIT_AUTHOR_DATE", &time).env("GIT_COMMITTER_DATE", &time);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        let done = git.output().expect("git runs");
        assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
    }

    fn commit(&self, day: &str, files: &[(&str, &str)]) {
        for (name, content) in files {
            self.0.file(name, content);
        }
        self.git(day, &["add", "-A"]);
        self.git(day, &["commit", "-q", "-m", "change"]);
    }

    fn read(&self, args: &[&str]) -> String {
        let out = Command::new("git").args(args).current_dir(self.0.cwd()).output().expect("git runs");
        String::from_utf8(out.stdout).expect("UTF-8")
    }

    /// A commit on top that says it is signed.
    fn sign(&self, day: &str) {
        let head = self.read(&["cat-file", "commit", "HEAD"]);
        let (before, message) = head.split_once("\n\n").expect("a commit");
        let signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----";
        let object = self.0.file("commit.txt", format!("{before}\n{signature}\n\n{message}"));
        let id = self.read(&["hash-object", "-w", "-t", "commit", &object.to_string_lossy()]);
        self.git(day, &["update-ref", "HEAD", id.trim()]);
        std::fs::remove_file(object).expect("a file");
    }

    /// Takes away one object, as in a partial clone.
    fn lose(&self, name: &str) {
        let id = self.read(&["rev-parse", name]);
        let (folder, file) = id.trim().split_at(2);
        std::fs::remove_file(self.0.cwd().join(".git/objects").join(folder).join(file)).expect("an object");
    }

    /// Remembers something on a day, and gives its id.
    fn said(&self, day: &str, text: &str) -> String {
        let row = format!("{}\n", serde_json::json!({"summary": text, "kind": "fact", "created": format!("{day}T10:00:00Z")}));
        let ran = self.0.pipe(&["import", "--json", "-"], &row).ok().json();
        ran["memories"][0]["id"].as_str().expect("an id").to_owned()
    }

    fn check(&self) -> Vec<Value> {
        let ran = self.0.run(&["check", "--json"]).ok().json();
        ran["checked"].as_array().expect("rows").clone()
    }
}

fn states(row: &Value) -> Vec<String> {
    let mention = |m: &Value| format!("{} {}", m["name"].as_str().unwrap_or_default(), m["state"].as_str().unwrap_or_default());
    row["mentions"].as_array().expect("mentions").iter().map(mention).collect()
}

#[test]
fn what_is_named_is_fresh_changed_or_gone() {
    let Some(repository) = Repository::new() else { return };
    let files = [
        ("src/pay.rs", "pub fn verify_signature() {}\n"),
        ("src/old.rs", "pub fn legacy_hash() {}\n"),
        ("src/still.rs", "fn quiet_helper() {}\n"),
        ("package.json", r#"{"scripts": {"build": "tsc"}, "dependencies": {"react": "^18.2.0"}}"#),
    ];
    repository.commit("2026-02-01", &files);
    let pay = repository.said("2026-03-01", "回调校验在 src/pay.rs 的 verify_signature() 里");
    let old = repository.said("2026-03-01", "Hashes are made by legacy_hash in src/old.rs");
    let still = repository.said("2026-03-01", "quiet_helper lives in still.rs");
    let tools = repository.said("2026-03-01", "前端用 npm run build 和 npm run lint，React 17");
    let plan = repository.said("2026-03-01", "The importer will go to src/import.rs");
    repository.said("2026-03-01", "Deploys go out on Tuesdays");
    repository.commit("2026-04-02", &[("src/pay.rs", "pub fn verify_signature() { /* now with HMAC */ }\n")]);
    repository.git("2026-04-03", &["rm", "-q", "src/old.rs"]);
    repository.git("2026-04-03", &["commit", "-q", "-m", "drop"]);

    let rows = repository.check();
    let of = |id: &str| rows.iter().find(|r| r["id"] == id).unwrap_or_else(|| panic!("{id} in {rows:?}"));
    assert_eq!(rows.len(), 5, "what names nothing is not checked: {rows:?}");
    assert_eq!(states(of(&pay)), ["src/pay.rs changed", "verify_signature fresh"]);
    assert_eq!(of(&pay)["mentions"][0]["since"], "2026-04-02");
    assert_eq!(states(of(&old)), ["src/old.rs gone", "legacy_hash gone"]);
    assert_eq!(states(of(&still)), ["still.rs fresh", "quiet_helper fresh"]);
    assert_eq!(states(of(&tools)), ["npm run build fresh", "npm run lint gone", "react 17 changed"]);
    assert_eq!(of(&tools)["mentions"][2]["now"], "18.2.0");
    assert_eq!(states(of(&plan)), ["src/import.rs unknown"]);

    let shown = repository.0.run(&["check"]).ok();
    assert!(shown.out.contains("src/old.rs went on 2026-04-03, 33 days after this was said"), "{}", shown.out);
    assert!(shown.err.contains("1 fresh, 1 changed, 2 gone, 1 unknown"), "{}", shown.err);
    repository.0.run(&["check", "--exit-code"]).fails(1, "names what is not as it was".replace("names", "name").as_str());
    repository.0.run(&["check", "--exit-code", &still]).ok();
}

#[test]
fn an_injection_says_it_only_where_it_matters() {
    let Some(repository) = Repository::new() else { return };
    repository.commit("2026-02-01", &[("src/pay.rs", "one\n"), ("src/still.rs", "two\n"), ("src/old.rs", "three\n")]);
    repository.said("2026-03-01", "Refunds are in src/pay.rs");
    repository.said("2026-03-01", "Retries are in src/still.rs");
    repository.said("2026-03-01", "Hashes are in src/old.rs");
    let before = repository.0.run(&["inject", "--print"]).ok().out;
    assert!(!before.contains("since"), "{before}");

    repository.commit("2026-04-02", &[("src/pay.rs", "one more\n")]);
    repository.git("2026-04-03", &["rm", "-q", "src/old.rs"]);
    repository.git("2026-04-03", &["commit", "-q", "-m", "drop"]);
    let after = repository.0.run(&["inject", "--print"]).ok().out;
    assert!(after.contains("Refunds are in src/pay.rs (2026-03-01, 106 days old; names src/pay.rs, changed since)"), "{after}");
    assert!(after.contains("Retries are in src/still.rs (2026-03-01)"), "{after}");
    assert!(after.contains("names src/old.rs, gone since"), "{after}");
    assert_eq!(after, repository.0.run(&["inject", "--print"]).ok().out, "the same store, the same bytes");

    // The hook says the same, also from what it keeps between two starts.
    let input = format!(r#"{{"hook_event_name":"SessionStart","session_id":"s1","source":"startup","cwd":{:?}}}"#, repository.0.cwd());
    let start = || repository.0.pipe(&["hook", "SessionStart"], &input).ok().out;
    assert!(start().contains("names src/pay.rs, changed since"), "{}", start());
    std::fs::remove_file(repository.0.cwd().join("src/still.rs")).expect("a file");
    repository.git("2026-05-01", &["commit", "-q", "-am", "drop"]);
    assert!(start().contains("names src/still.rs, gone since"), "what was kept is made anew: {}", start());
    let prompt =
        input.replace("SessionStart", "UserPromptSubmit").replace(r#""source""#, r#""prompt":"are refunds still in src/pay.rs?","source""#);
    let told = repository.0.pipe(&["hook", "UserPromptSubmit"], &prompt.replace("s1", "s2")).ok().out;
    assert!(told.contains("names src/pay.rs, changed since"), "{told}");
}

/// What is typed by hand has a moment, so a change of the same day counts.
#[test]
fn a_change_of_the_same_day_counts() {
    let Some(repository) = Repository::new() else { return };
    repository.commit("2026-02-01", &[("a.txt", "one\n"), ("b.txt", "one\n"), ("c.txt", "one\n")]);
    let early = repository
        .0
        .pipe(&["import", "--json", "-"], "{\"summary\": \"See a.txt, b.txt and c.txt\", \"created\": \"2026-06-14T08:00:00Z\"}\n");
    early.ok();
    repository.git("2026-06-14", &["rm", "-q", "a.txt"]);
    repository.git("2026-06-14", &["commit", "-q", "-m", "drop"]);
    repository.0.file("b.txt", "two\n");
    let rows = repository.check();
    assert_eq!(states(&rows[0]), ["a.txt gone", "b.txt changed", "c.txt fresh"], "{rows:?}");
    std::fs::remove_file(repository.0.cwd().join("c.txt")).expect("a file");
    assert_eq!(states(&repository.check()[0]), ["a.txt gone", "b.txt changed", "c.txt gone"]);
}

#[test]
fn without_git_the_time_of_the_file_speaks() {
    let world = World::new();
    std::fs::remove_dir_all(world.cwd().join(".git")).expect("no repository");
    world.run(&["project", "init", "notes"]).ok();
    world.run(&["project", "bind", "notes"]).ok();
    world.file("plan.md", "the plan");
    let row = |day: &str| format!("{{\"summary\": \"The plan is in plan.md, see gone.md\", \"created\": \"{day}T10:00:00Z\"}}\n");
    world.pipe(&["import", "-"], &row("2020-01-01")).ok();
    let rows = world.run(&["check", "--json"]).ok().json();
    assert_eq!(states(&rows["checked"][0]), ["gone.md unknown", "plan.md changed"], "{rows}");
}

/// Settings and attributes that name programs: each would leave a file behind if it was run.
#[cfg(unix)]
#[test]
fn a_hostile_repository_runs_nothing() {
    let Some(repository) = Repository::new() else { return };
    let attributes = "*.rs diff=evil filter=evil\n";
    repository.commit("2026-02-01", &[("src/pay.rs", "fn missing_symbol() {}\n"), (".gitattributes", attributes)]);
    repository.commit("2026-02-02", &[("src/pay.rs", "one\n")]);
    repository.lose("HEAD~1:src/pay.rs");
    repository.sign("2026-02-03");
    repository.said("2026-01-15", "Signatures are checked by missing_symbol in src/pay.rs; --output=x.rs");
    let trap = repository.0.home().join("trapped");
    let touch = format!("touch {}", trap.display());
    let script = repository.0.file("evil.sh", format!("#!/bin/sh\n{touch}\nexit 1\n"));
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a script");
    let script = script.to_string_lossy();
    let settings = [
        ("core.fsmonitor", touch.as_str()),
        ("diff.evil.textconv", &touch),
        ("diff.evil.command", &touch),
        ("diff.external", &touch),
        ("filter.evil.clean", &touch),
        ("filter.evil.process", &touch),
        ("core.pager", &touch),
        ("log.showSignature", "true"),
        ("gpg.program", &script),
        // A partial clone, whose missing objects come from a program.
        ("core.repositoryformatversion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.url", "."),
        ("remote.origin.promisor", "true"),
        ("remote.origin.uploadpack", &touch),
    ];
    for (key, value) in settings {
        repository.git("2026-02-04", &["config", key, value]);
    }
    repository.0.file("src/pay.rs", "two\n");
    let rows = repository.check();
    assert!(states(&rows[0]).contains(&"src/pay.rs changed".to_owned()), "{rows:?}");
    repository.0.run(&["inject", "--print"]).ok();
    assert!(!trap.exists(), "something of the repository was run");
}

/// The notes of Claude Code's own memory are held against the repository like memories.
#[test]
fn notes_of_the_client() {
    let Some(repository) = Repository::new() else { return };
    repository.commit("2026-01-01", &[("src/pay.rs", "fn pay() {}"), ("src/gone.rs", "x"), ("src/same.rs", "x")]);
    std::fs::remove_file(repository.0.cwd().join("src/gone.rs")).expect("removed");
    repository.commit("2026-06-05", &[("src/pay.rs", "fn pay_all() {}")]);
    let head = "name: a\ndescription: 支付在 `src/pay.rs`，`src/gone.rs` 和 `src/same.rs`\nmetadata:\n  type: project\nmodified: 2026-06-01T10:00:00Z";
    repository.0.file("notes/a.md", format!("---\n{head}\n---\n"));
    repository.0.file("notes/MEMORY.md", "- [A](a.md) — 支付\n");
    let ran = repository.0.run(&["native", "--dir", "notes", "check", "--repo", "."]).fails(1, "1 fault was found");
    assert!(ran.out.contains("a.md:3: names src/gone.rs, which is not there any more"), "{}", ran.out);
    assert!(ran.out.contains("a.md:3: 14 days old; names src/pay.rs, changed since"), "{}", ran.out);
    assert!(!ran.out.contains("src/same.rs"), "{}", ran.out);
}
