//! `sacctmgr show`.

mod associations;
mod clusters;
mod more;
mod people;
mod resources;
mod tables;

pub(super) use tables::{context, table};

use spur_core::accounts::manage::{Conditions, Entity, Request, Word};
use spur_core::accounts::rules::is_action;
use spur_core::errors::SlurmError;
use spur_core::fields::qos::{self, QOS_FIELDS};
use spur_core::fields::render;
use spur_core::fields::rules::{
    self, EVENT_FIELDS, PROBLEM_FIELDS, RESERVATION_FIELDS, TRANSACTION_FIELDS,
};
use spur_core::time::moment::{self, Toward};
use spur_core::views::RulesView;
use spur_proto::slurm::{
    GetRulesRequest, ListEventsRequest, ListTransactionsRequest, PingAccountingRequest,
};

use self::more::{More, has};
use self::tables::{mixed, shown_table};
use super::change::{agreed, fail, for_operators, request};
use super::{Style, entity, events, kept, truth};
use crate::accounting::{self, Trouble};
use crate::commands::answer;
use crate::output::{complain, print};
use crate::{cluster, zone};

const NO_ENTITY: &str = "No valid entity in list command\nInput line must include \"Account\", \
\"Association\", \"Cluster\", \"Configuration\",\n\"Event\", \"Federation\", \"Problem\", \"QOS\", \
\"Resource\", \"Reservation\",\n\"RunAwayJobs\", \"Stats\", \"Transaction\", \"TRES\", \"User\", or \"WCKey\"";

/// What `show` is asked, apart from conditions.
#[derive(Default)]
pub(super) struct Wanted {
    pub(super) format: Option<String>,
    pub(super) conditions: Vec<Word>,
    with_associations: bool,
    with_coordinators: bool,
    /// Jobs carry a wckey here, so users have one by default.
    tracks_wckeys: bool,
    tree: bool,
    /// `wopi`: only what an association says itself.
    own_only: bool,
    /// `wopl`: no limits.
    no_limits: bool,
    /// `onlydefaults`: only what users are charged to by default.
    defaults_only: bool,
    /// `withclusters`: who has which part of a resource.
    with_clusters: bool,
    /// `withdeleted`: what is no longer there, too.
    with_deleted: bool,
    /// `withfed`: with the federation that a cluster is in.
    with_fed: bool,
    /// `wsub`: what is below the accounts that are asked for, too.
    with_below: bool,
    pub(super) start: i64,
    pub(super) end: i64,
    actors: Vec<String>,
    actions: Vec<String>,
}

pub fn show(style: &Style, words: &[String]) -> u8 {
    let Some((about, rest)) = words.split_first() else {
        eprintln!("{NO_ENTITY}");
        return 1;
    };
    let wanted = match read(style, about, rest) {
        Ok(wanted) => Wanted { tracks_wckeys: tracks_wckeys(about), ..wanted },
        Err(status) => return status,
    };
    if !style.immediate && asks_for_associations(about, &wanted) {
        print(
            "You requested options that are only valid when querying with the withassoc option.\n",
        );
        if !agreed("Are you sure you want to continue?") {
            print("Aborted\n");
            return 0;
        }
    }
    if let Some(why) = of_operators(about) {
        let deny = |_| {
            complain("sacctmgr", why.0);
            if why.1 {
                eprintln!(" Error with request: {}", SlurmError::AccessDenied);
            }
        };
        return for_operators(deny, || look(style, about, &wanted));
    }
    look(style, about, &wanted)
}

/// Whether the cluster's jobs carry wckeys; asked only where users are shown.
fn tracks_wckeys(about: &str) -> bool {
    if entity(about) != Some(Entity::User) {
        return false;
    }
    let entries = cluster::Controller::find().config().map(|config| config.entries);
    entries.unwrap_or_default().iter().any(|it| it.key == "TrackWCKey" && it.value == "Yes")
}

