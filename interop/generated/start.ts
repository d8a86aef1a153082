// Starts flows with the types that openapi-typescript made of a node's description: see scripts/client-check.
import createClient from "openapi-fetch";
import type { paths } from "./api.js";

const client = createClient<paths>({
  baseUrl: process.env.NODE_URL ?? "",
  headers: { Authorization: `Bearer ${process.env.NODE_TOKEN}` },
});

function expect(holds: boolean, what: unknown): void {
  if (!holds) throw new Error(JSON.stringify(what));
}

const issued = await client.POST("/v1/flows/cash.issue", {
  params: { query: { wait: "delivered", client_id: "typescript-1" } },
  body: { currency: "EUR", quantity: 1000 },
});
expect(issued.data?.status === "delivered" && issued.data.result?.transaction.length === 64, issued);

const accepted = await client.POST("/v1/flows/cash.pay", {
  params: { query: { wait: "none" } },
  body: { currency: "EUR", payments: [{ to: "O=Bank B, L=New York, C=US", quantity: 400 }] },
});
const flow_id = accepted.data?.flow_id ?? "";
expect(accepted.response.status === 202 && accepted.response.headers.get("location") === `/v1/flows/${flow_id}`, accepted);
const paid = await client.GET("/v1/flows/{flow_id}", { params: { path: { flow_id }, query: { wait: "delivered" } } });
expect(paid.data?.status === "delivered", paid);

const failed = await client.POST("/v1/flows/cash.pay", {
  body: { currency: "EUR", payments: [{ to: "O=Bank B, L=New York, C=US", quantity: 10 ** 12 }] },
});
expect(failed.response.status === 422 && failed.error?.code === "vault.insufficient_funds", failed);
expect(failed.error?.flow_status === "failed", failed);
const shown = await client.GET("/v1/flows/{flow_id}", { params: { path: { flow_id: failed.error?.flow_id ?? "" } } });
expect(shown.data?.status === "failed" && shown.data.error?.code === failed.error?.code, shown);

const refused = await client.POST("/v1/flows/cash.issue", { body: { currency: "gold", quantity: 1 } });
expect(refused.error?.code === "flow.bad_arguments" && !refused.error.flow_id, refused);
console.log("client-check: TypeScript: issued, paid, failed and was refused as described");
