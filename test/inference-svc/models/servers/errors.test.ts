/** The errors of OpenAI-compatible servers of all vendors: which party caused the error, which text is shown, and whether there is a fallback. */
import { describe, expect, test } from "@jest/globals";
import { chatError } from "@sluice/inference-svc/models/upstream/chat/error.js";
import { isLinear } from "../../../support/clock.ts";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { Reply } from "../../../support/providers/upstream.js";
import { runAgainstServer, bytesReply, readItems, sseReply } from "./odd-server.js";

describe("errors of real providers", () => {
  const html = "<html><head><title>502 Bad Gateway</title></head></html>";
  const google = (code: number, message: string, details: readonly unknown[] = []) => [
    { error: { code, message, status: "INVALID_ARGUMENT", details } },
  ];
  const reply = (status: number, body: unknown, headers: Record<string, string> = {}): Reply => ({
    status,
    headers: typeof body === "string" ? { "content-type": "text/html", ...headers } : headers,
    chunks: [typeof body === "string" ? { bytes: body } : { json: body }],
  });
  const R = FaultReason;
  test.each<[string, Reply, FaultReason, RegExp | undefined, boolean]>([
    ["a page of a proxy", reply(502, html), R.PROVIDER_FAILED, undefined, true],
    ["a page in a 400", reply(400, html), R.INVALID_REQUEST, undefined, false],
    ["nothing in a 503", { status: 503 }, R.PROVIDER_FAILED, undefined, true],
    [
      "text-generation-inference: broke off",
      reply(424, { error: "Request failed during generation", error_type: "generation" }),
      R.PROVIDER_FAILED,
      undefined,
      true,
    ],
    [
      "text-generation-inference: too long",
      reply(422, {
        error: "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096",
        error_type: "validation",
      }),
      R.CONTEXT_LENGTH_EXCEEDED,
      /must be/,
      false,
    ],
    [
      "llama.cpp: too long",
      reply(400, {
        error: {
          code: 400,
          message: "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it",
          type: "exceed_context_size_error",
        },
      }),
      R.CONTEXT_LENGTH_EXCEEDED,
      /9000/,
      false,
    ],
    [
      "xAI: too long",
      reply(400, {
        code: "invalid-argument",
        error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
      }),
      R.CONTEXT_LENGTH_EXCEEDED,
      /131072/,
      false,
    ],
    [
      "Moonshot: too long",
      reply(400, {
        error: {
          message: "Invalid request: Your request exceeded model token limit: 131072",
          type: "invalid_request_error",
        },
      }),
      R.CONTEXT_LENGTH_EXCEEDED,
      /131072/,
      false,
    ],
    [
      "vLLM: too long",
      reply(400, {
        object: "error",
        message: "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
        type: "BadRequestError",
        code: 400,
      }),
      R.CONTEXT_LENGTH_EXCEEDED,
      /5000/,
      false,
    ],
    [
      "xAI: a key that it does not know",
      reply(400, { code: "invalid-argument", error: "Incorrect API key provided: xa***jU." }),
      R.PROVIDER_FAILED,
      undefined,
      true,
    ],
    [
      "Google: a key that it does not know",
      reply(
        400,
        google(400, "API key not valid.", [
          { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" },
        ]),
      ),
      R.PROVIDER_FAILED,
      undefined,
      true,
    ],
    ["Google: a list", reply(400, google(400, 'Unknown name "x"')), R.INVALID_REQUEST, /Unknown name/, false],
    [
      "OpenAI: a model that is not there",
      reply(400, {
        error: {
          message: "The requested model 'm' does not exist.",
          code: "model_not_found",
          type: "invalid_request_error",
        },
      }),
      R.NO_ENDPOINTS,
      /^Provider odd does not serve acme\/large-2/,
      true,
    ],
    [
      "OpenAI: a model that the key may not ask",
      reply(403, {
        error: {
          message: "Project does not have access to model",
          code: "model_not_found",
          type: "invalid_request_error",
        },
      }),
      R.NO_ENDPOINTS,
      /^Provider odd does not serve acme\/large-2/,
      true,
    ],
    [
      "Mistral: a model that is not there",
      reply(400, { object: "error", message: "Invalid model: m", type: "invalid_model", param: null, code: "1500" }),
      R.NO_ENDPOINTS,
      /^Provider odd does not serve acme\/large-2/,
      true,
    ],
    [
      "Mistral: what is wrong, in a list",
      reply(422, {
        object: "error",
        message: { detail: [{ type: "missing", loc: ["body", "messages"], msg: "Field required" }] },
        type: "invalid_request_error",
      }),
      R.UNPROCESSABLE,
      /body\.messages: Field required/,
      false,
    ],
    [
      "FastAPI: what is wrong, in a list",
      reply(422, { detail: [{ loc: ["body", "n"], msg: "must be 1", type: "value_error" }] }),
      R.UNPROCESSABLE,
      /body\.n: must be 1/,
      false,
    ],
    [
      "Groq: more than the account may send",
      reply(
        413,
        {
          error: {
            message: "Request too large for model on tokens per minute (TPM)",
            type: "tokens",
            code: "rate_limit_exceeded",
          },
        },
        { "retry-after": "30" },
      ),
      R.RATE_LIMITED,
      undefined,
      true,
    ],
    [
      "Groq: no room in the tier",
      reply(498, { error: { message: "capacity", code: "capacity_exceeded" } }),
      R.PROVIDER_OVERLOADED,
      undefined,
      true,
    ],
    [
      "Z.ai: no credit, with the status of a rate limit",
      reply(429, { error: { code: "1113", message: "Insufficient balance or no resource package. Please recharge." } }),
      R.PROVIDER_FAILED,
      undefined,
      true,
    ],
    [
      "MiniMax: too fast, under a 200",
      reply(200, { id: "1", choices: null, base_resp: { status_code: 1002, status_msg: "rate limit" } }),
      R.RATE_LIMITED,
      undefined,
      true,
    ],
    [
      "MiniMax: too fast, in a stream",
      sseReply({ id: "1", choices: [], base_resp: { status_code: 1039, status_msg: "too many tokens a minute" } }),
      R.RATE_LIMITED,
      undefined,
      true,
    ],
    [
      "MiniMax: a wrong field, under a 200",
      reply(200, { base_resp: { status_code: 2013, status_msg: "invalid params: top_p" } }),
      R.INVALID_REQUEST,
      /invalid params: top_p/,
      false,
    ],
    [
      "MiniMax: an answer that it calls sensitive",
      reply(200, { base_resp: { status_code: 1027, status_msg: "output new_sensitive" } }),
      R.INVALID_REQUEST,
      /output new_sensitive/,
      false,
    ],
    [
      "OpenAI: no credit, beside a limit with nothing left",
      reply(
        429,
        { error: { code: "insufficient_quota", message: "You exceeded your current quota." } },
        { "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0s" },
      ),
      R.PROVIDER_FAILED,
      undefined,
      true,
    ],
    ["a path that takes no post", reply(405, { detail: "Method Not Allowed" }), R.PROVIDER_FAILED, undefined, true],
    [
      "a redirect",
      { status: 307, headers: { location: "https://elsewhere.example/" } },
      R.PROVIDER_FAILED,
      undefined,
      true,
    ],
    [
      "text-generation-inference: in a stream",
      sseReply({ error: { message: "bad", http_status_code: 422 } }),
      R.UNPROCESSABLE,
      /bad/,
      false,
    ],
    [
      "a flat one in a stream",
      sseReply({ object: "error", message: "slow down", type: "TooManyRequests", code: 429 }),
      R.RATE_LIMITED,
      undefined,
      true,
    ],
    [
      "one that only the event names",
      bytesReply('event: error\ndata: {"message":"busy","code":503}\n\n'),
      R.PROVIDER_FAILED,
      undefined,
      true,
    ],
  ])("become a fault without markup: %s", async (_, answer, reason, shown, moves) => {
    const { fault, rejected } = await runAgainstServer(answer);
    expect([fault?.reason, rejected]).toEqual([reason, true]);
    if (shown) expect(fault?.message).toMatch(shown);
    else expect(fault?.message).toBe(new Fault(reason).message);
    const moved = await runAgainstServer(answer, { fallback: true });
    expect(moved.fault?.reason ?? readItems(moved)).toEqual(moves ? ["Good."] : reason);
  });

  test("pass OpenRouter's retry time on", async () => {
    const headers = { "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": String(Date.now() + 60_000) };
    const error = { code: 429, message: "Rate limit exceeded: free-models-per-min", metadata: { headers } };
    const { fault } = await runAgainstServer(reply(429, { error }));
    expect(fault?.reason).toBe(R.RATE_LIMITED);
    expect(fault?.retryAfterMs).toBeGreaterThan(50_000);
    expect(fault?.retryAfterMs).toBeLessThanOrEqual(60_000);
  });

  test("have a retry time of any length read in linear time", async () => {
    const read = (count: number) => {
      const headers = { "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": `${"1".repeat(count)}..` };
      return chatError(429, JSON.parse(JSON.stringify({ error: { message: "slow down", metadata: { headers } } })));
    };
    expect(await isLinear(2_000, read)).toBe(true);
    expect(read(2_000)).not.toHaveProperty("limitResetMs");
  });

  test("do not include MiniMax's word for success", async () => {
    const answer = { choices: [{ message: { content: "Hi" }, finish_reason: "stop" }] };
    const said = await runAgainstServer(reply(200, { ...answer, base_resp: { status_code: 0, status_msg: "" } }));
    expect(readItems(said)).toEqual(["Hi"]);
  });
});
