//! The crates know each other as the layers say, and the pure ones are pure.

use serde_json::json;
use xtask::layers::{self, Workspace};
use xtask::{purity, root};

#[test]
fn no_crate_knows_one_beside_or_above_it() {
    let workspace = Workspace::read(&root()).unwrap();
    assert!(workspace.crates.contains_key("spur-core"));
    let problems = layers::problems(&workspace);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn nothing_below_the_pure_crates_does_io() {
    for name in purity::PURE {
        let chains = layers::purity_of(&root(), name).unwrap();
        assert!(chains.is_empty(), "{}", chains.join("\n"));
    }
    // The search finds what is there to be found.
    let chains = layers::purity_of(&root(), "spurctld").unwrap();
    assert!(chains.iter().any(|chain| chain.contains("tokio")), "{chains:?}");
}

#[test]
fn the_lint_of_the_pure_crates_is_in_force() {
    let problems = purity::problems(&root()).unwrap();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn the_document_shows_the_table() {
    if let Err(error) = layers::check(&root()) {
        panic!("{error:#}");
    }
}

/// A workspace from lines such as `a: b, c` with `c?` for a dependency of tests.
fn workspace(lines: &[&str]) -> Workspace {
    let packages = lines.iter().map(|line| {
        let (name, rest) = line.split_once(':').unwrap();
        let dependencies = rest.split(',').map(str::trim).filter(|name| !name.is_empty());
        let dependencies = dependencies.map(|name| match name.strip_suffix('?') {
            Some(name) => json!({"name": name, "kind": "dev"}),
            None => json!({"name": name, "kind": null}),
        });
        json!({"name": name, "dependencies": dependencies.collect::<Vec<_>>()})
    });
    Workspace::from_metadata(&json!({"packages": packages.collect::<Vec<_>>()})).unwrap()
}

#[test]
fn a_neighbour_is_refused_also_in_tests() {
    let workspace = workspace(&["spur-core:", "spurctld: spur-core, serde", "spurd: spurctld?"]);
    assert_eq!(layers::problems(&workspace), ["spurd (level 4) knows spurctld (level 4) in tests"]);
}

#[test]
fn a_cycle_is_found_where_levels_are_free() {
    let workspace =
        workspace(&["spur-core:", "spur-tests: xtask", "xtask: spur-core, spur-tests?"]);
    assert_eq!(layers::problems(&workspace), ["a cycle: spur-tests → xtask → spur-tests"]);
}

#[test]
fn a_crate_without_a_level_is_named() {
    let problems = layers::problems(&workspace(&["spur-core:", "spur-more: spur-core"]));
    assert_eq!(problems, ["spur-more has no level: give it one in xtask/src/layers.rs"]);
}

#[test]
fn what_stands_between_the_marks_is_found() {
    assert_eq!(layers::shown("a\n<!-- layers -->\nb\n<!-- /layers -->\nc\n").unwrap(), "b\n");
    assert!(layers::shown("nothing").is_err());
}
