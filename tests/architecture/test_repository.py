"""The repository installs anywhere: it names no package index and pins everything by hash."""

import os
import re
import subprocess

from tests.architecture.source_tree import ROOT, repository_files, shown

# Written in halves, so that this file is not its own first finding.
INDEX_HOSTS = tuple(
    first + second
    for first, second in (
        ("pypi", ".org"),
        ("pythonhosted", ".org"),
        ("npmjs", ".org"),
        ("registry.", "npmjs"),
        ("/simple", "/ "),
    )
)
INDEX_OPTION = re.compile(r"(index-url|find-links|trusted-host)[ =]+\S*:/" + "/")
PIN = re.compile(r"^[A-Za-z0-9._-]+(\[[a-z0-9,_-]+\])?==\S+")


def test_no_committed_file_names_a_package_index() -> None:
    found = []
    for path in repository_files():
        text = path.read_bytes().decode("utf-8", errors="ignore")
        if any(host in text for host in INDEX_HOSTS) or INDEX_OPTION.search(text):
            found.append(shown(path))
    assert found == []


def test_every_pin_has_a_version_and_a_hash() -> None:
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    requirements = text.replace("\\\n", " ").splitlines()
    unpinned = [
        line
        for line in requirements
        if line.strip() and not (PIN.match(line) and "--hash=sha256:" in line)
    ]
    assert unpinned == []
    assert "://" not in text


def test_make_lists_the_targets_that_the_documents_name() -> None:
    done = subprocess.run(
        ("make", "--no-print-directory", "help"),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for target in ("demo", "test", "bench", "lint", "format", "lock", "clean", "docs"):
        assert f"make {target} " in done.stdout


def test_ci_runs_what_people_run() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text(encoding="utf-8").rstrip().endswith("make test")
