//! `sacctmgr show`.

use spur_core::accounts::manage::{Conditions, Entity, Request, Word};
use spur_core::accounts::rules::is_action;
use spur_core::fields::association::{self, ASSOCIATION_FIELDS};
use spur_core::fields::format::{self, FormatError};
use spur_core::fields::qos::{self, QOS_FIELDS};
use spur_core::fields::render::Layout;
use spur_core::fields::rules::{
    self, ACCOUNT_FIELDS, CLUSTER_FIELDS, EVENT_FIELDS, FEDERATION_FIELDS, PROBLEM_FIELDS,
    RESERVATION_FIELDS, RESOURCE_FIELDS, ResourceRow, TRANSACTION_FIELDS, TRES_FIELDS, USER_FIELDS,
    WCKEY_FIELDS,
};
use spur_core::fields::{Column, Field, RenderContext, render};
use spur_core::time::moment::{self, Toward};
use spur_core::views::{AssociationView, ClusterView, RulesView};
use spur_proto::slurm::{
    GetRulesRequest, ListEventsRequest, ListTransactionsRequest, PingAccountingRequest,
};

use super::change::{fail, request};
use super::{Style, entity, events, kept, truth};
use crate::accounting::{self, Trouble};
use crate::commands::answer;
use crate::output::print;
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
    let wanted = match read(style, rest) {
        Ok(wanted) => wanted,
        Err(status) => return status,
    };
    let done = cluster::block_on(answer_to(style, about, &wanted));
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

