//! `sshare`: everybody's share and usage.

use spur_core::fields::render::Layout;
use spur_core::fields::share::{DEFAULT, LONG, SHARE_FIELDS};
use spur_core::fields::{RenderContext, format, render};
use spur_core::tools::sshare::TOOL;
use spur_core::views::ShareView;

use serde_json::json;

use super::{Ended, Notation, answer};
use crate::cluster::Controller;
use crate::output::{complain, print};
use crate::zone;

/// What is asked for.
#[derive(Default)]
struct Query {
    accounts: Vec<String>,
    users: Vec<String>,
    all: bool,
    users_only: bool,
    format: Option<String>,
    partition: bool,
    header: bool,
    layout: Option<Layout>,
    notation: Option<Notation>,
}

/// Runs the command.
pub fn run(args: &[String]) -> u8 {
    match answers(args) {
        Ok(()) => 0,
        Err(Ended(status)) => status,
    }
}

fn answers(args: &[String]) -> Result<(), Ended> {
    let mut controller = Controller::find();
    let query = read(args, &mut controller)?;
    let shares = controller.shares().map_err(|error| {
        complain("sshare", format!("Couldn't get shares from controller: {error}"));
        Ended(1)
    })?;
    if shares.is_empty() {
        eprintln!("You are not running a supported accounting_storage plugin");
        return Err(Ended(1));
    }
    let shown: Vec<ShareView> = shares
        .into_iter()
        .filter(|share| is_wanted(&query, share))
        .map(|it| prepared(&query, it))
        .collect();
    if let Some(notation) = query.notation {
        let list: Vec<_> = shown.iter().map(|share| render::json(SHARE_FIELDS, share)).collect();
        // Slurm has no total either.
        let shares = json!({"shares": list, "total_shares": 0});
        let mut whole = answer::envelope(&mut controller, "shares", Vec::new(), &[], &["sshare"]);
        whole["shares"] = shares;
        print(&answer::written(&whole, notation));
        return Ok(());
    }
    let text = table(&query, &shown).map_err(|field| {
        complain("sshare", format!("Invalid field requested: \"{field}\""));
        Ended(1)
    })?;
    print(&text);
    Ok(())
}

fn read(args: &[String], controller: &mut Controller) -> Result<Query, Ended> {
    let mut query = Query { header: true, ..Query::default() };
    let parsable = |ends| Some(Layout::Parsable { delimiter: "|".to_string(), ends });
    let list = |value: &str| value.split(',').map(str::to_lowercase).collect::<Vec<_>>();
    for (flag, value) in super::read_all(&TOOL, args)? {
        match flag.long {
            "accounts" => query.accounts.extend(list(&value)),
            "users" | "uid" => query.users.extend(list(&value)),
            "all" => query.all = true,
            "Users" => query.users_only = true,
            "format" => query.format = Some(value),
            "long" => query.format = Some(LONG.to_string()),
            "partition" => query.partition = true,
            "noheader" | "no-header" => query.header = false,
            "parsable" => query.layout = parsable(true),
            "parsable2" => query.layout = parsable(false),
            "json" => query.notation = Some(Notation::Json),
            "yaml" => query.notation = Some(Notation::Yaml),
            "clusters" => super::name_cluster("sshare", &value, query.header, controller)?,
            "helpformat" => {
                let names = SHARE_FIELDS.iter().map(|field| field.name);
                let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
                let lines = names.chunks(4).map(|four| {
                    let four: Vec<String> = four.iter().map(|it| format!("{it:<17}")).collect();
                    four.join(" ") + "\n"
                });
                print(&lines.collect::<String>());
                return Err(Ended(0));
            }
            _ => {}
        }
    }
    Ok(query)
}

fn table(query: &Query, shown: &[ShareView]) -> Result<String, String> {
    let mut format = query.format.clone().unwrap_or_else(|| DEFAULT.to_string());
    if query.partition {
        format = format.replacen("User,", "User,Partition,", 1);
    }
    let columns = format::accounting(SHARE_FIELDS, &format).map_err(|field| field.0)?;
    let columns: Vec<_> = columns.into_iter().map(format::own_width_for_none).collect();
    let layout = query.layout.clone().unwrap_or(Layout::Fixed);
    let context =
        RenderContext { now: zone::now(), offset_at: &zone::offset_at, ..RenderContext::default() };
    let header = query.header.then(|| render::accounting_header(&columns, &layout));
    let rows = shown.iter().map(|row| render::accounting_row(&columns, row, &layout, &context));
    Ok(header.into_iter().flatten().chain(rows).map(|line| line + "\n").collect())
}

/// Accounts are shown to everybody, users to themselves unless more is asked for.
fn is_wanted(query: &Query, share: &ShareView) -> bool {
    let of_account = query.accounts.is_empty() || query.accounts.contains(&share.account);
    if !of_account || (query.users_only && share.user_name.is_empty()) {
        return false;
    }
    if share.user_name.is_empty() || query.all && query.users.is_empty() {
        return true;
    }
    match query.users.is_empty() {
        true => share.user_name == own_name(),
        false => query.users.contains(&share.user_name),
    }
}

/// Without the accounts around them users are not indented.
fn prepared(query: &Query, mut share: ShareView) -> ShareView {
    if query.users_only {
        share.depth = 0;
    } else if !query.accounts.is_empty() {
        // The account that was asked for is the top.
        share.depth = u32::from(!share.user_name.is_empty());
    }
    share
}

fn own_name() -> String {
    let own = nix::unistd::User::from_uid(nix::unistd::Uid::effective());
    own.ok().flatten().map_or_else(String::new, |user| user.name)
}
