"""Made-up proper names in Latin letters and in katakana, as many as are wanted."""

from __future__ import annotations

_SYLLABLES = (
    "mar マー|tes テス|bran ブラン|hol ホル|wen ウェン|dal ダル|"
    "kel ケル|nor ノー|ast アスト|fen フェン|gar ガー|lin リン|"
    "bur バー|cal カル|dor ドー|ell エル|hav ハヴ|ist イスト|"
    "jor ヨル|kar カー|lam ラム|mil ミル|nes ネス|orm オーム|"
    "pel ペル|quin クイン|ros ロス|sal サル|tor トー|ulm ウルム|"
    "var ヴァー|wal ワル|yor ヨー|zel ゼル|bel ベル|crom クロム|"
    "dun ダン|esk エスク|fal ファル|grim グリム|hex ヘクス|lud ルド|"
    "mor モー|pen ペン|rad ラド|stan スタン|thur サー|wick ウィック"
)
_PARTS = tuple((latin, kana) for latin, kana in (part.split() for part in _SYLLABLES.split("|")))
_ENDINGS = (
    ("low", "ロー"), ("sel", "セル"), ("ton", "トン"), ("ford", "フォード"),
    ("by", "ビー"), ("mere", "ミア"), ("ric", "リック"), ("vik", "ヴィク"),
    ("ova", "オーヴァ"), ("ino", "イーノ"), ("sted", "ステッド"), ("gate", "ゲート"),
    ("mond", "モンド"), ("ley", "リー"), ("ard", "アード"), ("una", "ウナ"),
    ("heim", "ハイム"), ("os", "オス"), ("ington", "イントン"), ("dale", "デール"),
)  # fmt: skip
_FIRST_NAMES = (
    ("Ada", "エイダ"), ("Boris", "ボリス"), ("Clara", "クララ"), ("Dennis", "デニス"),
    ("Edith", "イーディス"), ("Frank", "フランク"), ("Greta", "グレタ"), ("Henry", "ヘンリー"),
    ("Ines", "イネス"), ("Jonas", "ヨナス"), ("Karin", "カリン"), ("Leo", "レオ"),
    ("Mina", "ミナ"), ("Otto", "オットー"), ("Paula", "パウラ"), ("Simon", "シモン"),
)  # fmt: skip


def name_of(number: int) -> tuple[str, str]:
    """Return the name with a number, Latin and katakana; distinct numbers, distinct Latin names.

    >>> name_of(0)
    ('Marlow', 'マーロー')
    """
    number, ending = divmod(number, len(_ENDINGS))
    number, first = divmod(number, len(_PARTS))
    parts = [_PARTS[first]]
    while number:
        # Bijective base: a leading zero digit counts, so that no two numbers share a name.
        number, digit = divmod(number - 1, len(_PARTS))
        parts.append(_PARTS[digit])
    parts.append(_ENDINGS[ending])
    latin = "".join(part[0] for part in parts)
    return latin.capitalize(), "".join(part[1] for part in parts)


def first_name_of(number: int) -> tuple[str, str]:
    """Return a person's first name, Latin and katakana; they repeat."""
    return _FIRST_NAMES[number % len(_FIRST_NAMES)]
