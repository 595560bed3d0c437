/** Sign-in at a service of OpenID Connect, and the attacks on it. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { describeWithChromium, inChromium } from "../../support/browser-tests.ts";
import { openBrowser } from "../../support/browser.ts";
import { askConsole } from "../../support/console.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { eventually } from "../../support/processes.ts";
import { freePort } from "../../support/runner/free-ports.ts";
import {
  type Claims,
  type IdentityProvider,
  clientId,
  clientSecret,
  signingMethods,
  startIdentityProvider,
} from "./identity-provider.ts";

let provider: IdentityProvider;
let installation: Installation;
let origin: string;

const rules = [
  "{user: root@example.com, role: admin, account: true}",
  "{group: on-call, role: operator}",
  '{user: "*@example.com", role: viewer}',
];

const configuration = (issuer: string, roles: readonly string[]): string => `
console:
  oidc:
    name: Acme
    issuer: ${issuer}
    client_id: ${clientId}
    client_secret: "\${CONSOLE_SECRET}"
    redirect_uri: ${origin}/console/oidc/callback
    roles: [${roles.join(", ")}]
`;

beforeAll(async () => {
  provider = await startIdentityProvider();
  const port = await freePort();
  origin = `http://127.0.0.1:${port}`;
  installation = await startInstallation({
    config: configuration(provider.issuer, rules),
    environment: { SLUICE_PORT: String(port), CONSOLE_SECRET: clientSecret },
  });
});
afterAll(async () => {
  await installation.stop();
  provider.stop();
});

const viewer: Claims = { sub: "1", email: "eve@example.com", email_verified: true, groups: ["all"] };
const operator: Claims = { sub: "2", email: "bob@example.com", email_verified: true, groups: ["all", "on-call"] };

beforeEach(() => {
  Object.assign(provider, {
    person: viewer,
    spoil: (claims: Claims) => claims,
    seal: signingMethods.right,
    userInfo: {},
  });
});

interface Attempt {
  /** Cookie of the browser at the beginning of the sign-in. */
  readonly cookie: string;
  /** Address of the service's redirect back to the console. */
  readonly callback: URL;
}

const firstPair = (cookie: string): string => cookie.split(";")[0] as string;

async function begin(): Promise<Attempt> {
  const { body, headers } = await askConsole(origin, "POST", "/oidc");
  const { url } = body.data as { readonly url: string };
  const { headers: back } = await fetch(url, { redirect: "manual" });
  const cookie = firstPair(headers.get("set-cookie") as string);
  return { cookie, callback: new URL(back.get("location") as string) };
}

interface Outcome {
  readonly status: number;
  readonly location: string | null;
  /** Cookie of the session; undefined after a refused sign-in. */
  readonly session: string | undefined;
}

async function finish({ cookie, callback }: Attempt): Promise<Outcome> {
  const headers = { cookie, "sec-fetch-site": "cross-site" };
  const { status, headers: answered } = await fetch(callback, { redirect: "manual", headers });
  const session = answered
    .getSetCookie()
    .map(firstPair)
    .find((pair) => /^sluice_console=./.test(pair));
  return { status, location: answered.get("location"), session };
}

const signIn = async (person: Claims): Promise<string> => {
  provider.person = person;
  const { session } = await finish(await begin());
  return session as string;
};

const sessionOf = async (cookie: string) => (await askConsole(origin, "GET", "/session", { cookie })).body.data;

