import java.util.ArrayList;
import java.util.List;
import javax.tools.ToolProvider;

/** The compiler, in this process. */
public class Compile {
    public static void main(String[] args) {
        List<String> arguments = new ArrayList<>(List.of("-proc:none", "-d", "out"));
        arguments.addAll(List.of(args));
        int status = ToolProvider.getSystemJavaCompiler().run(null, null, null, arguments.toArray(String[]::new));
        System.out.println(status);
    }
}
