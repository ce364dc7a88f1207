"""Everything that a source is checked for before anything is made from it."""

from course_build.claims import claim_problems
from course_build.display_text import display_faults
from course_build.markdown import NUMBER, line_of
from course_build.prose import prose_faults, typed_decimals
from course_build.solutions import stripped


def source_problems(source):
    """All the problems of a source that has been read, in the order of its lines."""
    student, problems = stripped(source)
    unfinished = {problem.cell for problem in problems}
    problems += claim_problems(source)
    typed = set()
    for cell in source.cells:
        if cell.kind == "markdown":
            problems += [source.problem(cell, text, line) for line, text in prose_faults(cell.text)]
            for position, number in typed_decimals(cell.text):
                typed.add(number)
                if number not in source.typed_numbers:
                    message = (
                        f"the number {number} is typed into prose: quote it from the results as "
                        "{{ key:spec }}, or declare a citation at the top of the source: "
                        f"# typed numbers: {number} (why)"
                    )
                    problems.append(source.problem(cell, message, line_of(cell.text, position)))
        else:
            for match in NUMBER.finditer(cell.text):
                message = f"`{match[0]}` stands in code, where no number is filled in"
                line = line_of(cell.text, match.start())
                problems.append(source.problem(cell, message, line))
    for cell in student.cells:
        if cell.kind == "code" and cell.id not in unfinished:
            for line, text in display_faults(cell.text, source.untranslated):
                problems.append(source.problem(cell, text, line))
    unused = set(source.typed_numbers) - typed
    if unused:
        message = f"{', '.join(sorted(unused))} is declared at the top but typed nowhere"
        problems.append(source.problem(source.cells[0], message))
    return sorted(problems, key=lambda problem: problem.line)