/// What is said to those who may not see it, of what only operators see; and whether what was denied is said, too.
fn of_operators(about: &str) -> Option<(&'static str, bool)> {
    let about = about.to_lowercase();
    let is = |name: &str, shortest: usize| about.len() >= shortest && name.starts_with(&about);
    match () {
        () if is("runawayjobs", 2) => {
            Some(("You must have an AdminLevel>=Operator to fix runaway jobs", false))
        }
        () if is("stats", 2) => {
            Some(("Your user doesn't have privilege to perform this action", false))
        }
        () if is("wckeys", 2) => {
            Some(("Your user doesn't have privilege to perform this action", true))
        }
        () if is("problems", 2) => Some(("Access/permission denied", true)),
        () => None,
    }
}

fn look(style: &Style, about: &str, wanted: &Wanted) -> u8 {
    let done = cluster::block_on(answer_to(style, about, wanted));
    match done {
        Ok(Ok(text)) => {
            print(&text);
            0
        }
        Ok(Err(text)) => {
            eprintln!("{text}");
            1
        }
        Err(trouble) => fail(&trouble),
    }
}

/// Whether users or accounts are asked for by what only their associations have.
fn asks_for_associations(about: &str, wanted: &Wanted) -> bool {
    let of_associations: &[&str] = match entity(about) {
        Some(Entity::User) => &["accounts", "partitions", "qoslevel", "defaultqos"],
        Some(Entity::Account) => &["clusters", "partitions", "parents", "users", "qoslevel"],
        _ => return false,
    };
    let mut words = wanted.conditions.iter();
    !wanted.with_associations && words.any(|word| word.is(of_associations))
}

fn read(style: &Style, about: &str, words: &[String]) -> Result<Wanted, u8> {
    let of_users = entity(about) == Some(Entity::User);
    let Request { which, set } = request(words);
    let mut wanted = Wanted { with_associations: style.with_associations, ..Wanted::default() };
    for word in which.into_iter().chain(set) {
        let bare = word.value.to_lowercase();
        match word {
            word if word.name.is_empty() && "withassocs".starts_with(&bare) && bare.len() > 4 => {
                wanted.with_associations = true;
            }
            word if word.name.is_empty()
                && "withcoordinators".starts_with(&bare)
                && bare.len() > 4 =>
            {
                wanted.with_coordinators = true;
            }
            word if word.name.is_empty() && bare == "tree" && !of_users => wanted.tree = true,
            word if word.name.is_empty() && begins(&bare, "wopinfo", 4) && !of_users => {
                wanted.own_only = true;
            }
            word if word.name.is_empty() && begins(&bare, "woplimits", 4)
                || begins(&bare, "wolimits", 4) =>
            {
                wanted.no_limits = true;
            }
            word if word.name.is_empty() && begins(&bare, "onlydefaults", 4) => {
                wanted.defaults_only = true;
            }
            word if word.name.is_empty() && begins(&bare, "withclusters", 5) => {
                wanted.with_clusters = true;
            }
            word if word.name.is_empty() && begins(&bare, "withsubaccounts", 5) => {
                wanted.with_below = true;
            }
            word if word.name.is_empty() && begins(&bare, "withdeleted", 5) => {
                wanted.with_deleted = true;
            }
            word if word.name.is_empty() && begins(&bare, "withfed", 5) => wanted.with_fed = true,
            word if word.name.is_empty() && begins(&bare, "withrawqos", 5) => {}
            word if word.is(&["format"]) => wanted.format = Some(word.value.clone()),
            word if word.name.starts_with("start") => wanted.start = time(&word.value),
            word if word.name.starts_with("end") => wanted.end = time(&word.value),
            word if word.name.starts_with("actor") => wanted.actors.extend(word.list()),
            word if begins(&word.name, "action", 4) => {
                for action in word.value.split(',').filter(|action| !action.is_empty()) {
                    if !is_action(action) {
                        eprintln!("sacctmgr: error: You gave a bad action '{action}'.");
                        return Err(1);
                    }
                    wanted.actions.push(action.to_string());
                }
            }
            word => wanted.conditions.push(word),
        }
    }
    Ok(wanted)
}

fn begins(word: &str, known: &str, shortest: usize) -> bool {
    word.len() >= shortest && known.starts_with(word)
}

