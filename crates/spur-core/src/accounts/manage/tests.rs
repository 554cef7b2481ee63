//! What is said is compared with what Slurm 22.05 said to the same words.

use super::*;

fn request(line: &str) -> Request {
    let mut request = Request::default();
    let mut setting = false;
    for word in line.split_whitespace() {
        match word {
            "set" => setting = true,
            "where" => setting = false,
            word if setting => request.set.push(Word::parse(word)),
            word => request.which.push(Word::parse(word)),
        }
    }
    request
}

struct Site(RulesView);

impl Site {
    fn new() -> Site {
        let mut rules = RulesView::default();
        let rows = RulesView::founding().into_iter().chain(RulesView::cluster_rows("oracle"));
        rows.for_each(|row| rules.put(row));
        Site(rules)
    }

    fn take(&mut self, plan: Result<Plan, Refusal>) -> String {
        let plan = plan.expect("a plan");
        plan.remove.iter().for_each(|row| self.0.remove(row));
        plan.put.into_iter().for_each(|row| self.0.put(row));
        assert_eq!(self.0.problems(), [""; 0]);
        plan.says
    }

    fn add(&mut self, entity: Entity, line: &str) -> String {
        let plan = add(&self.0, entity, &request(line));
        self.take(plan)
    }

    fn modify(&mut self, entity: Entity, line: &str) -> String {
        let plan = modify(&self.0, entity, &request(line));
        self.take(plan)
    }

    fn remove(&mut self, entity: Entity, line: &str) -> String {
        let plan = remove(&self.0, entity, &request(line));
        self.take(plan)
    }
}

/// Two accounts below each other, a QOS, a user in both.
fn site() -> Site {
    let mut site = Site::new();
    site.add(Entity::Account, "physics Organization=science");
    site.add(Entity::Account, "chem parent=physics GrpTRES=cpu=2");
    site.add(Entity::Qos, "high Priority=1000");
    site.add(Entity::User, "daemon account=physics fairshare=10");
    site.add(Entity::User, "daemon account=chem");
    site
}

#[test]
fn additions_are_told_as_slurm_tells_them() {
    let mut site = Site::new();
    assert_eq!(
        site.add(Entity::Account, "chem GrpTRES=cpu=2"),
        " Adding Account(s)\n  chem\n Settings\n  Description     = Account Name\n  Organization    = \
         Parent/Account Name\n Associations\n  A = chem       C = oracle    \n Settings\n  \
         GrpTRES       = cpu=2\n  Parent        = root\n"
    );
    assert_eq!(
        site.add(Entity::User, "daemon account=chem fairshare=10"),
        " Adding User(s)\n  daemon\n Associations =\n  U = daemon    A = chem       C = oracle    \n \
         Non Default Settings\n  Fairshare     = 10\n"
    );
    assert_eq!(
        site.add(Entity::Qos, "high Priority=1000 MaxWall=12:00:00"),
        " Adding QOS(s)\n  high\n Settings\n  Description    = high\n  MaxWall                  = \
         12:00:00\n  Priority                 = 1000\n"
    );
    let again = add(&site.0, Entity::User, &request("daemon account=chem"));
    assert_eq!(again, Err(Refusal::Nothing(" Nothing new added.".to_string())));
    let nowhere = add(&site.0, Entity::User, &request("bin account=nosuch"));
    assert!(
        matches!(nowhere, Err(Refusal::Wrong(text)) if text.starts_with(" This account 'nosuch' doesn't exist."))
    );
}

#[test]
fn modifications_touch_what_the_conditions_meet() {
    let mut site = site();
    assert_eq!(
        site.modify(Entity::User, "daemon set maxjobs=5"),
        " Modified user associations...\n  C = oracle     A = physics              U = daemon   \n  \
         C = oracle     A = chem                 U = daemon   \n"
    );
    site.modify(Entity::User, "where name=daemon account=physics set qos+=high");
    let of = |account: &str| {
        let all = site.0.associations.iter();
        let mut mine = all.filter(|one| one.user_name == "daemon" && one.account == account);
        site.0.effective(mine.next().expect("is there")).qos.join(",")
    };
    assert_eq!((of("physics").as_str(), of("chem").as_str()), ("high,normal", "normal"));
    let unknown = modify(&site.0, Entity::User, &request("nosuch set fairshare=1"));
    assert_eq!(unknown, Err(Refusal::Nothing(" Nothing modified".to_string())));
}

