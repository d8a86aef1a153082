package tallystick.corda;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Currency;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import net.corda.core.contracts.Amount;
import net.corda.core.identity.Party;
import net.corda.core.messaging.CordaRPCOps;
import net.corda.core.utilities.OpaqueBytes;
import net.corda.finance.flows.AbstractCashFlow;
import net.corda.finance.flows.CashIssueAndPaymentFlow;
import net.corda.finance.flows.CashIssueFlow;
import net.corda.finance.flows.CashPaymentFlow;

/** The units of a preparation, and their audit. */
final class Payments {
    private static final Currency CURRENCY = Currency.getInstance("USD");
    /** Units that a state of {@code pay} suffices for. */
    private static final long UNITS_PER_COIN = 1_000_000;
    /** Time for which the audit waits for flows that still run. */
    private static final long SETTLE_MS_MAX = 120_000;
    private static final long SETTLE_EVERY_MS = 100;

    private final Work work;
    private final CordaRPCOps payer;
    private final CordaRPCOps payee;
    private final Party notary;
    private final Party payeeParty;
    private final Arrivals arrivals;
    private final AtomicLong running = new AtomicLong();

    /** Takes over nodes that have no cash yet. */
    Payments(Work work, CordaRPCOps payer, CordaRPCOps payee) throws Exception {
        this.work = work;
        this.payer = payer;
        this.payee = payee;
        this.notary = payer.notaryIdentities().get(0);
        this.payeeParty = payee.nodeInfo().getLegalIdentities().get(0);
        this.arrivals = new Arrivals(payee);
        if (work.flow == Work.Flow.PAY) {
            for (long coin = 0; coin < work.coins; coin++) {
                issue(work.quantity * UNITS_PER_COIN, 0).get();
            }
        }
    }

    /** Runs a unit. Its future completes when all participants have recorded its transactions. */
    CompletableFuture<Void> start(long unit) {
        running.incrementAndGet();
        CompletableFuture<Void> ran = run(unit);
        ran.whenComplete((none, error) -> running.decrementAndGet());
        return ran;
    }

    private CompletableFuture<Void> run(long unit) {
        Amount<Currency> amount = amount(work.quantity);
        switch (work.flow) {
            case ISSUE:
                return issue(work.quantity, unit).thenApply(result -> null);
            case ISSUE_AND_PAY:
                return arrived(begin(CashIssueAndPaymentFlow.class, amount, reference(unit), payeeParty, false, notary));
            case PAY:
                return arrived(begin(CashPaymentFlow.class, amount, payeeParty, false, notary));
            default:
                throw new AssertionError(work.flow);
        }
    }

    private CompletableFuture<AbstractCashFlow.Result> issue(long cents, long unit) {
        return begin(CashIssueFlow.class, amount(cents), reference(unit), notary);
    }

    private CompletableFuture<AbstractCashFlow.Result> begin(
            Class<? extends AbstractCashFlow<AbstractCashFlow.Result>> flow, Object... arguments) {
        try {
            return payer.<AbstractCashFlow.Result>startFlowDynamic(flow, arguments).getReturnValue().toCompletableFuture();
        } catch (Throwable error) {
            // An Error has to end the unit as well, or the audit would wait for it.
            CompletableFuture<AbstractCashFlow.Result> failed = new CompletableFuture<>();
            failed.completeExceptionally(error);
            return failed;
        }
    }

    private CompletableFuture<Void> arrived(CompletableFuture<AbstractCashFlow.Result> flow) {
        return flow.thenCompose(result -> arrivals.of(result.getStx().getId()));
    }

    /** Counts the units in the vaults. {@code issue} leaves a state with the payer; both others leave one with the payee. */
    Audit audit() throws InterruptedException {
        for (long waited = 0; running.get() > 0 && waited < SETTLE_MS_MAX; waited += SETTLE_EVERY_MS) {
            Thread.sleep(SETTLE_EVERY_MS);
        }
        Books paid = Books.read(payee, work.quantity);
        Books kept = Books.read(payer, work.quantity);
        Books counted = work.flow == Work.Flow.ISSUE ? kept : paid;
        List<String> findings = new ArrayList<>();
        if (counted.odd > 0) {
            findings.add(counted.odd + " states have another amount than " + work.quantity + " cents");
        }
        Set<OpaqueBytes> references = new HashSet<>(paid.references);
        references.addAll(kept.references);
        long issued = work.flow == Work.Flow.PAY ? work.coins * UNITS_PER_COIN : references.size();
        if (paid.cents + kept.cents != issued * work.quantity) {
            findings.add("the banks have " + (paid.cents + kept.cents) + " cents, but " + issued * work.quantity + " were issued");
        }
        return new Audit(counted.states, findings);
    }

    private static Amount<Currency> amount(long cents) {
        return Amount.fromDecimal(BigDecimal.valueOf(cents, 2), CURRENCY);
    }

    /** Returns the issuer's reference of a unit, so that the cash of each unit can be told from all other. */
    private static OpaqueBytes reference(long unit) {
        return new OpaqueBytes(ByteBuffer.allocate(Long.BYTES).putLong(unit).array());
    }
}
