package quipu;

import java.util.Objects;

/**
 * A method: class, name and signature. The operations of Binder's <i>method identifier</i> have these names here:
 * {@code createMID} is {@link #of}, {@code getClass} is {@link #getClassName} (every Java object has another
 * {@code getClass}), {@code getName} and {@code getSig} are the same.
 */
public final class MethodId {
    private final String className;
    private final String name;
    private final String sig;

    private MethodId(String className, String name, String sig) {
        this.className = Objects.requireNonNull(className);
        this.name = Objects.requireNonNull(name);
        this.sig = Objects.requireNonNull(sig);
    }

    /** The method with this class, name and signature. */
    public static MethodId of(String className, String name, String sig) {
        return new MethodId(className, name, sig);
    }

    /** The class's binary name, with dots: {@code java.util.Map$Entry}. */
    public String getClassName() {
        return className;
    }

    /** The name; {@code <init>} is a constructor, {@code <clinit>} a static initialiser. */
    public String getName() {
        return name;
    }

    /** The descriptor, as in class files: {@code (II)I}. */
    public String getSig() {
        return sig;
    }

    @Override
    public boolean equals(Object other) {
        if (this == other) {
            return true;
        }
        if (!(other instanceof MethodId)) {
            return false;
        }
        MethodId that = (MethodId) other;
        return name.equals(that.name) && className.equals(that.className) && sig.equals(that.sig);
    }

    @Override
    public int hashCode() {
        return (className.hashCode() * 31 + name.hashCode()) * 31 + sig.hashCode();
    }

    /** {@code Foo.sum(II)I}. */
    @Override
    public String toString() {
        return className + '.' + name + sig;
    }
}
