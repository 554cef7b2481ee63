//! The wire only grows: `proto/recorded.txt` has what it ever had, and all of it is still there as it was. A field
//! more is written down by running this test with `SPUR_RECORD=1`.

use std::collections::BTreeSet;

use prost_reflect::{EnumDescriptor, FieldDescriptor, Kind, MessageDescriptor};

use super::pool;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../proto/recorded.txt");

fn kind(field: &FieldDescriptor) -> String {
    let kind = match field.kind() {
        Kind::Message(inner) => inner.full_name().to_string(),
        Kind::Enum(inner) => inner.full_name().to_string(),
        kind => format!("{kind:?}").to_lowercase(),
    };
    let is_message = matches!(field.kind(), Kind::Message(_));
    match field.containing_oneof() {
        _ if field.is_list() => format!("repeated {kind}"),
        // `optional` is a choice of one.
        Some(choice) if choice.fields().len() > 1 => format!("{kind} of {}", choice.name()),
        _ if field.supports_presence() && !is_message => format!("optional {kind}"),
        _ => kind,
    }
}

fn fields(message: MessageDescriptor) -> impl Iterator<Item = String> {
    let name = message.full_name().to_string();
    let fields: Vec<FieldDescriptor> = message.fields().collect();
    let line = move |field: &FieldDescriptor| {
        format!("{name} {} {}: {}", field.number(), field.name(), kind(field))
    };
    fields.into_iter().map(move |field| line(&field))
}

fn values(words: EnumDescriptor) -> impl Iterator<Item = String> {
    let name = words.full_name().to_string();
    let values: Vec<(i32, String)> =
        words.values().map(|value| (value.number(), value.name().to_string())).collect();
    values.into_iter().map(move |(number, value)| format!("{name} {number} {value}"))
}

/// A line for each field, each word of an enumeration and each method.
fn present() -> BTreeSet<String> {
    let pool = pool();
    let methods = pool.services().flat_map(|service| service.methods().collect::<Vec<_>>());
    let methods = methods.map(|method| {
        let stream = |is: bool| if is { "stream " } else { "" };
        format!(
            "{} {}{} -> {}{}",
            method.full_name(),
            stream(method.is_client_streaming()),
            method.input().full_name(),
            stream(method.is_server_streaming()),
            method.output().full_name(),
        )
    });
    let messages = pool.all_messages().filter(|it| !it.full_name().starts_with("google."));
    methods.chain(messages.flat_map(fields)).chain(pool.all_enums().flat_map(values)).collect()
}

#[test]
fn nothing_of_the_wire_is_taken_away_or_changes_its_meaning() {
    let written = std::fs::read_to_string(FILE).unwrap_or_default();
    let written: BTreeSet<String> = written.lines().map(str::to_string).collect();
    let present = present();
    let gone: Vec<&String> = written.difference(&present).collect();
    assert!(gone.is_empty(), "these were published and are no more as they were: {gone:#?}");
    if std::env::var_os("SPUR_RECORD").is_some() {
        let lines: String = present.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(FILE, lines).expect("is written");
        return;
    }
    let new: Vec<&String> = present.difference(&written).collect();
    assert!(
        new.is_empty(),
        "write down what is new with: SPUR_RECORD=1 cargo test -p spur-proto recorded\n{new:#?}"
    );
}
