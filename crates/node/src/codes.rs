//! Every code that a node's answers can carry, with its cause.

macro_rules! causes {
    ($($from:ident),* $(,)?) => {{
        let mut all: Vec<(&'static str, &'static str)> = Vec::new();
        $(all.extend($from::ERRORS.iter().map(|info| (info.code, info.cause)));)*
        all
    }};
}

/// Codes and causes of all parts of a node but the API's own, which [`api::ERRORS`] lists.
pub fn all() -> Vec<(&'static str, &'static str)> {
    let mut all = causes!(
        primitives, ledger, vault, notary, flow, finance, kernel, store, pgstore, notarydb,
        vaultview, net
    );
    let node = crate::ERRORS.iter().flat_map(|part| part.iter());
    all.extend(node.map(|info| (info.code, info.cause)));
    all
}
