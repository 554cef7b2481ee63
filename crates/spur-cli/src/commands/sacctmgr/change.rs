//! Adds, modifies and deletes: thinks the change out, asks, and sends it.

use std::io::{Read, Write};
use std::time::Duration;

use spur_core::accounts::manage::{self, Entity, Plan, Refusal, Request, Word};
use spur_core::errors::SlurmError;
use spur_core::views::{RuleRow, RulesView};
use spur_proto::slurm::{ChangeRulesRequest, GetRulesRequest, ListEventsRequest};
use spur_proto::status::from_status;
use tonic::{Code, Status};

use super::{Style, entity, truth};
use crate::accounting::{self, Trouble};
use crate::cluster;
use crate::output::{complain, print};

pub fn add(style: &Style, words: &[String]) -> u8 {
    let none = "No valid entity in add command\nInput line must include \"Account\", \"Cluster\", \
                \"Coordinator\", \"Federation\", \"QOS\", \"Resource\", or \"User\"";
    change(style, words, none, |about| Doing::Adding(plural(about)), manage::add)
}

pub fn modify(style: &Style, words: &[String]) -> u8 {
    let none = "No valid entity in modify command\nInput line must include \"Account\", \"Cluster\", \
                \"Federation\", \"Job\", \"QOS\", \"Resource\" or \"User\"";
    change(style, words, none, |_| Doing::Changing, manage::modify)
}

pub fn remove(style: &Style, words: &[String]) -> u8 {
    let none = "No valid entity in delete command\nInput line must include \"Account\", \"Cluster\", \
                \"Coordinator\", \"Federation\", \"QOS\", \"Resource\", or \"User\"";
    change(style, words, none, |_| Doing::Changing, manage::remove)
}

/// What is being done, as a refusal names it.
#[derive(Clone, Copy)]
pub enum Doing {
    Adding(&'static str),
    Changing,
}

/// What is added, in Slurm's words.
fn plural(about: Entity) -> &'static str {
    match about {
        Entity::Account => "accounts",
        Entity::Association => "associations",
        Entity::Cluster => "clusters",
        Entity::Coordinator => "coordinator",
        Entity::Federation => "federation(s)",
        Entity::Qos => "QOS",
        Entity::Resource => "system resource",
        Entity::User => "users",
    }
}

type Think = fn(&RulesView, Entity, &Request) -> Result<Plan, Refusal>;

fn change(
    style: &Style,
    words: &[String],
    none: &str,
    doing: fn(Entity) -> Doing,
    think: Think,
) -> u8 {
    let Some((about, rest)) =
        words.split_first().and_then(|(word, rest)| Some((entity(word)?, rest)))
    else {
        eprintln!("{none}");
        return 1;
    };
    if style.read_only {
        eprintln!("Can't run this command in readonly mode.");
        return 1;
    }
    let mut request = request(rest);
    let is_reset = request.set.iter().any(|word| manage::is_reset(word) && word.value == "0");
    let names_cluster = request.which.iter().any(|word| word.is(&["clusters"]));
    let names_account = request.which.iter().any(|word| word.is(&["accounts"]));
    let is_told = match about {
        Entity::Cluster => false,
        Entity::User => names_account,
        _ => true,
    };
    if is_reset && is_told && !names_cluster && !request.which.is_empty() {
        let own = cluster::block_on(accounting::glance()).map(|it| it.cluster_name);
        let own = own.unwrap_or_default();
        print(&format!("No cluster specified, resetting on local cluster {own}\n"));
        request.which.push(Word::parse(&format!("cluster={own}")));
    }
    let strange = match unknown_resource(about, &request) {
        Ok(strange) => strange,
        Err(trouble) => return fail(&trouble),
    };
    carry_out(style, doing(about), |rules| match &strange {
        Some(refusal) => Err(refusal.clone()),
        None => think(rules, about, &request),
    })
}

/// What is said of the first limit on a resource that no cluster counts.
fn unknown_resource(about: Entity, request: &Request) -> Result<Option<Refusal>, Trouble> {
    let named = manage::resources_named(about, request);
    if named.is_empty() {
        return Ok(None);
    }
    let known = cluster::block_on(async {
        let mut client = accounting::connect().await?;
        let events = client.list_events(ListEventsRequest::default()).await;
        Ok(truth::tres(&events.map_err(accounting::refused)?.into_inner().events))
    })?;
    let is_known =
        |name: &str| known.iter().any(|one| format!("{}/{}", one.kind, one.name) == name);
    let strange = named.iter().find(|(_, name)| !is_known(name));
    Ok(strange.map(|(word, name)| word.unknown_resource(name)))
}

/// `where` and `set` say what the words behind them are; before either, they are conditions.
pub fn request(words: &[String]) -> Request {
    let mut request = Request::default();
    let mut setting = false;
    for word in words {
        match word.to_lowercase().as_str() {
            "set" => setting = true,
            "where" => setting = false,
            _ if setting => request.set.push(Word::parse(word)),
            _ => request.which.push(Word::parse(word)),
        }
    }
    request
}