describe("a sign-in by OpenID Connect", () => {
  test("is offered to a person without a session", async () => {
    const { body } = await askConsole(origin, "GET", "/session");
    expect(body).toEqual({ data: null, oidc: { name: "Acme" } });
  });

  test("opens a session with the role of the first matching rule", async () => {
    const attempt = await begin();
    expect(attempt.cookie).toMatch(/^sluice_sign_in=[\w-]{43}\.[\w-]{43}\.[\w-]{43}$/);
    const { status, location, session } = await finish(attempt);
    expect([status, location]).toEqual([303, "/console"]);
    expect(session).toMatch(/^sluice_console=[0-9A-Za-z]{43}$/);
    expect(await sessionOf(session as string)).toMatchObject({
      person: "eve@example.com",
      role: "viewer",
      account: false,
    });
    expect(await sessionOf(await signIn(operator))).toMatchObject({ role: "operator" });
    const root = { sub: "3", email: "Root@Example.com", email_verified: true, groups: "on-call" };
    expect(await sessionOf(await signIn(root))).toMatchObject({ role: "admin", account: true });
  });

  test("is in the audit log, as are all changes by the person", async () => {
    const cookie = await signIn(operator);
    expect((await askConsole(origin, "POST", "/keys", { cookie }, { name: "of bob" })).status).toBe(201);
    const refused = await askConsole(origin, "POST", "/guardrails", { cookie }, { name: "of bob" });
    expect(refused.body.error?.message).toBe("POST /guardrails needs the role admin; yours is operator");
    const { body } = await askConsole(origin, "GET", "/audit?actor=bob@example.com", { cookie });
    const actions = (body.data as readonly { readonly action: string }[]).map(({ action }) => action);
    expect(actions.slice(0, 3)).toEqual(["sessions.refuse", "keys.create", "sessions.open"]);
  });

  test("ends by sign-out, or everywhere, for this person only", async () => {
    const [first, second, third] = [await signIn(operator), await signIn(operator), await signIn(operator)];
    const other = await signIn(viewer);
    await askConsole(origin, "DELETE", "/session", { cookie: first });
    expect(await sessionOf(first)).toBeNull();
    expect(await sessionOf(second)).not.toBeNull();
    await askConsole(origin, "DELETE", "/sessions", { cookie: second });
    expect(await sessionOf(third)).toBeNull();
    expect(await sessionOf(other)).not.toBeNull();
  });

  test('accepts an address verified by the service, "true" as text, and a clock two minutes ahead', async () => {
    expect(await signIn({ ...operator, email_verified: "true" })).toBeDefined();
    provider.spoil = (claims) => ({ ...claims, iat: Math.floor(Date.now() / 1_000) + 120 });
    expect(await signIn(operator)).toBeDefined();
  });

  test("gets claims missing in a short token from the service", async () => {
    provider.userInfo = { ...operator, sub: "9" };
    expect(await sessionOf(await signIn({ sub: "9" }))).toMatchObject({ person: "bob@example.com", role: "operator" });
    provider.userInfo = { ...operator, sub: "somebody else" };
    provider.person = { sub: "9" };
    expect(await finish(await begin())).toMatchObject({ location: "/console?sign_in=failed", session: undefined });
  });
});

