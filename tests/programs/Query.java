import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;

/** A database in memory: a table, an index, a join, a group. Needs H2. */
public class Query {
    public static void main(String[] args) throws Exception {
        int rows = args.length > 0 ? Integer.parseInt(args[0]) : 40;
        try (Connection c = DriverManager.getConnection("jdbc:h2:mem:;MODE=PostgreSQL;TRACE_LEVEL_FILE=0")) {
            try (Statement s = c.createStatement()) {
                s.execute("create table city(id int primary key, name varchar(40), country int)");
                s.execute("create index by_country on city(country)");
            }
            try (PreparedStatement p = c.prepareStatement("insert into city values(?, ?, ?)")) {
                for (int i = 0; i < rows; i++) {
                    p.setInt(1, i);
                    p.setString(2, "city " + i);
                    p.setInt(3, i % 5);
                    p.executeUpdate();
                }
            }
            try (PreparedStatement p = c.prepareStatement(
                    "select a.country, count(*), max(b.name) from city a join city b on a.country = b.country "
                            + "where a.id < ? group by a.country order by 2 desc, 1")) {
                p.setInt(1, rows / 2);
                ResultSet r = p.executeQuery();
                while (r.next()) {
                    System.out.println(r.getInt(1) + " " + r.getInt(2) + " " + r.getString(3));
                }
            }
        }
    }
}
