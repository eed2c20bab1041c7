import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.graalvm.visualvm.lib.jfluid.ProfilerClient;
import org.graalvm.visualvm.lib.jfluid.ProfilerEngineSettings;
import org.graalvm.visualvm.lib.jfluid.TargetAppRunner;
import org.graalvm.visualvm.lib.jfluid.client.AppStatusHandler;
import org.graalvm.visualvm.lib.jfluid.client.ClientUtils.SourceCodeSelection;
import org.graalvm.visualvm.lib.jfluid.client.ProfilingPointsProcessor;
import org.graalvm.visualvm.lib.jfluid.client.RuntimeProfilingPoint;
import org.graalvm.visualvm.lib.jfluid.filters.GenericFilter;
import org.graalvm.visualvm.lib.jfluid.filters.JavaTypeFilter;
import org.graalvm.visualvm.lib.jfluid.global.CommonConstants;
import org.graalvm.visualvm.lib.jfluid.results.CCTNode;
import org.graalvm.visualvm.lib.jfluid.results.ProfilingResultsDispatcher;
import org.graalvm.visualvm.lib.jfluid.results.RuntimeCCTNode;
import org.graalvm.visualvm.lib.jfluid.results.cpu.CPUCallGraphBuilder;
import org.graalvm.visualvm.lib.jfluid.results.cpu.CPUCCTProvider;
import org.graalvm.visualvm.lib.jfluid.results.cpu.CPUResultsSnapshot;
import org.graalvm.visualvm.lib.jfluid.results.cpu.FlatProfileBuilder;
import org.graalvm.visualvm.lib.jfluid.results.cpu.PrestimeCPUCCTNode;

/**
 * VisualVM's profiling engine without its window: connects to a JVM that has the engine's agent and waits, has methods
 * instrumented, lets it run, and when it ends prints how many calls and contexts were counted.
 *
 * <p>{@code Driver LIBRARIES PORT JAVA RELEASE ROOT FILTER OUT}: ROOT is a class or {@code package.**} whose methods begin the
 * profile; FILTER the names of classes that are instrumented, or {@code *}.
 */
public final class Driver {
    public static void main(String[] args) throws Exception {
        Path out = Path.of(args[6]);
        try {
            Files.writeString(out, profile(args));
        } catch (Throwable failure) {
            failure.printStackTrace();
            Files.writeString(out, "VisualVM's engine failed: " + failure + "\n");
        }
        // Threads of the engine would keep it running.
        Runtime.getRuntime().halt(0);
    }

    private static String profile(String[] args) throws Exception {
        Status status = new Status();
        // The engine insists on knowing what its probes cost. It finds out with a JVM of its own, which needs a port.
        ProfilerEngineSettings calibration = settings(args);
        calibration.setPortNo(calibration.getPortNo() + 1);
        TargetAppRunner calibrator = new TargetAppRunner(calibration, status, new NoPoints());
        if (!calibrator.readSavedCalibrationData() && !calibrator.calibrateInstrumentationCode()) {
            return "VisualVM's engine could not be calibrated; " + status.said();
        }
        ProfilerEngineSettings settings = settings(args);
        status = new Status();
        TargetAppRunner runner = new TargetAppRunner(settings, status, new NoPoints());
        ProfilerClient client = runner.getProfilerClient();
        CPUCallGraphBuilder builder = new CPUCallGraphBuilder();
        FlatProfileBuilder flat = new FlatProfileBuilder();
        ProfilingResultsDispatcher dispatcher = ProfilingResultsDispatcher.getDefault();
        dispatcher.addListener(builder);
        builder.addListener(flat);
        flat.setContext(client, null, null);
        client.registerFlatProfileProvider(flat);
        client.registerCPUCCTProvider(builder);
        builder.startup(client);
        dispatcher.startup(client);
        if (!runner.readSavedCalibrationData()) {
            return status.said();
        }
        client.initiateRecursiveCPUProfInstrumentation(settings.getInstrumentationRootMethods());
        if (!runner.initiateSession(2, false)) {
            return "VisualVM's engine could not begin a session; " + status.said();
        }
        if (!runner.attachToTargetVMOnStartup()) {
            return "VisualVM's engine could not connect; " + status.said();
        }
        status.ended.await();
        CPUResultsSnapshot snapshot = client.getCPUProfilingResultsSnapshot(true);
        long calls = snapshot.getFlatProfile(-1, CPUResultsSnapshot.METHOD_LEVEL_VIEW).getNTotalInvocations();
        long[] contexts = {0, 0};
        count(snapshot.getRootNode(CPUResultsSnapshot.METHOD_LEVEL_VIEW), contexts);
        runner.terminateTargetJVM();
        return "calls " + calls + "\ncontexts " + contexts[0] + "\n" + status.said();
    }

