//! Every command of the README runs, in order, in one world.

use crate::support::World;

#[test]
fn every_command_of_the_readme_runs() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).expect("README.md");
    let world = World::new();
    for entry in std::fs::read_dir(root.join("fixtures")).expect("fixtures").flatten().filter(|e| e.path().is_file()) {
        let bytes = std::fs::read(entry.path()).expect("readable");
        world.file(&format!("fixtures/{}", entry.file_name().to_string_lossy()), bytes);
    }
    let history = world.home().join(".claude/projects/-home-dev-shop/3f9c1e52-7a41-4d0b-9f6e-2b8d5c7a9e10.jsonl");
    std::fs::create_dir_all(history.parent().expect("a parent")).expect("a folder");
    std::fs::copy(root.join("fixtures/checkout-service.jsonl"), history).expect("a transcript");

    let mut ran = 0;
    for line in readme.lines().filter_map(|l| l.strip_prefix("$ ")) {
        let words = split(line);
        let args: Vec<&str> = words.iter().map(String::as_str).collect();
        let args = match args.as_slice() {
            ["claude-mem", args @ ..] | ["cargo", "run", "--release", "--", args @ ..] => args,
            ["cargo", "test"] => continue,
            _ => panic!("the README has a command that this test does not know: {line}"),
        };
        let result = world.run(&[&["--yes"], args].concat());
        assert_eq!(result.code, 0, "$ {line}\n{}\n{}", result.out, result.err);
        ran += 1;
    }
    assert!(ran > 20, "only {ran} commands found");
}

/// Words of a command line; double quotes hold together.
fn split(line: &str) -> Vec<String> {
    let parts = line.split('"').enumerate();
    parts
        .flat_map(|(i, part)| if i % 2 == 1 { vec![part.to_owned()] } else { part.split_whitespace().map(str::to_owned).collect() })
        .collect()
}
