//! Legal names, encoded and as people write them.

#![no_main]

use ledger::LegalName;
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: fuzz::seed("hashes.json", "text"), |data: &[u8]| {
    fuzz::canonical::<LegalName>(data);
    let name = std::str::from_utf8(data).map(str::parse::<LegalName>);
    if let Ok(Ok(name)) = name {
        assert_eq!(name.as_str().parse().as_ref(), Ok(&name));
        assert!(name.country().len() == 2 && !name.organisation().is_empty());
        fuzz::canonical::<LegalName>(&primitives::Encode::to_bytes(&name));
    }
});
