package tallystick.corda;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Ends the processes and deletes the folder when the connector ends: when standard input ends, on SIGTERM, and after any failure. It is a
 * shutdown hook, so it is registered before there is anything to clean up.
 */
final class Cleanup extends Thread {
    /** Time in which all processes end together. The laboratory kills what is left 30 seconds after it has closed standard input. */
    private static final long END_S_MAX = 10;
    private static final int DELETE_TRIES_MAX = 20;
    private static final long DELETE_EVERY_MS = 250;

    private final Path folder;
    private final List<KeptProcess> processes = new ArrayList<>();
    private boolean isKept;

    Cleanup(Path folder) {
        super("cleanup");
        this.folder = folder;
    }

    /** Takes care of a process. Returns it. */
    synchronized KeptProcess add(KeptProcess process) {
        processes.add(process);
        return process;
    }

    /** Decides whether the folder stays. */
    synchronized void keep(boolean isKept) {
        this.isKept = isKept;
    }

    @Override
    public synchronized void run() {
        for (KeptProcess process : processes) {
            try {
                process.close();
            } catch (IOException error) {
                // It has ended by itself. The others still have to be closed.
                System.err.println("corda connector: a keeper is gone: " + error);
            }
        }
        long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(END_S_MAX);
        for (KeptProcess process : processes) {
            process.awaitEnd(until - System.nanoTime());
        }
        if (isKept) {
            System.err.println("corda connector: the network is kept in " + folder);
        } else {
            delete();
        }
    }

    private void delete() {
        for (int tries = 1; ; tries++) {
            try {
                Folders.delete(folder);
                return;
            } catch (IOException error) {
                // A preparation that was under way may still write.
                if (tries == DELETE_TRIES_MAX || !pause()) {
                    System.err.println("corda connector: " + folder + " is not deleted: " + error);
                    return;
                }
            }
        }
    }

    private static boolean pause() {
        try {
            Thread.sleep(DELETE_EVERY_MS);
            return true;
        } catch (InterruptedException error) {
            return false;
        }
    }
}
