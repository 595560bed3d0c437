/** Every known failure matches the published schema in the form in which it is written to the client. */
import { once } from "node:events";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { toClientFault, writeFault } from "@sluice/gateway/edge/http/errors.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { Problems } from "@sluice/proto/lib/validation/problems.js";
import { document, validateError } from "../support/answers/published.ts";

const reasons = Object.values(FaultReason).filter((reason): reason is FaultReason => typeof reason === "number");

let server: Server;
let fault: Fault;

beforeAll(async () => {
  server = createServer((_, response) => writeFault(response, fault, { requestId: "req_1", generationId: "gen-1" }));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(() => void server.close());

async function expectPublished(written: Fault): Promise<void> {
  fault = written;
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  expect(document.components.responses).toHaveProperty(`Error${answer.status}`);
  expect(validateError(answer.status, await answer.json())).toEqual([]);
}

describe("an error as it is written", () => {
  test.each(reasons.map((reason) => [FaultReason[reason], reason] as const))(
    "for %s fits the published schema",
    async (_, reason) => {
      await expectPublished(new Fault(reason));
      await expectPublished(new Fault(reason, "Because", { retryAfterMs: 1_500, metadata: { provider_code: "x" } }));
    },
  );

  test.each(["ERR_HTTP_REQUEST_TIMEOUT", "HPE_CHUNK_EXTENSIONS_OVERFLOW", "HPE_HEADER_OVERFLOW", "HPE_INVALID"])(
    "of the HTTP parser is documented: %s",
    async (code) => {
      await expectPublished(toClientFault(Object.assign(new Error(code), { code })));
    },
  );

  test("with thirty invalid fields is documented", async () => {
    const problems = new Problems();
    for (let index = 0; index < 30; index++) problems.add(`input.${index}`, "must be an object");
    await expectPublished(Fault.from(thrownBy(() => problems.throwIfAny())));
  });

  test("with its receipt is documented", async () => {
    const receipt = {
      attempt: 0,
      endpoints: { available: [], total: 0 },
      is_byok: false,
      pipeline: [],
      region: "local",
      requested: "a",
      strategy: "direct",
      summary: "available=0",
    };
    const serviceMetadataJson = Buffer.from(JSON.stringify(receipt));
    await expectPublished(new Fault(FaultReason.GUARDRAIL_BLOCKED, "", { serviceMetadataJson }));
  });
});

function thrownBy(run: () => void): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}
