"""Exit codes, and the one place where an exception becomes one of them."""

import errno
import os
import sys
import traceback
from collections.abc import Callable

import typer

from hero_bayes.cli.wording import in_flags
from hero_bayes.errors import DataError, Refusal

__all__ = [
    "BAD_DATA",
    "BAD_USAGE",
    "DONE",
    "HOLD",
    "INCONCLUSIVE",
    "INTERNAL_ERROR",
    "INTERRUPTED",
    "UsageError",
    "exit_code_of",
    "silence_stdout",
]

#: Done; of a decision: ship.
DONE = 0
#: Decisions alone: hold, or collect more.
HOLD = 1
INCONCLUSIVE = 2
BAD_USAGE = 64
BAD_DATA = 65
INTERNAL_ERROR = 70
INTERRUPTED = 130
#: What is wrong with a place, not with us: no permission, or a full or read-only disk.
_PLACE = (errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EROFS)

#: What typer raises on a wrong option: its base class, which typer does not export by name.
_BASE_USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]


class UsageError(Exception):
    """The command was called in a way it does not understand."""


def exit_code_of(command: Callable[[], None], debug: bool = False) -> int:
    """Run a command, say on standard error what went wrong, and return the exit code.

    Parameters
    ----------
    command : callable
        The work.
    debug : bool
        Show the traceback of an internal error.

    Returns
    -------
    int
        0 done; 64 bad usage; 65 bad data; 70 internal error; 130 interrupted. A reader that closes
        the pipe early is no error. 1 and 2 only where the command ends with a decision.
    """
    try:
        command()
        sys.stdout.flush()
    except typer.Exit as stop:
        return int(stop.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        _tell("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        silence_stdout()
        return DONE
    except SystemExit as stop:  # rich ends the process with 1 when the reader of its help is gone
        if isinstance(stop.__context__, BrokenPipeError):
            silence_stdout()
            return DONE
        return INTERNAL_ERROR if stop.code else DONE
    except UsageError as error:
        _tell(f"usage error: {error}")
        return BAD_USAGE
    except _BASE_USAGE_ERROR as error:
        _tell(_usage(error))
        return BAD_USAGE
    except (DataError, Refusal) as error:
        kind = "bad data" if isinstance(error, DataError) else "refused"
        _tell(f"{kind}: {in_flags(str(error))}")
        return BAD_DATA
    except OSError as error:
        if error.errno not in _PLACE:
            return _report_internal(error, debug)
        where = f" {error.filename}" if error.filename else ""
        _tell(f"usage error: a file cannot be read or written:{where} {error.strerror}")
        return BAD_USAGE
    except Exception as error:  # every other failure is ours
        return _report_internal(error, debug)
    return DONE


def _report_internal(error: Exception, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    _tell(_internal(error, debug))
    return INTERNAL_ERROR


def _usage(error: Exception) -> str:
    """Typer's own message, and where help is."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "hero-bayes"
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    return f"usage error: {message}\nTry '{path} --help'."


def _internal(error: Exception, debug: bool) -> str:
    said = " ".join(str(error).split())
    hint = "" if debug else " (run again with --debug for the traceback, and report it)"
    return f"internal error: {type(error).__name__}{': ' + said if said else ''}{hint}"


def _tell(message: str) -> None:
    try:
        print(f"hero-bayes: {message}", file=sys.stderr, flush=True)
    except BrokenPipeError:
        return


def silence_stdout() -> None:
    """Point standard output at nothing, so that closing it at exit does not fail again."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return