    private static void count(CCTNode node, long[] contexts) {
        for (int i = 0; i < node.getNChildren(); i++) {
            contexts[0]++;
            count(node.getChild(i), contexts);
        }
    }

    private static ProfilerEngineSettings settings(String[] args) throws Exception {
        ProfilerEngineSettings settings = new ProfilerEngineSettings();
        settings.initialize(args[0]);
        settings.setPortNo(Integer.parseInt(args[1]));
        settings.setTargetJVMExeFile(args[2]);
        settings.setTargetJDKVersionString("jdk" + args[3] + "0");
        settings.setSeparateConsole(false);
        settings.setSystemArchitecture(CommonConstants.ARCH_64);
        settings.setCPUProfilingType(CommonConstants.CPU_INSTR_FULL);
        settings.setInstrScheme(CommonConstants.INSTRSCHEME_TOTAL);
        settings.setInstrumentEmptyMethods(true);
        settings.setInstrumentGetterSetterMethods(true);
        settings.setInstrumentSpawnedThreads(true);
        settings.setInstrumentMethodInvoke(true);
        settings.setNProfiledThreadsLimit(512);
        settings.setThreadCPUTimerOn(false);
        settings.setThreadsMonitoringEnabled(false);
        settings.setLockContentionMonitoringEnabled(false);
        settings.setInstrumentationRootMethods(
                new SourceCodeSelection[] {new SourceCodeSelection(args[4], "*", "")});
        if (!args[5].equals("*")) {
            settings.setInstrumentationFilter(new JavaTypeFilter(args[5], GenericFilter.TYPE_INCLUSIVE));
        }
        return settings;
    }

    /** What the engine would show in a window. */
    private static final class Status implements AppStatusHandler {
        final CountDownLatch ended = new CountDownLatch(1);
        private final StringBuilder said = new StringBuilder();

        String said() {
            return said.isEmpty() ? "" : "it said: " + said + "\n";
        }

        private void say(String message) {
            System.err.println("VisualVM: " + message);
            said.append(said.isEmpty() ? "" : "; ").append(message.replace('\n', ' '));
        }

        @Override
        public AsyncDialog getAsyncDialogInstance(String message, boolean progress, Runnable cancel) {
            return new AsyncDialog() {
                @Override
                public void close() {}

                @Override
                public void display() {}
            };
        }

        @Override
        public void displayError(String message) {
            say(message);
        }

        @Override
        public void displayErrorAndWaitForConfirm(String message) {
            say(message);
        }

        @Override
        public void displayErrorWithDetailsAndWaitForConfirm(String message, String details) {
            say(message);
        }

        @Override
        public void displayNotification(String message) {}

        @Override
        public void displayNotificationAndWaitForConfirm(String message) {}

        @Override
        public void displayNotificationWithDetailsAndWaitForConfirm(String message, String details) {}

        @Override
        public void displayWarning(String message) {
            say(message);
        }

        @Override
        public void displayWarningAndWaitForConfirm(String message) {
            say(message);
        }

        @Override
        public void resultsAvailable() {}

        @Override
        public void takeSnapshot() {}

        @Override
        public boolean confirmWaitForConnectionReply() {
            return true;
        }

        @Override
        public void handleShutdown() {
            ended.countDown();
        }

        @Override
        public void pauseLiveUpdates() {}

        @Override
        public void resumeLiveUpdates() {}
    }

    private static final class NoPoints extends ProfilingPointsProcessor {
        @Override
        public void profilingPointHit(RuntimeProfilingPoint.HitEvent event) {}

        @Override
        public void timeAdjust(int thread, long absolute, long cpu) {}

        @Override
        public void init(Object context) {}

        @Override
        public RuntimeProfilingPoint[] getSupportedProfilingPoints() {
            return new RuntimeProfilingPoint[0];
        }
    }
}