/// Thinks out, asks, sends; begins anew when somebody else was quicker.
pub fn carry_out(
    style: &Style,
    doing: Doing,
    think: impl Fn(&RulesView) -> Result<Plan, Refusal>,
) -> u8 {
    let changes = matches!(doing, Doing::Changing);
    let own = nix::unistd::User::from_uid(nix::unistd::getuid()).ok().flatten();
    let own = own.map(|own| own.name).unwrap_or_default();
    // What to say where it is denied.
    let mut denial = Denial::Right;
    let done = cluster::block_on(async {
        let mut client = accounting::connect().await?;
        let (mut asked, mut told) = (style.immediate, false);
        let mut looks = 0;
        loop {
            let rules =
                client.get_rules(GetRulesRequest::default()).await.map_err(accounting::refused)?;
            let rules = rules.into_inner();
            let plan = match think(&rules) {
                Ok(plan) => plan,
                // Who may change nothing is told so, whether or not it is there.
                Err(Refusal::Nothing(text)) if changes && hides(&text, &rules, &own) => {
                    let ask = ChangeRulesRequest {
                        version: rules.version,
                        ask_only: true,
                        ..ChangeRulesRequest::default()
                    };
                    match client.change_rules(ask).await {
                        Err(status) if status.code() == Code::Aborted => continue,
                        Err(status) if is_denied(&status) => {
                            print(before_the_last_line(&text));
                            return Err(accounting::refused(status));
                        }
                        _ => {}
                    }
                    print(&format!("{text}\n"));
                    return Ok(1);
                }
                Err(Refusal::Nothing(text)) => {
                    print(&format!("{text}\n"));
                    return Ok(1);
                }
                Err(Refusal::Vain { why, says }) => {
                    eprintln!("{why}");
                    print(&format!("{says}\n"));
                    return Ok(1);
                }
                Err(Refusal::Wrong(text)) => {
                    eprintln!("{text}");
                    return Ok(1);
                }
                Err(Refusal::Done(text)) => {
                    print(&format!("{text}\n"));
                    return Ok(0);
                }
                Err(Refusal::Left(text)) => {
                    eprintln!("{text}");
                    return Ok(0);
                }
            };
            denial = Denial::of(&plan, &rules, &own);
            let version = rules.version;
            let mut request =
                ChangeRulesRequest { version, put: plan.put, remove: plan.remove, ask_only: false };
            // Who may not change it is told so before being asked whether to.
            if changes && !asked {
                request.ask_only = true;
                match client.change_rules(request.clone()).await {
                    Ok(_) => request.ask_only = false,
                    Err(status) if status.code() == Code::Aborted => continue,
                    Err(status) => return Err(accounting::refused(status)),
                }
            }
            // Slurm tells what it is about to add even with `--quiet`; what it changes, when that is done.
            let afterwards = asked && changes;
            if !told && !afterwards {
                eprint!("{}", plan.warns);
                print(&plan.says);
                told = true;
            }
            if !asked && !agreed(plan.question.unwrap_or(COMMIT)) {
                print(" Changes Discarded\n");
                return Ok(0);
            }
            asked = true;
            match client.change_rules(request).await {
                Ok(reply) => {
                    if !told {
                        eprint!("{}", plan.warns);
                        print(&plan.says);
                    }
                    accounting::in_force(reply.into_inner().version).await;
                    return Ok(u8::from(!plan.warns.is_empty()));
                }
                Err(status) if status.code() == Code::Aborted => {}
                // That a job is over reaches accounting a moment later.
                Err(status) if is_busy(&status) && looks < LOOKS => {
                    looks += 1;
                    tokio::time::sleep(PAUSE).await;
                }
                Err(status) => return Err(accounting::refused(status)),
            }
        }
    });
    match done {
        Ok(status) => status,
        Err(Trouble::Refused(status)) if is_denied(&status) => match (doing, denial) {
            (Doing::Changing, Denial::OwnLimits) => {
                eprintln!(
                    "sacctmgr: accounting_storage/slurmdbd: acct_storage_p_modify_assocs: Request didn't \
                     affect anything or your user doesn't have privilege to perform this action"
                );
                print(" Nothing modified\n");
                1
            }
            (Doing::Changing, Denial::OwnPerson) => {
                complain(
                    "sacctmgr",
                    "You can only change your own default account, default wckey nothing else",
                );
                eprintln!(" Error with request: {}", SlurmError::AccessDenied);
                1
            }
            _ => deny(doing),
        },
        Err(trouble) => fail_at(&doing, &trouble),
    }
}

/// What is said to somebody who may not make a change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Denial {
    /// That the right is missing.
    Right,
    /// It is one's own limits, which others set.
    OwnLimits,
    /// It is oneself, of whom one chooses the defaults alone.
    OwnPerson,
}

