//! Resource limits of a shell that go along with its jobs: their names, and which of them are meant.

/// Every limit, as `--propagate` names it.
pub const NAMES: &[&str] =
    &["AS", "CORE", "CPU", "DATA", "FSIZE", "MEMLOCK", "NOFILE", "NPROC", "RSS", "STACK"];

/// The variable that carries a limit to the node, where it is taken away again.
pub fn variable(name: &str) -> String {
    format!("SLURM_RLIMIT_{name}")
}

/// Which limits a list means: `ALL`, `NONE`, or names, with or without `RLIMIT_`.
pub fn chosen<'a>(list: impl IntoIterator<Item = &'a str>) -> Vec<&'static str> {
    let mut chosen = Vec::new();
    for word in list.into_iter().flat_map(|word| word.split(',')) {
        let word = word.trim().to_ascii_uppercase();
        let word = word.strip_prefix("RLIMIT_").unwrap_or(&word);
        match word {
            "ALL" => chosen.extend(NAMES),
            "NONE" => chosen.clear(),
            word => chosen.extend(NAMES.iter().find(|name| **name == word)),
        }
    }
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

/// What a site lets through: these without the exceptions. Naming exceptions alone means all others.
pub fn let_through(list: &[String], except: &[String]) -> Vec<&'static str> {
    let mut chosen = self::chosen(list.iter().map(String::as_str));
    let except = self::chosen(except.iter().map(String::as_str));
    chosen.retain(|name| !except.contains(name));
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_mean_names() {
        assert_eq!(chosen(["ALL"]), NAMES);
        assert_eq!(chosen(["NOFILE,RLIMIT_CORE"]), ["CORE", "NOFILE"]);
        assert!(chosen(["NONE"]).is_empty() && chosen(["bogus"]).is_empty());
        let all = ["ALL".to_string()];
        assert_eq!(let_through(&all, &["CORE".to_string()]).len(), NAMES.len() - 1);
    }
}
