//! What is tried over the network: by strangers, by whoever stole a node's key, with words and tokens that are not good.

mod site;

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use site::{Site, controllers, is_root};
use spur_core::auth::{Actor, METHODS};
use spur_core::errors::SlurmError;
use spur_core::ids::NodeName;
use spur_net::assertion::Assertion;
use spur_net::identity::{MachineKey, read_authority};
use spur_net::jwt::{self, Claims};
use spur_net::tls::{Dialler, binding};
use spur_net::{Identity, Role};
use spur_proto::entrance::now;
use spur_proto::internal::agent_message::Message as Says;
use spur_proto::internal::controller_message::Message as Hears;
use spur_proto::internal::{
    AgentMessage, Health, Hello, PortTaken, Report, Reports, Run, StepHello,
};
use spur_proto::proof::Proof;
use spur_proto::slurm::{
    EnrolRequest, GetRulesRequest, PingRequest, StepAccess, StepAccessRequest,
};
use spur_proto::status::from_status;
use spur_proto::{client, step_io};
use spur_tests::harness::until;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_stream::StreamExt;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic_prost::ProstCodec;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// gRPC over a connection that is made already.
async fn speak(line: TlsStream<TcpStream>) -> Result<Channel, String> {
    let mut line = Some(TokioIo::new(line));
    let once = tower::service_fn(move |_| {
        let line = line.take();
        async move { line.ok_or(std::io::Error::from(std::io::ErrorKind::NotConnected)) }
    });
    let end = Endpoint::from_static("http://controller");
    end.connect_with_connector(once).await.map_err(|error| error.to_string())
}

async fn dial(dialler: &Dialler, at: &str, role: &Role) -> TlsStream<TcpStream> {
    let stream = TcpStream::connect(at).await.expect("listens");
    dialler.dial(stream, role).await.expect("shakes hands")
}

/// What each method says to whoever is on this channel: whether it turned them away.
async fn denied(channel: &Channel, actor: &Actor) -> Vec<(&'static str, bool)> {
    let mut told = Vec::new();
    for rule in METHODS.iter().filter(|rule| !rule.method.contains("Accounting")) {
        let mut grpc = tonic::client::Grpc::new(channel.clone());
        let codec = ProstCodec::<(), ()>::default();
        let path = PathAndQuery::from_static(rule.method);
        grpc.ready().await.expect("is there");
        let call = grpc.unary(tonic::Request::new(()), path, codec);
        // Whoever is let in may wait for ever.
        let patience = if rule.who.admits(actor) { 200 } else { 30_000 };
        let answer = tokio::time::timeout(Duration::from_millis(patience), call).await;
        let is_denied = matches!(
            answer, Ok(Err(status)) if from_status(&status) == Some(SlurmError::AccessDenied)
        );
        told.push((rule.method, is_denied));
    }
    told
}

/// Nobody gets more than a row of the table gives.
async fn is_held_to_the_table(channel: &Channel, actor: &Actor) {
    for (method, is_denied) in denied(channel, actor).await {
        let rule = METHODS.iter().find(|rule| rule.method == method).expect("has a row");
        assert!(is_denied || rule.who.admits(actor), "{actor:?} got past {method}");
    }
}

#[test]
fn a_stranger_may_ask_to_join_and_nothing_else() {
    let site = Site::new();
    let at = controllers(&site.token(&[]));
    runtime().block_on(async {
        let stranger = Dialler::newcomer(None).expect("is usable");
        let channel = speak(dial(&stranger, &at, &Role::Controller).await).await.expect("speaks");
        is_held_to_the_table(&channel, &Actor::Anonymous).await;
        // A key that belongs to nobody, under every role, with tokens out of thin air.
        let mut client = client::controller(channel);
        let key = MachineKey::generate().expect("is made").public().0;
        for (role, token) in [
            ("controller", None),
            ("controller", Some(1)),
            ("login", Some(1)),
            ("compute", Some(0)),
        ] {
            let request = EnrolRequest {
                name: "mallory".to_string(),
                role: role.to_string(),
                public_key: key.clone(),
                token,
                secret: vec![0; 16],
            };
            let reply = client.enrol(request).await.map(|reply| reply.into_inner());
            let given = reply.map(|reply| (!reply.certificate.is_empty(), reply.secrets.is_some()));
            assert!(!given.is_ok_and(|(certificate, secrets)| certificate || secrets), "{role}");
        }
        // One address does not fill the list of those who wait.
        for number in 0..100 {
            let public_key = MachineKey::generate().expect("is made").public().0;
            let (name, role) = (format!("m{number}"), "compute".to_string());
            let request = EnrolRequest { name, role, public_key, ..EnrolRequest::default() };
            client.enrol(request).await.expect("waits");
        }
    });
    let waiting = site.spur(&["nodes", "waiting"]).out.matches("compute").count();
    assert!((1..=32).contains(&waiting), "{waiting} wait");
}

