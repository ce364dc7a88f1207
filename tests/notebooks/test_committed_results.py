"""The results in the repository: of these sources, of the published format, and whole."""

import json
import subprocess
import sys
import warnings

import jsonschema
import pytest

from course_build.results import SCHEMA_FILE, moved_versions, read_results, stale_reasons
from course_build.tree import Tree

TREE = Tree()


@pytest.mark.parametrize("lab", TREE.labs)
def test_results_are_those_of_the_tree(lab):
    """Other versions are only reported: they differ on a reader's machine, as they may."""
    contents = read_results(TREE.results(lab))
    reasons = stale_reasons(TREE.source(lab), contents)
    assert not reasons, f"{'; '.join(reasons)}: run `make results` and `make notebooks`"
    if versions := moved_versions(contents):
        warnings.warn(f"{lab} was computed with {', '.join(versions)}", stacklevel=1)


@pytest.mark.parametrize("lab", TREE.labs)
def test_results_are_published_as_promised(lab):
    path = TREE.results(lab)
    text = subprocess.run(
        [sys.executable, "-m", "json.tool", path], capture_output=True, check=True, timeout=60
    ).stdout
    contents = json.loads(text)
    jsonschema.validate(contents, json.loads(SCHEMA_FILE.read_text(encoding="utf-8")))
    meta = contents["meta"]
    assert (meta["lab"], meta["profile"], meta["language"]) == (lab, "quick", "en")
    assert [claim["id"] for claim in contents["claims"] if not claim["holds"]] == []


def test_there_are_no_other_results():
    assert [path.stem for path in sorted(TREE.results("x").parent.glob("*.json"))] == TREE.labs
