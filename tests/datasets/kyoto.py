"""A release of the Kyoto articles, as small as wanted."""

import gzip
import io
import tarfile

LEXICON = '"日本語","英語",\n"清水寺","Kiyomizu-dera ""temple""",\n"抹茶","powdered tea",\n'


def sentence(japanese, check="", trans="a draft"):
    first = trans and "first"
    return (
        f'<sen id="1"><j>{japanese}</j><e type="trans" ver="1">{first}</e><cmt></cmt>'
        f'<e type="trans" ver="2">{trans}</e><cmt>修正</cmt>'
        f'<e type="check" ver="1">{check}</e><cmt></cmt></sen>'
    )


def article(title, english, *sentences):
    head = sentence(title, english).replace("sen", "tit")
    inside = "".join(f'<par id="1">{one}</par>' for one in sentences)
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<art orl="ja" trl="en">\n<inf>x.xml</inf>\n'
        f'{head}\n<sec id="1">{inside}</sec><copyright>c</copyright></art>'
    )


ARTICLES = {
    "BLD/BLD00001.xml": article(
        "清水寺", "Kiyomizu-dera", sentence("抹茶がある &amp; 山", "There is &quot;tea&quot;.")
    ),
    "CLT/CLT00002.xml": article(
        "京都の抹茶", "Tea of Kyoto", sentence("清水寺の近く。京都の抹茶。", "Near the temple."),
        sentence("二", "Second."),
    ),
    "CLT/CLT00003.xml": article("抹茶", "Tea", sentence("京都の抹茶と清水寺", trans="Both.")),
    "GNM/GNM00155.xml": "<art>\n<tit><j>a & b</j></tit></art>",
    "HST/HST00001.xml": article("無", "Nothing", sentence("何もない", "", "")),
}  # fmt: skip


def release(directory, articles=None, lexicon=LEXICON):
    directory.mkdir(exist_ok=True)
    with tarfile.open(directory / "articles_xml.tar.xz", "w:xz") as archive:
        for name, text in (ARTICLES if articles is None else articles).items():
            data = text if isinstance(text, bytes) else text.encode()
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    (directory / "kyoto_lexicon.csv.gz").write_bytes(gzip.compress(lexicon.encode(), mtime=0))
    return directory
