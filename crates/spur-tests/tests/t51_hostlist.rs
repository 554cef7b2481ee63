//! Host lists, through `scontrol show` as scripts use it.

use std::process::Command;

use spur_tests::harness::binary;

fn scontrol(words: &[&str]) -> (i32, String, String) {
    let done = Command::new(binary("spur"))
        .arg("scontrol")
        .args(words)
        .env_remove("SLURM_JOB_NODELIST")
        .output()
        .expect("scontrol runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (done.status.code().unwrap_or(-1), text(&done.stdout), text(&done.stderr))
}

#[test]
fn lists_are_expanded_and_compressed() {
    let table = [
        (["show", "hostnames", "n[1-3],x"], "n1\nn2\nn3\nx\n"),
        (["show", "hostnames", "n[08-10]"], "n08\nn09\nn10\n"),
        (["show", "hostn", "a[1-2]b[1-2]"], "a1b1\na1b2\na2b1\na2b2\n"),
        (["show", "hostlist", "n1,n2,n3,n7"], "n[1-3,7]\n"),
        (["show", "hostlistsorted", "n3,n1,n2"], "n[1-3]\n"),
    ];
    for (words, expected) in table {
        assert_eq!(scontrol(&words), (0, expected.to_string(), String::new()), "{words:?}");
    }
}

#[test]
fn refusals_are_slurms() {
    let (status, _, complaint) = scontrol(&["show", "hostlistsorted", "n[3-1]"]);
    let expected = "scontrol: error: _parse_single_range: Invalid range: `3-1'\n\
                    Invalid hostlist: n[3-1]\n";
    assert_eq!((status, complaint.as_str()), (1, expected));
    let (status, _, complaint) = scontrol(&["show", "hostnames"]);
    assert_eq!((status, complaint.as_str()), (0, "scontrol: error: host list is empty\n"));
    let (status, _, complaint) = scontrol(&["show", "bogus"]);
    assert_eq!((status, complaint.as_str()), (1, "invalid entity:bogus for keyword:show \n"));
}
