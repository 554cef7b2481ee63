//! `docs/compat/fields.md`: the columns of every listing.

use spur_core::fields::{
    Field, accounting, association, job, node, partition, priority, qos, reservation, share, sinfo,
    step,
};

use super::page::{Page, code};

pub(super) fn page() -> String {
    let mut page = Page::new("Columns", "the tables of columns");
    page.paragraph(
        "One table a noun. The letter is that of `-o \"%.10l\"`, the name that of `-O` and `--format`; names are\n\
         found in any case. The width holds where the format gives none. A row without a name is in JSON\n\
         only, one without a JSON name in tables only; dots stand between the levels of JSON.",
    );
    listings(&mut page);
    page.text()
}

fn listings(page: &mut Page) {
    noun(page, "Jobs: `squeue`", Some(job::DEFAULT), job::JOB_FIELDS);
    noun(page, "Steps: `squeue --steps`", Some(step::DEFAULT), step::STEP_FIELDS);
    noun(page, "Groups of nodes: `sinfo`", Some(sinfo::DEFAULT), sinfo::SINFO_FIELDS);
    noun(page, "Nodes", None, node::NODE_FIELDS);
    noun(page, "Partitions", None, partition::PARTITION_FIELDS);
    noun(page, "Reservations", None, reservation::RESERVATION_FIELDS);
    noun(page, "Accounting: `sacct`", Some(accounting::DEFAULT), accounting::ACCOUNTING_FIELDS);
    noun(page, "Accounting: a job of `sacct --json`", None, accounting::JOB_JSON);
    noun(page, "Accounting: a step of `sacct --json`", None, accounting::STEP_JSON);
    noun(
        page,
        "Associations: `sacctmgr show associations`",
        Some(association::DEFAULT),
        association::ASSOCIATION_FIELDS,
    );
    noun(page, "QOS: `sacctmgr show qos`", Some(qos::DEFAULT), qos::QOS_FIELDS);
    noun(page, "Priorities: `sprio`", Some(priority::DEFAULT), priority::PRIORITY_FIELDS);
    noun(page, "Shares: `sshare`", Some(share::DEFAULT), share::SHARE_FIELDS);
}

fn noun<Row>(page: &mut Page, title: &str, default: Option<&str>, fields: &'static [Field<Row>]) {
    page.section(title);
    if let Some(format) = default {
        page.paragraph(&format!("Without a format: {}", code(format)));
    }
    page.table(
        &["letter", "name", "header", "width", "JSON"],
        fields.iter().map(|field| {
            let in_table = !field.name.is_empty() || field.letter.is_some();
            vec![
                field.letter.map_or(String::new(), |letter| code(&format!("%{letter}"))),
                code(field.name),
                code(field.header),
                if in_table { field.width.to_string() } else { String::new() },
                code(field.json),
            ]
        }),
    );
}
