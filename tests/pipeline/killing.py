"""Run by test_folder: kill writers of one folder at many moments and look at what they leave.

Prints how often the folder held a decision, and raises if one ever did not match its files.
"""

import dataclasses
import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

from hero_bayes.pipeline import files
from hero_bayes.pipeline.config import read_config
from hero_bayes.pipeline.running import RunResult, run_config

ROUNDS = 6


def look(folder: Path) -> bool:
    """Whether there is a decision; it must belong to the files beside it."""
    if not folder.exists():
        return False
    assert {path.name for path in folder.iterdir()} <= set(files.FILES), list(folder.iterdir())
    if not (folder / files.DECISION).exists():
        return False
    document = json.loads((folder / files.DECISION).read_text())
    others = {path.name for path in folder.iterdir()} - {files.DECISION}
    assert others == set(document["files"]), (others, document["files"])
    for name, told in document["files"].items():
        assert files.sha256_of(folder / name) == told, name
    return True


def dying_at(step: int) -> None:
    """Die at the so many-th move or removal of a file."""
    left = [step]
    for owner, name in ((os, "replace"), (Path, "unlink")):
        real = getattr(owner, name)

        def mortal(*args, real=real, **options):
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left[0] -= 1
            return real(*args, **options)

        setattr(owner, name, mortal)


def killed(results: list[RunResult], folder: Path, step: int | None, wait: float) -> bool:
    """Write in a child that dies at a step, or over and over in one that is killed in between."""
    child = os.fork()
    if child == 0:
        if step is not None:
            dying_at(step)
            files.write_run(results[step % 2], folder, overwrite=True)
            os._exit(0)
        while True:
            for result in results:
                files.write_run(result, folder, overwrite=True)
    if step is None:
        time.sleep(wait)
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    return os.WIFSIGNALED(status)


def main(config: Path, folder: Path) -> None:
    first = run_config(read_config(config))
    other = run_config(
        dataclasses.replace(
            first.config, model=dataclasses.replace(first.config.model, random_seed=9)
        )
    )
    results = [first, dataclasses.replace(other, sweep=None, sweep_missing="left out")]
    seen = {"decision": 0, "none": 0}
    steps = 0
    for _ in range(2):  # into a new folder, then over the results of an earlier run
        step = 0
        while killed(results, folder, step, 0.0):
            seen["decision" if look(folder) else "none"] += 1
            step += 1
        assert look(folder), "the writer that was not killed left no decision"
        steps += step
    rng = np.random.default_rng(0)
    for _ in range(ROUNDS):
        killed(results, folder, None, float(rng.uniform(0.0, 0.3)))
        seen["decision" if look(folder) else "none"] += 1
    left = [p for p in folder.parent.iterdir() if p.name.startswith(f".{folder.name}")]
    files.write_run(first, folder, overwrite=True)
    assert look(folder)
    assert not [p for p in folder.parent.iterdir() if p.name.startswith(f".{folder.name}")]
    print(json.dumps(seen | {"steps": steps, "left": len(left)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
