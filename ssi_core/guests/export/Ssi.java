// An index of what `ssi export --to lucene` has written, and its search. Lucene 9 or 10:
//
//     java -cp lucene-core.jar Ssi.java index documents index
//     python encoder.py encoder.json "old automobile" | java -cp lucene-core.jar Ssi.java search index 10
//
// Each line of the standard input of `search` is a query; each line of its output is a document:
// number of the query, id, title, score.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.FeatureField;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StoredField;
import org.apache.lucene.document.StringField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.store.FSDirectory;

public class Ssi {
  static final String FIELD = "ssi";
  // No term has a quotation mark, and none a backslash but that of an escaped letter.
  private static final Pattern TERM = Pattern.compile("\"([^\"]*)\"\\s*:\\s*([-+.\\deE]+)");

  private static final Pattern ESCAPED = Pattern.compile("\\\\u(\\p{XDigit}{4})");

  private static String letter(MatchResult escaped) {
    return Character.toString(Integer.parseInt(escaped.group(1), 16));
  }

  // The terms of a line of JSON.
  static Map<String, Float> terms(String json) {
    Map<String, Float> terms = new TreeMap<>();
    for (Matcher term = TERM.matcher(json); term.find(); ) {
      String name = ESCAPED.matcher(term.group(1)).replaceAll(Ssi::letter);
      terms.put(name, Float.parseFloat(term.group(2)));
    }
    return terms;
  }

  // A document of a line of a file of documents.
  static Document document(String line) {
    String[] cells = line.split("\t", 3);
    Document document = new Document();
    document.add(new StringField("id", cells[0], Field.Store.YES));
    document.add(new StoredField("title", cells[1]));
    terms(cells[2]).forEach((term, weight) -> document.add(new FeatureField(FIELD, term, weight)));
    return document;
  }

  // The sum over terms of their weight here times their weight in a document.
  static Query query(Map<String, Float> terms) {
    IndexSearcher.setMaxClauseCount(Math.max(IndexSearcher.getMaxClauseCount(), terms.size()));
    BooleanQuery.Builder query = new BooleanQuery.Builder();
    terms.forEach((term, weight) ->
        query.add(FeatureField.newLinearQuery(FIELD, term, weight), BooleanClause.Occur.SHOULD));
    return query.build();
  }

  // Add the documents of a directory of files; one of the same id is replaced.
  static void index(Path documents, Path index) throws Exception {
    List<Path> files;
    try (Stream<Path> found = Files.list(documents)) {
      files = found.sorted().toList();
    }
    try (FSDirectory directory = FSDirectory.open(index);
        IndexWriter writer = new IndexWriter(directory, new IndexWriterConfig())) {
      for (Path file : files) {
        try (BufferedReader lines = Files.newBufferedReader(file)) {
          for (String line; (line = lines.readLine()) != null; ) {
            Document document = document(line);
            writer.updateDocument(new Term("id", document.get("id")), document);
          }
        }
      }
    }
  }

  public static void main(String[] arguments) throws Exception {
    if (arguments[0].equals("index")) {
      index(Path.of(arguments[1]), Path.of(arguments[2]));
      return;
    }
    int k = arguments.length > 2 ? Integer.parseInt(arguments[2]) : 10;
    try (DirectoryReader reader = DirectoryReader.open(FSDirectory.open(Path.of(arguments[1])))) {
      IndexSearcher searcher = new IndexSearcher(reader);
      InputStreamReader input = new InputStreamReader(System.in, StandardCharsets.UTF_8);
      PrintStream output = new PrintStream(System.out, true, StandardCharsets.UTF_8);
      int number = 0;
      for (String line : (Iterable<String>) new BufferedReader(input).lines()::iterator) {
        for (ScoreDoc hit : searcher.search(query(terms(line)), k).scoreDocs) {
          Document document = searcher.storedFields().document(hit.doc);
          output.println(
              number + "\t" + document.get("id") + "\t" + document.get("title") + "\t" + hit.score);
        }
        number++;
      }
    }
  }
}
