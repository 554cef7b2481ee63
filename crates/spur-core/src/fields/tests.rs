//! What holds for every format and every width.

use proptest::prelude::*;

use super::format::{accounting, letters, names};
use super::render::{self, Layout, RenderContext};
use super::{accounting as sacct, job, sinfo};
use crate::views::{AccountingView, JobView};

fn job(name: String) -> JobView {
    JobView { name, time_limit: Some(crate::limit::Limit::Is(u64::MAX)), ..JobView::default() }
}

proptest! {
    #[test]
    fn any_format_of_letters_is_read_and_printed(format in ".{0,40}", name in ".{0,20}") {
        let columns = letters(job::JOB_FIELDS, &format).columns;
        render::header(&columns);
        render::row(&columns, &job(name), &RenderContext::default());
        let columns = letters(sinfo::SINFO_FIELDS, &format).columns;
        render::row(&columns, &sinfo::NodeGroup::default(), &RenderContext::default());
    }

    #[test]
    fn any_format_of_names_is_read_and_printed(format in "(Name|jobid|TIMELEFT|x)(:[.]?[0-9]{0,5}.{0,3})?(,.{0,9})?") {
        let columns = names(job::JOB_FIELDS, &format).columns;
        render::row(&columns, &job("größe".into()), &RenderContext::default());
    }

    #[test]
    fn any_accounting_format_is_read_and_printed(format in "[a-zA-Z]{0,9}(%-?[0-9]{0,4})?(,.{0,9})?") {
        if let Ok(columns) = accounting(sacct::ACCOUNTING_FIELDS, &format) {
            let row = AccountingView { name: "größe".into(), ..AccountingView::default() };
            render::accounting_row(&columns, &row, &Layout::Fixed, &RenderContext::default());
        }
    }

    #[test]
    fn a_width_is_kept(width in 1usize..60, right in any::<bool>(), name in ".{0,20}") {
        let dot = if right { "." } else { "" };
        let columns = letters(job::JOB_FIELDS, &format!("%{dot}{width}j")).columns;
        let line = render::row(&columns, &job(name), &RenderContext::default());
        prop_assert_eq!(line.len(), width);
    }
}
