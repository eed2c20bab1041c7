package quipu.runtime;

/** Cursors in a row; see {@link Cursors}. */
final class Chain {
    volatile Link head;
}
