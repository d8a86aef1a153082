//! The kinds of work that come with `tally`.

use super::{
    Workloads, attachments, command, empty, fake, issue, issue_and_pay, notarise, pay, payment,
    swap, transfer, vault_query,
};

impl Workloads {
    /// Returns the kinds that come with `tally`.
    pub fn shipped() -> Self {
        let mut all = Self::none();
        for (kind, about, make) in [
            command::REGISTERED,
            empty::REGISTERED,
            fake::REGISTERED,
            issue::REGISTERED,
            issue_and_pay::REGISTERED,
            notarise::REGISTERED,
            pay::REGISTERED,
            payment::REGISTERED,
            transfer::REGISTERED,
            swap::REGISTERED,
            vault_query::REGISTERED,
        ] {
            all.register(kind, about, make);
        }
        attachments::register(&mut all);
        all
    }
}
