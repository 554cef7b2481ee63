//! Reads what `sacctmgr dump` has written: what is new is added, what differs is changed.

use spur_core::accounts::manage::{self, Entity, Plan, Refusal, Request, Word};
use spur_core::accounts::rules::{ADMIN_NONE, ROOT};
use spur_core::accounts::settings::{self, ASSOCIATION};
use spur_core::fields::association::{ASSOCIATION_FIELDS, LOADED};
use spur_core::fields::render::Layout;
use spur_core::fields::rules::admin;
use spur_core::fields::{RenderContext, format, render};
use spur_core::views::rules::UserView;
use spur_core::views::{AssociationView, RuleRow, RulesView};

/// What a file comes to.
#[derive(Default)]
struct Loaded {
    plan: Plan,
    /// The root of a cluster that is new.
    cluster: Vec<AssociationView>,
    changed: String,
    accounts: Vec<[String; 4]>,
    account_associations: Vec<AssociationView>,
    users: Vec<[String; 6]>,
    user_associations: Vec<AssociationView>,
}

/// How a file is read.
#[derive(Default)]
pub struct How {
    /// What the cluster has and the file has not goes.
    pub clean: bool,
    /// Another cluster than the file says.
    pub cluster: Option<String>,
}

const NO_CLUSTER: &str =
    " You need to specify a cluster name first with 'Cluster - $NAME' in your file";

/// Each line is an addition to what the lines before it have made.
pub fn plan(rules: &RulesView, text: &str, how: &How) -> Result<Plan, Refusal> {
    let (mut after, mut loaded) = (rules.clone(), Loaded::default());
    let (mut cluster, mut parent) = (String::new(), ROOT.to_string());
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |why: &str| {
            let why = if why.is_empty() { String::new() } else { format!("{why}\n") };
            Refusal::Wrong(format!(
                "{why} Problem with line({})\n Problem with requests: Unspecified error",
                number + 1
            ))
        };
        let misformatted = || wrong(&format!(" Misformatted line({}): {line}\n", number + 1));
        let (kind, rest) = line.split_once(" - ").ok_or_else(misformatted)?;
        if cluster.is_empty() && kind.trim() != "Cluster" {
            return Err(Refusal::Wrong(NO_CLUSTER.to_string()));
        }
        let mut options = split(rest);
        let mut name = options.remove(0).trim_matches('\'').to_string();
        let place = match kind.trim() {
            "Cluster" => {
                cluster = how.cluster.clone().unwrap_or_else(|| name.to_lowercase());
                name.clone_from(&cluster);
                if how.clean {
                    after.associations.retain(|one| !goes(one, &cluster));
                }
                (Entity::Cluster, Vec::new())
            }
            "Parent" => {
                parent = name.to_lowercase();
                if after.account_association(&cluster, &parent).is_none() {
                    let why = format!(
                        " line({}) You need to add this parent ({parent}) as a child before you can add children to it.",
                        number + 1
                    );
                    let says = format!("For cluster {cluster}\n Nothing new added.");
                    return Err(Refusal::Vain { why, says });
                }
                continue;
            }
            "Account" => (Entity::Account, vec![format!("parent={parent}")]),
            "User" => (Entity::User, vec![format!("account={parent}")]),
            _ => return Err(misformatted()),
        };
        take_line(&mut after, &mut loaded, place, &cluster, &name, &options)
            .map_err(|refusal| wrong(&refusal.text()))?;
    }
    if how.clean {
        replace(rules, &after, &cluster, &mut loaded.plan);
    }
    let says = says(&loaded);
    match loaded.plan.put.is_empty() && loaded.plan.remove.is_empty() {
        true => Err(Refusal::Done(format!("For cluster {cluster}\n Nothing new added."))),
        false => Ok(Plan { says: format!("For cluster {cluster}\n{says}"), ..loaded.plan }),
    }
}

/// What a clean load begins without: everything of the cluster but its root.
fn goes(one: &AssociationView, cluster: &str) -> bool {
    one.cluster == cluster && one.account != ROOT
}

