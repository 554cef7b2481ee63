//! `sdiag`: how the controller fares.

mod calls;
mod show;

use serde_json::json;
use spur_core::tools::sdiag::TOOL;

use self::calls::Order;
use super::{Ended, Notation, answer};
use crate::cluster::Controller;
use crate::output::{note, print};

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    match answers(args) {
        Ok(()) => 0,
        Err(Ended(status)) => status,
    }
}

fn answers(args: &[String]) -> Result<(), Ended> {
    let said = super::read_all(&TOOL, args)?;
    let mut controller = Controller::find();
    let (mut notation, mut order, mut reset) = (Notation::Table, Order::Count, false);
    for (flag, value) in &said {
        match flag.long {
            "json" => notation = Notation::Json,
            "yaml" => notation = Notation::Yaml,
            "reset" => reset = true,
            "sort-by-id" => order = Order::Id,
            "sort-by-time" => order = Order::Time,
            "sort-by-time2" => order = Order::Average,
            "cluster" => drop(super::check_cluster("sdiag", value, &mut controller)?),
            _ => {}
        }
    }
    let told = controller.diagnostics(reset).map_err(|error| {
        let what = if reset { "slurm_reset_statistics" } else { "slurm_get_statistics" };
        note(format!("{what}: {error}"));
        Ended(255)
    })?;
    if reset {
        print("Reset scheduling statistics\n");
        return Ok(());
    }
    let calls = calls::named(&told, order);
    if notation == Notation::Table {
        print(&show::text(&told, &calls, show::latency()));
        return Ok(());
    }
    let statistics = show::json(&told, &calls, show::latency());
    let mut whole = answer::envelope(&mut controller, "statistics", Vec::new(), &[], &["sdiag"]);
    whole["statistics"] = statistics;
    whole["meta"]["command"] = json!(["sdiag"]);
    print(&answer::written(&whole, notation));
    Ok(())
}