describe("a sign-in by OpenID Connect is refused", () => {
  const now = Math.floor(Date.now() / 1_000);
  const past = now - 3_600;
  const spoilt: readonly (readonly [string, (claims: Claims) => Claims])[] = [
    ["another nonce", (claims) => ({ ...claims, nonce: "another" })],
    ["no nonce", (claims) => ({ ...claims, nonce: undefined })],
    ["another audience", (claims) => ({ ...claims, aud: "another-client" })],
    ["another issuer", (claims) => ({ ...claims, iss: "https://evil.example" })],
    ["an end in the past", (claims) => ({ ...claims, iat: past, exp: past + 300 })],
    ["an issue in the future", (claims) => ({ ...claims, iat: now + 4_000, exp: now + 8_000 })],
    ["a beginning in the future", (claims) => ({ ...claims, nbf: now + 4_000, exp: now + 8_000 })],
    ["no end", (claims) => ({ ...claims, exp: undefined })],
  ];
  const failed = { status: 303, location: "/console?sign_in=failed", session: undefined };

  test.each(spoilt)("for a token with %s", async (_, spoil) => {
    provider.spoil = spoil;
    expect(await finish(await begin())).toEqual(failed);
  });

  test.each([
    ["of another key", signingMethods.withAnotherKey],
    ["without a signature", signingMethods.without],
    ["that is made with the client's secret", signingMethods.withTheSecret],
  ])("for a token %s", async (_, seal) => {
    provider.seal = seal;
    expect(await finish(await begin())).toEqual(failed);
  });

  test("with another state", async () => {
    const { cookie, callback } = await begin();
    callback.searchParams.set("state", "another");
    expect(await finish({ cookie, callback })).toEqual(failed);
  });

  test("in a browser other than the one it began in", async () => {
    expect(await finish({ ...(await begin()), cookie: "" })).toEqual(failed);
    const [mine, other] = [await begin(), await begin()];
    expect(await finish({ cookie: mine.cookie, callback: other.callback })).toEqual(failed);
  });

  test("for the code of another attempt with the state of this attempt", async () => {
    const [mine, other] = [await begin(), await begin()];
    mine.callback.searchParams.set("code", other.callback.searchParams.get("code") as string);
    expect(await finish(mine)).toEqual(failed);
  });

  test("for a used code", async () => {
    const attempt = await begin();
    expect((await finish(attempt)).session).toBeDefined();
    expect(await finish(attempt)).toEqual(failed);
  });

  test("after a refusal by the service, with any text", async () => {
    const { cookie, callback } = await begin();
    const state = callback.searchParams.get("state") as string;
    callback.search = new URLSearchParams({ error: "access_denied", error_description: "<b>", state }).toString();
    expect(await finish({ cookie, callback })).toEqual(failed);
  });

  test.each([
    ["without a rule", { sub: "4", email: "mallory@elsewhere.example", email_verified: true, groups: ["all"] }],
    ...[false, "false", "", "TRUE ", 0, 1, null, [true], {}].map(
      (verified) =>
        [`whose address was verified: ${JSON.stringify(verified)}`, { ...operator, email_verified: verified }] as const,
    ),
    ["of whose address the service does not say whether it was verified", { ...operator, email_verified: undefined }],
    ["without an address", { sub: "5", groups: ["on-call"] }],
  ])("for a person %s", async (_, person) => {
    Object.assign(provider, { person, userInfo: { sub: (person as Claims)["sub"] } });
    expect(await finish(await begin())).toEqual({ ...failed, location: "/console?sign_in=no-role" });
  });

  test("from a page of another origin", async () => {
    const { status } = await askConsole(origin, "POST", "/oidc", { "sec-fetch-site": "cross-site" });
    expect(status).toBe(403);
  });
});

describeWithChromium(`the sign-in page ${inChromium}`, () => {
  test("leads to the service and back", async () => {
    const browser = await openBrowser();
    try {
      const page = await (await browser.newContext({ baseURL: origin })).newPage();
      provider.person = { ...viewer, email: "mallory@elsewhere.example" };
      await page.goto("/console/keys");
      await page.getByRole("button", { name: "Sign in with Acme" }).click();
      await page.getByText("no rule gives you a role here").waitFor();
      provider.person = viewer;
      await page.getByRole("button", { name: "Sign in with Acme" }).click();
      await page.getByText("eve@example.com, viewer").waitFor();
    } finally {
      await browser.close();
    }
  });
});

test("no log holds a secret, code or token of a sign-in", async () => {
  const { callback } = await begin();
  const logs = await installation.allLogged();
  for (const text of [clientSecret, callback.searchParams.get("code") as string]) expect(logs).not.toContain(text);
  expect(logs).toContain("a sign-in to the console failed");
});

test("an address without email_verified is accepted if the configuration allows it, an explicit false never", async () => {
  const optional = configuration(provider.issuer, rules).replace(
    "    roles:",
    "    require_verified_email: false\n    roles:",
  );
  writeFileSync(join(installation.dataDir, "sluice.yaml"), optional);
  const silent = { ...operator, email_verified: undefined };
  await eventually(async () => (await signIn(silent)) !== undefined);
  expect(await signIn({ ...operator, email_verified: "false" })).toBeUndefined();
});

test("removing an OIDC rule ends the sessions that it allowed, and an unreachable service is reported", async () => {
  const [bob, eve] = [await signIn(operator), await signIn(viewer)];
  writeFileSync(join(installation.dataDir, "sluice.yaml"), configuration("http://localhost:1", rules.toSpliced(1, 1)));
  await eventually(async () => (await sessionOf(bob)) === null);
  expect(await sessionOf(eve)).toMatchObject({ role: "viewer" });
  const { status, body } = await askConsole(origin, "POST", "/oidc");
  expect([status, body.error?.message]).toEqual([503, "Acme does not answer, so nobody can sign in there"]);
});
