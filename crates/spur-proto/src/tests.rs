//! The wire and the rules agree.

mod recorded;
mod repeats;

use prost_reflect::DescriptorPool;
use spur_core::auth::METHODS;

fn pool() -> DescriptorPool {
    DescriptorPool::decode(crate::DESCRIPTORS).expect("the build wrote it")
}

#[test]
fn every_method_has_a_rule_and_every_rule_a_method() {
    let mut methods: Vec<String> = pool()
        .services()
        .flat_map(|service| service.methods().collect::<Vec<_>>())
        .map(|method| format!("/{}/{}", method.parent_service().full_name(), method.name()))
        .collect();
    let mut rules: Vec<String> = METHODS.iter().map(|rule| rule.method.to_string()).collect();
    methods.sort();
    rules.sort();
    assert_eq!(methods, rules);
}

/// Number, name and type.
type Field = (u32, String, String);

/// The records of spur-core as they are written there.
fn declared(source: &str) -> Vec<(String, Vec<Field>)> {
    let mut records = Vec::new();
    let mut is_record = false;
    let mut attribute = String::new();
    for line in source.lines().map(str::trim) {
        if line.starts_with("#[derive(") {
            is_record = line.contains("prost::Message");
        } else if let Some(name) = line.strip_prefix("pub struct ").filter(|_| is_record) {
            records.push((name.trim_end_matches(" {").to_string(), Vec::new()));
        } else if line.starts_with("#[prost(") {
            attribute = line.to_string();
        } else if let Some(member) = line.strip_prefix("pub ").filter(|_| !attribute.is_empty()) {
            let Some((name, kind)) = member.split_once(':') else { continue };
            let number =
                attribute.rsplit("tag = \"").next().and_then(|rest| rest.split('"').next());
            let number = number.and_then(|number| number.parse().ok()).expect("a tag");
            let field = (number, name.to_string(), wire_type(&attribute, kind));
            records.last_mut().expect("inside a record").1.push(field);
            attribute.clear();
        }
    }
    records
}

/// The type as proto3 spells it, from the attribute and, for messages, the member's own type.
fn wire_type(attribute: &str, kind: &str) -> String {
    let words: Vec<&str> =
        attribute.trim_start_matches("#[prost(").split(',').map(str::trim).collect();
    let scalar = words[0].split([' ', '=']).next().unwrap_or_default();
    let label = match () {
        () if words.contains(&"repeated") => "repeated ",
        () if words.contains(&"optional") && scalar != "message" => "optional ",
        () => "",
    };
    let name = match scalar {
        "message" => kind.trim_end_matches([',', '>']).rsplit(['<', ' ', ':']).next().unwrap_or(""),
        scalar => scalar,
    };
    format!("{label}{name}")
}

/// The same as the published files say it.
fn published(message: &prost_reflect::MessageDescriptor) -> Vec<Field> {
    use prost_reflect::Kind;
    message
        .fields()
        .map(|field| {
            let name = match field.kind() {
                Kind::Message(inner) => inner.name().to_string(),
                Kind::Enum(_) => "enumeration".to_string(),
                kind => format!("{kind:?}").to_lowercase(),
            };
            let is_message = matches!(field.kind(), Kind::Message(_));
            let label = match () {
                () if field.is_list() => "repeated ",
                () if field.supports_presence() && !is_message => "optional ",
                () => "",
            };
            (field.number(), field.name().to_string(), format!("{label}{name}"))
        })
        .collect()
}

#[test]
fn records_and_published_messages_are_the_same() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../spur-core/src");
    let pool = pool();
    let mut compared = 0;
    let views = std::fs::read_dir(format!("{root}/views")).expect("views are files");
    let views = views.flatten().map(|entry| entry.path().display().to_string());
    let files = ["job/spec.rs", "job/phase.rs", "step.rs", "node/inventory.rs"];
    for file in files.iter().map(|file| format!("{root}/{file}")).chain(views) {
        for (name, mut fields) in declared(&std::fs::read_to_string(&file).expect("is there")) {
            let message = pool.get_message_by_name(&format!("slurm.{name}"));
            let message = message.unwrap_or_else(|| panic!("{name} of {file} is not published"));
            fields.sort();
            assert_eq!(fields, published(&message), "{name}");
            compared += 1;
        }
    }
    assert!(compared > 10, "only {compared} records were found");
}
