/** Sign-in by a service of OpenID Connect: authorization code with PKCE, state and nonce. The gateway keeps nothing between the two steps. */
import type { OidcSettings } from "@sluice/proto/runtime/house/console/section.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
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
import { type KnownPerson, identityOf, knownPerson, refused, ruleText } from "./people.ts";

const section = "console.oidc";
const timeoutSeconds = 5;

/** The values that the browser keeps until the service sends the person back. */
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
    this.#rules = new Set(settings.roles.map(ruleText));
  }

  get name(): string {
    return this.#settings.name;
  }

  /** Whether the rule that gave a session its role still stands. */
  holds(rule: string): boolean {
    return this.#rules.has(rule);
  }

  /** @returns the address at which the person signs in @throws Fault UNAVAILABLE */
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
   * Exchanges the code that came with the person.
   * @param query of the address to which the service sent the person
   * @throws Fault PERMISSION_DENIED for a person without a role
   * @throws Error of the library for an answer that cannot be trusted
   */
  async finish(query: string, { state, nonce, verifier }: SignInAttempt): Promise<KnownPerson> {
    const configuration = await this.#discover();
    const url = new URL(this.#settings.redirect_uri);
    url.search = query;
    const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier };
    const tokens = await authorizationCodeGrant(configuration, url, checks);
    const claims = tokens.claims();
    if (!claims) throw new Error("the service answered without an id token");
    return this.#person(await this.#complete(configuration, claims, tokens.access_token));
  }

  /** Services with short tokens tell the rest apart. */
  async #complete(
    configuration: Configuration,
    claims: Claims & { readonly sub: string },
    token: string,
  ): Promise<Claims> {
    const { user_claim: user, group_claim: group, roles } = this.#settings;
    const needsGroups = roles.some((rule) => rule.group !== undefined);
    const isComplete = claims[user] !== undefined && (!needsGroups || claims[group] !== undefined);
    if (isComplete || configuration.serverMetadata().userinfo_endpoint === undefined) return claims;
    return { ...(await fetchUserInfo(configuration, token, claims.sub)), ...claims };
  }

  #person(claims: Claims): KnownPerson {
    const { user_claim: user, group_claim: group, roles } = this.#settings;
    // An address that was not verified may belong to another person.
    if (claims["email_verified"] === false) throw refused(`${this.name} has not verified the e-mail address`);
    const groups = [claims[group] ?? []].flat().filter((each) => typeof each === "string");
    const given = claims[user];
    return knownPerson(identityOf(typeof given === "string" ? given : "", groups, `The claim ${user}`), roles, section);
  }

  /** Asks the service once for where its parts are, and again after a failure. */
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

async function discover(settings: OidcSettings): Promise<Configuration> {
  const issuer = new URL(settings.issuer);
  const isPlain = issuer.protocol === "http:";
  const execute = isPlain ? [allowInsecureRequests] : [];
  const found = await discovery(issuer, settings.client_id, undefined, None(), { execute, timeout: timeoutSeconds });
  const server = found.serverMetadata();
  // The way of services that do not say which ones they take.
  const { token_endpoint_auth_methods_supported: methods = ["client_secret_basic"] } = server;
  const authenticate = methods.includes("client_secret_basic") ? ClientSecretBasic : ClientSecretPost;
  const configuration = new Configuration(server, settings.client_id, undefined, authenticate(settings.client_secret));
  configuration.timeout = timeoutSeconds;
  enableNonRepudiationChecks(configuration);
  if (isPlain) allowInsecureRequests(configuration);
  return configuration;
}
