//! Killed at every step: old or new, never mixed. Needs `--features crash-test`.
//!
//! The test starts its own binary again as a child that makes one commit and aborts at the named step. The child is the
//! test `child`, which does nothing unless the variables are set.
#![expect(clippy::disallowed_methods, reason = "tests play the user who edits files by hand, and talk to their child by variables")]
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use claude_mem::model::{Change, Id, Layer, Memory, Plan, RelationType};
use claude_mem::store::{Snapshot, Store, disk};

use crate::store::{AT, content, id, ids, memory, open, tree};

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// A small generator, so that a round can be repeated by its number.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below.max(1)
    }
}

/// Random changes that fit a project; with the seed 0, one new entry in each layer.
fn changes(s: &Snapshot, dice: &mut Dice) -> Vec<Change> {
    if dice.0 == 0 {
        let n = s.entries.len() as u64;
        let new = |layer: &Layer| Memory { layer: *layer, ..memory(n + 1 + *layer as u64, "a", "one more") };
        return Layer::ALL.iter().map(|layer| Change::Add(new(layer))).collect();
    }
    let mut changes = Vec::new();
    let mut left: Vec<Memory> = s.entries.iter().map(|e| e.memory.clone()).collect();
    for _ in 0..=dice.roll(4) {
        let pick = dice.roll(left.len() as u64) as usize;
        let what = if left.len() < 3 { 0 } else { dice.roll(6) };
        if what <= 2 {
            let mut new = memory(dice.roll(u64::MAX >> 20) + 1, ["订单", "部署", "Build"][dice.roll(3) as usize], "");
            new.summary = format!("条目 number {}", dice.roll(1_000_000));
            new.layer = Layer::ALL[dice.roll(3) as usize];
            new.session = Some(format!("2025-06-1{}-1234abcd", dice.roll(5)));
            changes.push(Change::Add(new));
        } else {
            let mut old = left.swap_remove(pick);
            changes.push(match what {
                3 => {
                    old.reason = Some(format!("原因 {}", dice.roll(1000)));
                    old.layer = Layer::ALL[dice.roll(3) as usize];
                    Change::Amend(old)
                }
                4 => Change::Forget { id: old.id, tombstone: None },
                _ if left.len() > 1 => {
                    let other = left.swap_remove(0);
                    Change::Conflict { older: old.id, newer: other.id, reason: "r".into(), supersedes: false }
                }
                _ => Change::Archive { id: old.id },
            });
        }
    }
    changes
}

fn run(store: &Store, seed: u64) {
    let mut dice = Dice(seed);
    let make = &mut |s: &Snapshot| Ok(Plan { changes: changes(s, &mut dice), ..Plan::new("p", s.base.clone(), "test", AT) });
    store.update("p", AT, &ids(), make).unwrap();
}

#[test]
fn child() {
    let Some(home) = variable("CRASH_TEST_HOME") else { return };
    if let Some(at) = variable("CLAUDE_MEM_CRASH_AT") {
        disk::crash_at(Some(&at));
    }
    let number = |name| variable(name).and_then(|n| n.parse::<u64>().ok());
    let store = open(Path::new(&home));
    if let Some(count) = number("CRASH_TEST_REMEMBER") {
        let base = number("CRASH_TEST_SEED").unwrap() * 1000;
        for n in 1..=count {
            let add = Change::Add(memory(base + n, "a", &format!("memory {base} {n}")));
            let make = &mut |s: &Snapshot| Ok(Plan { changes: vec![add.clone()], ..Plan::new("p", s.base.clone(), "remember", AT) });
            store.update("p", AT, &ids(), make).unwrap();
        }
    } else if variable("CRASH_TEST_OPEN").is_none() {
        run(&store, number("CRASH_TEST_SEED").unwrap());
    }
}

