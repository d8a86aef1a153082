//! Queries of the vault: the translation of names and texts into values of the view, and back.

use std::sync::Arc;

use api::query::{
    Criterion as Asked, Datum as Given, FoundCount, FoundGroup, FoundState, Status, VaultQuery,
};
use api::{Fungible, Quarantined, VaultAnswer};
use kernel::port::Table;
use ledger::{LegalName, NetworkMap, PartyId, StateRef, TxId};
use primitives::storage::Reads;
use primitives::{Decode, Encode, PublicKey, hex};
use vaultview::{
    ColumnKind, Criterion, Datum, Field, QueryPage, Sort, StateQuery, StateRow, VaultReader,
};

use super::columns::{self, Columns};
use super::key_names::KeyNames;
use super::locks::{LOCKED_BY, Locked};
use super::query_interrupt::{QueryInterrupt, bad};
use super::readers::QueryFailure;
use super::refusals::store_refusal;
use super::view_rows::notary_of;
use crate::http::Refusal;
use crate::ledger_store::LedgerStore;

/// The `retry_after_ms` of a refusal because too many queries run.
pub(super) const QUERY_RETRY_MS: u64 = 100;
/// Maximum number of names in a refusal.
const NAMES_MAX: usize = 40;
/// States on a page when the query does not say.
const PAGE: u32 = 100;

const FIELDS: &[(&str, Field)] = &[
    ("contract", Field::Contract),
    ("owner", Field::Owner),
    ("participant", Field::Participant),
    ("notary", Field::Notary),
    ("token", Field::Token),
    ("symbol", Field::Symbol),
    ("issuer", Field::Issuer),
    ("quantity", Field::Quantity),
    ("recorded_at_ms", Field::RecordedAt),
    ("consumed_at_ms", Field::ConsumedAt),
    ("number", Field::Number),
    ("linear_id", Field::LinearId),
];
/// A field that can only be tested, not returned or sorted by. The ledger's index translates the state reference to the number of the state.
const STATE_REF: &str = "state_ref";

/// The data that a query needs in addition to the view.
pub(super) struct Searcher {
    pub(super) store: LedgerStore,
    pub(super) network: Arc<NetworkMap>,
    /// This node.
    pub(super) me: PartyId,
    pub(super) columns: Arc<Columns>,
    pub(super) interrupt: QueryInterrupt,
    /// The states that flows have locked, if the query is about locks.
    pub(super) locked: Locked,
}

impl Searcher {
    pub(super) fn answer(
        &self,
        reader: &VaultReader,
        query: VaultQuery,
    ) -> Result<VaultAnswer, QueryFailure> {
        let mut parts: Vec<Criterion> = status(query.status).into_iter().collect();
        parts.extend(quarantine(query.quarantined));
        if let Some(asked) = &query.criterion {
            parts.push(self.criterion(asked)?);
        }
        let criterion = Criterion::All(parts);
        let mut answer = VaultAnswer::default();
        if let Some(by) = &query.group_by {
            if query.after.is_some() || !query.sort.is_empty() || query.count {
                return Err(bad(
                    "groups have no pages, an order and counts of their own: leave out 'after', 'sort' and 'count'",
                )
                .into());
            }
            let by: Vec<Field> = by
                .iter()
                .map(|name| self.field(name))
                .collect::<Result<_, Refusal>>()?;
            let groups = self
                .interrupt
                .run(reader, || reader.groups(&criterion, &by))?;
            answer.groups = groups
                .into_iter()
                .map(|group| FoundGroup {
                    key: (by.iter().zip(group.key))
                        .map(|(field, value)| value.map(|value| self.shown(*field, value)))
                        .collect(),
                    states: group.states,
                    quantity: group.quantity.to_string(),
                })
                .collect();
            return Ok(answer);
        }
        let sort = query.sort.iter().map(|sort| {
            Ok(Sort {
                by: self.field(&sort.field)?,
                descending: sort.descending,
            })
        });
        // A clipped limit is above the largest one, and refused.
        let limit = usize::try_from(query.limit.unwrap_or(PAGE)).unwrap_or(usize::MAX);
        if !(1..=vaultview::QUERY_PAGE_MAX).contains(&limit) {
            return Err(bad(format!("'limit' is 1 to {}", vaultview::QUERY_PAGE_MAX)).into());
        }
        if query.count {
            let count = self.interrupt.run(reader, || reader.count(&criterion))?;
            answer.count = Some(FoundCount {
                states: count.states,
                more: count.more,
            });
        }
        let query = StateQuery {
            criterion,
            sort: sort.collect::<Result<_, Refusal>>()?,
            after: query.after,
            limit,
        };
        let QueryPage { rows, next } = self.interrupt.run(reader, || reader.query(&query))?;
        answer.states = rows.into_iter().map(|row| self.found(row)).collect();
        answer.next = next;
        Ok(answer)
    }

