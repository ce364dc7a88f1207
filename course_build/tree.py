"""Where the course keeps what it is made of and what is made from it."""

from dataclasses import dataclass
from pathlib import Path

ENGLISH = "en"
# The catalog of what the generator itself writes into every notebook.
SETUP_CATALOG = "setup"
# The catalog of what course_lib says.
LIBRARY_CATALOG = "course_lib"
# The catalog of the README.
README_CATALOG = "README"


@dataclass(frozen=True)
class Tree:
    """A copy of the course, by its root."""

    root: Path = Path(__file__).resolve().parent.parent

    @property
    def labs(self):
        """The names of the labs: there is one for each source."""
        return sorted(path.stem for path in (self.root / "notebooks" / "source").glob("*.py"))

    @property
    def languages(self):
        """English, then every language that has a folder of catalogs."""
        folders = (self.root / "notebooks" / "locale").glob("[a-z]*")
        return [ENGLISH, *sorted(path.name for path in folders if path.is_dir())]

    def source(self, lab):
        """The source of a lab."""
        return self.root / "notebooks" / "source" / f"{lab}.py"

    def catalog(self, lab, language):
        """The catalog of a lab in a language."""
        return self.root / self.catalog_path(lab, language)

    @staticmethod
    def catalog_path(lab, language):
        """Where the repository has that catalog."""
        return f"notebooks/locale/{language}/{lab}.po"

    @property
    def library(self):
        """The library that the notebooks import."""
        return self.root / "course_lib"

    def library_catalog(self, language):
        """The catalog of what the library says in a language, where ``gettext`` looks for it."""
        folder = self.library / "locale" / language / "LC_MESSAGES"
        return folder / f"{LIBRARY_CATALOG}.po"

    def notebook(self, lab, language):
        """The student's notebook of a lab in a language."""
        return self.root / self.notebook_path(lab, language)

    @staticmethod
    def notebook_path(lab, language):
        """Where the repository has that notebook, as a URL says it."""
        return f"notebooks/{language}/{lab}.ipynb"

    def checks(self, lab):
        """The checks of a lab's exercises."""
        return self.library / "exercises" / f"{lab}.py"

    def answers(self, lab):
        """The reference answers of a lab's exercises, taken from its source."""
        return self.library / "exercises" / "answers" / f"{lab}.json"

    def results(self, lab):
        """The results of a lab's reference run."""
        return self.root / "data" / "results" / f"{lab}.json"
