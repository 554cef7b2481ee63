//! The rules as a whole: what is always there, how rows are named, what must hold, who may change what.

use crate::accounts::{allowed, settings};
use crate::auth::Level;
use crate::views::rules::{
    AccountView, ClusterView, FederationView, ResourceView, RuleRow, RulesView, UserView, WckeyView,
};
use crate::views::{AssociationView, QosView};

/// Slurm's numbers for admin levels.
pub const ADMIN_NONE: u32 = 1;
pub const ADMIN_OPERATOR: u32 = 2;
pub const ADMIN_ADMINISTRATOR: u32 = 3;

/// The account everything is below, and its user.
pub const ROOT: &str = "root";

impl RulesView {
    /// The rules before anybody has said anything.
    pub fn founding() -> Vec<RuleRow> {
        vec![
            QosView {
                id: 1,
                name: "normal".to_string(),
                description: "Normal QOS default".to_string(),
                preempt_mode: "cluster".to_string(),
                usage_factor: 1.0,
                ..QosView::default()
            }
            .into(),
            AccountView {
                name: ROOT.to_string(),
                description: "default root account".to_string(),
                organization: ROOT.to_string(),
                coordinators: Vec::new(),
            }
            .into(),
            UserView {
                name: ROOT.to_string(),
                default_account: ROOT.to_string(),
                admin_level: ADMIN_ADMINISTRATOR,
                default_wckey: String::new(),
            }
            .into(),
        ]
    }

    /// The rows a new cluster begins with.
    pub fn cluster_rows(name: &str) -> Vec<RuleRow> {
        let top = AssociationView {
            cluster: name.to_string(),
            account: ROOT.to_string(),
            shares: 1,
            qos: vec!["normal".to_string()],
            ..AssociationView::default()
        };
        let user = AssociationView {
            cluster: name.to_string(),
            account: ROOT.to_string(),
            user_name: ROOT.to_string(),
            shares: 1,
            is_default: true,
            ..AssociationView::default()
        };
        let cluster = ClusterView { name: name.to_string(), ..ClusterView::default() };
        vec![cluster.into(), top.into(), user.into()]
    }

    /// The account of this name.
    pub fn account(&self, name: &str) -> Option<&AccountView> {
        self.accounts.iter().find(|account| account.name == name)
    }

    /// The user of this name.
    pub fn user(&self, name: &str) -> Option<&UserView> {
        self.users.iter().find(|user| user.name == name)
    }

    /// The QOS of this name.
    pub fn qos(&self, name: &str) -> Option<&QosView> {
        self.qos.iter().find(|qos| qos.name == name)
    }

    /// An account's own association on a cluster.
    pub fn account_association(&self, cluster: &str, account: &str) -> Option<&AssociationView> {
        self.associations.iter().find(|association| {
            association.cluster == cluster
                && association.account == account
                && association.user_name.is_empty()
        })
    }

    /// Accounts from this one up to the root.
    pub fn lineage<'a>(&'a self, cluster: &'a str, account: &str) -> Vec<&'a AssociationView> {
        let mut line = Vec::new();
        let mut next = self.account_association(cluster, account);
        while let Some(association) = next {
            // A circle cannot be made, but must not be for ever if it is there.
            if line.len() > self.associations.len() {
                break;
            }
            line.push(association);
            next = match association.parent.as_str() {
                "" => None,
                parent => self.account_association(cluster, parent),
            };
        }
        line
    }

