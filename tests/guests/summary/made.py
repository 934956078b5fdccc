"""A small wiki on climate and cars, and texts that speak of it."""

import ssi_core as ssi

PAGES = {
    "0": ("Global warming", "The world gets warmer."),
    "1": ("Fossil fuel", "Coal and oil."),
    "2": ("Kyoto Protocol", "A treaty on emissions."),
    "3": ("Kyoto", "A city of temples."),
    "4": ("Mercury (planet)", "A planet near the sun."),
    "5": ("Mercury (element)", "A metal that flows."),
    "6": ("Position", "Where a thing is."),
    "7": (
        "Report",
        "Global warming comes of fossil fuel. The Kyoto Protocol is about global warming.",
    ),
    "8": ("Treaty", "The Kyoto Protocol limits fossil fuel, and global warming with it."),
    "9": ("Travel", "From Kyoto one can see mercury in a good position."),
    "10": ("Sky", "Mercury has a position in the sky. Kyoto has none."),
    "11": ("Chemistry", "Mercury is liquid in this position."),
    "12": ("Game", "A player takes a position, another position, every position."),
}
LINKS = [
    ("7", "0"), ("7", "1"), ("7", "2"), ("8", "0"), ("8", "1"), ("8", "2"), ("9", "3"),
    ("9", "4"), ("10", "4"), ("10", "3"), ("11", "5"), ("12", "6"), ("0", "1"), ("0", "3"),
]  # fmt: skip
TEXTS = (
    "The Kyoto Protocol was signed. Mercury shone over the hills that night.\n\n"
    "Delegates spoke about global warming for hours. Nobody spoke about temples there.",
    "Fossil fuel was cheap in those days. Delegates spoke about global warming for many hours. "
    "The hills were green and quiet that night.",
)


def collection(place):
    """Write the wiki as a collection, and return its directory."""
    frame = {
        "id": list(PAGES),
        "title": [title for title, _ in PAGES.values()],
        "text": [f"{title}\n{text}" for title, text in PAGES.values()],
    }
    return ssi.read(frame, links=LINKS, language="en", out=place).path
