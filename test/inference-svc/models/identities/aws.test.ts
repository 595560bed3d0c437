/** Requests to Amazon Bedrock with the credentials of the default chain, from every source that a test can imitate: variables, profiles, containers and instance metadata. */
import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { type Received, type Reply, type Upstream, chatAnswer } from "../../../support/providers/upstream.js";
import { converseAnswer } from "../dialects/converse-translation.js";
import { testRequest, newScope, runTestTurn } from "../../asking.js";
import { CloudTests, requestAnswer, hourMs, oneHourLater, failureOutput } from "./cloud.js";

let tests: CloudTests;
beforeEach(() => {
  tests = new CloudTests();
});
afterEach(() => tests.end());

const hi: Reply = { chunks: [{ json: converseAnswer([{ text: "Hi" }]) }] };
const secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
const json = (body: object): Reply => ({ chunks: [{ json: body }] });

const bedrock = (provider: Upstream) => ({
  id: "bedrock",
  dialect: "converse",
  base_url: provider.url,
  aws: { region: "eu-central-1" },
});

/** The access key and the session token of a signed request. */
const identityOf = ({ headers }: Received) => [
  /Credential=([^/]+)\//.exec(headers.authorization ?? "")?.[1],
  headers["x-amz-security-token"],
];

const roleAnswer = (number: number, expiration = oneHourLater()): Reply => ({
  headers: { "content-type": "text/xml" },
  chunks: [
    {
      bytes: `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult>
<Credentials><AccessKeyId>ASIAROLE${number}</AccessKeyId><SecretAccessKey>${secret}</SecretAccessKey><SessionToken>token-${number}</SessionToken>
<Expiration>${expiration}</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
    },
  ],
});

/** The token service, as the account of a Kubernetes pod on EKS finds it (https://docs.aws.amazon.com/eks/latest/userguide/iam-roles-for-service-accounts.html). */
async function webIdentity(...replies: readonly Reply[]): Promise<Upstream> {
  const sts = await tests.server(replies);
  tests.set({
    AWS_ENDPOINT_URL_STS: sts.url,
    AWS_ROLE_ARN: "arn:aws:iam::123456789012:role/sluice",
    AWS_WEB_IDENTITY_TOKEN_FILE: tests.file("token", "projected-token-of-the-pod"),
  });
  return sts;
}

describe("AWS credentials of the default chain", () => {
  async function signedBy(): Promise<unknown> {
    const provider = await tests.server([hi]);
    const { fault } = await requestAnswer(tests.open(bedrock(provider)));
    expect(fault).toBeUndefined();
    return identityOf(provider.requests[0] as Received);
  }

  test("may come from the web identity of a Kubernetes account", async () => {
    const sts = await webIdentity(roleAnswer(1));
    expect(await signedBy()).toEqual(["ASIAROLE1", "token-1"]);
    const asked = new URLSearchParams(sts.requests[0]?.body);
    expect(Object.fromEntries(asked)).toMatchObject({
      Action: "AssumeRoleWithWebIdentity",
      RoleArn: "arn:aws:iam::123456789012:role/sluice",
      WebIdentityToken: "projected-token-of-the-pod",
    });
  });

  const keys = { AccessKeyId: "ASIABOX", SecretAccessKey: secret, Token: "box-token", Expiration: oneHourLater() };

  test("may come from the service of a container, as on ECS and with EKS Pod Identity", async () => {
    const service = await tests.server([json(keys)]);
    tests.set({
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${service.url}/v1/credentials`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: tests.file("pod-token", "pod-token"),
    });
    expect(await signedBy()).toEqual(["ASIABOX", "box-token"]);
    expect(service.requests[0]).toMatchObject({ path: "/v1/credentials", headers: { authorization: "pod-token" } });
  });

  test("may come from instance metadata", async () => {
    const metadata = await tests.server([
      { headers: { "content-type": "text/plain" }, chunks: [{ bytes: "metadata-token" }] },
      { headers: { "content-type": "text/plain" }, chunks: [{ bytes: "the-role" }] },
      json({ Code: "Success", Type: "AWS-HMAC", LastUpdated: "2026-01-01T00:00:00Z", ...keys }),
    ]);
    tests.set({ AWS_EC2_METADATA_DISABLED: "false", AWS_EC2_METADATA_SERVICE_ENDPOINT: metadata.url });
    expect(await signedBy()).toEqual(["ASIABOX", "box-token"]);
    expect(metadata.requests.at(-1)?.path).toContain("/security-credentials/the-role");
    expect(metadata.requests.at(-1)?.headers["x-aws-ec2-metadata-token"]).toBe("metadata-token");
  });

  test("may come from the single sign-on of a profile", async () => {
    const portal = await tests.server([
      json({
        roleCredentials: {
          accessKeyId: "ASIASSO",
          secretAccessKey: secret,
          sessionToken: "sso",
          expiration: Date.now() + hourMs,
        },
      }),
    ]);
    const cache = join(tests.folder, ".aws", "sso", "cache");
    mkdirSync(cache, { recursive: true });
    const entry = {
      accessToken: "sso-token",
      expiresAt: oneHourLater(),
      region: "eu-central-1",
      startUrl: "https://sso.test/start",
    };
    tests.file(`.aws/sso/cache/${createHash("sha1").update("acme").digest("hex")}.json`, entry);
    const config = `[profile work]
sso_session = acme
sso_account_id = 123456789012
sso_role_name = developer
[sso-session acme]
sso_region = eu-central-1
sso_start_url = https://sso.test/start
`;
    tests.set({ AWS_PROFILE: "work", AWS_CONFIG_FILE: tests.file("config", config), AWS_ENDPOINT_URL_SSO: portal.url });
    expect(await signedBy()).toEqual(["ASIASSO", "sso"]);
    expect(portal.requests[0]?.headers["x-amz-sso_bearer_token"]).toBe("sso-token");
  });

  test("may come from environment variables", async () => {
    tests.set({ AWS_ACCESS_KEY_ID: "AKIAVARIABLE", AWS_SECRET_ACCESS_KEY: secret });
    expect(await signedBy()).toEqual(["AKIAVARIABLE", undefined]);
  });
});

