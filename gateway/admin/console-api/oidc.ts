/** Sign-in with OpenID Connect: authorization code with PKCE, state and nonce. The gateway stores nothing between the two steps. */
import type { OidcSettings } from "@sluice/proto/config/console/section.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import {
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  None,
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from "openid-client";
import { type AuthorizedPerson, identityOf, authorizePerson, signInRefusal, describeRule } from "./people.ts";

const section = "console.oidc";
const timeoutSeconds = 5;
/** Accepted clock skew of an id token. */
const maxAheadSeconds = 300;

/** The values stored in the browser until the service redirects back. */
export interface SignInAttempt {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

type Claims = Readonly<Record<string, unknown>>;

export class Oidc {
  readonly #settings: OidcSettings;
  readonly #rules: ReadonlySet<string>;
  #found: Promise<Configuration> | undefined;

  constructor(settings: OidcSettings) {
    this.#settings = settings;
    this.#rules = new Set(settings.roles.map(describeRule));
  }

  get name(): string {
    return this.#settings.name;
  }

  /** Whether the rule that gave a session its role still exists. */
  holds(rule: string): boolean {
    return this.#rules.has(rule);
  }

  /** @returns the service's sign-in address @throws Fault UNAVAILABLE */
  async begin(): Promise<SignInAttempt & { readonly url: string }> {
    const configuration = await this.#discover();
    const attempt = { state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier() };
    const url = buildAuthorizationUrl(configuration, {
      redirect_uri: this.#settings.redirect_uri,
      scope: this.#settings.scope,
      state: attempt.state,
      nonce: attempt.nonce,
      code_challenge: await calculatePKCECodeChallenge(attempt.verifier),
      code_challenge_method: "S256",
    });
    return { ...attempt, url: url.href };
  }

  /**
   * Exchanges the authorization code from the redirect for the person's identity.  @param query query string of the redirect address  @throws Fault
   * PERMISSION_DENIED for a person without a role  @throws Error of the library for an untrusted answer
   */
  async finish(query: string, { state, nonce, verifier }: SignInAttempt): Promise<AuthorizedPerson> {
    const configuration = await this.#discover();
    const url = new URL(this.#settings.redirect_uri);
    url.search = query;
    const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier };
    const tokens = await authorizationCodeGrant(configuration, url, checks);
    const claims = tokens.claims();
    if (!claims) throw new Error("the service answered without an id token");
    requirePresent(claims);
    return this.#person(await this.#complete(configuration, claims, tokens.access_token));
  }

  /** Services with short id tokens return the remaining claims at the userinfo endpoint. */
  async #complete(
    configuration: Configuration,
    claims: Claims & { readonly sub: string },
    token: string,
  ): Promise<Claims> {
    const { user_claim: user, group_claim: group, roles } = this.#settings;
    const needed = [user, ...(this.#needsVerified ? ["email_verified"] : [])];
    if (roles.some((rule) => rule.group !== undefined)) needed.push(group);
    const isComplete = needed.every((name) => claims[name] !== undefined);
    if (isComplete || configuration.serverMetadata().userinfo_endpoint === undefined) return claims;
    return { ...(await fetchUserInfo(configuration, token, claims.sub)), ...claims };
  }

  #person(claims: Claims): AuthorizedPerson {
    const { user_claim: user, group_claim: group, roles } = this.#settings;
    this.#requireVerified(claims["email_verified"]);
    const groups = [claims[group] ?? []].flat().filter((each) => typeof each === "string");
    const given = claims[user];
    return authorizePerson(
      identityOf(typeof given === "string" ? given : "", groups, `The claim ${user}`),
      roles,
      section,
    );
  }

  /** Whether the rules identify people by an e-mail address, which the service must then have verified. */
  get #needsVerified(): boolean {
    return this.#settings.require_verified_email && this.#settings.user_claim === "email";
  }

  /**
   * An unverified address may belong to another person. Some services send strings; every value except true and "true" is a denial.
   * @param verified the service's claim; absent if it makes none
   */
  #requireVerified(verified: unknown): void {
    if (verified === true || verified === "true") return;
    if (verified === undefined && !this.#needsVerified) return;
    const setting =
      verified === undefined
        ? `; ${section}.require_verified_email: false accepts addresses without email_verified`
        : "";
    throw signInRefusal(`${this.name} has not verified the e-mail address${setting}`);
  }

  /** Loads the service's metadata once, and again after a failure. */
  #discover(): Promise<Configuration> {
    return (this.#found ??= discover(this.#settings).catch((cause: unknown) => {
      this.#found = undefined;
      throw new Fault(FaultReason.UNAVAILABLE, `${this.name} does not answer, so nobody can sign in there`, {
        origin: FaultOrigin.GATEWAY,
        cause,
      });
    }));
  }
}

/** The library checks the expiry of a token, but not an issue time in the future. @throws Error */
function requirePresent({ iat, nbf }: Claims): void {
  const latest = Date.now() / 1_000 + maxAheadSeconds;
  const ahead = Object.entries({ iat, nbf }).find(([, time]) => typeof time === "number" && time > latest);
  if (ahead)
    throw new Error(`the ${ahead[0]} of the id token is more than ${maxAheadSeconds / 60} minutes in the future`);
}

async function discover(settings: OidcSettings): Promise<Configuration> {
  const issuer = new URL(settings.issuer);
  const isPlain = issuer.protocol === "http:";
  const execute = isPlain ? [allowInsecureRequests] : [];
  const found = await discovery(issuer, settings.client_id, undefined, None(), { execute, timeout: timeoutSeconds });
  const server = found.serverMetadata();
  // A service that does not list its authentication methods supports this one, by OpenID Connect Discovery.
  const { token_endpoint_auth_methods_supported: methods = ["client_secret_basic"] } = server;
  const authenticate = methods.includes("client_secret_basic") ? ClientSecretBasic : ClientSecretPost;
  const configuration = new Configuration(server, settings.client_id, undefined, authenticate(settings.client_secret));
  configuration.timeout = timeoutSeconds;
  enableNonRepudiationChecks(configuration);
  if (isPlain) allowInsecureRequests(configuration);
  return configuration;
}
