package tallystick.corda;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import net.corda.client.rpc.CordaRPCClient;
import net.corda.client.rpc.CordaRPCConnection;
import net.corda.core.identity.CordaX500Name;
import net.corda.core.messaging.CordaRPCOps;
import net.corda.core.utilities.NetworkHostAndPort;

/** A node or notary: its keeper, its folder, its ports and a connection to it. */
final class Node {
    private static final String USER = "lab";
    /** Time limits for a start, and for a task such as the creation of tables. */
    private static final long START_S_MAX = 1_800;
    private static final long TASK_S_MAX = 1_800;
    private static final long RETRY_MS = 1_000;

    final String name;
    final CordaX500Name legalName;
    /** Folder of the data while the node runs. */
    final Path folder;
    final KeptProcess process;
    private final NodeProgram program;
    private final boolean isNotary;
    private final int[] ports;
    private CordaRPCConnection connection;

    Node(String name, String legalName, Path folder, int[] ports, NodeProgram program, KeptProcess process) {
        this.name = name;
        this.legalName = CordaX500Name.parse(legalName);
        this.folder = folder;
        this.ports = ports;
        this.program = program;
        this.isNotary = name.equals("notary");
        this.process = process;
    }

    /** Returns the node's configuration. Everything that it does not name has Corda's default. */
    String configuration() {
        String notary = isNotary ? "notary { validating = false }\n" : "";
        return "myLegalName = \"" + legalName + "\"\n"
                + "p2pAddress = \"localhost:" + ports[0] + "\"\n"
                + "rpcSettings { address = \"127.0.0.1:" + ports[1] + "\", adminAddress = \"127.0.0.1:" + ports[2] + "\" }\n"
                + "rpcUsers = [{ user = " + USER + ", password = " + USER + ", permissions = [ALL] }]\n"
                + "devMode = true\n" + notary;
    }

    /** Runs the node's program for a task in a folder, and waits for its end. */
    void runTask(Path in, String... arguments) throws Exception {
        String task = name + ": " + arguments[0];
        try {
            int status = process.start(in, program.task(arguments)).get(TASK_S_MAX, TimeUnit.SECONDS);
            if (status != 0) {
                throw new Failure("corda.task_failed", task + " ended with " + status + "\n" + Logs.end(in));
            }
        } catch (TimeoutException error) {
            throw new Failure("corda.task_not_ended", task + " has not ended after " + TASK_S_MAX + " s\n" + Logs.end(in));
        }
    }

    void start(long heapMb) throws Exception {
        process.start(folder, program.node(heapMb));
    }

    /** Waits until the node answers, and keeps the connection. */
    CordaRPCOps connect() throws Exception {
        long start = System.nanoTime();
        CordaRPCClient client = new CordaRPCClient(new NetworkHostAndPort("127.0.0.1", ports[1]));
        while (true) {
            try {
                connection = client.start(USER, USER);
                return connection.getProxy();
            } catch (Exception error) {
                // Not ready yet, unless it has ended.
                if (process.status() != null) {
                    throw new Failure("corda.node_ended", name + " ended with " + process.status() + "\n" + Logs.end(folder));
                }
                if (TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - start) > START_S_MAX) {
                    throw new Failure("corda.node_not_ready", name + " does not answer after " + START_S_MAX + " s: " + error + "\n" + Logs.end(folder));
                }
                Thread.sleep(RETRY_MS);
            }
        }
    }

    /** Kills the node and closes the connection to it. */
    void stop() throws Exception {
        try {
            process.stop();
        } finally {
            if (connection != null) {
                connection.forceClose();
                connection = null;
            }
        }
    }

    /** Returns the bytes of the node's database. */
    long databaseBytes() throws IOException {
        Path file = folder.resolve("persistence.mv.db");
        return Files.exists(file) ? Files.size(file) : 0;
    }
}
