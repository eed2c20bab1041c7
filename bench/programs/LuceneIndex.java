//: name = "lucene-index"
//: about = "Lucene: indexing generated documents in memory, with stored fields, doc values and a merge"
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
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.SerialMergeScheduler;
import org.apache.lucene.index.Term;
import org.apache.lucene.store.ByteBuffersDirectory;

public final class LuceneIndex {
    public static void main(String[] args) throws Exception {
        String[] texts = texts(2_500);
        Bench.run(() -> {
            try (ByteBuffersDirectory directory = new ByteBuffersDirectory();
                    StandardAnalyzer analyzer = new StandardAnalyzer()) {
                // In this thread and by number of documents, so that the work is the same every time.
                IndexWriterConfig config = new IndexWriterConfig(analyzer)
                        .setMergeScheduler(new SerialMergeScheduler())
                        .setMaxBufferedDocs(500)
                        .setRAMBufferSizeMB(IndexWriterConfig.DISABLE_AUTO_FLUSH);
                try (IndexWriter writer = new IndexWriter(directory, config)) {
                    for (int i = 0; i < texts.length; i++) {
                        writer.addDocument(document(i, texts[i]));
                    }
                    writer.forceMerge(1);
                    writer.commit();
                }
                try (DirectoryReader reader = DirectoryReader.open(directory)) {
                    long sum = reader.numDocs();
                    for (String word : new String[] {"ba", "be", "ce", "do", "lu"}) {
                        sum = Bench.mix(sum, reader.totalTermFreq(new Term("body", word)));
                    }
                    return Bench.mix(sum, reader.getSumTotalTermFreq("body"));
                }
            }
        });
    }

    static Document document(int id, String text) {
        Document document = new Document();
        document.add(new StringField("id", Integer.toString(id), Field.Store.YES));
        document.add(new TextField("body", text, Field.Store.YES));
        document.add(new IntPoint("size", text.length()));
        document.add(new NumericDocValuesField("rank", id * 31L % 1_000));
        return document;
    }

    static String[] texts(int count) {
        Dice dice = new Dice(9);
        String[] texts = new String[count];
        for (int i = 0; i < count; i++) {
            StringBuilder text = new StringBuilder();
            for (int words = 40 + dice.below(120); words > 0; words--) {
                text.append(dice.word(20_000)).append(words % 11 == 0 ? ". " : " ");
            }
            texts[i] = text.toString();
        }
        return texts;
    }
}
