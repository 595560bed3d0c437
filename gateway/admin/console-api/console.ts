/** Answers below `/console`: the pages of the console, its sessions, and the operations of `/api/v1` for the holder of a session. */
import type { OpenSessionResponse, Session } from "@sluice/proto/gen/sluice/admin/v1/session_service_pb.js";
import { basePath } from "@sluice/proto/contract/operations/operation.js";
import { isKeyRefusal, isNetworkRefusal, requireAllowedNetwork } from "@sluice/proto/lib/policy/allowed-networks.js";
import { neededRole } from "@sluice/proto/lib/policy/role.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { KeyKind, hashKey, kindOfKey } from "@sluice/proto/lib/ids/key.js";
import { callbackPath } from "@sluice/proto/config/console/section.js";
import { invalidKey } from "@sluice/proto/lib/rpc/caller.js";
import { scanObject } from "@sluice/proto/lib/json/scan.js";
import { throwProblems } from "@sluice/proto/lib/validation/problems.js";
import { type Accepted, object, string } from "@sluice/proto/lib/validation/shape.js";
import { consoleSite } from "../../edge/http/site.ts";
import { readBody } from "../../edge/http/body.ts";
import type { EdgeContext, HandlerDeps } from "../../edge/http/context.ts";
import { writeFault, writeJson, writeNothing } from "../../edge/http/errors.ts";
import { type ExchangeDeps, continueAsCaller, answerFailure } from "../../edge/http/exchange.ts";
import { auditedCall, pathIn } from "../../edge/http/path.ts";
import { writePublished } from "../../edge/http/published.ts";
import type { AuthorizedPerson } from "./people.ts";
import { type ConfigurationParts, listConfigRefusals } from "./configuration.ts";
import { consoleSessionCookie as sessionCookie, presentedCookie, setCookie } from "./cookie.ts";
import type { LiveTurns } from "./live.ts";
import { LiveStream } from "./live-stream.ts";
import type { Oidc } from "./oidc.ts";
import { type SignInParts, beginSignIn, finishSignIn } from "./oidc-sign-in.ts";
import { requireSameOrigin } from "./origin.ts";
import { sessionMetadata, requireRole } from "./roles.ts";
import { Sessions } from "./sessions.ts";
import { type SessionLinks, toSessionJson } from "./session-json.ts";
import { SignInLimiter } from "./sign-in-limiter.ts";
import type { StartLink } from "./start-link.ts";
import type { TrustedHeader } from "./trusted-header.ts";

const root = "/console";
const api = `${root}/api`;
/** Path of the open turns, below `api`. */
const live = "/live";
/** Path of the refusals of the configuration file, below `api`. */
const configuration = "/configuration";

export interface ConsoleParts
  extends ExchangeDeps,
    SignInParts,
    SessionLinks,
    ConfigurationParts,
    Pick<HandlerDeps, "admin" | "token"> {
  readonly live: LiveTurns;
  /** Proxy that identifies the person of a request; undefined without a proxy. */
  readonly trustedHeader: TrustedHeader | undefined;
  /** Service for the sign-in of people; undefined without a service. */
  readonly oidc: Oidc | undefined;
  /** Link that signs in once; undefined without one. */
  readonly startLink: StartLink | undefined;
}

/** Serves an operation of the contract for the caller in the context. */
type Operate = (context: EdgeContext) => Promise<void>;

/** Whether a path belongs to the console. */
export const isConsole = (path: string): boolean => path === root || path.startsWith(`${root}/`);

const signIn = object(
  { management_key: string({ max: 200 }), link: string({ max: 200 }) },
  {
    strict: true,
    also: ({ management_key: key, link }, path, problems) => {
      if ((key === undefined) === (link === undefined)) problems.add(path, "management_key or link");
    },
  },
);
const maxSignInBytes = 1_024;

/** Memory account for bodies of people who are not signed in. */
const keyless = "";

export class Console {
  readonly #parts: ConsoleParts;
  readonly #operateOn: Operate;
  readonly #sessions: Sessions;
  readonly #limiter = new SignInLimiter();