/// A time that cannot be read is told of, and bounds nothing.
fn time(value: &str) -> i64 {
    match moment::parse(value, Toward::Past, zone::now(), &zone::Local) {
        Ok(at) => at.0,
        Err(_) => {
            eprintln!("Invalid time specification (pos=0): {value}");
            0
        }
    }
}

/// The text, or what is wrong with the words.
async fn answer_to(
    style: &Style,
    about: &str,
    wanted: &Wanted,
) -> Result<Result<String, String>, Trouble> {
    let mut client = accounting::connect().await?;
    let word = about.to_lowercase();
    let is = |name: &str, shortest: usize| word.len() >= shortest && name.starts_with(&word);
    if is("transactions", 2) && !is("tres", 3) {
        let request = ListTransactionsRequest {
            start: wanted.start,
            end: wanted.end,
            actors: wanted.actors.clone(),
            actions: wanted.actions.clone(),
        };
        let reply = client.list_transactions(request).await.map_err(accounting::refused)?;
        let mut rows: Vec<_> = reply.into_inner().transactions;
        let mut conditions = wanted.conditions.iter();
        if let Some(word) = conditions.find(|word| !truth::is_condition(word)) {
            return Ok(Err(format!(" Unknown condition: {}", word.text)));
        }
        if !wanted.conditions.is_empty() {
            let all = client.get_rules(GetRulesRequest::default()).await;
            let all = all.map_err(accounting::refused)?.into_inner();
            rows.retain(|row| truth::is_about(row, &all, &wanted.conditions));
        }
        return Ok(shown_table(style, TRANSACTION_FIELDS, wanted, rules::TRANSACTION, rows));
    }
    let request = GetRulesRequest { with_deleted: wanted.with_deleted, ..Default::default() };
    let all = client.get_rules(request).await.map_err(accounting::refused)?.into_inner();
    if is("tres", 3) {
        let events = client.list_events(ListEventsRequest::default()).await;
        let events = events.map_err(accounting::refused)?.into_inner().events;
        return Ok(resources::tres(style, wanted, &events));
    }
    if is("wckeys", 2) {
        return Ok(resources::wckeys(style, wanted, &all));
    }
    if is("runawayjobs", 2) {
        if let Some(text) = strange(&wanted.conditions, &["clusters"]) {
            return Ok(Err(text));
        }
        return truth::runaway(style, wanted).await;
    }
    if is("events", 2) {
        let asked = match events::Asked::read(&wanted.conditions) {
            Ok(asked) => asked,
            Err(text) => return Ok(Err(text)),
        };
        let reply = client.list_events(events::request(wanted)).await;
        let mut rows = reply.map_err(accounting::refused)?.into_inner().events;
        rows.retain(|event| asked.meets(event));
        let default = if asked.is_about_clusters() { events::OF_CLUSTERS } else { rules::EVENT };
        return Ok(shown_table(style, EVENT_FIELDS, wanted, default, rows));
    }
    if is("reservations", 4) {
        let rows = kept::reservations(&mut client, wanted).await?;
        return Ok(shown_table(style, RESERVATION_FIELDS, wanted, rules::RESERVATION, rows));
    }
    if is("problems", 2) {
        if let Some(text) = strange(&wanted.conditions, &["accounts", "clusters", "users"]) {
            return Ok(Err(text));
        }
        let (accounts, users) = (wanted.said(&["accounts"]), wanted.said(&["users"]));
        let mut rows = truth::problems(&all);
        rows.retain(|one| has(&accounts, &one.account) && has(&users, &one.user));
        return Ok(shown_table(style, PROBLEM_FIELDS, wanted, rules::PROBLEM, rows));
    }
    if is("stats", 2) {
        let reply = client.ping_accounting(PingAccountingRequest {}).await;
        let reply = reply.map_err(accounting::refused)?.into_inner();
        return Ok(Ok(truth::stats(&all, &reply)));
    }
    if is("configuration", 2) {
        let reply = client.ping_accounting(PingAccountingRequest {}).await;
        return Ok(Ok(truth::configuration(&reply.map_err(accounting::refused)?.into_inner())));
    }
    if is("resources", 4) && !is("reservations", 4) {
        return Ok(resources::resources(style, wanted, &all));
    }
    let Some(about) = entity(about).filter(|about| *about != Entity::Coordinator) else {
        return Ok(Err(NO_ENTITY.to_string()));
    };
    let (more, rest) = More::of(&wanted.conditions);
    let which = match Conditions::read(&rest) {
        Ok(which) => which,
        // Slurm has no hint for associations, which nobody sets.
        Err(refusal) if about == Entity::Association => {
            let text = refusal.text();
            return Ok(Err(text.lines().next().unwrap_or_default().to_string()));
        }
        Err(refusal) => return Ok(Err(refusal.text())),
    };
    let asked = Question { style, wanted, all: &all, which: &which, more: &more };
    Ok(match about {
        Entity::Association => associations::associations(&asked),
        Entity::Qos => {
            let mut rows = all.qos.clone();
            rows.retain(|one| {
                has(&which.names, &one.name)
                    && has(&more.descriptions, &one.description)
                    && has(&more.preempt_modes, &one.preempt_mode)
                    && (more.ids.is_empty() || more.ids.contains(&one.id))
            });
            rows.sort_by_key(|one| one.id);
            if let Some(notation) = style.notation {
                let list = rows.iter().map(|one| render::json(QOS_FIELDS, one)).collect();
                Ok(answer::written(&answer::enclosed(&own(&all), "qos", list, &[], &[]), notation))
            } else {
                let format = wanted.format.as_deref().unwrap_or(qos::DEFAULT);
                let rows: Vec<_> = rows.into_iter().map(|one| (one, None)).collect();
                mixed(style, QOS_FIELDS, &[], format, &rows)
            }
        }
        Entity::Coordinator | Entity::Resource => Err(NO_ENTITY.to_string()),
        Entity::Federation => clusters::federations(&asked),
        Entity::Account => people::accounts(&asked),
        Entity::User => people::users(&asked),
        Entity::Cluster => {
            // What a cluster has now is told by its last event.
            let request = ListEventsRequest { open: true, ..ListEventsRequest::default() };
            let events = client.list_events(request).await.map_err(accounting::refused)?;
            let events = events.into_inner().events;
            let mut all = all.clone();
            for cluster in all.clusters.iter_mut().filter(|it| it.tres.is_empty()) {
                let mut own = events.iter().filter(|it| it.cluster == cluster.name);
                let has = own.find(|it| it.node.is_empty() && !it.tres.is_empty());
                cluster.tres = has.map(|it| it.tres.clone()).unwrap_or_default();
            }
            clusters::clusters(&Question { all: &all, ..asked })
        }
    })
}