#[test]
fn an_account_goes_with_its_users_also_where_it_is_their_default() {
    let mut site = site();
    site.add(Entity::User, "lp account=physics");
    assert_eq!(
        site.remove(Entity::User, "daemon where account=chem"),
        " Deleting user associations...\n  C = oracle     A = chem       U = daemon   \n"
    );
    assert_eq!(site.0.user("daemon").map(|user| user.default_account.as_str()), Some("physics"));
    assert_eq!(site.remove(Entity::Account, "physics"), " Deleting accounts...\n  physics\n");
    assert_eq!(site.0.user("daemon").map(|user| user.default_account.as_str()), Some(""));
    assert_eq!(site.0.associations.iter().filter(|one| one.user_name == "lp").count(), 0);
    assert_eq!(site.remove(Entity::User, "daemon"), " Deleting users...\n  daemon\n");
}

#[test]
fn a_coordinator_rules_below_and_never_over_itself() {
    let mut site = site();
    site.add(Entity::User, "nobody account=physics");
    site.add(Entity::Coordinator, "account=physics names=daemon");
    let level = crate::auth::Level::None;
    let may = |row: AssociationView| site.0.may_change("daemon", level, &row.into(), None);
    let row = |account: &str, user: &str| AssociationView {
        cluster: "oracle".into(),
        account: account.into(),
        user_name: user.into(),
        ..AssociationView::default()
    };
    assert!(may(row("chem", "nobody")));
    assert!(!may(row("chem", "daemon")), "its own limits");
    assert!(!may(row("physics", "")), "the account's limits");
    assert!(!may(row("root", "nobody")), "another account");
    let with_high = AssociationView { qos: vec!["+high".into()], ..row("chem", "nobody") };
    assert!(!may(with_high), "a QOS that the account has not");
    let mut raised = site.0.user("nobody").expect("is there").clone();
    raised.admin_level = crate::accounts::rules::ADMIN_ADMINISTRATOR;
    assert!(!site.0.may_change("daemon", level, &raised.into(), None));
    // Whoever is in another account, too, is not the coordinator's to move or to take out.
    site.add(Entity::Account, "bio");
    site.add(Entity::User, "mail account=bio");
    let mail: RuleRow = site.0.user("mail").expect("is there").clone().into();
    let moved = crate::views::UserView {
        default_account: "physics".to_string(),
        ..site.0.user("mail").expect("is there").clone()
    };
    let may = |row: RuleRow| {
        let now = site.0.current(&row);
        site.0.may_change("daemon", level, &row, now.as_ref())
    };
    let may_remove = |row: RuleRow| site.0.may_remove("daemon", level, &row);
    assert!(!may(moved.into()) && !may_remove(mail));
    assert!(may_remove(site.0.user("nobody").expect("is there").clone().into()));
    let own = site.0.user("daemon").expect("is there").clone();
    assert!(!may_remove(own.into()), "itself");
    let new = crate::views::UserView {
        name: "lp".to_string(),
        default_account: "chem".to_string(),
        admin_level: 1,
        ..Default::default()
    };
    assert!(may(new.into()), "somebody new");
    let below = |parent: &str| AssociationView { parent: parent.into(), ..row("new", "") };
    assert!(may(below("chem").into()), "an account below");
    assert!(!may(below("bio").into()), "an account elsewhere");
    let account = |coordinators: &[&str]| crate::views::AccountView {
        name: "new".to_string(),
        coordinators: coordinators.iter().map(|name| name.to_string()).collect(),
        ..Default::default()
    };
    assert!(may(account(&[]).into()) && !may(account(&["daemon"]).into()));
    // What limits an account below, and who looks after it, is the coordinator's to say; its place is not, and
    // it stays.
    let chem = site.0.account_association("oracle", "chem").expect("is there").clone();
    assert_eq!(chem.parent, "physics");
    let limited = AssociationView { max_jobs: Some(crate::limit::Limit::Is(4)), ..chem.clone() };
    assert!(may(limited.into()));
    assert!(!may(AssociationView { parent: "root".into(), ..chem.clone() }.into()));
    assert!(!may(AssociationView { usage_resets: 1, ..chem.clone() }.into()));
    assert!(!may(chem.into()), "it stays");
    let known = site.0.account("chem").expect("is there").clone();
    let with = |who: &str| crate::views::AccountView {
        coordinators: vec![who.to_string()],
        ..known.clone()
    };
    assert!(may(with("nobody").into()) && !may(with("daemon").into()));
    assert!(!may(known.clone().into()), "it stays");
    let own = site.0.account("physics").expect("is there").clone();
    assert!(!may(crate::views::AccountView { coordinators: Vec::new(), ..own }.into()));
}

