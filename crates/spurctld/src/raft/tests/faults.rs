//! Three controllers with the real consensus, log store, snapshots and controller loops, on disks that lose, tear
//! and refuse, and lines that are cut. A seed draws the faults of a schedule; threads and timers are real, so a
//! failing one is drawn again, not replayed to the letter.
//!
//! What must hold: an answered submission is there for ever, under one number; all controllers come to the same
//! state; after the last fault somebody leads within seconds; damage is named, never skipped.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use openraft::error::{
    InstallSnapshotError, NetworkError, RPCError, RaftError, ReplicationClosed, StreamingError,
    Unreachable,
};
use openraft::network::{Backoff, RPCOption, RaftNetwork, RaftNetworkFactory};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse,
    SnapshotResponse, VoteRequest, VoteResponse,
};
use openraft::{AnyError, BasicNode, Vote};
use spur_core::blob::BlobHash;
use spur_core::ids::{Gid, JobId, Uid};
use spur_core::job::{JobSpec, Owner, RequestId};
use spur_core::state::{Blob, Command, Reply, Settings, State, Submit, check};
use spur_disk::{Disk, SimDisk, SimFault};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::controller::Controller;
use crate::raft::{Batch, Pace, Raft, TypeConfig, identity, recover, start};
use crate::shell::{self, Failed, Inbox};
use crate::store;

/// Quicker than in production, so that a schedule takes a second.
const PACE: Pace = Pace { heartbeat_ms: 20, silence_ms: 150 };

const MEMBERS: [u64; 3] = [1, 2, 3];

/// Schedules run at a time; most of each is waiting.
const AT_A_TIME: usize = 32;

/// How many of them if nobody says; `./test` asks for hundreds.
const SCHEDULES: u64 = 96;

#[test]
fn nothing_acknowledged_is_lost_whatever_disks_and_lines_do() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let number = |name: &str| std::env::var(name).ok().and_then(|it| it.parse::<u64>().ok());
    let (first, count) = match number("SPUR_RAFT_SEED") {
        Some(seed) => (seed, 1),
        None => (0, number("SPUR_RAFT_SCHEDULES").unwrap_or(SCHEDULES)),
    };
    runtime.block_on(async {
        let mut answered = 0;
        for group in (first..first + count).collect::<Vec<u64>>().chunks(AT_A_TIME) {
            let schedules: Vec<_> = group.iter().map(|seed| tokio::spawn(run(*seed))).collect();
            for (seed, schedule) in group.iter().zip(schedules) {
                match schedule.await.expect("a schedule does not panic") {
                    Ok(jobs) => answered += jobs,
                    Err(what) => panic!(
                        "seed {seed}: {what}\nagain: SPUR_RAFT_SEED={seed} cargo test -p spurctld --lib faults"
                    ),
                }
            }
        }
        assert!(answered > 0, "no schedule took a job");
        println!("{count} schedules, {answered} jobs");
    });
    // Threads of members that were killed wait for nothing any more.
    runtime.shutdown_timeout(Duration::from_millis(100));
}

/// The lines between members.
#[derive(Default)]
struct Lines {
    members: BTreeMap<u64, Raft>,
    /// From whom nothing reaches whom.
    cut: BTreeSet<(u64, u64)>,
}

type Shared = Arc<Mutex<Lines>>;

fn lock(lines: &Shared) -> MutexGuard<'_, Lines> {
    lines.lock().expect("no holder panics")
}

/// Dials the others.
struct Exchange {
    from: u64,
    lines: Shared,
}

/// The line to one of them.
struct Line {
    from: u64,
    to: u64,
    lines: Shared,
}

impl RaftNetworkFactory<TypeConfig> for Exchange {
    type Network = Line;

    async fn new_client(&mut self, to: u64, _: &BasicNode) -> Line {
        Line { from: self.from, to, lines: self.lines.clone() }
    }
}