#[test]
fn a_stolen_key_is_good_for_its_own_node_alone() {
    let mut site = Site::new();
    let token = site.token(&["--uses", "2"]);
    let at = controllers(&token);
    for name in ["n1", "n2"] {
        assert_eq!(site.join(&token, name).status, Some(0));
    }
    site.agent("n2", &at);
    until("n2 is there", || site.is_idle("n2"));
    let line = ["sbatch", "--parsable", "-w", "n2", "-o", "/dev/null", "--wrap", "sleep 1000"];
    let job = site.spur(&line).out;
    let shows =
        |format: &str| site.spur(&["squeue", "-h", "-t", "all", "-j", &job, "-o", format]).out;
    until("it runs", || (shows("%T") == "RUNNING").then_some(()));
    let before = (shows("%T %N %S"), site.spur(&["sinfo", "-h", "-N", "-o", "%N %T"]).out);
    let own = Identity::load(&Path::new(&site.path("n1")).join("identity"));
    let own = own.expect("is read").expect("is there");
    let job_id: u32 = job.parse().expect("a number");
    runtime().block_on(async {
        let member = Dialler::member(&own).expect("is usable");
        let channel = speak(dial(&member, &at, &Role::Controller).await).await.expect("speaks");
        is_held_to_the_table(&channel, &Actor::Node(NodeName::from("n1"))).await;
        let say = |message| AgentMessage { message: Some(message) };
        let hello = |node: &str, address: &str| {
            let (node, address) = (node.to_string(), address.to_string());
            say(Says::Hello(Hello { node, address, ..Hello::default() }))
        };
        // It cannot be another node, nor send those who run steps to a path of their own machine.
        for first in [hello("n2", "127.0.0.1:1"), hello("n1", "unix:/tmp/mine.sock")] {
            let mut agents = client::agents(channel.clone());
            let answers = agents.session(tokio_stream::iter([first])).await.expect("is a node");
            let mut answers = answers.into_inner();
            let answer = tokio::time::timeout(Duration::from_secs(10), answers.next()).await;
            assert!(matches!(answer, Ok(None | Some(Err(_)))), "it was greeted");
        }
        // What it says of jobs elsewhere is nothing.
        let report = |outcome, step| Report {
            sequence: 1,
            job: job_id,
            epoch: 1,
            outcome,
            step,
            ..Report::default()
        };
        let reports = (0..6).flat_map(|outcome| [report(outcome, None), report(outcome, Some(0))]);
        let port = PortTaken { job: job_id, epoch: 1, port: 0 };
        let says = [
            hello("n1", ""),
            say(Says::Reports(Reports { reports: reports.collect() })),
            say(Says::PortTaken(port)),
            say(Says::Health(Health { problems: vec!["x".repeat(100_000)] })),
        ];
        let (sender, messages) = tokio::sync::mpsc::channel(8);
        for message in says {
            sender.send(message).await.expect("is taken");
        }
        let messages = tokio_stream::wrappers::ReceiverStream::new(messages);
        let answers = client::agents(channel.clone()).session(messages).await.expect("is n1");
        let mut answers = answers.into_inner();
        let mut heard = 0;
        // Greeted, and what it reported is known: there is nothing more to it.
        while let Ok(Some(Ok(answer))) =
            tokio::time::timeout(Duration::from_secs(10), answers.next()).await
        {
            assert!(!matches!(answer.message, Some(Hears::Launches(_))), "a job of n2");
            heard += 1;
            if matches!(answer.message, Some(Hears::Acknowledge(_))) {
                break;
            }
        }
        assert!(heard > 0);
        drop(sender);
        // Its word for users counts for none who has no job there; root has one on n2, and never counts.
        let authority = CertificateDer::from(own.authority.to_vec());
        for (machine, uid) in [("n1", 0), ("n1", 65_534), ("n2", 0), ("n2", 65_534)] {
            let visitor = Dialler::visitor(&authority).expect("is usable").introducing();
            let mut line = dial(&visitor, &at, &Role::Controller).await;
            let binding = binding(line.get_ref().1).expect("is bound");
            let machine = Role::Compute(machine.to_string()).certificate_name();
            let word = Assertion { machine, uid, gid: uid, expires: now() + 60, binding };
            let word = word.sign(&own.key);
            line.write_u16(word.len() as u16).await.expect("is heard");
            line.write_all(&word).await.expect("is heard");
            // Refused at the door, or known as nobody.
            if let Ok(channel) = speak(line).await
                && client::controller(channel.clone()).ping(PingRequest {}).await.is_ok()
            {
                is_held_to_the_table(&channel, &Actor::Anonymous).await;
            }
        }
    });
    let nodes = site.spur(&["sinfo", "-h", "-N", "-o", "%N %T"]).out;
    assert!(nodes.contains("n2 "), "{nodes}");
    assert_eq!(shows("%T %N %S"), before.0);
    let reason = site.spur(&["scontrol", "show", "node", "n1"]).out;
    assert!(reason.len() < 5_000, "a node says as much as it likes");
    site.spur(&["scancel", &job]);
}

