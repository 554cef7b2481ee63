//! The programs that a site has run around jobs, as agents are told of them.

use spur_core::config::SecondsOrNever;
use spur_core::config::sections::Hooks as Rules;
use spur_core::config::words::PrologFlag;
use spur_core::limit::Limit;
use spur_proto::internal::Hooks;

/// Nothing where nothing is configured, which costs nothing on the way.
pub(super) fn of(rules: &Rules) -> Option<Hooks> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let has = |flag: PrologFlag| rules.prolog_flags.contains(&flag);
    let hooks = Hooks {
        prolog: rules.prolog.clone(),
        epilog: rules.epilog.clone(),
        timeout_secs: None,
        task_prolog: text(&rules.task_prolog),
        task_epilog: text(&rules.task_epilog),
        at_once: false,
        one_by_one: false,
    };
    if hooks == Hooks::default() {
        return None;
    }
    Some(Hooks {
        timeout_secs: match rules.timeout {
            SecondsOrNever(Limit::Is(secs)) => u32::try_from(secs).ok(),
            SecondsOrNever(_) => None,
        },
        at_once: has(PrologFlag::Alloc) || has(PrologFlag::Contain),
        one_by_one: has(PrologFlag::Serial),
        ..hooks
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_said_where_nothing_is_run() {
        let timeout = SecondsOrNever(Limit::Is(5));
        assert_eq!(of(&Rules { timeout, ..Rules::default() }), None);
        let prolog = vec!["/p".to_string()];
        let prolog_flags = vec![PrologFlag::Contain];
        let hooks = of(&Rules { timeout, prolog, prolog_flags, ..Rules::default() });
        let hooks = hooks.expect("there is a prolog");
        assert_eq!((hooks.timeout_secs, hooks.at_once, hooks.one_by_one), (Some(5), true, false));
    }
}
