//! Command lines, scripts and job descriptions are read or refused, all the way to a request.

use spur_core::options::{
    Surroundings, Tool, argv, directive, fill_defaults, json, report, resolve, resolve_components,
};
use spur_core::script::header;
use spur_core::time::FixedOffset;

/// Reads what may be anything.
pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let words: Vec<String> = text.split(['\0', '\n']).map(str::to_owned).collect();
    for tool in [Tool::Sbatch, Tool::Srun, Tool::Salloc] {
        let Ok(components) = argv::read_components(tool, &words, |_, _| Ok(())) else { continue };
        let settings: Vec<_> = components.into_iter().map(|component| component.settings).collect();
        for mut request in resolve_components(tool, &[], &[], &settings).unwrap_or_default() {
            if fill_defaults(&mut request, Surroundings::default()).is_ok() {
                report::defined_options(&request, &FixedOffset::UTC);
            }
        }
    }
    let _ = header::check(text.as_bytes());
    if let Ok(components) = directive::read_script(text, "script", false) {
        for settings in components {
            if let Ok(mut request) = resolve(Tool::Sbatch, settings) {
                let _ = fill_defaults(&mut request, Surroundings::default());
            }
        }
    }
    if let Ok(serde_json::Value::Object(description)) = serde_json::from_str(text) {
        let _ = resolve(Tool::Sbatch, json::read(&description).settings);
    }
}
