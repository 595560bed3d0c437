/** Every parameter of the contract, and unknown fields, from every door to a provider, in one process and in two. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Parameter, parameterList } from "@sluice/proto/contract/request/parameters.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { runTurn, turnRequest } from "../support/answers/run-turn.ts";
import { type Installation, startInstallation } from "../support/installation.ts";
import { parameterValues } from "../support/probes/parameters.ts";
import { type Upstream, chatAnswer, startUpstream } from "../support/providers/upstream.ts";

const passed = { chat_template_kwargs: { enable_thinking: false }, num_ctx: 8_192, keep_alive: "5m" };
const rare = parameterList.flatMap(({ name, isRare }) => (isRare ? [name] : []));

let upstream: Upstream;
let together: Installation;
let apart: Installation;
beforeAll(async () => {
  upstream = await startUpstream([chatAnswer({ role: "assistant", content: "Fine." })]);
  const config = `
providers:
  - {id: own, dialect: chat, base_url: "${upstream.url}/v1", passes: [${[...rare, ...Object.keys(passed)].join(", ")}, model, messages]}
  - {id: vendor, dialect: chat, base_url: "${upstream.url}/v1", vendor: openai}
models:
  - {id: own/model, endpoints: [{provider: own, upstream_model: m}]}
  - {id: own/declared, endpoints: [{provider: own, upstream_model: m, supported_parameters: [temperature]}]}
  - {id: vendor/model, endpoints: [{provider: vendor, upstream_model: m}]}
`;
  const open = (inferenceReplicas: number) => startInstallation({ config, inferenceReplicas });
  [together, apart] = await Promise.all([open(0), open(1)]);
});
afterAll(async () => {
  await Promise.all([together?.stop(), apart?.stop()]);
  await upstream?.stop();
});

interface Outcome {
  /** The body of the request to the provider. */
  readonly sent: Readonly<Record<string, unknown>>;
  readonly warning: string | null;
  readonly params: { readonly not_sent?: readonly { readonly path: string }[]; readonly unknown_fields?: unknown };
}

async function post(installation: Installation, path: string, body: object): Promise<Outcome> {
  const received = upstream.nextRequest();
  const response = await fetch(`${installation.baseUrl}/${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${installation.apiKey}`,
      "content-type": "application/json",
      "x-service-metadata": "enabled",
    },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  expect({ status: response.status, text }).toMatchObject({ status: 200 });
  const { service_metadata: receipt } = JSON.parse(text) as { service_metadata: { params: Outcome["params"] } };
  const { json: sent } = await received;
  return { sent, warning: response.headers.get("x-sluice-warning"), params: receipt.params };
}

const messages = [{ role: "user", content: "Hi" }];
const ticket = { ticket: "4711" };

/** A request through each door, without and with a non-scalar field. */
const doors = {
  "/responses": ({ name }: Parameter, model: string, more: object, isRich: boolean) => ({
    path: "responses",
    body: { model, input: "Hi", [name]: parameterValues[name], ...more, ...(isRich && { metadata: ticket }) },
  }),
  "/chat/completions": ({ name, chat }: Parameter, model: string, more: object, isRich: boolean) => ({
    path: "chat/completions",
    body: {
      model,
      messages,
      ...(name === "top_logprobs" && { logprobs: true }),
      [chat[0] as string]: parameterValues[name],
      ...more,
      ...(isRich && { metadata: ticket }),
    },
  }),
  "/messages": ({ name, messages: field }: Parameter, model: string, more: object, isRich: boolean) => ({
    path: "messages",
    body: {
      model,
      max_tokens: 9,
      messages,
      ...(field && { [field.name]: parameterValues[name] }),
      ...more,
      ...(isRich && { metadata: { user_id: "u" } }),
    },
  }),
};

const wireName = ({ name }: Parameter) => (name === "max_output_tokens" ? "max_tokens" : name);

