// Turn a text into the query of a search engine, by what `ssi export` has written of a model.
//
//     node encoder.js encoder.json "old automobile" 10
//
// It needs no package, and of node only the reading of files: in a browser, pass the text of
// encoder.json to `new Encoder(text)`, as `await response.text()` has it. It throws where the file
// is not as it was written. encoder.py is the same in Python.
"use strict";

class Encoder {
  constructor(text) {
    const model = JSON.parse(checked(text));
    this.model = model;
    this.columns = new Map(model.words.map((word, column) => [word, column]));
    this.names = [];
    for (const view of Object.values(model.views)) {
      view.idf = numbers(view.idf);
      view.most = numbers(view.most);
    }
    for (const part of model.parts) {
      part.scale = numbers(part.scale);
      if ("embedding" in part) part.embedding = numbers(part.embedding);
      else {
        part.first = this.names.length;
        for (const name of this.namesOf(part)) this.names.push(name);
        if ("phrases" in part) part.columns = new Map(part.phrases.map((name, i) => [name, i]));
      }
    }
  }

  // The body of a search for the k best documents; with "rescore", only the first thousand are
  // scored in full.
  query(text, k = 10, body = "query") {
    const [places, latent] = this.vectors(text);
    const words = new Map([...places].map(([place, x]) => [this.names[place], x]));
    const own = [...words].filter(([, x]) => x).map(([w, x]) => [x < 0 ? "m_" + w : w, Math.abs(x)]);
    const signed = latent.map((x, i) => [(x < 0 ? "n_" : "p_") + i, Math.abs(x)]).filter(([, x]) => x);
    const highest = [...own, ...signed].reduce((most, [, x]) => Math.max(most, x), 64);
    const scaled = (terms) => object(terms.map(([term, x]) => [term, (x * 64) / highest]));
    const beyond = latent.map((x, i) => [this.names.length + i, x]);
    return filled(this.model.bodies[body], {
      $k: k,
      $words: scaled(own),
      $latent: scaled(signed),
      $terms: scaled([...own, ...signed]),
      $signed: object([...words]),
      $vector: latent,
      $sparse: sparse([...places, ...beyond]),
      $sparse_words: sparse([...places]),
    });
  }

  // The weights of words, by their places in `names`, and the latent vector.
  vectors(text) {
    const counts = new Map();
    const letters = this.model.letters || {};
    const read = [...text.normalize("NFKC")].map((letter) => letters[letter] ?? letter).join("");
    for (const word of tokenize(read)) {
      const column = this.columns.get(word);
      if (column !== undefined) counts.set(column, (counts.get(column) || 0) + 1);
    }
    const rows = new Map(
      Object.entries(this.model.views).map(([name, view]) => [name, weigh(counts, view)])
    );
    const places = new Map();
    const latent = [];
    for (const part of this.model.parts) {
      const row = "view" in part ? rows.get(part.view) : [[0, 1]];
      if ("phrases" in part) {
        for (const column of this.phrasesIn(counts, part)) {
          places.set(part.first + column, part.scale / (counts.size - 1));
        }
      } else if ("embedding" in part) latent.push(...embedded(row, part));
      else {
        for (const [column, weight] of row) {
          const scale = typeof part.scale === "number" ? part.scale : part.scale[column];
          const k = part.saturation;
          const x = k === null ? weight : ((k + 1) * weight) / (k + weight);
          places.set(part.first + column, scale * x);
        }
      }
    }
    return [places, latent];
  }

  phrasesIn(counts, part) {
    const words = [...counts.keys()].sort((a, b) => a - b).map((column) => this.model.words[column]);
    const pairs = words.flatMap((one, i) =>
      words.slice(i + 1).map((other) => part.columns.get(`${one}+${other}${part.after}`))
    );
    return pairs.filter((column) => column !== undefined).sort((a, b) => a - b);
  }

  namesOf(part) {
    if ("phrases" in part) return part.phrases;
    if (!("view" in part)) return [part.name];
    const words = this.model.words.slice(0, this.model.views[part.view].words);
    return words.map((word) => part.before + word + part.after);
  }
}

// The text of encoder.json, whose first line has the SHA-256 of all others.
function checked(text) {
  const end = text.indexOf("\n") + 1;
  const digest = sha256(new TextEncoder().encode(text.slice(end)));
  if (text.slice(0, end) !== `{"sha256": "${digest}",\n`) {
    throw new Error(
      "encoder.json: it was changed after it was written. Copy it from the export again, or " +
        "export the model anew (ssi export)."
    );
  }
  return text;
}

