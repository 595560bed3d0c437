/** A provider's codes, types and reasons: unknown words appear neither in logs nor in errors, and known words do. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { loggedError } from "@sluice/proto/lib/log/error.js";
import { maskUnknownName } from "@sluice/inference-svc/models/upstream/known-words.js";
import { type Reply, type Upstream, startUpstream } from "../../../support/providers/upstream.ts";
import { type Engine, testRequest, testConfig, newScope, openEngine, runTestTurn } from "../../asking.js";

const dialects = ["chat", "responses", "messages", "gemini", "cohere", "converse"];
let provider: Upstream;
let engine: Engine;

beforeAll(async () => {
  provider = await startUpstream();
  const access = (dialect: string) =>
    dialect === "converse"
      ? { aws: { region: "eu-central-1", access_key_id: "A", secret_access_key: "s" } }
      : { api_keys: ["k"] };
  engine = openEngine(
    testConfig({
      providers: dialects.map((id) => ({ id, dialect: id, base_url: `${provider.url}/v1`, ...access(id) })),
      models: dialects.map((id) => ({ id: `${id}/m`, endpoints: [{ provider: id }] })),
    }),
  );
});
afterAll(async () => {
  await engine.upstreams.close();
  await provider.stop();
});

const secret = "plutonium";
const said = [secret, `say ${secret} now`, `say_${secret}_now`, "SayPlutoniumException"];

const failing = (status: number, body: object, headers: Record<string, string> = {}): Reply => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  chunks: [{ json: body }],
});

/** Every place where a provider can put a word other than in its answer. */
const places: readonly (readonly [string, (word: string) => Reply])[] = [
  ...[400, 500].flatMap(
    (status) =>
      [
        [`code, ${status}`, (word: string) => failing(status, { error: { code: word, message: "No." } })],
        [
          `type, ${status}`,
          (word: string) => failing(status, { type: "error", error: { type: word, message: "No." } }),
        ],
        [`status, ${status}`, (word: string) => failing(status, { error: { status: word, message: "No." } })],
        [`flat code, ${status}`, (word: string) => failing(status, { code: word, message: "No." })],
        [`__type, ${status}`, (word: string) => failing(status, { __type: word, message: "No." })],
        [
          `errortype, ${status}`,
          (word: string) => failing(status, { message: "No." }, { "x-amzn-errortype": word.replaceAll(" ", "") }),
        ],
      ] as const,
  ),
  ["an error inside a 200", (word) => ({ chunks: [{ sse: [{ error: { code: word, type: word, message: "No." } }] }] })],
  [
    "a failed response",
    (word) => ({
      chunks: [
        { sse: [{ type: "response.failed", response: { status: "failed", error: { code: word, message: "No." } } }] },
      ],
    }),
  ],
  [
    "the status of a response",
    (word) => ({ chunks: [{ sse: [{ type: "response.completed", response: { status: word, output: [] } }] }] }),
  ],
  [
    "the reason of a stop",
    (word) => ({ chunks: [{ json: { output: { message: { content: [] } }, stopReason: `malformed_${word}` } }] }),
  ],
  [
    "the type of a body",
    (word) => ({ headers: { "content-type": `text/${word.replaceAll(" ", "-")}` }, chunks: [{ bytes: "x" }] }),
  ],
  ["the coding of a body", (word) => ({ headers: { "content-encoding": word }, chunks: [{ bytes: "x" }] })],
];

describe.each(dialects)("an error of a provider of the dialect %s", (dialect) => {
  test("leaves no unknown word in the log or the error", async () => {
    const shown: unknown[] = [];
    for (const [place, reply] of places)
      for (const word of said) {
        provider.script([reply(word)]);
        const before = engine.warnings.length;
        const testScope = newScope();
        const { fault } = await runTestTurn(
          engine.turn,
          testRequest({ models: [`${dialect}/m`], stream: true }),
          testScope,
        );
        const { message, metadata } = fault ?? {};
        const logged = engine.warnings.slice(before).map((line) => ({
          ...line,
          err: "err" in line ? loggedError(line.err) : undefined,
        }));
        const all = JSON.stringify([message, metadata, logged, testScope.scope.trace.attempts, engine.closed.at(-1)]);
        if (all.toLowerCase().includes(secret)) shown.push([place, word]);
      }
    expect(shown).toEqual([]);
  });
});

test.each([
  "invalid_request_error",
  "model_not_found",
  "insufficient_quota",
  "rate_limit_exceeded",
  "context_length_exceeded",
  "content_policy_violation",
  "RESOURCE_EXHAUSTED",
  "INVALID_ARGUMENT",
  "DeploymentNotFound",
  "ThrottlingException",
  "ServiceQuotaExceededException",
  "overloaded_error",
  "exceed_context_size_error",
  "tool_use_failed",
  "decimal_below_min_value",
  "previous_response_not_found",
  "BadRequestError",
  "InternalServerError",
  "1113",
  "404",
  "text/html",
  "malformed_tool_use",
])("the error code %s of a real provider is shown", (code) => expect(maskUnknownName(code)).toBe(code));