    /// An association with what it has from those above it.
    pub fn effective(&self, association: &AssociationView) -> AssociationView {
        let mut whole = association.clone();
        let line = self.lineage(&association.cluster, &association.account);
        let own = association_key(association);
        let above = line.iter().filter(|above| association_key(above) != own);
        for above in above {
            if whole.default_qos.is_empty() {
                whole.default_qos.clone_from(&above.default_qos);
            }
            whole.max_jobs = whole.max_jobs.or(above.max_jobs);
            whole.max_jobs_accrue = whole.max_jobs_accrue.or(above.max_jobs_accrue);
            whole.max_submit = whole.max_submit.or(above.max_submit);
            whole.max_wall = whole.max_wall.or(above.max_wall);
            for (mine, theirs) in [
                (&mut whole.max_tres_per_job, &above.max_tres_per_job),
                (&mut whole.max_tres_per_node, &above.max_tres_per_node),
                (&mut whole.max_tres_mins_per_job, &above.max_tres_mins_per_job),
            ] {
                if mine.is_empty() {
                    mine.clone_from(theirs);
                }
            }
        }
        whole.shares_from_parent = whole.shares == settings::SHARES_FROM_PARENT;
        let lists = line.iter().filter(|above| association_key(above) != own).rev();
        let lists = lists.map(|above| &above.qos[..]).chain([&association.qos[..]]);
        whole.qos = allowed::whole(lists);
        whole
    }

    /// An association with what it says itself; of QOS, those that it names.
    pub fn own(&self, association: &AssociationView) -> AssociationView {
        let mut own = association.clone();
        own.shares_from_parent = own.shares == settings::SHARES_FROM_PARENT;
        own.qos = allowed::whole([&association.qos[..]]);
        own
    }

    /// What a user may do beyond their own jobs.
    pub fn level(&self, user: &str) -> Level {
        match self.user(user).map(|user| user.admin_level) {
            Some(ADMIN_ADMINISTRATOR) => Level::Administrator,
            Some(ADMIN_OPERATOR) => Level::Operator,
            _ => Level::None,
        }
    }

    /// Leaves out what a site keeps from other users: their places, or accounts that are not one's own.
    pub fn only_for(&mut self, user: &str, users: bool, accounts: bool) {
        let all = self.clone();
        let own = |account: &str| {
            all.clusters.iter().any(|cluster| all.coordinates(user, &cluster.name, account))
                || all.associations.iter().filter(|one| one.user_name == user).any(|one| {
                    let line = all.lineage(&one.cluster, &one.account);
                    line.iter().any(|above| above.account == account)
                })
        };
        let looks_after = |one: &AssociationView| all.coordinates(user, &one.cluster, &one.account);
        if users {
            self.associations.retain(|one| {
                one.user_name.is_empty() || one.user_name == user || looks_after(one)
            });
            let kept = self.associations.clone();
            self.users
                .retain(|one| one.name == user || kept.iter().any(|it| it.user_name == one.name));
            self.wckeys.retain(|one| one.user_name == user);
        }
        if accounts {
            self.accounts.retain(|one| own(&one.name));
            self.associations.retain(|one| own(&one.account));
        }
    }

    /// Whether a user looks after an account, or one above it.
    pub fn coordinates(&self, user: &str, cluster: &str, account: &str) -> bool {
        let line = self.lineage(cluster, account);
        let mut names = line.iter().map(|association| association.account.as_str());
        names.any(|name| {
            self.account(name)
                .is_some_and(|account| account.coordinators.iter().any(|one| one == user))
        })
    }

    /// Whether this user may make this change. `now` is the row as it stands.
    pub fn may_change(
        &self,
        user: &str,
        level: Level,
        row: &RuleRow,
        now: Option<&RuleRow>,
    ) -> bool {
        self.chooses_default(user, row, now) || self.may_rule(user, level, row, now)
    }

    /// Whether this user may take this row out.
    pub fn may_remove(&self, user: &str, level: Level, row: &RuleRow) -> bool {
        let now = self.current(row);
        // What goes is what there is, whatever was said of it.
        self.may_rule(user, level, now.as_ref().unwrap_or(row), now.as_ref())
    }

