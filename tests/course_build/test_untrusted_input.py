"""Results, catalogs and notebooks are data, whoever wrote them: nothing in them is evaluated."""

import json

import nbformat
import pytest
from markdown_it import MarkdownIt

from build_notebooks import main
from course_build import results as course_results
from course_build.results import ResultsError, read_results, stale_reasons

CATALOG = "notebooks/locale/fr/coin_flips.po"


@pytest.fixture
def build(course, capsys, monkeypatch):
    monkeypatch.chdir(course.root)

    def build():
        status = main([], course)
        out, err = capsys.readouterr()
        return status, out + err

    return build


def translate(course, english, french):
    """Give an entry of the French catalog a translation."""
    import polib

    path = course.root / CATALOG
    catalog = polib.pofile(str(path))
    [entry] = [entry for entry in catalog if english in entry.msgid]
    entry.msgstr = french(entry.msgstr) if callable(french) else french
    catalog.save(str(path))


@pytest.mark.parametrize(
    ("english", "french", "says"),
    [
        (
            "records are members (",
            lambda text: text + " {__import__('os').system('id')}",
            "fields differ: `{__import__('os').system('id')}` is new",
        ),
        (
            "A **fair coin**",
            lambda text: text + " <script>alert(1)</script>",
            "HTML tags differ: `<script>`",
        ),
        (
            "A **fair coin**",
            lambda text: text + ' <img src="x" onerror="alert(1)">',
            "HTML tags differ: ",
        ),
        (
            "A **fair coin**",
            lambda text: text.replace("https://arxiv.org/abs", "javascript:alert"),
            "links differ: ",
        ),
    ],
)
def test_a_translation_that_would_be_run_is_refused(english, french, says, course, build):
    translate(course, english, french)
    status, said = build()
    assert status == 1 and says in said
    assert not course.notebook("coin_flips", "fr").exists()


def test_a_translation_does_not_break_out_of_its_string(course, build, monkeypatch):
    # French has no straight quotation marks; a language without rules of its own may
    monkeypatch.setattr("course_build.translation_checks.typography_faults", lambda *_: ())
    text = "\"); __import__('os').abort(); print('\\\\"
    translate(course, "Your code here", "Votre code\r__import__('os').abort()")
    status, said = build()
    assert status == 1 and "takes several lines where the English takes one" in said
    translate(course, "Your code here", "Votre code ici")
    with open(course.root / "notebooks/source/coin_flips.py", "a", encoding="utf-8") as file:
        file.write('\n# %% id="last"\nprint("the last word")\n')
    build()
    translate(course, "the last word", text)
    status, said = build()
    assert status == 0, said
    notebook = nbformat.read(course.notebook("coin_flips", "fr"), as_version=4)
    [cell] = [cell for cell in notebook.cells if cell.id == "last"]
    printed = []
    exec(cell.source, {"print": printed.append, "__builtins__": {}})
    assert printed == [text]


def test_a_text_from_the_results_is_shown_and_not_rendered(course, build, change):
    hostile = "<script>alert(1)</script> [x](javascript:alert) $x$ {{ meta.date }} **b** `c`"
    path = course.results("coin_flips")
    contents = json.loads(path.read_text(encoding="utf-8"))
    contents["meta"]["versions"]["torch"] = hostile
    path.write_text(json.dumps(contents), encoding="utf-8")
    status, said = build()
    assert status == 0, said
    notebook = nbformat.read(course.notebook("coin_flips", "en"), as_version=4)
    page = MarkdownIt().render(notebook.cells[0].source)
    assert "&lt;script&gt;alert(1)&lt;/script&gt; [x](javascript:alert)" in page
    assert "{{ meta.date }} **b** `c`" in page
    assert r"\$x\$" in notebook.cells[0].source


@pytest.mark.parametrize("name", ["/etc/hostname", "../outside", "a\0b", "x" * 5000, "/dev/zero"])
def test_results_make_nobody_read_a_file_outside_of_the_course(name, tmp_path, monkeypatch):
    root = tmp_path / "course"
    (root / "course_lib").mkdir(parents=True)
    (tmp_path / "outside").write_text("")
    source = root / "x.py"
    source.write_text("")
    monkeypatch.setattr(course_results, "ROOT", root)
    read = []
    sha256 = course_results._sha256
    monkeypatch.setattr(course_results, "_sha256", lambda path: read.append(path) or sha256(path))
    reasons = stale_reasons(source, {"meta": {"inputs": {name: "0" * 64}}})
    assert reasons == [f"{name} is gone", "x.py is new"]
    assert read == [source]


@pytest.mark.parametrize("text", ["9" * 5000, "[" * 100_000, '{"a": 1e999}', "__import__('os')"])
def test_a_results_file_of_any_text_is_an_answer(text, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ResultsError, match=r"x\.json"):
        read_results(path)
