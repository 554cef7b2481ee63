use proptest::prelude::*;

use super::*;

/// Accepted by `sbatch --constraint=…` on a cluster with such nodes.
#[rustfmt::skip]
static ACCEPTED: &[&str] = &[
    "a", "a&b", "a|b", "a&b&c", "a|b|c", "a&b|c", "a|b&c", "[a|b]", "[a|b|c]", "a*2", "a*2&b*1",
    "[a*2&b*1]", "(a|b)", "(a&b)", "(a|b)&c", "c&(a|b)", "a&(b|c)", "[(a|b)*2]", "[a|b]&c",
    "c&[a|b]", "(a&b)|c", "(a|b)&(c|d)", "a*2|b*3", "[a]", "a:b", "a=1", "a-b", "a_b", "a.b", "a/b",
    "[a|(b&c)]", "(a|[b|c])", "A", "a*1&b*2&c", "a&b*2", "a*2&b", "[a*2]", "(a|b)*2",
    "[(a&b)*2&c*1]", "[(a&b)|(c&d)]", "a&[b|c]&d", "[a|b|c]&d", "a|[b|c]", "[a|b]|c",
];

/// Accepted too, and meant as the second.
#[rustfmt::skip]
static LOOSE: &[(&str, &str)] = &[
    ("a,b", "a&b"), ("a,b,c", "a&b&c"), ("a,b|c", "a&b|c"), ("a&", "a"), ("a|", "a"), ("a,", "a"),
    ("(a)b", "(a)"), ("(a)b&c", "(a)&c"), ("(a|b)x*2", "(a|b)*2"), ("(a|b)*2x", "(a|b)*2"),
    ("[(a)b|c]", "[(a)|c]"), ("[a|b]c", "[a|b]"), ("[a|b]c&d", "[a|b]&d"), ("[a|b] ", "[a|b]"),
    ("(a) ", "(a)"), ("a*2&", "a*2"), ("(a)|", "(a)"), ("(a)x|b", "(a)|b"),
    ("a*2*3", "a*2"), ("a*2b", "a*2"), ("a* 2", "a*2"), ("a*99999999999", "a*4294967295"),
];

#[rustfmt::skip]
static REFUSED: &[&str] = &[
    "(a)(b)", "(a)[b]", "(a)b]", "(a&)", "[a|]", "(a|)", "(&a)", "[a*2&]", "(a)&&b",
    "[a&b]", "[a*1|b*1]", "((a|b))", "[a|b]&[c|d]", "&a", "|a", "a&&b", "a||b", "()", "[]", "(a",
    "a)", "[a", "a]", "a*", "a*0", "a*-1", "a*b", "*2", "a b", "a & b", " a", "!a", "a!b",
    "[a|b]*2", "{a|b}", "[a&b|c]", "[a|b&c]", "[[a|b]]", "a[b]", "a(b)", "a&b)", "(a|b", ",a", "a;b",
];

#[test]
fn expressions_are_accepted_and_refused_as_slurm_does() {
    for text in ACCEPTED {
        let read = parse(text).unwrap_or_else(|_| panic!("{text:?}")).unwrap();
        assert_eq!(read.to_string(), *text);
    }
    for (text, meant) in LOOSE {
        assert_eq!(parse(text).unwrap().unwrap().to_string(), *meant, "{text:?}");
    }
    for text in REFUSED {
        assert_eq!(parse(text), Err(Error), "{text:?}");
    }
    assert_eq!(parse(""), Ok(None));
}

#[test]
fn nodes_are_admitted_from_left_to_right() {
    let nodes = ["abc", "abd", "bcd", "a"];
    // `sbatch --test-only -N…` gave these nodes.
    for (text, admitted) in [
        ("a|b&c", "13"),
        ("a&b|c", "123"),
        ("b&c|a", "1234"),
        ("a|d&c", "13"),
        ("a&d|c", "123"),
        ("(a|d)&c", "13"),
        ("a|(d&c)", "1234"),
        ("c&(a|d)", "13"),
        ("a&b|c&d", "23"),
        ("[a|c]", "1234"),
        ("a*2&c*2", "1234"),
        ("a*1", "1234"),
        ("a|b|c", "1234"),
    ] {
        let features = parse(text).unwrap().unwrap();
        let admits = |node: &&str| features.admits(&|name: &str| node.contains(name));
        let numbers = (1..).zip(nodes).filter(|(_, node)| admits(node));
        let numbers: String = numbers.map(|(number, _)| number.to_string()).collect();
        assert_eq!(numbers, admitted, "{text}");
    }
}

#[test]
fn every_name_is_told() {
    let features = parse("a&(b|c)&[d|e]").unwrap().unwrap();
    assert_eq!(features.names(), ["a", "b", "c", "d", "e"]);
}

proptest! {
    #[test]
    fn what_is_written_reads_back(text in "[ab](\\*2)?([&|](\\([ab]([&|][cd])?\\)|[cd])(\\*3)?){0,3}") {
        let read = parse(&text).unwrap().unwrap();
        prop_assert_eq!(read.to_string(), text);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[ab&|*()\\[\\]2]{0,16}|\\PC{0,16}") {
        if let Ok(Some(read)) = parse(&text) {
            prop_assert_eq!(parse(&read.to_string()), Ok(Some(read)));
        }
    }
}
