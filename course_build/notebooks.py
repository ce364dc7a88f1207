"""The build of the notebooks: every lab in every language, written or compared."""

from course_build.answers import answers_of, as_json
from course_build.catalogs import (
    merged,
    messages_of,
    read_catalog,
    same_entries,
    stale_cells,
    translations_of,
    write_catalog,
)
from course_build.library_texts import compiled, library_messages
from course_build.lint import source_problems
from course_build.parity import parity_faults
from course_build.problems import AuthoringError, Problem, refuse, shown
from course_build.readme import readme, readme_messages, readme_name
from course_build.render import as_text, setup_texts, student_form
from course_build.results import ResultsError, read_results
from course_build.solutions import stripped
from course_build.source import read_source
from course_build.translation_checks import catalog_problems
from course_build.tree import ENGLISH, LIBRARY_CATALOG, README_CATALOG, SETUP_CATALOG

# What a catalog's references are, where they are not the ids of cells.
_PLACES = {LIBRARY_CATALOG: "file", README_CATALOG: "section"}


class Build:
    """Builds labs one after the other, and remembers what there is to say about them.

    Attributes
    ----------
    refused : list
        What is wrong with sources, catalogs and results, each with its place.
    changed : list of path
        The files that were written; with ``writing`` false, those that differ.
    stale : dict
        For each (lab, language), the ids of the cells that show English; for
        ("course_lib", language), the files that do; for ("README", language), its sections.
    """

    def __init__(self, tree, address, writing=True):
        self.tree = tree
        self.address = address
        self.writing = writing
        self.refused = []
        self.changed = []
        self.stale = {}
        self._setup = {}

    @property
    def is_up_to_date(self):
        """Whether nothing was refused, nothing differs and no cell is stale."""
        return not (self.refused or self.changed or self.stale)

    def catalog_of_setup(self, languages):
        """Bring up the catalogs of what the generator itself says in every notebook."""
        messages = messages_of(setup_texts(self.address))
        for language in _others(languages):
            path = self.tree.catalog(SETUP_CATALOG, language)
            self._setup[language] = self._catalog(path, language, messages)

    def library(self, languages):
        """Bring up the catalogs of what ``course_lib`` says, and compile them."""
        if not self.tree.library.is_dir():
            return
        try:
            messages = library_messages(self.tree.library)
        except AuthoringError as error:
            self.refused += error.problems
            return
        for language in _others(languages):
            path = self.tree.library_catalog(language)
            try:
                translations = self._catalog(path, language, messages)
            except AuthoringError as error:
                self.refused += error.problems
            else:
                self._put(path.with_suffix(".mo"), compiled(translations, language))

    def lab(self, lab, languages):
        """Build the notebooks of a lab; what is refused is remembered, not raised.

        The catalogs are brought up even where a number cannot be filled in yet, so that
        translators need not wait for the results.
        """
        try:
            source = read_source(self.tree.source(lab))
            refuse(source_problems(source))
        except AuthoringError as error:
            self.refused += error.problems
            return
        if self.tree.checks(lab).is_file():
            self._put(self.tree.answers(lab), as_json(answers_of(source)).encode("utf-8"))
        translations = self._translations(source, languages)
        try:
            results = self._results(lab)
            english = student_form(source, ENGLISH, results, {}, self.address)
        except AuthoringError as error:
            self.refused += error.problems
            return
        for language in languages:
            try:
                if language == ENGLISH:
                    notebook = english
                elif language in translations:
                    pairs = translations[language]
                    notebook = self._in_language(source, language, results, english, pairs)
                else:
                    continue
                self._put(self.tree.notebook(lab, language), as_text(notebook).encode("utf-8"))
            except AuthoringError as error:
                self.refused += error.problems

    def readmes(self, languages):
        """Bring up the README's catalogs; write it in every language that has a good one."""
        path = self.tree.root / readme_name(ENGLISH)
        if not path.is_file():
            return
        text = path.read_text(encoding="utf-8")
        messages = readme_messages(text)
        for language in languages:
            translations = {}
            if language != ENGLISH:
                catalog = self.tree.catalog(README_CATALOG, language)
                try:
                    own = self._catalog(catalog, language, messages)
                except AuthoringError as error:
                    self.refused += error.problems
                    continue
                translations = {**self._setup[language], **own}
            made = readme(text, language, self.tree, self.address, translations)
            self._put(self.tree.root / readme_name(language), made.encode("utf-8"))

    def strays(self):
        """Report the notebooks, catalogs and READMEs that belong to no lab or language."""
        known = {*self.tree.labs, SETUP_CATALOG, README_CATALOG}
        notebooks = self.tree.root / "notebooks"
        for path in sorted([*notebooks.glob("*/*.ipynb"), *notebooks.glob("locale/*/*.po")]):
            language = path.parent.name
            if path.stem not in known or language not in self.tree.languages:
                self.refused.append(f"{shown(path)}: belongs to no lab or language; delete it")
        for path in sorted(self.tree.library.glob("exercises/answers/*.json")):
            if path.stem not in self.tree.labs or not self.tree.checks(path.stem).is_file():
                self.refused.append(f"{shown(path)}: belongs to no lab with checks; delete it")
        catalogs = self.tree.library.glob("locale/*")
        readmes = self.tree.root.glob("README.*.md")
        for path in sorted([*catalogs, *readmes]):
            if path.name.removeprefix("README.").removesuffix(".md") not in self.tree.languages:
                self.refused.append(f"{shown(path)}: belongs to no language; delete it")

    def report(self):
        """Yield the lines that say what was done, or with ``writing`` false what is to do."""
        for path in self.changed:
            if self.writing:
                yield f"wrote {shown(path)}"
            else:
                yield f"{shown(path)} differs from what its source gives: build the notebooks"
        for (lab, language), cells in self.stale.items():
            place = _PLACES.get(lab, "cell") + "s" * (len(cells) > 1)
            count = f"{len(cells)} stale {place}"
            yield f"{lab} in {language}: {count} in English: {', '.join(cells)}"
        if self.is_up_to_date:
            yield "all notebooks are up to date"

    def _translations(self, source, languages):
        """What the brought up catalogs of a lab may show, for each language that has a good one."""
        student, _ = stripped(source)
        messages = messages_of(student.cells)
        translations = {}
        for language in _others(languages):
            path = self.tree.catalog(source.lab, language)
            try:
                own = self._catalog(path, language, messages)
                translations[language] = {**self._setup[language], **own}
            except AuthoringError as error:
                self.refused += error.problems
        return translations

    def _in_language(self, source, language, results, english, translations):
        """The notebook in another language, proved to be the same code."""
        notebook = student_form(source, language, results, translations, self.address)
        refuse(
            Problem(self.tree.catalog(source.lab, language), 1, fault, cell)
            for cell, fault in parity_faults(english, notebook, translations, language)
        )
        return notebook

    def _catalog(self, path, language, messages):
        """Bring up a catalog; return the translations in it that may be shown."""
        before = read_catalog(path)
        catalog = merged(before, messages, language)
        refuse(catalog_problems(path, catalog))
        if not path.exists() or not same_entries(before, catalog):
            self.changed.append(path)
            if self.writing:
                write_catalog(path, catalog)
        if stale_cells(catalog):
            self.stale[path.stem, language] = stale_cells(catalog)
        return translations_of(catalog)

    def _results(self, lab):
        path = self.tree.results(lab)
        if not path.exists():
            message = f"{lab} has no results yet: run `python build_results.py {lab}` first"
            raise AuthoringError([Problem(path, 1, message)])
        try:
            return read_results(path)
        except ResultsError as error:
            raise AuthoringError([Problem(path, 1, str(error))]) from None

    def _put(self, path, content):
        """Write a file, or note that it differs."""
        if path.exists() and path.read_bytes() == content:
            return
        self.changed.append(path)
        if self.writing:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def _others(languages):
    return [language for language in languages if language != ENGLISH]
