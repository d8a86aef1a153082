package tallystick.corda;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import net.corda.core.messaging.CordaRPCOps;

/** Connects a Corda network to the laboratory: reads requests from standard input and writes answers to standard output, each a line of JSON. */
public final class Main {
    private static final int PROTOCOL = 1;
    private static final ObjectMapper JSON = new ObjectMapper();

    private final PrintStream answers;
    private final Cleanup cleanup;
    private final NodeProgram program;
    private final Network network;
    private volatile List<CordaRPCOps> connections;
    private volatile Payments payments;

    private Main(PrintStream answers, Path home, Path folder, Cleanup cleanup) throws IOException {
        this.answers = answers;
        this.cleanup = cleanup;
        this.program = new NodeProgram(home.resolve("target/node"));
        this.network = new Network(home, folder, program, cleanup);
    }

    /** Takes the connector's folder as its argument. */
    public static void main(String[] arguments) {
        // Libraries print to standard output, where only answers belong.
        PrintStream answers = System.out;
        System.setOut(System.err);
        int status = 1;
        try {
            Path folder = Files.createTempDirectory("tally-corda-");
            Cleanup cleanup = new Cleanup(folder);
            Runtime.getRuntime().addShutdownHook(cleanup);
            Main main = new Main(answers, Paths.get(arguments[0]), folder, cleanup);
            main.greet();
            main.serve();
            status = 0;
        } catch (Throwable error) {
            // The laboratory shows the end of this.
            error.printStackTrace();
            System.err.println("corda connector: " + error);
        }
        // Threads of the connections would keep the process alive.
        System.exit(status);
    }

    private void greet() throws IOException {
        ObjectNode hello = JSON.createObjectNode().put("protocol", PROTOCOL).put("name", "Corda Open Source " + program.version);
        for (Node node : network.nodes) {
            ObjectNode process = hello.withArray("processes").addObject();
            process.put("name", node.name).put("pid", node.process.pid()).put("folder", node.folder.toString());
        }
        write(hello);
    }

    /** Answers requests until standard input is closed. Each has a thread until its flow has started. */
    private void serve() throws IOException {
        ExecutorService threads = Executors.newCachedThreadPool();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode request = JSON.readTree(line);
            threads.execute(() -> answer(request));
        }
    }

    private void answer(JsonNode request) {
        long id = request.path("id").asLong();
        try {
            switch (request.path("do").asText()) {
                case "prepare":
                    prepare(Work.read(request.path("work")));
                    succeed(id, JSON.createObjectNode());
                    break;
                case "start":
                    start(id, request.path("unit").asLong());
                    break;
                case "audit":
                    Audit audit = prepared().audit();
                    succeed(id, JSON.createObjectNode().put("recorded", audit.recorded).set("findings", JSON.valueToTree(audit.findings)));
                    break;
                case "metrics":
                    succeed(id, metrics());
                    break;
                default:
                    throw new Failure("corda.no_such_request", "no such request: " + request);
            }
        } catch (Throwable error) {
            // An Error, such as a class that is missing, would otherwise end this thread and leave the request without an answer.
            fail(id, error);
        }
    }

    private synchronized void prepare(Work work) throws Exception {
        cleanup.keep(work.keep);
        payments = null;
        connections = null;
        List<CordaRPCOps> nodes = network.restart(work.heapMb);
        payments = new Payments(work, nodes.get(1), nodes.get(2));
        connections = nodes;
    }

    private void start(long id, long unit) throws Failure {
        prepared().start(unit).whenComplete((none, error) -> {
            if (error == null) {
                succeed(id, JSON.createObjectNode());
            } else {
                fail(id, error);
            }
        });
    }

    private Payments prepared() throws Failure {
        Payments present = payments;
        if (present == null) {
            throw new Failure("corda.not_prepared", "nothing was prepared");
        }
        return present;
    }

    /** Returns flows in progress and the size of the database of each node. */
    private ObjectNode metrics() throws IOException {
        ObjectNode values = JSON.createObjectNode();
        List<CordaRPCOps> present = connections;
        for (int at = 0; present != null && at < present.size(); at++) {
            Node node = network.nodes.get(at);
            values.put(node.name + ".flows", present.get(at).stateMachinesSnapshot().size());
            values.put(node.name + ".database_bytes", node.databaseBytes());
        }
        return values;
    }

    private void succeed(long id, JsonNode value) {
        write(JSON.createObjectNode().put("id", id).set("ok", value));
    }

    private void fail(long id, Throwable error) {
        Failure failure = Failure.of(error);
        ObjectNode words = JSON.createObjectNode().put("code", failure.code).put("message", failure.getMessage());
        write(JSON.createObjectNode().put("id", id).set("error", words));
    }

    private void write(JsonNode line) {
        byte[] bytes = (line + "\n").getBytes(StandardCharsets.UTF_8);
        synchronized (answers) {
            answers.write(bytes, 0, bytes.length);
            answers.flush();
        }
    }
}
