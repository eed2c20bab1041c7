//: name = "lucene-search"
//: about = "Lucene: term, phrase, prefix, fuzzy, range and sorted queries over an index in memory"
//: maven = ["org.apache.lucene:lucene-core:9.12.1"]
//: package = "org.apache.lucene"
//: warmup = 16
//: steady = 8
//: quick = { warmup = 8, steady = 4 }
//: jvm = ["-Xms1g", "-Xmx1g"]
package bench;

import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.IntPoint;
import org.apache.lucene.document.NumericDocValuesField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.SerialMergeScheduler;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause.Occur;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.FuzzyQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.PhraseQuery;
import org.apache.lucene.search.PrefixQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.Sort;
import org.apache.lucene.search.SortField;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.store.ByteBuffersDirectory;

public final class LuceneSearch {
    public static void main(String[] args) throws Exception {
        ByteBuffersDirectory directory = new ByteBuffersDirectory();
        fill(directory, new Dice(9), 12_000);
        try (DirectoryReader reader = DirectoryReader.open(directory)) {
            IndexSearcher searcher = new IndexSearcher(reader);
            // A cache would make every iteration but the first free.
            searcher.setQueryCache(null);
            Sort byRank = new Sort(new SortField("rank", SortField.Type.LONG), SortField.FIELD_DOC);
            Bench.run(() -> {
                Dice dice = new Dice(17);
                long sum = 0;
                for (int i = 0; i < 250; i++) {
                    Query query = query(i, dice);
                    TopDocs found = i % 3 == 0 ? searcher.search(query, 10, byRank) : searcher.search(query, 10);
                    sum = Bench.mix(sum, found.totalHits.value);
                    for (ScoreDoc hit : found.scoreDocs) {
                        sum = Bench.mix(sum, searcher.storedFields().document(hit.doc).get("id"));
                    }
                }
                return sum;
            });
        }
    }

    private static Query query(int i, Dice dice) {
        return switch (i % 6) {
            case 0 -> new TermQuery(term(dice));
            case 1 -> new BooleanQuery.Builder().add(new TermQuery(term(dice)), Occur.SHOULD)
                    .add(new TermQuery(term(dice)), Occur.SHOULD).add(new TermQuery(term(dice)), Occur.MUST_NOT).build();
            case 2 -> new PhraseQuery(2, "body", dice.word(50), dice.word(50));
            case 3 -> new PrefixQuery(new Term("body", dice.word(20_000).substring(0, 3)));
            case 4 -> new FuzzyQuery(term(dice), 1);
            default -> new BooleanQuery.Builder().add(new TermQuery(term(dice)), Occur.MUST)
                    .add(IntPoint.newRangeQuery("size", 200, 400 + dice.below(300)), Occur.FILTER).build();
        };
    }

    private static Term term(Dice dice) {
        return new Term("body", dice.word(20_000));
    }

    private static void fill(ByteBuffersDirectory directory, Dice dice, int count) throws Exception {
        IndexWriterConfig config = new IndexWriterConfig(new StandardAnalyzer())
                .setMergeScheduler(new SerialMergeScheduler())
                .setMaxBufferedDocs(4_000)
                .setRAMBufferSizeMB(IndexWriterConfig.DISABLE_AUTO_FLUSH);
        try (IndexWriter writer = new IndexWriter(directory, config)) {
            for (int i = 0; i < count; i++) {
                StringBuilder text = new StringBuilder();
                for (int words = 40 + dice.below(120); words > 0; words--) {
                    text.append(dice.word(20_000)).append(' ');
                }
                Document document = new Document();
                document.add(new Field("id", "d" + i, org.apache.lucene.document.StringField.TYPE_STORED));
                document.add(new TextField("body", text.toString(), Field.Store.NO));
                document.add(new IntPoint("size", text.length()));
                document.add(new NumericDocValuesField("rank", i * 31L % 1_000));
                writer.addDocument(document);
            }
        }
    }
}
