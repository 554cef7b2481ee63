//! Who may call what.

use spur_core::auth::{ACCOUNT, ACTIONS, METHODS, Target, may, principals};
use spur_core::ids::Uid;

/// The whole page.
pub fn page() -> String {
    let principals = principals();
    let mut text = "# Who may do what\n\n\
         Printed from the table of rights by `cargo xtask docs`. A method that is not here is refused.\n\n\
         ## Who gets past the door\n\n"
        .to_string();
    let names: Vec<&str> = principals.iter().map(|(name, _)| *name).collect();
    text += &format!("| method | {} |\n", names.join(" | "));
    text += &format!("|---|{}\n", ":-:|".repeat(names.len()));
    for rule in METHODS {
        let mark = |admitted: bool| if admitted { "x" } else { "" };
        let marks: Vec<&str> =
            principals.iter().map(|(_, actor)| mark(rule.who.admits(actor))).collect();
        text += &format!("| `{}` | {} |\n", rule.method, marks.join(" | "));
    }
    text += "\n## What depends on the job\n\n\
         Decided again inside the state machine. *own* is the owner of the job; the user of the table above \
         is another, and the coordinator looks after the account that the job is charged to.\n\n";
    text += &format!(
        "| action | own | {} |\n|---|:-:|{}\n",
        names.join(" | "),
        ":-:|".repeat(names.len())
    );
    for (name, action) in ACTIONS {
        let mark = |target: Target, actor: &spur_core::auth::Actor| {
            if may(actor, *action, target).is_ok() { "x" } else { "" }
        };
        let (_, user) = &principals[1];
        let own = user.uid().unwrap_or_default();
        let job = |owner| Target::Job { owner, account: ACCOUNT };
        let other = Uid(own.0 + 1_000_000);
        let mut marks = vec![mark(job(own), user)];
        marks.extend(principals.iter().map(|(_, actor)| mark(job(other), actor)));
        text += &format!("| {name} | {} |\n", marks.join(" | "));
    }
    text
}
