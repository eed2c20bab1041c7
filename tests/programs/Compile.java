import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import javax.tools.ToolProvider;

/** The compiler, in this process. */
public class Compile {
    public static void main(String[] args) {
        List<String> arguments = new ArrayList<>(Arrays.asList("-proc:none", "-d", "out"));
        arguments.addAll(Arrays.asList(args));
        int status = ToolProvider.getSystemJavaCompiler().run(null, null, null, arguments.toArray(new String[0]));
        System.out.println(status);
    }
}
