package tallystick.corda;

import java.util.Collections;
import java.util.HashSet;
import java.util.Set;
import net.corda.core.contracts.StateAndRef;
import net.corda.core.messaging.CordaRPCOps;
import net.corda.core.node.services.Vault;
import net.corda.core.node.services.vault.PageSpecification;
import net.corda.core.node.services.vault.QueryCriteria;
import net.corda.core.node.services.vault.Sort;
import net.corda.core.node.services.vault.SortAttribute;
import net.corda.core.utilities.OpaqueBytes;
import net.corda.finance.contracts.asset.Cash;

/** The unspent cash in a node's vault, read page by page. */
final class Books {
    private static final int PAGE = 1_000;

    /** Number of states, their sum in cents, and how many of them have another amount than a unit. */
    long states;
    long cents;
    long odd;
    /** The references under which the cash was issued. */
    final Set<OpaqueBytes> references = new HashSet<>();

    static Books read(CordaRPCOps node, long quantity) {
        Books books = new Books();
        SortAttribute byRef = new SortAttribute.Standard(Sort.CommonStateAttribute.STATE_REF);
        Sort sort = new Sort(Collections.singletonList(new Sort.SortColumn(byRef, Sort.Direction.ASC)));
        QueryCriteria unspent = new QueryCriteria.VaultQueryCriteria();
        for (int page = 1; ; page++) {
            Vault.Page<Cash.State> found = node.vaultQueryBy(unspent, new PageSpecification(page, PAGE), sort, Cash.State.class);
            found.getStates().forEach(state -> books.add(state, quantity));
            if (found.getStates().size() < PAGE) {
                return books;
            }
        }
    }

    private void add(StateAndRef<Cash.State> state, long quantity) {
        Cash.State cash = state.getState().getData();
        long amount = cash.getAmount().getQuantity();
        states++;
        cents += amount;
        odd += amount == quantity ? 0 : 1;
        references.add(cash.getAmount().getToken().getIssuer().getReference());
    }
}
