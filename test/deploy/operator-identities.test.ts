/** The operator's checks of providers with a cloud identity: the identity in use, and missing parts of it. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { newAuthority, readCredentials, writeCertificate } from "../support/certificates.ts";
import { type FinishedProcess, bareEnvironment, root, runProgram } from "../support/processes.ts";
import { type Upstream, chatAnswer, startUpstream } from "../support/providers/upstream.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-test-operator-identities-"));
const config = join(folder, "sluice.yaml");
const tokenFile = join(folder, "token");
writeFileSync(tokenFile, "projected-token-of-the-pod");
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs the command in a separate process, since variables and certificates are read at its start. */
const operator = (args: readonly string[], environment: NodeJS.ProcessEnv): Promise<FinishedProcess> =>
  runProgram(process.execPath, [join(root, "inference-svc/bundle/operator.js"), ...args], {
    environment: { ...bareEnvironment(), HOME: folder, SLUICE_CONFIG: config, ...environment },
  });

describe("check-config with cloud identities", () => {
  beforeAll(() =>
    writeFileSync(
      config,
      `
providers:
  - {id: bedrock, dialect: converse, aws: {region: eu-central-1}}
  - {id: vertex, dialect: gemini, google: {project: acme, location: global}}
  - {id: azure, dialect: responses, azure: {resource: acme}}
models:
  - {id: a/b, endpoints: [{provider: bedrock}, {provider: vertex}, {provider: azure}]}
`,
    ),
  );

  test("lists the identities in use, without a network call", async () => {
    const { code, stdout } = await operator(["check-config"], {
      AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile,
      AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/sluice",
      AZURE_FEDERATED_TOKEN_FILE: tokenFile,
      AZURE_TENANT_ID: "t",
      AZURE_CLIENT_ID: "c",
    });
    expect(code).toBe(0);
    const kubernetes = "of a Kubernetes account";
    for (const line of [
      `Identity of bedrock: the web identity ${kubernetes} (AWS_WEB_IDENTITY_TOKEN_FILE).`,
      "Identity of vertex: the credentials of gcloud, else the metadata server of Google Cloud.",
      `Identity of azure: the workload identity ${kubernetes} (AZURE_FEDERATED_TOKEN_FILE).`,
    ])
      expect(stdout.split("\n")).toContain(line);
  });

  test("names settings that an identity lacks", async () => {
    const { code, stdout } = await operator(["check-config", "--json"], {
      AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile,
      AZURE_CLIENT_SECRET: "very-secret-word",
      AZURE_TENANT_ID: "t",
      GOOGLE_APPLICATION_CREDENTIALS: "/nowhere/account.json",
    });
    expect([code, JSON.parse(stdout)]).toMatchObject([
      1,
      {
        problems: [
          "provider bedrock: AWS_WEB_IDENTITY_TOKEN_FILE needs AWS_ROLE_ARN, which is not set",
          "provider vertex: GOOGLE_APPLICATION_CREDENTIALS: cannot read /nowhere/account.json",
          "provider azure: AZURE_CLIENT_SECRET needs AZURE_CLIENT_ID, which is not set",
        ],
      },
    ]);
    expect(stdout).not.toContain("very-secret");
  });
});

describe("test-provider with a cloud identity", () => {
  const upstreams: Upstream[] = [];
  let entra: Upstream;
  let provider: Upstream;

  beforeAll(async () => {
    const authority = await newAuthority("entra");
    await writeCertificate(join(folder, "entra"), { hosts: ["localhost"], by: authority, trusted: [authority] });
    upstreams.push((provider = await startUpstream([chatAnswer({ role: "assistant", content: "Yes." })])));
    upstreams.push((entra = await startUpstream([{}], { credentials: readCredentials(join(folder, "entra")) })));
    const acme = `{id: azure, dialect: chat, base_url: "${provider.url}/openai/v1", azure: {}}`;
    writeFileSync(config, `providers: [${acme}]\nmodels: [{id: a/b, endpoints: [{provider: azure}]}]\n`);
  });
  afterAll(() => Promise.all(upstreams.map((upstream) => upstream.stop())));

  /** Variables as set by the webhook of AKS. The library does not look this tenant up elsewhere. */
  const environment = () => ({
    NODE_EXTRA_CA_CERTS: join(folder, "entra", "ca.crt"),
    AZURE_TOKEN_CREDENTIALS: "WorkloadIdentityCredential",
    AZURE_AUTHORITY_HOST: entra.url,
    AZURE_TENANT_ID: "adfs",
    AZURE_CLIENT_ID: "client-of-sluice",
    AZURE_FEDERATED_TOKEN_FILE: tokenFile,
  });

  const discovery = () => ({
    chunks: [
      {
        json: {
          issuer: `${entra.url}/adfs`,
          authorization_endpoint: `${entra.url}/adfs/authorize`,
          token_endpoint: `${entra.url}/adfs/token`,
          jwks_uri: `${entra.url}/adfs/keys`,
        },
      },
    ],
  });

  test("exchanges the token of a Kubernetes account for one of Entra ID", async () => {
    entra.script([
      discovery(),
      { chunks: [{ json: { access_token: "entra-token", token_type: "Bearer", expires_in: 3_600 } }] },
    ]);
    const { code, stdout } = await operator(["test-provider", "azure", "--json"], environment());
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { ok: true, provider: "azure" }]);
    expect(provider.requests.at(-1)?.headers.authorization).toBe("Bearer entra-token");
    const exchange = Object.fromEntries(new URLSearchParams(entra.requests.at(-1)?.body));
    expect(exchange).toMatchObject({
      client_id: "client-of-sluice",
      client_assertion: "projected-token-of-the-pod",
      scope: expect.stringContaining("https://cognitiveservices.azure.com/.default"),
    });
  });

  test("names the reason for missing credentials, and shows no secret", async () => {
    const refusal = {
      error: "invalid_client",
      error_description: "AADSTS70021: No matching federated identity record",
    };
    entra.script([discovery(), { status: 401, chunks: [{ json: refusal }] }]);
    const { code, stdout } = await operator(["test-provider", "azure", "--json"], environment());
    const message = expect.stringMatching(/^no credentials: .*No matching federated identity record.*check-config/);
    expect([code, JSON.parse(stdout)]).toMatchObject([1, { cause: { kind: "credentials", message } }]);
    expect(stdout).not.toContain("projected-token");
  });
});
