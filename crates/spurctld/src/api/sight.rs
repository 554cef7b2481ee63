//! What a reader sees, where the site keeps something from other users (`private_data`).

use spur_core::auth::Actor;
use spur_core::config::words::Private;
use spur_core::errors::SlurmError;
use spur_core::job::Job;
use spur_core::state::State;

/// One reader's eyes. Operators see everything.
pub(super) struct Sight<'a> {
    actor: &'a Actor,
    private: &'a [Private],
}

impl<'a> Sight<'a> {
    pub(super) fn of(actor: &'a Actor, state: &'a State) -> Sight<'a> {
        let private: &[Private] = match actor.is_operator() {
            true => &[],
            false => &state.settings.config.cluster.private_data,
        };
        Sight { actor, private }
    }

    /// Whether all of something can be seen, whoever's it is.
    pub(super) fn is_open(&self, what: Private) -> bool {
        !self.private.contains(&what)
    }

    /// Refuses what is for operators alone.
    pub(super) fn open(&self, what: Private) -> Result<(), SlurmError> {
        if self.is_open(what) { Ok(()) } else { Err(SlurmError::AccessDenied) }
    }

    /// Jobs of others are seen by those who look after their accounts.
    pub(super) fn job(&self, job: &Job) -> bool {
        self.is_open(Private::Jobs)
            || self.actor.uid() == Some(job.owner.uid)
            || self.actor.is_coordinator(&job.spec.account)
    }

    /// Shares, of users and of accounts.
    pub(super) fn share(&self, own_name: &str, user: &str, account: &str) -> bool {
        self.is_open(Private::Usage) || user == own_name || self.actor.is_coordinator(account)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use spur_core::auth::Level;
    use spur_core::blob::BlobHash;
    use spur_core::ids::{Gid, Uid};
    use spur_core::job::{JobSpec, Owner, RequestId};
    use spur_core::state::{Blob, Command, Entry, Origin, Settings, Submit, apply};
    use spur_core::time::Timestamp;

    fn with_a_job_of_5(config: &str) -> State {
        let config = spur_core::config::read(config).expect("is in order");
        let mut state = State::new();
        let nothing = BlobHash::of(&[]);
        let submit = Submit {
            request: RequestId(1),
            owner: Owner { uid: Uid(5), ..Owner::default() },
            spec: JobSpec { account: "a".to_string(), ..JobSpec::default() },
            others: Vec::new(),
            script: nothing,
            environment: nothing,
            blobs: vec![Blob { bytes: Vec::new() }],
        };
        for command in
            [Command::Configure(Settings::of(&config)), Command::Submit(Box::new(submit))]
        {
            let entry = Entry { at: Timestamp(1), origin: Origin::default(), command };
            apply(&mut state, &entry).reply.expect("is accepted");
        }
        state
    }

    #[test]
    fn what_is_private_is_for_its_owner_its_coordinator_and_operators() {
        let state = with_a_job_of_5(
            "private_data = [\"jobs\", \"nodes\"]\n[[partitions]]\nname = \"p\"\ndefault = true\n",
        );
        let job = state.jobs.values().next().expect("is there");
        let user = |uid, level| Actor::user(Uid(uid), Gid(uid), level);
        let coordinates = Arc::new(vec!["a".to_string()]);
        let (uid, gid, level) = (Uid(7), Gid(7), Level::None);
        let coordinator = Actor::User { uid, gid, level, coordinates };
        for (actor, sees, nodes) in [
            (user(5, Level::None), true, false),
            (user(6, Level::None), false, false),
            (user(6, Level::Operator), true, true),
            (coordinator, true, false),
            (Actor::Anonymous, false, false),
        ] {
            let sight = Sight::of(&actor, &state);
            assert_eq!((sight.job(job), sight.open(Private::Nodes).is_ok()), (sees, nodes));
            assert!(sight.is_open(Private::Partitions));
        }
    }
}
