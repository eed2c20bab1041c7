package quipu.runtime;

/** A cursor in a chain of {@link Cursors}. It never changes: to change a chain is to make another one. */
final class Link {
    final Cursor cursor;
    final Link next;

    Link(Cursor cursor, Link next) {
        this.cursor = cursor;
        this.next = next;
    }
}