#[test]
fn words_that_are_stale_or_made_for_another_end_the_connection() {
    let site = Site::new();
    let token = site.token(&["--role", "login"]);
    assert_eq!(site.join(&token, "login1").status, Some(0));
    let at = controllers(&token);
    let own = Identity::load(&Path::new(&site.path("login1")).join("identity"));
    let own = own.expect("is read").expect("is there");
    runtime().block_on(async {
        let authority = CertificateDer::from(own.authority.to_vec());
        let machine = own.role.certificate_name();
        let mut words: Vec<(&str, bool)> = Vec::new();
        for what in ["good", "stale", "far ahead", "of another connection", "changed", "no word"] {
            let visitor = Dialler::visitor(&authority).expect("is usable").introducing();
            let mut line = dial(&visitor, &at, &Role::Controller).await;
            let mut binding = binding(line.get_ref().1).expect("is bound");
            let expires = match what {
                "stale" => now() - 1,
                "far ahead" => now() + 3600,
                _ => now() + 60,
            };
            if what == "of another connection" {
                binding[0] ^= 1;
            }
            let word =
                Assertion { machine: machine.clone(), uid: 65_534, gid: 65_534, expires, binding };
            let mut word = word.sign(&own.key);
            match what {
                "changed" => {
                    let text = String::from_utf8(word).expect("is text");
                    word = text.replace(" 65534 65534 ", " 0 0 ").into_bytes();
                }
                "no word" => word = vec![0xff; 64],
                _ => {}
            }
            line.write_u16(word.len() as u16).await.expect("is heard");
            line.write_all(&word).await.expect("is heard");
            let is_let_in = match speak(line).await {
                Ok(channel) => client::controller(channel).ping(PingRequest {}).await.is_ok(),
                Err(_) => false,
            };
            words.push((what, is_let_in));
        }
        let let_in: Vec<&str> = words.iter().filter(|it| it.1).map(|it| it.0).collect();
        assert_eq!(let_in, ["good"]);
    });
}

#[test]
fn a_token_counts_as_it_was_signed_or_not_at_all() {
    let site = Site::new();
    let at = controllers(&site.token(&[]));
    let said = site.spur(&["scontrol", "token", "lifespan=60"]);
    let good = said.out.strip_prefix("SLURM_JWT=").expect("is printed").to_string();
    let ca = site.path("state/authority/ca.pem");
    let authority = read_authority(Path::new(&ca)).expect("is there");
    let hash = spur_net::hex(&spur_net::sha256(&authority)[..16]);
    let parts: Vec<&str> = good.split('.').collect();
    let stranger = MachineKey::generate().expect("is made");
    let claims = |issued, expires, audience: &str| Claims {
        user: "root".to_string(),
        issued,
        expires,
        audience: Some(audience.to_string()),
    };
    let (none, hmac) = ("eyJhbGciOiJub25lIn0", "eyJhbGciOiJIUzI1NiJ9");
    let bad = [
        ("signed by nobody", format!("{none}.{}.", parts[1])),
        ("said to need no signature", format!("{none}.{}.{}", parts[1], parts[2])),
        ("said to be of the site", format!("{hmac}.{}.{}", parts[1], parts[2])),
        ("signed by another", jwt::sign(&claims(now(), now() + 60, &hash), &stranger)),
        (
            "with another's claims",
            format!("{}.{}.{}", parts[0], parts[1].replace('e', "f"), parts[2]),
        ),
        ("cut short", good[..good.len() - 4].to_string()),
        ("too long", format!("{good}{}", "x".repeat(5000))),
        ("empty", String::new()),
    ];
    let squeue = |token: &str| {
        let remote =
            [("SPUR_CONTROLLER_ADDR", at.as_str()), ("SPUR_CA_FILE", &ca), ("SLURM_JWT", token)];
        let agent = [("SPUR_AGENT_SOCKET", "/nowhere")];
        site.spur_with(&["squeue"], &[&remote[..], &agent].concat(), None).status
    };
    assert_eq!(squeue(&good), Some(0));
    for (what, token) in &bad {
        assert_ne!(squeue(token), Some(0), "one that is {what}");
    }
}

