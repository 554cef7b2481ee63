//! What keeps a job from running by itself, whoever else runs, in the order in which Slurm asks.

use super::reasons::{self, Kind, Level};
use super::{Asks, Purse, Spent, YEAR_MINUTES, amounts, first, parts, qos_of, run_minutes, scaled};
use crate::accounts::book::Book;
use crate::job::Reason;
use crate::limit::Limit;
use crate::tres::Tres;
use crate::views::{AssociationView, QosView};

/// A limit that one job can be above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    GrpWall,
    MaxWall,
    GrpMinutes,
    Grp,
    GrpRunMinutes,
    MinutesPerJob,
    PerJob,
    PerNode,
    Min,
    PerAccount,
    PerUser,
}

use Check::*;

/// What is asked before a job may start: first what needs no resources to be known.
const BEFORE: [&[Check]; 2] = [
    &[GrpWall, MaxWall],
    &[GrpMinutes, Grp, GrpRunMinutes, MinutesPerJob, PerJob, PerNode, Min, PerAccount, PerUser],
];

/// What is asked when a job is handed in that is not to wait for a limit.
const AT_ONCE_QOS: &[Check] = &[
    PerAccount,
    PerUser,
    Grp,
    MinutesPerJob,
    GrpMinutes,
    GrpRunMinutes,
    MaxWall,
    GrpWall,
    PerJob,
    PerNode,
    Min,
];
const AT_ONCE_ASSOCIATION: &[Check] =
    &[Grp, GrpMinutes, GrpRunMinutes, GrpWall, PerJob, PerNode, MinutesPerJob, MaxWall];

/// What is used up of minutes that are everybody's.
pub struct Spending<'a> {
    /// A job also waits that would use them up before its end.
    pub safe: bool,
    /// What a purse has spent.
    pub of: &'a dyn Fn(Purse) -> Option<Spent>,
}

/// Why a job waits.
pub fn waits(book: &Book, asks: &Asks, spending: &Spending) -> Option<Reason> {
    let mut said = Vec::new();
    BEFORE.into_iter().find_map(|checks| {
        let over = Over { book, asks, spending: Some(spending) };
        over.by_qos(checks, &mut said).or_else(|| over.by_association(checks, &said))
    })
}

/// Why a job is refused that is not to wait.
pub fn denied(book: &Book, asks: &Asks) -> Option<Reason> {
    let over = Over { book, asks, spending: None };
    let mut said = Vec::new();
    let by_qos = over.by_qos(AT_ONCE_QOS, &mut said);
    by_qos.or_else(|| over.by_association(AT_ONCE_ASSOCIATION, &said))
}

type Said = Vec<(&'static str, Option<Tres>)>;

struct Over<'a> {
    book: &'a Book,
    asks: &'a Asks<'a>,
    spending: Option<&'a Spending<'a>>,
}

