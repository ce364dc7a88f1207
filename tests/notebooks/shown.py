"""What a reader sees of a notebook that ran, in words; and a cell that listens to its figures.

``LISTENER`` is run before a lab's own cells. It writes the texts of every figure into a file, and
makes an error of a character that no font has, which matplotlib reports in two ways.
"""

import json
import re

from course_build.catalogs import read_catalog
from course_build.display_text import split_template
from course_build.tree import SETUP_CATALOG

LISTENER = """\
import json
import logging
import warnings

from matplotlib.figure import Figure
from matplotlib.text import Text


class Listener(logging.Handler):
    def emit(self, record):
        raise RuntimeError(record.getMessage())


def listen(self, *arguments, _save=Figure.savefig, **options):
    # A notebook may set the filters anew.
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*missing from font")
        _save(self, *arguments, **options)
    with open(@FILE@, "a", encoding="utf-8") as file:
        for text in self.findobj(Text):
            if text.get_visible() and text.get_text().strip():
                file.write(json.dumps(text.get_text()) + "\\n")


logging.getLogger("matplotlib.mathtext").addHandler(Listener(logging.WARNING))
Figure.savefig = listen
"""
# What is the same in every language: names of things, of people, of files, of columns.
NAMES = """
    AUC FPR TPR FNR ROC ECDF MIA LiRA RMIA KS Shokri DP SGD PLD RDP PRV CLT Adam
    MNIST CIFAR NIST BY CC SA UCI Wisconsin LeCun Cortes Burges Krizhevsky Nair Hinton
    PyTorch Opacus diffprivlib scikit learn NumPy SciPy ResNet Newton Laplace Gauss Poisson
    Bernoulli Bayes Rényi Monte Carlo
    income history arrears amount inf nan None True False cpu cuda smoke
"""
# Chinese and Japanese run on without spaces; what is English is seen in their midst.
_WORD = re.compile(r"[^\W\d_\u2e80-\u9fff\uf900-\uffef]{3,}")
_SIGNATURE = re.compile(r"^def (\w+\([^)]*\)):", re.MULTILINE)
# Mathematics, code, addresses, the fields of the library's texts, names with an underscore.
_APART = re.compile(
    r"\$[^$]*\$|`[^`]*`|https?://\S+|<[^>]*>|\{[^{}]*\}|\b\w*_\w*\b|\w+\.\w[\w.]*|\bcourse-\w+\b"
)


def texts_of(notebook, figures):
    """Yield (cell id, text) for all that a notebook printed, displayed and drew.

    Parameters
    ----------
    notebook : nbformat notebook
        As it was executed.
    figures : path
        The file that the listener wrote.
    """
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.id != "setup":
            for output in cell.outputs:
                # What libraries say of themselves (stderr) is English everywhere.
                if output.output_type == "stream" and output.name == "stdout":
                    yield cell.id, output.text
                elif output.output_type != "stream":
                    data = output.get("data", {})
                    yield cell.id, data.get("text/markdown") or data.get("text/plain", "")
    if figures.exists():
        for line in figures.read_text(encoding="utf-8").splitlines():
            yield "a figure", json.loads(line)


def words_of(text):
    """The words of a text as a set, without those of code and of formulas."""
    return set(_WORD.findall(_APART.sub(" ", text)))


def translated_words(tree, lab, language):
    """The words that the translations of what the code shows use.

    A word on the page that is none of them was never translated.
    """
    paths = [tree.catalog(name, language) for name in (lab, SETUP_CATALOG)]
    words = words_of(NAMES)
    for path in [*paths, tree.library_catalog(language)]:
        for entry in read_catalog(path):
            kinds = set(entry.comment.split("\n"))
            if kinds & {"text", "f-string", "template"} and not entry.fuzzy:
                texts = [entry.msgstr]
                if kinds & {"f-string", "template"}:
                    texts = split_template(entry.msgstr)[::2]
                words |= words_of(" ".join(texts))
    return words


def untranslated(notebook, figures, known):
    """The words that a notebook showed and that are not known, with the first place of each.

    The names of the functions that it defines, and of their arguments, are the code's.
    """
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    named = set(_WORD.findall(" ".join(_SIGNATURE.findall(code))))
    found = {}
    for cell, text in texts_of(notebook, figures):
        for word in words_of(text) - known - named:
            found.setdefault(word, f"{cell}: {text.strip()[:100]}")
    return found