#[test]
fn a_default_account_of_one_cluster_leaves_the_others_alone() {
    let mut site = site();
    RulesView::cluster_rows("second").into_iter().for_each(|row| site.0.put(row));
    site.add(Entity::User, "mail account=physics cluster=oracle");
    site.add(Entity::Account, "elsewhere cluster=second");
    site.add(Entity::User, "mail account=elsewhere cluster=second defaultaccount=elsewhere");
    let default = |cluster: &str| {
        let mut mine = site.0.associations.iter().filter(|it| it.user_name == "mail");
        let one = mine.find(|it| it.cluster == cluster && it.is_default);
        one.map(|it| it.account.clone()).unwrap_or_default()
    };
    assert_eq!((&default("oracle")[..], &default("second")[..]), ("physics", "elsewhere"));
    assert_eq!(site.0.user("mail").map(|it| it.default_account.as_str()), Some("physics"));
    // The first account on a cluster is the default there, whatever the others have.
    site.add(Entity::User, "lp account=physics cluster=oracle");
    site.add(Entity::User, "lp account=elsewhere cluster=second");
    let mut mine = site.0.associations.iter().filter(|it| it.user_name == "lp");
    assert!(mine.all(|one| one.is_default));
}

#[test]
fn whoever_has_a_default_key_has_the_key() {
    let mut site = site();
    site.add(Entity::User, "mail acct=physics defaultwckey=proj");
    assert_eq!(site.0.user("mail").map(|it| it.default_wckey.as_str()), Some("proj"));
    assert_eq!(site.0.wckeys.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["proj"]);
    let said = modify(&site.0, Entity::Qos, &request("normal set bogus=1 priority=2 other=2"));
    let text = " Unknown option: bogus=1\n Use keyword 'where' to modify condition\n Unknown option: \
                other=2\n Use keyword 'where' to modify condition";
    assert_eq!(said, Err(Refusal::Nothing(text.to_string())));
    site.modify(Entity::Qos, "normal set usagefactor=2");
    site.modify(Entity::Qos, "normal set usagefactor=-1");
    assert_eq!(site.0.qos("normal").map(|it| it.usage_factor), Some(1.0));
}

#[test]
fn everybody_chooses_among_their_own_accounts() {
    let mut site = site();
    site.add(Entity::User, "mail account=physics,chem");
    let may = |row: RuleRow| {
        let now = site.0.current(&row);
        site.0.may_change("mail", crate::auth::Level::None, &row, now.as_ref())
    };
    let may_remove = |row: RuleRow| site.0.may_remove("mail", crate::auth::Level::None, &row);
    let own = site.0.user("mail").expect("is there").clone();
    let with = |account: &str| crate::views::UserView {
        default_account: account.to_string(),
        ..own.clone()
    };
    assert!(may(with("physics").into()) && !may(with("root").into()));
    assert!(may(own.clone().into()), "it is so already");
    assert!(!may_remove(own.clone().into()), "it cannot take itself out");
    let level = crate::accounts::rules::ADMIN_ADMINISTRATOR;
    assert!(!may(crate::views::UserView { admin_level: level, ..with("physics") }.into()));
    let mine = site.0.associations.iter().find(|it| it.user_name == "mail").expect("it").clone();
    let other = AssociationView { is_default: !mine.is_default, ..mine.clone() };
    assert!(may(other.clone().into()));
    assert!(!may(AssociationView { shares: 99, ..other }.into()) && !may_remove(mine.into()));
}