/// This binary as a child: `Command` for one more `child` run.
fn child_command(home: &Path, seed: u64) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["crash::child", "--exact", "--nocapture"]).env("CRASH_TEST_HOME", home).env("CRASH_TEST_SEED", seed.to_string());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn copy(from: &Path, to: &Path) {
    for (name, bytes) in tree(from) {
        let path = to.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// What must hold after a crash and the next start; gives the content.
fn settled(home: &Path) -> BTreeMap<String, Vec<u8>> {
    let opened = Store::open(home, AT).unwrap();
    assert!(!home.join(".state/journal/commit.json").exists());
    let s = opened.store.snapshot("p").unwrap();
    assert!(s.problems.is_empty(), "{:?}", s.problems);
    let listed: Vec<&str> = s.catalogue.memories.iter().filter(|(_, m)| !m.file.contains("archive")).map(|(id, _)| id).collect();
    let mut there: Vec<&str> = s.entries.iter().map(|e| e.memory.id.as_str()).collect();
    there.sort_unstable();
    assert_eq!(listed, there, "catalogue and Markdown move together");
    for entry in &s.entries {
        for other in entry.memory.related(RelationType::Conflicts) {
            let back = s.entry(other).is_none_or(|o| o.memory.related(RelationType::Conflicts).any(|i: &Id| *i == entry.memory.id));
            assert!(back, "a link on both sides or on none");
        }
    }
    content(home)
}

/// 200 rounds (`CRASH_TEST_ROUNDS`) of random edits, each killed at a step that moves on with the round; every tenth round the
/// recovery is killed as well.
#[test]
fn old_or_new_never_mixed() {
    let rounds: u64 = variable("CRASH_TEST_ROUNDS").and_then(|n| n.parse().ok()).unwrap_or(200);
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    let (mut kept_old, mut went_on, mut step) = (0, 0, 0);
    for round in 1..=rounds {
        let scratch = tempfile::tempdir().unwrap();
        let new_home = scratch.path().canonicalize().unwrap();
        copy(&home, &new_home);
        run(&open(&new_home), round);
        let (old, new) = (content(&home), content(&new_home));

        step += 1;
        let status = child_command(&home, round).env("CLAUDE_MEM_CRASH_AT", step.to_string()).status().unwrap();
        if status.success() {
            // There were fewer steps than this one: begin again with the first.
            step = 0;
        }
        if round % 10 == 0 {
            for at in 1..=6 {
                let mut again = child_command(&home, round);
                again.env("CRASH_TEST_OPEN", "1").env("CLAUDE_MEM_CRASH_AT", at.to_string()).status().unwrap();
            }
        }
        let now = settled(&home);
        assert!(now == old || now == new, "round {round}, step {step}: neither old nor new");
        assert!(status.success() == (step == 0));
        if now == new {
            went_on += 1;
        } else {
            kept_old += 1;
            // What was cut off can simply be done again.
            run(&open(&home), round);
            assert_eq!(settled(&home), new);
        }
    }
    println!("{rounds} rounds: {kept_old} kept the old state, {went_on} have the new one");
    assert!(rounds < 100 || (kept_old > 20 && went_on > 20), "{kept_old} old, {went_on} new: the steps were not all met");
}

/// Every step by its name, so that the list in the documentation is a tested one.
#[test]
fn every_named_step() {
    const BEFORE: &[&str] = &["locked", "half a file", "half a file:2", "copied", "copied:2", "staged", "staged:2", "journal staged"];
    const AFTER: &[&str] = &["journaled", "backup", "backup:2", "swapped", "swapped:2", "synced", "checked", "closed", "trimmed"];
    let start = tempfile::tempdir().unwrap();
    run(&open(start.path()), 0);
    let twin = tempfile::tempdir().unwrap();
    copy(start.path(), twin.path());
    run(&open(twin.path()), 0);
    for (names, goal) in [(BEFORE, start.path()), (AFTER, twin.path())] {
        for name in names {
            let home = tempfile::tempdir().unwrap();
            copy(start.path(), home.path());
            let status = child_command(home.path(), 0).env("CLAUDE_MEM_CRASH_AT", name).status().unwrap();
            assert!(!status.success(), "{name} was never reached");
            assert!(settled(home.path()) == content(goal), "{name}");
        }
    }
}

#[test]
fn sixteen_processes_lose_nothing() {
    let home = tempfile::tempdir().unwrap();
    let start = |n| child_command(home.path(), n).env("CRASH_TEST_REMEMBER", "50").stderr(Stdio::piped()).spawn().unwrap();
    let children: Vec<_> = (1..=16).map(start).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let s = open(home.path()).snapshot("p").unwrap();
    assert_eq!((s.entries.len(), s.catalogue.memories.len(), s.problems.len()), (800, 800, 0));
}

#[test]
fn an_edit_by_hand_after_the_crash_is_not_lost() {
    let home = tempfile::tempdir().unwrap();
    run(&open(home.path()), 0);
    let status = child_command(home.path(), 0).env("CLAUDE_MEM_CRASH_AT", "journaled").status().unwrap();
    assert!(!status.success());
    let file = home.path().join("p/working-memory.md");
    let mine = fs::read_to_string(&file).unwrap_or_default() + "\nwritten in between\n";
    fs::write(&file, &mine).unwrap();
    let opened = Store::open(home.path(), AT).unwrap();
    assert!(opened.notices[0].contains("it was finished; p/working-memory.md had been edited since"), "{:?}", opened.notices);
    assert!(tree(home.path()).iter().any(|(name, bytes)| name.contains("history") && bytes == mine.as_bytes()));
}

#[cfg(unix)]
#[test]
fn a_full_disk_changes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let small = home.path().join("small");
    fs::create_dir(&small).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "none"]).arg(&small).stderr(Stdio::null()).status();
    if !mounted.is_ok_and(|s| s.success()) {
        println!("skipped: this user cannot mount a small disk");
        return;
    }
    let result = std::panic::catch_unwind(|| {
        let store = open(&small);
        let mut refused = 0;
        for n in 1..400 {
            let before = content(&small);
            let mut big = memory(n, "a", &format!("memory {n}"));
            big.reason = Some("因为 ".repeat(150));
            let make =
                &mut |s: &Snapshot| Ok(Plan { changes: vec![Change::Add(big.clone())], ..Plan::new("p", s.base.clone(), "test", AT) });
            if let Err(error) = store.update("p", AT, &ids(), make) {
                assert!(
                    error.message.contains("no space left") && error.hint.unwrap().contains("free some disk space"),
                    "{}",
                    error.message
                );
                assert!(content(&small) == before, "bytes changed");
                assert!(settled(&small) == before);
                refused += 1;
                if refused == 3 {
                    break;
                }
            }
        }
        assert_eq!(refused, 3, "the disk never got full");
        assert!(!store.snapshot("p").unwrap().entries.is_empty());
    });
    Command::new("umount").arg(&small).status().unwrap();
    result.unwrap();
}

