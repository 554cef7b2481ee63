//! The database of accounting: away at times, killed in the middle of a transaction, told some things twice.

use spur_core::limit::Limit;
use spur_core::state::Command;
use spur_core::views::{AccountingRecord, AssociationView, QosView, RulesView};
use spurctld::accounting::outbox;
use spurctld::controller::Input;

use super::world::{Event, World};

/// At most so many jobs of this QOS run at once.
pub const FEW: (&str, u64) = ("few", 2);

/// What was committed there.
#[derive(Default)]
pub struct Database {
    /// Every record it took in.
    pub rows: Vec<AccountingRecord>,
    /// Nobody answers there.
    pub is_away: bool,
}

impl Database {
    /// How far it has come.
    pub fn reached(&self) -> u64 {
        self.rows.last().map_or(0, |row| row.number)
    }

    /// One transaction, as `spurdbd` has it: what is known already is passed over.
    fn ingest(&mut self, records: &[AccountingRecord]) {
        for record in records {
            if record.number > self.reached() {
                self.rows.push(record.clone());
            }
        }
    }
}

impl World {
    /// The sender of records looks whether there is something to send.
    pub(super) fn post(&mut self) {
        let pause = self.chance.between(200, 2000);
        self.after(pause, Event::Post(self.life));
        let (disk, database) = (self.host.disk.clone(), &mut self.database);
        let Some(life) = self.host.life.as_mut().filter(|life| life.controller.leads()) else {
            return;
        };
        if database.is_away {
            life.acknowledged = None;
            return;
        }
        if life.controller.state().rules.rules().version == 0 {
            let cluster = life.controller.state().settings.cluster_name.clone();
            let ticket = self.ticket();
            return self.feed(Input::Call(ticket, rules(&cluster)));
        }
        let Some(after) = life.acknowledged else {
            life.acknowledged = Some(database.reached());
            return;
        };
        if after >= life.controller.state().history.records {
            return;
        }
        let Ok(records) = life.reader.read_after(&disk, after) else { return };
        match self.chance.below(10) {
            // It dies in the middle of the transaction.
            0 => life.acknowledged = None,
            // It dies behind it, and nobody hears that it was done.
            1 => {
                database.ingest(&records);
                life.acknowledged = None;
            }
            luck => {
                database.ingest(&records);
                // A sender that was replaced sends beside its successor.
                if luck == 2 {
                    database.ingest(&records);
                }
                let reached = database.reached();
                life.acknowledged = Some(reached);
                let _ = outbox::trim(&mut disk.clone(), reached);
            }
        }
        self.witness.booked(&self.database.rows);
    }
}

/// One account for everybody, and a limit.
fn rules(cluster: &str) -> Command {
    let association = |id: u32, account: &str, user: &str, parent: &str| AssociationView {
        id,
        cluster: cluster.to_string(),
        account: account.to_string(),
        user_name: user.to_string(),
        parent: parent.to_string(),
        is_default: !user.is_empty(),
        ..AssociationView::default()
    };
    let qos = |id: u32, name: &str| QosView { id, name: name.to_string(), ..QosView::default() };
    let (few, most) = FEW;
    let few = QosView { grp_jobs: Some(Limit::Is(most)), ..qos(2, few) };
    Command::SetRules(Box::new(RulesView {
        version: 1,
        associations: vec![
            association(1, "root", "", ""),
            association(2, "lab", "", "root"),
            association(3, "lab", "alice", ""),
        ],
        qos: vec![qos(1, "normal"), few],
        ..RulesView::default()
    }))
}
