//! What a release has written, every later one reads: `samples/VERSION` holds the files that a small cluster of that
//! release left behind, byte for byte. They are never changed; each release adds its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use spur_core::ids::JobId;
use spur_core::job::{Job, Phase};
use spur_core::state::{Effect, State, apply};
use spur_disk::RealDisk;
use spur_proto::internal::agent_message::Message as Says;
use spur_proto::internal::controller_message::Message as Hears;
use spur_proto::internal::{Outcome, Report, Welcome};
use spurctld::accounting::outbox::Reader;
use spurctld::store::{Blobs, Log, Payload, Position, Snapshot, SnapshotMeta};
use spurd::agent::{Agent, Found, Identity, Input, Millis, Output};
use tempfile::TempDir;

fn sample(part: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/0.1.0").join(part)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("the sample is there").flatten() {
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).expect("copies")),
        }
    }
}

/// Reading cuts torn tails and syncs: it happens to a copy.
fn opened(part: &str) -> (TempDir, RealDisk) {
    let dir = tempfile::tempdir().expect("a directory");
    copy(&sample(part), dir.path());
    let disk = RealDisk::open(dir.path()).expect("opens");
    (dir, disk)
}

/// The state that the log comes to, and its last place.
fn replayed(disk: RealDisk, blobs: &mut Blobs<RealDisk>) -> (State, Position) {
    let (_, records) = Log::open(disk).expect("the log is read");
    let mut state = State::new();
    let mut last = Position::default();
    let mut members = 0;
    for record in records {
        last = record.position;
        match record.payload {
            Payload::Entries(entries) => {
                for entry in entries.iter() {
                    for effect in apply(&mut state, entry).effects {
                        if let Effect::KeepBlob { hash, bytes } = effect {
                            blobs.keep(hash, &bytes).expect("there is room");
                        }
                    }
                }
            }
            Payload::Membership(_) => members += 1,
            Payload::Blank => {}
        }
    }
    assert!(members > 0, "who the controllers are stands in the log");
    (state, last)
}

fn job(state: &State, name: &str) -> Arc<Job> {
    let found = state.jobs.values().find(|job| job.spec.name == name);
    found.unwrap_or_else(|| panic!("no job {name}")).clone()
}

#[test]
fn the_log_and_the_vote_of_every_release_are_read() {
    let (dir, disk) = opened("controller");
    let failed: spurctld::shell::Failed = Arc::new(|error| panic!("{error:#}"));
    let place = dir.path().to_path_buf();
    let recovered = spurctld::raft::recover(&place, 1, failed).expect("vote and members are read");
    assert!(!recovered.is_new);
    drop(recovered);
    let mut blobs = Blobs::new(RealDisk::open(dir.path()).expect("opens"));
    let (state, _) = replayed(disk, &mut blobs);
    assert_eq!(state.jobs.len(), 17);
    assert_eq!(state.nodes.len(), 2);
    assert_eq!(state.nodes.values().map(|node| node.inventory.cpus).sum::<u32>(), 8);
    assert_eq!(state.reservations.len(), 1);
    assert_eq!((state.triggers.len(), state.crontabs.len()), (1, 1));
    assert!(state.rules.rules().associations.iter().any(|one| one.user_name == "alice"));
    let Phase::Ended { exit, .. } = &state.jobs[&JobId(2)].phase else { panic!("it has ended") };
    assert_eq!(exit.code, 3);
    assert!(matches!(job(&state, "stays").phase, Phase::Running { .. }));
    assert_eq!(job(&state, "held").phase, Phase::Pending);
    assert!(job(&state, "later").begin.is_some());
    assert_eq!(job(&state, "again").restarts, 1);
    assert!(job(&state, "again").phase.is_over());
    assert_eq!(state.jobs[&JobId(11)].component.map(|it| it.size), Some(2));
    assert_eq!(state.array(JobId(4)).count(), 5);
    assert!(blobs.get(job(&state, "stays").script).expect("reads").is_some());
}