  constructor(parts: ConsoleParts, operate: Operate) {
    this.#parts = parts;
    this.#operateOn = operate;
    this.#sessions = new Sessions(parts.admin, parts.token);
  }

  async serve(context: EdgeContext): Promise<void> {
    const path = pathIn(context.req.url ?? "");
    try {
      // A forged identity header is refused on every path, before anything is read.
      const person = this.#parts.trustedHeader?.find(context.req);
      if (path === api || path.startsWith(`${api}/`)) await this.#serveApi(context, path.slice(api.length), person);
      else if (path === callbackPath) await this.#finishSignIn(context);
      else await this.#servePage(context);
    } catch (error) {
      await answerFailure(this.#parts, context, error);
    }
  }

  async #finishSignIn(context: EdgeContext): Promise<void> {
    const { oidc } = this.#parts;
    if (!oidc || context.req.method !== "GET") throw notFound(context);
    await finishSignIn(this.#parts, oidc, this.#sessions, context);
  }

  async #beginSignIn(context: EdgeContext): Promise<void> {
    context.route = `${api}/oidc`;
    const { oidc } = this.#parts;
    if (!oidc) throw notFound(context);
    await beginSignIn(this.#parts, oidc, context);
  }

  async #servePage(context: EdgeContext): Promise<void> {
    const { req: request, res: response } = context;
    const refusal = await this.#parts.keylessLimiter.admit(request);
    context.route = `${root}/*`;
    context.fault = refusal;
    if (refusal) return writeFault(response, refusal, { requestId: context.requestId });
    const isRead = request.method === "GET" || request.method === "HEAD";
    if (!isRead || !consoleSite.page) throw notFound(context);
    writePublished(request, response, consoleSite.page);
  }

