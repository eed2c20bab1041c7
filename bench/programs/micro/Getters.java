//: name = "micro-getters"
//: about = "leaf getters and setters, as in every business object"
//: package = "bench"
//: warmup = 10
//: steady = 10
//: jvm = ["-Xms256m", "-Xmx256m"]
package bench;

public final class Getters {
    static class Point {
        private int x;
        private int y;
        private Point next;

        int getX() {
            return x;
        }

        void setX(int x) {
            this.x = x;
        }

        int getY() {
            return y;
        }

        void setY(int y) {
            this.y = y;
        }

        Point getNext() {
            return next;
        }

        void setNext(Point next) {
            this.next = next;
        }
    }

    public static void main(String[] args) throws Exception {
        Bench.run(() -> {
            Point first = new Point();
            Point at = first;
            for (int i = 0; i < 100; i++) {
                at.setNext(new Point());
                at = at.getNext();
            }
            at.setNext(first);
            for (int i = 0; i < 20_000_000; i++) {
                at.setX(at.getY() + i);
                at.setY(at.getX() * 3 ^ at.getNext().getY());
                at = at.getNext();
            }
            return Bench.mix(at.getX(), at.getY());
        });
    }
}
