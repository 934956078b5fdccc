// Records of an index: ssi_core/guests/site/records.py.

const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

class Reader {
  constructor(text) {
    this.data = bytes(text);
    this.view = new DataView(this.data.buffer);
    this.at = 0;
  }

  varint() {
    let number = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.data[this.at++];
      number |= (byte & 127) << shift;
      if (byte < 128) return number;
    }
  }

  float() {
    return this.view.getFloat32((this.at += 4) - 4, true);
  }

  ascending(count) {
    const numbers = new Int32Array(count);
    let number = -1;
    for (let i = 0; i < count; i++) numbers[i] = number += this.varint();
    return numbers;
  }

  uint8(count) {
    return this.data.subarray(this.at, (this.at += count));
  }

  int8(count) {
    return new Int8Array(this.data.buffer, (this.at += count) - count, count);
  }
}

function readWords(index, names, text) {
  const reader = new Reader(text);
  return new Map(names.split(" ").map((name) => [name, readWord(index, reader)]));
}

function readWord(index, reader) {
  const count = reader.varint();
  const word = { scale: reader.float(), pages: reader.ascending(count), idf: 0, called: [] };
  word.weights = reader.uint8(count);
  [word.weight] = reader.uint8(1);
  let [number, page] = [-1, -1];
  for (let left = reader.varint(); left; left--) {
    number += reader.varint();
    page += reader.varint();
    const rest = reader.varint();
    const place = 1 << ((rest >> 1) & 15);
    word.called.push({ number, page, total: rest >> 5, place, title: rest & 1 });
  }
  if (index.dimensions) word.idf = reader.float();
  if (word.idf) {
    word.rowScale = reader.float();
    word.row = reader.int8(index.dimensions);
  }
  return word;
}

function readVectors(index, reader) {
  const vectors = [];
  while (reader.at < reader.data.length) {
    vectors.push({ scale: reader.float(), row: reader.int8(index.dimensions) });
  }
  return vectors;
}

function readGroup(index, text) {
  const reader = new Reader(text);
  const pages = reader.ascending(reader.varint());
  return { pages, vectors: readVectors(index, reader) };
}
