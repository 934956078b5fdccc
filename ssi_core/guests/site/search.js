// Search the pages of a site by an index that `ssi site` wrote. No server, no dependencies:
//
//     <script src="search/ssi-search.js" defer></script>
//     <ssi-search></ssi-search>
//
// or without the element: `for (const hit of await ssi.search("old car", 5)) console.log(hit.title)`.
//
// The index lies beside this file in chunks, which are loaded as scripts: a page that was opened from
// a disk may load those, but not fetch. The arithmetic is that of float64 in a fixed order, so that
// `ssi_core/guests/site/ranking.py` gives the same scores to the last bit.
const base = new URL(".", document.currentScript.src);
const MOST_CHUNKS = 4; // of words that begin with what is typed; beyond, it is too short to tell
const BESIDE = 0.3; // weight of a longer word where what is typed is a word, too
const SNIPPET = 160; // characters
const OTHER = 0.8; // weight of a name that is no title
const NEAR = 3; // places between two words of a phrase, at most
const STEPS = 16; // of an idf of 1
const NEAREST = 8; // groups of pages whose vectors are loaded

// ---- Chunks ----

const chunks = new Map(); // name -> {promise, resolve}

function load(name, version = "") {
  let chunk = chunks.get(name);
  if (!chunk) {
    chunk = {};
    chunk.promise = new Promise((resolve, reject) => {
      const script = document.createElement("script");
      const failed = () => {
        chunks.delete(name); // so that the next search tries again
        reject(new Error(`${script.src} does not load. Publish all files of the search.`));
      };
      chunk.resolve = resolve;
      script.charset = "utf-8"; // also in a page that is written in another encoding
      script.src = new URL(`${name}.js${version}`, base).href;
      script.onerror = failed;
      script.onload = () => {
        script.remove();
        if (!chunk.values) failed();
      };
      document.head.append(script);
    });
    chunks.set(name, chunk);
  }
  return chunk.promise;
}

// Called by each chunk.
function receive(name, ...values) {
  const chunk = chunks.get(name);
  if (!chunk) return;
  chunk.values = values;
  chunk.resolve(values);
}

let opened; // the manifest

function open() {
  opened ??= load("manifest").then(([manifest]) => ({ ...manifest, query: `?${manifest.version}` }));
  opened.catch(() => (opened = undefined));
  return opened;
}

// The value that `make` gives of a chunk, made once.
const made = new Map();

async function part(index, name, make) {
  const values = await load(name, index.query);
  if (!made.has(name)) made.set(name, make(...values));
  return made.get(name);
}

// The number of the last of some ascending values that is not above a value; 0 where all are.
function placeOf(values, value) {
  let [low, high] = [0, values.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (values[middle] <= value) low = middle;
    else high = middle;
  }
  return low;
}

const wordsIn = (index, number) =>
  part(index, `w${number}`, (names, text) => readWords(index, names, text));

// A word, or that without its accents.
async function wordAt(index, name) {
  const found = (await wordsIn(index, placeOf(index.firstWords, name))).get(name);
  return found || plain(name) === name ? found : wordAt(index, plain(name));
}

// Words that begin with a text, with their weights: its share of their letters, and less beside the
// text itself. None where there are too many.
async function completions(index, start) {
  const first = placeOf(index.firstWords, start);
  let last = first;
  while (last + 1 < index.firstWords.length && index.firstWords[last + 1].startsWith(start)) last++;
  if (last - first >= MOST_CHUNKS) return [];
  const numbers = Array.from({ length: last - first + 1 }, (_, i) => first + i);
  const found = (await Promise.all(numbers.map((number) => wordsIn(index, number))))
    .flatMap((words) => [...words])
    .filter(([name]) => name.startsWith(start));
  const letters = [...start].length;
  const beside = found.some(([name]) => name === start) ? BESIDE : 1;
  return found.map(([name, word]) => ({
    name,
    word,
    weight: name === start ? 1 : (letters / [...name].length) * beside,
  }));
}

// ---- Ranking: ssi_core/guests/site/ranking.py ----

// The words of a query with their counts; while it is typed, its last word is apart: `start`.
function read(index, text, typing) {
  const names = tokenize(text, index.rule);
  const unfinished = typing && /[\p{L}\p{N}\p{M}]$/u.test(text);
  const start = unfinished ? names.pop() : undefined;
  const counts = new Map();
  for (const name of names) counts.set(name, (counts.get(name) || 0) + 1);
  return [counts, start];
}

