//! The wire and the rules agree.

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
