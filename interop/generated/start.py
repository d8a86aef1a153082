"""Starts flows with the client that openapi-python-client made of a node's description: see scripts/client-check."""

import importlib
import os
import pkgutil
import ssl

import generated_client
from generated_client import AuthenticatedClient
from generated_client.api.cash_flows import start_cash_issue, start_cash_pay
from generated_client.api.flows import get_flow
from generated_client.models import CashIssueArguments, CashPayArguments, FlowStatus, Problem, Wait
from generated_client.models.payment import Payment

# All of it loads.
for module in pkgutil.walk_packages(generated_client.__path__, "generated_client."):
    importlib.import_module(module.name)

context = ssl.create_default_context(cafile=os.environ["NODE_ROOT"])
client = AuthenticatedClient(base_url=os.environ["NODE_URL"], token=os.environ["NODE_TOKEN"], verify_ssl=context)

issued = start_cash_issue.sync(
    client=client, body=CashIssueArguments(currency="GBP", quantity=1000), wait=Wait.DELIVERED, idempotency_key="python-1"
)
assert issued.status == FlowStatus.DELIVERED, issued
assert len(issued.result.transaction) == 64, issued
again = start_cash_issue.sync(
    client=client, body=CashIssueArguments(currency="GBP", quantity=1000), wait=Wait.DELIVERED, client_id="python-1"
)
assert again.flow_id == issued.flow_id, again

payment = Payment(to="O=Bank B, L=New York, C=US", quantity=400)
accepted = start_cash_pay.sync_detailed(
    client=client, body=CashPayArguments(currency="GBP", payments=[payment]), wait=Wait.NONE
)
assert accepted.status_code == 202 and accepted.headers["location"] == f"/v1/flows/{accepted.parsed.flow_id}", accepted
paid = get_flow.sync(accepted.parsed.flow_id, client=client, wait=Wait.DELIVERED)
assert paid.status == FlowStatus.DELIVERED, paid

failed = start_cash_pay.sync_detailed(
    client=client, body=CashPayArguments(currency="GBP", payments=[Payment(to=payment.to, quantity=10**12)])
)
failure = failed.parsed
assert failed.status_code == 422 and isinstance(failure, Problem), failed
assert failure.code == "vault.insufficient_funds" and failure.flow_status == FlowStatus.FAILED, failure
shown = get_flow.sync(failure.flow_id, client=client)
assert shown.status == FlowStatus.FAILED and shown.error.code == failure.code, shown

refused = start_cash_issue.sync(client=client, body=CashIssueArguments(currency="gold", quantity=1))
assert isinstance(refused, Problem) and refused.code == "flow.bad_arguments" and not refused.flow_id, refused
print("client-check: Python: issued, repeated, paid, failed and was refused as described")