/// What is said of the first condition that is none of these; a word alone always is one.
fn strange(conditions: &[Word], known: &[&str]) -> Option<String> {
    let is_known = |word: &&Word| word.name.is_empty() || word.is(known);
    let word = conditions.iter().find(|word| !is_known(word))?;
    Some(format!(" Unknown condition: {}", word.text))
}

impl Wanted {
    /// What the conditions of these names say.
    fn said(&self, known: &[&str]) -> Vec<String> {
        self.conditions.iter().filter(|word| word.is(known)).flat_map(Word::list).collect()
    }
}

/// What is asked about accounts, users, associations and clusters, and all that is known.
struct Question<'a> {
    style: &'a Style,
    wanted: &'a Wanted,
    all: &'a RulesView,
    which: &'a Conditions,
    more: &'a More,
}

fn own(all: &RulesView) -> String {
    all.clusters.first().map(|cluster| cluster.name.clone()).unwrap_or_default()
}

pub fn ping() -> u8 {
    let done = cluster::block_on(async {
        let mut client = accounting::connect().await?;
        client.ping_accounting(PingAccountingRequest {}).await.map_err(accounting::refused)
    });
    match done {
        Ok(_) => {
            print("slurmdbd(primary) at localhost is UP\n");
            0
        }
        Err(trouble) => fail(&trouble),
    }
}
