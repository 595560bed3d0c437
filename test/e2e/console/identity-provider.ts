/** A small OpenID Connect service on this machine, with real HTTP and RS256, whose answers a test can falsify. */
import { createHash, createHmac, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export const clientId = "sluice";
export const clientSecret = "a-secret-that-both-know";

export type Claims = Record<string, unknown>;

export interface IdentityProvider {
  readonly issuer: string;
  /** Claims about the person who signs in next. */
  person: Claims;
  /** Changes the claims of an id token before it is signed. */
  spoil: (claims: Claims) => Claims;
  /** Signs claims as an id token. */
  seal: (claims: Claims) => string;
  /** Claims of the userinfo endpoint; the service has no such endpoint if this is empty. */
  userInfo: Claims;
  stop(): void;
}

interface Grant {
  readonly nonce: string;
  readonly challenge: string;
  readonly redirectUri: string;
  readonly person: Claims;
}

const key = generateKeyPairSync("rsa", { modulusLength: 2048 });
const strangersKey = generateKeyPairSync("rsa", { modulusLength: 2048 });

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

const rs256 =
  ({ privateKey }: typeof key) =>
  (claims: Claims): string => {
    const content = `${encoded({ alg: "RS256", kid: "one" })}.${encoded(claims)}`;
    return `${content}.${sign("RSA-SHA256", Buffer.from(content), privateKey).toString("base64url")}`;
  };

/** Ways to sign an id token, of which only the first is valid. */
export const signingMethods = {
  right: rs256(key),
  withAnotherKey: rs256(strangersKey),
  without: (claims: Claims): string => `${encoded({ alg: "none" })}.${encoded(claims)}.`,
  withTheSecret: (claims: Claims): string => {
    const content = `${encoded({ alg: "HS256" })}.${encoded(claims)}`;
    return `${content}.${createHmac("sha256", clientSecret).update(content).digest("base64url")}`;
  },
};

export async function startIdentityProvider(): Promise<IdentityProvider> {
  const grants = new Map<string, Grant>();
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  const provider: IdentityProvider = {
    // For a browser, localhost is another site than 127.0.0.1.
    issuer: `http://localhost:${(server.address() as AddressInfo).port}`,
    person: {},
    spoil: (claims) => claims,
    seal: signingMethods.right,
    userInfo: {},
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
  const { issuer } = provider;

  const json = (response: ServerResponse, value: object, status = 200) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "", issuer);
    if (pathname === "/.well-known/openid-configuration") return void json(response, metadata(issuer));
    if (pathname === "/keys") {
      return void json(response, { keys: [{ ...key.publicKey.export({ format: "jwk" }), kid: "one", use: "sig" }] });
    }
    if (pathname === "/authorize") return authorize(searchParams, response);
    if (pathname === "/token") return exchange(request, new URLSearchParams(await text(request)), response);
    if (pathname === "/userinfo") return void json(response, provider.userInfo);
    json(response, {}, 404);
  }

  function authorize(asked: URLSearchParams, response: ServerResponse): void {
    const isRight =
      asked.get("client_id") === clientId &&
      asked.get("response_type") === "code" &&
      asked.get("code_challenge_method") === "S256" &&
      (asked.get("scope") ?? "").split(" ").includes("openid");
    if (!isRight) return void json(response, { error: "invalid_request" }, 400);
    const code = randomBytes(16).toString("hex");
    const [nonce, challenge, redirectUri] = ["nonce", "code_challenge", "redirect_uri"].map(
      (name) => asked.get(name) ?? "",
    ) as [string, string, string];
    grants.set(code, { nonce, challenge, redirectUri, person: provider.person });
    const back = new URL(redirectUri);
    back.search = new URLSearchParams({ code, state: asked.get("state") ?? "" }).toString();
    response.writeHead(302, { location: back.href }).end();
  }

  /** Exchanges an authorization code, which works once, for the client and the verifier of its request. */
  function exchange({ headers }: IncomingMessage, form: URLSearchParams, response: ServerResponse): void {
    const [scheme, basic = ""] = (headers.authorization ?? "").split(" ");
    const presented = Buffer.from(basic, "base64").toString().split(":").map(decodeURIComponent);
    if (scheme !== "Basic" || presented.join(" ") !== `${clientId} ${clientSecret}`)
      return void json(response, { error: "invalid_client" }, 401);
    const code = form.get("code") ?? "";
    const grant = grants.get(code);
    grants.delete(code);
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    if (grant?.challenge !== challenge || grant.redirectUri !== form.get("redirect_uri")) {
      return void json(response, { error: "invalid_grant" }, 400);
    }
    const now = Math.floor(Date.now() / 1_000);
    const claims = { iss: issuer, aud: clientId, iat: now, exp: now + 300, nonce: grant.nonce, ...grant.person };
    const token = provider.seal(provider.spoil(claims));
    json(response, { access_token: "access", token_type: "Bearer", expires_in: 300, id_token: token });
  }

  return provider;
}

const metadata = (issuer: string): object => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  jwks_uri: `${issuer}/keys`,
  userinfo_endpoint: `${issuer}/userinfo`,
  response_types_supported: ["code"],
  subject_types_supported: ["public"],
  id_token_signing_alg_values_supported: ["RS256"],
  code_challenge_methods_supported: ["S256"],
});
