use proptest::prelude::*;

use super::*;

mod observed;

fn told(names: &[String]) -> String {
    match names {
        [first, .., last] if names.len() > 32 => format!("{}: {first} … {last}", names.len()),
        _ => names.join(" "),
    }
}

#[test]
fn accepts_what_slurm_accepts_and_prints_it_the_same() {
    for (list, names, compressed, in_order) in observed::ACCEPTED {
        let expanded = expand(list).unwrap_or_else(|error| panic!("{list:?}: {error}"));
        assert_eq!(told(&expanded), *names, "names of {list:?}");
        assert_eq!(parse(list).unwrap().to_string(), *compressed, "{list:?}");
        assert_eq!(sorted(list).unwrap().to_string(), *in_order, "{list:?} in order");
        assert_eq!(parse(list).unwrap().len(), expanded.len());
    }
}

#[test]
fn refuses_what_slurm_refuses_with_its_words() {
    for (list, logged) in observed::REFUSED {
        let error = expand(list).expect_err(list);
        assert_eq!(error.logged().unwrap_or_default(), *logged, "{list:?}");
    }
}

#[test]
fn what_is_wrong_far_in_front_leaves_the_rest() {
    for (list, names, logged) in observed::SKIPPED {
        let hosts = parse(list).expect(list);
        assert_eq!(hosts.names().collect::<Vec<_>>().join(" "), *names, "{list:?}");
        let told: Vec<_> = hosts.skipped().iter().filter_map(Error::logged).collect();
        assert_eq!(told, [*logged], "{list:?}");
    }
}

#[test]
fn nothing_is_an_empty_list() {
    for list in ["", " ", ",", "[", "\t, "] {
        assert_eq!(expand(list), Ok(vec![]), "{list:?}");
        assert!(parse(list).unwrap().is_empty());
    }
    assert_eq!(compress([""; 0]), "");
}

#[test]
fn lists_beyond_the_maximum_are_refused_before_they_are_expanded() {
    assert_eq!(expand("n[1-65536]m[1-65536]"), Err(Error::TooManyHosts));
    assert_eq!(
        expand("n[1-65536]m[1-65536]o[1-65536]p[1-65536]q[1-65536]"),
        Err(Error::TooManyHosts)
    );
    assert_eq!(expand("n[1-65536]m[1-17]"), Err(Error::TooManyHosts));
    // Nor where a bracket that nobody can read leaves none of so many names.
    assert_eq!(expand("n[x]m[1-65536]o[1-65536]p[1]"), Ok(Vec::new()));
    assert_eq!(expand("n[1-65536]m[1-16]").unwrap().len() as u64, MAX_HOSTS);
    let many = vec!["n[1-65536]"; 17].join(",");
    assert_eq!(expand(&many), Err(Error::TooManyHosts));
    let wide = format!("n[{}1-65536]", "0".repeat(10_000));
    assert_eq!(expand(&wide), Err(Error::TooManyHosts));
}

#[test]
fn numbers_too_large_to_count_with_stay_part_of_the_name() {
    for name in ["n99999999999999999999", "n18446744073709551616"] {
        assert_eq!(expand(name), Ok(vec![name.to_owned()]));
        assert_eq!(compress([name]), name);
    }
    let last = "n[18446744073709551614-18446744073709551615]";
    assert_eq!(expand(last).unwrap().len(), 2);
    assert_eq!(sorted(last).unwrap().to_string(), last);
}

#[test]
fn names_sort_as_people_count() {
    let mut names = ["n10", "n9", "a", "n09", "n1a", "r10n1", "r9n2", "n", "n100"];
    names.sort_by(|left, right| natural(left, right));
    assert_eq!(names, ["a", "n", "n9", "n09", "n10", "n100", "n1a", "r9n2", "r10n1"]);
}

fn name() -> impl Strategy<Value = String> {
    "[a-c]{1,2}(-|[0-9]{1,2}[a-z])?[0-9]{0,4}"
}

proptest! {
    #[test]
    fn compressed_names_expand_to_themselves(names in prop::collection::vec(name(), 0..60)) {
        prop_assert_eq!(expand(&compress(&names)).unwrap(), names);
    }

    #[test]
    fn sorting_keeps_every_name(names in prop::collection::vec(name(), 0..60)) {
        let mut before = names.clone();
        let mut after = expand(&sorted(&compress(&names)).unwrap().to_string()).unwrap();
        before.sort();
        after.sort();
        prop_assert_eq!(after, before);
    }

    #[test]
    fn printing_what_was_read_changes_nothing(list in "(n|m[a-z])?(\\[[0-9]{1,3}(-[0-9]{1,3})?(,[0-9]{1,3})?\\])(,n[0-9]{0,3})*") {
        if let Ok(hosts) = parse(&list) {
            prop_assert_eq!(expand(&hosts.to_string()).unwrap(), hosts.names().collect::<Vec<_>>());
        }
    }

    #[test]
    fn natural_is_a_total_order(a in name(), b in name(), c in name()) {
        prop_assert_eq!(natural(&a, &b), natural(&b, &a).reverse());
        prop_assert_eq!(natural(&a, &b).is_eq(), a == b);
        if natural(&a, &b).is_le() && natural(&b, &c).is_le() {
            prop_assert!(natural(&a, &c).is_le());
        }
    }

    #[test]
    fn any_text_is_read_or_refused(list in "[n\\[\\],0-9 x+-]{0,24}|\\PC{0,24}") {
        if let Ok(mut hosts) = parse(&list) {
            prop_assert_eq!(hosts.names().count(), hosts.len());
            hosts.sort();
            let _ = hosts.to_string();
        }
    }
}