#[test]
fn resources_are_shared_among_clusters() {
    let mut site = site();
    assert_eq!(
        site.add(
            Entity::Resource,
            "name=matlab count=50 server=flex1 servertype=flexlm type=license cluster=oracle percentallowed=50"
        ),
        " Adding Resource(s)\n  matlab@flex1\n   Cluster - oracle\t50%\n Settings\n  Name           = \
         matlab\n  Server         = flex1\n  Description    = matlab\n  ServerType     = flexlm\n  Count          \
         = 50\n  Type           = License\n"
    );
    let again = add(&site.0, Entity::Resource, &request("matlab server=flex1 cluster=oracle"));
    assert_eq!(again, Err(Refusal::Nothing(" Nothing new added.".to_string())));
    let bare = add(&site.0, Entity::Resource, &request("name=x"));
    assert!(matches!(bare, Err(Refusal::Wrong(text)) if text.contains("resource type")));
    assert_eq!(
        site.modify(Entity::Resource, "name=matlab cluster=oracle set percentallowed=70"),
        " Modified server resource ...\n  Cluster - oracle\t- matlab@flex1\n"
    );
    assert_eq!(site.0.resources[0].promised(), 70);
    let much = modify(&site.0, Entity::Resource, &request("matlab set percentallowed=170"));
    assert!(matches!(much, Err(Refusal::Wrong(_))));
    assert_eq!(
        site.remove(Entity::Resource, "matlab cluster=oracle"),
        " Deleting resource(s)...\n  Cluster - oracle\t- matlab@flex1\n"
    );
    assert_eq!(
        site.remove(Entity::Resource, "matlab"),
        " Deleting resource(s)...\n  matlab@flex1\n"
    );
    assert!(site.0.resources.is_empty());
}

#[test]
fn users_are_brought_in_where_the_account_is() {
    let mut site = site();
    RulesView::cluster_rows("other").into_iter().for_each(|row| site.0.put(row));
    let plan = add(&site.0, Entity::User, &request("bin account=chem")).expect("a plan");
    assert_eq!(
        plan.warns,
        " This account 'chem' doesn't exist on cluster other\n        Contact your admin to add this account.\n"
    );
    assert!(plan.says.contains("  U = bin       A = chem       C = oracle"), "{}", plan.says);
    assert!(!plan.says.contains("C = other"), "{}", plan.says);
}

#[test]
fn what_was_used_is_set_to_nothing_for_whoever_is_meant() {
    let mut site = site();
    let resets = |site: &Site| -> Vec<(String, u32)> {
        let all = site.0.associations.iter().filter(|one| one.user_name == "daemon");
        let mut all: Vec<_> = all.map(|one| (one.account.clone(), one.usage_resets)).collect();
        all.sort();
        all
    };
    let of =
        |chem: u32, physics: u32| [("chem".to_string(), chem), ("physics".to_string(), physics)];
    site.modify(Entity::User, "daemon account=chem cluster=oracle set RawUsage=0");
    assert_eq!(resets(&site), of(1, 0));
    // An account has what is below it.
    site.modify(Entity::Account, "physics cluster=oracle set RawUsage=0");
    assert_eq!(resets(&site), of(2, 1));
    site.modify(Entity::Qos, "high cluster=oracle set RawUsage=0");
    assert_eq!(site.0.qos("high").map(|qos| qos.usage_resets), Some(1));
    let refused = |entity, line: &str| {
        modify(&site.0, entity, &request(line)).expect_err("it is refused").text()
    };
    let said = [
        (Entity::User, "daemon set RawUsage=0", "An account must be specified"),
        (Entity::Account, "set RawUsage=0", "An association name is required to remove usage"),
        (Entity::Account, "physics set RawUsage=5", "Raw usage can only be set to 0 (zero)"),
        (
            Entity::Account,
            "nosuch cluster=oracle set RawUsage=0",
            "Failed to find cluster oracle account nosuch association in database",
        ),
    ];
    for (entity, line, words) in said {
        assert_eq!(refused(entity, line), format!("sacctmgr: error: {words}"), "{line}");
    }
}