#[test]
fn the_snapshot_of_every_release_is_what_its_log_comes_to() {
    let (_dir, disk) = opened("controller");
    let mut blobs = Blobs::new(disk);
    let (_log_dir, log) = opened("controller");
    let (state, _) = replayed(log, &mut blobs);
    let (snapshot_dir, snapshot_disk) = opened("snapshot");
    let snapshot = Snapshot::load(&snapshot_disk).expect("is whole").expect("is there");
    let mut blobs = Blobs::new(RealDisk::open(snapshot_dir.path()).expect("opens"));
    let mut opened = snapshot.open(&mut blobs).expect("is read");
    // A later release may tell accounting more, never less: what has a number twice is told twice, not lost.
    assert!(opened.history.records <= state.history.records);
    opened.history = state.history;
    let (kept, told) = (format!("{opened:#?}"), format!("{state:#?}"));
    let differing =
        kept.lines().zip(told.lines()).enumerate().find(|(_, (kept, told))| kept != told);
    assert_eq!(differing, None, "another state than the log's");
    assert!(opened == state);
    assert!(snapshot.meta.last.is_some());
}

#[test]
fn the_records_for_accounting_of_every_release_are_read() {
    let (_dir, disk) = opened("controller");
    let records = Reader::default().read_after(&disk, 0).expect("are read");
    let numbers: Vec<u64> = records.iter().map(|record| record.number).collect();
    assert_eq!(numbers, (1..=records.len() as u64).collect::<Vec<u64>>());
    let names = records.iter().filter_map(|record| record.job.as_ref()).map(|job| &job.name);
    assert!(names.into_iter().any(|name| name == "again"));
}

#[test]
fn the_spool_of_every_release_is_taken_up() {
    let (dir, disk) = opened("agent");
    let boot_id = fs::read_to_string(dir.path().join("boot")).expect("is there");
    let identity = Identity {
        node: "n1".to_string(),
        boot_id,
        inventory: Default::default(),
        address: String::new(),
    };
    let (mut agent, _) = Agent::recover(identity, disk, |_| Found::Alive).expect("is read");
    let alive = agent.table().any(|run| run.job == JobId(14));
    assert!(alive, "the run of its launch is known");
    agent.on(Millis(1), Input::Connected).expect("there is room");
    let term: u64 = fs::read_to_string(dir.path().join("term")).unwrap().trim().parse().unwrap();
    let welcome = |term: u64| {
        let welcome = Welcome { session: 1, term, echo_ms: 1, lease_ms: 10, ..Welcome::default() };
        Input::Heard(Hears::Welcome(welcome))
    };
    let stale = agent.on(Millis(2), welcome(term - 1)).expect("there is room");
    assert_eq!(stale, [Output::HangUp], "the term is known");
    let said = agent.on(Millis(3), welcome(term)).expect("there is room");
    let reports: Vec<Report> = said
        .into_iter()
        .filter_map(|output| match output {
            Output::Say(Says::Reports(reports)) => Some(reports.reports),
            _ => None,
        })
        .flatten()
        .collect();
    let failed = reports.iter().find(|report| report.job == 2).expect("job 2 was reported");
    assert_eq!((failed.outcome(), failed.exit_status), (Outcome::Exited, 3 << 8));
}

/// Run once a release: `cargo test -p spur-tests --test stored_formats -- --ignored`, with the log in its place.
#[test]
#[ignore = "writes the snapshot of this release's sample"]
fn write_the_snapshot_of_this_release() {
    let (dir, disk) = opened("controller");
    let mut blobs = Blobs::new(RealDisk::open(dir.path()).expect("opens"));
    let (state, last) = replayed(disk, &mut blobs);
    let meta = SnapshotMeta { last: Some(last), membership: Vec::new() };
    let snapshot = Snapshot::build(&state, meta, &mut blobs).expect("is built");
    let mut to = RealDisk::open(&sample("snapshot")).expect("opens");
    snapshot.save(&mut to).expect("is saved");
}
