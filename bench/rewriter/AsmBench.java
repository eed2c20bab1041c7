import static org.objectweb.asm.Opcodes.*;

import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.*;
import java.util.*;
import org.objectweb.asm.*;

/**
 * The ASM half of the benchmark: the same edit on the same classes. Like the Rust half it counts blocks in a new int
 * local, bumped with the number of instructions at the start of every basic block.
 *
 * <p>Two passes of the visitor API, the fastest way found to do this with ASM: the first learns where blocks start, how
 * long they are and how many locals there are; the second copies and inserts. The constant pool is copied whole and
 * neither maxs nor frames are computed.
 */
public class AsmBench {
    public static void main(String[] args) throws Exception {
        ByteBuffer pack = ByteBuffer.wrap(Files.readAllBytes(Path.of(args[0])));
        int rounds = Integer.parseInt(args[1]), threads = Integer.parseInt(args[2]);
        List<byte[]> classes = new ArrayList<>();
        long bytesIn = 0;
        while (pack.hasRemaining()) {
            byte[] c = new byte[pack.getInt()];
            pack.get(c);
            classes.add(c);
            bytesIn += c.length;
        }
        for (int round = 0; round < rounds; round++) {
            long[] out = new long[threads], edited = new long[threads], cpu = new long[threads];
            Thread[] workers = new Thread[threads];
            long start = System.nanoTime();
            for (int t = 0; t < threads; t++) {
                int me = t;
                workers[t] = new Thread(() -> {
                    for (int i = me; i < classes.size(); i += threads) {
                        Counter counter = new Counter();
                        out[me] += counter.rewrite(classes.get(i)).length;
                        edited[me] += counter.edited;
                    }
                    // A new thread per round: this is its whole life. Collector and compiler threads are not in it.
                    cpu[me] = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
                });
                workers[t].start();
            }
            for (Thread w : workers) w.join();
            System.out.println(Arrays.stream(cpu).max().getAsLong() + " " + (System.nanoTime() - start) + " " + bytesIn + " " + Arrays.stream(out).sum() + " "
                + Arrays.stream(edited).sum());
        }
    }

    /** Block starts of one method, by number of the instruction, and block lengths in the same order. */
    static final class Blocks {
        BitSet starts = new BitSet();
        int instructions, maxLocals;
        boolean skip;

        int length(int start) {
            int next = starts.nextSetBit(start + 1);
            return (next < 0 ? instructions : next) - start;
        }
    }

    static final class Counter {
        long edited;

        byte[] rewrite(byte[] bytes) {
            ClassReader reader = new ClassReader(bytes);
            List<Blocks> found = new ArrayList<>();
            reader.accept(new ClassVisitor(ASM9) {
                @Override public MethodVisitor visitMethod(int a, String n, String d, String s, String[] e) {
                    Blocks blocks = new Blocks();
                    blocks.skip = n.equals("finalize") && d.equals("()V");
                    found.add(blocks);
                    return new Finder(blocks);
                }
            }, ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
            ClassWriter writer = new ClassWriter(reader, 0);
            Iterator<Blocks> next = found.iterator();
            reader.accept(new ClassVisitor(ASM9, writer) {
                @Override public MethodVisitor visitMethod(int a, String n, String d, String s, String[] e) {
                    Blocks blocks = next.next();
                    MethodVisitor to = super.visitMethod(a, n, d, s, e);
                    if (blocks.instructions == 0 || blocks.skip && blocks.instructions == 1) return to;
                    edited++;
                    return new Inserter(to, blocks);
                }
            }, ClassReader.EXPAND_FRAMES);
            return writer.toByteArray();
        }
    }

    /** With debug information and frames skipped, labels are where branches and handlers go. */
    static final class Finder extends MethodVisitor {
        final Blocks b;
        Set<Label> boundaries;

        Finder(Blocks blocks) { super(ASM9); b = blocks; b.starts.set(0); }

        void end() { b.starts.set(b.instructions); }

        // The end of an exception range has a label too but starts no block.
        @Override public void visitTryCatchBlock(Label start, Label end, Label handler, String type) {
            if (boundaries == null) boundaries = new HashSet<>();
            targets().add(handler);
            boundaries.add(start);
            boundaries.add(end);
        }

        Set<Label> targets;
        Set<Label> targets() { return targets == null ? targets = new HashSet<>() : targets; }
        Map<Label, Integer> undecided;

        void target(Label l) {
            targets().add(l);
            if (undecided != null) { Integer at = undecided.get(l); if (at != null) b.starts.set(at); }
        }

