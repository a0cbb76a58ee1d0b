"""Conditions on what an index keeps, as people write them: SQL that LanceDB reads, word for word checked before.

year > 2019 AND topic IN ('linux', 'unix') AND NOT solved
"""

import re

from whymatch.search.columns import OWN_NAMES, Column, Columns

MAX_CHARACTERS = 4000
MAX_OPERATIONS = 250
"""Signs and words of SQL in a filter: LanceDB recurses over them, and at 1,000 the process ends."""
_LOGIC = ("and", "or", "not", "in", "is", "null", "between", "like", "ilike", "true", "false")
_CASTS = ("cast", "as", "int", "bigint", "float", "double", "varchar", "string", "boolean")
_KEYWORDS = frozenset((*_LOGIC, *_CASTS))
_OF_TEXT = ("lower", "upper", "trim", "length", "starts_with", "ends_with", "contains", "regexp_like")
_FUNCTIONS = frozenset((*_OF_TEXT, "abs", "round", "coalesce"))
"""Functions of LanceDB that are let through: none of them gives more than it takes."""
_TOKEN = re.compile(
    r"""\s+
    | (?P<text> '(?:[^']|'')*' )
    | (?P<name> `[^`]*` | "[^"]*" )
    | (?P<number> (?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)? )
    | (?P<word> [^\W\d]\w* )
    | (?P<sign> <= | >= | <> | != | [=<>()+*/%,-] )
    """,
    re.VERBOSE,
)
_LITERAL = re.compile(r"Received literal \w+\((?P<value>.*)\) and could not convert to literal of type '(?P<type>\w+)'")
_PARSER = re.compile(r"\(sql parser error: (.*)\)")
_MACHINE_PATH = re.compile(r",? /\S+\.rs:\d+.*", re.DOTALL)  # where LanceDB was built
_TYPES = {"Utf8": "text", "Int64": "whole numbers", "Float64": "numbers", "Boolean": "true or false"}


def condition(where: str, columns: Columns) -> str:
    """A filter as LanceDB takes it, with the names of the table's columns in place of ours.

    A name that is no plain word stands between backticks or double quotes, and a text between single quotes.

    Raises:
        TypeError: if it is no text.
        ValueError: if it is empty or too long, or has what no filter has, such as a column that there is not.
    """
    if not isinstance(where, str):
        raise TypeError(f"A filter is a text such as 'year > 2019', got {type(where).__name__}.")
    if not where.strip() or len(where) > MAX_CHARACTERS:
        raise _refused(where, f"a filter has {MAX_CHARACTERS:,} characters or fewer, and is not empty", columns)
    parts, place, operations = list[str](), 0, 0
    while place < len(where):
        match = _TOKEN.match(where, place)
        if match is None:
            known = "is never closed" if where[place] in "'\"`" else "means nothing here"
            raise _refused(where, f"{where[place]!r}, character {place + 1}, {known}", columns)
        if match.lastgroup is not None:
            calls = where[match.end() :].lstrip().startswith("(")
            part = _translated(match.lastgroup, match[0], calls, where, columns)
            operations += match.lastgroup in ("word", "sign") and part not in {
                *columns.fields.values(),
                *OWN_NAMES,
                *"(),",
            }
            parts.append(part)
        place = match.end()
    if operations > MAX_OPERATIONS:
        reason = (
            f"it has {operations} signs and words of SQL, and {MAX_OPERATIONS} can be read; IN (…) holds many values"
        )
        raise _refused(where, reason, columns)
    return " ".join(parts)  # signs stay apart: two of them could begin a comment


def _translated(kind: str, token: str, calls: bool, where: str, columns: Columns) -> str:
    """A part of a filter as LanceDB takes it."""
    name = token[1:-1] if kind == "name" else token
    if kind in ("name", "word"):
        if kind == "word" and (token.lower() in _KEYWORDS or (calls and token.lower() in _FUNCTIONS)):
            return token
        if name in columns.fields:
            return columns.fields[name]
        if name in OWN_NAMES:
            return name
        hint = " A text stands in single quotes" if token.startswith('"') else ""
        raise _refused(where, f"there is no {'function' if calls else 'column'} {name!r:.60}.{hint}", columns)
    return token


def explained(error: Exception, where: str, columns: Columns) -> ValueError:
    """What LanceDB says against a filter, in our words and with our names."""
    reason = _MACHINE_PATH.sub("", str(error)).replace("\n", " ")
    if literal := _LITERAL.search(reason):
        reason = f"{literal['value']} cannot be compared with {_TYPES.get(literal['type'], literal['type'])}"
    elif "does not return a boolean" in reason:
        reason = "it compares nothing: a column, a sign such as = and a value do"
    elif parser := _PARSER.search(reason):
        reason = parser[1]
    else:
        reason = re.split(r"(?:[Ee]rror|planning|input): ", reason)[-1].partition(". Valid fields")[0]
    for name, field in reversed(columns.fields.items()):
        reason = reason.replace(field, name)
    return _refused(where, reason, columns)


def _refused(where: str, reason: str, columns: Columns) -> ValueError:
    there = Columns((*columns, *(Column(name, str) for name in OWN_NAMES)))
    return ValueError(f"The filter {where!r:.200} cannot be used: {reason.rstrip('.')}. The columns are: {there}.")
