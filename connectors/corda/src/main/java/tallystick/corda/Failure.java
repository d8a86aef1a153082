package tallystick.corda;

import java.util.Locale;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;

/** A request that failed, with the stable code by which the laboratory counts it. */
final class Failure extends Exception {
    /** Maximum length of a code. */
    private static final int CODE_CHARS_MAX = 100;
    /** Causes that are looked through. A cause can have itself as its cause. */
    private static final int CAUSES_MAX = 20;

    final String code;

    Failure(String code, String message) {
        super(message);
        this.code = code;
    }

    /** Converts any error. A failure of ours is found behind the exceptions that Corda wraps it in. Another exception or error gets a code from its name, such as {@code corda.insufficient_balance_exception}. */
    static Failure of(Throwable error) {
        Throwable inner = error;
        for (int depth = 0; inner != null && depth < CAUSES_MAX; depth++, inner = inner.getCause()) {
            if (inner instanceof Failure) {
                return (Failure) inner;
            }
        }
        Throwable cause = error;
        while ((cause instanceof CompletionException || cause instanceof ExecutionException) && cause.getCause() != null) {
            cause = cause.getCause();
        }
        String words = cause.getClass().getSimpleName().replaceAll("([a-z])([A-Z])", "$1_$2").toLowerCase(Locale.ROOT);
        String code = "corda." + words.replaceAll("[^a-z0-9_]", "");
        return new Failure(code.substring(0, Math.min(code.length(), CODE_CHARS_MAX)), String.valueOf(cause.getMessage()));
    }
}
