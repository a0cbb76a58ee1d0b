"""`whymatch completion`: a script with which a shell completes verbs, options and their values.

eval "$(whymatch completion bash)"       # in ~/.bashrc; zsh: the same in ~/.zshrc
whymatch completion fish | source        # in ~/.config/fish/config.fish
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


class _Option(NamedTuple):
    flag: str
    text: str
    takes_value: bool
    choices: tuple[str, ...]


@dataclass(frozen=True)
class _Command:
    """A verb, or an action of one: what can follow the words on the command line."""

    words: str
    options: Sequence[_Option]
    verbs: Mapping[str, str]
    """With their help."""
    values: Sequence[str]
    """Those among which an argument is chosen."""


def add_to(verbs: Any) -> None:
    """Adds the verb to the command line."""
    parser = verbs.add_parser("completion", help="a script that completes whymatch's words in a shell")
    parser.add_argument("shell", choices=["bash", "zsh", "fish"], help="bash, zsh or fish")
    parser.set_defaults(run=run)


def run(settings: argparse.Namespace) -> None:
    """Prints the script."""
    from whymatch.cli import command_line

    commands = [*_commands(command_line(), "whymatch")]
    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[settings.shell](commands))


def _commands(parser: argparse.ArgumentParser, words: str) -> Iterator[_Command]:
    """A parser and those of its verbs, each with the words that lead to it."""
    options, verbs, values, inner = list[_Option](), dict[str, str](), list[str](), dict[str, Any]()
    for action in parser._actions:
        choices = [*map(str, action.choices or ())]
        if isinstance(action, argparse._SubParsersAction):
            inner = dict(action.choices)
            verbs = {str(choice.dest): choice.help or "" for choice in action._choices_actions}
        elif action.option_strings:
            text = (action.help or "").replace("%%", "%")
            options += [_Option(flag, text, action.nargs != 0, (*choices,)) for flag in action.option_strings]
        else:
            values += choices
    yield _Command(words, options, verbs, values)
    for name, verb in inner.items():
        yield from _commands(verb, f"{words} {name}")


def _paths(commands: Sequence[_Command]) -> str:
    """The commands as alternatives of a `case` of bash or zsh."""
    return "|".join(f'"{command.words}"' for command in commands)


def _bash(commands: Sequence[_Command]) -> str:
    values, words, flags = list[str](), list[str](), list[str]()
    for command in commands:
        for option in command.options:
            if option.takes_value:  # without choices the value is a file, or anything
                values.append(f'        "{command.words} {option.flag}") words="{" ".join(option.choices)}" ;;')
        words.append(f'            "{command.words}") words="{" ".join([*command.verbs, *command.values])}" ;;')
        flags.append(f'            "{command.words}") words="{" ".join(option.flag for option in command.options)}" ;;')
    return "\n".join(
        [
            "_whymatch() {",
            "    local word=${COMP_WORDS[COMP_CWORD]} path=whymatch words= i",
            "    for ((i = 1; i < COMP_CWORD; i++)); do",
            f'        case "$path ${{COMP_WORDS[i]}}" in {_paths(commands)}) path="$path ${{COMP_WORDS[i]}}" ;; esac',
            "    done",
            '    case "$path ${COMP_WORDS[COMP_CWORD-1]}" in',
            *values,
            '        *) if [[ $word == -* ]]; then case "$path" in',
            *flags,
            '        esac; else case "$path" in',
            *words,
            "        esac; fi ;;",
            "    esac",
            '    COMPREPLY=($(compgen -W "$words" -- "$word"))',
            "}",
            "complete -o default -F _whymatch whymatch",
        ]
    )


def _zsh(commands: Sequence[_Command]) -> str:
    values, words, flags = list[str](), list[str](), list[str]()
    for command in commands:
        for option in command.options:
            if option.takes_value:
                chosen = " ".join(option.choices)
                values.append(f'        "{command.words} {option.flag}") known=({chosen}) ;;')
        described = [f"{verb}:{text}" for verb, text in command.verbs.items()] + [*command.values]
        words.append(f'            "{command.words}") known=({" ".join(map(_quoted, described))}) ;;')
        described = [f"{option.flag}:{option.text}" for option in command.options]
        flags.append(f'            "{command.words}") known=({" ".join(map(_quoted, described))}) ;;')
    return "\n".join(
        [
            "#compdef whymatch",
            "_whymatch() {",
            "    local current=$words[CURRENT] before=$words[CURRENT-1] path_=whymatch i",
            "    local -a known",
            "    for ((i = 2; i < CURRENT; i++)); do",
            f'        case "$path_ $words[i]" in {_paths(commands)}) path_="$path_ $words[i]" ;; esac',
            "    done",
            '    case "$path_ $before" in',
            *values,
            '        *) if [[ $current == -* ]]; then case "$path_" in',
            *flags,
            '        esac; else case "$path_" in',
            *words,
            "        esac; fi ;;",
            "    esac",
            "    (( $#known )) && _describe whymatch known || _files",
            "}",
            "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }",
            "compdef _whymatch whymatch",
        ]
    )


def _fish(commands: Sequence[_Command]) -> str:
    lines = [
        "function __whymatch_at",
        "    set -l path whymatch",
        "    for word in (commandline -opc)[2..]",
        f'        if contains -- "$path $word" {" ".join(_quoted(command.words) for command in commands)}',
        '            set path "$path $word"',
        "        end",
        "    end",
        '    test "$path" = "$argv"',
        "end",
    ]
    for command in commands:
        start = f"complete -c whymatch -n '__whymatch_at {command.words}'"
        if command.verbs or command.values:
            lines += [f"{start} -f"]
        lines += [f"{start} -a {verb} -d {_quoted(text)}" for verb, text in command.verbs.items()]
        lines += [f"{start} -a {value}" for value in command.values]
        for flag, text, takes_value, choices in command.options:
            name = f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"
            value = f" -xa {_quoted(' '.join(choices))}" if choices else " -r" if takes_value else ""
            lines.append(f"{start} {name}{value} -d {_quoted(text)}")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    """A word of a script, whatever is in it; zsh and fish read what stands between single quotes as it is."""
    return "'" + text.replace("\\", "").replace("'", "’") + "'"
