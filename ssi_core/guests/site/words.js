// Words of a text: ssi_core/text/tokenizer.py.

const ASCII = /^[\0-\x7f]*$/;
const RUN = /[\p{L}\p{N}]+/gu;
const MARKED_RUN = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu;
const MARKED_LETTER = /[\p{L}\p{N}]\p{M}*/gu;
const HAN = "\\u3005-\\u3007\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff\\u{20000}-\\u{3ffff}";
const UNSPACED = `[${HAN}\\u3041-\\u30ff\\u0e00-\\u0eff\\u1000-\\u109f\\u1780-\\u17ff]`;
const PIECE = new RegExp(
  `(?<unspaced>(?:(?=${UNSPACED})[\\p{L}\\p{N}]\\p{M}*)+)|(?:(?!${UNSPACED})[\\p{L}\\p{N}])+`,
  "gu",
);
const VOWELS = /(?=[\u0300-\u036f\u0591-\u0670])[\p{Mn}\u0640]/gu;
const KATAKANA = "\\u30a1-\\u30fa\\u30fc";
const HIRAGANA = "\\u3041-\\u309f";
const SCRIPTS = new RegExp(
  `(?<katakana>[${KATAKANA}]+)|(?<ideographs>[${HAN}]+)|(?<hiragana>[${HIRAGANA}]+)` +
    `|(?:(?![${KATAKANA}${HAN}${HIRAGANA}])[\\p{L}\\p{N}])+`,
  "gu",
);

const all = (pattern, text) => text.match(pattern) || [];
const runs = (text) => all(RUN, text).flatMap((run) => all(RUN, run.toLowerCase()));
const marked = (text) =>
  all(MARKED_RUN, text).flatMap((run) => all(MARKED_RUN, run.toLowerCase().normalize("NFKC")));
const pairs = (units) =>
  units.length < 2 ? [units.join("")] : units.slice(1).map((unit, i) => units[i] + unit);
const letterPairs = (text) => marked(text).flatMap((run) => pairs(all(MARKED_LETTER, run)));

const RULES = {
  words: runs,
  marked,
  pairs: letterPairs,
  any: (text) =>
    [...text.replace(VOWELS, "").replace(/\u0130/g, "i").matchAll(PIECE)].flatMap((piece) =>
      piece.groups.unspaced ? letterPairs(piece[0]) : runs(piece[0]),
    ),
  ideographs(text) {
    const tokens = [];
    const syllables = [];
    for (const { 0: run, groups } of text.matchAll(SCRIPTS)) {
      if (groups.ideographs) tokens.push(...pairs([...run]));
      else if (groups.hiragana) syllables.push(...pairs([...run]));
      else tokens.push(...runs(run));
    }
    return tokens.length ? tokens : syllables;
  },
};
const tokenize = (text, rule) => RULES[rule](text.normalize("NFKC"));

// A word without its accents: ssi_core/serving/unknown_words.py. The letters are written as numbers,
// which a page in another encoding reads alike.
const LETTERS = {
  "\u00df": "ss",
  "\u00e6": "ae",
  "\u0153": "oe",
  "\u00f8": "o",
  "\u0111": "d",
  "\u00f0": "d",
  "\u0142": "l",
  "\u00fe": "th",
  "\u0131": "i",
};
const MARKS = /[\u0300-\u036f]/g;
const plain = (word) =>
  ASCII.test(word)
    ? word
    : [...word]
        .map((letter) => LETTERS[letter] ?? letter)
        .join("")
        .normalize("NFKD")
        .replace(MARKS, "")
        .normalize("NFKC");
