//! Legal names: one canonical form, and rejected names.

use ledger::{LegalName, NameError};
use primitives::{Coded, Decode, Encode, Encoder};

#[test]
fn names_are_canonical_whatever_way_they_are_written() {
    let table = [
        ("O=Bank A, L=London, C=GB", "O=Bank A, L=London, C=GB"),
        ("C=GB,L=London,O=Bank A", "O=Bank A, L=London, C=GB"),
        ("o = Bank A ,l=London, c=GB", "O=Bank A, L=London, C=GB"),
        (
            "S=Zürich, O=Bank & Söhne (AG), L=Zürich, C=CH, OU=Desk 1, CN=x",
            "CN=x, OU=Desk 1, O=Bank & Söhne (AG), L=Zürich, ST=Zürich, C=CH",
        ),
    ];
    for (written, canonical) in table {
        let name: LegalName = written.parse().unwrap();
        assert_eq!(name.to_string(), canonical);
        assert_eq!(LegalName::from_bytes(&name.to_bytes()).unwrap(), name);
    }
    let name: LegalName = table[3].0.parse().unwrap();
    assert_eq!(name.organisation(), "Bank & Söhne (AG)");
    assert_eq!(name.state(), Some("Zürich"));
    assert_eq!(name.common_name(), Some("x"));
    assert_eq!(name.organisational_unit(), Some("Desk 1"));
    assert_eq!((name.locality(), name.country()), ("Zürich", "CH"));
}

#[test]
fn bad_names_are_refused() {
    let long = format!("O={}, L=x, C=GB", "a".repeat(129));
    let table: &[(&str, NameError)] = &[
        ("", NameError::Syntax("".into())),
        ("O=A, L=x", NameError::Missing("C")),
        ("L=x, C=GB", NameError::Missing("O")),
        ("O=A, L=x, C=gb", NameError::Country),
        ("O=A, L=x, C=GBR", NameError::Country),
        ("O=A, O=B, L=x, C=GB", NameError::Repeated("O")),
        (
            "O=A, L=x, C=GB, X=1",
            NameError::UnknownAttribute("X".into()),
        ),
        ("O=, L=x, C=GB", NameError::Length("O", 128)),
        (&long, NameError::Length("O", 128)),
        ("O=A\u{7}, L=x, C=GB", NameError::Character("O")),
        ("O=A  B, L=x, C=GB", NameError::Character("O")),
        ("O=e\u{301}, L=x, C=GB", NameError::Character("O")),
        ("O=a=b, L=x, C=GB", NameError::Character("O")),
    ];
    for (written, error) in table {
        assert_eq!(
            &written.parse::<LegalName>().unwrap_err(),
            error,
            "{written}"
        );
        assert_eq!(error.code(), "name.invalid");
        assert!(error.hint().contains("O=Bank A, L=London, C=GB"));
    }
}

#[test]
fn the_decoder_takes_the_canonical_form_only() {
    for text in [
        "C=GB, L=London, O=Bank A",
        "O=Bank A,L=London,C=GB",
        "O=Bank A, L=London, C=GB, ",
        "O=Bank A, L=London",
        "OU=a, CN=b, O=Bank A, L=London, C=GB",
        "O=Bank A, O=B, L=London, C=GB",
    ] {
        let mut e = Encoder::new();
        e.text(text);
        assert!(LegalName::from_bytes(&e.into_bytes()).is_err(), "{text}");
    }
}
