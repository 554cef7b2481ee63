use proptest::prelude::*;

use super::*;

/// `sbatch --dependency=…` and the job's `Dependency`, without the states. Job 1201 is an
/// array, so Slurm shows `1201_*` for it.
#[rustfmt::skip]
static ACCEPTED: &[(&str, &str)] = &[
    ("1201_*", "afterany:1201_*"), ("afterok:1?1201_*", "afterok:1?afterany:1201_*"),
    ("afterok:12?012_1", "afterok:12?afterany:12_1"),
    ("afterok:1?1200,1202", "afterok:1?afterany:1200?afterany:1202"),
    ("afterok:1200", "afterok:1200"), ("after:1200", "after:1200"),
    ("afterany:1200", "afterany:1200"), ("afternotok:1200", "afternotok:1200"),
    ("aftercorr:1201", "aftercorr:1201_*"), ("afterburstbuffer:1200", "afterburstbuffer:1200"),
    ("singleton", "singleton"), ("AFTEROK:1200", "afterok:1200"),
    ("AfterOk:1200", "afterok:1200"), ("SINGLETON", "singleton"),
    ("afterok:1200:1202", "afterok:1200,afterok:1202"),
    ("afterok:1200,afterany:1202", "afterok:1200,afterany:1202"),
    ("afterok:1200?afterany:1202", "afterok:1200?afterany:1202"),
    ("afterok:1200,afterany:1202?after:1200", "afterok:1200?afterany:1202?after:1200"),
    ("afterok:1200:1202?singleton", "afterok:1200?afterok:1202?singleton"),
    ("after:1200+5", "after:1200+5"), ("after:1200+5:1202", "after:1200+5,after:1202+5"),
    ("after:1200+5:1202+10", "after:1200+5,after:1202+10"), ("afterok:1200+5", "afterok:1200+5"),
    ("after:1200+1000000", "after:1200+1000000"), ("after:1201_1", "after:1201_1"),
    ("afterok:1201_1", "afterok:1201_1"),
    ("afterok:1201_1:1201_2", "afterok:1201_1,afterok:1201_2"),
    ("afterok:1201_*", "afterok:1201_*"), ("afterok:1201_[1-2]", "afterok:1201_1,afterok:1201_2"),
    ("afterok:1201_", "afterok:1201_0"), ("afterok:1201", "afterok:1201_*"),
    ("after:1201_1+5", "after:1201_1+5"), ("afterok:99999999", "afterok:99999999"),
    ("afterok:-1", "afterok:4294967295"), ("afterok:1200,1202", "afterok:1200,afterany:1202"),
    ("afterok: 1200", "afterok:1200"), ("1200", "afterany:1200"),
    ("singleton,singleton", "singleton"), ("singleton,afterok:1200", "singleton,afterok:1200"),
    ("afterok:1200,singleton", "afterok:1200,singleton"),
    ("afterok:1200(failed)", "afterok:1200"), ("afterok:1200:1200", "afterok:1200"),
    ("afterok:1200,afterok:1200", "afterok:1200"), ("afterok:4294967295", "afterok:4294967295"),
    ("afterok:99999999999999999999", "afterok:4294967295"), ("0", ""), ("", ""),
    ("after:1200+5x", "after:1200+5"), ("after:1200+5,afterok:1202", "after:1200+5,afterok:1202"),
    ("afterok:+1200", "afterok:1200"), ("aftercorr:1200", "aftercorr:1200"),
    ("singleton?singleton", "singleton"), ("afterok:01200", "afterok:1200"),
    ("afterok:1200(bogus)", "afterok:1200"), ("afterok:1200(unfulfilled)", "afterok:1200"),
    ("afterok:1200(fulfilled)", "afterok:1200"), ("after:1200+5(failed)", "after:1200+5"),
    ("after:1200+5x:1202", "after:1200+5"), ("singleton(unfulfilled)", "singleton"),
    ("afterok:1200_", "afterok:1200_0"), ("after:1200:1202+5", "after:1200,after:1202+5"),
    ("afterok:1201_[1-2]+5", "afterok:1201_1,afterok:1201_2+5"),
    ("afterok:1201_1,2", "afterok:1201_1,afterany:2"), ("1201_1", "afterany:1201_1"),
    ("1200,1202", "afterany:1200,afterany:1202"),
    ("afterok:1201_[1,3],afterany:1202", "afterok:1201_1,afterok:1201_3,afterany:1202"),
];

