//! The table of keys. A section is written down once, with the macro below, and yields its struct, its
//! defaults, its reader, its rows in the document and its names in Slurm's files.

use super::values::Value;

/// What it takes for a changed value to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reload {
    /// `scontrol reconfigure`.
    Now,
    /// A restart of `spurctld`.
    Controller,
    /// A restart of `spurd` on every node.
    Agents,
    /// A restart of `spurdbd`.
    Accounting,
    /// A restart of `spurrestd`.
    Rest,
    /// A restart of every daemon.
    Everything,
}

impl Reload {
    /// What has to be restarted, in words; `None` when nothing has to.
    pub fn restart(self) -> Option<&'static str> {
        match self {
            Reload::Now => None,
            Reload::Controller => Some("spurctld"),
            Reload::Agents => Some("spurd"),
            Reload::Accounting => Some("spurdbd"),
            Reload::Rest => Some("spurrestd"),
            Reload::Everything => Some("all daemons"),
        }
    }
}

/// One key of one section.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    pub name: &'static str,
    /// What its values look like.
    pub kind: fn() -> String,
    pub reload: Reload,
    /// What Slurm calls it in its own files, for the import and for "did you mean".
    pub slurm: &'static [&'static str],
    pub help: &'static str,
    /// Slurm's text as TOML of ours.
    pub from_slurm: fn(&str) -> Result<String, String>,
}

/// One section of the file.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// As between the brackets; empty for the keys above the first bracket.
    pub name: &'static str,
    /// Whether it is `[[name]]`, once per thing described.
    pub repeated: bool,
    pub help: &'static str,
    pub keys: &'static [Key],
    /// The values of an untouched section, one for each key, as TOML.
    pub defaults: fn() -> Vec<String>,
}

impl Table {
    /// How the section is written: `[scheduler]`, `[[nodes]]`, or `the top of the file`.
    pub fn heading(&self) -> String {
        match (self.name, self.repeated) {
            ("", _) => "the top of the file".to_string(),
            (name, false) => format!("[{name}]"),
            (name, true) => format!("[[{name}]]"),
        }
    }

    /// The row of a key.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }
}

/// A section's struct, as the macro makes it.
pub trait Section: Default + Clone + PartialEq {
    /// Its row in the table of sections.
    const TABLE: Table;

    /// Sets one key; the error says what is wrong with the value.
    fn set(&mut self, key: &str, value: &Value) -> Result<(), String>;

    /// Every value as TOML, one for each key of the table, empty where nothing is set.
    fn shown(&self) -> Vec<String>;
}

/// The name of a field without the `r#` that a Rust keyword needs.
pub(super) const fn plain(field: &'static str) -> &'static str {
    let bytes = field.as_bytes();
    if bytes.len() > 2 && bytes[0] == b'r' && bytes[1] == b'#' {
        field.split_at(2).1
    } else {
        field
    }
}

/// Writes a section down: `field: Type = default, Reload, ["SlurmName"];` under its help.
macro_rules! section {
    (
        $(#[doc = $help:literal])+
        $name:ident = $heading:literal, repeated $repeated:literal;
        $($(#[doc = $key_help:literal])+
        $field:ident: $kind:ty = $default:expr, $reload:ident, [$($slurm:literal),*];)+
    ) => {
        $(#[doc = $help])+
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[doc = $key_help])+ pub $field: $kind,)+
        }

        impl Default for $name {
            fn default() -> $name {
                $name { $($field: $default,)+ }
            }
        }

        impl $crate::config::keys::Section for $name {
            const TABLE: $crate::config::keys::Table = $crate::config::keys::Table {
                name: $heading,
                repeated: $repeated,
                help: concat!($($help),+),
                keys: &[$($crate::config::keys::Key {
                    name: $crate::config::keys::plain(stringify!($field)),
                    kind: <$kind as $crate::config::values::Setting>::kind,
                    reload: $crate::config::keys::Reload::$reload,
                    slurm: &[$($slurm),*],
                    help: concat!($($key_help),+),
                    from_slurm: |text| {
                        <$kind as $crate::config::values::Setting>::from_slurm(text)
                            .map(|value| $crate::config::values::Setting::toml(&value))
                    },
                }),+],
                defaults: || <$name as $crate::config::keys::Section>::shown(&$name::default()),
            };

            fn set(&mut self, key: &str, value: &$crate::config::values::Value) -> Result<(), String> {
                $(if key == $crate::config::keys::plain(stringify!($field)) {
                    self.$field = $crate::config::values::Setting::read(value)?;
                    return Ok(());
                })+
                Err("no such key".to_string())
            }

            fn shown(&self) -> Vec<String> {
                vec![$($crate::config::values::Setting::toml(&self.$field)),+]
            }
        }
    };
}

pub(super) use section;