describe("the renewal of AWS credentials", () => {
  test("is awaited by fifty requests together, and not needed again soon", async () => {
    const past = new Date(Date.now() - hourMs).toISOString();
    const sts = await webIdentity(roleAnswer(1, past), roleAnswer(2));
    const provider = await tests.server([hi]);
    const engine = tests.open(bedrock(provider));
    const faults = async (count: number) =>
      (await Promise.all(Array.from({ length: count }, () => requestAnswer(engine)))).flatMap(
        ({ fault }) => fault ?? [],
      );
    expect(await faults(1)).toEqual([]);
    expect(await faults(50)).toEqual([]);
    expect(await faults(50)).toEqual([]);
    expect(sts.requests).toHaveLength(2);
    const names = provider.requests.map((request) => identityOf(request)[0]);
    expect(names).toEqual(["ASIAROLE1", ...Array.from({ length: 100 }, () => "ASIAROLE2")]);
  });

  const expired: Reply = {
    status: 403,
    headers: { "x-amzn-errortype": "ExpiredTokenException" },
    chunks: [{ json: { message: "The security token included in the request is expired" } }],
  };

  test("happens once when the provider calls them expired, and the request is sent again", async () => {
    const sts = await webIdentity(roleAnswer(1), roleAnswer(2));
    const provider = await tests.server([expired, hi]);
    const engine = tests.open(bedrock(provider));
    expect((await requestAnswer(engine)).fault).toBeUndefined();
    expect((await requestAnswer(engine)).fault).toBeUndefined();
    expect(provider.requests.map((request) => identityOf(request)[0])).toEqual(["ASIAROLE1", "ASIAROLE2", "ASIAROLE2"]);
    expect(sts.requests).toHaveLength(2);
    expect(engine.errors).toEqual([]);
  });

  test("ends the request when the provider refuses the renewed credentials as well", async () => {
    const sts = await webIdentity(roleAnswer(1), roleAnswer(2));
    const provider = await tests.server([expired]);
    const engine = tests.open(bedrock(provider));
    const { fault } = await requestAnswer(engine);
    expect(fault?.reason).toBe(FaultReason.PROVIDER_FAILED);
    expect([provider.requests.length, sts.requests.length]).toEqual([2, 2]);
    expect(engine.errors).toMatchObject([{ provider: "bedrock", status: 403 }]);
    for (const word of [secret, "token-1", "token-2"]) expect(failureOutput(engine, fault)).not.toContain(word);
  });

  test("does not happen for missing rights", async () => {
    const sts = await webIdentity(roleAnswer(1));
    const denied = { ...expired, headers: { "x-amzn-errortype": "AccessDeniedException" } };
    const provider = await tests.server([denied]);
    expect((await requestAnswer(tests.open(bedrock(provider)))).fault?.reason).toBe(FaultReason.PROVIDER_FAILED);
    expect([provider.requests.length, sts.requests.length]).toEqual([1, 1]);
  });
});

