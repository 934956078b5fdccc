"""Miao and Li (2010), equation by equation, on words and sets of concepts."""

import math
from collections import Counter


def word_vectors(sentences, out=()):
    """Equation (2); idf = ln(1 + n / df)."""
    n = len(sentences)
    df = Counter(word for words in sentences for word in set(words))
    idf = {word: math.log(1 + n / df[word]) for word in df if word not in out}
    return [vector(words, idf) for words in sentences], idf


def vector(words, idf):
    return {word: count * idf[word] for word, count in Counter(words).items() if word in idf}


def cosine(one, other):
    """Equation (4); 0 where a vector is."""
    norms = [math.sqrt(sum(value * value for value in v.values())) for v in (one, other)]
    product = sum(value * other.get(name, 0) for name, value in one.items())
    return product / (norms[0] * norms[1]) if all(norms) else 0.0


def wlm(linking, one, other, pages):
    """Milne and Witten (2008), equation (2) turned into a relatedness."""
    if one == other:
        return 1.0
    a, b = linking[one], linking[other]
    if not a & b:
        return 0.0
    larger, smaller = max(len(a), len(b)), min(len(a), len(b))
    if smaller == pages:
        return 0.0
    distance = (math.log(larger) - math.log(len(a & b))) / (math.log(pages) - math.log(smaller))
    return max(0.0, 1 - distance)


def related_vector(concepts, columns, linking, pages, confidence):
    """Equations (5) and (6)."""

    def matrix(one, other):
        value = wlm(linking, one, other, pages)
        return value if one == other or value > confidence else 0.0

    return {column: sum(matrix(one, column) for one in concepts) for column in columns}


def walk(similarity, bias, d, tolerance):
    """Equation (1), over a matrix of all pairs; a sentence of zeros passes nothing on."""
    n = len(bias)
    scores = [1 / n] * n
    while True:
        new = []
        for i in range(n):
            flow = sum(
                similarity[i][j] / sum(similarity[j]) * scores[j]
                for j in range(n)
                if sum(similarity[j])
            )
            new.append(d * bias[i] + (1 - d) * flow)
        change = max(abs(a - b) for a, b in zip(new, scores, strict=True))
        scores = new
        if change < tolerance:
            return scores


def choose(scores, similarity, lengths, words, threshold, fitting):
    """Section 3.4; scores that are equal but for rounding are equal."""
    largest = max(map(abs, scores)) or 1
    levels = [round(score / largest, 9) for score in scores]
    chosen, taken = [], 0
    for position in sorted(range(len(scores)), key=lambda offset: (-levels[offset], offset)):
        if taken >= words:
            break
        if fitting and taken + lengths[position] > words:
            continue
        if all(similarity[position][other] < threshold for other in chosen):
            chosen.append(position)
            taken += lengths[position]
    return chosen


def bm25(sentences, query, k1, b):
    """BM25 of each sentence, word by word."""
    n = len(sentences)
    mean = sum(map(len, sentences)) / n
    scores = []
    for sentence in sentences:
        score = 0.0
        for word in query:
            tf, df = sentence.count(word), sum(word in one for one in sentences)
            if tf:
                idf = math.log(1 + (n - df + 0.5) / (df + 0.5))
                floor = k1 * (1 - b + b * len(sentence) / mean)
                score += idf * (k1 + 1) * tf / (floor + tf)
        scores.append(score)
    return scores
