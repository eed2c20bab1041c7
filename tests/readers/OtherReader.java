import java.io.File;
import org.netbeans.lib.profiler.heap.Heap;
import org.netbeans.lib.profiler.heap.HeapFactory;
import org.netbeans.lib.profiler.heap.JavaClass;

/** Prints how many instances of each class a dump has, as the library of the NetBeans profiler reads it. */
public class OtherReader {
    public static void main(String[] args) throws Exception {
        Heap heap = HeapFactory.createHeap(new File(args[0]));
        for (Object each : heap.getAllClasses()) {
            JavaClass type = (JavaClass) each;
            System.out.println(type.getInstancesCount() + " " + type.getName());
        }
    }
}
