"""Turn the labs' sources into notebooks: ``python build_notebooks.py --help``."""

import argparse
import difflib
import sys

from course_build.address import read_address
from course_build.notebooks import Build
from course_build.problems import AuthoringError
from course_build.tree import Tree

_HELP = """\
Turns each lab's source, catalogs and results into its notebooks, one for each language:

  notebooks/source/LAB.py  +  notebooks/locale/LANG/LAB.po  +  data/results/LAB.json
      ->  notebooks/LANG/LAB.ipynb

Without LAB it also brings up what course_lib says (course_lib/locale) and compiles it, and makes
README.LANG.md from README.md, in which it fills in the table of notebooks.
The catalogs are brought up to the source on the way: new texts are added, and changed ones keep
their translation for a translator to look at. Until then the notebook shows English there, and
the cell is reported as stale. To begin a language, make its folder in notebooks/locale.
"""
_EPILOG = """\
examples:
  python build_notebooks.py                      all notebooks
  python build_notebooks.py mnist_dpsgd          one lab, in all its languages
  python build_notebooks.py --lang fr --lang zh  all labs, in French and Chinese
  python build_notebooks.py --check              is what is here what the sources give?

exit status: 0 if all is well; 1 if a source, catalog or result is refused and, with --check, if
anything differs or is stale; 2 if the command itself cannot be understood.
"""


def main(arguments=None, tree=None):
    """Run the command and return its exit status."""
    tree = tree or Tree()
    options = _parser().parse_args(arguments)
    for kind, asked, known in (
        ("lab", options.labs, tree.labs),
        ("language", options.lang or [], tree.languages),
    ):
        for name in asked:
            if name not in known:
                print(f"build_notebooks: {_unknown(kind, name, known)}", file=sys.stderr)
                return 2
    labs = options.labs or tree.labs
    languages = options.lang or tree.languages
    try:
        address = read_address(tree.root / "pyproject.toml")
        build = Build(tree, address, writing=not options.check)
        build.catalog_of_setup(languages)
    except AuthoringError as error:
        print(error, file=sys.stderr)
        return 1
    if not options.labs:
        build.library(languages)
        build.readmes(languages)
    for lab in labs:
        build.lab(lab, languages)
    if not options.labs and not options.lang:
        build.strays()
    for line in build.report():
        print(line)
    for problem in build.refused:
        print(problem, file=sys.stderr)
    if options.check and address.is_placeholder:
        print(
            f"warning: the course's address is still {address.repository}: put its own into "
            "pyproject.toml, [project.urls], or no notebook can fetch the course",
            file=sys.stderr,
        )
    if build.refused:
        return 1
    return 1 if options.check and not build.is_up_to_date else 0


def _parser():
    parser = argparse.ArgumentParser(
        prog="build_notebooks.py",
        description=_HELP,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("labs", nargs="*", metavar="LAB", help="a lab's name; default: all")
    parser.add_argument(
        "--lang", action="append", metavar="LANG", help="only this language; may be repeated"
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; say which files differ from what the sources give, and what is stale",
    )
    return parser


def _unknown(kind, name, known):
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]}?" if near else "."
    return f'there is no {kind} "{name}"{hint} The {kind}s are: {", ".join(known) or "none yet"}.'


if __name__ == "__main__":
    sys.exit(main())
