package tallystick.corda;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.Stream;
import kotlin.jvm.functions.Function0;
import kotlin.jvm.functions.Function1;
import net.corda.core.messaging.CordaRPCOps;
import net.corda.nodeapi.internal.ContractsJarFile;
import net.corda.nodeapi.internal.network.CopyCordapps;
import net.corda.nodeapi.internal.network.NetworkBootstrapper;
import net.corda.nodeapi.internal.network.NetworkParametersOverrides;

/**
 * A notary and two banks on this machine, each a process. Corda's own bootstrapper makes their folders once: keys, TLS certificates, tables,
 * node infos and network parameters. Each preparation starts the nodes with a copy of these folders.
 */
final class Network {
    private static final String[][] NODES = {
        {"notary", "O=Notary,L=Zurich,C=CH"}, {"bank-a", "O=Bank A,L=London,C=GB"}, {"bank-b", "O=Bank B,L=New York,C=US"}
    };
    private static final int PORTS_PER_NODE = 3;
    /** Part of the file system, in percent, that has to be free. A node's message broker blocks all messages below 10 %. */
    private static final long FREE_PERCENT_MIN = 12;
    private static final long RETRY_MS = 500;
    private static final int RETRIES_MAX = 600;

    final List<Node> nodes = new ArrayList<>();
    private final Path folder;
    private final Path template;
    private final Path cordapps;
    private boolean isBootstrapped;

    Network(Path home, Path folder, NodeProgram program, Cleanup cleanup) throws IOException {
        this.folder = folder;
        this.template = folder.resolve("template");
        this.cordapps = home.resolve("target/cordapps");
        List<Integer> ports = freePorts(NODES.length * PORTS_PER_NODE);
        for (String[] node : NODES) {
            int first = nodes.size() * PORTS_PER_NODE;
            int[] own = {ports.get(first), ports.get(first + 1), ports.get(first + 2)};
            Path data = Files.createDirectory(folder.resolve(node[0]));
            KeptProcess process = cleanup.add(new KeptProcess(home.resolve("keep")));
            nodes.add(new Node(node[0], node[1], data, own, program, process));
        }
    }

    /** Replaces running nodes by nodes without transactions. Returns connections to the notary and the banks once they know each other. */
    List<CordaRPCOps> restart(long heapMb) throws Exception {
        stop();
        checkDisk();
        if (!isBootstrapped) {
            bootstrap();
            isBootstrapped = true;
        }
        for (Node node : nodes) {
            Folders.empty(node.folder);
            Folders.copy(template.resolve(node.name), node.folder);
            node.start(heapMb);
        }
        List<CordaRPCOps> connections = new ArrayList<>();
        for (Node node : nodes) {
            connections.add(node.connect());
        }
        for (CordaRPCOps connection : connections) {
            awaitMap(connection);
        }
        return connections;
    }

    void stop() throws Exception {
        for (Node node : nodes) {
            node.stop();
        }
    }

    private void checkDisk() throws Exception {
        FileStore disk = Files.getFileStore(folder);
        long percent = disk.getUsableSpace() * 100 / disk.getTotalSpace();
        if (percent < FREE_PERCENT_MIN) {
            throw new Failure("corda.disk_full", percent + " % of the file system of " + folder + " are free, but Corda needs " + FREE_PERCENT_MIN
                    + " %. Free some, or set TMPDIR to a folder on another one.");
        }
    }

    private void bootstrap() throws Exception {
        // An attempt that failed has left its part.
        if (Files.exists(template)) {
            Folders.delete(template);
        }
        Files.createDirectory(template);
        for (Node node : nodes) {
            Files.write(template.resolve(node.name + "_node.conf"), node.configuration().getBytes(StandardCharsets.UTF_8));
        }
        Folders.copy(cordapps, template);
        // The bootstrapper puts a program into each folder. These nodes run from the unpacked one, so an empty file will do.
        URL placeholder = Files.write(folder.resolve("corda.jar"), new byte[0]).toUri().toURL();
        Function0<URL> program = () -> placeholder;
        Function1<List<? extends Path>, List<Path>> nodeInfos = this::makeNodeInfos;
        NetworkBootstrapper bootstrapper = new NetworkBootstrapper(true, program, nodeInfos, ContractsJarFile::new);
        try {
            bootstrapper.bootstrap(template, CopyCordapps.FirstRunOnly, new NetworkParametersOverrides());
        } catch (Throwable error) {
            throw bootstrapFailed(error);
        }
        for (Node node : nodes) {
            Folders.delete(template.resolve(node.name).resolve("logs"));
            Files.delete(template.resolve(node.name).resolve(KeptProcess.OUTPUT));
            Files.delete(template.resolve(node.name).resolve("corda.jar"));
        }
    }

    /** Returns a failure of the bootstrapper with the ends of the logs. A task of ours that failed has them already. */
    private Failure bootstrapFailed(Throwable error) {
        Failure failure = Failure.of(error);
        if (failure == error || failure.code.startsWith("corda.task_")) {
            return failure;
        }
        StringBuilder message = new StringBuilder("Corda's bootstrapper: ").append(error);
        for (Node node : nodes) {
            String end = Logs.end(template.resolve(node.name));
            if (!end.isEmpty()) {
                message.append("\n").append(node.name).append(":\n").append(end);
            }
        }
        return new Failure("corda.bootstrap_failed", message.toString());
    }

    /** Makes tables, keys and node infos, as the bootstrapper does by default, but in processes that do not outlive this one. */
    private List<Path> makeNodeInfos(List<? extends Path> folders) {
        ExecutorService threads = Executors.newFixedThreadPool(folders.size());
        try {
            List<CompletableFuture<Path>> made = new ArrayList<>();
            for (Path in : folders) {
                made.add(CompletableFuture.supplyAsync(() -> makeNodeInfo(in), threads));
            }
            List<Path> files = new ArrayList<>();
            for (CompletableFuture<Path> one : made) {
                files.add(one.join());
            }
            return files;
        } finally {
            threads.shutdown();
        }
    }

    private Path makeNodeInfo(Path in) {
        String name = in.getFileName().toString();
        Node node = nodes.stream().filter(one -> one.name.equals(name)).findFirst().get();
        try {
            node.runTask(in, "run-migration-scripts", "--core-schemas", "--app-schemas");
            node.runTask(in, "generate-node-info");
            try (Stream<Path> files = Files.list(in)) {
                return files.filter(file -> file.getFileName().toString().startsWith("nodeInfo-")).findFirst()
                        .orElseThrow(() -> new Failure("corda.task_failed", name + ": there is no node info\n" + Logs.end(in)));
            }
        } catch (Exception error) {
            throw new CompletionException(error);
        }
    }

    /** Waits until a node knows all others. */
    private void awaitMap(CordaRPCOps connection) throws Exception {
        for (int tries = 0; connection.networkMapSnapshot().size() < nodes.size(); tries++) {
            if (tries == RETRIES_MAX) {
                throw new Failure("corda.no_network_map", "a node does not know the other ones");
            }
            Thread.sleep(RETRY_MS);
        }
    }

    private static List<Integer> freePorts(int count) throws IOException {
        List<ServerSocket> sockets = new ArrayList<>();
        List<Integer> ports = new ArrayList<>();
        try {
            for (int at = 0; at < count; at++) {
                ServerSocket socket = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"));
                sockets.add(socket);
                ports.add(socket.getLocalPort());
            }
        } finally {
            for (ServerSocket socket : sockets) {
                socket.close();
            }
        }
        return ports;
    }
}
