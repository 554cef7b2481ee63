//! `docs/completions/spur.bash`.

use spur_core::options::Arg;

use super::{Completed, HEAD, Spelled, choices, first_words, tools};

/// The script, to be sourced or put where bash looks for completions.
pub fn script() -> String {
    let tools = tools();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
    let words: Vec<&str> = first_words().map(|(name, _)| name).collect();
    let mut text = String::from(HEAD);
    text.push_str("\n# The options of a tool; a value follows those that end in \"=\".\n");
    text.push_str(&function(
        "_spur_options",
        "$1",
        tools.iter().map(|tool| (tool.name.into(), spellings(tool))),
    ));
    text.push_str("\n# The words that the value of a tool's option can be.\n");
    text.push_str(&function("_spur_values", "$1:$2", tools.iter().flat_map(values)));
    text.push_str(&CODE.replace("@tools@", &names.join("|")).replace("@words@", &words.join(" ")));
    text.push_str(&format!(
        "\ncomplete -o bashdefault -o default -F _spur spur {}\n",
        names.join(" ")
    ));
    text
}

/// A function that prints words by what it is asked about.
fn function(name: &str, asked: &str, cases: impl IntoIterator<Item = (String, String)>) -> String {
    let cases = cases.into_iter().map(|(case, words)| format!("    {case}) echo '{words}' ;;\n"));
    format!("{name}() {{\n    case {asked} in\n{}    esac\n}}\n", cases.collect::<String>())
}

fn spellings(tool: &Completed) -> String {
    let spell = |row: &Spelled| {
        let long = row.long.iter().map(|name| match row.arg {
            Arg::Required(_) => format!("--{name}="),
            Arg::None | Arg::Optional(_) => format!("--{name}"),
        });
        let short = row.short.map(|letter| match row.arg {
            Arg::Required(_) => format!("-{letter}="),
            Arg::None | Arg::Optional(_) => format!("-{letter}"),
        });
        long.chain(short).collect::<Vec<_>>().join(" ")
    };
    tool.options.iter().map(spell).collect::<Vec<_>>().join(" ")
}

fn values(tool: &Completed) -> Vec<(String, String)> {
    let with_choices = tool.options.iter().filter(|row| !choices(row.arg).is_empty());
    let case = |row: &Spelled| {
        let long = row.long.iter().map(|name| format!("--{name}"));
        let short = row.short.map(|letter| format!("-{letter}"));
        let asked = long.chain(short).map(|option| format!("{}:{option}", tool.name));
        (asked.collect::<Vec<_>>().join("|"), choices(row.arg).join(" "))
    };
    with_choices.map(case).collect()
}

const CODE: &str = r#"
# Completes a word of a tool whose options begin at a place in the line.
_spur_submission() {
    local tool=$1 at=$2 current=${COMP_WORDS[COMP_CWORD]} option word known
    known=" $(_spur_options "$tool") "
    while ((at < COMP_CWORD)); do
        word=${COMP_WORDS[at]}
        option=
        case $word in
        # What comes after is the program's, and bash completes it as files.
        --) return ;;
        -?*)
            # bash takes "--name=value" apart into three words.
            if [[ ${COMP_WORDS[at + 1]} == = ]]; then
                option=$word
                ((at += 3))
            elif [[ $known == *" $word= "* ]]; then
                option=$word
                ((at += 2))
            else
                ((at += 1))
            fi
            ;;
        *) return ;;
        esac
    done
    if ((at > COMP_CWORD)); then
        [[ $current == = ]] && current=
        mapfile -t COMPREPLY < <(compgen -W "$(_spur_values "$tool" "$option")" -- "$current")
    elif [[ $current == -* ]]; then
        # A letter's value follows without "=".
        known=$(sed -E 's/ (-[A-Za-z])=/ \1/g' <<<"$known")
        mapfile -t COMPREPLY < <(compgen -W "$known" -- "$current")
        if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]]; then
            compopt -o nospace 2>/dev/null
        fi
    fi
}

_spur() {
    COMPREPLY=()
    local name=${COMP_WORDS[0]##*/}
    case $name in
    @tools@) _spur_submission "$name" 1 ;;
    *)
        if ((COMP_CWORD == 1)); then
            mapfile -t COMPREPLY < <(compgen -W '@words@' -- "${COMP_WORDS[1]}")
        else
            case ${COMP_WORDS[1]} in
            @tools@) _spur_submission "${COMP_WORDS[1]}" 2 ;;
            esac
        fi
        ;;
    esac
}
"#;