#[test]
fn names_places_and_kinds_change_as_in_slurm() {
    let mut site = Site::new();
    for name in ["physics", "chem"] {
        site.add(Entity::Account, name);
    }
    site.add(Entity::User, "games account=physics wckey=proj");
    assert_eq!(site.0.user("games").map(|it| it.default_wckey.as_str()), Some("proj"));
    site.modify(Entity::Account, "physics set parent=chem");
    // What hangs below and is to be above goes up first.
    assert_eq!(
        site.modify(Entity::Account, "chem set parent=physics"),
        " Modified account associations...\n  C = oracle     A = chem of root\n"
    );
    let parent = |site: &Site, name: &str| {
        site.0.account_association("oracle", name).expect("it").parent.clone()
    };
    assert_eq!(
        (parent(&site, "physics"), parent(&site, "chem")),
        ("root".into(), "physics".into())
    );

    let said = site.modify(Entity::User, "games set newname=playing");
    assert_eq!(said, " Modified users...\n  games\n");
    assert!(site.0.user("games").is_none());
    let of = |name: &str| site.0.associations.iter().filter(|it| it.user_name == name).count();
    assert_eq!(
        (of("games"), of("playing"), site.0.wckeys[0].user_name.as_str()),
        (0, 1, "playing")
    );
    let taken = modify(&site.0, Entity::User, &request("playing set newname=root"));
    assert_eq!(taken, Err(Refusal::Nothing(" Nothing modified".to_string())));
    let both = modify(&site.0, Entity::User, &request("playing,root set newname=one"));
    assert!(both.is_err_and(|refusal| refusal.text().contains("Can only change one at a time")));
    let root = remove(&site.0, Entity::Account, &request("root")).unwrap_err().text();
    assert!(root.starts_with(" You are not allowed to remove the root account.\n"), "{root}");

    assert_eq!(
        site.modify(Entity::Cluster, "oracle set classification=capacity fairshare=2"),
        " Setting\n  Classification = Capacity\n  Default Limits:\n  Fairshare     = 2\n Modified \
         cluster...\n  oracle\n Modified cluster defaults for associations...\n  C = oracle     A = root\n"
    );
    let known = add(&site.0, Entity::Cluster, &request("oracle"));
    let text = " This cluster oracle already exists.  Not adding.".to_string();
    assert_eq!(known, Err(Refusal::Nothing(text)));
    assert_eq!(
        site.remove(Entity::User, "playing account=physics"),
        " Deleting user associations...\n  C = oracle     A = physics    U = playing  \n Deleting users \
         (No Associations)...\n  playing\n"
    );
    assert!(site.0.user("playing").is_none() && site.0.wckeys.is_empty());
}

#[test]
fn a_change_of_an_account_names_the_users_it_reaches() {
    let mut site = site();
    site.modify(Entity::User, "daemon where account=chem set maxwall=5");
    let user = |account: &str| format!("  C = oracle     A = {account:<20} U = daemon   \n");
    let of = "  C = oracle     A = physics of root\n";
    let head = " Modified account associations...\n";
    assert_eq!(
        site.modify(Entity::Account, "physics set maxjobs=4"),
        format!("{head}{of}{}{}", user("physics"), user("chem"))
    );
    // What belongs to the group is nobody's in particular, and who has a limit keeps it.
    assert_eq!(site.modify(Entity::Account, "physics set grpjobs=4"), format!("{head}{of}"));
    assert_eq!(
        site.modify(Entity::Account, "physics set maxwall=9"),
        format!("{head}{of}{}", user("physics"))
    );
}

