/** Providers behind TLS with an authority from NODE_EXTRA_CA_CERTS: their answers, and the errors for providers that cannot prove their identity. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Authority, newAuthority, readCredentials, writeCertificate } from "../../support/certificates.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { bareEnvironment, eventually, root, runProgram } from "../../support/processes.ts";
import { type Upstream, chatAnswer, chatChunk, sse, startUpstream } from "../../support/providers/upstream.ts";

const dayMs = 86_400_000;
const whole = chatAnswer({ role: "assistant", content: "grüße 東京" });

let folder: string;
let authority: Authority;
const upstreams: Upstream[] = [];
let installation: Installation;

async function start(name: string, host: string, until = new Date(Date.now() + dayMs)): Promise<string> {
  await writeCertificate(join(folder, name), { hosts: [host], by: authority, trusted: [authority], until });
  const upstream = await startUpstream([whole], { credentials: readCredentials(join(folder, name)) });
  upstreams.push(upstream);
  return `  - {id: ${name}, dialect: chat, base_url: "${upstream.url}/v1", api_keys: [k]}`;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "sluice-test-provider-tls-"));
  authority = await newAuthority("providers");
  const providers = [
    await start("good", "localhost"),
    await start("expired", "localhost", new Date(Date.now() - dayMs / 2)),
    await start("elsewhere", "other.test"),
  ];
  const models = ["good", "expired", "elsewhere"].map((name) => `  - {id: ${name}, endpoints: [{provider: ${name}}]}`);
  installation = await startInstallation({
    config: ["providers:", ...providers, "models:", ...models, ""].join("\n"),
    environment: { NODE_EXTRA_CA_CERTS: join(folder, "good", "ca.crt") },
  });
});
afterAll(async () => {
  await installation?.stop();
  for (const upstream of upstreams) await upstream.stop();
  rmSync(folder, { recursive: true, force: true });
});

const sendRequest = (model: string, stream: boolean) =>
  fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model, input: "Hi", stream }),
  });

test("whole answers and streams over TLS that arrive byte by byte are read, on one connection", async () => {
  const text = sse(chatChunk({ content: "grüße " }), chatChunk({ content: "東京" }), chatChunk({}, "stop"), "[DONE]");
  const bytes = Array.from(Buffer.from(text), (byte) => ({ bytes: Uint8Array.of(byte) }));
  upstreams[0]?.script([whole, { chunks: bytes }, whole]);
  expect(await (await sendRequest("good", false)).text()).toContain("grüße 東京");
  const stream = await (await sendRequest("good", true)).text();
  expect(stream).toContain('"text":"grüße 東京"');
  expect(stream).toContain("response.completed");
  expect(await (await sendRequest("good", false)).text()).toContain("grüße 東京");
  expect(upstreams[0]?.openSockets).toBe(1);
});

test.each([
  ["expired", "CERT_HAS_EXPIRED", "not valid now"],
  ["elsewhere", "ERR_TLS_CERT_ALTNAME_INVALID", "names other hosts"],
])(
  "an %s certificate of a provider is named in the answer, in the log and by test-provider",
  async (name, code, advice) => {
    const response = await sendRequest(name, false);
    expect([response.status, await response.json()]).toMatchObject([
      502,
      { error: { metadata: { provider_error: "tls", provider_name: name } } },
    ]);
    await eventually(() => installation.logs("inference-svc").includes(code));
    const { stdout } = await runProgram(
      process.execPath,
      [join(root, "inference-svc/bundle/operator.js"), "test-provider", name, "--json"],
      {
        environment: {
          ...bareEnvironment(),
          SLUICE_CONFIG: join(installation.dataDir, "sluice.yaml"),
          NODE_EXTRA_CA_CERTS: join(folder, "good", "ca.crt"),
        },
      },
    );
    const cause = (JSON.parse(stdout) as { cause: object }).cause;
    expect(cause).toMatchObject({ kind: "tls", message: expect.stringMatching(`${code}.*${advice}`) });
    expect(upstreams[name === "expired" ? 1 : 2]?.requests).toEqual([]);
  },
);
