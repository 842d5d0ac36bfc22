"""Flags that several commands share, with their help."""

from typing import Annotated

import typer

__all__ = [
    "Abstain",
    "Columns",
    "Covariates",
    "DropUnlabeled",
    "Json",
    "Negative",
    "Positive",
    "Repeats",
]

READING = "Reading the tables"

Positive = Annotated[
    str | None,
    typer.Option(
        metavar="VALUE", help="The label that means 1 (what you count).", rich_help_panel=READING
    ),
]
Negative = Annotated[
    str | None,
    typer.Option(
        metavar="VALUE",
        help="The label that means 0, if several others occur.",
        rich_help_panel=READING,
    ),
]
Abstain = Annotated[
    list[str] | None,
    typer.Option(
        metavar="VALUE", help="A label that is no verdict; repeatable.", rich_help_panel=READING
    ),
]
Repeats = Annotated[
    str | None,
    typer.Option(
        metavar="HOW",
        help="A labeler judged an item twice: error (default), majority, first or keep.",
        rich_help_panel=READING,
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="ROLE=NAME",
        help="Your column for one of ours, as in item=conversation_id; repeatable.",
        rich_help_panel=READING,
    ),
]
Covariates = Annotated[
    list[str] | None,
    typer.Option(
        "--covariate",
        metavar="NAME",
        help="A numeric column of the items, known before any label; repeatable.",
        rich_help_panel=READING,
    ),
]
DropUnlabeled = Annotated[
    bool,
    typer.Option(
        "--drop-unlabeled",
        help="Leave out items without any label, and count them.",
        rich_help_panel=READING,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