    fn criterion(&self, asked: &Asked) -> Result<Criterion, Refusal> {
        let each = |parts: &[Asked]| {
            let parts = parts.iter().map(|part| self.criterion(part));
            parts.collect::<Result<Vec<_>, Refusal>>()
        };
        Ok(match asked {
            Asked::And(parts) => Criterion::All(each(parts)?),
            Asked::Or(parts) => Criterion::Any(each(parts)?),
            Asked::Not(part) => Criterion::Not(Box::new(self.criterion(part)?)),
            // Without a condition, every state meets it.
            Asked::Status(asked) => status(*asked).unwrap_or(Criterion::All(Vec::new())),
            Asked::Locked(locked) => self.locked.any(*locked),
            Asked::Is(test) => self.one_of(&test.field, std::slice::from_ref(&test.value))?,
            Asked::In(test) => self.one_of(&test.field, &test.values)?,
            Asked::Between(test) => {
                let field = self.field(&test.field)?;
                let bound = |value: &Option<Given>| {
                    let value = value.as_ref();
                    value
                        .map(|value| self.ordered(&test.field, field, value))
                        .transpose()
                };
                Criterion::Between(field, bound(&test.from)?, bound(&test.to)?)
            }
            Asked::Less(test) => {
                let field = self.field(&test.field)?;
                Criterion::Less(field, self.ordered(&test.field, field, &test.value)?)
            }
            Asked::Greater(test) => {
                let field = self.field(&test.field)?;
                Criterion::Greater(field, self.ordered(&test.field, field, &test.value)?)
            }
            Asked::Prefix(test) => {
                let field = self.field(&test.field)?;
                let text = match field {
                    Field::Contract | Field::Symbol | Field::Issuer => true,
                    Field::Column(place) => self.kind(place) == Some(ColumnKind::Text),
                    _ => false,
                };
                match &test.value {
                    Given::Text(prefix) if text => Criterion::Prefix(field, prefix.clone()),
                    _ => {
                        return Err(bad(format!(
                            "'prefix' applies to text, and '{}' or its value is not a text",
                            test.field
                        )));
                    }
                }
            }
        })
    }

    fn kind(&self, place: u32) -> Option<ColumnKind> {
        self.columns.get(place).map(|column| column.kind)
    }

    /// A value of a field that has an order.
    fn ordered(&self, name: &str, field: Field, value: &Given) -> Result<Datum, Refusal> {
        match field {
            Field::Quantity
            | Field::RecordedAt
            | Field::ConsumedAt
            | Field::Number
            | Field::Column(_) => self.value(name, field, value),
            _ => Err(bad(format!(
                "'{name}' has no order to compare by: give its values with 'is' or 'in'"
            ))),
        }
    }

    /// A value of a contract's column.
    fn column_value(&self, name: &str, place: u32, value: &Given) -> Result<Datum, Refusal> {
        let wrong = |what: &str| bad(format!("'{name}' is compared with {what}"));
        match (self.kind(place), value) {
            (Some(ColumnKind::Number), value) => number(value)
                .map(Datum::Number)
                .ok_or_else(|| wrong("a number")),
            (Some(ColumnKind::Bytes), Given::Text(text)) => hex::decode(text)
                .map(Datum::Bytes)
                .ok_or_else(|| wrong("hexadecimal digits")),
            (Some(ColumnKind::Bytes), _) => Err(wrong("hexadecimal digits")),
            (_, Given::Text(text)) => Ok(Datum::Text(text.clone())),
            (_, Given::Number(_)) => Err(wrong("text")),
        }
    }