// FIPS 180-4; what node and browsers have of it is in no common place, and waits.
function sha256(bytes) {
  const primes = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((p) => n % p)) primes.push(n);
  const fraction = (x) => ((x - Math.floor(x)) * 2 ** 32) | 0;
  const K = Int32Array.from(primes, (p) => fraction(Math.cbrt(p)));
  const H = Int32Array.from(primes.slice(0, 8), (p) => fraction(Math.sqrt(p)));
  const padded = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(padded.length - 4, bytes.length << 3);
  const W = new Int32Array(64);
  const turned = (x, n) => (x >>> n) | (x << (32 - n));
  for (let start = 0; start < padded.length; start += 64) {
    for (let i = 0; i < 16; i++) W[i] = view.getInt32(start + 4 * i);
    for (let i = 16; i < 64; i++) {
      const x = W[i - 15];
      const y = W[i - 2];
      const s0 = turned(x, 7) ^ turned(x, 18) ^ (x >>> 3);
      const s1 = turned(y, 17) ^ turned(y, 19) ^ (y >>> 10);
      W[i] = W[i - 16] + s0 + W[i - 7] + s1;
    }
    let a = H[0], b = H[1], c = H[2], d = H[3], e = H[4], f = H[5], g = H[6], h = H[7];
    for (let i = 0; i < 64; i++) {
      const s1 = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25);
      const one = (h + s1 + ((e & f) ^ (~e & g)) + K[i] + W[i]) | 0;
      const s0 = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22);
      const two = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g; g = f; f = e; e = (d + one) | 0;
      d = c; c = b; b = a; a = (one + two) | 0;
    }
    H[0] += a; H[1] += b; H[2] += c; H[3] += d; H[4] += e; H[5] += f; H[6] += g; H[7] += h;
  }
  return Array.from(H, (x) => (x >>> 0).toString(16).padStart(8, "0")).join("");
}

// Runs of letters and digits, in lower case.
function tokenize(text) {
  const runs = (one) => one.match(/[\p{L}\p{N}]+/gu) || [];
  return runs(text.normalize("NFKC")).flatMap((run) => runs(run.toLowerCase()));
}

// Weigh the words of a text, by their columns, as a view does: a list of [column, weight].
function weigh(counts, view) {
  const ascending = (a, b) => a[0] - b[0];
  let row = [...counts].sort(ascending);
  if (view.most) {
    const most = row.reduce((sum, [column, n]) => sum + n * view.most[column], 0);
    return row.map(([column, n]) => [column, n / most]);
  }
  if (view.kind !== "counts") {
    const tf = { raw: (n) => n, sublinear: (n) => 1 + Math.log(n), binary: () => 1 }[view.kind];
    row = row.filter(([c]) => view.idf[c] > 0).map(([c, n]) => [c, tf(n) * view.idf[c]]);
  }
  if (view.cut && row.length > view.cut) {
    row = row.sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, view.cut).sort(ascending);
  }
  if (view.kind !== "counts") {
    const length = Math.sqrt(row.reduce((sum, [, x]) => sum + x * x, 0));
    row = row.map(([column, x]) => [column, x / length]);
  }
  return row.filter(([column]) => column < view.words);
}

function embedded(row, part) {
  const vector = new Array(part.width).fill(0);
  for (const [column, weight] of row) {
    const first = column * part.width;
    for (let k = 0; k < part.width; k++) vector[k] += weight * part.embedding[first + k];
  }
  const length = part.unit ? Math.sqrt(vector.reduce((sum, x) => sum + x * x, 0)) || 1 : 1;
  return vector.map((x) => (part.scale * x) / length);
}

function sparse(weights) {
  return { indices: weights.map(([i]) => i), values: weights.map(([, x]) => x) };
}

function filled(body, values) {
  if (Array.isArray(body)) return body.map((part) => filled(part, values));
  if (body !== null && typeof body === "object") {
    return object(Object.entries(body).map(([name, part]) => [name, filled(part, values)]));
  }
  return typeof body === "string" && Object.hasOwn(values, body) ? values[body] : body;
}

// An object without a prototype, so that a word such as "constructor" is a name like any other.
function object(entries) {
  const made = Object.create(null);
  for (const [name, value] of entries) made[name] = value;
  return made;
}

// Decode an array of float32, which is written {"float32": BASE64}.
function numbers(value) {
  if (value === null || typeof value !== "object") return value;
  const bytes = Uint8Array.from(atob(value.float32), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Float32Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
}

if (typeof module !== "undefined") {
  module.exports = { Encoder, sha256, tokenize, weigh };
  if (require.main === module) {
    const [file, text, k] = process.argv.slice(2);
    const encoder = new Encoder(require("fs").readFileSync(file, "utf8"));
    console.log(JSON.stringify(encoder.query(text, Number(k || 10))));
  }
}
