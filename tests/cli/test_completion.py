"""Scripts that complete the words of the command line know all of them, and run in their shells."""

import shutil
import subprocess
from collections.abc import Sequence

import pytest

from whymatch.cli import command_line, main
from whymatch.cli.completion import _commands

COMPLETED = """
{script}
try() {{ COMP_WORDS=("$@"); COMP_CWORD=$((${{#COMP_WORDS[@]}}-1)); _whymatch; echo "${{COMPREPLY[*]}}"; }}
{tries}
"""


@pytest.fixture
def script(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    scripts = {}
    for shell in ("bash", "zsh", "fish"):
        assert main(["completion", shell]) == 0
        scripts[shell] = capsys.readouterr().out
    return scripts


def in_bash(script: str, lines: Sequence[Sequence[str]]) -> list[list[str]]:
    """What bash offers for the last word of each line."""
    tries = "\n".join("try " + " ".join(f"'{word}'" for word in line) for line in lines)
    command = ["bash", "--norc", "-c", COMPLETED.format(script=script, tries=tries)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    return [line.split() for line in ran.stdout.split("\n")][: len(lines)]


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_offers_every_verb_every_option_and_every_choice(script: dict[str, str]) -> None:
    lines, expected = [], []
    for command in _commands(command_line(), "whymatch"):
        words = command.words.split()
        lines += [[*words, ""], [*words, "-"]]
        expected += [{*command.verbs, *command.values}, {option.flag for option in command.options}]
        for option in command.options:
            if option.takes_value:
                lines.append([*words, option.flag, ""])
                expected.append({*option.choices})
    assert [set(offered) for offered in in_bash(script["bash"], lines)] == expected
    assert {"align", "doctor", "completion"} <= expected[0]
    assert any("--constraint" in words for words in expected)


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_options_are_offered_behind_other_words(script: dict[str, str]) -> None:
    lines = [["whymatch", "align", "left.txt", "right.txt", "--htm"], ["whymatch", "study", "serve", "folder", "--por"]]
    assert in_bash(script["bash"], lines) == [["--html"], ["--port"]]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_can_read_its_script(shell: str, script: dict[str, str]) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    ran = subprocess.run([shell, "-n"], input=script[shell], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "--no-relations" in script[shell] or "-l no-relations" in script[shell]