  async #serveApi(context: EdgeContext, path: string, person: AuthorizedPerson | undefined): Promise<void> {
    const { req: request, res: response } = context;
    response.setHeader("cache-control", "no-store");
    requireSameOrigin(request);
    if (path === "/session" && request.method === "POST") return await this.#signIn(context);
    if (path === "/oidc" && request.method === "POST") return await this.#beginSignIn(context);
    if (path === "/session" && request.method === "GET") return await this.#showSession(context, person);
    // GET /sessions lists sessions of requests, like any other operation.
    const isEnd = (path === "/session" || path === "/sessions") && request.method === "DELETE";
    if (isEnd) return await this.#endSessions(context, path, person);
    const session = await this.#find(context, person);
    if (!session) throw noSession();
    if (path === live || path.startsWith(`${live}/`)) return await this.#serveLive(context, session, path);
    if (path === configuration && request.method === "GET") return await this.#showConfiguration(context, session);
    await this.#operate(context, session, path);
  }

  /**
   * Ends one session, or all sessions of its key or person. The client's address does not matter: a person must be able to sign out even where the
   * key may not be used.
   */
  async #endSessions(context: EdgeContext, path: string, person: AuthorizedPerson | undefined): Promise<void> {
    const { req: request, res: response } = context;
    context.route = `${api}${path}`;
    const secret = presentedCookie(sessionCookie, request);
    if (!(await this.#findSession(context, person))) throw noSession();
    if (secret !== undefined) await this.#sessions.end(secret, { all: path === "/sessions" }, context);
    response.setHeader("set-cookie", setCookie(sessionCookie, request, ""));
    writeNothing(response, context);
  }

  /** @throws Fault PERMISSION_DENIED if the session's key may not be used from the client's address */
  async #find(context: EdgeContext, person: AuthorizedPerson | undefined): Promise<Session | undefined> {
    const session = await this.#findSession(context, person);
    if (session) await this.#requireAllowedNetwork(session.keyHash, context);
    return session;
  }

  /** @throws Fault PERMISSION_DENIED if the key may not be used from the client's address; the audit log records the refusal */
  async #requireAllowedNetwork(keyHash: string, { req, requestId, trace, address }: EdgeContext): Promise<void> {
    const { caller } = await this.#parts.access.resolve(keyHash, undefined, trace);
    if (!caller) return;
    try {
      requireAllowedNetwork(caller.allowedNetworks, this.#parts.addressOf(req));
    } catch (error) {
      await this.#parts.networkRefusals.note(caller, auditedCall(req), { requestId, trace, address });
      throw error;
    }
  }

  /** The proxy's person takes precedence over a cookie, which may belong to an earlier person at the same browser. */
  async #findSession(context: EdgeContext, person: AuthorizedPerson | undefined): Promise<Session | undefined> {
    if (person) return await this.#sessions.findPerson(person, context);
    const secret = presentedCookie(sessionCookie, context.req);
    const session = secret === undefined ? undefined : await this.#sessions.find(secret, context);
    if (secret === undefined || !session || session.person === "") return session;
    if (this.#parts.oidc?.holds(session.rule) === true) return session;
    // The rule that granted the session is no longer in the configuration file.
    await this.#sessions.end(secret, { all: false }, context);
    return undefined;
  }

  /** Whether the session of a page that watches open turns is still valid. */
  async #lives(context: EdgeContext): Promise<boolean> {
    try {
      return (await this.#find(context, this.#parts.trustedHeader?.find(context.req))) !== undefined;
    } catch (error) {
      if (Fault.from(error).reason === FaultReason.PERMISSION_DENIED) return false;
      throw error;
    }
  }

  /** Lists the open turns of the session's workspace, or ends a turn. */
  async #serveLive(context: EdgeContext, session: Session, path: string): Promise<void> {
    const { req: request, res: response } = context;
    context.route = path === live ? `${api}${live}` : `${api}${live}/*`;
    if (path === live && request.method === "GET") {
      return new LiveStream(response, () => this.#lives(context)).start(this.#parts.live, session.keyHash);
    }
    const generationId = path.slice(live.length + 1);
    if (path === live || request.method !== "DELETE") throw notFound(context);
    await requireRole(this.#sessions, session, "operator", `DELETE ${live}/{id}`, context);
    const caller = sessionMetadata(session, context);
    if (!(await this.#parts.live.end(generationId, caller))) throw notFound(context);
    await this.#sessions.recordEndedTurn(generationId, caller);
    writeNothing(response, context);
  }

  /**
   * Shows which processes rejected the configuration file, to administrators of the account only: the answer contains names and errors of the file.
   */
  async #showConfiguration(context: EdgeContext, session: Session): Promise<void> {
    context.route = `${api}${configuration}`;
    if (!session.account) throw accountOnly();
    await requireRole(this.#sessions, session, "admin", `GET ${configuration}`, context);
    writeJson(context.res, await listConfigRefusals(this.#parts, sessionMetadata(session, context)), context);
  }

  /**
   * Answers null without a session, or with a session that may not be used from the client's address. An error status would appear as a failure in
   * the browser, although the sign-in page needs this answer.
   */
  async #showSession(context: EdgeContext, person: AuthorizedPerson | undefined): Promise<void> {
    context.route = `${api}/session`;
    const { oidc, keylessLimiter } = this.#parts;
    const found = await this.#find(context, person).catch((error: unknown) => {
      if (error instanceof Fault && isNetworkRefusal(error)) return error;
      throw error;
    });
    const refusal = found instanceof Fault ? found : undefined;
    if (refusal) await keylessLimiter.admit(context.req);
    const signIn = {
      data: null,
      oidc: oidc ? { name: oidc.name } : null,
      ...(refusal && { refusal: refusal.message }),
    };
    writeJson(context.res, found && !refusal ? toSessionJson(found as Session, this.#parts) : signIn, context);
  }

  /** Serves the request as if it had the session's key, at the same path below the contract's base path. */
  async #operate(context: EdgeContext, session: Session, path: string): Promise<void> {
    const { access } = this.#parts;
    const { keyHash } = session;
    const { url = "" } = context.req;
    context.req.url = `${basePath}${path}${url.slice(pathIn(url).length)}`;
    const { caller } = await access.resolve(keyHash, undefined, context.trace);
    const turn = continueAsCaller(this.#parts, context, keyHash, caller);
    context.person = session.person === "" ? undefined : session.person;
    context.permit = (operation) => {
      const call = `${operation.method.toUpperCase()} ${operation.path}`;
      return requireRole(this.#sessions, session, neededRole(operation), call, context);
    };
    await turn;
    await this.#operateOn(context);
  }

  async #signIn(context: EdgeContext): Promise<void> {
    context.route = `${api}/session`;
    const { management_key: key = "", link } = await this.#readSignIn(context);
    const opening = link === undefined ? this.#open(key, context) : this.#openByLink(link, context);
    const { secret, session } = await opening.catch(async (error: unknown) => {
      const isWrong = error instanceof Fault && isKeyRefusal(error);
      throw (isWrong && (await this.#limiter.note(this.#parts.addressOf(context.req), link ?? key))) || error;
    });
    context.res.setHeader("set-cookie", setCookie(sessionCookie, context.req, secret));
    writeJson(context.res, toSessionJson(session as Session, this.#parts), context, 201);
  }

  /**
   * Looks the key up as for any request (wrong keys cost the database next to nothing), and opens a session for a valid key.
   * @throws Fault UNAUTHENTICATED, PERMISSION_DENIED
   */
  async #open(key: string, context: EdgeContext): Promise<OpenSessionResponse> {
    const kind = kindOfKey(key);
    if (kind === undefined) throw invalidKey();
    if (kind !== KeyKind.MANAGEMENT) {
      throw new Fault(FaultReason.PERMISSION_DENIED, "An API key cannot sign in: a management key begins with mk-sl-", {
        origin: FaultOrigin.CLIENT,
      });
    }
    const keyHash = hashKey(key);
    await this.#requireAllowedNetwork(keyHash, context);
    const { requestId, trace, address } = context;
    return this.#sessions.open({ keyHash, requestId, trace, address });
  }

  /** @throws Fault UNAUTHENTICATED, PERMISSION_DENIED */
  async #openByLink(link: string, context: EdgeContext): Promise<OpenSessionResponse> {
    const { req, requestId, trace, address } = context;
    // A proxy on this machine has a loopback address, also for clients of other machines.
    const isForwarded = req.headers["x-forwarded-for"] !== undefined || req.headers.forwarded !== undefined;
    const keyHash = isForwarded ? undefined : this.#parts.startLink?.take(link, this.#parts.addressOf(req));
    if (keyHash === undefined) throw uselessLink();
    await this.#requireAllowedNetwork(keyHash, context);
    return this.#sessions.open({ keyHash, requestId, trace, address });
  }

  /** @throws Fault INVALID_REQUEST */
  async #readSignIn(context: EdgeContext): Promise<Accepted<typeof signIn>> {
    context.room = this.#parts.budget.open(keyless);
    const bytes = await readBody(context.req, maxSignInBytes, context.room);
    scanObject(bytes, "body");
    const body: unknown = JSON.parse(bytes.toString("utf8"));
    throwProblems((problems) => signIn.check(body, "", problems));
    return body as Accepted<typeof signIn>;
  }
}

const uselessLink = (): Fault =>
  new Fault(
    FaultReason.UNAUTHENTICATED,
    "This link has been used or has expired, or it is of another machine: sign in with the management key",
  );

const noSession = (): Fault => new Fault(FaultReason.UNAUTHENTICATED, "Not signed in, or the session has ended");

const accountOnly = (): Fault =>
  new Fault(
    FaultReason.PERMISSION_DENIED,
    "Only administrators of the account see the state of the configuration file",
    {
      origin: FaultOrigin.CLIENT,
    },
  );

const notFound = ({ req: { method, url = "" } }: EdgeContext): Fault =>
  new Fault(FaultReason.NOT_FOUND, `Resource not found: ${method} ${pathIn(url)}`);