    fn may_rule(&self, user: &str, level: Level, row: &RuleRow, now: Option<&RuleRow>) -> bool {
        let raises = |row: &RuleRow| {
            let before =
                now.and_then(|now| now.user.as_ref()).map_or(ADMIN_NONE, |u| u.admin_level);
            row.user
                .as_ref()
                .is_some_and(|user| user.admin_level.max(ADMIN_NONE) != before.max(ADMIN_NONE))
        };
        match level {
            Level::Administrator => true,
            Level::Operator => !raises(row),
            // A coordinator brings users and accounts into accounts below, and never changes its own limits.
            Level::None => {
                if let Some(account) = &row.account {
                    let mut looked_after = self.accounts.iter().map(|it| &it.coordinators);
                    let looks_after_any = looked_after.any(|it| it.iter().any(|it| it == user));
                    return match now.and_then(|now| now.account.as_ref()) {
                        Some(known) => self.chooses_coordinators(user, account, known),
                        None => account.coordinators.is_empty() && looks_after_any,
                    };
                }
                if let Some(one) = row.association.as_ref().filter(|it| it.user_name.is_empty()) {
                    let known = now.and_then(|now| now.association.as_ref());
                    // An account below keeps its place and its usage, and stays; what limits it is the
                    // coordinator's to say.
                    let is_in_place = known.is_none_or(|known| {
                        one != known
                            && (&known.parent, known.usage_resets)
                                == (&one.parent, one.usage_resets)
                    });
                    return is_in_place
                        && !one.parent.is_empty()
                        && self.coordinates(user, &one.cluster, &one.parent)
                        && self.has_from_above(one, known);
                }
                if let Some(one) = &row.association {
                    let known = now.and_then(|now| now.association.as_ref());
                    return known.map_or(0, |it| it.usage_resets) == one.usage_resets
                        && one.user_name != user
                        && self.coordinates(user, &one.cluster, &one.account)
                        && self.has_from_above(one, known);
                }
                // Somebody new comes into one of its accounts; whoever is known is moved between them, and
                // is the coordinator's to take out only with no place elsewhere.
                let Some(new) = &row.user else { return false };
                let looks_after = |account: &str| {
                    let mut clusters = self.clusters.iter();
                    clusters.any(|cluster| self.coordinates(user, &cluster.name, account))
                };
                let known = now.and_then(|now| now.user.as_ref());
                let elsewhere = self.associations.iter().any(|one| {
                    one.user_name == new.name && !self.coordinates(user, &one.cluster, &one.account)
                });
                new.name != user
                    && !raises(row)
                    && looks_after(&new.default_account)
                    && known.is_none_or(|known| {
                        known.default_wckey == new.default_wckey
                            && looks_after(&known.default_account)
                            && !elsewhere
                    })
            }
        }
    }

    /// Whether a row only says anew who else looks after an account that this user looks after from above.
    fn chooses_coordinators(&self, user: &str, new: &AccountView, known: &AccountView) -> bool {
        let rest = AccountView { coordinators: known.coordinators.clone(), ..new.clone() };
        let has = |account: &AccountView| account.coordinators.iter().any(|one| one == user);
        let mut places =
            self.associations.iter().filter(|it| it.user_name.is_empty() && it.account == new.name);
        let is_below = |it: &AssociationView| {
            !it.parent.is_empty() && self.coordinates(user, &it.cluster, &it.parent)
        };
        rest == *known
            && new != known
            && has(new) == has(known)
            && !places.clone().all(|it| it.parent.is_empty())
            && places.all(is_below)
    }

    /// Whether an association has no QOS but those of the account above it and those it had: nobody hands on
    /// what only an operator has given.
    fn has_from_above(&self, one: &AssociationView, known: Option<&AssociationView>) -> bool {
        let above = if one.user_name.is_empty() { &one.parent } else { &one.account };
        let above = self.account_association(&one.cluster, above);
        let of = |one: &AssociationView| self.effective(one).qos;
        let may_have: Vec<String> = above.into_iter().chain(known).flat_map(of).collect();
        of(one).iter().all(|qos| may_have.contains(qos))
    }