#[test]
fn a_default_account_is_an_account_of_the_user() {
    let mut site = site();
    site.add(Entity::User, "lp account=physics defaultaccount=chem");
    let mine = site.0.associations.iter().filter(|one| one.user_name == "lp");
    let mut mine: Vec<(&str, bool)> =
        mine.map(|one| (one.account.as_str(), one.is_default)).collect();
    mine.sort_unstable();
    assert_eq!(mine, [("chem", true), ("physics", false)]);
    // What hangs below a deleted account goes, and with it the default.
    site.modify(Entity::User, "daemon set defaultaccount=chem");
    site.remove(Entity::Account, "physics");
    assert_eq!(site.0.user("lp").map(|user| user.default_account.as_str()), Some(""));
}

#[test]
fn a_qos_that_is_somebodys_default_stays() {
    let mut site = site();
    site.modify(Entity::User, "daemon where account=chem set qos+=high defaultqos=high");
    let refused = remove(&site.0, Entity::Qos, &request("high")).unwrap_err().text();
    assert_eq!(
        refused,
        " Associations listed below have these as their Default QOS.\n  DefQOS = high       C = oracle     \
         A = chem                 U = daemon   \n Please either remove the qos' listed above from list and \
         resubmit,\n or change the default qos to remove the qos.\n Changes Discarded"
    );
}

#[test]
fn a_federation_has_one_cluster() {
    let mut site = Site::new();
    assert_eq!(
        site.add(Entity::Federation, "fed clusters=oracle"),
        " Adding Federation(s)\n  fed\n Settings\n  Cluster       = oracle\n"
    );
    site.add(Entity::Cluster, "other");
    let joined = modify(&site.0, Entity::Federation, &request("fed set clusters+=other"));
    assert!(joined.unwrap_err().text().contains("a federation has one cluster"));
    assert_eq!(
        site.modify(Entity::Cluster, "oracle set fedstate=drain features=a,b"),
        " Setting\n  FedState       = DRAIN\n  Feature       = a\n  Feature       = b\n Modified \
         cluster...\n  oracle\n"
    );
    // All there are: the one that is there leaves for the other.
    assert_eq!(
        site.modify(Entity::Federation, "fed set clusters=other"),
        " Setting\n  Cluster      -= oracle\n  Cluster      += other\n Modified federation...\n  fed\n"
    );
    let federation = |site: &Site, name: &str| {
        let mut clusters = site.0.clusters.iter();
        clusters.find(|one| one.name == name).map(|one| one.federation.clone())
    };
    assert_eq!(federation(&site, "oracle").as_deref(), Some(""));
    assert_eq!(site.remove(Entity::Federation, "fed"), " Deleting federations...\n  fed\n");
    assert_eq!(federation(&site, "other").as_deref(), Some(""));
}

#[test]
fn default_accounts_are_not_deleted_with_other_places_of_users() {
    let mut site = site();
    site.add(Entity::User, "bin account=chem");
    let refused = |plan: Result<Plan, Refusal>| match plan {
        Err(Refusal::Wrong(text)) => text,
        other => panic!("{other:?}"),
    };
    // The account is bin's default and not daemon's.
    let hint = " Please either remove the accounts listed above from list and resubmit,\n or change these \
                users' default accounts to remove the account(s).\n Changes Discarded";
    let why = " Error with request: You can not remove the default account of a user\n";
    assert_eq!(
        refused(remove(&site.0, Entity::Account, &request("chem"))),
        format!("{why}  C = oracle          A = chem       U = bin      \n{hint}")
    );
    let both = remove(&site.0, Entity::User, &request("daemon account=physics,chem"));
    assert!(refused(both).contains("\n You must change the default account of these users or"));
    // Nothing but defaults, a place alone, and an account on a cluster may go.
    assert!(remove(&site.0, Entity::User, &request("daemon account=physics")).is_ok());
    assert_eq!(
        site.remove(Entity::Account, "chem cluster=oracle"),
        " Deleting account associations...\n  C = oracle     A = chem of physics\n  C = oracle     A = \
         chem       U = daemon   \n  C = oracle     A = chem       U = bin      \n"
    );
    let described = site.remove(Entity::Account, "where organization=science");
    assert_eq!(described, " Deleting accounts...\n  physics\n");
}

