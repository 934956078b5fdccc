"""Porter's stemmer beside the examples that his paper prints for its steps."""

import pytest

from ssi_core.text.porter import stem

# Words of the paper, taken through all steps.
PRINTED = {
    "caresses": "caress", "ponies": "poni", "ties": "ti", "caress": "caress", "cats": "cat",
    "feed": "feed", "agreed": "agre", "plastered": "plaster", "bled": "bled", "motoring": "motor",
    "sing": "sing", "conflated": "conflat", "troubled": "troubl", "sized": "size", "hopping": "hop",
    "tanned": "tan", "falling": "fall", "hissing": "hiss", "fizzed": "fizz", "failing": "fail",
    "filing": "file", "happy": "happi", "sky": "sky", "relational": "relat",
    "conditional": "condit", "rational": "ration", "valenci": "valenc", "digitizer": "digit",
    "radicalli": "radic", "differentli": "differ", "vileli": "vile", "vietnamization": "vietnam",
    "operator": "oper", "feudalism": "feudal", "decisiveness": "decis", "hopefulness": "hope",
    "callousness": "callous", "formaliti": "formal", "sensitiviti": "sensit",
    "sensibiliti": "sensibl", "triplicate": "triplic", "formative": "form", "formalize": "formal",
    "electriciti": "electr", "electrical": "electr", "hopeful": "hope", "goodness": "good",
    "revival": "reviv", "allowance": "allow", "inference": "infer", "airliner": "airlin",
    "gyroscopic": "gyroscop", "adjustable": "adjust", "defensible": "defens", "irritant": "irrit",
    "replacement": "replac", "adjustment": "adjust", "dependent": "depend", "adoption": "adopt",
    "homologou": "homolog", "communism": "commun", "activate": "activ", "angulariti": "angular",
    "homologous": "homolog", "effective": "effect", "bowdlerize": "bowdler", "probate": "probat",
    "rate": "rate", "cease": "ceas", "controll": "control", "roll": "roll",
    "generalizations": "gener", "oscillators": "oscil",
}  # fmt: skip


@pytest.mark.parametrize(("word", "expected"), PRINTED.items())
def test_printed_words_have_their_stems(word, expected):
    assert stem(word) == expected


@pytest.mark.parametrize("word", ["", "a", "is", "1987s", "cafés", "日本"])
def test_other_words_stay(word):
    assert stem(word) == word


def test_all_words_have_the_stems_of_nltk():
    nltk = pytest.importorskip("nltk.stem.porter")
    reference = nltk.PorterStemmer(mode="MARTIN_EXTENSIONS")
    words = [word for word in PRINTED if len(word) > 2]
    endings = ("", "s", "ed", "ing", "ly", "ational", "iveness", "ize", "y", "ement", "ll")
    made = [word + ending for word in words for ending in endings]
    assert [stem(word) for word in made] == [reference.stem(word) for word in made]
