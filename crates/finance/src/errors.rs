//! Reasons for refusing cash, and the catalogue of the crate's error codes.

use ledger::ContractRejection;
use primitives::{Coded, DecodeError, ErrorInfo};
use thiserror::Error;

use crate::Currency;

/// A reason why the contract or a flow refuses cash.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CashError {
    /// A state's data is not cash.
    #[error("a state's data is not cash: {0}")]
    State(DecodeError),
    /// A command's value is not a command of the contract.
    #[error("a command's value is not one of the cash contract's: {0}")]
    Command(DecodeError),
    /// An amount is zero.
    #[error("an amount is zero")]
    ZeroAmount,
    /// A sum is too large.
    #[error("a sum of amounts is over 18446744073709551615")]
    Overflow,
    /// Inputs and outputs do not balance.
    #[error(
        "{currency}: {consumed} consumed and {issued} issued, but {made} made and {exited} exited"
    )]
    NotConserved {
        /// The currency.
        currency: Currency,
        /// The quantity consumed.
        consumed: u64,
        /// The quantity issued.
        issued: u64,
        /// The quantity made.
        made: u64,
        /// The quantity exited.
        exited: u64,
    },
    /// The issuer does not sign its issue or exit.
    #[error("an issue or exit does not name the issuer as a signer")]
    IssuerMustSign,
    /// An owner does not sign for its cash.
    #[error("cash is consumed by a command that does not name its owner as a signer")]
    OwnerMustSign,
    /// Two commands do the same.
    #[error("there are two moves, or two issues or exits of one token")]
    CommandRepeated,
    /// A command names cash that the transaction does not have.
    #[error("a command is about cash that the transaction does not have")]
    CommandWithoutCash,
    /// A text is not a currency.
    #[error("'{0}' is not a currency of three capital letters")]
    Currency(String),
    /// A text is not a reference.
    #[error("a reference has 0 to 32 bytes in hexadecimal")]
    Reference,
    /// A payment has no recipients.
    #[error("there is no payment")]
    NoPayment,
    /// The token is missing, or is named in two ways.
    #[error("the token is not named, or named in two ways")]
    TokenAmbiguous,
    /// An amount can't be split into this many states.
    #[error("{quantity} can't be split into {states} states")]
    Split {
        /// The amount.
        quantity: u64,
        /// The number of states.
        states: u32,
    },
    /// Only the issuer can exit cash.
    #[error("the cash was issued by another party")]
    NotTheIssuer,
    /// The selected states are under different versions of the contract.
    #[error("the states selected are constrained to different versions of the contract")]
    MixedConstraints,
    /// The network has no party of this name.
    #[error("the network has no party '{0}'")]
    UnknownParty(String),
    /// The party named is not a notary.
    #[error("'{0}' is not a notary of the network")]
    NotANotary(String),
    /// A proposal is not an exit of the cash to be reissued.
    #[error("the proposal is no exit of the cash that should be issued anew: {0}")]
    NotAReissue(&'static str),
    /// The issuer's new cash does not match the exit.
    #[error("the issuer's new cash does not match the exit: {0}")]
    NotReissued(&'static str),
}

impl Coded for CashError {
    fn code(&self) -> &'static str {
        match self {
            CashError::State(_) => "cash.state_malformed",
            CashError::Command(_) => "cash.command_malformed",
            CashError::ZeroAmount => "cash.zero_amount",
            CashError::Overflow => "cash.overflow",
            CashError::NotConserved { .. } => "cash.not_conserved",
            CashError::IssuerMustSign => "cash.issuer_must_sign",
            CashError::OwnerMustSign => "cash.owner_must_sign",
            CashError::CommandRepeated => "cash.command_repeated",
            CashError::CommandWithoutCash => "cash.command_without_cash",
            CashError::Currency(_) => "cash.currency_invalid",
            CashError::Reference => "cash.reference_invalid",
            CashError::NoPayment => "cash.no_payment",
            CashError::TokenAmbiguous => "cash.token_ambiguous",
            CashError::Split { .. } => "cash.split_impossible",
            CashError::NotTheIssuer => "cash.not_the_issuer",
            CashError::MixedConstraints => "cash.mixed_constraints",
            CashError::UnknownParty(_) => "cash.unknown_party",
            CashError::NotANotary(_) => "cash.not_a_notary",
            CashError::NotAReissue(_) => "cash.not_a_reissue",
            CashError::NotReissued(_) => "cash.not_reissued",
        }
    }

    fn hint(&self) -> &'static str {
        ErrorInfo::action_of(ERRORS, self.code())
    }
}