#[test]
fn accounts_are_modified_from_the_top_the_newest_first() {
    let mut site = Site::new();
    for name in ["zoo", "art", "fun parent=zoo"] {
        site.add(Entity::Account, name);
    }
    // Numbers are given when rows are kept.
    for (one, id) in site.0.associations.iter_mut().zip(1..) {
        one.id = id;
    }
    assert_eq!(
        site.modify(Entity::Account, "set fairshare=3"),
        " Modified account associations...\n  C = oracle     A = root\n  C = oracle     A = art of root\n  \
         C = oracle     A = zoo of root\n  C = oracle     A = fun of zoo\n"
    );
    let by_words = modify(&site.0, Entity::Account, &request("where org=zoo set fairshare=1"));
    let text = " There was a problem with your 'where' options.".to_string();
    assert_eq!(by_words, Err(Refusal::Wrong(text)));
}

#[test]
fn a_default_account_lasts_as_long_as_one_partition_of_it() {
    let mut site = Site::new();
    site.add(Entity::Account, "chem");
    site.add(Entity::User, "daemon account=chem partition=debug,gpu");
    let default = |site: &Site| site.0.user("daemon").map(|user| user.default_account.clone());
    site.remove(Entity::User, "daemon where partition=gpu");
    assert_eq!(default(&site).as_deref(), Some("chem"));
    let nothing = modify(&site.0, Entity::Qos, &request("nosuch set maxwall=bogus"));
    assert!(
        matches!(nothing, Err(Refusal::Wrong(text)) if text.contains("Bad MaxWall time format"))
    );
}

#[test]
fn keys_are_taken_out_and_their_users_stay() {
    let mut site = site();
    site.add(Entity::User, "daemon wckey=k1,k2");
    assert_eq!(
        site.remove(Entity::User, "daemon wckey=k1"),
        " Deleting user WCKeys...\n  C = oracle     W = k1                   U = daemon   \n"
    );
    let left: Vec<&str> = site.0.wckeys.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(left, ["k2"]);
    assert_eq!(site.0.user("daemon").map(|user| user.default_wckey.as_str()), Some(""));
    let again = remove(&site.0, Entity::User, &request("daemon wckey=k1"));
    assert_eq!(again, Err(Refusal::Nothing(" Nothing deleted".to_string())));
}

#[test]
fn what_comes_later_into_the_default_account_is_no_default() {
    let mut site = site();
    site.add(Entity::User, "bin account=physics,chem partition=debug,gpu");
    site.add(Entity::User, "bin account=chem");
    let of_bin = site.0.associations.iter().filter(|one| one.user_name == "bin");
    let mut defaults: Vec<String> = of_bin
        .filter(|one| one.is_default)
        .map(|one| format!("{} {}", one.account, one.partition))
        .collect();
    defaults.sort();
    assert_eq!(defaults, ["chem debug", "chem gpu"]);
}

#[test]
fn users_come_into_the_accounts_that_there_are() {
    let site = site();
    let plan = add(&site.0, Entity::User, &request("bin account=nosuch,chem")).expect("a plan");
    assert_eq!(
        plan.warns,
        " This account 'nosuch' doesn't exist.\n        Contact your admin to add this account.\n"
    );
    assert!(
        plan.says
            .ends_with("  U = bin       A = chem       C = oracle    \n Non Default Settings\n")
    );
    let nowhere = add(&site.0, Entity::User, &request("daemon account=nosuch"));
    let why = plan.warns.trim_end().to_string();
    assert_eq!(nowhere, Err(Refusal::Vain { why, says: " Nothing new added.".to_string() }));
}