type Refused<E = openraft::error::Infallible> = RPCError<u64, BasicNode, RaftError<u64, E>>;

impl Line {
    /// Who answers there.
    fn reach(&self) -> Result<Raft, Unreachable> {
        let lines = lock(&self.lines);
        let is_cut = lines.cut.contains(&(self.from, self.to));
        let there = lines.members.get(&self.to).filter(|_| !is_cut).cloned();
        there.ok_or_else(|| Unreachable::new(&AnyError::error("nobody is there")))
    }

    /// Whether the answer comes back.
    fn returns(&self) -> Result<(), NetworkError> {
        match lock(&self.lines).cut.contains(&(self.to, self.from)) {
            true => Err(NetworkError::new(&AnyError::error("the answer is lost"))),
            false => Ok(()),
        }
    }
}

fn lost<E: std::error::Error>(error: impl std::error::Error + 'static) -> Refused<E> {
    RPCError::Network(NetworkError::new(&error))
}

impl RaftNetwork<TypeConfig> for Line {
    async fn append_entries(
        &mut self,
        rpc: AppendEntriesRequest<TypeConfig>,
        _: RPCOption,
    ) -> Result<AppendEntriesResponse<u64>, Refused> {
        let answer = self.reach()?.append_entries(rpc).await.map_err(lost)?;
        self.returns()?;
        Ok(answer)
    }

    async fn vote(
        &mut self,
        rpc: VoteRequest<u64>,
        _: RPCOption,
    ) -> Result<VoteResponse<u64>, Refused> {
        let answer = self.reach()?.vote(rpc).await.map_err(lost)?;
        self.returns()?;
        Ok(answer)
    }

    async fn install_snapshot(
        &mut self,
        _: InstallSnapshotRequest<TypeConfig>,
        _: RPCOption,
    ) -> Result<InstallSnapshotResponse<u64>, Refused<InstallSnapshotError>> {
        Err(RPCError::Unreachable(Unreachable::new(&AnyError::error("snapshots go whole"))))
    }

    async fn full_snapshot(
        &mut self,
        vote: Vote<u64>,
        snapshot: openraft::Snapshot<TypeConfig>,
        _: impl Future<Output = ReplicationClosed> + Send + 'static,
        _: RPCOption,
    ) -> Result<SnapshotResponse<u64>, StreamingError<TypeConfig, openraft::error::Fatal<u64>>>
    {
        let there = self.reach().map_err(StreamingError::Unreachable)?;
        let answer = there.install_full_snapshot(vote, snapshot).await;
        let answer = answer.map_err(|error| StreamingError::Network(NetworkError::new(&error)))?;
        self.returns().map_err(StreamingError::Network)?;
        Ok(answer)
    }

    fn backoff(&self) -> Backoff {
        Backoff::new(std::iter::repeat(Duration::from_millis(20)))
    }
}

/// A controller's process.
struct Life {
    raft: Raft,
    inbox: Inbox,
    tasks: Vec<JoinHandle<()>>,
    /// Its disk failed it: it has stopped by itself.
    failed: Arc<AtomicBool>,
}

/// A controller's machine.
struct Member {
    id: u64,
    disk: SimDisk,
    life: Option<Life>,
}

