//: name = "h2-oltp"
//: about = "H2 in memory: many small transactions through JDBC"
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

public final class H2Oltp {
    private static final int ACCOUNTS = 2_000;
    private static final int TRANSACTIONS = 12_000;

    public static void main(String[] args) throws Exception {
        try (Connection db = DriverManager.getConnection("jdbc:h2:mem:oltp;LOCK_MODE=3")) {
            Bench.run(() -> iteration(db));
        }
    }

    private static long iteration(Connection db) throws SQLException {
        db.setAutoCommit(true);
        try (Statement ddl = db.createStatement()) {
            ddl.execute("drop all objects");
            ddl.execute("create table account(id int primary key, owner varchar(40), balance bigint, version int)");
            ddl.execute("create table movement(id bigint auto_increment primary key, source int, target int, "
                    + "amount int, note varchar(40))");
            ddl.execute("create index movement_source on movement(source)");
            ddl.execute("create index account_owner on account(owner)");
        }
        Dice dice = new Dice(11);
        try (PreparedStatement insert = db.prepareStatement("insert into account values(?, ?, ?, 0)")) {
            for (int i = 0; i < ACCOUNTS; i++) {
                insert.setInt(1, i);
                insert.setString(2, dice.word(5_000));
                insert.setLong(3, 1_000 + dice.below(1_000));
                insert.executeUpdate();
            }
        }
        db.setAutoCommit(false);
        return transactions(db, dice);
    }

    private static long transactions(Connection db, Dice dice) throws SQLException {
        long sum = 0;
        try (PreparedStatement read = db.prepareStatement("select balance, owner from account where id = ?");
                PreparedStatement write = db.prepareStatement(
                        "update account set balance = balance + ?, version = version + 1 where id = ?");
                PreparedStatement log = db.prepareStatement(
                        "insert into movement(source, target, amount, note) values(?, ?, ?, ?)");
                PreparedStatement last = db.prepareStatement(
                        "select count(*), sum(amount), max(note) from movement where source = ?");
                PreparedStatement owner = db.prepareStatement(
                        "select id, balance from account where owner = ? order by balance desc, id limit 5")) {
            for (int t = 0; t < TRANSACTIONS; t++) {
                int source = dice.below(ACCOUNTS);
                int target = dice.below(ACCOUNTS);
                int amount = dice.below(100);
                sum = Bench.mix(sum, one(read, source, 1));
                write.setInt(1, -amount);
                write.setInt(2, source);
                write.executeUpdate();
                write.setInt(1, amount);
                write.setInt(2, target);
                write.executeUpdate();
                log.setInt(1, source);
                log.setInt(2, target);
                log.setInt(3, amount);
                log.setString(4, "transfer " + t % 97);
                log.executeUpdate();
                if (t % 4 == 0) {
                    sum = Bench.mix(sum, one(last, source, 2));
                    owner.setString(1, dice.word(5_000));
                    try (ResultSet rows = owner.executeQuery()) {
                        while (rows.next()) {
                            sum = Bench.mix(sum, rows.getInt(1) ^ rows.getLong(2));
                        }
                    }
                }
                if (t % 50 == 49) {
                    db.rollback();
                } else {
                    db.commit();
                }
            }
        }
        return sum;
    }

    private static long one(PreparedStatement query, int key, int column) throws SQLException {
        query.setInt(1, key);
        try (ResultSet rows = query.executeQuery()) {
            return rows.next() ? rows.getLong(column) : -1;
        }
    }
}
