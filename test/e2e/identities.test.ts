/** A provider called by the identity of the processes, through running services: no key in its configuration, and no credential in its logs. */
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { converseAnswer } from "../inference-svc/models/dialects/converse-translation.ts";
import { type Installation, startInstallation } from "../support/installation.ts";
import { eventually } from "../support/processes.ts";
import { type Reply, type Upstream, startUpstream } from "../support/providers/upstream.ts";

const secrets = [
  "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
  "session-token-of-the-role",
  "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJwb2QifQ.c2ln",
];
const [secret, sessionToken, podToken] = secrets as [string, string, string];

const xml = (text: string, status = 200): Reply => ({
  status,
  headers: { "content-type": "text/xml" },
  chunks: [{ bytes: text }],
});
const space = 'xmlns="https://sts.amazonaws.com/doc/2011-06-15/"';
const role = (expiration: Date): Reply =>
  xml(`<AssumeRoleWithWebIdentityResponse ${space}><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>ASIAROLE</AccessKeyId>
<SecretAccessKey>${secret}</SecretAccessKey><SessionToken>${sessionToken}</SessionToken><Expiration>${expiration.toISOString()}</Expiration>
</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`);
const denial = xml(
  `<ErrorResponse ${space}><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>Not authorized with ${podToken}</Message></Error></ErrorResponse>`,
  403,
);

const folder = mkdtempSync(join(tmpdir(), "sluice-test-identities-"));
let bedrock: Upstream;
let sts: Upstream;
let installation: Installation;

beforeAll(async () => {
  bedrock = await startUpstream([{ chunks: [{ json: converseAnswer([{ text: "Hi" }]) }] }]);
  sts = await startUpstream();
  writeFileSync(join(folder, "token"), podToken);
  installation = await startInstallation({
    environment: {
      AWS_ENDPOINT_URL_STS: sts.url,
      AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/sluice",
      AWS_WEB_IDENTITY_TOKEN_FILE: join(folder, "token"),
      AWS_EC2_METADATA_DISABLED: "true",
      HOME: folder,
    },
    config: `
providers: [{id: bedrock, dialect: converse, base_url: "${bedrock.url}", aws: {region: eu-central-1}}]
models: [{id: anthropic/sonnet, endpoints: [{provider: bedrock, upstream_model: eu.anthropic.claude-sonnet-4-6}]}]
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await bedrock?.stop();
  await sts?.stop();
  rmSync(folder, { recursive: true });
});

const post = () =>
  fetch(`${installation.baseUrl}/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "anthropic/sonnet", input: "Hi" }),
  });

test("a cloud token service's refusal is a failure of the provider, with its reason only in the log", async () => {
  sts.script([denial]);
  const response = await post();
  const body = await response.text();
  expect([response.status, JSON.parse(body)]).toMatchObject([
    502,
    { error: { metadata: { provider_name: "bedrock" } } },
  ]);
  expect(body).not.toContain("authorized");
  await installation.logged("inference-svc", "the cloud gave no credentials for a provider");
  expect(installation.logs("inference-svc")).toContain("no credentials: Not authorized with [redacted]");
});

test("requests to the provider are signed with one token for all of them once the token service answers", async () => {
  sts.script([role(new Date(Date.now() + 3_600_000))]);
  // After a refusal there is no call for some seconds.
  await eventually(async () => (await post()).status === 200);
  const before = sts.requests.length;
  const responses = await Promise.all(Array.from({ length: 20 }, post));
  expect(responses.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
  expect(sts.requests.length).toBe(before);
  expect(bedrock.requests.at(-1)?.headers).toMatchObject({
    authorization: expect.stringContaining("Credential=ASIAROLE/"),
    "x-amz-security-token": sessionToken,
  });
});

test("no log holds a credential of a cloud identity", async () => {
  await installation.allLogged();
  const logs = join(installation.dataDir, "logs");
  const texts = readdirSync(logs).map((name) => readFileSync(join(logs, name), "utf8"));
  for (const text of [...texts, installation.output()]) for (const word of secrets) expect(text).not.toContain(word);
});