impl Member {
    /// Starts the process on what the disk has. A full disk is waited for; damage is an error.
    async fn start(&mut self, lines: &Shared, life: u64) -> Result<(), String> {
        if self.life.is_some() {
            return Ok(());
        }
        let flag = Arc::new(AtomicBool::new(false));
        let failed: Failed = {
            let flag = flag.clone();
            Arc::new(move |_| flag.store(true, Ordering::Relaxed))
        };
        let recovered = match recover(&self.disk, self.id, failed.clone()) {
            Ok(recovered) => recovered,
            Err(error) if is_loss(&error) => return Err(format!("{error:#}")),
            // The disk does not work now.
            Err(_) => return Ok(()),
        };
        let (proposer, mut proposals) = mpsc::unbounded_channel();
        let settings = Settings::default();
        let controller = Controller::new(recovered.state, recovered.blobs, settings, life);
        let inbox = shell::start(controller, proposer, None, failed).expect("threads start");
        let exchange = Exchange { from: self.id, lines: lines.clone() };
        let (log, snapshot) = (recovered.log, recovered.snapshot);
        let started =
            start(self.id, log, snapshot, &self.disk, inbox.clone(), exchange, PACE).await;
        let Ok((raft, _)) = started else { return Ok(()) };
        lock(lines).members.insert(self.id, raft.clone());
        let propose = {
            let (raft, inbox) = (raft.clone(), inbox.clone());
            tokio::spawn(async move {
                while let Some(entries) = proposals.recv().await {
                    if raft.client_write(Batch(entries)).await.is_err() {
                        inbox.proposal_failed();
                    }
                }
            })
        };
        let follow = {
            let (mut metrics, inbox, flag) = (raft.metrics(), inbox.clone(), flag.clone());
            tokio::spawn(async move {
                let mut leads = None;
                loop {
                    let now = {
                        let metrics = metrics.borrow_and_update();
                        // As in production: without consensus the process ends.
                        if metrics.running_state.is_err() {
                            flag.store(true, Ordering::Relaxed);
                            return;
                        }
                        let leads = metrics.current_leader == Some(metrics.id);
                        leads.then(|| identity::fence(metrics.vote.leader_id.term, metrics.id))
                    };
                    if now != leads {
                        leads = now;
                        inbox.lead(leads);
                    }
                    if metrics.changed().await.is_err() {
                        return;
                    }
                }
            })
        };
        self.life = Some(Life { raft, inbox, tasks: vec![propose, follow], failed: flag });
        Ok(())
    }

    /// Kills the process, perhaps with its machine's power.
    async fn kill(&mut self, lines: &Shared, power: bool, chance: &mut Chance) {
        let Some(life) = self.life.take() else { return };
        lock(lines).members.remove(&self.id);
        self.disk = self.disk.kill();
        life.tasks.iter().for_each(JoinHandle::abort);
        life.inbox.stop();
        let _ = timeout(Duration::from_secs(2), life.raft.shutdown()).await;
        if power {
            self.disk.crash(|limit| chance.below(limit as u64) as usize);
        }
    }
}

fn is_loss(error: &anyhow::Error) -> bool {
    error.downcast_ref::<store::Error>().is_some_and(store::Error::is_loss)
}

/// Numbers from a seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) % limit.max(1)
    }
}

struct World {
    lines: Shared,
    members: Vec<Member>,
    chance: Chance,
    lives: u64,
    /// What each answered request was told.
    told: BTreeMap<u128, JobId>,
    next: u128,
}

/// One schedule; how many jobs were taken, or what did not hold.
async fn run(seed: u64) -> Result<usize, String> {
    let members = MEMBERS.iter().map(|id| Member { id: *id, disk: SimDisk::new(), life: None });
    let mut world = World {
        lines: Shared::default(),
        members: members.collect(),
        chance: Chance(seed.wrapping_mul(7919)),
        lives: seed << 20,
        told: BTreeMap::new(),
        next: 1,
    };
    world.start_all().await?;
    let first = world.members[0].life.as_ref().map(|life| life.raft.clone());
    let all = MEMBERS.iter().map(|id| (*id, BasicNode::new(format!("unix:/m{id}"))));
    let begun = first.expect("it is alive").initialize(all.collect::<BTreeMap<_, _>>()).await;
    begun.map_err(|error| format!("no cluster: {error}"))?;
    world.all_joined().await?;
    for _ in 0..10 + world.chance.below(10) {
        if world.chance.below(3) == 0 {
            world.fault().await?;
        }
        world.submit(Duration::from_millis(120)).await?;
    }
    world.heal().await?;
    let state = world.agree().await?;
    for (request, id) in &world.told {
        let known = state.jobs.get(id).and_then(|job| job.request);
        if known != Some(RequestId(*request)) {
            return Err(format!("I1 acked-submit-durable: job {id} of request {request}"));
        }
    }
    let ids: BTreeSet<&JobId> = world.told.values().collect();
    if ids.len() != world.told.len() {
        return Err("I2 id-unique-forever: one was told twice".to_string());
    }
    if let Some(problem) = check::problems(&state).into_iter().next() {
        return Err(problem);
    }
    for member in &mut world.members {
        member.kill(&world.lines, false, &mut world.chance).await;
    }
    Ok(world.told.len())
}

