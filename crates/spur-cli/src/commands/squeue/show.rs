//! The jobs that are meant, in order, as lines or as objects.

use std::collections::BTreeMap;

use nix::unistd::{Gid, Group};
use spur_core::fields::job::JOB_FIELDS;
use spur_core::fields::lines::{Lines, Objects};
use spur_core::fields::{Column, RenderContext};
use spur_core::views::table::Cursor;
use spur_core::views::{JOB_MEMBERS, JobView, Members, Rows};

use super::arrays::{Arrays, Standing};
use super::order::Order;
use super::query::Query;
use super::{is_single, select};
use crate::cluster::Controller;
use crate::commands::{Ended, Notation, answer};
use crate::output::print;
use crate::zone;

/// Text is written when there is this much of it.
const ENOUGH: usize = 1 << 20;

/// Prints the table.
pub fn lines(
    query: &Query,
    jobs: &Rows<JobView>,
    columns: &[Column<JobView>],
    order: &Order,
    context: &RenderContext<'_>,
) {
    let mut meant = Vec::with_capacity(jobs.len());
    let mut sorter = order.jobs();
    let mut arrays = Arrays::default();
    let mut standing = Standing::default();
    each_meant(query, jobs, |place, job| {
        meant.push(place);
        standing.look(place, job);
        sorter.add(job, context);
        if !query.each_task {
            arrays.look(place, job);
        }
    });
    arrays.join(query, jobs);
    let moved = standing.order().filter(|_| !is_single(query));
    if moved.is_some() || arrays.any_elsewhere() {
        meant = moved.unwrap_or(meant);
        meant.retain(|place| !arrays.is_elsewhere(*place));
        sorter = order.jobs();
        let mut cursor = jobs.cursor();
        for place in &meant {
            cursor.go(*place);
            sorter.add(&cursor.row, context);
        }
    }
    let mut lines = Lines::new(columns, JOB_MEMBERS);
    let mut text = String::with_capacity(ENOUGH + (64 << 10));
    let mut walk = Walk { arrays, ..Walk::new(jobs) };
    // The tasks of one array come latest first.
    for place in sorter.sorted(is_single(query)) {
        walk.each_line(query, meant[place], |job, changed| {
            lines.put(&mut text, job, changed, context);
        });
        if text.len() >= ENOUGH {
            print(&text);
            text.clear();
        }
    }
    print(&text);
}

/// Prints the answer for programs.
pub fn objects(
    query: &Query,
    jobs: &Rows<JobView>,
    controller: &mut Controller,
) -> Result<(), Ended> {
    let now = zone::now().0;
    let more = [("last_backfill", answer::moment(now)), ("last_update", answer::moment(now))];
    let around = answer::envelope(controller, "jobs", Vec::new(), &more, &["squeue"]);
    let mut meant = Vec::new();
    each_meant(query, jobs, |place, _| meant.push(place));
    if is_single(query) {
        meant.reverse();
    }
    let mut walk = Walk::new(jobs);
    if query.notation == Notation::Yaml {
        let mut list = Vec::new();
        for place in meant {
            walk.each_line(query, place, |job, _| {
                list.push(spur_core::fields::render::json(JOB_FIELDS, job));
            });
        }
        let mut whole = around;
        whole["jobs"] = list.into();
        print(&answer::written(&whole, query.notation));
        return Ok(());
    }
    let around = answer::written(&around, query.notation);
    let (before, after) = around.split_once("\"jobs\": []").unwrap_or((around.as_str(), ""));
    let mut text = format!("{before}\"jobs\": [");
    let mut objects = Objects::new(JOB_FIELDS, JOB_MEMBERS);
    for place in meant {
        walk.each_line(query, place, |job, changed| objects.put(&mut text, job, changed));
        if text.len() >= ENOUGH {
            print(&text);
            text.clear();
        }
    }
    let end = if objects.is_empty() { "]" } else { "\n  ]" };
    print(&format!("{text}{end}{after}"));
    Ok(())
}

fn each_meant(query: &Query, jobs: &Rows<JobView>, mut take: impl FnMut(usize, &JobView)) {
    let states = query.states();
    let mut cursor = jobs.cursor();
    for place in 0..jobs.len() {
        cursor.go(place);
        if select::is_meant(query, &states, &cursor.row) {
            take(place, &cursor.row);
        }
    }
}

/// Goes from job to job, and through the tasks that have lines of their own.
struct Walk<'a> {
    cursor: Cursor<'a, JobView>,
    groups: BTreeMap<u32, String>,
    /// Whose changes bring another group's name; nothing where nobody asks for it.
    gid: Members,
    group_name: Members,
    task: Members,
    told_together: Members,
    arrays: Arrays,
}

impl<'a> Walk<'a> {
    fn new(jobs: &'a Rows<JobView>) -> Walk<'a> {
        let member = |name| Members::named(JOB_MEMBERS, name);
        Walk {
            cursor: jobs.cursor(),
            groups: BTreeMap::new(),
            gid: if jobs.has("gid") { member("gid") } else { Members::default() },
            group_name: member("group_name"),
            task: member("array_task_id"),
            told_together: member("array_task_id array_task_string state_description"),
            arrays: Arrays::default(),
        }
    }

    /// Shows the lines of a job, and what of it differs from the line before.
    fn each_line(&mut self, query: &Query, place: usize, mut show: impl FnMut(&JobView, &Members)) {
        self.cursor.go(place);
        let mut changed = self.cursor.changed();
        let job = &mut self.cursor.row;
        if changed.meets(&self.gid) {
            let name = self.groups.entry(job.gid).or_insert_with(|| {
                let group = Group::from_gid(Gid::from_raw(job.gid)).ok().flatten();
                group.map_or_else(|| job.gid.to_string(), |group| group.name)
            });
            job.group_name.clone_from(name);
            changed = changed.and(self.group_name);
        }
        if self.arrays.has(place) {
            let before = (job.array_task_string.clone(), job.state_description.clone());
            self.arrays.tell(place, job);
            show(job, &changed.and(self.told_together));
            (job.array_task_string, job.state_description) = before;
            job.array_task_id = None;
            self.cursor.mark(&self.told_together);
            return;
        }
        let Some(tasks) = select::tasks_meant(query, job) else { return show(job, &changed) };
        for task in tasks {
            job.array_task_id = Some(task);
            changed = changed.and(self.task);
            show(job, &changed);
            changed = Members::default();
        }
        job.array_task_id = None;
        self.cursor.mark(&self.task);
    }
}