    fn field(&self, name: &str) -> Result<Field, Refusal> {
        if let Some((_, known)) = FIELDS.iter().find(|(known, _)| *known == name) {
            return Ok(*known);
        }
        if let Some(place) = self.columns.find(name) {
            return Ok(Field::Column(place));
        }
        let fields = FIELDS.iter().map(|(name, _)| (*name).to_owned());
        let mut names: Vec<String> = fields.collect();
        names.extend(self.columns.instead_of(name));
        names.truncate(NAMES_MAX);
        Err(bad(format!(
            "there is no field '{name}' here; there are {} (and {STATE_REF} and {LOCKED_BY} in 'is' and 'in')",
            names.join(", ")
        )))
    }

    fn one_of(&self, name: &str, values: &[Given]) -> Result<Criterion, Refusal> {
        if values.len() > vaultview::QUERY_VALUES_MAX {
            return Err(bad(format!(
                "more than {} values",
                vaultview::QUERY_VALUES_MAX
            )));
        }
        if name == LOCKED_BY {
            return self.locked.by(values);
        }
        if name == STATE_REF {
            let mut numbers = Vec::new();
            for value in values {
                numbers.extend(self.number(value)?.map(Datum::Number));
            }
            return Ok(Criterion::In(Field::Number, numbers));
        }
        let field = self.field(name)?;
        let of_party = match field {
            Field::Owner => Some(Field::OwnerParty),
            Field::Participant => Some(Field::ParticipantParty),
            _ => None,
        };
        let (mut parties, mut others) = (Vec::new(), Vec::new());
        for value in values {
            match self.named(value).filter(|_| of_party.is_some()) {
                Some(party) => parties.push(Datum::Bytes(party.as_bytes().to_vec())),
                None => others.push(self.value(name, field, value)?),
            }
        }
        // A party's name stands for all of its keys that this node knows.
        Ok(match of_party {
            Some(of_party) if others.is_empty() && !parties.is_empty() => {
                Criterion::In(of_party, parties)
            }
            Some(of_party) if !parties.is_empty() => Criterion::Any(vec![
                Criterion::In(of_party, parties),
                Criterion::In(field, others),
            ]),
            _ => Criterion::In(field, others),
        })
    }

    /// The party of the network whose name a value is.
    fn named(&self, value: &Given) -> Option<PartyId> {
        let Given::Text(text) = value else {
            return None;
        };
        let name = text.parse::<LegalName>().ok()?;
        self.network.by_name(&name).map(ledger::Party::id)
    }

    /// The place of a state in the view; none when the ledger does not hold its transaction.
    fn number(&self, value: &Given) -> Result<Option<u64>, Refusal> {
        let wrong = || bad("'state_ref' is a transaction id and an index, such as 'ID(0)'");
        let Given::Text(text) = value else {
            return Err(wrong());
        };
        let StateRef { tx, index } = text.parse().map_err(|_| wrong())?;
        let index = u16::try_from(index).map_err(|_| wrong())?;
        let seq = (self.store.get(Table::TxIndex, tx.as_bytes()))
            .map_err(|failure| store_refusal(&failure))?;
        let seq = seq.as_deref().and_then(kernel::rows::seq_of);
        Ok(seq.map(|seq| seq << 16 | u64::from(index)))
    }

