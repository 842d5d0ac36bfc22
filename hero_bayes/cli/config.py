"""What commands that read a config file share."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hero_bayes.errors import DataError, Refusal

if TYPE_CHECKING:
    from hero_bayes.pipeline.config import Config

__all__ = ["ConfigFile", "in_config", "open_config", "said_in_config", "tell"]

ConfigFile = Annotated[
    Path, typer.Argument(metavar="CONFIG.toml", help="The config file; hero-bayes init writes one.")
]
#: Remedies of the Python interface, and what stands for them in the config file.
_KEYS: tuple[tuple[str, str], ...] = (
    (r"Labels\.from_frames\(\.\.\., covariates=(\[[^\]]*\])\)", r"covariates = \1 in [data]"),
    (r"columns=\{'(\w+)': '([^']*)'\}", r'columns = {\1 = "\2"}'),
    (r"columns=\{'(\w+)': \.\.\.\}", r"columns = {\1 = ...}"),
    (r"""(?<![\w-])model=["'](\w+)["']""", r'name = "\1" in [model]'),
    (r"Rule\(\.\.\., group='([^']*)'\)", r'group = "\1" in [[rule]]'),
    (r'(?<![\w-])method="(\w+)"', r"method \1"),
    (r"force=True", "--force"),
    (r"(?<![\w-])(positive|negative|abstain)=(?=[,.;) ]|$)", r"\1"),
    (
        r"(?<![\w-])(positive|negative|abstain|repeats|unlabeled|covariates|columns|group|mode|"
        r"posterior|draws|tune|chains|shrink|ridge|priors|grid)=",
        r"\1 = ",
    ),
)


def in_config(message: str) -> str:
    """Say a remedy of the Python interface in keys of the config file.

    Parameters
    ----------
    message : str
        A message of the package, such as ``name the value that means 1 with positive=``.
    """
    for pattern, key in _KEYS:
        message = re.sub(pattern, key, message)
    return message


@contextmanager
def said_in_config() -> Iterator[None]:
    """Say bad data and refusals in keys of the config file."""
    try:
        yield
    except (DataError, Refusal) as error:
        raise type(error)(in_config(str(error))) from error


def open_config(path: Path) -> "Config":
    """Read the config file, or name everything that is wrong in it."""
    from hero_bayes.pipeline.config import read_config

    return read_config(path)


def tell(step: str) -> None:
    """Say on standard error what is done next."""
    print(f"hero-bayes: {step}", file=sys.stderr, flush=True)
