package tallystick.corda;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.Manifest;

/** Corda's node as published, unpacked. Its manifest gives the main class, the version and the Java agent that makes flows resumable. */
final class NodeProgram {
    /** Heap of a task, MB. */
    private static final long TASK_HEAP_MB = 512;

    final String version;
    private final Path jars;
    private final String mainClass;
    private final String agent;

    NodeProgram(Path jars) throws IOException {
        this.jars = jars;
        try (InputStream from = Files.newInputStream(jars.resolve("META-INF/MANIFEST.MF"))) {
            Attributes attributes = new Manifest(from).getMainAttributes();
            version = attributes.getValue("Corda-Release-Version");
            mainClass = attributes.getValue("Application-Class");
            agent = attributes.getValue("Java-Agents");
        }
    }

    /** Returns the command that runs a node. The class path, the agent and the garbage collector are those of the published JAR. */
    List<String> node(long heapMb) {
        return command(heapMb, Arrays.asList("-XX:+UseG1GC", "-javaagent:" + jars.resolve(agent)), "--no-local-shell");
    }

    /** Returns the command of a task that ends by itself and runs no flows: a quick start matters more than fast code. */
    List<String> task(String... arguments) {
        return command(TASK_HEAP_MB, Arrays.asList("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"), arguments);
    }

    private List<String> command(long heapMb, List<String> options, String... arguments) {
        List<String> words = new ArrayList<>();
        words.add(Paths.get(System.getProperty("java.home"), "bin", "java").toString());
        words.add("-Xmx" + heapMb + "m");
        words.addAll(options);
        words.addAll(Arrays.asList("-cp", jars + ":" + jars.resolve("*"), mainClass));
        words.addAll(Arrays.asList(arguments));
        return words;
    }
}
