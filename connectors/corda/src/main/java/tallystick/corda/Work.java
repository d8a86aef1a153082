package tallystick.corda;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;

/** The keys of {@code [work]}, checked. */
final class Work {
    /** The flow of a unit. */
    enum Flow {
        /** Issues cash to the first bank itself. */
        ISSUE,
        /** Issues cash and pays it to the second bank. */
        ISSUE_AND_PAY,
        /** Pays the second bank from cash that was issued before the load. */
        PAY
    }

    private static final List<String> KEYS = Arrays.asList("flow", "quantity", "coins", "heap_mb", "keep");

    final Flow flow;
    /** Amount of a unit, in cents. */
    final long quantity;
    /** Number of states that {@code pay} finds at the start. */
    final long coins;
    /** Heap of each node, MB. */
    final long heapMb;
    /** Whether the folders stay when the connector ends. */
    final boolean keep;

    private Work(Flow flow, long quantity, long coins, long heapMb, boolean keep) {
        this.flow = flow;
        this.quantity = quantity;
        this.coins = coins;
        this.heapMb = heapMb;
        this.keep = keep;
    }

    static Work read(JsonNode keys) throws Failure {
        for (Iterator<String> names = keys.fieldNames(); names.hasNext(); ) {
            String name = names.next();
            if (!KEYS.contains(name)) {
                throw bad("no such key " + name + "; there are " + String.join(", ", KEYS));
            }
        }
        long quantity = number(keys, "quantity", 1_000, 1, 1_000_000);
        long coins = number(keys, "coins", 200, 1, 10_000);
        long heapMb = number(keys, "heap_mb", 1_024, 256, 65_536);
        JsonNode keep = keys.path("keep");
        if (!keep.isMissingNode() && !keep.isBoolean()) {
            throw bad("keep is " + keep + "; true and false are allowed");
        }
        return new Work(flow(keys.path("flow").asText("issue_and_pay")), quantity, coins, heapMb, keep.asBoolean(false));
    }

    private static Flow flow(String name) throws Failure {
        switch (name) {
            case "issue":
                return Flow.ISSUE;
            case "issue_and_pay":
                return Flow.ISSUE_AND_PAY;
            case "pay":
                return Flow.PAY;
            default:
                throw bad("flow is " + name + "; issue, issue_and_pay and pay are allowed");
        }
    }

    private static long number(JsonNode keys, String key, long otherwise, long least, long most) throws Failure {
        JsonNode value = keys.path(key);
        if (value.isMissingNode()) {
            return otherwise;
        }
        if (!value.canConvertToLong() || !value.isIntegralNumber() || value.asLong() < least || value.asLong() > most) {
            throw bad(key + " is " + value + "; a number from " + least + " to " + most + " is allowed");
        }
        return value.asLong();
    }

    private static Failure bad(String message) {
        return new Failure("corda.bad_work", message);
    }
}
