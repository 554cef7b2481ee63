//! Slurm's own files said as `spur.conf`.
