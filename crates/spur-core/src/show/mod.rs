//! What `scontrol show` prints of a noun: `Key=value` words, several a line, in Slurm's order. One table
//! a noun.

pub mod config;
pub mod job;
pub mod levels;
pub mod node;
pub mod partition;
pub mod reservation;
pub mod step;
pub mod topology;

use crate::fields::RenderContext;

/// One word.
pub struct Item<Row: 'static> {
    /// What stands before the `=`; empty for a text that stands alone.
    pub key: &'static str,
    /// Whether a line begins with it.
    pub begins: bool,
    /// What stands behind the `=`; nothing where the word is left out.
    pub get: fn(&Row, &Scene<'_>) -> Option<String>,
}

/// What the text depends on beside the row.
pub struct Scene<'a> {
    /// Clock and units.
    pub context: RenderContext<'a>,
    /// `-d`
    pub details: bool,
}

/// The word that begins a line.
const fn first<Row>(key: &'static str, get: fn(&Row, &Scene<'_>) -> Option<String>) -> Item<Row> {
    Item { key, begins: true, get }
}

/// A word behind others.
const fn then<Row>(key: &'static str, get: fn(&Row, &Scene<'_>) -> Option<String>) -> Item<Row> {
    Item { key, begins: false, get }
}

/// The text of one record, without its last line end; `-o` makes one line of it.
pub fn text<Row>(items: &[Item<Row>], row: &Row, scene: &Scene<'_>, one_line: bool) -> String {
    let mut text = String::new();
    let mut begin = false;
    for item in items {
        begin |= item.begins;
        let Some(value) = (item.get)(row, scene) else { continue };
        if !text.is_empty() {
            text.push_str(if begin && !one_line { "\n   " } else { " " });
        }
        begin = false;
        if !item.key.is_empty() {
            text.push_str(item.key);
            text.push('=');
        }
        text.push_str(&value);
    }
    text
}

/// A text, or Slurm's word for none.
fn or_null(text: &str) -> Option<String> {
    Some(if text.is_empty() { "(null)".into() } else { text.into() })
}

fn or(text: &str, word: &str) -> Option<String> {
    Some(if text.is_empty() { word.into() } else { text.into() })
}

/// A word that is left out where there is nothing to say.
fn if_any(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_string())
}

fn yes(is: bool) -> Option<String> {
    Some(if is { "YES".into() } else { "NO".into() })
}

fn bit(is: bool) -> Option<String> {
    Some(u8::from(is).to_string())
}

fn moment(secs: i64, word: &str, scene: &Scene<'_>) -> Option<String> {
    Some(if secs == 0 { word.into() } else { scene.context.moment(secs) })
}