// Pages of a positive score as [page, score], the best first; of equal ones the first.
async function rank(text, typing = false) {
  return (await ranked(text, typing)).pages;
}

async function ranked(text, typing) {
  const index = await open();
  const [counts, start] = read(index, text, typing);
  const names = [...counts.keys()];
  const [words, whole, longer] = await Promise.all([
    Promise.all(names.map((name) => wordAt(index, name))),
    start === undefined ? undefined : wordAt(index, start),
    start === undefined ? [] : completions(index, start),
  ]);
  const completed =
    longer.length || !whole ? longer : [{ name: start, word: whole, weight: 1 }];
  const latent = index.dimensions ? latentOf(index, [...words, whole]) : undefined;
  const scores = new Float64Array(index.pages);
  const marks = new Map(); // word -> its weight, for snippets
  names.forEach((name, i) => {
    const word = words[i];
    if (!word) return;
    const n = counts.get(name);
    const factor = (((index.k3 + 1) * n) / (index.k3 + n)) * word.scale;
    word.pages.forEach((page, j) => (scores[page] += factor * word.weights[j]));
    marks.set(name, word.scale).set(plain(name), word.scale);
  });
  addBest(completed, scores, marks);
  match(words.filter(Boolean), whole, completed, scores);
  for (const [page, score] of await latent ?? []) scores[page] += score;
  const pages = Array.from(scores, (score, page) => [page, score])
    .filter(([, score]) => score > 0)
    .sort((a, b) => b[1] - a[1]); // which leaves equal ones in their order
  return { index, pages, marks };
}

// Add to each page the most that a completion of the last word gives it.
function addBest(completed, scores, marks) {
  const best = new Map();
  for (const { name, word, weight } of completed) {
    const factor = weight * word.scale;
    word.pages.forEach((page, j) =>
      best.set(page, Math.max(best.get(page) || 0, factor * word.weights[j])),
    );
    marks.set(name, factor);
  }
  for (const [page, score] of best) scores[page] += score;
}

// Add the phrases of names, and multiply by how far a page answers the whole query:
// ssi_core/guests/site/matching.py. All that the last word may become is one word here, of the least
// weight.
function match(words, whole, completed, scores) {
  const got = new Float64Array(scores.length);
  const places = []; // of each word: number of a name -> [its page, where the word is in it]
  const common = new Map(); // number of a name -> [the name, weight of what it has]
  let asked = 0;
  const add = (several, weight) => {
    asked += weight;
    for (const page of new Set(several.flatMap(({ pages }) => [...pages]))) got[page] += weight;
    const found = new Map();
    const at = new Map();
    for (const word of several) {
      const least = Math.min(weight, word.weight); // a name has no more than its own words give
      for (const name of word.called) {
        found.set(name.number, [name, Math.max(found.get(name.number)?.[1] ?? 0, least)]);
        at.set(name.number, [name.page, (at.get(name.number)?.[1] ?? 0) | name.place]);
      }
    }
    places.push(at);
    for (const [number, [name, least]] of found) {
      common.set(number, [name, (common.get(number)?.[1] ?? 0) + least]);
    }
  };
  for (const word of words) add([word], word.weight);
  if (completed.length) {
    const last = completed.map(({ word }) => word);
    add(last, whole ? whole.weight : Math.min(...last.map(({ weight }) => weight)));
  }
  if (!asked) return;
  addPhrases(places, scores);
  const best = new Float64Array(scores.length);
  for (const [{ page, total, title }, weight] of common.values()) {
    const alike = weight / (asked + total - weight);
    best[page] = Math.max(best[page], title ? alike : alike * OTHER);
  }
  for (let page = 0; page < scores.length; page++) {
    const share = got[page] / asked;
    scores[page] *= share * share * (1 + best[page]);
  }
}

// Add the pairs of words that are near each other in a name, by their idf in whole steps.
function addPhrases(places, scores) {
  const sums = new Float64Array(scores.length);
  places.forEach((one, i) => {
    for (const other of places.slice(i + 1)) {
      const near = new Set();
      for (const [number, [page, bits]] of one) {
        if (around(bits) & (other.get(number)?.[1] ?? 0)) near.add(page);
      }
      const idf = Math.log1p((scores.length - near.size + 0.5) / (near.size + 0.5));
      const weight = Math.min(255, Math.max(1, Math.round(STEPS * idf)));
      for (const page of near) sums[page] += weight;
    }
  });
  const parts = STEPS * Math.max(1, places.length - 1);
  sums.forEach((sum, page) => (scores[page] += sum / parts));
}

