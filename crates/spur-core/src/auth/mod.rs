//! Who asks, and what they may do.

mod actor;
mod policy;

pub use actor::{Actor, Level};
pub use policy::{
    ACCOUNT, ACTIONS, Action, METHODS, MethodRule, Target, Who, may, may_act_as, method_rule,
    principals,
};
