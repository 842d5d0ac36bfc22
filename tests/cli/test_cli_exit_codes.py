import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import hero_bayes.cli.main as cli_main
from hero_bayes.cli.exit_codes import exit_code_of
from hero_bayes.cli.interrupts import interrupts_kept
from hero_bayes.errors import Refusal

COMMAND = [sys.executable, "-c", "from hero_bayes.cli.main import run; run()"]


def shell(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *words], capture_output=True, text=True, check=False)


def test_help_and_version_load_nothing_heavy():
    code = (
        "import sys\nfrom hero_bayes.cli.main import main\nassert main(['--help']) == 0\n"
        "assert main(['check', '--help']) == 0\nassert main(['--version']) == 0\n"
        "heavy = {'numpy', 'pandas', 'numba', 'pymc', 'scipy', 'pandera'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "demo" in done.stdout
    assert "estimate" in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        ["check"],
        ["check", "x.csv", "--repeats", "sometimes"],
        ["check", "x.csv", "--negative", "no"],
        ["check", "x.csv", "--column", "item"],
        ["check", "x.csv", "--current-items", "y.csv"],
        ["check", "x.csv", "--no-such-flag"],
        ["estimate"],
        ["estimate", "--current", "x.csv", "--method", "guess"],
        ["estimate", "--current", "x.csv", "--prob", "95"],
        ["estimate", "--current", "x.csv", "--prob", "often"],
        ["estimate", "--current", "x.csv", "--ridge", "-1"],
        ["estimate", "--current", "x.csv", "--ridge", "nan"],
        ["estimate", "--current", "x.csv", "--shrink", "much"],
        ["estimate", "--current", "x.csv", "--history-items", "h.csv"],
        ["estimate", "--current", "x.csv", "--items", "i.csv", "--current-items", "c.csv"],
        ["demo", "--seed", "-1"],
        ["demo", "--posterior", "no/such/folder/p.nc"],
        ["demo", "--posterior", "."],
    ],
)
def test_bad_usage_is_64(cli, words):
    done = cli(*words)
    assert done.code == 64
    assert done.err.startswith("hero-bayes: usage error: ")
    assert not done.out


def test_console_script_exits_with_the_code_and_says_errors_on_stderr():
    assert shell("nonsense").returncode == 64
    missing = shell("estimate", "--current", "there/is/none.csv")
    assert missing.returncode == 65
    assert "there is no file" in missing.stderr
    assert not missing.stdout


def test_closed_pipe_is_quiet(write):
    line = [*COMMAND, "check", str(write("t.csv", "item,labeler,label\n1,a,3\n1,b,4\n1,c,5\n"))]
    with subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert process.returncode == 0
    assert not said


def raising(error):
    def command():
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (Refusal('use method="hero1"'), 65, "refused: use --method hero1"),
        (RuntimeError("boom\nagain"), 70, "internal error: RuntimeError: boom again"),
        (OSError(28, "No space left on device"), 64, "written: No space left on device"),
        (PermissionError(13, "Permission denied", "a.csv"), 64, "written: a.csv Permission denied"),
        (OSError(5, "Input/output error"), 70, "internal error: OSError"),
        (MemoryError(), 70, "internal error: MemoryError"),
        (SystemExit(1), 70, ""),
        (SystemExit(0), 0, ""),
    ],
)
def test_exceptions_become_exit_codes(capsys, error, code, said):
    assert exit_code_of(raising(error)) == code
    captured = capsys.readouterr()
    assert said in captured.err
    assert "Traceback" not in captured.err
    assert not captured.out


def test_a_swallowed_interrupt_still_counts():
    done = []

    def command():
        with interrupts_kept():
            try:
                os.kill(os.getpid(), signal.SIGINT)
                done.append("not interrupted")
            except KeyboardInterrupt:
                pass
        done.append("reported")

    assert exit_code_of(command) == 130
    assert not done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_traceback_only_on_request(cli, files, monkeypatch):
    def fail(*args, **kwargs):
        raise RuntimeError("boom")

    monkeypatch.setattr("hero_bayes.estimators.estimate.compare_methods", fail)
    words = ("estimate", "--current", files.current)
    plain = cli(*words)
    assert plain.code == 70
    assert "Traceback" not in plain.err
    assert "--debug" in plain.err
    assert "Traceback" in cli("--debug", *words).err
    assert "Traceback" in cli(*words, "--debug").err
    monkeypatch.setenv(cli_main.DEBUG_VARIABLE, "1")
    assert "Traceback" in cli(*words).err


@pytest.mark.parametrize("command", ["check", "estimate"])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.csv", b""),
        ("header.csv", b"item,labeler,label\n"),
        ("binary.csv", bytes(range(256)) * 8),
        ("binary.parquet", bytes(range(256)) * 8),
        ("binary.csv.gz", bytes(range(256)) * 8),
        ("cut.csv.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03K"),
        ("ragged.csv", b"item,labeler,label\n1,a,1,9\n1,b\n"),
        ("missing_column.csv", b"item,labeler\n1,a\n"),
        ("nan_id.csv", b"item,labeler,label\n1,a,1\n,b,0\n"),
        ("no_label.csv", b"item,labeler,label\n1,a,\n2,b,\n"),
        ("spread.xlsx", b"PK"),
    ],
)
def test_unreadable_files_are_65(cli, tmp_path: Path, command, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    words = ["check", path] if command == "check" else ["estimate", "--current", path]
    done = cli(*words)
    assert done.code == 65, done
    assert done.err.startswith("hero-bayes: bad data: ")
    assert "Traceback" not in done.err
    assert not done.out or done.out.splitlines()[-1].startswith("FINDING: ")
