import java.util.Set;
import quipu.Context;
import quipu.ExactProfiler;
import quipu.MethodId;

/** Checks what must hold for contexts whenever it is called, and prints those of one class at the end. */
public class Laws implements ExactProfiler {
    private Context main;
    private boolean broken;
    private long checked;
    private boolean detached;

    public Laws() {
        Runtime.getRuntime().addShutdownHook(new Thread(this::print, "printer"));
    }

    @Override
    public int register(Thread thread, Context root) {
        require(root.isRoot() && root.equals(root), "a root is a root");
        for (Runnable undefined : new Runnable[] {root::getCaller, root::getCalls, root::getMID, root::getInstr}) {
            try {
                undefined.run();
                require(false, "the root is no call");
            } catch (IllegalStateException expected) {
                checked++;
            }
        }
        if (thread.getName().equals("main")) {
            main = root;
        }
        return 200;
    }

    @Override
    public int processMCT(Context current) {
        require(!current.isRoot() && current.getCalls() >= 1, "what runs was called");
        MethodId method = current.getMID();
        require(method.equals(MethodId.of(method.getClassName(), method.getName(), method.getSig())), "createMID");
        Context context = current;
        while (!context.isRoot()) {
            Context caller = context.getCaller();
            require(caller.getCallees().contains(context), "a callee of its caller: " + context);
            context = caller;
        }
        Set<Context> callees = current.getCallees();
        for (Context callee : callees) {
            require(callee.getCaller().equals(current), "the caller of its callee");
            require(callee.getCalls() >= 1 && callee.getInstr() >= 0, "called and counted");
            require(callee.hashCode() == find(callees, callee).hashCode(), "equal contexts");
        }
        return 200;
    }

    @Override
    public void detached() {
        detached = true;
    }

    private static Context find(Set<Context> contexts, Context wanted) {
        return contexts.stream().filter(wanted::equals).findFirst().get();
    }

    private synchronized void require(boolean holds, String law) {
        checked++;
        if (!holds && !broken) {
            broken = true;
            System.err.println("broken: " + law);
        }
    }

    private void print() {
        System.err.println("laws hold: " + (!broken && checked > 100) + ", detached: " + detached);
        print(main);
    }

    private void print(Context context) {
        for (Context callee : context.getCallees()) {
            MethodId method = callee.getMethodId();
            if (method.getClassName().equals("Foo")) {
                System.err.println(method + " " + callee.getCalls() + " " + callee.getInstr());
            }
            print(callee);
        }
    }
}
