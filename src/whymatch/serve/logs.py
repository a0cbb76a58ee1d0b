"""What happens, as JSON lines on standard error; never a text, an id or a query that came with a request."""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any

LOGGER = logging.getLogger("whymatch.serve")


class Lines(logging.Formatter):
    """One JSON object a record; of an error its kind and where it was raised, not its message, which may quote."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        values: dict[str, Any] = {"time": time, "level": record.levelname.lower(), "event": record.getMessage()}
        values |= getattr(record, "values", {})
        if record.exc_info and record.exc_info[1] is not None:
            values |= about(record.exc_info[1])
        return json.dumps(values, ensure_ascii=True, default=str)


def about(error: BaseException) -> dict[str, Any]:
    """The kind of an error and the places that it came through."""
    frames = traceback.extract_tb(error.__traceback__)[-6:]
    return {"error": type(error).__name__, "places": [f"{frame.filename}:{frame.lineno}" for frame in frames]}


def note(event: str, *, level: int = logging.INFO, error: BaseException | None = None, **values: object) -> None:
    """Writes one line."""
    LOGGER.log(level, event, extra={"values": values}, exc_info=error)


def start() -> None:
    """Sends our lines, and uvicorn's warnings, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    for name, level in (("whymatch.serve", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