fn read(style: &Style, words: &[String]) -> Result<Wanted, u8> {
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
            word if word.name.is_empty() && bare == "tree" => wanted.tree = true,
            word if word.name.is_empty() && begins(&bare, "wopinfo", 4) => wanted.own_only = true,
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
            word if word.name.starts_with("start") => wanted.start = time(&word.value)?,
            word if word.name.starts_with("end") => wanted.end = time(&word.value)?,
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

/// Conditions that only `show` has.
#[derive(Default)]
struct More {
    organizations: Vec<String>,
    descriptions: Vec<String>,
    levels: Vec<String>,
    default_accounts: Vec<String>,
    qos: Vec<String>,
    default_qos: Vec<String>,
    ids: Vec<u32>,
    /// `type=`, `name=` of resources.
    kinds: Vec<String>,
}

impl More {
    /// Takes what it knows; the rest is for others.
    fn of(conditions: &[Word]) -> (More, Vec<Word>) {
        let (mut more, mut rest) = (More::default(), Vec::new());
        for word in conditions {
            let list = word.list();
            match word {
                word if word.is(&["organizations"]) => more.organizations.extend(list),
                word if word.is(&["descriptions"]) => more.descriptions.extend(list),
                word if word.is(&["adminlevel"]) && word.name.len() > 1 => more.levels.extend(list),
                word if word.is(&["defaultaccounts"]) => more.default_accounts.extend(list),
                word if word.is(&["defaultqos"]) && word.name.len() > 7 => {
                    more.default_qos.extend(list);
                }
                word if word.is(&["qos", "qoslevel"]) => more.qos.extend(list),
                word if word.is(&["type"]) => more.kinds.extend(list),
                word if word.is(&["ids", "associds"]) && word.name.len() > 1 => {
                    more.ids.extend(list.iter().filter_map(|id| id.parse::<u32>().ok()));
                }
                word => rest.push(word.clone()),
            }
        }
        (more, rest)
    }
}

/// Whether a list has a word; an empty one has every word.
fn has(list: &[String], word: &str) -> bool {
    list.is_empty() || list.iter().any(|one| one.eq_ignore_ascii_case(word))
}

fn time(value: &str) -> Result<i64, u8> {
    match moment::parse(value, Toward::Past, zone::now(), &zone::Local) {
        Ok(at) => Ok(at.0),
        Err(_) => {
            eprintln!("Invalid time specification (pos=0): {value}");
            Err(1)
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
    if is("transactions", 2) && !is("tres", 4) {
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
        return Ok(table(style, TRANSACTION_FIELDS, wanted, rules::TRANSACTION, &rows));
    }
    let request = GetRulesRequest { with_deleted: wanted.with_deleted, ..Default::default() };
    let all = client.get_rules(request).await.map_err(accounting::refused)?.into_inner();
    if is("tres", 4) {
        let events = client.list_events(ListEventsRequest::default()).await;
        let events = events.map_err(accounting::refused)?.into_inner().events;
        let (mut more, rest) = More::of(&wanted.conditions);
        let is_known = |word: &&Word| word.name.is_empty() || word.is(&["names"]);
        if let Some(word) = rest.iter().find(|word| !is_known(word)) {
            return Ok(Err(word.unknown_condition().text()));
        }
        let (bare, named): (Vec<Word>, Vec<Word>) =
            rest.into_iter().partition(|word| word.name.is_empty());
        let names: Vec<String> = named.iter().flat_map(Word::list).collect();
        // A word alone is a kind.
        more.kinds.extend(bare.iter().flat_map(Word::list));
        let mut rows = truth::tres(&events);
        rows.retain(|one| {
            has(&more.kinds, &one.kind)
                && has(&names, &one.name)
                && (more.ids.is_empty() || more.ids.contains(&one.id))
        });
        return Ok(table(style, TRES_FIELDS, wanted, rules::TRES, &rows));
    }
    if is("wckeys", 2) {
        return Ok(wckeys(style, wanted, &all));
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
        return Ok(table(style, EVENT_FIELDS, wanted, default, &rows));
    }
    if is("reservations", 4) {
        let rows = kept::reservations(&mut client, wanted).await?;
        return Ok(table(style, RESERVATION_FIELDS, wanted, rules::RESERVATION, &rows));
    }
    if is("problems", 2) {
        if let Some(text) = strange(&wanted.conditions, &["accounts", "clusters", "users"]) {
            return Ok(Err(text));
        }
        let rows = truth::problems(&all);
        return Ok(table(style, PROBLEM_FIELDS, wanted, rules::PROBLEM, &rows));
    }
    if is("stats", 2) {
        let reply = client.ping_accounting(PingAccountingRequest {}).await;
        let reply = reply.map_err(accounting::refused)?.into_inner();
        return Ok(Ok(truth::stats(&all, &reply)));
    }
    if is("configuration", 4) {
        let reply = client.ping_accounting(PingAccountingRequest {}).await;
        return Ok(Ok(truth::configuration(&reply.map_err(accounting::refused)?.into_inner())));
    }
    if is("resources", 4) && !is("reservations", 4) {
        return Ok(resources(style, wanted, &all));
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
    Ok(match about {
        Entity::Association => associations(style, wanted, &all, &which, &more),
        Entity::Qos => {
            let mut rows = all.qos.clone();
            rows.retain(|one| {
                has(&which.names, &one.name)
                    && has(&more.descriptions, &one.description)
                    && (more.ids.is_empty() || more.ids.contains(&one.id))
            });
            rows.sort_by_key(|one| one.id);
            if let Some(notation) = style.notation {
                let list = rows.iter().map(|one| render::json(QOS_FIELDS, one)).collect();
                Ok(answer::written(&answer::enclosed(&own(&all), "qos", list, &[], &[]), notation))
            } else {
                table(style, QOS_FIELDS, wanted, qos::DEFAULT, &rows)
            }
        }
        Entity::Coordinator | Entity::Resource => Err(NO_ENTITY.to_string()),
        Entity::Federation => federations(style, wanted, &all, &which),
        Entity::Account => accounts(style, wanted, &all, &which, &more),
        Entity::User => users(style, wanted, &all, &which, &more),
        Entity::Cluster => {
            // What a cluster has now is told by its last event.
            let request = ListEventsRequest { open: true, ..ListEventsRequest::default() };
            let events = client.list_events(request).await.map_err(accounting::refused)?;
            let events = events.into_inner().events;
            let mut all = all;
            for cluster in all.clusters.iter_mut().filter(|it| it.tres.is_empty()) {
                let mut own = events.iter().filter(|it| it.cluster == cluster.name);
                let has = own.find(|it| it.node.is_empty() && !it.tres.is_empty());
                cluster.tres = has.map(|it| it.tres.clone()).unwrap_or_default();
            }
            clusters(style, wanted, &all, &which)
        }
    })
}

/// What is said of the first condition that is none of these; a word alone always is one.
fn strange(conditions: &[Word], known: &[&str]) -> Option<String> {
    let is_known = |word: &&Word| word.name.is_empty() || word.is(known);
    let word = conditions.iter().find(|word| !is_known(word))?;
    Some(format!(" Unknown condition: {}", word.text))
}

fn wckeys(style: &Style, wanted: &Wanted, all: &RulesView) -> Result<String, String> {
    if let Some(text) =
        strange(&wanted.conditions, &["clusters", "ids", "names", "users", "wckeys"])
    {
        return Err(text);
    }
    let said = |known: &[&str]| -> Vec<String> {
        let of = wanted.conditions.iter().filter(|word| word.is(known));
        of.flat_map(Word::list).collect()
    };
    let bare = wanted.conditions.iter().filter(|word| word.name.is_empty());
    let (mut names, clusters) = (said(&["names", "wckeys"]), said(&["clusters"]));
    names.extend(bare.flat_map(Word::list));
    let (users, ids) = (said(&["users"]), said(&["ids"]));
    let mut rows = all.wckeys.clone();
    rows.retain(|one| {
        has(&names, &one.name)
            && has(&clusters, &one.cluster)
            && has(&users, &one.user_name)
            && has(&ids, &one.id.to_string())
    });
    table(style, WCKEY_FIELDS, wanted, rules::WCKEY, &rows)
}

fn resources(style: &Style, wanted: &Wanted, all: &RulesView) -> Result<String, String> {
    let known = [
        "clusters",
        "counts",
        "descriptions",
        "flags",
        "ids",
        "managers",
        "names",
        "percentallowed",
        "servers",
        "servertypes",
        "types",
    ];
    if let Some(text) = strange(&wanted.conditions, &known) {
        return Err(text);
    }
    let names = |known: &str| -> Vec<String> {
        let words = wanted.conditions.iter();
        let of = words.filter(|word| match known {
            "names" => word.name.is_empty() || word.is(&["names"]),
            known => word.is(&[known]),
        });
        of.flat_map(Word::list).collect()
    };
    let (with, named, servers, clusters) =
        (wanted.with_clusters, names("names"), names("servers"), names("clusters"));
    let mut rows = Vec::new();
    let mut all = all.resources.clone();
    all.retain(|one| has(&named, &one.name) && has(&servers, &one.server));
    all.sort_by_key(|one| one.key());
    for one in all {
        if !with {
            rows.push(ResourceRow { one, share: None });
            continue;
        }
        for share in one.shares.iter().filter(|share| has(&clusters, &share.cluster)) {
            let share = Some((share.cluster.clone(), share.percent));
            rows.push(ResourceRow { one: one.clone(), share });
        }
    }
    let default = if with { rules::RESOURCE_WITH } else { rules::RESOURCE };
    table(style, RESOURCE_FIELDS, wanted, default, &rows)
}

/// All associations, each with what is below it behind it, the newest first.
fn standing(all: &RulesView) -> Vec<&AssociationView> {
    let spans = all.spans();
    let mut standing: Vec<&AssociationView> = all.associations.iter().collect();
    standing.sort_by_key(|one| (&one.cluster, spans.get(&one.id).copied()));
    standing
}

fn own(all: &RulesView) -> String {
    all.clusters.first().map(|cluster| cluster.name.clone()).unwrap_or_default()
}

pub(super) fn context() -> RenderContext<'static> {
    RenderContext { now: zone::now(), offset_at: &zone::offset_at, ..RenderContext::default() }
}

fn unknown(field: &FormatError) -> String {
    format!("Unknown field '{}'", field.0.to_lowercase())
}

pub(super) fn table<Row>(
    style: &Style,
    fields: &'static [Field<Row>],
    wanted: &Wanted,
    default: &str,
    rows: &[Row],
) -> Result<String, String> {
    let format = wanted.format.as_deref().unwrap_or(default);
    if format.is_empty() {
        return Err("Unknown field ''".to_string());
    }
    let columns = format::accounting(fields, format).map_err(|field| unknown(&field))?;
    Ok(written(style, &columns, rows))
}

fn written<Row>(style: &Style, columns: &[Column<Row>], rows: &[Row]) -> String {
    let header = style.header.then(|| render::accounting_header(columns, &style.layout));
    let context = context();
    let rows = rows.iter().map(|row| render::accounting_row(columns, row, &style.layout, &context));
    header.into_iter().flatten().chain(rows).map(|line| line + "\n").collect()
}

fn associations(
    style: &Style,
    wanted: &Wanted,
    all: &RulesView,
    which: &Conditions,
    more: &More,
) -> Result<String, String> {
    let asked: Vec<String> = which.accounts.iter().chain(&which.names).cloned().collect();
    let others = Conditions { accounts: Vec::new(), names: Vec::new(), ..which.clone() };
    let of_account = |one: &AssociationView| {
        let line = || all.lineage(&one.cluster, &one.account);
        has(&asked, &one.account)
            || wanted.with_below && line().iter().any(|it| has(&asked, &it.account))
    };
    let meets = |one: &AssociationView| {
        of_account(one)
            && others.meets(one)
            && (!wanted.defaults_only || one.is_default)
            && (more.ids.is_empty() || more.ids.contains(&one.id))
            && (more.default_qos.is_empty()
                || has(&more.default_qos, &all.effective(one).default_qos))
            && (more.qos.is_empty() || all.effective(one).qos.iter().any(|qos| has(&more.qos, qos)))
    };
    let spans = all.spans();
    let mut found = all.arranged(all.associations.iter().filter(|one| meets(one)).collect());
    if wanted.own_only {
        // Nothing is above anything then.
        found.sort_by_key(|(one, _)| (one.user_name.is_empty(), spans.get(&one.id).copied()));
    }
    let mut rows = Vec::new();
    for (one, depth) in found {
        let own = wanted.own_only || wanted.no_limits;
        let mut one = if own { one.clone() } else { all.effective(one) };
        if wanted.own_only {
            one.parent.clear();
        } else {
            let above = if one.user_name.is_empty() { &one.parent } else { &one.account };
            one.parent_id =
                all.account_association(&one.cluster, above).map_or(0, |above| above.id);
        }
        let span = spans.get(&one.id).copied().unwrap_or_default();
        (one.left, one.right) = (span.left, span.right);
        let ids = one.qos.iter().filter_map(|name| all.qos(name)).map(|qos| qos.id.to_string());
        one.qos_ids = ids.collect::<Vec<_>>().join(",");
        if wanted.tree {
            one.account = format!("{}{}", " ".repeat(depth), one.account);
        }
        rows.push(one);
    }
    if let Some(notation) = style.notation {
        let list = rows.iter().map(|one| render::json(ASSOCIATION_FIELDS, one)).collect();
        let whole = answer::enclosed(&own(all), "associations", list, &[], &[]);
        return Ok(answer::written(&whole, notation));
    }
    let default = match wanted.no_limits {
        true => "Cluster,Account,User,Partition",
        false => association::DEFAULT,
    };
    let format = wanted.format.as_deref().unwrap_or(default);
    let columns =
        format::accounting(ASSOCIATION_FIELDS, format).map_err(|field| unknown(&field))?;
    let columns: Vec<Column<AssociationView>> = columns
        .into_iter()
        .map(|mut column| {
            let is_account = column.field.is_some_and(|field| field.name == "Account");
            if wanted.tree && is_account {
                (column.width, column.right) = (column.width.max(20), false);
            }
            column
        })
        .collect();
    Ok(written(style, &columns, &rows))
}

/// A table whose lines are made of a thing and one of its associations.
fn mixed<Row>(
    style: &Style,
    fields: &'static [Field<Row>],
    format: &str,
    rows: &[(Row, AssociationView)],
) -> Result<String, String> {
    /// A column of either.
    enum Either<Row: 'static> {
        Thing(Vec<Column<Row>>),
        Association(Vec<Column<AssociationView>>),
    }
    let mut columns = Vec::new();
    for word in format.split(',').filter(|word| !word.is_empty()) {
        columns.push(match format::accounting(fields, word) {
            Ok(column) => Either::Thing(column),
            Err(_) => Either::Association(
                format::accounting(ASSOCIATION_FIELDS, word).map_err(|field| unknown(&field))?,
            ),
        });
    }
    // Each column is laid out alone; between them stands what the layout wants.
    let alone = match &style.layout {
        Layout::Fixed => Layout::Fixed,
        Layout::Parsable { delimiter, .. } => {
            Layout::Parsable { delimiter: delimiter.clone(), ends: false }
        }
    };
    let join = |texts: Vec<String>| match &style.layout {
        Layout::Fixed => texts.concat(),
        Layout::Parsable { delimiter, ends } => {
            texts.join(delimiter) + if *ends { delimiter.as_str() } else { "" }
        }
    };
    let mut lines = Vec::new();
    if style.header {
        let headers: Vec<Vec<String>> = columns
            .iter()
            .map(|column| match column {
                Either::Thing(column) => render::accounting_header(column, &alone),
                Either::Association(column) => render::accounting_header(column, &alone),
            })
            .collect();
        for line in 0..headers.first().map_or(0, Vec::len) {
            lines.push(join(headers.iter().map(|header| header[line].clone()).collect()));
        }
    }
    let context = context();
    for (thing, one) in rows {
        let texts = columns.iter().map(|column| match column {
            Either::Thing(column) => render::accounting_row(column, thing, &alone, &context),
            Either::Association(column) => render::accounting_row(column, one, &alone, &context),
        });
        lines.push(join(texts.collect()));
    }
    Ok(lines.into_iter().map(|line| line + "\n").collect())
}

fn accounts(
    style: &Style,
    wanted: &Wanted,
    all: &RulesView,
    which: &Conditions,
    more: &More,
) -> Result<String, String> {
    let names = || which.names.iter().chain(&which.accounts);
    let mut things = all.accounts.clone();
    things.retain(|one| names().next().is_none() || names().any(|name| *name == one.name));
    things.retain(|one| {
        has(&more.organizations, &one.organization) && has(&more.descriptions, &one.description)
    });
    if wanted.with_coordinators || wanted.format.is_some() {
        // Whoever looks after an account looks after what is below it.
        let cluster = own(all);
        for one in &mut things {
            let line = all.lineage(&cluster, &one.name);
            let above = line.iter().filter_map(|above| all.account(&above.account));
            one.coordinators.extend(above.flat_map(|above| above.coordinators.iter().cloned()));
            one.coordinators.sort();
            one.coordinators.dedup();
        }
    }
    things.sort_by(|a, b| a.name.cmp(&b.name));
    let format = match (wanted.format.as_deref(), wanted.with_associations) {
        (Some(format), _) => format.to_string(),
        (None, true) => rules::ACCOUNT_WITH.to_string(),
        (None, false) if wanted.with_coordinators => format!("{},Coordinators", rules::ACCOUNT),
        (None, false) => rules::ACCOUNT.to_string(),
    };
    let standing = standing(all);
    let mut rows = Vec::new();
    for thing in things {
        if !wanted.with_associations {
            rows.push((thing, AssociationView::default()));
            continue;
        }
        let conditions = Conditions { accounts: Vec::new(), ..which.clone() };
        let mine = standing.iter().filter(|one| one.account == thing.name && conditions.meets(one));
        rows.extend(mine.map(|one| (thing.clone(), all.effective(one))));
    }
    mixed(style, ACCOUNT_FIELDS, &format, &rows)
}

fn users(
    style: &Style,
    wanted: &Wanted,
    all: &RulesView,
    which: &Conditions,
    more: &More,
) -> Result<String, String> {
    let names = || which.names.iter().chain(&which.users);
    let mut things = all.users.clone();
    things.retain(|one| names().next().is_none() || names().any(|name| *name == one.name));
    let level = |one: &spur_core::views::UserView| {
        let level = rules::admin(one.admin_level).to_lowercase();
        more.levels.is_empty() || more.levels.iter().any(|said| level.starts_with(said.as_str()))
    };
    things.retain(|one| has(&more.default_accounts, &one.default_account) && level(one));
    things.sort_by(|a, b| a.name.cmp(&b.name));
    let conditions = Conditions { users: Vec::new(), ..which.clone() };
    let format = match (wanted.format.as_deref(), wanted.with_associations) {
        (Some(format), _) => format.to_string(),
        (None, true) => rules::USER_WITH.to_string(),
        (None, false) => rules::USER.to_string(),
    };
    let is_coordinators = |word: &&str| {
        let name = word.split('%').next().unwrap_or_default().to_lowercase();
        name.len() >= 2 && "coordinators".starts_with(&name)
    };
    let with_coordinators =
        wanted.with_coordinators || format.split(',').any(|it| is_coordinators(&it));
    let others: Vec<&str> = format.split(',').filter(|word| !is_coordinators(word)).collect();
    let format = others.join(",");
    // A column that only associations have asks for them.
    let asks = wanted.with_associations
        || format.split(',').any(|word| format::accounting(USER_FIELDS, word).is_err());
    let standing = standing(all);
    let mut rows = Vec::new();
    for thing in things {
        let mine: Vec<_> = standing
            .iter()
            .filter(|one| one.user_name == thing.name && conditions.meets(one))
            .collect();
        if asks {
            rows.extend(mine.iter().map(|one| (thing.clone(), all.effective(one))));
        } else if conditions == Conditions::default()
            || !mine.is_empty()
            || which.names.contains(&thing.name)
        {
            rows.push((thing, AssociationView::default()));
        }
    }
    if with_coordinators {
        return with_coordinated(style, all, &format, &rows);
    }
    mixed(style, USER_FIELDS, &format, &rows)
}

/// `withcoord`: the accounts each user looks after, in a last column.
fn with_coordinated(
    style: &Style,
    all: &RulesView,
    format: &str,
    rows: &[(spur_core::views::UserView, AssociationView)],
) -> Result<String, String> {
    let text = mixed(style, USER_FIELDS, format, rows)?;
    let header = if style.header { text.lines().count() - rows.len() } else { 0 };
    let mut lines = Vec::new();
    for (place, line) in text.lines().enumerate() {
        let more = match place.checked_sub(header) {
            None if place == 0 => "Coord Accounts".to_string(),
            None => "-".repeat(20),
            Some(row) => {
                let user = &rows[row].0.name;
                let cluster = own(all);
                let looked_after = all.accounts.iter().map(|account| account.name.as_str());
                let mut names: Vec<&str> =
                    looked_after.filter(|name| all.coordinates(user, &cluster, name)).collect();
                names.sort_unstable();
                names.join(",")
            }
        };
        lines.push(match &style.layout {
            Layout::Fixed => format!("{line}{more:>20} \n"),
            Layout::Parsable { delimiter, ends: false } => format!("{line}{delimiter}{more}\n"),
            Layout::Parsable { delimiter, ends: true } => format!("{line}{more}{delimiter}\n"),
        });
    }
    Ok(lines.concat())
}

/// A line for each cluster of a federation; one that has none is alone in its line.
fn federations(
    style: &Style,
    wanted: &Wanted,
    all: &RulesView,
    which: &Conditions,
) -> Result<String, String> {
    let mut named: Vec<&str> = all.federations.iter().map(|one| one.name.as_str()).collect();
    named.retain(|name| has(&which.names, name));
    named.sort_unstable();
    let mut rows = Vec::new();
    for name in named {
        let clusters = all.clusters.iter().filter(|cluster| cluster.federation == name);
        let clusters = clusters.filter(|cluster| has(&which.clusters, &cluster.name));
        let before = rows.len();
        rows.extend(clusters.cloned());
        if rows.len() == before && which.clusters.is_empty() {
            rows.push(ClusterView { federation: name.to_string(), ..ClusterView::default() });
        }
    }
    table(style, FEDERATION_FIELDS, wanted, rules::FEDERATION, &rows)
}

fn clusters(
    style: &Style,
    wanted: &Wanted,
    all: &RulesView,
    which: &Conditions,
) -> Result<String, String> {
    let names = || which.names.iter().chain(&which.clusters);
    let mut things = all.clusters.clone();
    things.retain(|one| names().next().is_none() || names().any(|name| *name == one.name));
    things.sort_by(|a, b| a.name.cmp(&b.name));
    let top = |name: &str| {
        let top = all.account_association(name, spur_core::accounts::rules::ROOT);
        top.map(|one| all.effective(one)).unwrap_or_default()
    };
    let rows: Vec<_> = things.into_iter().map(|one| (one.clone(), top(&one.name))).collect();
    let default = match wanted.with_fed {
        true => format!("{},Federation,ID,Features,FedState", rules::CLUSTER),
        false => rules::CLUSTER.to_string(),
    };
    let format = wanted.format.as_deref().unwrap_or(&default);
    mixed(style, CLUSTER_FIELDS, format, &rows)
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
