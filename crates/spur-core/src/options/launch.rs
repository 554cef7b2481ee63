//! How tasks are started and what becomes of their input and output.

use super::row::Tool::Srun;
use super::row::{JobOption, SRUN, flag, option};

pub(super) static ROWS: &[JobOption] =
    &[option("label", "Start each line of output with the number of its task.")
        .short('l')
        .of(SRUN)
        .env(&[(Srun, "SLURM_LABELIO")])
        .step(|step, _| flag(&mut step.label))];
