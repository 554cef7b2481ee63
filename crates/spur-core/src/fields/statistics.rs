//! The columns of running steps: `sstat`. The rows are those of `sacct`; a few differ.

use super::format::{Column, FormatError, accounting};
use super::short::*;
use super::{Field, Value};
use crate::views::AccountingView;
use crate::views::accounting::TresUsage;

/// `sstat`
pub const DEFAULT: &str = "JobID,MaxVMSize,MaxVMSizeNode,MaxVMSizeTask,AveVMSize,MaxRSS,MaxRSSNode,\
MaxRSSTask,AveRSS,MaxPages,MaxPagesNode,MaxPagesTask,AvePages,MinCPU,MinCPUNode,MinCPUTask,AveCPU,\
NTasks,AveCPUFreq,ReqCPUFreqMin,ReqCPUFreqMax,ReqCPUFreqGov,ConsumedEnergy,MaxDiskRead,\
MaxDiskReadNode,MaxDiskReadTask,AveDiskRead,MaxDiskWrite,MaxDiskWriteNode,MaxDiskWriteTask,\
AveDiskWrite,TRESUsageInAve,TRESUsageInMax,TRESUsageInMaxNode,TRESUsageInMaxTask,TRESUsageInMin,\
TRESUsageInMinNode,TRESUsageInMinTask,TRESUsageInTot,TRESUsageOutAve,TRESUsageOutMax,\
TRESUsageOutMaxNode,TRESUsageOutMaxTask,TRESUsageOutMin,TRESUsageOutMinNode,TRESUsageOutMinTask,\
TRESUsageOutTot";

const fn field(
    name: &'static str,
    width: usize,
    get: fn(&AccountingView) -> Value,
) -> Field<AccountingView> {
    Field::new(name, name, get).width(width)
}

/// Rows that sacct has otherwise or not at all.
#[rustfmt::skip]
static DIFFERENT: &[Field<AccountingView>] = &[
    field("AveDiskRead", 12, |a| disk(&a.usage_in, |u| u.average)),
    field("AveDiskWrite", 12, |a| disk(&a.usage_out, |u| u.average)),
    field("MaxDiskRead", 12, |a| disk(&a.usage_in, |u| u.max)),
    field("MaxDiskWrite", 12, |a| disk(&a.usage_out, |u| u.max)),
    field("Nodelist", 20, |a| text(&a.nodes)),
    field("Pids", 20, |a| text(&a.pids)),
];

/// Names that sstat knows beside its own; sacct has more.
const SHARED: &[&str] = &[
    "AllocTRES",
    "AveCPU",
    "AveCPUFreq",
    "AvePages",
    "AveRSS",
    "AveVMSize",
    "ConsumedEnergy",
    "ConsumedEnergyRaw",
    "JobID",
    "MaxDiskReadNode",
    "MaxDiskReadTask",
    "MaxDiskWriteNode",
    "MaxDiskWriteTask",
    "MaxPages",
    "MaxPagesNode",
    "MaxPagesTask",
    "MaxRSS",
    "MaxRSSNode",
    "MaxRSSTask",
    "MaxVMSize",
    "MaxVMSizeNode",
    "MaxVMSizeTask",
    "MinCPU",
    "MinCPUNode",
    "MinCPUTask",
    "NTasks",
    "ReqCPUFreq",
    "ReqCPUFreqMin",
    "ReqCPUFreqMax",
    "ReqCPUFreqGov",
];

/// Reads the format of `sstat`.
pub fn columns(format: &str) -> Result<Vec<Column<AccountingView>>, FormatError> {
    let pieces = format.split(',').filter(|piece| !piece.is_empty());
    let mut columns = Vec::new();
    for piece in pieces {
        let column = match accounting(DIFFERENT, piece) {
            Ok(found) if names_exactly(&found, piece) => found,
            different => {
                let found = accounting(super::accounting::ACCOUNTING_FIELDS, piece)?;
                let known = found.iter().all(|column| column.field.is_some_and(is_known));
                if known { found } else { different? }
            }
        };
        columns.extend(column);
    }
    Ok(columns)
}

/// Every name, four a line, as Slurm lists them.
pub fn names() -> String {
    const TRES: [&str; 16] = [
        "TRESUsageInAve",
        "TRESUsageInMax",
        "TRESUsageInMaxNode",
        "TRESUsageInMaxTask",
        "TRESUsageInMin",
        "TRESUsageInMinNode",
        "TRESUsageInMinTask",
        "TRESUsageInTot",
        "TRESUsageOutAve",
        "TRESUsageOutMax",
        "TRESUsageOutMaxNode",
        "TRESUsageOutMaxTask",
        "TRESUsageOutMin",
        "TRESUsageOutMinNode",
        "TRESUsageOutMinTask",
        "TRESUsageOutTot",
    ];
    let mut names: Vec<&str> = SHARED.to_vec();
    names.extend(DIFFERENT.iter().map(|field| field.name));
    names.sort_unstable_by_key(|name| name.to_ascii_lowercase());
    names.extend(TRES);
    let last = names.len() - 1;
    let written = names.iter().enumerate().map(|(place, name)| match place {
        place if place % 4 == 3 || place == last => format!("{name:<19}\n"),
        _ => format!("{name:<19} "),
    });
    written.collect()
}

fn names_exactly(columns: &[Column<AccountingView>], piece: &str) -> bool {
    let name = piece.split('%').next().unwrap_or(piece);
    columns.iter().filter_map(|column| column.field).all(|f| f.name.eq_ignore_ascii_case(name))
}

fn is_known(field: &Field<AccountingView>) -> bool {
    field.name.starts_with("TRESUsage") || SHARED.contains(&field.name)
}

/// Bytes as they stand, in a larger unit where they divide evenly.
fn disk(usages: &[TresUsage], get: fn(&TresUsage) -> u64) -> Value {
    let usage = usages.iter().find(|usage| usage.name == "fs/disk");
    usage.map_or_else(|| text(""), |usage| Value::Bytes(get(usage)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::check_table;
    use crate::fields::render::{Layout, RenderContext, accounting_header, accounting_row};

    #[test]
    fn the_table_is_sound() {
        check_table(DIFFERENT);
    }

    #[test]
    fn layout_of_sstat() {
        let columns = columns(DEFAULT).unwrap();
        let header = accounting_header(&columns, &Layout::Fixed);
        assert!(header[0].starts_with(
            "JobID         MaxVMSize  MaxVMSizeNode  MaxVMSizeTask  AveVMSize     MaxRSS "
        ));
        assert!(header[1].ends_with("------------ ---------------- ---------------- ------------ -------------- -------------- ------------------ ------------------ -------------- ------------------ ------------------ -------------- --------------- --------------- ------------------- ------------------- --------------- ------------------- ------------------- --------------- "));
        assert_eq!(super::columns("nosuch").err(), Some(FormatError("nosuch".into())));
        assert_eq!(super::columns("Partition").err(), Some(FormatError("Partition".into())));
    }

    #[test]
    fn disk_traffic_is_in_bytes() {
        let usage = TresUsage { name: "fs/disk".into(), max: 6819, ..TresUsage::default() };
        let row = AccountingView { usage_out: vec![usage], ..AccountingView::default() };
        let columns = columns("maxdiskwrite,nodelist%8").unwrap();
        let told = accounting_row(&columns, &row, &Layout::Fixed, &RenderContext::default());
        assert_eq!(told, "        6819          ");
    }
}
