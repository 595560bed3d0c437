/**
 * Signatures as Amazon publishes them (the Signature Version 4 test suite,
 * https://github.com/awslabs/aws-c-auth/tree/main/tests/aws-signing-test-suite/v4),
 * and requests signed over a socket.
 */
import { createHash, createHmac } from "node:crypto";
import { afterEach, describe, expect, test } from "@jest/globals";
import { AwsSigner } from "@sluice/inference-svc/models/upstream/credentials/aws-signer.js";
import { fixedCredential } from "@sluice/inference-svc/models/upstream/credentials/source.js";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { type Received, type Reply, type Upstream, startUpstream } from "../../../support/providers/upstream.js";
import { type Engine, testRequest, testConfig, newScope, openEngine, runTestTurn } from "../../asking.js";
import { converseAnswer, converseStart, endEvents, converseTextBlock } from "../dialects/converse-translation.js";

const credentials = {
  region: "us-east-1",
  access_key_id: "AKIDEXAMPLE",
  secret_access_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
};

const { access_key_id: accessKeyId, secret_access_key: secretAccessKey } = credentials;

describe("the AWS signature of a published vector", () => {
  async function sign(
    path: string,
    method: string,
    body = "",
    headers: Record<string, string> = {},
    more: object = {},
  ) {
    const fixed = fixedCredential({ accessKeyId, secretAccessKey, ...more });
    const signer = new AwsSigner("service", credentials.region, fixed, () => Date.parse("2015-08-30T12:36:00Z"));
    const url = new URL(path, "https://example.amazonaws.com");
    return (await signer.authorize({ url, method, headers, body }, newScope().scope)).fields;
  }
  const proof = (names: string, signature: string) =>
    `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=${names}, Signature=${signature}`;

  test("equals that of post-vanilla", async () => {
    expect(await sign("/", "POST")).toEqual({
      "x-amz-date": "20150830T123600Z",
      authorization: proof("host;x-amz-date", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
    });
  });

  test("equals that of get-vanilla-query-order-key-case", async () => {
    const { authorization } = await sign("/?Param2=value2&Param1=value1", "GET");
    expect(authorization).toBe(
      proof("host;x-amz-date", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"),
    );
  });

  test("equals that of post-x-www-form-urlencoded, with a body and its type", async () => {
    const { authorization } = await sign("/", "POST", "Param1=value1", {
      "content-type": "application/x-www-form-urlencoded",
    });
    const signature = "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a";
    expect(authorization).toBe(proof("content-type;host;x-amz-date", signature));
  });

  test("equals that of post-sts-header-before, with a token", async () => {
    const sessionToken =
      "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==";
    const signed = await sign("/", "POST", "", {}, { sessionToken });
    expect(signed["x-amz-security-token"]).toBe(sessionToken);
    const signature = "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead";
    expect(signed.authorization).toBe(proof("host;x-amz-date;x-amz-security-token", signature));
  });
});

/** Computes the expected signature step by step from the specification. */
function expectedProof({ method, path, headers, body }: Received): string {
  const [date = "", scope = "", names = ""] =
    /Credential=[^/]+\/(\d+)\/([^,]+), SignedHeaders=([^,]+)/.exec(headers.authorization ?? "")?.slice(1) ?? [];
  const [pathname = "", query = ""] = path.split("?");
  const hash = (data: string) => createHash("sha256").update(data).digest("hex");
  const lines = names.split(";").map((name) => `${name}:${String(headers[name])}\n`);
  const canonical = [
    method,
    pathname.split("/").map(encodeURIComponent).join("/"),
    query,
    lines.join(""),
    names,
    hash(body),
  ].join("\n");
  const toSign = ["AWS4-HMAC-SHA256", headers["x-amz-date"], `${date}/${scope}`, hash(canonical)].join("\n");
  const key = [date, ...scope.split("/")].reduce<string | Buffer>(
    (secret, step) => createHmac("sha256", secret).update(step).digest(),
    `AWS4${credentials.secret_access_key}`,
  );
  return createHmac("sha256", key).update(toSign).digest("hex");
}

describe("the AWS signer over a socket", () => {
  let upstream: Upstream;
  let engine: Engine;
  afterEach(async () => {
    await engine.upstreams.close();
    await upstream.stop();
  });

  const upstream_model = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-6";

  async function begin(replies: readonly Reply[], query = ""): Promise<void> {
    upstream = await startUpstream(replies);
    engine = openEngine(
      testConfig({
        providers: [{ id: "aws", dialect: "converse", base_url: `${upstream.url}${query}`, aws: credentials }],
        models: [{ id: "acme/large-2", endpoints: [{ provider: "aws", upstream_model }] }],
      }),
    );
  }

  const hi: Reply = {
    headers: { "content-type": "application/vnd.amazon.eventstream" },
    chunks: [{ bytes: Buffer.concat([converseStart(), ...converseTextBlock(0, "Hi"), ...endEvents("end_turn")]) }],
  };
  const hourMs = 3_600_000;
  const refusal = (aheadMs: number): Reply => ({
    status: 403,
    headers: {
      date: new Date(Date.now() + aheadMs).toUTCString(),
      "x-amzn-errortype": "InvalidSignatureException",
    },
    chunks: [{ json: { message: "Signature not yet current" } }],
  });
  const signedAt = ({ headers }: Received): number =>
    Date.parse(String(headers["x-amz-date"]).replace(/(....)(..)(..)T(..)(..)(..)/, "$1-$2-$3T$4:$5:$6"));

  test.each(["", "/proxy?b=2&a=%C3%A9"])("sends exactly the signed bytes (%s)", async (query) => {
    const whole = { chunks: [{ json: converseAnswer([{ text: "Hi" }]) }] };
    await begin([hi, whole], query);
    expect((await runTestTurn(engine.turn, testRequest({ text: "Zürich 😀" }))).fault).toBeUndefined();
    expect((await runTestTurn(engine.turn, testRequest({ stream: false }))).fault).toBeUndefined();
    expect(upstream.requests).toHaveLength(2);
    for (const request of upstream.requests) {
      expect(request.path).toContain("/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Ainference-profile%2Fus.");
      expect(request.headers.authorization).toContain("/us-east-1/bedrock/aws4_request");
      expect(request.headers.authorization).toContain("SignedHeaders=content-type;host;x-amz-date,");
      const sorted = { ...request, path: request.path.replace("b=2&a=%C3%A9", "a=%C3%A9&b=2") };
      expect(request.headers.authorization).toContain(`Signature=${expectedProof(sorted)}`);
    }
  });

  test("corrects its clock from the provider's first refusal", async () => {
    await begin([refusal(hourMs), hi]);
    expect((await runTestTurn(engine.turn, testRequest())).fault).toBeUndefined();
    expect((await runTestTurn(engine.turn, testRequest())).fault).toBeUndefined();
    const [first, again, ...later] = upstream.requests.map(signedAt);
    expect(later).toHaveLength(1);
    for (const time of [again, ...later]) {
      // Both headers show whole seconds, and the machine may be slow.
      expect(Math.abs((time ?? 0) - (first ?? 0) - hourMs)).toBeLessThan(60_000);
    }
  });

  test("corrects its clock also for turns already under way", async () => {
    await begin([hi]);
    const both = (async () => {
      await upstream.nextRequest();
      await upstream.nextRequest();
    })();
    const { chunks = [], ...head } = refusal(hourMs);
    const later = { ...head, chunks: chunks.map((chunk) => ({ ...chunk, after: both })) };
    upstream.script([later, later, hi]);
    const endings = await Promise.all([
      runTestTurn(engine.turn, testRequest()),
      runTestTurn(engine.turn, testRequest()),
    ]);
    expect(endings.map(({ fault }) => fault)).toEqual([undefined, undefined]);
    expect(upstream.requests).toHaveLength(4);
  });

  test("corrects its clock once, since a second refusal has another reason", async () => {
    await begin([refusal(hourMs)]);
    const { fault } = await runTestTurn(engine.turn, testRequest());
    expect(fault?.reason).toBe(FaultReason.PROVIDER_FAILED);
    expect(upstream.requests).toHaveLength(2);
  });

  test("with the right time returns a refusal without credentials", async () => {
    await begin([refusal(0)]);
    const { fault } = await runTestTurn(engine.turn, testRequest());
    expect(upstream.requests).toHaveLength(1);
    const seen = JSON.stringify([fault?.message, String(fault?.cause), fault?.metadata, engine.warnings]);
    for (const secret of [credentials.access_key_id, credentials.secret_access_key]) expect(seen).not.toContain(secret);
  });
});
