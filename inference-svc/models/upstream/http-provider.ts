/** A provider called over HTTP in one of the dialects. */
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import type { ProviderSettings } from "@sluice/proto/config/config-file.js";
import { membersOf, withMembers } from "@sluice/proto/lib/json/span.js";
import { throwIfAborted } from "../../turn/abort.ts";
import type { TurnRequest } from "../../turn/request.ts";
import { toDeferredAnswer, withExplainedFailure } from "../../turn/answer-kinds.ts";
import type { Scope } from "../../turn/scope.ts";
import type { DroppedField } from "../../turn/trace.ts";
import type { Answer, Turn, TurnEvent } from "../../turn/turn.ts";
import type { Usage } from "../../turn/usage.ts";
import type { Authorization, Identity } from "./credentials/identity.ts";
import { buildKeyReport } from "./credentials/key-report.ts";
import { type ProviderKey, KeyRing } from "./credentials/keys.ts";
import { openIdentity } from "./credentials/open-identity.ts";
import type { Dialect, Framing, OnDropped, Refusal, Target } from "./dialect.ts";
import type { AnswerHead } from "./events/answer.ts";
import { providerFailed, providerFault } from "./failure.ts";
import type { Destination, RequestPreview, Provider, ProviderDependencies } from "./provider.ts";
import { redactBody } from "./redacted-body.ts";
import { RequestHeads, jsonContent } from "./request-heads.ts";
import { findReasoningFormat } from "./translate/reasoning-format.ts";
import type { Connections } from "./transport/connections.ts";
import type { Call } from "./transport/call.ts";
import { noEmbeddings } from "./embedding/none.ts";
import { splitInputs } from "./embedding/parts.ts";
import { Exchange } from "./transport/exchange.ts";
import { fieldLines } from "./transport/http/request-head.ts";
import { configuredVendorHost, fieldsOfVendor, isVendorOfFormat, vendorOf } from "./vendor-host.ts";
import { findRepeat } from "./transport/repeat.ts";
import { findProviderRequestId } from "./transport/provider-request-id.ts";
import { limitResetMs, retryAfterMs } from "./transport/retry-after.ts";
import { buildTraceHeaders } from "./transport/trace-headers.ts";
import { withPackedThoughts } from "./events/packed-thoughts.ts";

/** An endpoint of the provider. */
interface Endpoint {
  /** The dialect of its calls. */
  readonly dialect: Dialect;
  readonly target: Target;
  readonly heads: RequestHeads;
}

/** A single call of the provider. */
interface Attempt {
  readonly request: TurnRequest;
  readonly dialect: Dialect;
  readonly scope: Scope;
  readonly target: Target;
  /** Head of the HTTP request, with an API key or the headers of an identity. */
  readonly head: string;
  readonly body: string;
  readonly key: ProviderKey;
  /** Authorization by an identity; undefined for calls with an API key, or without any. */
  readonly authorization: Authorization | undefined;
}

export class HttpProvider implements Provider {
  readonly #settings: ProviderSettings;
  readonly #url: URL;
  readonly #dialect: Dialect;
  readonly #connections: Connections;
  readonly #userAgent: string;
  readonly #keys: KeyRing;
  readonly #reportKey: (key: ProviderKey, upstreamModel: string, failure: Fault) => void;
  readonly #identity: Identity | undefined;
  /** JSON of the fields the configuration adds to every turn, by name; undefined when there are none. */
  readonly #extraBody: Readonly<Record<string, string>> | undefined;
  /** Fields of clients passed on, because they are configured or the vendor's own; undefined when there are none. */
  readonly #passes: ReadonlySet<string> | undefined;
  /** Endpoints by destination, cached because every request uses several; destinations live as long as the configuration. */
  #endpoints = new WeakMap<Destination, Endpoint>();
  readonly #log: ProviderDependencies["log"];
  /** Whether the server has refused `stream_options`; it is then left out until the configuration changes. */
  #refusesStreamOptions = false;