describe("a failing token service of AWS", () => {
  const denial: Reply = {
    status: 403,
    headers: { "content-type": "text/xml" },
    chunks: [
      {
        bytes: `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type><Code>AccessDenied</Code>
<Message>Not authorized to perform sts:AssumeRoleWithWebIdentity with eyJhbGciOiJSUzI1NiIsImtpZCI6IjE.eyJpc3MiOiJodHRwczovL29pZGMuZWtzIn0</Message></Error></ErrorResponse>`,
      },
    ],
  };

  test("leaves the request to another endpoint; the log has the reason once, and no token", async () => {
    const sts = await webIdentity(denial);
    const [provider, other] = [await tests.server([hi]), await tests.server([chatAnswer("Hello")])];
    const acme = { id: "acme", dialect: "chat", base_url: `${other.url}/v1` };
    const engine = tests.open(bedrock(provider), acme);
    for (let turn = 0; turn < 5; turn++) expect((await requestAnswer(engine)).fault).toBeUndefined();
    expect([provider.requests.length, other.requests.length, sts.requests.length]).toEqual([0, 5, 1]);
    expect(engine.errors).toEqual([
      {
        provider: "bedrock",
        reason: expect.stringContaining("Not authorized to perform sts:AssumeRoleWithWebIdentity"),
      },
    ]);
    expect(failureOutput(engine, undefined)).not.toContain("eyJ");
  });

  test("that is unresponsive leaves time for another endpoint", async () => {
    const sts = await webIdentity({ hang: true });
    const [provider, other] = [await tests.server([hi]), await tests.server([chatAnswer("Hello")])];
    const engine = tests.open(bedrock(provider), { id: "acme", dialect: "chat", base_url: `${other.url}/v1` });
    const testScope = newScope();
    const scope = testScope.scope.with({ deadline: performance.now() + 2_000 });
    const { fault } = await runTestTurn(engine.turn, testRequest({ stream: false }), { ...testScope, scope });
    expect(fault).toBeUndefined();
    expect([sts.requests.length, provider.requests.length, other.requests.length]).toEqual([1, 0, 1]);
  });

  test("fails the request without another endpoint, with the reason only in the log", async () => {
    await webIdentity(denial);
    const engine = tests.open(bedrock(await tests.server([hi])));
    const { fault } = await requestAnswer(engine);
    expect(fault?.message).toBe("Provider returned error");
    expect(String(fault?.cause)).toContain("no credentials: Not authorized");
    expect(failureOutput(engine, fault)).not.toContain("eyJ");
  });

  test("fails the request like no source at all", async () => {
    const { fault } = await requestAnswer(tests.open(bedrock(await tests.server([hi]))));
    expect(String(fault?.cause)).toContain("no credentials: Could not load credentials from any providers");
  });
});