#[test]
fn a_crowd_of_one_machine_keeps_its_own_agent_in() {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit");
    if hard < 4_000 || setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_err() {
        eprintln!("SKIPPED: too few open files are allowed");
        return;
    }
    let mut site = Site::new();
    let token = site.token(&[]);
    assert_eq!(site.join(&token, "n1").status, Some(0));
    let at: SocketAddr = controllers(&token).parse().expect("an address");
    // All from where the agent calls from, before it does, and silent.
    let mut crowd: Vec<std::net::TcpStream> = Vec::new();
    while crowd.len() < 2_500 {
        crowd.push(std::net::TcpStream::connect(at).expect("is taken"));
    }
    site.agent("n1", &at.to_string());
    until("its agent is there", || site.is_idle("n1"));
    crowd.extend((0..500).map(|_| std::net::TcpStream::connect(at).expect("is taken")));
    assert_eq!(site.spur(&["srun", "-w", "n1", "true"]).status, Some(0));
}

#[test]
fn an_agent_hears_out_who_has_a_credential() {
    let mut site = Site::new();
    let token = site.token(&[]);
    assert_eq!(site.join(&token, "n1").status, Some(0));
    let agent = site.agent("n1", &controllers(&token));
    until("it is there", || site.is_idle("n1"));
    let at = until("it says where it listens", || {
        let shown = std::process::Command::new("ss").args(["-Htlnp"]).output().ok()?;
        let pid = format!("pid={},", site.daemons[agent].id());
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        let line = shown.lines().find(|line| line.contains(&pid))?.to_string();
        line.split_whitespace().nth(3).map(str::to_string)
    });
    runtime().block_on(async {
        let stranger = Dialler::newcomer(None).expect("is usable");
        let role = Role::Compute("n1".to_string());
        for bytes in [
            step_io::frame(step_io::Kind::Hello, step_io::EVERYBODY, b""),
            step_io::frame(step_io::Kind::Hello, step_io::EVERYBODY, &[0xff; 100]),
            step_io::frame(step_io::Kind::Vouch, step_io::EVERYBODY, &[7; 32]),
            vec![0xff; 4096],
        ] {
            let mut line = dial(&stranger, &at, &role).await;
            line.write_all(&bytes).await.expect("is heard");
            let mut answer = Vec::new();
            let read = tokio::time::timeout(Duration::from_secs(10), line.read_to_end(&mut answer));
            assert!(read.await.is_ok(), "it is hung up on");
            assert!(!answer.windows(13).any(|it| it == b"spur-caller-1"), "nobody is vouched for");
        }
    });
    if is_root() {
        assert_eq!(site.spur(&["srun", "true"]).status, Some(0));
    }
}

/// The answer of an agent to the first words of a caller.
async fn answered(access: &StepAccess, at: usize, hello: &StepHello) -> Result<(), String> {
    let authority = CertificateDer::from(access.authority.clone());
    let visitor = Dialler::visitor(&authority).expect("is usable");
    let node = &access.nodes[at];
    let mut line = dial(&visitor, &node.address, &Role::Compute(node.name.clone())).await;
    line.write_all(&step_io::hello(hello)).await.expect("is heard");
    let (mut frames, mut bytes) = (step_io::Frames::default(), vec![0; 4096]);
    loop {
        if let Some(frame) = frames.take_frame().expect("is a frame") {
            let said = String::from_utf8_lossy(&frame.payload).into_owned();
            return if frame.kind == step_io::Kind::Refused { Err(said) } else { Ok(()) };
        }
        let count = line.read(&mut bytes).await.expect("answers");
        assert!(count > 0, "it hung up without a word");
        frames.push(&bytes[..count]);
    }
}