/// What the file has again keeps its number, and with it what was used; what it has not is taken out.
fn replace(before: &RulesView, after: &RulesView, cluster: &str, plan: &mut Plan) {
    for row in &mut plan.put {
        let known = before.current(row).and_then(|row| row.association);
        if let (Some(one), Some(known)) = (&mut row.association, known) {
            (one.id, one.usage_resets) = (known.id, known.usage_resets);
        }
    }
    let old = before.associations.iter().filter(|one| goes(one, cluster));
    let lost = old.map(|one| RuleRow::from(one.clone())).filter(|row| after.current(row).is_none());
    plan.remove.extend(lost);
}

fn take_line(
    after: &mut RulesView,
    loaded: &mut Loaded,
    (entity, mut words): (Entity, Vec<String>),
    cluster: &str,
    name: &str,
    options: &[String],
) -> Result<(), Refusal> {
    let mut limits = Vec::new();
    let mut looks_after = Vec::new();
    for option in options {
        let word = Word::parse(option);
        match word {
            word if word.is(&["coordinators"]) => looks_after = word.list(),
            word if settings::find(ASSOCIATION, &word.name).is_some() => limits.push(word),
            _ => words.push(option.clone()),
        }
    }
    if entity != Entity::Cluster {
        words.push(format!("cluster={cluster}"));
    }
    words.push(format!("name={name}"));
    let mut request = Request::default();
    request.which.extend(words.iter().map(|word| Word::parse(word)));
    request.which.extend(limits.iter().cloned());
    match manage::add(after, entity, &request) {
        Ok(plan) => note_new(loaded, &plan, &looks_after, after),
        Err(Refusal::Nothing(_)) => Ok(Plan::default()),
        Err(refusal) => Err(refusal),
    }
    .map(|plan| take(after, loaded, plan))?;
    change_thing(after, loaded, entity, name, &request)?;
    change_known(after, loaded, entity, cluster, name, &request, &limits)?;
    for account in looks_after {
        if let Some(account) = after.account(&account)
            && !account.coordinators.iter().any(|one| one == name)
        {
            let mut account = account.clone();
            account.coordinators.push(name.to_string());
            take(after, loaded, Plan { put: vec![account.into()], ..Plan::default() });
        }
    }
    Ok(())
}

/// Remembers what is new, for the tables.
fn note_new(
    loaded: &mut Loaded,
    plan: &Plan,
    looks_after: &[String],
    before: &RulesView,
) -> Result<Plan, Refusal> {
    for row in &plan.put {
        if let Some(one) = &row.account {
            let texts = [&one.name, &one.description, &one.organization].map(String::clone);
            let [name, description, organization] = texts;
            loaded.accounts.push([name, description, organization, String::new()]);
        }
        if let Some(one) = &row.user
            && let Some(known) = before.user(&one.name)
            && known.default_account != one.default_account
        {
            let accounts = (&known.default_account, &one.default_account);
            note_change(loaded, "Default Account", "User", &one.name, accounts);
        }
        if let Some(one) = &row.user
            && before.user(&one.name).is_none()
        {
            let level = if one.admin_level > 1 { admin(one.admin_level) } else { "Not Set" };
            loaded.users.push([
                one.name.clone(),
                one.default_account.clone(),
                one.default_wckey.clone(),
                String::new(),
                level.to_string(),
                looks_after.join(","),
            ]);
        }
        match &row.association {
            Some(_) if before.current(row).is_some() => {}
            // A new cluster begins with its root, and root in it.
            Some(one) if one.account == ROOT && one.user_name.is_empty() => {
                loaded.cluster.push(one.clone());
            }
            Some(one) if (&one.account[..], &one.user_name[..]) == (ROOT, ROOT) => {}
            Some(one) if one.user_name.is_empty() => loaded.account_associations.push(one.clone()),
            Some(one) => loaded.user_associations.push(one.clone()),
            None => {}
        }
    }
    Ok(plan.clone())
}