  constructor(
    settings: ProviderSettings,
    dialect: Dialect,
    connections: Connections,
    { version, log, now }: ProviderDependencies,
  ) {
    this.#settings = settings;
    this.#log = log;
    this.#url = new URL(settings.base_url ?? "");
    this.#dialect = dialect;
    this.#connections = connections;
    this.#userAgent = `sluice/${version}`;
    this.#keys = new KeyRing(settings.api_keys ?? [], now);
    this.#reportKey = buildKeyReport(settings.id, this.#keys, log);
    this.#identity = openIdentity(settings, log);
    const extra = Object.entries(settings.extra_body ?? {}).map(([name, value]) => [name, JSON.stringify(value)]);
    const passes = [...(settings.passes ?? []), ...fieldsOfVendor(settings, this.#url.hostname)];
    this.#passes = passes.length > 0 ? new Set(passes) : undefined;
    this.#extraBody = extra.length > 0 ? (Object.fromEntries(extra) as Record<string, string>) : undefined;
  }

  rest({ upstreamModel }: Destination): ReturnType<KeyRing["rest"]> {
    return this.#keys.rest(upstreamModel);
  }

  refusal(destination: Destination, request: TurnRequest): Refusal | undefined {
    const { dialect, target } = this.#find(destination);
    return dialect.refusal(request, target);
  }

  droppedFields(destination: Destination, request: TurnRequest): readonly DroppedField[] {
    return this.#translate(destination, request).droppedFields;
  }

  preview(destination: Destination, request: TurnRequest): RequestPreview {
    const { droppedFields, passedFields, body } = this.#translate(destination, request);
    return { droppedFields, passedFields, bodyJson: redactBody(body) };
  }

  turn(destination: Destination): Turn {
    const turn: Turn = (request, scope) => {
      // The endpoint is found anew for each call, because a refusal of `stream_options` changes its target.
      const endpoint = this.#find(destination);
      const { dialect, target, heads } = endpoint;
      const { trace } = scope;
      const written = this.#write(endpoint, request, (path, reason) => trace.droppedFields.push({ path, reason }));
      const { body, passedFields } = written;
      if (passedFields.length > 0) trace.passedFields = passedFields;
      if (request.echoUpstreamBody && request.stream) keepBody(redactBody(body), scope);
      const key = this.#keys.take(target.upstreamModel);
      const head = heads.withKey(key, request.stream);
      const attempt = { request, dialect, scope, target, head, body, key, authorization: undefined };
      if (!this.#identity) return this.#call(attempt);
      return toDeferredAnswer(
        this.#authorize(this.#identity, attempt, heads).then((authorized) => this.#call(authorized)),
      );
    };
    const { dialect, target } = this.#find(destination);
    const maxInputs = dialect.maxInputs?.(target);
    return maxInputs === undefined ? turn : splitInputs(turn, maxInputs);
  }

  #call(attempt: Attempt): Answer {
    const { request, scope, key, target, authorization } = attempt;
    throwIfAborted(scope.signal);
    const sendsStreamOptions = this.#settings.dialect === "chat" && request.stream && target.streamOptions !== false;
    const exchange = this.#open(attempt);
    // This function lives as long as the answer, so it must not keep the attempt, whose request may have megabytes.
    const explain = (error: unknown): Fault => {
      const failure = Fault.from(error);
      // The provider has refused a wrong time or an expired token before it read the request, and the identity has
      // corrected it.
      if (authorization?.isOutdated === true) return failure.with({ repeat: "now" });
      if (sendsStreamOptions && namesStreamOptions(failure)) return this.#withoutStreamOptions(failure);
      this.#reportKey(key, target.upstreamModel, failure);
      const repeat = findRepeat(exchange, failure);
      return repeat ? failure.with({ repeat }) : failure;
    };
    return withExplainedFailure(() => exchange.start(this.#connections.take()), explain);
  }

  /**
   * Marks the failure for a repetition without `stream_options`: the client never sent this field. All later requests
   * of the provider leave it out as well.
   */
  #withoutStreamOptions(failure: Fault): Fault {
    if (!this.#refusesStreamOptions) {
      this.#refusesStreamOptions = true;
      this.#endpoints = new WeakMap();
      this.#log.warn(
        { provider: this.#settings.id },
        "the server refuses stream_options: streams are sent without it; set stream_options: false for this provider",
      );
    }
    return providerFailed("the server refuses stream_options", failure).with({ repeat: "now" });
  }

  async #authorize(identity: Identity, attempt: Attempt, heads: RequestHeads): Promise<Attempt> {
    const { request, scope, body, head } = attempt;
    const url = new URL(heads.path(request.stream), this.#url.origin);
    const signable = { url, method: "POST", headers: jsonContent, body };
    const authorization = await identity.authorize(signable, scope);
    return { ...attempt, head: head + fieldLines(authorization.fields), authorization };
  }

  #open(attempt: Attempt): Exchange {
    const { trace_context: isTraced, timeouts } = this.#settings;
    const { request, dialect, target, scope, body } = attempt;
    const own = dialect.requestHeaders?.(request, target);
    const named = own ? attempt.head + fieldLines(own) : attempt.head;
    const head = isTraced ? named + fieldLines(buildTraceHeaders(scope)) : named;
    const translate = (emit: (event: TurnEvent) => void) =>
      dialect.open(request, target, withPackedThoughts(request, emit));
    return new Exchange(new ProviderCall(attempt, timeouts), { head, body }, translate);
  }

  #translate(destination: Destination, request: TurnRequest): WrittenBody & { droppedFields: DroppedField[] } {
    const droppedFields: DroppedField[] = [];
    const onDropped: OnDropped = (path, reason) => void droppedFields.push({ path, reason });
    return { ...this.#write(this.#find(destination), request, onDropped), droppedFields };
  }

  /** @returns the body, with the fields the configuration adds to every turn, and with the client's fields passed on */
  #write({ dialect, target }: Endpoint, request: TurnRequest, onDropped: OnDropped): WrittenBody {
    const body = dialect.body(request, target, onDropped);
    if (request.embedding || (!this.#extraBody && !(this.#passes && request.extraFields)))
      return { body, passedFields: noNames };
    const passed = this.#findPassed(body, request);
    return { body: withMembers(body, { ...passed, ...this.#extraBody }), passedFields: Object.keys(passed) };
  }

  /** Fields of the client to pass on. A field that is already in the body comes from Sluice, and is not replaced. */
  #findPassed(body: string, { extraFields = {} }: TurnRequest): Readonly<Record<string, string>> {
    const named = Object.entries(extraFields).filter(([name]) => this.#passes?.has(name));
    if (named.length === 0) return {};
    const own = new Set(membersOf(Buffer.from(body)).map(({ key }) => key));
    return Object.fromEntries(named.filter(([name]) => !own.has(name)));
  }

  #find(destination: Destination): Endpoint {
    let endpoint = this.#endpoints.get(destination);
    if (endpoint === undefined) {
      const dialect = destination.embeds ? (this.#dialect.embeddings ?? noEmbeddings) : this.#dialect;
      const target = this.#buildTarget(destination);
      const heads = new RequestHeads({ dialect, url: this.#url, userAgent: this.#userAgent, target });
      this.#endpoints.set(destination, (endpoint = { dialect, target, heads }));
    }
    return endpoint;
  }

  #buildTarget({ upstreamModel, tier, supportedParameters, maxOutputTokens }: Destination): Target {
    const { native_tools: nativeTools, stream_options: streamOptions } = this.#settings;
    const { hostname } = this.#url;
    const findFormat = findReasoningFormat(hostname) ?? findReasoningFormat(configuredVendorHost(this.#settings) ?? "");
    const reasoningFormat = findFormat?.(upstreamModel);
    const vendor = vendorOf(this.#settings, hostname);
    return {
      upstreamModel,
      tier,
      original: isVendorOfFormat(this.#settings, hostname, this.#dialect),
      ...(vendor !== undefined && { vendor }),
      ...((streamOptions === false || this.#refusesStreamOptions) && { streamOptions: false as const }),
      ...(this.#passes && { passes: this.#passes }),
      ...(supportedParameters && { supportedParameters }),
      ...(nativeTools && { nativeTools: new Set(nativeTools) }),
      ...(maxOutputTokens !== undefined && { maxOutputTokens }),
      ...(reasoningFormat !== undefined && { reasoningFormat }),
    };
  }
}

const refusals: ReadonlySet<number | undefined> = new Set([400, 422]);

/**
 * Whether a server refuses a request because of `stream_options`, with which Sluice requests the usage of streams:
 * "Unknown parameter: 'stream_options'" (QuantumNous/new-api issue 418), "Validation error at #/stream_options: Extra
 * inputs are not permitted" (microsoft/semantic-kernel issue 10510).
 */
const namesStreamOptions = ({ attemptStatus, message }: Fault): boolean =>
  refusals.has(attemptStatus) && message.includes("stream_options");

interface WrittenBody {
  readonly body: string;
  /** Fields of the body that are unknown to Sluice's API. */
  readonly passedFields: readonly string[];
}

const noNames: readonly string[] = [];

/** Keeps the body of each attempt until the client gets the first event. @throws Fault when the turn has failed for want of memory */
function keepBody(body: string, { trace, held }: Scope): void {
  held.grow(2 * body.length);
  trace.bodies.push(body);
}

/** The call of an attempt, as the HTTP exchange sees it. */
class ProviderCall implements Call {
  readonly timeouts: ProviderSettings["timeouts"];
  readonly attemptDeadline: Scope["attempt"];
  readonly keyHash: string;
  readonly held: Scope["held"];
  readonly signal: Scope["signal"];
  readonly stream: boolean;
  readonly framing: Framing;
  readonly #dialect: Dialect;
  readonly #scope: Scope;
  readonly #authorization: Authorization | undefined;

  constructor({ request, dialect, scope, authorization }: Attempt, timeouts: ProviderSettings["timeouts"]) {
    this.timeouts = timeouts;
    this.attemptDeadline = scope.attempt;
    this.keyHash = scope.caller.keyHash;
    this.held = scope.held;
    this.signal = scope.signal;
    this.stream = request.stream;
    this.framing = dialect.framing;
    this.#dialect = dialect;
    this.#scope = scope;
    this.#authorization = authorization;
  }

  reported(usage: Usage): void {
    this.#scope.trace.report(usage);
  }

  abandoned(): void {
    this.#scope.trace.abandon();
  }

  fault(head: AnswerHead, body: unknown): Fault {
    this.#authorization?.refused(head);
    const hint = retryAfterMs(head);
    const reset = limitResetMs(head);
    return providerFault({
      ...this.#dialect.error(head.status, body, head),
      ...(hint !== undefined && { retryAfterMs: hint }),
      ...(reset !== undefined && { limitResetMs: reset }),
      requestId: findProviderRequestId(head),
    });
  }
}
