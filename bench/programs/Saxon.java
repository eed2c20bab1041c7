//: name = "saxon"
//: about = "Saxon: an XSLT 3.0 style sheet and an XQuery over a generated document"
//: maven = ["net.sf.saxon:Saxon-HE:12.5"]
//: package = "net.sf.saxon"
//: warmup = 16
//: steady = 8
//: quick = { warmup = 8, steady = 4 }
//: jvm = ["-Xms1g", "-Xmx1g"]
package bench;

import java.io.StringReader;
import java.io.StringWriter;
import javax.xml.transform.stream.StreamSource;
import net.sf.saxon.s9api.Processor;
import net.sf.saxon.s9api.XQueryEvaluator;
import net.sf.saxon.s9api.XQueryExecutable;
import net.sf.saxon.s9api.XdmItem;
import net.sf.saxon.s9api.XdmNode;
import net.sf.saxon.s9api.Xslt30Transformer;
import net.sf.saxon.s9api.XsltExecutable;

public final class Saxon {
    private static final String STYLE = """
            <xsl:stylesheet version="3.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
                xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:f="urn:f" exclude-result-prefixes="xs f">
              <xsl:output method="xml" indent="yes"/>
              <xsl:key name="by-author" match="book" use="author"/>
              <xsl:function name="f:total" as="xs:decimal">
                <xsl:param name="books" as="element(book)*"/>
                <xsl:sequence select="sum($books ! (xs:decimal(price) * xs:integer(@copies)))"/>
              </xsl:function>
              <xsl:template match="/">
                <report count="{count(//book)}">
                  <xsl:for-each-group select="//book" group-by="@shelf">
                    <xsl:sort select="xs:integer(current-grouping-key())"/>
                    <shelf n="{current-grouping-key()}" worth="{f:total(current-group())}">
                      <xsl:apply-templates select="current-group()">
                        <xsl:sort select="title"/><xsl:sort select="price" data-type="number" order="descending"/>
                      </xsl:apply-templates>
                    </shelf>
                  </xsl:for-each-group>
                </report>
              </xsl:template>
              <xsl:template match="book[price &gt; 50]">
                <dear><xsl:value-of select="upper-case(title), format-number(price, '#,##0.00')" separator=": "/></dear>
              </xsl:template>
              <xsl:template match="book">
                <book also="{count(key('by-author', author)) - 1}">
                  <xsl:analyze-string select="note" regex="[aeiou]{{2}}[a-z]">
                    <xsl:matching-substring><b><xsl:value-of select="."/></b></xsl:matching-substring>
                    <xsl:non-matching-substring><xsl:value-of select="normalize-space(.)"/></xsl:non-matching-substring>
                  </xsl:analyze-string>
                </book>
              </xsl:template>
            </xsl:stylesheet>
            """;

    private static final String QUERY = """
            for $a in distinct-values(//author)
            let $books := //book[author = $a]
            where count($books) > 2
            order by count($books) descending, $a
            return concat($a, ' ', count($books), ' ', string-join(for $b in $books order by $b/title
                return substring($b/title, 1, 3), ','), ' ', max($books/xs:decimal(price)))
            """;

    public static void main(String[] args) throws Exception {
        Processor processor = new Processor(false);
        String text = document(1_500);
        XsltExecutable style = processor.newXsltCompiler().compile(new StreamSource(new StringReader(STYLE)));
        XQueryExecutable query = compile(processor);
        Bench.run(() -> {
            XdmNode document = processor.newDocumentBuilder().build(new StreamSource(new StringReader(text)));
            Xslt30Transformer transformer = style.load30();
            StringWriter out = new StringWriter();
            transformer.applyTemplates(document, processor.newSerializer(out));
            XQueryEvaluator evaluator = query.load();
            evaluator.setContextItem(document);
            long sum = Bench.mix(0, out.toString());
            for (XdmItem item : evaluator.evaluate()) {
                sum = Bench.mix(sum, item.getStringValue());
            }
            return sum;
        });
    }

    private static XQueryExecutable compile(Processor processor) throws Exception {
        net.sf.saxon.s9api.XQueryCompiler compiler = processor.newXQueryCompiler();
        compiler.declareNamespace("xs", "http://www.w3.org/2001/XMLSchema");
        return compiler.compile(QUERY);
    }

    private static String document(int books) {
        Dice dice = new Dice(3);
        StringBuilder text = new StringBuilder("<library>");
        for (int i = 0; i < books; i++) {
            text.append("<book shelf='").append(dice.below(25)).append("' copies='").append(1 + dice.below(9)).append("'>");
            text.append("<title>").append(words(dice, 4)).append("</title>");
            text.append("<author>").append(dice.word(300)).append("</author>");
            text.append("<price>").append(1 + dice.below(99)).append('.').append(10 + dice.below(90)).append("</price>");
            text.append("<note>").append(words(dice, 20)).append("</note></book>");
        }
        return text.append("</library>").toString();
    }

    private static String words(Dice dice, int count) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < count; i++) {
            text.append(i == 0 ? "" : " ").append(dice.word(4_000));
        }
        return text.toString();
    }
}
