package tallystick.corda;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A keeper: a small process that runs one program at a time and ends with this one, even if this one is killed. The laboratory monitors it
 * together with its program, so its id can be named before the program runs.
 */
final class KeptProcess {
    /** File in a program's folder with what it writes to its standard output and error. */
    static final String OUTPUT = "console.log";

    /** Time in which a program ends after it was killed. */
    private static final long STOP_S_MAX = 10;

    private final Process keeper;
    private final OutputStream lines;
    /** The exit status of the program that runs, or of the last one. */
    private volatile CompletableFuture<Integer> ended = CompletableFuture.completedFuture(0);

    KeptProcess(Path script) throws IOException {
        keeper = new ProcessBuilder(script.toString()).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        lines = keeper.getOutputStream();
        Thread reader = new Thread(this::read, "keeper");
        reader.setDaemon(true);
        reader.start();
    }

    /** Starts a program in a folder. Returns its exit status, which is known when it has ended. */
    synchronized CompletableFuture<Integer> start(Path folder, List<String> command) throws IOException, Failure {
        stop();
        CompletableFuture<Integer> status = new CompletableFuture<>();
        ended = status;
        List<String> words = new ArrayList<>();
        words.add(folder.toString());
        words.addAll(command);
        write(String.join("\t", words));
        return status;
    }

    /** Kills the program, if one runs, and waits for its end. */
    synchronized void stop() throws IOException, Failure {
        if (ended.isDone()) {
            return;
        }
        write("");
        try {
            ended.get(STOP_S_MAX, TimeUnit.SECONDS);
        } catch (TimeoutException error) {
            throw new Failure("corda.not_stopped", "a killed node is still there after " + STOP_S_MAX + " s");
        } catch (Exception error) {
            throw Failure.of(error);
        }
    }

    /** Ends the program and the keeper, which may take a moment. */
    void close() throws IOException {
        lines.close();
    }

    /** Waits until a closed keeper has ended with its program. One that does not end in time is asked once more, by a signal. */
    void awaitEnd(long nanos) {
        try {
            if (!keeper.waitFor(nanos, TimeUnit.NANOSECONDS)) {
                keeper.destroy();
            }
        } catch (InterruptedException error) {
            keeper.destroy();
        }
    }

    /** Returns the exit status of the program, or null while it runs. */
    Integer status() {
        return ended.getNow(null);
    }

    private void write(String line) throws IOException {
        lines.write((line + "\n").getBytes(StandardCharsets.UTF_8));
        lines.flush();
    }

    private void read() {
        try (BufferedReader from = new BufferedReader(new InputStreamReader(keeper.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = from.readLine(); line != null; line = from.readLine()) {
                ended.complete(Integer.valueOf(line.substring(line.indexOf(' ') + 1)));
            }
        } catch (IOException | NumberFormatException error) {
            System.err.println("keeper: " + error);
        }
        ended.complete(-1);
    }

    /** Returns the keeper's process id. */
    long pid() throws IOException {
        // Process.pid() came with Java 9.
        try {
            java.lang.reflect.Field pid = keeper.getClass().getDeclaredField("pid");
            pid.setAccessible(true);
            return pid.getInt(keeper);
        } catch (ReflectiveOperationException error) {
            throw new IOException("the process id cannot be read", error);
        }
    }
}