// Places near some places, each of which is a bit.
function around(bits) {
  let found = 0;
  for (let step = 1; step <= NEAR; step++) found |= (bits << step) | (bits >> step);
  return found;
}

// What the latent part gives to pages, as [page, score]: those of the groups nearest to the query.
async function latentOf(index, words) {
  const query = new Float64Array(index.dimensions);
  let squares = 0;
  for (const word of words) {
    if (!word || !word.idf) continue;
    squares += word.idf * word.idf;
    for (let k = 0; k < query.length; k++) query[k] += word.rowScale * word.row[k];
  }
  if (!squares) return [];
  const length = Math.sqrt(squares);
  const product = ({ scale, row }) => {
    let sum = 0;
    for (let k = 0; k < query.length; k++) sum += query[k] * row[k];
    return sum * scale;
  };
  const numbers = readVectors(index, new Reader(index.centers))
    .map((center, number) => [number, product(center)])
    .sort((a, b) => b[1] - a[1])
    .slice(0, NEAREST)
    .map(([number]) => number);
  const groups = await Promise.all(
    numbers.map((number) => part(index, `v${number}`, (text) => readGroup(index, text))),
  );
  return groups.flatMap(({ pages, vectors }) =>
    vectors.map((vector, i) => [pages[i], product(vector) / length]),
  );
}

// ---- Results ----

// The k best pages: {page, score, title, url, snippet}. A snippet is a list of texts, of which
// those of an odd place are words of the query. While a text is typed, its last word is a beginning.
async function search(text, k = 10, typing = false) {
  const { index, pages, marks } = await ranked(text, typing);
  const root = new URL(index.root, base);
  return Promise.all(
    pages.slice(0, k).map(async ([page, score]) => {
      const number = placeOf(index.firstPages, page);
      const rows = await part(index, `p${number}`, (several) => several);
      const [title, address, content] = rows[page - index.firstPages[number]];
      const url = addressOf(address, root);
      return { page, score, title, url, snippet: snippet(content, marks, index.rule) };
    }),
  );
}

// A page may say anything of its address: what is no page to be opened leads to the root.
function addressOf(address, root) {
  try {
    const url = new URL(address, root);
    return /^(https?|file):$/.test(url.protocol) ? url.href : root.href;
  } catch {
    return root.href;
  }
}

// The part of a text that has most of the words.
function snippet(content, marks, rule) {
  const found = occurrences(content, marks, rule);
  let best = { worth: -1, start: 0 };
  found.forEach(({ start }, i) => {
    const inside = new Map();
    for (let j = i; j < found.length && found[j].end <= start + SNIPPET; j++) {
      inside.set(found[j].word, marks.get(found[j].word));
    }
    const worth = [...inside.values()].reduce((sum, weight) => sum + weight, 0);
    if (worth > best.worth) best = { worth, start };
  });
  let begin = Math.max(0, best.start - SNIPPET / 4);
  if (begin) begin = content.indexOf(" ", begin) + 1 || begin;
  begin = Math.min(begin, best.start);
  let end = Math.min(content.length, begin + SNIPPET);
  if (end < content.length) end = Math.max(content.lastIndexOf(" ", end), begin + SNIPPET / 2);
  const texts = [];
  let at = begin;
  for (const one of found) {
    if (one.start < at || one.end > end) continue;
    texts.push(content.slice(at, one.start), content.slice(one.start, one.end));
    at = one.end;
  }
  texts.push(content.slice(at, end) + (end < content.length ? "\u2026" : ""));
  if (begin) texts[0] = "\u2026" + texts[0];
  return texts;
}

// Where words stand in a text; in scripts without blanks, inside of a run.
function occurrences(content, marks, rule) {
  const found = [];
  for (const { 0: run, index: start } of content.matchAll(MARKED_RUN)) {
    const lower = run.toLowerCase();
    if (rule === "words") {
      const words = ASCII.test(lower) ? [lower] : tokenize(run, rule);
      const word = [...words, ...words.map(plain)].find((one) => marks.has(one));
      if (word) found.push({ word, start, end: start + run.length });
      continue;
    }
    for (const word of marks.keys()) {
      for (let at = lower.indexOf(word); at >= 0; at = lower.indexOf(word, at + 1)) {
        found.push({ word, start: start + at, end: start + at + word.length });
      }
    }
  }
  return found.sort((a, b) => a.start - b.start || b.end - a.end);
}

globalThis.ssi = { chunk: receive, open, rank, search, tokenize };