#[test]
fn a_step_credential_is_for_one_node_and_one_use() {
    if !is_root() {
        eprintln!("SKIPPED: needs root");
        return;
    }
    let mut site = Site::new();
    let token = site.token(&["--uses", "2"]);
    for name in ["n1", "n2"] {
        assert_eq!(site.join(&token, name).status, Some(0));
        site.agent(name, &controllers(&token));
    }
    until("both are there", || site.is_idle("n1,n2"));
    let step = format!("{} srun sleep 1000", spur_tests::harness::binary("spur").display());
    let words = ["sbatch", "--parsable", "-N2", "-o", "/dev/null", "--wrap", &step];
    let job = site.spur(&words).out;
    let steps = || site.spur(&["squeue", "-h", "-s", "-j", &job, "-o", "%i"]).out;
    until("its step runs", || steps().contains(&format!("{job}.0")).then_some(()));
    let socket = client::Address::parse(&site.socket()).expect("an address");
    runtime().block_on(async {
        let access = async || {
            let mut controller = client::controller(client::connect_lazily(&socket));
            let job_id = job.parse().expect("a number");
            let asked = StepAccessRequest { job_id, step_id: 0, measure: true };
            controller.access_step(asked).await.expect("is ours").into_inner()
        };
        let access = access().await;
        let epoch = access.job.as_ref().map_or(0, |job| job.epoch);
        let hello = |credential_of: usize, node: usize| StepHello {
            run: Some(Run { job: access.job_id, epoch, step: Some(0) }),
            credential: access.nodes[credential_of].credential.clone(),
            signature: access.nodes[credential_of].signature.clone(),
            node: access.nodes[node].name.clone(),
            measure: true,
            ..StepHello::default()
        };
        // What the one node was shown starts nothing on the other.
        let elsewhere = answered(&access, 1, &hello(0, 1)).await.expect_err("of another node");
        assert!(elsewhere.contains("another step, user or node"), "{elsewhere}");
        assert_eq!(answered(&access, 0, &hello(0, 0)).await, Ok(()));
        let replayed = answered(&access, 0, &hello(0, 0)).await.expect_err("a second time");
        assert!(replayed.contains("used already"), "{replayed}");
        assert_eq!(answered(&access, 1, &hello(1, 1)).await, Ok(()), "the refusal used up nothing");
    });
    site.spur(&["scancel", &job]);
}

#[test]
fn accounting_knows_which_tokens_are_worthless() {
    let mut site = Site::empty();
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr();
    let accounting = free.expect("an address").to_string();
    let (state, listen) = (site.path("state"), format!("{},127.0.0.1:0", site.socket()));
    let words = ["--state-dir", &state, "--listen", &listen, "--accounting", &accounting];
    let controller = site.start("spurctld", &words);
    site.is_led(&site.socket());
    let joined = site.join(&site.token(&["--role", "dbd"]), "dbd");
    assert_eq!(joined.status, Some(0), "{}", joined.err);
    let (dir, socket) = (site.path("dbd"), site.path("dbd.sock"));
    let (database, listen) = (format!("sqlite:{dir}/a.db"), format!("unix:{socket},{accounting}"));
    let words = ["--state-dir", &dir, "--database-url", &database, "--listen", &listen];
    let daemon = site.start("spurdbd", &words);
    let said = site.spur(&["scontrol", "token", "lifespan=600"]).out;
    let token = said.strip_prefix("SLURM_JWT=").expect("is printed").to_string();
    let authority = read_authority(Path::new(&site.path("state/authority/ca.pem")));
    let authority = authority.expect("is there");
    let address = client::Address::parse(&accounting).expect("an address");
    // Who is turned away at the entrance or by the table is out; who finds nobody there knows nothing.
    let is_let_in = || {
        let proof = Proof::Token { token: token.clone(), authority: authority.clone() };
        runtime().block_on(async {
            let channel = client::connect_accounting(&address, Some(proof)).await.ok()?;
            let rules = client::accounting(channel).get_rules(GetRulesRequest::default()).await;
            match rules {
                Ok(_) => Some(true),
                Err(status) => (from_status(&status)? == SlurmError::AccessDenied).then_some(false),
            }
        })
    };
    until("the token opens", || (is_let_in() == Some(true)).then_some(()));
    assert_eq!(site.spur(&["scontrol", "token", "revoke"]).status, Some(0));
    until("the token opens nothing", || (is_let_in() == Some(false)).then_some(()));
    // Also after a restart, with no controller there to tell.
    for gone in [controller, daemon] {
        site.daemons[gone].signal(nix::sys::signal::Signal::SIGKILL);
    }
    until("nobody listens", || std::net::TcpStream::connect(&accounting).is_err().then_some(()));
    site.start("spurdbd", &words);
    until("it listens again", || is_let_in().map(drop));
    assert_eq!(is_let_in(), Some(false));
}