    /// Whether a row is nothing but the user's own choice among its accounts, keys and QOS.
    fn chooses_default(&self, user: &str, row: &RuleRow, now: Option<&RuleRow>) -> bool {
        let Some(now) = now else { return false };
        if let (Some(new), Some(known)) = (&row.user, &now.user) {
            let is_in =
                |one: &AssociationView| one.user_name == user && one.account == new.default_account;
            let has_key = |one: &WckeyView| one.user_name == user && one.name == new.default_wckey;
            let account =
                new.default_account == known.default_account || self.associations.iter().any(is_in);
            let key = new.default_wckey == known.default_wckey || self.wckeys.iter().any(has_key);
            let rest = UserView {
                default_account: known.default_account.clone(),
                default_wckey: known.default_wckey.clone(),
                ..new.clone()
            };
            return known.name == user && rest == *known && account && key;
        }
        let (Some(new), Some(known)) = (&row.association, &now.association) else { return false };
        let rest = AssociationView {
            is_default: known.is_default,
            default_qos: known.default_qos.clone(),
            ..new.clone()
        };
        known.user_name == user && rest == *known
    }

    /// Puts a row in, or in place of its former self.
    pub fn put(&mut self, row: RuleRow) {
        self.remove(&row);
        if let Some(one) = row.cluster {
            self.clusters.push(one);
        }
        if let Some(one) = row.account {
            self.accounts.push(one);
        }
        if let Some(one) = row.user {
            self.users.push(one);
        }
        if let Some(one) = row.association {
            self.associations.push(one);
        }
        if let Some(one) = row.qos {
            self.qos.push(one);
        }
        if let Some(one) = row.wckey {
            self.wckeys.push(one);
        }
        if let Some(one) = row.resource {
            self.resources.push(one);
        }
        if let Some(one) = row.federation {
            self.federations.push(one);
        }
    }

    /// Takes a row out.
    pub fn remove(&mut self, row: &RuleRow) {
        let (kind, key) = row.name();
        match kind {
            Kind::Cluster => self.clusters.retain(|one| one.name != key),
            Kind::Account => self.accounts.retain(|one| one.name != key),
            Kind::User => self.users.retain(|one| one.name != key),
            Kind::Association => self.associations.retain(|one| association_key(one) != key),
            Kind::Qos => self.qos.retain(|one| one.name != key),
            Kind::Wckey => self.wckeys.retain(|one| wckey_key(one) != key),
            Kind::Resource => self.resources.retain(|one| one.key() != key),
            Kind::Federation => self.federations.retain(|one| one.name != key),
        }
    }

    /// The row as it stands under the same name.
    pub fn current(&self, row: &RuleRow) -> Option<RuleRow> {
        let (kind, key) = row.name();
        match kind {
            Kind::Cluster => {
                self.clusters.iter().find(|one| one.name == key).cloned().map(RuleRow::from)
            }
            Kind::Account => self.account(&key).cloned().map(RuleRow::from),
            Kind::User => self.user(&key).cloned().map(RuleRow::from),
            Kind::Association => {
                let one = self.associations.iter().find(|one| association_key(one) == key);
                one.cloned().map(RuleRow::from)
            }
            Kind::Qos => self.qos(&key).cloned().map(RuleRow::from),
            Kind::Wckey => {
                self.wckeys.iter().find(|one| wckey_key(one) == key).cloned().map(RuleRow::from)
            }
            Kind::Resource => {
                self.resources.iter().find(|one| one.key() == key).cloned().map(RuleRow::from)
            }
            Kind::Federation => {
                self.federations.iter().find(|one| one.name == key).cloned().map(RuleRow::from)
            }
        }
    }

    /// What does not hold and must; empty when all is well.
    pub fn problems(&self) -> Vec<String> {
        let mut found = Vec::new();
        for one in &self.associations {
            if self.account(&one.account).is_none() {
                found.push(format!("account \"{}\" does not exist", one.account));
            }
            if !self.clusters.iter().any(|cluster| cluster.name == one.cluster) {
                found.push(format!("cluster \"{}\" does not exist", one.cluster));
            }
            if !one.user_name.is_empty() {
                if self.user(&one.user_name).is_none() {
                    found.push(format!("user \"{}\" does not exist", one.user_name));
                }
                if self.account_association(&one.cluster, &one.account).is_none() {
                    found.push(format!(
                        "account \"{}\" is not on cluster \"{}\"",
                        one.account, one.cluster
                    ));
                }
            } else if one.account != ROOT {
                let line = self.lineage(&one.cluster, &one.account);
                if line.last().is_none_or(|top| top.account != ROOT) {
                    found.push(format!("account \"{}\" does not hang on root", one.account));
                }
            }
            let default = Some(one.default_qos.as_str()).filter(|name| !name.is_empty());
            let qos = one.qos.iter().map(|word| allowed::name(word)).chain(default);
            found.extend(
                qos.filter(|name| self.qos(name).is_none())
                    .map(|name| format!("QOS \"{name}\" does not exist")),
            );
        }
        found.sort();
        found.dedup();
        found
    }
}