        @Override public void visitLabel(Label l) {
            if (boundaries == null || !boundaries.contains(l) || targets().contains(l)) b.starts.set(b.instructions);
            else { if (undecided == null) undecided = new HashMap<>(); undecided.put(l, b.instructions); }
        }

        @Override public void visitInsn(int op) {
            b.instructions++;
            if (op >= IRETURN && op <= RETURN || op == ATHROW) end();
        }
        @Override public void visitIntInsn(int op, int v) { b.instructions++; }
        @Override public void visitVarInsn(int op, int v) { b.instructions++; if (op == RET) end(); }
        @Override public void visitTypeInsn(int op, String t) { b.instructions++; }
        @Override public void visitFieldInsn(int op, String o, String n, String d) { b.instructions++; }
        @Override public void visitMethodInsn(int op, String o, String n, String d, boolean i) { b.instructions++; }
        @Override public void visitInvokeDynamicInsn(String n, String d, Handle h, Object... a) { b.instructions++; }
        @Override public void visitJumpInsn(int op, Label l) { b.instructions++; target(l); end(); }
        @Override public void visitLdcInsn(Object v) { b.instructions++; }
        @Override public void visitIincInsn(int v, int i) { b.instructions++; }
        @Override public void visitTableSwitchInsn(int lo, int hi, Label d, Label... ls) {
            b.instructions++; target(d); for (Label l : ls) target(l); end();
        }
        @Override public void visitLookupSwitchInsn(Label d, int[] k, Label[] ls) {
            b.instructions++; target(d); for (Label l : ls) target(l); end();
        }
        @Override public void visitMultiANewArrayInsn(String d, int n) { b.instructions++; }
        @Override public void visitMaxs(int s, int l) { b.maxLocals = l; b.starts.clear(b.instructions); }
    }

    static final class Inserter extends MethodVisitor {
        final Blocks b;
        int at;

        Inserter(MethodVisitor to, Blocks blocks) { super(ASM9, to); b = blocks; }

        void next() {
            if (b.starts.get(at)) mv.visitIincInsn(b.maxLocals, b.length(at));
            at++;
        }

        @Override public void visitCode() {
            mv.visitCode();
            mv.visitInsn(ICONST_0);
            mv.visitVarInsn(ISTORE, b.maxLocals);
        }
        @Override public void visitFrame(int type, int n, Object[] locals, int m, Object[] stack) {
            Object[] all = new Object[b.maxLocals + 1];
            int slots = 0, i = 0;
            for (; i < n; i++) {
                all[i] = locals[i];
                slots += locals[i] == LONG || locals[i] == DOUBLE ? 2 : 1;
            }
            for (; slots < b.maxLocals; slots++) all[i++] = TOP;
            all[i++] = INTEGER;
            mv.visitFrame(type, i, all, m, stack);
        }
        @Override public void visitInsn(int op) { next(); mv.visitInsn(op); }
        @Override public void visitIntInsn(int op, int v) { next(); mv.visitIntInsn(op, v); }
        @Override public void visitVarInsn(int op, int v) { next(); mv.visitVarInsn(op, v); }
        @Override public void visitTypeInsn(int op, String t) { next(); mv.visitTypeInsn(op, t); }
        @Override public void visitFieldInsn(int op, String o, String n, String d) { next(); mv.visitFieldInsn(op, o, n, d); }
        @Override public void visitMethodInsn(int op, String o, String n, String d, boolean i) { next(); mv.visitMethodInsn(op, o, n, d, i); }
        @Override public void visitInvokeDynamicInsn(String n, String d, Handle h, Object... a) { next(); mv.visitInvokeDynamicInsn(n, d, h, a); }
        @Override public void visitJumpInsn(int op, Label l) { next(); mv.visitJumpInsn(op, l); }
        @Override public void visitLdcInsn(Object v) { next(); mv.visitLdcInsn(v); }
        @Override public void visitIincInsn(int v, int i) { next(); mv.visitIincInsn(v, i); }
        @Override public void visitTableSwitchInsn(int lo, int hi, Label d, Label... ls) { next(); mv.visitTableSwitchInsn(lo, hi, d, ls); }
        @Override public void visitLookupSwitchInsn(Label d, int[] k, Label[] ls) { next(); mv.visitLookupSwitchInsn(d, k, ls); }
        @Override public void visitMultiANewArrayInsn(String d, int n) { next(); mv.visitMultiANewArrayInsn(d, n); }
        @Override public void visitMaxs(int s, int l) { mv.visitMaxs(Math.max(s, 1), l + 1); }
    }
}