impl World {
    fn life(&mut self) -> u64 {
        self.lives += 1;
        self.lives
    }

    async fn start_all(&mut self) -> Result<(), String> {
        for at in 0..self.members.len() {
            let life = self.life();
            self.members[at].start(&self.lines, life).await?;
        }
        Ok(())
    }

    /// Nobody counts as a member before it has the log: until then a controller that is killed joins anew.
    async fn all_joined(&self) -> Result<(), String> {
        for life in self.members.iter().filter_map(|member| member.life.as_ref()) {
            let has_log = life.raft.wait(Some(Duration::from_secs(20)));
            let joined = has_log.applied_index_at_least(Some(0), "the members are known").await;
            joined.map_err(|error| format!("no cluster: {error}"))?;
        }
        Ok(())
    }

    async fn fault(&mut self) -> Result<(), String> {
        let at = self.chance.below(3) as usize;
        // Whoever stopped by itself is buried first.
        for at in 0..self.members.len() {
            let life = self.members[at].life.as_ref();
            if life.is_some_and(|life| life.failed.load(Ordering::Relaxed)) {
                self.members[at].disk.set_fault(None);
                self.members[at].kill(&self.lines, false, &mut self.chance).await;
            }
        }
        match self.chance.below(9) {
            0 => self.members[at].kill(&self.lines, false, &mut self.chance).await,
            1 => self.members[at].kill(&self.lines, true, &mut self.chance).await,
            // The power of all of them.
            2 => {
                for member in &mut self.members {
                    member.kill(&self.lines, true, &mut self.chance).await;
                }
            }
            3 => self.members[at].disk.set_fault(Some(SimFault::Full)),
            4 => self.members[at].disk.set_fault(Some(SimFault::SyncFails)),
            5 => {
                // One way or both.
                let (one, ways) = (MEMBERS[at], self.chance.below(3));
                let mut lines = lock(&self.lines);
                for other in MEMBERS.into_iter().filter(|other| *other != one) {
                    if ways != 0 {
                        lines.cut.insert((one, other));
                    }
                    if ways != 1 {
                        lines.cut.insert((other, one));
                    }
                }
            }
            6 => lock(&self.lines).cut.clear(),
            7 => {
                for member in &self.members {
                    member.disk.set_fault(None);
                }
                self.start_all().await?;
            }
            _ => {
                let life = self.members[at].life.as_ref();
                if let Some(raft) = life.map(|life| life.raft.clone()) {
                    let _ = raft.trigger().snapshot().await;
                }
            }
        }
        Ok(())
    }

    /// Asks one after the other, always under the same number, until somebody answers or time is up.
    async fn submit(&mut self, patience: Duration) -> Result<bool, String> {
        let request = self.next;
        self.next += 1;
        let until = Instant::now() + patience;
        while Instant::now() < until {
            for member in &self.members {
                let Some(life) = &member.life else { continue };
                let call = life.inbox.call(submission(request));
                let Ok(Ok(Reply::Job(id))) = timeout(Duration::from_millis(40), call).await else {
                    continue;
                };
                // Whoever has answered shows it.
                if !life.inbox.published().state.jobs.contains_key(&id) {
                    return Err(format!("history: job {id} is answered and cannot be seen"));
                }
                if self.told.insert(request, id).is_some_and(|before| before != id) {
                    return Err(format!("I3 idempotent-submit: request {request}"));
                }
                return Ok(true);
            }
            sleep(Duration::from_millis(5)).await;
        }
        Ok(false)
    }