#[cfg(unix)]
#[test]
fn a_read_only_folder_changes_nothing() {
    let home = tempfile::tempdir().unwrap();
    run(&open(home.path()), 1);
    let before = tree(home.path());
    let bound = |args: &[&str]| Command::new("mount").args(args).arg(home.path()).stderr(Stdio::null()).status().is_ok_and(|s| s.success());
    let path = home.path().to_string_lossy().into_owned();
    if !bound(&["--bind", &path]) {
        println!("skipped: this user cannot mount a folder read-only");
        return;
    }
    let read_only = bound(&["-o", "remount,ro,bind"]);
    let result = std::panic::catch_unwind(|| {
        assert!(read_only);
        let store = open(home.path());
        let s = store.snapshot("p").unwrap();
        assert!(!s.entries.is_empty(), "reading works");
        let plan = Plan { changes: vec![Change::Add(memory(77, "a", "new"))], ..Plan::new("p", s.base, "test", AT) };
        let error = store.commit(&plan, &ids()).unwrap_err();
        assert!(error.hint.as_deref().is_some_and(|h| h.contains("read-only")), "{error:?}");
        assert_eq!(id(77).as_str().len(), 10);
    });
    Command::new("umount").arg(home.path()).status().unwrap();
    result.unwrap();
    assert!(tree(home.path()) == before);
}

/// The program itself: killed in the middle of `remember`, the next command finishes the work and says so.
#[test]
fn the_program_says_what_it_finished() {
    let home = tempfile::tempdir().unwrap();
    let program = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_claude-mem"));
        command.env_clear().env("HOME", home.path()).env("CLAUDE_MEM_NOW", "2025-06-10T06:03:22Z").current_dir(home.path());
        command.args(["--home", "memory"]).args(args);
        command
    };
    assert!(program(&["project", "init", "p"]).output().unwrap().status.success());
    let killed = program(&["remember", "--project", "p", "金额一律用分存储"]).env("CLAUDE_MEM_CRASH_AT", "journaled").output().unwrap();
    assert!(killed.status.code().is_none(), "{}", String::from_utf8_lossy(&killed.stderr));
    let next = program(&["list", "--json", "--project", "p"]).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&next.stdout).into_owned(), String::from_utf8_lossy(&next.stderr).into_owned());
    assert!(next.status.success() && out.contains("金额一律用分存储"), "{out} {err}");
    assert!(err.contains("had been cut off; it was finished"), "{err}");
}
