//! Which allocations somebody waits for. One whose client has vanished is given back after a while; one
//! whose controller was away is not.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use spur_core::auth::Actor;
use spur_core::ids::JobId;
use spur_core::job::{ExitStatus, Job, Phase};
use spur_core::state::Command;
use tokio::sync::mpsc;

use crate::shell::Inbox;

/// How long nobody may attend an allocation before it is given back: clients come again within a second,
/// whatever becomes of a controller.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often those without an attendant are looked at.
const LOOK: Duration = Duration::from_secs(2);

/// Who sits where.
#[derive(Clone, Default)]
pub struct Attendance(Arc<Mutex<BTreeMap<JobId, Place>>>);

#[derive(Default)]
struct Place {
    attendants: u32,
    left: Option<Instant>,
    /// How each attendant is spoken to; those that left do not hear it.
    ears: Vec<mpsc::UnboundedSender<String>>,
}

/// An attendant; dropping it leaves.
pub struct Seat {
    attendance: Attendance,
    job: JobId,
}

impl Attendance {
    /// Somebody attends this job, and hears what is said to its attendants.
    pub fn attend(&self, job: JobId) -> (Seat, mpsc::UnboundedReceiver<String>) {
        let (ear, heard) = mpsc::unbounded_channel();
        self.change(job, |place| {
            place.attendants += 1;
            place.left = None;
            place.ears.push(ear);
        });
        (Seat { attendance: self.clone(), job }, heard)
    }

    /// Says something to those who attend a job, and whether anybody heard it.
    pub fn tell(&self, job: JobId, words: &str) -> bool {
        let mut places = self.0.lock().expect("no holder panics");
        let Some(place) = places.get_mut(&job) else { return false };
        place.ears.retain(|ear| ear.send(words.to_string()).is_ok());
        !place.ears.is_empty()
    }

    /// Somebody should attend this job from now on.
    pub fn expect(&self, job: JobId) {
        self.change(job, |place| {
            if place.attendants == 0 {
                place.left = place.left.or(Some(Instant::now()));
            }
        });
    }

    fn change(&self, job: JobId, change: impl FnOnce(&mut Place)) {
        change(self.0.lock().expect("no holder panics").entry(job).or_default());
    }

    /// Jobs that nobody has attended for too long; they are looked at again only if somebody comes.
    fn forsaken(&self) -> Vec<JobId> {
        let mut places = self.0.lock().expect("no holder panics");
        let over = |place: &Place| place.left.is_some_and(|left| left.elapsed() > PATIENCE);
        let forsaken =
            places.iter().filter(|(_, place)| over(place)).map(|(job, _)| *job).collect();
        places.retain(|_, place| !over(place));
        forsaken
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.attendance.change(self.job, |place| {
            place.attendants -= 1;
            place.ears.retain(|ear| !ear.is_closed());
            if place.attendants == 0 {
                place.left = Some(Instant::now());
            }
        });
    }
}

/// Gives back what nobody attends, for as long as this controller lives.
pub async fn watch_over(inbox: Inbox, attendance: Attendance) {
    let mut led = false;
    let mut look = tokio::time::interval(LOOK);
    loop {
        look.tick().await;
        let published = inbox.published();
        let leads = published.leads;
        if leads && !led {
            // Whoever attended under another leader has some time to come here.
            let jobs = published.state.jobs.values();
            jobs.filter(|job| needs_attendance(job)).for_each(|job| attendance.expect(job.id));
        }
        led = leads;
        if !leads {
            continue;
        }
        for id in attendance.forsaken() {
            let Some(job) = published.state.jobs.get(&id) else { continue };
            if needs_attendance(job) {
                tracing::warn!(job = id.0, "nobody attends it any more: giving it back");
                let exit = ExitStatus::default();
                let command = Command::EndAllocation { job: id, exit, by: Actor::Controller };
                let _ = inbox.call(command).await;
            }
        }
    }
}

fn needs_attendance(job: &Job) -> bool {
    let Some(spec) = &job.spec.allocation else { return false };
    // Of a heterogeneous job, the first component is attended.
    if job.component.is_some_and(|it| !it.leads()) {
        return false;
    }
    match &job.phase {
        Phase::Pending => true,
        Phase::Running { .. } => !spec.unattended,
        Phase::Completing { .. } | Phase::Ended { .. } => false,
    }
}
