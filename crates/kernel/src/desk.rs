//! desk
use crate::kernel::Kernel; use crate::port::*; use ledger::PartyId; use flow::messaging::RequestId;
pub struct Desk; impl Desk { pub fn new(_:notary::NotaryOptions)->Self{Desk} pub fn committed(&mut self,_:u64){} }
impl Kernel { pub(crate) fn on_notarise(&mut self,_:PartyId,_:RequestId,_:&[u8]){} pub(crate) fn on_notary_checked(&mut self,_:u64,_:bool){} pub(crate) fn decide_notarisations(&mut self,_:&dyn Reads)->Result<(),StoreFailure>{Ok(())} }