describe.each([
  ["one process", () => together],
  ["two processes", () => apart],
] as const)("a request in %s", (_, installation) => {
  describe.each(Object.entries(doors))("%s", (door, sendRequest) => {
    test.each(parameterList.filter(({ messages: field }) => door !== "/messages" || field))(
      "with $name reaches a server with support for it",
      async (row) => {
        for (const isRich of [false, true]) {
          const { path, body } = sendRequest(row, "own/model", {}, isRich);
          expect((await post(installation(), path, body)).sent).toMatchObject({
            [wireName(row)]: parameterValues[row.name],
          });
        }
      },
    );

    test("with fields on the provider's pass list is sent as written, without a warning", async () => {
      const { path, body } = sendRequest(parameterList[0] as Parameter, "own/model", passed, false);
      const outcome = await post(installation(), path, body);
      expect(outcome.sent).toMatchObject(passed);
      expect([outcome.warning, outcome.params.unknown_fields]).toEqual([null, undefined]);
    });

    test("without fields on any pass list warns, with an entry in the receipt", async () => {
      const { path, body } = sendRequest(parameterList[0] as Parameter, "vendor/model", passed, false);
      const outcome = await post(installation(), path, body);
      for (const name of Object.keys(passed)) {
        expect(outcome.sent).not.toHaveProperty(name);
        expect(outcome.warning).toContain(`unknown field ${name}`);
        expect(outcome.params.unknown_fields).toContainEqual({ name });
      }
    });

    test("keeps fields that Sluice itself writes", async () => {
      const foreign = door === "/responses" ? { messages: [] } : {};
      const { path, body } = sendRequest(
        parameterList[0] as Parameter,
        "own/model",
        { ...foreign, model: "own/model" },
        false,
      );
      expect((await post(installation(), path, body)).sent).toMatchObject({ model: "m", messages });
    });
  });

  test.each(parameterList)(
    "RunTurn sends $name to a server with support for it",
    async ({ field, form, name, ...row }) => {
      const client = dial(`127.0.0.1:${installation().ports.inference}`);
      try {
        for (const metadata of [{}, ticket]) {
          const received = upstream.nextRequest();
          const value = { [field]: form.toField(parameterValues[name] as never) };
          await runTurn(client, installation().apiKey, turnRequest("own/model", "Hi", { ...value, metadata })).over;
          const { json: sent } = await received;
          expect(sent).toMatchObject({ [wireName({ field, form, name, ...row })]: parameterValues[name] });
        }
      } finally {
        client.close();
      }
    },
  );

  test("RunTurn sends extra fields on the pass list to the provider", async () => {
    const client = dial(`127.0.0.1:${installation().ports.inference}`);
    const received = upstream.nextRequest();
    const extraJson = Buffer.from(JSON.stringify({ ...passed, messages: [] }));
    await runTurn(client, installation().apiKey, turnRequest("own/model", "Hi", { extraJson })).over;
    client.close();
    expect((await received).json).toMatchObject({ ...passed, messages });
  });

  test("reports a parameter that the vendor does not know in not_sent", async () => {
    for (const name of ["top_k", ...rare] as const) {
      const outcome = await post(installation(), "responses", {
        model: "vendor/model",
        input: "Hi",
        [name]: parameterValues[name],
      });
      expect(outcome.sent).not.toHaveProperty(name);
      expect(outcome.params.not_sent).toContainEqual(expect.objectContaining({ path: name }));
    }
  });

  test("applies a pass list together with supported_parameters", async () => {
    for (const name of rare) {
      const body = { model: "own/declared", input: "Hi", [name]: parameterValues[name] };
      expect((await post(installation(), "responses", body)).sent).toMatchObject({ [name]: parameterValues[name] });
    }
  });
});

test("a dry run shows fields on the pass list in the body, not as unknown", async () => {
  const response = await fetch(`${together.baseUrl}/responses/dry-run`, {
    method: "POST",
    headers: { authorization: `Bearer ${together.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "own/model", input: "Hi", debug: { echo_upstream_body: true }, ...passed }),
  });
  const receipt = (await response.json()) as { upstream_body: object; service_metadata: { params: object } };
  expect(receipt.upstream_body).toMatchObject(passed);
  expect(receipt.service_metadata.params).not.toHaveProperty("unknown_fields");
});