/// Sets what differs of an association that is there.
fn change_known(
    after: &mut RulesView,
    loaded: &mut Loaded,
    entity: Entity,
    cluster: &str,
    name: &str,
    request: &Request,
    limits: &[Word],
) -> Result<(), Refusal> {
    let of = |wanted: &str| {
        let words = request.which.iter().rev();
        words.filter(|word| word.is(&[wanted])).map(|word| word.value.to_lowercase()).next()
    };
    let lower = name.to_lowercase();
    let key = match entity {
        Entity::Cluster => (ROOT.to_string(), String::new()),
        Entity::Account => (lower, String::new()),
        _ => (of("account").unwrap_or_default(), lower),
    };
    let partition = of("partitions").unwrap_or_default();
    let found = after.associations.iter().find(|one| {
        one.cluster == cluster
            && (&one.account, &one.user_name) == (&key.0, &key.1)
            && one.partition == partition
    });
    let Some(known) = found.cloned() else { return Ok(()) };
    let mut changed = known.clone();
    for word in limits {
        let Some(setting) = settings::find(ASSOCIATION, &word.name) else { continue };
        let was = (setting.told)(&changed);
        (setting.set)(&mut changed, word.change, &word.value)
            .map_err(|fault| Refusal::Wrong(setting.refusal(&fault, &word.text, &word.value)))?;
        let is = (setting.told)(&changed);
        if was != is {
            let what = setting.names[0].to_lowercase();
            let kind = match entity {
                Entity::Cluster => "Cluster",
                Entity::Account => "Account",
                _ => "User",
            };
            note_change(loaded, &what, kind, name, (was, is));
        }
    }
    if changed != known {
        take(after, loaded, Plan { put: vec![changed.into()], ..Plan::default() });
    }
    Ok(())
}

/// Sets what differs of an account or a user that was there before.
fn change_thing(
    after: &mut RulesView,
    loaded: &mut Loaded,
    entity: Entity,
    name: &str,
    request: &Request,
) -> Result<(), Refusal> {
    let said = |wanted: &str| request.which.iter().rev().find(|word| word.is(&[wanted]));
    let name = name.to_lowercase();
    match entity {
        Entity::Account => {
            let Some(known) = after.account(&name).cloned() else { return Ok(()) };
            let mut changed = known.clone();
            for (what, place) in [
                ("description", &mut changed.description),
                ("organization", &mut changed.organization),
            ] {
                let text = said(what).map(|word| word.value.to_lowercase());
                let Some(text) = text.filter(|text| text != place) else { continue };
                note_change(loaded, what, "Account", &name, (&*place, &text));
                *place = text;
            }
            if changed != known {
                take(after, loaded, Plan { put: vec![changed.into()], ..Plan::default() });
            }
        }
        Entity::User => {
            let Some(known) = after.user(&name).cloned() else { return Ok(()) };
            let Some(word) = said("adminlevel") else { return Ok(()) };
            let level = manage::admin_level(word)?;
            if level != known.admin_level.max(ADMIN_NONE) {
                let words = (admin(known.admin_level), admin(level));
                note_change(loaded, "Admin Level", "User", &name, words);
                let changed = UserView { admin_level: level, ..known };
                take(after, loaded, Plan { put: vec![changed.into()], ..Plan::default() });
            }
        }
        _ => {}
    }
    Ok(())
}

fn note_change(
    loaded: &mut Loaded,
    what: &str,
    kind: &str,
    name: &str,
    (was, is): (impl AsRef<str>, impl AsRef<str>),
) {
    let (was, is) = (was.as_ref(), is.as_ref());
    let line = format!(" Changed {what:<21} for {kind:<7} {name:<10} {was:>8} -> {is}\n");
    loaded.changed.push_str(&line);
}

fn take(after: &mut RulesView, loaded: &mut Loaded, plan: Plan) {
    for row in &plan.put {
        after.put(row.clone());
    }
    loaded.plan.put.extend(plan.put);
}

fn says(loaded: &Loaded) -> String {
    let short = "-".repeat(51);
    let long = "-".repeat(62);
    let mut text = String::new();
    if !loaded.cluster.is_empty() {
        let table = associations("Account,ParentName", &loaded.cluster);
        text.push_str(&format!("{table}{long}\n\n"));
    }
    text.push_str(&loaded.changed);
    if !loaded.accounts.is_empty() {
        let columns = [("Name", 10), ("Descr", 20), ("Org", 20), ("QOS", 20)];
        text.push_str(&format!("Accounts\n{}{short}\n\n", plain(&columns, &loaded.accounts)));
    }
    if !loaded.account_associations.is_empty() {
        let table = associations("Account,ParentName", &loaded.account_associations);
        text.push_str(&format!("Account Associations\n{table}{long}\n\n"));
    }
    if !loaded.users.is_empty() {
        let columns = [
            ("Name", 10),
            ("Def Acct", 10),
            ("Def WCKey", 10),
            ("QOS", 20),
            ("Admin", 9),
            ("Coord Accounts", 20),
        ];
        text.push_str(&format!("Users\n{}{short}\n\n", plain(&columns, &loaded.users)));
    }
    if !loaded.user_associations.is_empty() {
        let table = associations("User,Account", &loaded.user_associations);
        text.push_str(&format!("User Associations\n{table}{long}\n\n"));
    }
    text
}

