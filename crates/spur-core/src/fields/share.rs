//! The columns of shares: `sshare`.

use serde_json::json;

use super::short::*;
use super::{Field, Value};
use crate::views::ShareView;

/// `sshare`
pub const DEFAULT: &str = "Account,User,RawShares,NormShares,RawUsage,EffectvUsage,FairShare";
/// `sshare -l`
pub const LONG: &str = "Account,User,RawShares,NormShares,RawUsage,NormUsage,EffectvUsage,FairShare,\
LevelFS,GrpTRESMins,TRESRunMins";

const fn field(name: &'static str, width: usize, get: fn(&ShareView) -> Value) -> Field<ShareView> {
    Field::new(name, name, get).width(width)
}

/// Every column and every member of the JSON object.
#[rustfmt::skip]
pub static SHARE_FIELDS: &[Field<ShareView>] = &[
    field("Account", 20, |s| Value::Text(format!("{}{}", " ".repeat(s.depth as usize), s.account))).left(),
    field("Cluster", 10, |s| text(&s.cluster)).json("cluster"),
    field("EffectvUsage", 13, |s| Value::both(Value::Fraction(s.effective_usage, 6), float(Some(s.effective_usage)))).json("effective_usage"),
    field("FairShare", 10, fairshare).json("fairshare.factor"),
    field("GrpTRESMins", 30, |s| text(&s.grp_tres_mins)),
    field("GrpTRESRaw", 30, |s| text(&s.grp_tres_raw)),
    field("ID", 6, |s| number(s.id)).json("id"),
    field("LevelFS", 10, |s| fraction(s.level_fairshare)).json("fairshare.level"),
    field("NormShares", 11, |s| Value::both(Value::Fraction(s.norm_shares, 6), float(Some(s.norm_shares)))).json("shares_normalized"),
    field("NormUsage", 11, |s| fraction(s.norm_usage)).json("usage_normalized"),
    field("Partition", 12, |s| text(&s.partition)).json("partition"),
    field("RawShares", 10, raw_shares).json("shares"),
    field("RawUsage", 11, |s| number(s.raw_usage)).json("usage"),
    field("TRESRunMins", 30, |s| text(&s.tres_run_mins)),
    field("User", 10, |s| text(&s.user_name)),
    Field::json_only("name", |s| text(if s.user_name.is_empty() { &s.account } else { &s.user_name })),
    Field::json_only("parent", |s| text(&s.parent)),
    Field::json_only("tres.run_seconds", |s| each(&s.tres_run_mins, |_, minutes| whole(Some(minutes * 60)))),
    Field::json_only("tres.group_minutes", |s| each(&s.grp_tres_raw, |name, _| whole(limit_of(s, name)))),
    Field::json_only("tres.usage", |s| each(&s.grp_tres_raw, |_, minutes| json!(minutes as f64 * 60.0))),
    Field::json_only("type", |s| Value::Json(json!([if s.user_name.is_empty() { "ASSOCIATION" } else { "USER" }]))),
];

/// One object for every resource of a list.
fn each(amounts: &str, value: impl Fn(&str, u64) -> serde_json::Value) -> Value {
    let parts = amounts.split(',').filter_map(|part| part.split_once('='));
    let named = parts.map(|(name, amount)| (name, amount.parse().unwrap_or(0)));
    let list = named.map(|(name, amount)| json!({"name": name, "value": value(name, amount)}));
    Value::Json(list.collect())
}

fn limit_of(share: &ShareView, name: &str) -> Option<u64> {
    let mut parts = share.grp_tres_mins.split(',').filter_map(|part| part.split_once('='));
    parts.find(|(of, _)| *of == name).and_then(|(_, amount)| amount.parse().ok())
}

/// A number, or none at all, which is as much as one likes.
fn whole(number: Option<u64>) -> serde_json::Value {
    json!({"set": number.is_some(), "infinite": number.is_none(), "number": number.unwrap_or(0)})
}

fn raw_shares(share: &ShareView) -> Value {
    if share.shares_from_parent {
        return Value::both(text("parent"), maybe(None::<u32>, ""));
    }
    maybe(share.raw_shares, "")
}

fn float(number: Option<f64>) -> Value {
    let is_infinite = number.is_some_and(f64::is_infinite);
    let set = number.is_some() && !is_infinite;
    let number = number.filter(|_| set).unwrap_or(0.0);
    Value::Json(json!({"set": set, "infinite": is_infinite, "number": number}))
}

/// Accounts have none; in JSON that is nothing at all.
fn fairshare(share: &ShareView) -> Value {
    let said = share.fairshare.map_or_else(|| text(""), |number| Value::Fraction(number, 6));
    Value::both(said, float(Some(share.fairshare.unwrap_or(0.0))))
}

fn fraction(number: Option<f64>) -> Value {
    let said = number.map_or_else(|| text(""), |number| Value::Fraction(number, 6));
    Value::both(said, float(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::format::accounting;
    use crate::fields::render::{Layout, accounting_header, accounting_row};
    use crate::fields::{RenderContext, check_table};

    #[test]
    fn the_table_is_sound() {
        check_table(SHARE_FIELDS);
    }

    #[test]
    fn layouts_of_sshare() {
        let root = ShareView {
            account: "root".into(),
            raw_usage: 89,
            effective_usage: 1.0,
            ..ShareView::default()
        };
        let user = ShareView {
            account: "root".into(),
            user_name: "root".into(),
            depth: 1,
            raw_shares: Some(1),
            norm_shares: 1.0 / 3.0,
            raw_usage: 89,
            fairshare: Some(1.0),
            ..ShareView::default()
        };
        let columns = accounting(SHARE_FIELDS, DEFAULT).unwrap();
        let context = RenderContext::default();
        let mut told = accounting_header(&columns, &Layout::Fixed);
        told.push(accounting_row(&columns, &root, &Layout::Fixed, &context));
        told.push(accounting_row(&columns, &user, &Layout::Fixed, &context));
        assert_eq!(
            told,
            [
                "Account                    User  RawShares  NormShares    RawUsage  EffectvUsage  FairShare ",
                "-------------------- ---------- ---------- ----------- ----------- ------------- ---------- ",
                "root                                          0.000000          89      1.000000            ",
                " root                      root          1    0.333333          89      0.000000   1.000000 ",
            ]
        );
        let unused = ShareView { level_fairshare: Some(f64::INFINITY), ..user.clone() };
        let json = crate::fields::render::json(SHARE_FIELDS, &unused);
        assert_eq!(
            json["fairshare"]["level"],
            json!({"set": false, "infinite": true, "number": 0.0})
        );
        let parsable = Layout::Parsable { delimiter: "|".into(), ends: false };
        assert_eq!(
            accounting_row(&columns, &user, &parsable, &context),
            " root|root|1|0.333333|89|0.000000|1.000000"
        );
    }
}
