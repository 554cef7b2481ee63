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

/// A limit that a job is above by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// What a job waits for that is.
    pub reason: Reason,
    /// Names the limit, as the counters of amounts that jobs share are named.
    pub limit: String,
    /// How much of it is spent.
    pub used: u64,
    /// How much the job asks for.
    pub needed: u64,
    /// How much there may be; of a minimum, how little.
    pub max: u64,
}

/// Why a job waits.
pub fn waits(book: &Book, asks: &Asks, spending: &Spending) -> Option<Breach> {
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
    let found = by_qos.or_else(|| over.by_association(AT_ONCE_ASSOCIATION, &said));
    found.map(|breach| breach.reason)
}

type Said = Vec<(&'static str, Option<Tres>)>;

struct Over<'a> {
    book: &'a Book,
    asks: &'a Asks<'a>,
    spending: Option<&'a Spending<'a>>,
}

impl Over<'_> {
    fn by_qos(&self, checks: &[Check], said: &mut Said) -> Option<Breach> {
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

    fn of_qos(&self, qos: &QosView, check: Check, said: &mut Said) -> Option<Breach> {
        let purse = Purse::Qos(qos.id);
        let limit = || format!("qos/{}/{}", qos.id, check.name());
        let (limits, kind) = match check {
            GrpWall | MaxWall => {
                let max = if check == GrpWall { qos.grp_wall } else { qos.max_wall };
                let max = max.and_then(Limit::number)?;
                let known = !first(said, check.name(), None);
                let amounts = self.wall(check, purse).filter(|_| !known)?;
                return amounts.breach(max, limit, || wall_reason(Level::Qos, check));
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
        limits.into_iter().find_map(|(tres, max)| {
            let known = !first(said, check.name(), Some(tres.clone()));
            let amounts = self.amounts(check, purse, &tres).filter(|_| !known)?;
            let limit = || format!("{}/{tres}", limit());
            amounts.breach(max, limit, || reasons::of(Level::Qos, kind, &tres))
        })
    }

    fn by_association(&self, checks: &[Check], said: &Said) -> Option<Breach> {
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

    fn of_association(&self, one: &AssociationView, check: Check, said: &Said) -> Option<Breach> {
        let purse = Purse::Association(one.id);
        let limit = || format!("assoc/{}/{}", one.id, check.name());
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
                let amounts = self.wall(check, purse)?;
                return amounts.breach(max, limit, || wall_reason(Level::Association, check));
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
        amounts(limits?).into_iter().filter(|(tres, _)| !known(Some(tres))).find_map(
            |(tres, max)| {
                let max = if is_scaled { scaled(self.book, self.asks, max) } else { max };
                let amounts = self.amounts(check, purse, &tres)?;
                let limit = || format!("{}/{tres}", limit());
                amounts.breach(max, limit, || reasons::of(Level::Association, kind, &tres))
            },
        )
    }

    /// What a limit on a resource is held against; nothing where it is not for this job.
    fn amounts(&self, check: Check, purse: Purse, tres: &Tres) -> Option<Amounts> {
        // Minutes that are everybody's are nobody's to go beyond.
        if self.asks.is_beyond(tres) && !matches!(check, GrpMinutes | GrpRunMinutes) {
            return None;
        }
        let need = self.asks.needs.get(tres).copied().unwrap_or(0);
        Some(match (check, self.spending) {
            (Min, _) => Amounts { is_least: true, ..Amounts::of(need) },
            (PerNode, _) => Amounts::of(need.div_ceil(self.asks.nodes.max(1))),
            (MinutesPerJob | GrpRunMinutes, _) | (GrpMinutes, None) => {
                Amounts::of(run_minutes(self.asks, tres))
            }
            (GrpMinutes, Some(spending)) => {
                let spent = (spending.of)(purse).unwrap_or_default();
                let used = spent.minutes.get(tres).copied().unwrap_or(0);
                Amounts { used, ..Amounts::of(self.comes(spending, need)) }
            }
            _ => Amounts::of(need),
        })
    }

    /// The same of a limit on time.
    fn wall(&self, check: Check, purse: Purse) -> Option<Amounts> {
        match (check, self.spending) {
            (GrpWall, Some(spending)) => {
                let used = (spending.of)(purse).unwrap_or_default().wall_minutes;
                Some(Amounts { used, ..Amounts::of(self.comes(spending, 1)) })
            }
            (MaxWall, _) if self.asks.beyond.time => None,
            _ => Some(Amounts::of(self.asks.minutes.unwrap_or(u64::MAX))),
        }
    }

    /// What a job will have used at its end, where that matters; without it the least that anything uses.
    fn comes(&self, spending: &Spending, amount: u64) -> u64 {
        match spending.safe {
            true => amount.saturating_mul(self.asks.minutes.unwrap_or(YEAR_MINUTES)).max(1),
            false => 1,
        }
    }
}

/// What is held against a limit.
struct Amounts {
    used: u64,
    needed: u64,
    /// The limit is how much it has to be at least.
    is_least: bool,
}

impl Amounts {
    fn of(needed: u64) -> Amounts {
        Amounts { used: 0, needed, is_least: false }
    }

    fn breach(
        self,
        max: u64,
        limit: impl Fn() -> String,
        reason: impl Fn() -> Reason,
    ) -> Option<Breach> {
        let Amounts { used, needed, is_least } = self;
        let is_broken = match is_least {
            true => needed < max,
            false => used.saturating_add(needed) > max,
        };
        is_broken.then(|| Breach { reason: reason(), limit: limit(), used, needed, max })
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