fn plain<const N: usize>(columns: &[(&str, usize); N], rows: &[[String; N]]) -> String {
    let line = |words: [&str; N]| {
        let cells = words.iter().zip(columns).map(|(word, (_, width))| {
            let long = word.chars().count() > *width;
            let cut: String = word.chars().take(if long { *width - 1 } else { *width }).collect();
            let shown = if long { format!("{cut}+") } else { cut };
            format!("{shown:>width$} ")
        });
        cells.collect::<String>() + "\n"
    };
    let dashes = columns.map(|(_, width)| "-".repeat(width));
    let mut text = line(columns.map(|(name, _)| name));
    text.push_str(&line(dashes.each_ref().map(String::as_str)));
    for row in rows {
        text.push_str(&line(row.each_ref().map(String::as_str)));
    }
    text
}

fn associations(first: &str, rows: &[AssociationView]) -> String {
    let spec = format!("{first},{LOADED}");
    let Ok(columns) = format::accounting(ASSOCIATION_FIELDS, &spec) else { return String::new() };
    let context = RenderContext::default();
    let header = render::accounting_header(&columns, &Layout::Fixed);
    let rows =
        rows.iter().map(|row| render::accounting_row(&columns, row, &Layout::Fixed, &context));
    header.into_iter().chain(rows).map(|line| line + "\n").collect()
}

/// Splits at colons outside of quotes. A colon before something that is no option belongs to the name of a
/// resource, as in `gres/gpu:mi300x=1`.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut quoted) = (vec![String::new()], false);
    for letter in text.chars() {
        match letter {
            '\'' => {
                quoted = !quoted;
                parts.last_mut().expect("there is one").push(letter);
            }
            ':' if !quoted => parts.push(String::new()),
            letter => parts.last_mut().expect("there is one").push(letter),
        }
    }
    let mut whole: Vec<String> = Vec::new();
    for part in parts {
        let of_resource = whole.last().is_some_and(|it| it.contains("gres/")) && !is_option(&part);
        match whole.last_mut() {
            Some(last) if of_resource => last.push_str(&format!(":{part}")),
            _ => whole.push(part),
        }
    }
    whole
}

