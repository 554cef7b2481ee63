//! What is tried on every decoder: shared by the fuzz targets, which look for days, and by a test, which looks for
//! a moment.
#![allow(dead_code, reason = "each of them uses its part")]

mod agents;
mod array;
mod changes;
mod crontab;
mod dependency;
mod features;
mod filename;
mod files;
mod formats;
mod frames;
mod hostlist;
mod job;
mod options;
mod requests;
mod stored;
mod time;
mod tools;
mod wire;

/// One kind of words that come from others.
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Reads what may be anything; a panic is a finding.
    pub run: fn(&[u8]),
    /// Words to begin with.
    pub seeds: &'static [&'static [u8]],
}

/// All of them.
#[rustfmt::skip]
pub static TARGETS: &[Target] = &[
    Target { name: "agents", run: agents::run, seeds: &[b"\n\x04\x08\x01\x10\x02", b"\x08\x0c\x20\x01\x30\x64", b"{\"number\":1,\"at\":0,\"who\":\"uid 0\",\"what\":\"x\",\"outcome\":\"done\",\"before\":\"\",\"hash\":\"ab\"}\\n"] },
    Target { name: "array", run: array::run, seeds: &[b"1-10:2%3", b"0,3,5-9", b"0-4294967295", b"7"] },
    Target { name: "changes", run: changes::run, seeds: &[b"TimeLimit=+10\nNodeList=n[1-3]", b"State=DRAIN\nReason=x\nWeight=3", b"Flags=MAINT,DAILY\nStartTime=now\nDuration=60", b"name=a\nMaxJobs=3\nGrpTRES=cpu=4,mem=1G", b"account=a+b\nusers-=x"] },
    Target { name: "crontab", run: crontab::run, seeds: &[b"5 */2 * * mon-fri echo hi\n", b"#SCRON -n 2\nA=b\n@daily run\n", b"0 0 31 2 * never\n"] },
    Target { name: "dependency", run: dependency::run, seeds: &[b"afterok:1:2+5,afterany:3", b"singleton", b"after:1?afternotok:2_3", b"expand:9"] },
    Target { name: "features", run: features::run, seeds: &[b"a&b|c", b"[x|y]*2", b"(a|b)&c*3"] },
    Target { name: "filename", run: filename::run, seeds: &[b"slurm-%j_%a.out", b"%A/%N-%4t.%s%%", b"\\\\%j", b"%x-%u-%n"] },
    Target { name: "files", run: files::run, seeds: &[b"[cluster]\nname = \"c\"\n[[nodes]]\nname = \"n[1-4]\"\ncpus = 4\n", b"NodeName=n[1-3] CPUs=2 Gres=gpu:2\nPartitionName=p Nodes=ALL Default=YES\n", b"#!/bin/sh\n#SBATCH -n 2 --mem=1G\n#SBATCH hetjob\n#PBS -l nodes=2:ppn=4\n"] },
    Target { name: "formats", run: formats::run, seeds: &[b"%.18i %.9P %R", b"jobid:.10,name:20|", b"JobID%-20,State,MaxRSS%7", b"%99999999999i", b"%"] },
    Target { name: "frames", run: frames::run, seeds: &[b"abcdefgh", b"\x00\x00\x00\x10"] },
    Target { name: "hostlist", run: hostlist::run, seeds: &[b"n[1-4,7]", b"a[01-10]b[1-2]", b"n1,n2,m[3-5]", b"[", b"rack[0-1]-n[00-99]"] },
    Target { name: "job", run: job::run, seeds: &[b"TERM@60", b"B:USR1@30", b"END,FAIL,TIME_LIMIT_80", b"cyclic:block,Pack", b"plane=4", b"ALL,A=1", b"NONE"] },
    Target { name: "options", run: options::run, seeds: &[b"--array=1-3\n-n\n4\n--mem=1G\nscript", b"#!/bin/sh\n#SBATCH --time=1-2:3 -N2-4\n", b"{\"tasks\":4,\"environment\":[\"A=1\"],\"time_limit\":5}", b"-n1\n:\n-n2"] },
    Target { name: "requests", run: requests::run, seeds: &[b"gpu:mi300x:4,gpu:2", b"2-4", b"lic:2,other", b"cpu=4,mem=2G,gres/gpu:a100=1", b"1K"] },
    Target { name: "stored", run: stored::run, seeds: &[b"\n\x04\x08\x01\x10\x02", b"\x12\x00\x1a\x02ab"] },
    Target { name: "time", run: time::run, seeds: &[b"1-02:03:04", b"now+2hours", b"2026-11-17T08:05:00", b"tomorrow", b"12.5G", b"UNLIMITED", b"16:30:10 11/17/26"] },
    Target { name: "tools", run: tools::run, seeds: &[b"-pdebug\n--part=x\n-x", b"12_[1-3,7%2].batch", b"map_cpu:0,1*3", b"verbose,mask_cpu:0x3,0xf0", b"verbose,map_mem:4294967295", b"per_task:2", b"\"a b\" 'c' d\\ e"] },
    Target { name: "wire", run: wire::run, seeds: &[b"spur-1-abc", b"eyJhbGciOiJFZERTQSJ9.eyJzdW4iOiJhIn0.AAAA", b"\n\x03abc\x10\x05\x1a\x02xy"] },
];

/// The target of this name.
pub fn run(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    (target.expect("is one of them").run)(bytes);
}
