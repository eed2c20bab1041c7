package several;

/** Makes 131 objects and arrays, locks 35 times, and leaves methods by 30 exceptions that they do not catch. */
public class Mixed {
    private final int[] values;

    Mixed(int[] values) {
        if (values.length == 0) throw new IllegalArgumentException();
        this.values = values;
    }

    static Mixed of(int size) {
        return new Mixed(new int[size]);
    }

    int sum() {
        int sum = 0;
        for (int value : values) {
            synchronized (this) {
                sum += value + 1;
            }
        }
        return sum;
    }

    static int deep(int depth) {
        if (depth == 0) throw new IllegalStateException();
        return deep(depth - 1) + 1;
    }

    static int caught(int depth) {
        try {
            return deep(depth);
        } catch (IllegalStateException e) {
            return depth;
        }
    }

    static int branches(int n) {
        switch (n % 3) {
            case 0: return new int[2][3].length;
            case 1: return new String[n].length;
            default: return n;
        }
    }

    public static void main(String[] args) {
        int result = 0;
        // Each makes an object and an array, and locks.
        for (int i = 0; i < 35; i++) result += of(1).sum();
        // Each makes an object, an array and an exception, and ends a constructor and a method.
        for (int i = 0; i < 10; i++) {
            try {
                of(0);
            } catch (IllegalArgumentException e) {
                result++;
            }
        }
        // An exception, and the end of ten calls.
        result += caught(9);
        // Of 44, those that make an array.
        for (int i = 0; i < 44; i++) result += branches(i);
        System.out.println(result);
        Hits.print();
    }
}