fn is_option(part: &str) -> bool {
    let word = Word::parse(part);
    let of_things = [
        "adminlevel",
        "coordinators",
        "defaultaccount",
        "defaultwckey",
        "description",
        "organization",
        "partitions",
        "wckeys",
    ];
    settings::find(ASSOCIATION, &word.name).is_some() || word.is(&of_things)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
Cluster - 'oracle':Fairshare=1:QOS='normal'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
Account - 'aa':Description='a b':Organization='aa':Fairshare=3:GrpTRES=cpu=1,gres/gpu:mi300x=1,gres/gpu=2:GrpJobs=1
Parent - 'aa'
User - 'games':DefaultAccount='aa':Coordinator='aa':Fairshare=3
";

    fn site() -> RulesView {
        let mut rules = RulesView::default();
        let rows = RulesView::founding().into_iter().chain(RulesView::cluster_rows("oracle"));
        rows.for_each(|row| rules.put(row));
        rules
    }

    #[test]
    fn a_dump_is_read_back_and_changes_what_differs() {
        let mut rules = site();
        let first = plan(&rules, FILE, &How::default()).expect("a plan");
        assert!(first.says.starts_with("For cluster oracle\nAccounts\n"), "{}", first.says);
        first.put.into_iter().for_each(|row| rules.put(row));
        let aa = rules.account_association("oracle", "aa").expect("it is there");
        assert_eq!(aa.grp_tres, "cpu=1,gres/gpu:mi300x=1,gres/gpu=2");
        assert_eq!(rules.account("aa").expect("it").coordinators, ["games"]);
        let again = plan(&rules, FILE, &How::default());
        assert!(matches!(again, Err(Refusal::Done(text)) if text.ends_with("Nothing new added.")));
        let other = FILE.replace("Coordinator='aa':Fairshare=3", "Fairshare=7");
        let changed = plan(&rules, &other, &How::default());
        assert_eq!(
            changed.expect("a plan").says,
            "For cluster oracle\n Changed fairshare             for User    games             3 -> 7\n"
        );
        let known = rules.account_association("oracle", "aa").expect("it is there").clone();
        let head: String = FILE.lines().take(3).map(|line| format!("{line}\n")).collect();
        let how = How { clean: true, cluster: None };
        let cleaned = plan(&rules, &format!("{head}Account - 'aa':Fairshare=5\n"), &how);
        let cleaned = cleaned.expect("a plan");
        let put = cleaned.put.iter().find_map(|row| row.association.as_ref()).expect("aa again");
        assert_eq!((put.id, put.shares, put.grp_jobs), (known.id, 5, None));
        let lost: Vec<_> = cleaned.remove.iter().filter_map(|it| it.association.as_ref()).collect();
        assert_eq!(lost.iter().map(|one| one.user_name.as_str()).collect::<Vec<_>>(), ["games"]);
    }

    #[test]
    fn what_is_there_already_takes_what_the_file_says_of_it() {
        let mut rules = site();
        let first = plan(&rules, FILE, &How::default()).expect("a plan");
        first.put.into_iter().for_each(|row| rules.put(row));
        let other = FILE
            .replace("Description='a b'", "Description='c'")
            .replace("DefaultAccount='aa'", "DefaultAccount='aa':AdminLevel='Operator'");
        let changed = plan(&rules, &other, &How::default()).expect("a plan");
        assert_eq!(
            changed.says,
            "For cluster oracle\n Changed description           for Account aa              a b -> c\n \
             Changed Admin Level           for User    games          None -> Operator\n"
        );
        changed.put.into_iter().for_each(|row| rules.put(row));
        assert_eq!(rules.account("aa").map(|it| it.description.as_str()), Some("c"));
        assert_eq!(rules.user("games").map(|it| it.admin_level), Some(2));
        assert!(matches!(plan(&rules, &other, &How::default()), Err(Refusal::Done(_))));
        // Another cluster than the file says is made where it is not there.
        let how = How { cluster: Some("second".to_string()), ..How::default() };
        let elsewhere = plan(&rules, FILE, &how).expect("a plan");
        let tables: Vec<&str> =
            elsewhere.says.lines().filter(|it| it.contains(" Share ")).collect();
        assert_eq!(tables.len(), 3, "the cluster's root, accounts, users: {}", elsewhere.says);
        elsewhere.put.into_iter().for_each(|row| rules.put(row));
        assert!(rules.account_association("second", "aa").is_some());
        assert_eq!(rules.problems(), [""; 0]);
    }

    #[test]
    fn a_line_that_is_none_is_named() {
        let rules = site();
        let said = |file: &str| match plan(&rules, file, &How::default()) {
            Err(refusal) => refusal.text(),
            Ok(plan) => plan.says,
        };
        let head = "Cluster - 'oracle'\n";
        for (file, says) in [
            ("Parent - 'root'\nAccount - 'aa'\n", "specify a cluster name first"),
            ("bogus\n", " Misformatted line(1): bogus"),
            (&format!("{head}Bogus - 'x'\n"), " Misformatted line(2): Bogus - 'x'"),
            (&format!("{head}Parent - 'none'\nUser - 'lp'\n"), "add this parent (none) as a child"),
        ] {
            assert!(said(file).contains(says), "{file}: {}", said(file));
        }
    }

    #[test]
    fn what_is_added_to_the_qos_from_above_is_read() {
        let mut rules = site();
        let high = spur_core::views::QosView { name: "high".to_string(), ..Default::default() };
        rules.put(high.into());
        let file = format!("{FILE}Parent - 'root'\nAccount - 'bb':Fairshare=1:QOS='+high'\n");
        let first = plan(&rules, &file, &How::default()).expect("a plan");
        first.put.into_iter().for_each(|row| rules.put(row));
        let bb = rules.account_association("oracle", "bb").expect("it is there");
        assert_eq!(
            (&bb.qos[..], &rules.effective(bb).qos[..]),
            (&["+high".to_string()][..], &["high".to_string(), "normal".to_string()][..])
        );
        assert_eq!(rules.problems(), [""; 0]);
        let again = plan(&rules, &file, &How::default());
        assert!(matches!(again, Err(Refusal::Done(_))), "it is as it was");
    }
}