impl From<CashError> for ContractRejection {
    fn from(error: CashError) -> Self {
        ContractRejection::new(error.code(), error.to_string())
    }
}

macro_rules! catalogue {
    ($($code:literal: $cause:literal => $action:literal;)*) => {
        &[$(ErrorInfo { code: $code, cause: $cause, action: $action }),*]
    };
}

/// The catalogue of this crate's codes.
pub const ERRORS: &[ErrorInfo] = catalogue! {
    "cash.state_malformed": "The data of a cash state does not decode, or its quantity is zero." => "encode it as [token, quantity, owner] with a quantity of at least 1";
    "cash.command_malformed": "The value of a command to the cash contract does not decode." => "encode an issue, a move or an exit";
    "cash.zero_amount": "An amount is zero." => "give an amount of at least 1 minor unit";
    "cash.overflow": "A sum of amounts does not fit 64 bits." => "split the transaction; amounts add up to at most 18446744073709551615 minor units";
    "cash.not_conserved": "For some token, the quantity consumed and issued differs from the quantity made and exited." => "make the outputs of each issuer, reference and currency equal to its inputs, plus the issued and less the exited quantity";
    "cash.issuer_must_sign": "An issue or exit does not name the issuer as a signer." => "add the issuer's key to the signers of the command";
    "cash.owner_must_sign": "Cash is consumed, and no move or exit names its owner as a signer." => "add the owners of all cash consumed to the signers of the move, or of the exit of that token";
    "cash.command_repeated": "A transaction has two moves, or two issues or exits of one token." => "use one command for all of it";
    "cash.command_without_cash": "A command is about cash that the transaction does not have." => "remove the command, or add the cash";
    "cash.currency_invalid": "A currency is not three capital letters." => "give a code like GBP";
    "cash.reference_invalid": "An issuer's reference is not 0 to 32 bytes in hexadecimal." => "give an even number of hexadecimal digits, at most 64";
    "cash.no_payment": "A payment names no payee." => "give at least one payment with 'to' and 'quantity'";
    "cash.token_ambiguous": "The arguments name no token, or name it in two ways." => "give either 'token', or 'currency' and, unless this node is the issuer, 'issuer'";
    "cash.split_impossible": "An amount can't be split into that many states." => "ask for 1 to 1000 states, and not for more states than there are minor units";
    "cash.not_the_issuer": "Cash is to be exited by a party that did not issue it." => "pay the cash to its issuer, who can exit it";
    "cash.mixed_constraints": "Cash under different versions of the contract can't be spent together." => "spend less at a time, so that states of one version suffice";
    "cash.unknown_party": "The arguments name a party that the network map does not list, or a state's owner is a fresh key with an unknown owner." => "check the name against the network map; have the owner of a fresh key tell this node with ledger.prove_key";
    "cash.not_a_notary": "The arguments name a notary that the network parameters do not list." => "leave the notary out, or name one of the network's";
    "cash.not_a_reissue": "A holder asked for a reissue of cash, but proposed another transaction than the exit of that cash." => "exit exactly the token and quantity to be reissued, in a transaction that does nothing else";
    "cash.not_reissued": "The issuer exited cash and did not reissue the same amount." => "settle it with the issuer: the recorded exit bears its signature";
    "lock.state_malformed": "The data of a lock does not decode." => "encode it as [owner, until]";
    "lock.command_malformed": "The value of a command to the lock contract does not decode." => "encode a lock or an opening";
    "lock.commands_mismatched": "Locks are made or opened without the command for it, with two of them, or with one and no locks." => "give one command for all locks made, and one for all locks opened";
    "lock.unbound": "A lock is made that is bound to no other state." => "bind the lock and the locked states into a ring of encumbrances";
    "lock.too_early": "A lock is opened in a transaction that might be notarised before the lock's time." => "wait for the time, and give a time window that begins then or later";
    "lock.owner_must_sign": "A lock is opened, and the command does not name its owner as a signer." => "add the owners of all locks opened to the signers of the command";
    "lock.too_far": "The time of a lock is after the year 9999." => "give 'until' in milliseconds since 1970, not in microseconds";
    "lock.not_a_lock": "The state to be unlocked is no lock of this node that is bound to cash and nothing else." => "name the lock, which is another output than the cash, on the node that it is for";
    "paper.state_malformed": "The data of a commercial paper, or of the cash that redeems it, does not decode, or its face value is zero." => "encode it as [issuer, reference, token, face, maturity, owner] with a face value of at least 1";
    "paper.command_malformed": "The value of a command to the commercial paper contract does not decode." => "encode an issue, a move or a redemption";
    "paper.command_repeated": "A transaction has two issues, two moves or two redemptions of commercial paper." => "use one command for all papers, and name all who have to sign";
    "paper.command_without_paper": "A command is about papers that the transaction does not have." => "remove the command, or add the papers";
    "paper.not_conserved": "The number of papers of some terms changes, and no command explains it." => "add an issue for papers that are made, add a redemption for papers that are redeemed, and otherwise make as many papers of the same terms as are consumed";
    "paper.issuer_must_sign": "An issue does not name the paper's issuer as a signer." => "add the issuer's key to the signers of the command";
    "paper.owner_must_sign": "A paper is moved or redeemed, and the command does not name its owner as a signer." => "add the owners of all papers consumed to the signers of the command";
    "paper.issued_after_maturity": "A paper is issued in a transaction that might be notarised after the paper's maturity." => "give a time window that ends by the maturity, and a maturity in the future";
    "paper.not_mature": "A paper is redeemed in a transaction that might be notarised before the paper's maturity." => "wait for the maturity, and give a time window that begins then or later";
    "paper.not_alone": "Papers are redeemed for cash in a transaction that holds something other than papers and cash." => "redeem in a transaction of its own: other contracts might count the same cash";
    "paper.not_paid": "The owner of a redeemed paper gains less than the face value in the cash that the paper names." => "pay the owner at least the face value, in the token that the paper names, with cash that is not the owner's";
    "paper.overflow": "A sum of face values or of cash does not fit 64 bits." => "redeem fewer papers in one transaction";
    "paper.not_a_paper": "The state that the arguments name is not a commercial paper." => "give the transaction that issued or last moved the paper, and the place among its outputs";
    "paper.not_the_owner": "A paper is to be moved by a party that does not own it." => "have its owner move it";
    "paper.not_the_issuer": "A paper is to be redeemed by a party that did not issue it." => "ask its issuer to redeem it";
    "paper.proposal_differs": "A holder was asked to sign more than the redemption of its papers." => "propose a transaction that contains only the redemption";
    "obligation.state_malformed": "The data of an obligation, or of the cash that settles it, does not decode." => "encode it as [id, obligor, tokens, due, quantity, defaulted, obligee], with 1 to 16 tokens in order and a quantity of at least 1";
    "obligation.command_malformed": "The value of a command to the obligation contract does not decode." => "encode a number from 0 to 6 and the list of at most 256 obligations or payments";
    "obligation.repeated": "An obligation is twice among the inputs or twice among the outputs." => "consume and make one version of each obligation";
    "obligation.command_without_obligation": "A command names no obligation, or one that the transaction does not have or another command names." => "name each obligation that is consumed or made in one command";
    "obligation.unexplained": "An obligation changes in a way that its command does not allow, or no command names it." => "read the message: it says which change was not expected";
    "obligation.own_debt": "Obligor and obligee are the same party." => "choose another obligee, or have the obligee exit the obligation";
    "obligation.obligor_must_sign": "An issue, a settlement or a netting does not name an obligor as a signer." => "add the keys of all obligors to the signers of the command";
    "obligation.obligee_must_sign": "A move, a netting, a default, a restoring or an exit does not name an obligee as a signer." => "add the keys of all obligees to the signers of the command";
    "obligation.in_default": "An obligation in default is issued, moved or netted." => "settle or exit it, or have the obligee restore it first";
    "obligation.not_due": "An obligation is declared in default in a transaction that might be notarised before it is due." => "wait until it is due, and give a time window that begins then or later";
    "obligation.token_not_accepted": "An obligation is settled in cash that it does not accept." => "pay in one of the tokens that the obligation names";
    "obligation.not_paid": "An obligee gains less of a token than its obligations are settled for." => "pay the obligee the sum of all its settlements in the token, with cash that is not its own";
    "obligation.not_alone": "Obligations are settled in a transaction that holds something other than obligations and cash." => "settle in a transaction of its own: other contracts might count the same cash";
    "obligation.terms_differ": "Obligations that accept other cash, or are due at other times, can't be netted." => "net obligations of the same terms";
    "obligation.net_changed": "The net position of a party after a netting differs from the one before it." => "let the obligations shrink along cycles only";
    "obligation.nothing_to_net": "The obligations form no cycle, so none can shrink." => "name obligations that lead back to where they begin; claims of another's fresh keys count once their owner has moved them to its own key with obligation.move";
    "obligation.overflow": "A sum of amounts does not fit 64 bits." => "settle or net fewer obligations in one transaction";
    "obligation.not_an_obligation": "A state that the arguments name is not an obligation." => "give the transaction that made the newest version of the obligation, and the place among its outputs";
    "obligation.quantity": "More than is owed is to be paid, or nothing." => "pay at least 1 minor unit and at most the outstanding debt";
    "obligation.count": "An obligation names no token or too many, or too many are to be netted at once." => "give 1 to 16 tokens, and net 2 to 256 obligations";
    "obligation.notaries_differ": "Obligations with different notaries can't be netted." => "net obligations of one notary";
    "obligation.not_the_party": "This node is not the party that may do this with the obligation." => "settle as the obligor; move, default, restore and exit as the obligee; net as either";
    "obligation.proposal_differs": "A party was asked to sign more than a netting of its obligations." => "propose a transaction that contains only the netting";
    "obligation.not_shared": "A party that is to be netted with does not have an obligation that the netting names." => "name parties that owe or are owed, and the newest versions of their obligations";
    "bid.state_malformed": "The data of a bid does not decode." => "encode it as [buyer, seller, contract, asset, token, price_max, until]";
    "bid.command_malformed": "The value of a command to the contract of bids does not decode." => "encode a placing or a closing";
    "bid.command_repeated": "A transaction has two placings or two closings of bids." => "use one command for all bids, and name all buyers";
    "bid.command_without_bid": "A command is about bids that the transaction does not have." => "remove the command, or add the bids";
    "bid.buyer_must_sign": "A bid is made or consumed, and no command for that names its buyer as a signer." => "add the buyers' keys to the signers of the command";
    "trade.asset_malformed": "The data of an asset does not decode as a state of its contract." => "give the data of the state in hexadecimal, as its contract encodes it";
    "trade.not_tradable": "States of this contract are not traded." => "trade commercial papers or obligations";
    "trade.asset_ambiguous": "A bid names no asset, or names it in two ways." => "give either 'paper', or 'contract' and 'data'";
    "trade.no_bid": "The state that the seller names is not an open bid of this buyer to this seller." => "ask the buyer to place a bid, and name that";
    "trade.bid_expired": "The bid has expired." => "ask the buyer for a new bid";
    "trade.bid_differs": "The bid names another asset or another notary than the offer." => "offer the asset that the bid names, or ask the buyer for another bid";
    "trade.price_over_bid": "The seller asks for more than the buyer's limit." => "sell for less, or ask the buyer for another bid";
    "trade.not_the_owner": "The asset is owned by another party." => "have its owner sell it";
    "trade.proposal_differs": "The buyer's transaction differs from the seller's offer." => "report it to the buyer: its node proposes a transaction that differs from the agreement";
    "stock.state_malformed": "The data of a stock state does not decode, or its quantity is zero." => "encode it as [token, quantity, owner] with a quantity of at least 1";
    "stock.command_malformed": "The value of a command to the stock contract does not decode." => "encode an issue, a move or an exit";
    "stock.zero_quantity": "A quantity of stock is zero." => "give at least 1 unit";
    "stock.overflow": "A sum of quantities does not fit 64 bits." => "split the transaction; quantities add up to at most 18446744073709551615 units";
    "stock.not_conserved": "For some stock, the quantity consumed and issued differs from the quantity made and exited." => "make the outputs of each issuer and symbol equal to its inputs, plus the issued and less the exited quantity";
    "stock.issuer_must_sign": "An issue or exit of stock does not name the issuer as a signer." => "add the issuer's key to the signers of the command";
    "stock.owner_must_sign": "Stock is consumed, and no move or exit names its owner as a signer." => "add the owners of all stock consumed to the signers of the move, or of the exit of that stock";
    "stock.command_repeated": "A transaction has two moves, or two issues or exits of one stock." => "use one command for all of it";
    "stock.command_without_stock": "A command is about stock that the transaction does not have." => "remove the command, or add the stock";
    "stock.symbol_invalid": "A symbol is not 1 to 16 capital letters, digits, dots and hyphens, a letter first." => "give a symbol like TLY or BRK.B";
    "stock.split_impossible": "A quantity of stock can't be split into that many states." => "ask for 1 to 1000 states, and not for more states than there are units";
    "stock.mixed": "The states to be moved are of different stocks, or bound to different versions of the contract." => "move each stock by itself; upgrade older states first";
    "stock.too_little": "The states hold less than is to be moved." => "move less, or name more states";
    "mandate.state_malformed": "The data of a mandate does not decode, or its price or quantity is zero." => "encode it as [owner, coordinator, market, price, quantity_max, until]";
    "mandate.command_malformed": "The value of a command to the contract of mandates does not decode." => "encode a giving or a revoking";
    "mandate.command_repeated": "A transaction has two commands that give, or two that revoke mandates." => "use one command for all mandates, and name all owners";
    "mandate.command_without_mandate": "A command is about mandates that the transaction does not have." => "remove the command, or add the mandates";
    "mandate.owner_must_sign": "A mandate is made or consumed, and no command for that names its owner as a signer." => "add the owners' keys to the signers of the command";
    "mandate.not_a_mandate": "The state that is to be revoked is no mandate of this node." => "give the state that swap.mandate returned";
    "document.state_malformed": "The data of a document does not decode, or its title is empty, too long or holds control characters." => "encode it as [from, to, title, attachment] with a title of 1 to 256 bytes";
    "document.command_malformed": "The value of a command to the contract of documents does not decode." => "encode a sharing";
    "document.commands_mismatched": "Documents are made without a command, or with two, or a command shares none." => "use one command for all documents of the transaction";
    "document.kept": "A document is consumed." => "leave it: a shared document stays shared; share a newer document in addition";
    "document.not_attached": "A document names a file that is not attached to the transaction." => "attach the file's hash to the transaction";
    "document.with_itself": "A party shares a document with itself." => "name another party";
    "document.sharer_must_sign": "A document is shared, and the command does not name the party that shares it as a signer." => "add the key of the party that shares to the signers of the command";
    "document.title_invalid": "A title is empty, longer than 256 bytes, or holds control characters." => "give a title of 1 to 256 bytes in one line";
    "swap.zero": "A price or a quantity is zero." => "give at least 1 minor unit of cash and 1 unit of stock; use cash.pay or stock.transfer to give for nothing";
    "swap.count": "A swap has no pair, or more than 5." => "give 1 to 5 pairs";
    "swap.party_twice": "A party is in a swap twice." => "let each party be the buyer or the seller of one pair; settle the others in another swap";
    "swap.states": "A party is to give more than 64 states, or one of them twice." => "name each state once and at most 64; merge small states by paying them to yourself";
    "swap.no_mandate": "A party has no mandate for this coordinator to settle such swaps." => "have the party start swap.mandate for this coordinator, side, cash and stock; issuer and reference count";
    "swap.mandate_ended": "The party's mandate has ended." => "ask the party for a new mandate";
    "swap.over_mandate": "The price or the quantity is beyond the party's mandate." => "offer a better price or less, or ask the party for another mandate";
    "swap.state_not_given": "A state that a party is to give holds another token, has another notary, is bound to another state, or belongs to another party." => "name unconsumed states of that party, of the token and the notary of the swap";
    "swap.too_little": "The states that a party gives hold less than it is to give." => "name more states, or let the party select them";
    "swap.overflow": "A sum does not fit 64 bits." => "swap less at a time";
    "swap.answer_invalid": "A party's answer to the coordinator is not what was requested." => "report it to the party: its node does not keep to the flow";
    "swap.proposal_differs": "The transaction that a party was asked to sign is not the swap that it agreed to." => "report it to the coordinator: its node proposes a transaction that differs from the agreement";
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_complete() {
        for (index, info) in ERRORS.iter().enumerate() {
            let domain = info.code.split('.').next().unwrap_or_default();
            assert!(
                [
                    "bid",
                    "cash",
                    "document",
                    "lock",
                    "mandate",
                    "obligation",
                    "paper",
                    "stock",
                    "swap",
                    "trade"
                ]
                .contains(&domain)
                    && !info.cause.is_empty()
                    && !info.action.is_empty()
            );
            assert!(
                ERRORS[..index].iter().all(|other| other.code != info.code),
                "{}",
                info.code
            );
        }
    }
}