/// Kinds of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Cluster,
    Account,
    User,
    Association,
    Qos,
    Wckey,
    Resource,
    Federation,
}

impl Kind {
    /// What transactions call several of them.
    pub fn plural(self) -> &'static str {
        match self {
            Kind::Cluster => "Clusters",
            Kind::Account => "Accounts",
            Kind::User => "Users",
            Kind::Association => "Associations",
            Kind::Qos => "QOS",
            Kind::Wckey => "WCKeys",
            Kind::Resource => "Resources",
            Kind::Federation => "Federations",
        }
    }
}

/// Whether transactions can be of this kind, as `show transactions action=` names it.
pub fn is_action(said: &str) -> bool {
    let kinds = [
        Kind::Cluster,
        Kind::Account,
        Kind::User,
        Kind::Association,
        Kind::Qos,
        Kind::Wckey,
        Kind::Resource,
        Kind::Federation,
    ];
    let things = kinds.into_iter().map(Kind::plural).chain([
        "TRES",
        "Account Coord",
        "Account Coords",
        "Job",
    ]);
    let verbs = ["Add", "Modify", "Remove"];
    let is =
        |thing: &str| verbs.iter().any(|verb| format!("{verb} {thing}").eq_ignore_ascii_case(said));
    things.into_iter().any(is)
}

impl RuleRow {
    /// What the row is, and the name that no other of its kind has.
    pub fn name(&self) -> (Kind, String) {
        match self {
            RuleRow { cluster: Some(one), .. } => (Kind::Cluster, one.name.clone()),
            RuleRow { account: Some(one), .. } => (Kind::Account, one.name.clone()),
            RuleRow { user: Some(one), .. } => (Kind::User, one.name.clone()),
            RuleRow { association: Some(one), .. } => (Kind::Association, association_key(one)),
            RuleRow { qos: Some(one), .. } => (Kind::Qos, one.name.clone()),
            RuleRow { wckey: Some(one), .. } => (Kind::Wckey, wckey_key(one)),
            RuleRow { resource: Some(one), .. } => (Kind::Resource, one.key()),
            RuleRow { federation: Some(one), .. } => (Kind::Federation, one.name.clone()),
            // An empty row names no user.
            _ => (Kind::User, String::new()),
        }
    }
}

fn association_key(one: &AssociationView) -> String {
    [&one.cluster, &one.account, &one.user_name, &one.partition].map(String::as_str).join("\u{1f}")
}

fn wckey_key(one: &WckeyView) -> String {
    [&one.cluster, &one.name, &one.user_name].map(String::as_str).join("\u{1f}")
}

macro_rules! rows {
    ($($view:ty => $member:ident;)*) => {
        $(impl From<$view> for RuleRow {
            fn from(row: $view) -> RuleRow {
                RuleRow { $member: Some(row), ..RuleRow::default() }
            }
        })*
    };
}

rows! {
    ClusterView => cluster;
    AccountView => account;
    UserView => user;
    AssociationView => association;
    QosView => qos;
    WckeyView => wckey;
    ResourceView => resource;
    FederationView => federation;
}

impl ResourceView {
    /// `matlab@flex1`
    pub fn key(&self) -> String {
        format!("{}@{}", self.name, self.server)
    }

    /// How much of it is promised, in percent.
    pub fn promised(&self) -> u32 {
        self.shares.iter().map(|share| share.percent).sum()
    }
}