impl Over<'_> {
    fn by_qos(&self, checks: &[Check], said: &mut Said) -> Option<Reason> {
        for qos in qos_of(self.book, self.asks) {
            for check in checks {
                let found = self.of_qos(qos, *check, said);
                if found.is_some() {
                    return found;
                }
            }
        }
        None
    }

    fn of_qos(&self, qos: &QosView, check: Check, said: &mut Said) -> Option<Reason> {
        let purse = Purse::Qos(qos.id);
        let (limits, kind) = match check {
            GrpWall | MaxWall => {
                let max = if check == GrpWall { qos.grp_wall } else { qos.max_wall };
                let max = max.and_then(Limit::number)?;
                let over = first(said, check.name(), None) && self.over_wall(check, purse, max);
                return over.then_some(wall_reason(Level::Qos, check));
            }
            GrpMinutes => (&qos.grp_tres_mins, Kind::GrpMinutes),
            Grp => (&qos.grp_tres, Kind::Grp),
            GrpRunMinutes => (&qos.grp_tres_run_mins, Kind::GrpRunMinutes),
            MinutesPerJob => (&qos.max_tres_mins_per_job, Kind::MinutesPerJob),
            PerJob => (&qos.max_tres_per_job, Kind::PerJob),
            PerNode => (&qos.max_tres_per_node, Kind::PerNode),
            Min => (&qos.min_tres_per_job, Kind::Min),
            PerAccount => (&qos.max_tres_per_account, Kind::PerAccount),
            PerUser => (&qos.max_tres_per_user, Kind::PerUser),
        };
        // Minutes are no parts of anything.
        let limits = match check {
            GrpMinutes | GrpRunMinutes => amounts(limits),
            _ => parts(self.asks, qos, limits),
        };
        let over = limits.into_iter().find(|(tres, max)| {
            first(said, check.name(), Some(tres.clone())) && self.over(check, purse, tres, *max)
        });
        over.map(|(tres, _)| reasons::of(Level::Qos, kind, &tres))
    }

    fn by_association(&self, checks: &[Check], said: &Said) -> Option<Reason> {
        let own = self.book.association(self.asks.account, self.asks.user, self.asks.partition)?;
        let line = self.book.lineage(own);
        // Limits of groups hold on every level, others where they are said first.
        checks.iter().find_map(|check| match check {
            GrpWall | GrpMinutes | Grp | GrpRunMinutes => {
                line.iter().find_map(|one| self.of_association(one, *check, said))
            }
            _ => self.of_association(own, *check, said),
        })
    }

    fn of_association(&self, one: &AssociationView, check: Check, said: &Said) -> Option<Reason> {
        let purse = Purse::Association(one.id);
        let known = |tres: Option<&Tres>| {
            said.iter().any(|(name, of)| *name == check.name() && of.as_ref() == tres)
        };
        let inherited = |get: fn(&AssociationView) -> &String| {
            self.book.inherited(one, |it| Some(get(it)).filter(|text| !text.is_empty()))
        };
        let (limits, kind) = match check {
            GrpWall | MaxWall => {
                let max = match check {
                    GrpWall => one.grp_wall,
                    _ => self.book.inherited(one, |it| it.max_wall),
                };
                let max = max.and_then(Limit::number).filter(|_| !known(None))?;
                let over = self.over_wall(check, purse, max);
                return over.then_some(wall_reason(Level::Association, check));
            }
            GrpMinutes => (Some(&one.grp_tres_mins), Kind::GrpMinutes),
            Grp => (Some(&one.grp_tres), Kind::Grp),
            GrpRunMinutes => (Some(&one.grp_tres_run_mins), Kind::GrpRunMinutes),
            MinutesPerJob => (inherited(|it| &it.max_tres_mins_per_job), Kind::MinutesPerJob),
            PerJob => (inherited(|it| &it.max_tres_per_job), Kind::PerJob),
            PerNode => (inherited(|it| &it.max_tres_per_node), Kind::PerNode),
            Min | PerAccount | PerUser => return None,
        };
        let is_scaled = matches!(check, Grp | MinutesPerJob | PerJob | PerNode);
        let over = amounts(limits?).into_iter().find(|(tres, max)| {
            let max = if is_scaled { scaled(self.book, self.asks, *max) } else { *max };
            !known(Some(tres)) && self.over(check, purse, tres, max)
        });
        over.map(|(tres, _)| reasons::of(Level::Association, kind, &tres))
    }

    fn over(&self, check: Check, purse: Purse, tres: &Tres, max: u64) -> bool {
        let need = self.asks.needs.get(tres).copied().unwrap_or(0);
        match check {
            // Minutes that are everybody's are nobody's to go beyond.
            _ if self.asks.is_beyond(tres) && !matches!(check, GrpMinutes | GrpRunMinutes) => false,
            Min => need < max,
            PerNode => need.div_ceil(self.asks.nodes.max(1)) > max,
            MinutesPerJob | GrpRunMinutes => run_minutes(self.asks, tres) > max,
            GrpMinutes => match self.spending {
                None => run_minutes(self.asks, tres) > max,
                Some(spending) => {
                    let spent = (spending.of)(purse).unwrap_or_default();
                    let spent = spent.minutes.get(tres).copied().unwrap_or(0);
                    spent >= max || spent.saturating_add(self.comes(spending, need)) > max
                }
            },
            _ => need > max,
        }
    }

    fn over_wall(&self, check: Check, purse: Purse, max: u64) -> bool {
        let alone = self.asks.minutes.is_none_or(|minutes| minutes > max);
        match (check, self.spending) {
            (GrpWall, Some(spending)) => {
                let spent = (spending.of)(purse).unwrap_or_default().wall_minutes;
                spent >= max || spent.saturating_add(self.comes(spending, 1)) > max
            }
            (MaxWall, _) => alone && !self.asks.beyond.time,
            _ => alone,
        }
    }

    /// What a job will have used at its end, where that matters.
    fn comes(&self, spending: &Spending, amount: u64) -> u64 {
        if !spending.safe {
            return 0;
        }
        amount.saturating_mul(self.asks.minutes.unwrap_or(YEAR_MINUTES))
    }
}

impl Check {
    fn name(self) -> &'static str {
        match self {
            GrpWall => "GrpWall",
            MaxWall => "MaxWall",
            GrpMinutes => "GrpTRESMins",
            Grp => "GrpTRES",
            GrpRunMinutes => "GrpTRESRunMins",
            MinutesPerJob => "MaxTRESMins",
            PerJob => "MaxTRES",
            PerNode => "MaxTRESPerNode",
            Min => "MinTRES",
            PerAccount => "MaxTRESPA",
            PerUser => "MaxTRESPU",
        }
    }
}

fn wall_reason(level: Level, check: Check) -> Reason {
    match (level, check) {
        (Level::Qos, GrpWall) => Reason::QOSGrpWallLimit,
        (Level::Qos, _) => Reason::QOSMaxWallDurationPerJobLimit,
        (Level::Association, GrpWall) => Reason::AssocGrpWallLimit,
        (Level::Association, _) => Reason::AssocMaxWallDurationPerJobLimit,
    }
}
