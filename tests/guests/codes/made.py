"""Small labelled archives and texts."""

import io
import json
import tarfile

import numpy as np

THEMES = {
    "cats": ["cat", "kitten", "purr", "whiskers", "paw", "tail", "meow", "fur"],
    "ships": ["ship", "harbour", "captain", "sail", "anchor", "deck", "mast", "sailor"],
    "maths": ["theorem", "proof", "lemma", "integral", "matrix", "vector", "prime", "number"],
}


def story(number, topics, side="TRAIN", *, body="Cats purr &lt;loudly>", kind="", apte="YES"):
    listed = "".join(f"<D>{topic}</D>" for topic in topics)
    return (
        f'<REUTERS TOPICS="{apte}" LEWISSPLIT="{side}" NEWID="{number}">\n'
        f"<TOPICS>{listed}</TOPICS>\n"
        f"<TEXT{kind}><TITLE>NEWS {number}</TITLE><BODY>{body}</BODY></TEXT>\n</REUTERS>\n"
    )


def archive(path, members):
    with tarfile.open(path, "w:gz") as file:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            file.addfile(info, io.BytesIO(content))
    return path


def texts(count, seed):
    """Texts of ten words of one of the themes and three of another."""
    random = np.random.default_rng(seed)
    names = sorted(THEMES)
    labels = random.integers(0, len(names), count)
    lines = []
    for label in labels:
        other = names[(label + 1) % len(names)]
        words = [*random.choice(THEMES[names[label]], 10), *random.choice(THEMES[other], 3)]
        lines.append(" ".join(words))
    return lines, [names[label] for label in labels]


def lines(path, train=60, test=20):
    """A file of labelled texts of the three themes."""
    rows = []
    for seed, (side, count) in enumerate((("train", train), ("test", test))):
        for position, (text, label) in enumerate(zip(*texts(count, seed), strict=True)):
            rows.append({"id": f"{side}{position}", "text": text, "label": label, "side": side})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path
