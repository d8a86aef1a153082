package tallystick.corda;

import java.util.List;

/** The result of an audit: the units that are there, and anything that is wrong. */
final class Audit {
    final long recorded;
    final List<String> findings;

    Audit(long recorded, List<String> findings) {
        this.recorded = recorded;
        this.findings = findings;
    }
}
