/** The operator's checks: the models a configuration file would serve, and whether a provider answers. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runOperator } from "@sluice/inference-svc/assembly/operator.js";
import { type FinishedProcess, bareEnvironment, root, runProgram } from "../support/processes.ts";
import { type Reply, type Upstream, chatAnswer, startUpstream } from "../support/providers/upstream.ts";

// A provider key without a known form, unrecognisable to secret patterns.
const key = "very-secret-word";

describe("the operator's commands", () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-test-operator-"));
  const config = join(folder, "sluice.yaml");
  const seen: FinishedProcess[] = [];
  let upstream: Upstream;

  beforeAll(async () => {
    upstream = await startUpstream();
  });
  afterEach(() => {
    // No output contains the provider key.
    for (const { stdout, stderr } of seen.splice(0)) expect(stdout + stderr).not.toContain("very-secret");
  });
  afterAll(async () => {
    await upstream?.stop();
    rmSync(folder, { recursive: true });
  });

  async function operator(args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<FinishedProcess> {
    const finished = { code: 0, stdout: "", stderr: "" };
    finished.code = await runOperator(args, {
      environment: { ACME_KEY: key, ...environment },
      config,
      stdout: { write: (text: string) => (finished.stdout += text) },
      stderr: { write: (text: string) => (finished.stderr += text) },
    });
    seen.push(finished);
    return finished;
  }

  const configured = (provider = "", models = "") =>
    writeFileSync(
      config,
      `
providers:
  - {id: acme, name: Acme, dialect: chat, base_url: "${upstream.url}/v1", api_keys: ["\${ACME_KEY}"]${provider}}
  - {id: openai, dialect: responses, base_url: "https://api.openai.com/v1", api_keys: ["\${OPENAI_API_KEY}"], known_models: true}
  - {id: built-in, dialect: echo}
models:
  - {id: acme/large, endpoints: [{provider: acme, upstream_model: large-2, pricing: {prompt: "2", completion: "8"}}]}
  - {id: acme/small, endpoints: [{provider: acme, upstream_model: small-2, pricing: {prompt: "0.1", completion: "0.4"}}]}
${models}
`,
    );

  describe("check-config", () => {
    test("shows the served models, and the parts of the file that are left out", async () => {
      configured("", "  - {id: acme/free, context_length: 4096, endpoints: [{provider: built-in}]}");
      const { code, stdout, stderr } = await operator(["check-config"]);
      expect([code, stderr]).toEqual([0, ""]);
      expect(stdout.split("\n")[0]).toBe(`${config}: good`);
      expect(stdout).toMatch(/^acme +Acme +chat +global +2$/m);
      expect(stdout).toMatch(/^Left out: openai, as OPENAI_API_KEY is not set\. Its definition is good\.$/m);
      expect(stdout).toMatch(/^acme\/small +acme +small-2 +default +128000 +0\.1 +0\.4$/m);
      expect(stdout).toMatch(/^acme\/free +built-in +acme\/free +default +4096 +- +-$/m);
      expect(stdout).toMatch(/^Endpoints without a price: 1\./m);
    });

    test("prints the same as JSON, including known models that are not listed", async () => {
      configured();
      const { code, stdout } = await operator(["check-config", config, "--json"], { OPENAI_API_KEY: key });
      const checked = JSON.parse(stdout) as { providers: { id: string; models: number }[]; models: { id: string }[] };
      expect([code, checked]).toMatchObject([0, { ok: true, file: config, problems: [] }]);
      expect(checked.providers.map(({ id }) => id)).toEqual(["acme", "openai", "built-in"]);
      expect(checked.providers[1]?.models).toBeGreaterThan(10);
      expect(checked.models).toContainEqual({
        id: "openai/gpt-5-mini",
        context_length: 400_000,
        endpoints: [
          {
            provider: "openai",
            upstream_model: "gpt-5-mini",
            tier: "default",
            pricing: { prompt: "0.25", completion: "2" },
          },
        ],
      });
    });

    test("shows every problem with its path", async () => {
      writeFileSync(config, `providers: [{id: x, dialect: telnet}]\nmodels: [{id: "a b", endpoints: []}]\ntypo: 1`);
      const { code, stdout } = await operator(["check-config"]);
      expect(code).toBe(1);
      expect(stdout.split("\n")[0]).toBe(`${config}: 4 problems`);
      for (const problem of [
        /^ {2}providers\.0\.dialect: /m,
        /^ {2}models\.0\.id: /m,
        /^ {2}models\.0\.endpoints: /m,
      ]) {
        expect(stdout).toMatch(problem);
      }
      expect(stdout).toContain("typo");
      const scripted = await operator(["check-config", "--json"]);
      const { ok, problems } = JSON.parse(scripted.stdout) as { ok: boolean; problems: string[] };
      expect([scripted.code, ok, problems.length]).toEqual([1, false, 4]);
    });

    test("also checks parts that are left out for a missing variable", async () => {
      const missing = `providers: [{id: x, dialect: chat, api_keys: ["\${UNSET}"]}, {id: y, dialect: telnet}]`;
      writeFileSync(config, missing);
      const { code, stdout } = await operator(["check-config"]);
      expect([code, stdout]).toEqual([
        1,
        `${config}: 2 problems\n  ${[
          "providers.1.dialect: must be one of echo, chat, gemini, messages, converse, cohere, responses, mistral-ocr, or ai-sdk:<package>",
          "providers.0.base_url: required for dialect chat",
        ].join("\n  ")}\n`,
      ]);
    });

    test("explains wrong aliases in a sentence, without a stack trace", async () => {
      writeFileSync(config, "a: &a [x]\nb: &b [*a]\nproviders: *c\n");
      const { code, stdout, stderr } = await operator(["check-config"]);
      const problem = "(root): the alias *c has no anchor &c before it";
      expect([code, stdout, stderr]).toEqual([1, `${config}: a problem\n  ${problem}\n`, ""]);
    });

    test("shows the external detectors and their entity types for guardrails, and no invalid detector", async () => {
      const names = `{id: names, dialect: presidio, base_url: "http://127.0.0.1:5002/x", categories: {person-name: [PERSON]}}`;
      configured();
      appendFileSync(config, `detectors: [${names}]\n`);
      const { code, stdout } = await operator(["check-config"]);
      expect([code, stdout]).toEqual([
        0,
        expect.stringMatching(/^names +presidio +http:\/\/127\.0\.0\.1:5002 +person-name$/m),
      ]);
      const wrong = `{id: "a:b", dialect: tei, base_url: "ftp://x", categories: {}, api_key: "\${UNSET}"}`;
      writeFileSync(config, `detectors: [${names}, ${names}, ${wrong}]`);
      const { problems } = JSON.parse((await operator(["check-config", "--json"])).stdout) as { problems: string[] };
      expect(problems).toEqual([
        "detectors.2.api_key: variable UNSET is not set",
        "detectors.2.id: letters, digits and . _ -",
        expect.stringMatching(/^detectors\.2\.base_url: /),
        "detectors.2.categories: at least one category",
      ]);
      writeFileSync(config, `detectors: [${names}, ${names}]`);
      expect((await operator(["check-config"])).stdout).toContain("detectors.1.id: names is used twice");
    });

    test("leaves out a provider without its package", async () => {
      writeFileSync(config, `providers: [{id: far, dialect: "ai-sdk:nobody-has-this"}]`);
      const { code, stdout } = await operator(["check-config"]);
      expect(code).toBe(0);
      expect(stdout).toContain(
        "Left out: far, as package nobody-has-this is not installed; npm install nobody-has-this.",
      );
    });

    test("reports a missing file, and too many files", async () => {
      const { code, stdout } = await operator(["check-config", "/nowhere/sluice.yaml"]);
      expect([code, stdout]).toEqual([1, "/nowhere/sluice.yaml: a problem\n  cannot be read: ENOENT\n"]);
      expect(await operator(["check-config", "a", "b"])).toMatchObject({
        code: 2,
        stderr: "unexpected argument: b\nusage: check-config [FILE] [--json]\n",
      });
    });
  });

  describe("test-provider", () => {
    async function tried(
      args: readonly string[] = ["acme"],
    ): Promise<{ code: unknown; answer: Record<string, unknown> }> {
      const { code, stdout, stderr } = await operator(["test-provider", ...args, "--json"]);
      expect(stderr).toBe("");
      return { code, answer: JSON.parse(stdout) as Record<string, unknown> };
    }

    test("sends one short request to the cheapest model, and reports the result", async () => {
      configured();
      upstream.script([chatAnswer({ role: "assistant", content: "Yes." })]);
      const before = upstream.requests.length;
      const { code, stdout } = await operator(["test-provider", "acme"]);
      expect(code).toBe(0);
      expect(stdout).toMatch(/^provider {2}acme$/m);
      expect(stdout).toMatch(/^model {5}acme\/small \(there: small-2\)$/m);
      expect(stdout).toMatch(/^latency {3}\d+ ms$/m);
      expect(stdout).toMatch(/^usage {5}\d+ tokens in, \d+ out$/m);
      expect(stdout).toMatch(/^status {4}completed$/m);
      expect(upstream.requests.length).toBe(before + 1);
      const sent = upstream.requests.at(-1);
      expect(sent?.headers.authorization).toBe(`Bearer ${key}`);
      expect(sent?.json).toMatchObject({ model: "small-2", max_tokens: 16 });
    });

    test.each([
      ["acme/large", { model: "acme/large", upstream_model: "large-2" }],
      ["large-2", { model: "acme/large", upstream_model: "large-2" }],
      ["unlisted-3", { model: "unlisted-3", upstream_model: "unlisted-3" }],
    ])("sends its request to the model %s", async (model, expected) => {
      configured();
      upstream.script([chatAnswer({ role: "assistant", content: "Ye" }, "length")]);
      const { code, answer } = await tried(["acme", "--model", model]);
      expect([code, answer]).toMatchObject([
        0,
        { ok: true, provider: "acme", outcome: "incomplete: max_output_tokens", ...expected },
      ]);
      expect(upstream.requests.at(-1)?.json["model"]).toBe(expected.upstream_model);
    });

    const failing = (status: number): Reply => ({
      status,
      chunks: [{ json: { error: { message: `Not a value that may be provided: ${key}`, code: "some_code" } } }],
    });
    test.each<[string, Reply, object]>([
      [
        "a wrong request",
        failing(400),
        { status: 400, message: /provided: \*\*\*; the provider takes no such request/ },
      ],
      ["a wrong key", failing(401), { kind: "refused", status: 401, message: /some_code; the key is not valid there/ }],
      ["no credit", failing(402), { kind: "refused", status: 402, message: /no credit/ }],
      ["a forbidden model", failing(403), { kind: "refused", status: 403, message: /may not use small-2/ }],
      ["an unknown model", failing(404), { kind: "refused", status: 404, message: /no model small-2/ }],
      ["a spent quota", failing(429), { kind: "refused", status: 429, message: /quota of the account/ }],
      ["a failure", failing(500), { kind: "refused", status: 500, message: /^provider answered 500/ }],
      ["silence", { hang: true }, { kind: "timeout", message: /^127\.0\.0\.1:\d+: no .* in time$/ }],
      ["a page", { chunks: [{ bytes: "<html></html>" }] }, { kind: "answer", message: /cannot be read/ }],
    ])("reports the provider's failure: %s", async (_, reply, cause) => {
      configured(reply.hang === true ? ", timeouts: {headers_ms: 300}" : "");
      upstream.script([reply]);
      const { code, answer } = await tried();
      const expected = Object.entries(cause).map(([name, value]: [string, unknown]) => [
        name,
        value instanceof RegExp ? expect.stringMatching(value) : value,
      ]);
      expect([code, answer]).toMatchObject([1, { ok: false, cause: Object.fromEntries(expected) }]);
    });

    test.each([
      ["nobody listens", "http://127.0.0.1:9/v1", "connection", /ECONNREFUSED/],
      ["a host without address", "http://no-such-host.invalid/v1", "dns", /no-such-host\.invalid has no address/],
      ["no TLS there", "TLS", "tls", /TLS failed/],
    ])("reports the connection's failure: %s", async (_, url, kind, message) => {
      const address = url === "TLS" ? upstream.url.replace("http:", "https:") : url;
      writeFileSync(config, `providers: [{id: acme, dialect: chat, base_url: "${address}", api_keys: [${key}]}]`);
      const { code, answer } = await tried(["acme", "--model", "m"]);
      expect([code, answer]).toMatchObject([1, { cause: { kind, message: expect.stringMatching(message) } }]);
    });

    test.each([
      [["openai"], 1, "openai is left out: OPENAI_API_KEY is not set\n"],
      [["built-in"], 1, "built-in serves no model here; name one of its own with --model\n"],
      [["acne"], 1, "no provider is called acne; one of acme, built-in\n"],
      [[], 2, "missing argument: ID\nusage: test-provider ID [--model MODEL] [--json]\n"],
    ])("refuses the arguments %j", async (args, code, stderr) => {
      configured();
      expect(await operator(["test-provider", ...args])).toMatchObject({ code, stderr, stdout: "" });
    });
  });

  test("run as separate programs, as in images", async () => {
    configured();
    const finished = await runProgram(
      process.execPath,
      [join(root, "inference-svc/bundle/operator.js"), "check-config"],
      {
        environment: { ...bareEnvironment(), SLUICE_CONFIG: config, ACME_KEY: key },
      },
    );
    expect(finished).toMatchObject({ code: 0, stdout: expect.stringContaining(": good\n"), stderr: "" });
  });

  test("belong to the one command line, and run without an installation", async () => {
    configured();
    const admin = (...args: string[]) =>
      runProgram(process.execPath, [join(root, "deploy/local/admin.mjs"), ...args], {
        environment: { ...bareEnvironment(), SLUICE_CONFIG: config, SLUICE_DATA_DIR: folder, ACME_KEY: key },
      });
    expect(await admin("check-config")).toMatchObject({ code: 0, stdout: expect.stringContaining(": good\n") });
    const help = await admin("--help");
    expect(help.stdout).toMatch(/^ {2}check-config \[FILE\]/m);
    expect(help.stdout).toMatch(/^ {2}guardrails /m);
  });
});
