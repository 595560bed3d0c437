import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Client } from "@grpc/grpc-js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { faultOf, runTurn, turnRequest } from "../../support/answers/run-turn.ts";

describe("a blocking guardrail", () => {
  let installation: Installation;
  let client: Client;
  let guardrail: string;

  beforeAll(async () => {
    installation = await startInstallation({});
    client = dial(`127.0.0.1:${installation.ports.inference}`);
    const rule = ["--block", "code[- ]?(red|blue)", "--label", "codes"];
    const created = await installation.admin("guardrails", "create", "--name", "no codes", ...rule, "--json");
    guardrail = (JSON.parse(created.stdout) as { id: string }).id;
  });
  afterAll(async () => {
    client?.close();
    await installation?.stop();
  });

  const post = (path: string, key: string, body: unknown, headers: Record<string, string> = {}) =>
    fetch(`${installation.baseUrl}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });

  const assign = (action: "" | "/remove") =>
    post(`/guardrails/${guardrail}/assignments/keys${action}`, installation.managementKey, {
      key_hashes: [hashKey(installation.apiKey)],
    });

  const sendRequest = (stream: boolean, headers: Record<string, string> = {}) =>
    post("/responses", installation.apiKey, { model: "sluice/echo", input: "this is code red", stream }, headers);

  test("refuses the very next request of the key, and none after its removal, twenty times over", async () => {
    for (let round = 0; round < 20; round++) {
      expect(await (await assign("")).json()).toEqual({ assigned_count: 1 });
      const refused = await sendRequest(round % 2 === 0);
      expect(refused.status).toBe(403);
      await refused.text();
      expect(await (await assign("/remove")).json()).toEqual({ unassigned_count: 1 });
      const served = await sendRequest(round % 2 === 0);
      expect(served.status).toBe(200);
      await served.text();
    }
  });

  test("answers with its own message instead of the default, until the message is cleared", async () => {
    await assign("");
    const change = (blocked_message: string | null) =>
      fetch(`${installation.baseUrl}/guardrails/${guardrail}`, {
        method: "PATCH",
        headers: { authorization: `Bearer ${installation.managementKey}`, "content-type": "application/json" },
        body: JSON.stringify({ blocked_message }),
      });
    const words = "Codes are secret here. Ask security@acme.example.";
    expect(await (await change(words)).json()).toMatchObject({ data: { blocked_message: words } });
    expect(await (await sendRequest(true)).json()).toEqual({
      error: { code: 403, message: words, type: "permission_error", metadata: { patterns: ["codes"] } },
    });
    expect((await change("x".repeat(501))).status).toBe(400);
    const shown = await installation.admin("guardrails", "show", guardrail, "--json");
    expect(JSON.parse(shown.stdout)).toMatchObject({ blocked_message: words });
    await installation.admin("guardrails", "update", guardrail, "--no-blocked-message");
    // The CLI writes to the database and the running services notice it later; only HTTP and gRPC changes hold for the next request.
    await eventually(async () => {
      const { error } = (await (await sendRequest(false)).json()) as { error: { message: string } };
      return error.message === "Request blocked by content filter: codes";
    });
  });

  test.each([true, false])(
    "names the pattern in its 403, with a receipt only on request (stream: %s)",
    async (stream) => {
      await assign("");
      const plain = await sendRequest(stream);
      expect([plain.status, plain.headers.get("x-should-retry")]).toEqual([403, "false"]);
      expect(await plain.json()).toEqual({
        error: {
          code: 403,
          message: "Request blocked by content filter: codes",
          type: "permission_error",
          metadata: { patterns: ["codes"] },
        },
      });
      const explained = await sendRequest(stream, { "X-Service-Metadata": "enabled" });
      expect(explained.status).toBe(403);
      expect(await explained.json()).toMatchObject({
        error: { code: 403, metadata: { patterns: ["codes"] } },
        service_metadata: {
          attempt: 0,
          is_byok: false,
          requested: "sluice/echo",
          pipeline: [
            {
              type: "guardrail",
              name: "content-filter",
              guardrail_id: guardrail,
              guardrail_scope: "api-key",
              data: { action: "blocked", detected: true, engines: ["regex"], patterns: ["codes"] },
            },
          ],
        },
      });
    },
  );

  test.each([true, false])("refuses over gRPC as well (stream: %s)", async (stream) => {
    await assign("");
    const request = turnRequest("sluice/echo", "this is code blue", { stream, serviceMetadata: true });
    const { fault } = await faultOf(runTurn(client, installation.apiKey, request));
    expect(fault.reason).toBe(FaultReason.GUARDRAIL_BLOCKED);
    expect(fault.metadata).toEqual({ patterns: ["codes"] });
    const receipt = JSON.parse(Buffer.from(fault.serviceMetadataJson ?? []).toString()) as { pipeline: unknown[] };
    expect(receipt.pipeline).toHaveLength(1);
  });

  test("serves other text, for the same key", async () => {
    await assign("");
    const response = await post("/responses", installation.apiKey, { model: "sluice/echo", input: "all clear" });
    expect(response.status).toBe(200);
    await response.text();
  });
});
