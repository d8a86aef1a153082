package tallystick.corda;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import net.corda.core.contracts.StateAndRef;
import net.corda.core.crypto.SecureHash;
import net.corda.core.messaging.CordaRPCOps;
import net.corda.core.messaging.DataFeed;
import net.corda.core.node.services.Vault;
import net.corda.core.node.services.vault.PageSpecification;
import net.corda.core.node.services.vault.QueryCriteria;
import net.corda.finance.contracts.asset.Cash;

/**
 * Payments that the payee's vault has recorded. The payer's flow ends when the payee has verified the transaction, which may be a moment before
 * the payee has recorded it.
 */
final class Arrivals {
    private final Map<SecureHash, CompletableFuture<Void>> arrived = new ConcurrentHashMap<>();

    Arrivals(CordaRPCOps payee) {
        DataFeed<Vault.Page<Cash.State>, Vault.Update<Cash.State>> feed =
                payee.vaultTrackByWithPagingSpec(Cash.State.class, new QueryCriteria.VaultQueryCriteria(), new PageSpecification(1, 1));
        feed.getUpdates().subscribe(this::note, error -> System.err.println("the payee's vault updates ended: " + error));
    }

    /** Returns a future of the recording of a transaction. */
    CompletableFuture<Void> of(SecureHash transaction) {
        CompletableFuture<Void> arrival = entry(transaction);
        return arrival.whenComplete((none, error) -> arrived.remove(transaction));
    }

    private void note(Vault.Update<Cash.State> update) {
        for (StateAndRef<Cash.State> state : update.getProduced()) {
            entry(state.getRef().getTxhash()).complete(null);
        }
    }

    private CompletableFuture<Void> entry(SecureHash transaction) {
        return arrived.computeIfAbsent(transaction, none -> new CompletableFuture<>());
    }
}