/// `Job dependency problem`.
#[rustfmt::skip]
static REFUSED: &[&str] = &[
    "1201_[1-2]", "1201_1?", "1200,afterok:1202", "afterok:1202,1200,afterany:1202",
    "afterok:1?1200,afterok:1202",
    "afterok:1?201_[1-2]",
    "after:1200+", "after:1200+a", "after:1200+0", "after:1200+-1", "afterok:1201_a", "afterok:0",
    "afterok:a", "afterok:", "afterok", "afterok:1200:", "afterok:1200,", ",afterok:1200",
    "afterok:1200,,afterany:1202", "afterok:1200??afterany:1202", "afterok:1200 ",
    "afterok:1200, afterany:1202", "afterok 1200", "1200:1202", "nonsense", "nonsense:1",
    "singleton:1", "afterok:1200.0", "afterok:1200.batch", "afterok:1200:afterany:1202",
    "afterok:4294967296", "none", "NONE", " afterok:1200", "afterokk:1200", "afterok:1200x",
    "afterany:1200;afterok:1202", "afterany:1200&afterok:1202", "afterany:1200|afterok:1202",
    "afterok:1200(", "singletonx", "afterok:1201_[1", "afterok:1201_[]", "afterok:1201_1-3",
    "1200?1202", "1200+5", "0,1200", "1200,0", "0?", "00", "?", ",", "afterany:1200?",
];

/// `Requested operation not supported on this system`.
static UNSUPPORTED: &[&str] = &["expand:1200", "expand:1200:1202", "expand:1200,afterok:1202"];

#[test]
fn dependencies_are_read_as_slurm_reads_them() {
    for (text, shown) in ACCEPTED {
        let read = parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        let whole_array = shown.replace("1201_*", "1201");
        let expected = if text.contains('*') { *shown } else { &whole_array };
        assert_eq!(read.to_string(), expected, "{text:?}");
    }
    for text in REFUSED {
        assert_eq!(parse(text), Err(Error::Malformed), "{text:?}");
    }
    for text in UNSUPPORTED {
        assert_eq!(parse(text), Err(Error::Expand), "{text:?}");
    }
}

#[test]
fn commas_in_brackets_separate_tasks() {
    let read = parse("afterok:1_[1,3]:2_[4,6],afterany:5").unwrap();
    let shown = "afterok:1_1,afterok:1_3,afterok:2_4,afterok:2_6,afterany:5";
    assert_eq!(read.to_string(), shown);
}

#[test]
fn tasks_beyond_counting_are_refused() {
    assert_eq!(parse("afterok:1_[0-4294967294]"), Err(Error::Malformed));
    assert_eq!(parse("afterok:1_[1-9999]").unwrap().terms.len(), 9999);
}

fn term() -> impl Strategy<Value = Term> {
    let tasks = prop_oneof![Just(Tasks::Job), Just(Tasks::All), (0..100u32).prop_map(Tasks::One)];
    let job = (0..KINDS.len(), 1..1000u32, tasks, 0..3u32).prop_map(
        |(kind, job, tasks, delay_minutes)| Term::Job {
            kind: KINDS[kind].1,
            job: JobId(job),
            tasks,
            delay_minutes,
        },
    );
    prop_oneof![Just(Term::Singleton), job]
}

proptest! {
    #[test]
    fn what_is_written_reads_back(terms in prop::collection::vec(term(), 0..8), any: bool) {
        let mut unique = Vec::new();
        for term in terms {
            if !unique.contains(&term) {
                unique.push(term);
            }
        }
        let dependency = Dependency { any: any && unique.len() > 1, terms: unique };
        prop_assert_eq!(parse(&dependency.to_string()), Ok(dependency));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(after|afterok|singleton)?[0-9:,?+_*\\[\\]()-]{0,16}|\\PC{0,16}") {
        let _ = parse(&text);
    }
}
