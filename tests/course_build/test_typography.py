"""Each language's typography: what is certainly wrong is refused, and nothing else."""

import pytest

from course_build.catalogs import read_catalog
from course_build.translation_checks import catalog_problems
from course_build.typography import typography_faults

N, F = "\u00a0", "\u202f"


def faults(language, translation, kind="prose", english="English."):
    return list(typography_faults(language, english, translation, [kind]))


@pytest.mark.parametrize(
    ("language", "translation", "words"),
    [
        ("fr", "Qui est membre ?", "U+202F"),
        ("fr", "Qui est membre?", "U+202F"),
        ("fr", f"Qui est membre{N}?", "U+202F"),
        ("fr", "**Attention !** Le `bruit`; il", "U+202F"),
        ("fr", f"C’est{F}: oui", "U+00A0"),
        ("fr", "Deux cas: a et b", "U+00A0"),
        ("fr", "Deux cas :\n- a", "U+00A0"),
        ("fr", "**Note:** ceci", "U+00A0"),
        ("fr", "le `bruit` : fort", "U+00A0"),
        ("fr", "la « pièce »", "inside of « and »"),
        ("fr", f"la «{N}pièce»", "inside of « and »"),
        ("fr", "l'attaque", "apostrophe"),
        ("fr", 'la "pièce"', "quotation marks"),
        ("fr", "un FPR de 1% oui", "%"),
        ("fr", "un FPR de 1 % oui", "%"),
        ("zh", "噪声,成员", "full-width"),
        ("zh", "**噪声**, 成员", "full-width"),
        ("zh", "$\\sigma$, 成员", "full-width"),
        ("zh", "`x`: 成员", "full-width"),
        ("zh", "噪声. 成员", "full-width"),
        ("zh", "是成员吗?", "full-width"),
        ("zh", "（LiRA）, FPR", "full-width"),
        ("zh", "攻击(LiRA)好", "brackets"),
        ("zh", "LiRA (似然比) 好", "brackets"),
        ("zh", '所谓"成员"', "quotation marks are “ ”"),
        ("zh", "ＤＰ 与 １００％", "half-width"),
        ("zh", "噪声 ，成员", "no space"),
        ("zh", "噪声乘数\n决定一切", "a line end"),
        ("zh", "成员の数", "kana"),
        ("ja", "ノイズ,メンバー", "full-width"),
        ("ja", "ノイズ，メンバー", "the comma is 、"),
        ("ja", "攻撃(LiRA)は", "brackets"),
        ("ja", '"メンバー"とは', "quotation marks are 「 」"),
        ("ja", "ノイズ乗数は、\n大きい", "a line end"),
        ("zh_TW", "噪聲,成員", "full-width"),
    ],
)
def test_what_the_language_sets_otherwise_is_refused(language, translation, words):
    [fault] = faults(language, translation)
    assert words in fault


@pytest.mark.parametrize(
    ("language", "translation"),
    [
        ("fr", f"Qui{F}? Lui{F}?! Oui{F}; non{F}! Deux cas{N}: a. À 10:30. «{N}L’été{N}»{F}!"),
        ("fr", f"**Note{N}:** un FPR de 1{F}% ou 2{N}%, soit {{{{ n:.1% }}}}."),
        ("fr", '`a: "b"; c?` et $x ; y : z ? 1 %$ et <img alt="l\'a ?"> &eacute;'),
        ("fr", "[x](https://a.org/?q=1;b 'un titre')".replace("'", '"')),
        ("fr", "| a | b |\n|:---|---:|\n| c | d |"),
        ("fr", '```\nx["a"]: 1; y?\n```'),
        ("fr", "[1]: https://a.org"),
        ("zh", "噪声，成员。FPR, TPR：$\\sigma$，`x`。（LiRA）“成员”！1,000 条，3:1。"),
        ("zh", "满足(ε, δ)-DP 与(epsilon, delta)-DP，$(ε, δ)$，区间 (0, 1) 与 f(x)。"),
        ("zh", "见[这里](https://a.org/a,b)，[(1)](#a)。\n- 噪声\n- 成员"),
        ("zh", "## 噪声\n\n成员 `f(x), 中` et al. 提出 vs. 成员……"),
        ("zh", "## 噪声\n成员"),
        ("ja", "ノイズ、メンバー。FPR, TPRは「メンバー」（LiRA）、100%。"),
        ("en", "What? l'été: 1%"),
        ("eo", "Kio? l'été: 1%"),
    ],
)
def test_what_is_right_or_no_text_is_let_pass(language, translation):
    assert faults(language, translation) == []


@pytest.mark.parametrize(
    ("language", "kind", "english", "translation"),
    [
        ("fr", "comment", "the column 'rows' of x'", "la colonne 'rows' de x'"),
        ("fr", "comment", "a function", "lambda x: y, x[0]: 1, a != b"),
        ("fr", "f-string", "{a:.1%}: x", f"{{a['k']:.1%}}{N}: x, {{b:.1f}}%"),
        ("fr", "template", "{number}%", "{number} %"),
        ("zh", "docstring", "x: an array", "x: 数组"),
        ("ja", "comment", "a pair (AUC, advantage)", "組 (AUC, 優位性)"),
        ("zh", "f-string", "{a} (x)", "{a['成员']}（x）"),
        (
            "fr",
            "prose",
            "- *Privacy: Analytical bounds*. Oh.",
            "- *Privacy: Analytical bounds*. Ah.",
        ),
    ],
)
def test_code_and_names_are_let_pass(language, kind, english, translation):
    assert faults(language, translation, kind, english) == []


@pytest.mark.parametrize(
    ("language", "kind", "translation"),
    [
        ("fr", "f-string", "{a:.1%}: x"),
        ("fr", "text", "l'attaque"),
        ("zh", "f-string", "{a}: 成员"),
        ("zh", "text", "噪声(大)"),
        ("ja", "template", "{n}個, {m}個"),
    ],
)
def test_what_code_shows_is_looked_at_too(language, kind, translation):
    assert len(faults(language, translation, kind)) == 1


def test_thousands_with_a_comma_are_decimals_in_french():
    english = "Of 60,000 records."
    assert faults("fr", "Sur 60,000 données.", english=english)
    assert not faults("fr", f"Sur 60{F}000 données.", english=english)


def test_a_text_left_as_it_is_is_a_name():
    assert not faults("fr", "What? Why?", english="What? Why?")


def test_the_place_is_named(course, change):
    change("notebooks/locale/fr/coin_flips.po", "Une **pièce", "L'une **pièce")
    path = course.catalog("coin_flips", "fr")
    [problem] = catalog_problems(path, read_catalog(path))
    assert 'cell "coin": the translation of "A **fair coin**' in str(problem)
    assert "an apostrophe is ’ and quotation marks are « »: `L'une **pièce" in str(problem)
