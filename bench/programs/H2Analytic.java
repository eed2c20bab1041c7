//: name = "h2-analytic"
//: about = "H2 in memory: joins, groups, windows and sorts over 40,000 rows"
//: maven = ["com.h2database:h2:2.3.232"]
//: package = "org.h2"
//: warmup = 24
//: steady = 8
//: quick = { warmup = 12, steady = 4 }
//: jvm = ["-Xms1g", "-Xmx1g"]
package bench;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

public final class H2Analytic {
    private static final String[] QUERIES = {
        "select c.region, p.kind, count(*), sum(s.amount * p.price), avg(s.amount) from sale s "
                + "join customer c on c.id = s.customer join product p on p.id = s.product "
                + "group by c.region, p.kind having count(*) > 3 order by 4 desc, 1, 2",
        "select sold_on, sum(amount), count(distinct customer) from sale where amount between 5 and 60 "
                + "group by sold_on order by sold_on",
        "select name, total, rank() over (order by total desc, name) from (select c.name, sum(s.amount) total "
                + "from customer c join sale s on s.customer = c.id group by c.name) order by 3 limit 200",
        "select p.name, (select max(s.amount) from sale s where s.product = p.id) m from product p "
                + "where p.name like '%a%' and p.price > 20 order by m desc, p.name",
        "select upper(substr(c.name, 1, 2)) k, count(*), min(s.sold_on), max(s.sold_on) from customer c, sale s "
                + "where s.customer = c.id and mod(s.amount, 7) in (1, 3, 5) group by k order by k",
    };

    public static void main(String[] args) throws Exception {
        try (Connection db = DriverManager.getConnection("jdbc:h2:mem:analytic;OPTIMIZE_REUSE_RESULTS=0")) {
            load(db);
            Bench.run(() -> {
                long sum = 0;
                for (String query : QUERIES) {
                    sum = Bench.mix(sum, rows(db, query));
                }
                return sum;
            });
        }
    }

    private static long rows(Connection db, String query) throws SQLException {
        long sum = 0;
        try (Statement statement = db.createStatement();
                ResultSet rows = statement.executeQuery(query)) {
            int columns = rows.getMetaData().getColumnCount();
            while (rows.next()) {
                for (int c = 1; c <= columns; c++) {
                    sum = Bench.mix(sum, String.valueOf(rows.getString(c)));
                }
            }
        }
        return sum;
    }

    private static void load(Connection db) throws SQLException {
        Dice dice = new Dice(5);
        try (Statement ddl = db.createStatement()) {
            ddl.execute("create table customer(id int primary key, name varchar(40), region int)");
            ddl.execute("create table product(id int primary key, name varchar(40), kind int, price int)");
            ddl.execute("create table sale(id int primary key, customer int, product int, sold_on int, amount int)");
            ddl.execute("create index sale_product on sale(product)");
        }
        fill(db, "customer", 2_000, 3, i -> new Object[] {i, dice.word(9_000) + i, dice.below(12)});
        fill(db, "product", 300, 4, i -> new Object[] {i, dice.word(9_000), dice.below(9), 1 + dice.below(90)});
        fill(db, "sale", 40_000, 5, i ->
                new Object[] {i, dice.below(2_000), dice.below(300), dice.below(365), 1 + dice.below(100)});
    }

    private static void fill(Connection db, String table, int rows, int columns,
            java.util.function.IntFunction<Object[]> row) throws SQLException {
        String places = "?" + ", ?".repeat(columns - 1);
        try (PreparedStatement insert = db.prepareStatement("insert into " + table + " values(" + places + ")")) {
            for (int i = 0; i < rows; i++) {
                Object[] values = row.apply(i);
                for (int c = 0; c < columns; c++) {
                    insert.setObject(c + 1, values[c]);
                }
                insert.executeUpdate();
            }
        }
    }
}
