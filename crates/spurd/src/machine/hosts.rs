//! Names that runs can look up. Several nodes on one machine have names that nobody else knows of; a table of them
//! in the spool is what their runs see as `/etc/hosts`, so `MASTER_ADDR=$(scontrol show hostnames | head -1)` works.

use std::io;
use std::path::Path;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::Uid;

/// The table's name in the spool.
const TABLE: &str = "hosts";

/// Shows the spool's table, if there is one, to this process and those it starts. Only root can; for others the
/// names stay unknown.
pub fn show(spool: &Path) -> io::Result<()> {
    let table = spool.join(TABLE);
    if !Uid::effective().is_root() || !table.exists() {
        return Ok(());
    }
    unshare(CloneFlags::CLONE_NEWNS)?;
    let nothing = None::<&Path>;
    // What the machine mounts from now on still comes in, and nothing goes out.
    mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_SLAVE, nothing)?;
    mount(Some(&table), "/etc/hosts", nothing, MsFlags::MS_BIND, nothing)?;
    Ok(())
}
