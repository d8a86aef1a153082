//! The first message of a coordinator.

use tokio_rustls::TlsConnector;

use super::*;
use crate::agent::Token;

/// Returns an agent's answer to a first message with this version and protocol, and a right or wrong proof.
async fn answer(version: &str, protocol: u32, right: bool, service: Service) -> String {
    let token = Token::new("sixteen characters at least").expect("long enough");
    let agent = Agent::bind(
        "127.0.0.1:0",
        token.clone(),
        Workloads::none(),
        None,
        |_| {},
    )
    .await;
    let agent = agent.expect("loopback is there");
    let at = agent.address().expect("it listens");
    tokio::spawn(agent.serve());
    let socket = TcpStream::connect(at).await.expect("it listens");
    let config = channel::client(None).expect("constants");
    let name = rustls::pki_types::ServerName::try_from(channel::NAME).expect("a name");
    let connector = TlsConnector::from(Arc::new(config));
    let stream = connector
        .connect(name, socket)
        .await
        .expect("any certificate will do");
    let mut proof = proof(stream.get_ref().1, Role::Coordinator, &token).expect("connected");
    proof[0] ^= u8::from(!right);
    let mut channel: Channel<Tell> = Channel::over(stream);
    let hello = Ask::Hello {
        protocol,
        version: version.to_owned(),
        proof,
        service,
    };
    channel.send(&hello).await.expect("connected");
    match channel.receive().await {
        Ok(Tell::Refused { code, .. }) => code,
        Ok(Tell::Welcome { .. }) => "welcome".to_owned(),
        other => format!("{other:?}"),
    }
}

#[tokio::test]
async fn refuses_wrong_proofs_then_other_versions_then_services_it_lacks() {
    use Service::{Host, Load};
    for (version, protocol, right, service, expected) in [
        (VERSION, PROTOCOL, true, Load, "welcome"),
        ("0.0.0", PROTOCOL, true, Load, OTHER_VERSION),
        (VERSION, PROTOCOL + 1, true, Load, OTHER_VERSION),
        ("0.0.0", PROTOCOL, false, Load, DENIED),
        // This agent was not started as a host.
        (VERSION, PROTOCOL, true, Host, NO_HOST),
        (VERSION, PROTOCOL, false, Host, DENIED),
    ] {
        let answer = answer(version, protocol, right, service).await;
        assert_eq!(answer, expected, "{version} {protocol} {right} {service:?}");
    }
}