    fn value(&self, name: &str, field: Field, value: &Given) -> Result<Datum, Refusal> {
        let text = match (field, value) {
            (Field::Column(place), value) => return self.column_value(name, place, value),
            (Field::Quantity | Field::RecordedAt | Field::ConsumedAt | Field::Number, value) => {
                let wrong = || bad(format!("'{name}' is compared with a number"));
                return number(value).map(Datum::Number).ok_or_else(wrong);
            }
            (_, Given::Number(_)) => return Err(bad(format!("'{name}' is compared with text"))),
            (_, Given::Text(text)) => text,
        };
        let party = || text.parse::<LegalName>().ok();
        Ok(match field {
            Field::Owner | Field::Participant => {
                let key = text.parse::<PublicKey>().map_err(|_| {
                    bad(format!(
                        "'{name}': '{text}' is no party of the network and no key"
                    ))
                })?;
                Datum::Bytes(key.to_bytes())
            }
            Field::Notary => {
                let id = match party() {
                    Some(name) => name.party_id(),
                    None => text.parse().map_err(|_| {
                        bad(format!("'{name}': '{text}' is no party's name and no id"))
                    })?,
                };
                Datum::Bytes(id.as_bytes().to_vec())
            }
            Field::Token | Field::LinearId => {
                let id = hex::decode_array::<32>(text).ok_or_else(|| {
                    bad(format!("'{name}': '{text}' is not 64 hexadecimal digits"))
                })?;
                Datum::Bytes(id.to_vec())
            }
            Field::Issuer => {
                Datum::Text(party().map_or_else(|| text.clone(), |name| name.to_string()))
            }
            _ => Datum::Text(text.clone()),
        })
    }

    fn shown(&self, field: Field, value: Datum) -> String {
        match (field, value) {
            (Field::Owner, Datum::Bytes(bytes)) => match PublicKey::from_bytes(&bytes) {
                Ok(key) => self.owner(&key),
                Err(_) => hex::encode(&bytes),
            },
            (Field::Notary, Datum::Bytes(bytes)) => match bytes.try_into() {
                Ok(id) => self.party(&PartyId::from_array(id)),
                Err(bytes) => hex::encode(&bytes),
            },
            (_, value) => columns::shown(value),
        }
    }

    /// An owner by name, where this node knows it: by the network map, as its own fresh key, or by a proof.
    fn owner(&self, key: &PublicKey) -> String {
        let names = KeyNames {
            me: self.me,
            network: &self.network,
            reads: &self.store,
        };
        let party = names.party(key);
        party.map_or_else(|| key.to_text(), |party| party.name.to_string())
    }

    fn party(&self, id: &PartyId) -> String {
        match self.network.party(id) {
            Some(party) => party.name.to_string(),
            None => id.to_string(),
        }
    }

    fn found(&self, row: StateRow) -> FoundState {
        let reference = StateRef::new(TxId::from_array(row.tx), row.output);
        let number = u64::try_from(row.cursor).expect("the view refuses negative ids");
        FoundState {
            number,
            locked_by: self.locked.holder(number),
            state_ref: reference.to_string(),
            notary: self.party(&notary_of(&row)),
            contract: row.contract,
            fungible: row.token.map(|token| Fungible {
                token: hex::encode(&token.id),
                symbol: token.symbol,
                issuer: token.issuer,
                quantity: row.quantity,
            }),
            linear_id: row.linear_id.map(|id| hex::encode(&id)),
            columns: self.columns.shown(row.columns),
            recorded_at_ms: row.recorded_at,
            consumed_at_ms: row.consumed_at,
            quarantined: row.quarantined,
        }
    }
}

/// Returns a number that is given as a number or as decimal text, in the form in which answers carry it.
fn number(value: &Given) -> Option<u64> {
    match value {
        Given::Number(number) => Some(*number),
        Given::Text(text) => {
            let number: u64 = text.parse().ok()?;
            (number.to_string() == *text).then_some(number)
        }
    }
}

fn quarantine(quarantined: Quarantined) -> Option<Criterion> {
    match quarantined {
        Quarantined::Exclude => Some(Criterion::Quarantined(false)),
        Quarantined::Only => Some(Criterion::Quarantined(true)),
        Quarantined::Include => None,
    }
}

fn status(status: Status) -> Option<Criterion> {
    match status {
        Status::Unconsumed => Some(Criterion::Consumed(false)),
        Status::Consumed => Some(Criterion::Consumed(true)),
        Status::All => None,
    }
}