    async fn heal(&mut self) -> Result<(), String> {
        lock(&self.lines).cut.clear();
        for at in 0..self.members.len() {
            self.members[at].disk.set_fault(None);
            let life = self.members[at].life.as_ref();
            if life.is_some_and(|life| life.failed.load(Ordering::Relaxed)) {
                self.members[at].kill(&self.lines, false, &mut self.chance).await;
            }
        }
        self.start_all().await?;
        // In the pace of production that would be three seconds; a busy machine gets more.
        match self.submit(Duration::from_secs(20)).await? {
            true => Ok(()),
            false => Err("liveness: nobody leads after the last fault".to_string()),
        }
    }

    /// Waits until all have the same, and returns it.
    async fn agree(&mut self) -> Result<State, String> {
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            let mut states = Vec::new();
            for member in &self.members {
                let Some(life) = &member.life else { continue };
                if let Some((state, _pin)) = life.inbox.state().await {
                    states.push(state);
                }
            }
            if states.len() == self.members.len() && states.windows(2).all(|it| it[0] == it[1]) {
                return states.pop().ok_or_else(|| "nobody is there".to_string());
            }
            if Instant::now() > until {
                let counts: Vec<_> = states.iter().map(|it| it.jobs.len()).collect();
                let lives = self.members.iter().filter_map(|it| it.life.as_ref());
                let standing: Vec<_> = lives.map(|it| it.raft.metrics().borrow().clone()).collect();
                return Err(format!("I15 replicas-equal: {counts:?} jobs, {standing:#?}"));
            }
            sleep(Duration::from_millis(10)).await;
        }
    }
}

fn submission(request: u128) -> Command {
    let (script, environment) = (format!("#!/bin/sh\n{request}\n").into_bytes(), b"A=1".to_vec());
    Command::Submit(Box::new(Submit {
        request: RequestId(request),
        owner: Owner { uid: Uid(1000), gid: Gid(1000), name: "alice".to_string() },
        spec: JobSpec { name: format!("job {request}"), ..JobSpec::default() },
        others: Vec::new(),
        script: BlobHash::of(&script),
        environment: BlobHash::of(&environment),
        blobs: vec![Blob { bytes: script }, Blob { bytes: environment }],
    }))
}

/// A bit that flips in what was acknowledged is named at the next start, wherever it is.
#[test]
fn damage_is_named_wherever_it_is() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let lines = Shared::default();
        let mut member = Member { id: 1, disk: SimDisk::new(), life: None };
        member.start(&lines, 1).await.expect("a new disk is in order");
        let life = member.life.as_ref().expect("it is alive");
        let alone = BTreeMap::from([(1, BasicNode::new("unix:/m1"))]);
        life.raft.initialize(alone).await.expect("a cluster of one");
        let mut taken = 0;
        while taken < 5 {
            let call = life.inbox.call(submission(taken + 1));
            match timeout(Duration::from_secs(5), call).await {
                Ok(Ok(Reply::Job(_))) => taken += 1,
                _ => sleep(Duration::from_millis(5)).await,
            }
        }
        let mut chance = Chance(1);
        member.kill(&lines, false, &mut chance).await;
        let name = member.disk.list("log/").expect("lists").pop().expect("a segment");
        let length = member.disk.read(&name).expect("reads").expect("is there").len();
        for at in (0..length).step_by(7) {
            member.disk.flip(&name, at);
            let named = member.start(&lines, 2).await.expect_err("nothing is skipped");
            assert!(named.contains("damaged") || named.contains("lacks"), "byte {at}: {named}");
            member.disk.flip(&name, at);
        }
        member.start(&lines, 3).await.expect("it is whole again");
        member.kill(&lines, false, &mut chance).await;
    });
}
