"""How a language calls itself. One line here is all that a new language needs outside its catalogs.

How it writes numbers is said in ``numbers.py``, where that is not as in English; rules for its
punctuation can stand in ``typography.py``.
"""

_NAMES = {
    "de": "Deutsch",
    "en": "English",
    "es": "español",
    "fr": "français",
    "it": "italiano",
    "ja": "日本語",
    "ko": "한국어",
    "nl": "Nederlands",
    "pt": "português",
    "zh": "中文",
}


def language_name(language):
    """The name of a language in itself; its code where nobody has entered the name yet."""
    return _NAMES.get(language, language)


def family(language):
    """The code of a language without its country: ``zh`` for ``zh_TW``."""
    return language.split("_")[0].split("-")[0]