impl Denial {
    fn of(plan: &Plan, rules: &RulesView, own: &str) -> Denial {
        let is_own = |row: &RuleRow| {
            row.user.as_ref().is_some_and(|it| it.name == own)
                || row.association.as_ref().is_some_and(|it| it.user_name == own)
        };
        let all_own = !plan.put.is_empty() && plan.put.iter().all(is_own);
        match () {
            () if !all_own || !plan.remove.is_empty() || coordinates_any(rules, own) => {
                Denial::Right
            }
            () if plan.put.iter().any(|row| row.user.is_some()) => Denial::OwnPerson,
            () => Denial::OwnLimits,
        }
    }
}

fn coordinates_any(rules: &RulesView, own: &str) -> bool {
    rules.accounts.iter().any(|account| account.coordinators.iter().any(|one| one == own))
}

/// Whether only who has rights may know that there is nothing to change.
fn hides(text: &str, rules: &RulesView, own: &str) -> bool {
    let is_vain = text.lines().last().is_some_and(|line| line.starts_with(" Nothing "));
    is_vain && !coordinates_any(rules, own)
}

fn before_the_last_line(text: &str) -> &str {
    text.rfind('\n').map_or("", |at| &text[..=at])
}

/// Whether the caller may do what only operators may, and whether it is a user of accounting at all.
pub fn standing() -> Result<Standing, Trouble> {
    cluster::block_on(async {
        let mut client = accounting::connect().await?;
        loop {
            let rules = client.get_rules(GetRulesRequest::default()).await;
            let rules = rules.map_err(accounting::refused)?.into_inner();
            let ask = ChangeRulesRequest {
                version: rules.version,
                ask_only: true,
                ..ChangeRulesRequest::default()
            };
            let own = nix::unistd::User::from_uid(nix::unistd::getuid()).ok().flatten();
            match client.change_rules(ask).await {
                Ok(_) => return Ok(Standing::Operator),
                Err(status) if status.code() == Code::Aborted => {}
                Err(status) if !is_denied(&status) => return Err(accounting::refused(status)),
                Err(_) => {
                    return Ok(match own.is_some_and(|own| rules.user(&own.name).is_some()) {
                        true => Standing::User,
                        false => Standing::Stranger,
                    });
                }
            }
        }
    })
}

/// What accounting knows a caller as.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Operator,
    User,
    Stranger,
}

/// Goes on for operators; others are told what is said of it.
pub fn for_operators(says: impl Fn(Standing), go_on: impl FnOnce() -> u8) -> u8 {
    match standing() {
        Ok(Standing::Operator) => go_on(),
        Ok(standing) => {
            says(standing);
            1
        }
        Err(trouble) => fail(&trouble),
    }
}

/// Whether it was refused because of who asks.
pub fn is_denied(status: &Status) -> bool {
    from_status(status) == Some(SlurmError::AccessDenied)
}

/// Says that the caller may not do it.
pub fn deny(doing: Doing) -> u8 {
    let why = SlurmError::AccessDenied;
    match doing {
        Doing::Adding(what) => eprintln!(" Problem adding {what}: {why}"),
        Doing::Changing => {
            complain("sacctmgr", "Your user doesn't have privilege to perform this action");
            eprintln!(" Error with request: {why}");
        }
    }
    1
}

/// How often it is looked again whether jobs are over, and how long between.
const LOOKS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(200);

/// Whether a deletion was refused because of jobs.
fn is_busy(status: &Status) -> bool {
    from_status(status) == Some(SlurmError::JobsRunningOnAssoc)
}

/// Says why nothing was done.
pub fn fail(trouble: &Trouble) -> u8 {
    fail_at(&Doing::Changing, trouble)
}

fn fail_at(doing: &Doing, trouble: &Trouble) -> u8 {
    match trouble {
        Trouble::Disabled => {
            let text = "You are not running a supported accounting_storage plugin\n\
                        Only 'accounting_storage/slurmdbd' is supported.";
            eprintln!("{text}\n{}", Trouble::Disabled);
        }
        Trouble::Refused(status) if from_status(status).is_some() && !is_busy(status) => {
            match doing {
                Doing::Adding(what) => eprintln!(" Problem adding {what}: {}", status.message()),
                Doing::Changing => eprintln!(" Problem with request: {}", status.message()),
            }
        }
        Trouble::Refused(status) => eprintln!(" Error with request: {}", status.message()),
        trouble => complain("sacctmgr", trouble),
    }
    1
}

pub const COMMIT: &str = "Would you like to commit changes?";

/// Asks whether to go on; no answer is no.
pub fn agreed(question: &str) -> bool {
    print(&format!("{question} (You have 30 seconds to decide)\n"));
    // Letter by letter, as in Slurm: the first that is an answer counts, and the end of a line is no.
    let mut letters = std::io::stdin().lock().bytes();
    loop {
        print("(N/y): ");
        let _ = std::io::stdout().flush();
        let letter = letters.next();
        print("\n");
        match letter {
            Some(Ok(b'y' | b'Y')) => return true,
            Some(Ok(b'n' | b'N' | b'\n')) | Some(Err(_)) | None => return false,
            Some(Ok(_)) => print("Y or N please\n"),
        }
    }
}
