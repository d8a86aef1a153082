package tallystick.corda;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The ends of a node's logs, for the message of a failure. */
final class Logs {
    /** Lines of each log, and bytes of its end that are read for them. */
    private static final int LINES_MAX = 15;
    private static final int BYTES_MAX = 8_000;

    private Logs() {}

    /**
     * Returns the end of what the program in a folder has written to its standard output and error, then the end of the newest of its log
     * files. A log that is missing or cannot be read is left out, so that it does not hide the failure.
     */
    static String end(Path folder) {
        return Stream.of(Optional.of(folder.resolve(KeptProcess.OUTPUT)), newest(folder.resolve("logs")))
                .filter(Optional::isPresent)
                .map(log -> endOf(log.get()))
                .filter(text -> !text.isEmpty())
                .collect(Collectors.joining("\n"));
    }

    private static Optional<Path> newest(Path folder) {
        if (!Files.isDirectory(folder)) {
            return Optional.empty();
        }
        try (Stream<Path> files = Files.list(folder)) {
            List<Path> logs = files.filter(file -> file.toString().endsWith(".log")).collect(Collectors.toList());
            return logs.stream().max(Comparator.comparing(log -> log.toFile().lastModified()));
        } catch (IOException error) {
            return Optional.empty();
        }
    }

    private static String endOf(Path log) {
        try (RandomAccessFile from = new RandomAccessFile(log.toFile(), "r")) {
            long length = from.length();
            byte[] bytes = new byte[(int) Math.min(length, BYTES_MAX)];
            from.seek(length - bytes.length);
            from.readFully(bytes);
            String[] lines = new String(bytes, StandardCharsets.UTF_8).split("\n");
            return String.join("\n", Arrays.asList(lines).subList(Math.max(0, lines.length - LINES_MAX), lines.length)).trim();
        } catch (IOException error) {
            return "";
        }
    }
}
