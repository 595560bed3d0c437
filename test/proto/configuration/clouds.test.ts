/** Providers on the clouds of Amazon, Google and Microsoft: the address derived from their settings, and errors in the settings. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import { loadConfig } from "@sluice/proto/config/config-file.js";
import { emptySeed, readSeed } from "@sluice/proto/config/seed.js";
import { root } from "../../support/processes.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-test-clouds-"));
afterAll(() => rmSync(folder, { recursive: true }));

function load(provider: string) {
  const path = join(folder, "sluice.yaml");
  writeFileSync(path, `providers: [{id: cloud, ${provider}}]`);
  return loadConfig(path, {}, emptySeed).file.providers[0];
}

test.each([
  ["dialect: converse, aws: {region: eu-central-1}", "https://bedrock-runtime.eu-central-1.amazonaws.com"],
  [
    "dialect: gemini, google: {project: acme, location: us-central1}",
    "https://us-central1-aiplatform.googleapis.com/v1/projects/acme/locations/us-central1/publishers/google",
  ],
  [
    "dialect: gemini, google: {project: acme, location: global}",
    "https://aiplatform.googleapis.com/v1/projects/acme/locations/global/publishers/google",
  ],
  [
    "dialect: messages, google: {project: acme, location: eu}",
    "https://aiplatform.eu.rep.googleapis.com/v1/projects/acme/locations/eu/publishers/anthropic",
  ],
  [
    "dialect: chat, google: {project: acme, location: europe-west4}",
    "https://europe-west4-aiplatform.googleapis.com/v1/projects/acme/locations/europe-west4/endpoints/openapi",
  ],
  ["dialect: responses, azure: {resource: acme}", "https://acme.openai.azure.com/openai/v1"],
  ["dialect: chat, api_keys: [k], azure: {resource: acme}", "https://acme.openai.azure.com/openai/v1"],
  ["dialect: messages, azure: {resource: acme}", "https://acme.services.ai.azure.com/anthropic/v1"],
  ["dialect: converse, base_url: http://127.0.0.1:1, aws: {region: eu-central-1}", "http://127.0.0.1:1"],
])("the endpoint of the cloud %s has the address %s", (provider, address) => {
  expect(load(provider)?.base_url).toBe(address);
});

test("the catalogue recognises a vendor by the address derived from a region", () => {
  const path = join(folder, "known.yaml");
  const bedrock = "{id: bedrock, dialect: converse, known_models: true, aws: {region: eu-central-1}}";
  writeFileSync(path, `providers: [${bedrock}]`);
  const { file } = loadConfig(path, {}, readSeed(join(root, "inference-svc/models/catalog/seed.json")));
  expect(file.providers[0]).toMatchObject({ name: "Amazon Bedrock", headquarters: "US" });
  expect(file.models.map(({ id }) => id)).toContain("amazon/titan-embed-text-v2");
});

test.each([
  ["dialect: gemini, base_url: http://x, aws: {region: r}", "aws: not for dialect gemini; remove it"],
  ["dialect: cohere, base_url: http://x, azure: {}", "azure: not for dialect cohere; remove it"],
  ["dialect: chat, base_url: http://x, google: {}, azure: {}", "azure: give either this or google"],
  ["dialect: converse, api_keys: [k], aws: {region: r}", "aws: give either this or api_keys"],
  ["dialect: gemini, api_keys: [k], base_url: http://x, google: {}", "google: give either this or api_keys"],
  [
    "dialect: converse, aws: {region: r, access_key_id: a}",
    "aws.secret_access_key: required beside its other half; remove both for the default chain of AWS",
  ],
  ["dialect: converse, aws: {region: r, secret_access_key: s}", "aws.access_key_id: required beside its other half"],
  [
    "dialect: converse, aws: {region: r, session_token: t}",
    "aws.session_token: belongs to an access key; remove it for the default chain of AWS",
  ],
  ["dialect: gemini, google: {location: eu}", "google.project: required without base_url"],
  ["dialect: gemini, google: {project: p}", "google.location: required without base_url"],
  [
    "dialect: gemini, base_url: http://x, google: {project: p, location: eu}",
    "google: give either base_url, or project and location",
  ],
  ["dialect: chat, azure: {}", "azure.resource: required without base_url"],
  ["dialect: chat, base_url: http://x, azure: {resource: a}", "azure.resource: give either this or base_url"],
  ["dialect: chat, azure: {resource: evil.test/}", "azure.resource: must consist of letters, digits"],
])("a provider in a cloud with %s is refused", (provider, problem) => {
  expect(() => load(provider)).toThrow(`providers.0.${problem}`);
});
