"""Mistakes of a stranger in Python: what is called, what is raised, and what is called then.

A remedy is taken from the message by a pattern, and evaluated: ``then`` has ``{}`` in its place.
Names that a remedy has for what the caller has are filled in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import ssi_core as ssi

MEANT = r"Did you mean '(.+?)'\?"
COLUMNS = r"(columns=\{[^}]+\})"


@dataclass(frozen=True)
class Called:
    """A mistake.

    Attributes
    ----------
    code : str
        Expression that is evaluated.
    raised : type or None
        Error that it raises; None: it means something, and does it.
    said : str
        What the message must say.
    remedy : str
        Pattern that finds the remedy in the message; "": the message says in words what to do.
    then : str
        Expression that is evaluated then.
    filled : mapping
        What the remedy has -> what is evaluated for it.
    """

    code: str
    raised: type[Exception] | None = None
    said: str = ""
    remedy: str = ""
    then: str = ""
    filled: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.code


SHORT = "auto=False, budget=400"

CALLS = (
    # Tasks and models
    Called("ssi.Task.of(ssi.read(df), relevant='link')", ssi.BadInput, "it has no links",
           r"\((ssi\.Task\.of\(.+?\)),", "{}", {"docs": "ssi.read(df)"}),
    Called("ssi.Task.of(ssi.read(df))", ssi.BadInput, "it has no links",
           r"or (ssi\.fit\(.+?\))", "{}", {"docs": "ssi.read(df)", "3')": f"3', {SHORT})"}),
    Called("ssi.SSI().fit(['a car', 'a road'])", TypeError, "a list, expected a Task",
           r"task = (.+?);", "ssi.SSI(budget=400).fit({})", {"texts": "df"}),
    Called("ssi.SSI().fit(np.zeros((3, 3)), [0, 1, 1])", TypeError, "There is no array of labels y",
           r"or (ssi\.fit\(texts, links\))", "{}",
           {"texts": "df", "links)": f"links, ask='link', {SHORT})"}),
    Called("ssi.SSI(budget=400).fit(docs)"),
    Called("ssi.SSI(dim=50)", TypeError, "SSI: no parameter 'dim'", MEANT, "ssi.SSI({}=50)"),
    Called("ssi.SSI(dimensions='50', budget=400).fit(task)", ValueError,
           "dimensions='50': expected a whole number", "", "ssi.SSI(dimensions=8).ranker()"),
    Called("ssi.SSI(dimensions=-5, budget=400).fit(task)", ValueError, "dimensions=-5: expected",
           r"at least (\d)", "ssi.SSI(dimensions={}, budget=400).fit(task)"),
    Called("ssi.SSI(budget=4e2).fit(task)"),
    Called("ssi.SSI(budget=0.5).fit(task)", ValueError, "budget=0.5: expected a whole number", "",
           "ssi.SSI(budget=400).fit(task)"),
    Called("ssi.SSI().index(docs)", ValueError, "SSI() is not fitted", r"call (fit\(task\)) first",
           "ssi.SSI(budget=400).{}.index(docs)"),
    Called("ssi.SSI().save('out')", ValueError, "SSI() is not fitted", r"call (fit\(task\)) first",
           "ssi.SSI(budget=400).{}.save('saved') or True"),
    Called("ssi.Ranker('bm52')", ssi.BadInput, "no model 'bm52'", MEANT, "ssi.Ranker('{}')"),
    Called("ssi.Ranker('bert')", ssi.BadInput, "no model 'bert'", r"Known: (\w+)",
           "ssi.Ranker('{}')"),
    Called("ssi.Ranker('bilinear', dims=3)", ssi.BadInput, "no key 'dims'", MEANT,
           "ssi.Ranker('bilinear', {}=3)"),
    Called("ssi.Ranker('tfidf', view='raw:7').fit(task)", ssi.BadInput, "it has no view raw:7",
           r"these: (ssi\.Task\.of\(.+\))$", "ssi.Ranker('tfidf', view='raw:7').fit({})"),
    Called("ssi.Bm25()", AttributeError, "no attribute 'Bm25'", "", "ssi.BM25()"),
    Called("model.predict(['car'])", AttributeError, "no attribute 'predict'",
           r"with (model\.index\(docs\)\.search\(text\))", "{}", {"text": "'boats1'"}),
    Called("model.transform(['car'])", AttributeError, "no attribute 'transform'",
           r"or (model\.encode_documents\(texts\))", "{}", {"texts": "['boats1']"}),
    Called("model.encode('car')", AttributeError, "no attribute 'encode'",
           r"take (model\.encode_queries\(texts\))", "{}", {"texts": "['boats1']"}),
    Called("ssi.load('nosuch')", ssi.BadInput, "there is no such directory. Check the path."),
    Called("ssi.load('pages.md')", ssi.BadInput, "holds no model", r"Make one: (.+)$", "{}.path",
           {"docs": f"df, links, ask='link', {SHORT}", "directory": "'fitted'"}),
    Called("ssi.load(docs.path)", ssi.BadInput, "holds a collection, and no model",
           r"of it: (.+)$", "{}.path", {").save": f", ask='link', {SHORT}).save",
                                        "directory": "'of-docs'"}),
    # Tasks
    Called("ssi.Task.of(docs, relevant='links')", ValueError, "relevant='links': expected",
           r"expected '(\w+)'", "ssi.Task.of(docs, relevant='{}')"),
    Called("ssi.Task.of(docs, queries='word:5')", ValueError, "queries='word:5' with",
           r"or '(words:)N'", "ssi.Task.of(docs, queries='{}5')"),
    Called("ssi.Task.of(docs, split='document')", ValueError, "split='document': expected",
           r"'(documents)'", "ssi.Task.of(docs, split='{}')"),
    Called("ssi.Task.of(docs, relevant='click')", ssi.BadInput, "relevant by 'click'",
           r"it has '(\w+)'", "ssi.Task.of(docs, relevant='{}')"),
    Called("ssi.Task.open(docs.path)", ssi.BadInput, "holds a collection, and no task",
           r"of it: (.+)$", "{}"),
    # Searches
    Called("index.search('boats1', k=0)", ValueError, "k=0: expected", r"at least (\d)",
           "index.search('boats1', k={})"),
    Called("ssi.fit(docs, budgt=400)", ssi.BadInput, "fit: no argument 'budgt'",
           "Did you mean '(.+?)'", "ssi.fit(docs, {}=400, auto=False)"),
    Called("index.related('d1', k=0)", ValueError, "k=0: expected", r"at least (\d)",
           "index.related('d1', k={})"),
    Called("index.search('boats1', k='3')", ValueError, "k='3': expected a whole number"),
    Called("ssi.SSI(random_state=-1).fit(task)", ValueError,
           "random_state=-1: expected at least 0"),
    Called("index.search('')", None, "nothing found"),
    Called("index.search('qqqqzzz')", None, "Check the spelling, or try other words"),
    Called("index.search(['boats1', 'birds1'])"),
    Called("index.search(None)", ssi.BadInput, "None: expected a text, or a list of texts.", "",
           "index.search(['boats1'])"),
    Called("index.explain('boats1', 'Nosuch')", ssi.BadInput, "no document has the title or id",
           r"\((index\.search\(text\))\)", "{}", {"text": "'boats1'"}),
    Called("index.explain('boats1', 'Artcle 3')", ssi.BadInput, "no document has the title or id",
           r"near it: ('.+?')", "index.explain('boats1', {})"),
    Called("index.related(3)", ssi.BadInput, "no document has the title or id '3'"),
    Called("index.related(index.search('boats1')[0])"),
    Called("index.explain('boats1', index.search('boats1')[0])"),
    Called("index.why('boats1', index.search('boats1')[0])"),
    Called("index.export('solr', 'out')", ssi.BadInput, "no engine or format 'solr'",
           r"Known: .*(bm25s)", "index.export('{}', 'exported')"),
    # Texts
    Called("ssi.read(df.rename(columns={'text': 'inhalt'}), links)", None,
           "'title' is read as the text; not read: inhalt.", COLUMNS,
           "ssi.read(df.rename(columns={'text': 'inhalt'}), links, {})"),
    Called("ssi.read(df[['id', 'text']].rename(columns={'text': 'inhalt'}))", ssi.BadInput,
           "documents: which column is the text? Its columns are: id, inhalt.", COLUMNS,
           "ssi.read(df[['id', 'text']].rename(columns={'text': 'inhalt'}), {})",
           {"NAME": "inhalt"}),
    Called("ssi.read(df, links=links, columns={'text': 'boddy'})", ssi.BadInput,
           "documents: there is no column 'boddy' for 'text'.", COLUMNS,
           "ssi.read(df, links=links, {})", {"NAME": "text"}),
    Called("ssi.read(df.rename(columns={'text': 'inhalt'}), links, text='inhalt')", ssi.BadInput,
           "the role of a column is said by", COLUMNS,
           "ssi.read(df.rename(columns={'text': 'inhalt'}), links, {})"),
    Called("ssi.read(df, columns={'txt': 'text'})", ssi.BadInput, "no role 'txt'", MEANT,
           "ssi.read(df, columns={'{}': 'text'})"),
    Called("ssi.read(df, lnks=links)", ssi.BadInput, "no setting 'lnks'", MEANT,
           "ssi.read(df, {}=links)"),
    Called("ssi.read(df.assign(text=[None] * len(df)), links)", ssi.BadInput,
           "documents: no document has an id and a text (120 document without text).", COLUMNS,
           "ssi.read(df.assign(text=[None] * len(df)), links, {})", {"NAME": "title"}),
    Called("ssi.read(df.assign(text=[None, *df.text[1:]]), links).skipped", None,
           "document_without_text"),
    Called("ssi.read(df.assign(id=range(len(df))), pd.DataFrame({'a': [0], 'b': [1]}))"),
    Called("ssi.read(pd.concat([df, df]), links).skipped", None, "document_id_repeated"),
    Called("ssi.read(df.text)"),
    Called("ssi.read(7)", TypeError, "7: expected a file, a frame, or a list of text", "",
           "ssi.read(['a car'])"),
    Called("ssi.read(df, links={'a': ['b']})", ssi.BadInput,
           "links: a link has two ends, and there is one column: a. Give a column for each end",
           "", "ssi.read(df, links={'source': ['d0'], 'target': ['d1']})"),
    Called("ssi.read(df, links=links.assign(c=1).rename(columns={'source': 'a', 'target': 'b'}))",
           ssi.BadInput, "links: which columns are the two ends of a link?", COLUMNS,
           "ssi.read(df, links=links.rename(columns={'source': 'a', 'target': 'b'}), {})",
           {"'source': 'NAME'": "'source': 'a'", "'target': 'NAME'": "'target': 'b'"}),
    Called("ssi.read(df, links=[('d0', 'd1', 'a car')])", ssi.BadInput,
           "row 0: ('d0', 'd1', 'a car') is no source and target. Give source and target", "",
           "ssi.read(df, links=[('d0', 'd1')])"),
    Called("ssi.read('nosuch.jsonl')", ssi.BadInput, "there is no such file. Check the path."),
    Called("ssi.read('https://example.org/a.jsonl')", ssi.BadInput,
           "https://example.org/a.jsonl: it is an address. Download it, and give the file."),
    Called("ssi.read('sheet.xlsx')", ssi.BadInput, "it is a spreadsheet. Save it as CSV"),
    Called("ssi.read('a.xyz')", ssi.BadInput, "its name does not say which source it is of.",
           r"Name it (\.jsonl)", "ssi.read('articles{}')"),
    Called("ssi.read(df, texts=df)", ssi.BadInput, "documents: which column is the query?",
           r"go without (texts)", "ssi.read(df)"),
    Called("model.encode_documents(df)", ssi.BadInput, "a DataFrame: give a text, a list of texts",
           r"(ssi\.read\()it\)", "model.encode_documents({}df))"),
    Called("model.neighbours(['boats1', 'boats2'])"),
    Called("ssi.read(df.to_dict())", ssi.BadInput, "documents: which column is the text?", "",
           "ssi.read(df.to_dict('records'))"),
    Called("ssi.read([])", ssi.BadInput, "documents: it is empty. Give a table with a row.", "",
           "ssi.read(['a car'])"),
    # Comparisons
    Called("ssi.compare(model, task)"),
    Called("ssi.compare([ssi.BM25(), model], task)", ssi.BadInput, "BM25 is not fitted on this",
           r"Fit it: (.+)$", "ssi.compare([{}, model], task)"),
    Called("ssi.compare({'BM25': ssi.BM25().fit(task), 'SSI': model}, task)"),
    Called("ssi.compare([ssi.BM25().fit(task), model], task, measures=['ndcg@10'])"),
    Called("ssi.compare([ssi.BM25().fit(task), model], task, measures=['ndcg'])", ValueError,
           "no measure 'ndcg'", MEANT,
           "ssi.compare([ssi.BM25().fit(task), model], task, measures=['{}'])"),
    Called("ssi.fit(docs, ask='word:3')", ValueError, "'word:3': expected link", r"(words:)N",
           f"ssi.fit(docs, ask='{{}}3', {SHORT})"),
    Called("ssi.fit(df, links, queries=[('q', 'boats1')])", ssi.BadInput, "give both",
           r"and (qrels)", f"ssi.fit(df, links, queries=QUERIES, {{}}=QRELS, {SHORT})"),
    Called("ssi.fit(df, links, qrels=QRELS)", ssi.BadInput, "judgements without queries: give both",
           r"\((queries)", f"ssi.fit(df, links, {{}}=QUERIES, qrels=QRELS, {SHORT})"),
    Called("ssi.fit(task, links=links)", ssi.BadInput, "links go with files. Leave them out.", "",
           f"ssi.fit(task, {SHORT})"),
)  # fmt: skip
