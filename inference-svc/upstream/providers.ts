/** The configured providers, each with its dialect, its connections and its keys. */
import { isDeepStrictEqual } from "node:util";
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import type { ProviderSettings } from "@sluice/proto/runtime/house-file.js";
import { throwIfAborted } from "../turn/abort.ts";
import type { TurnRequest } from "../turn/request.ts";
import type { Loss, Scope } from "../turn/scope.ts";
import type { Patience, Turn } from "../turn/turn.ts";
import { isSdk } from "./ai-sdk/load.ts";
import { sdkProvider } from "./ai-sdk/provider.ts";
import type { AnswerHead } from "./answer.ts";
import { AwsSigner } from "./aws-signer.ts";
import { chat } from "./chat/dialect.ts";
import { Connections } from "./connections.ts";
import { converse } from "./converse/dialect.ts";
import type { Dialect, Target } from "./dialect.ts";
import { echo, echoLosses, echoRefusal } from "./echo/turn.ts";
import { Exchange } from "./exchange.ts";
import { providerFault } from "./failure.ts";
import { gemini } from "./gemini/dialect.ts";
import { keyNotes } from "./key-notes.ts";
import { KeyRing } from "./keys.ts";
import { messages } from "./messages/dialect.ts";
import type { Destination, Provider, Surroundings, Told } from "./provider.ts";
import { reasoningFormatOf } from "./reasoning-format.ts";
import { redacted } from "./redacted.ts";
import { repeatOf } from "./repeat.ts";
import { responses } from "./responses/dialect.ts";
import { retryAfterMs } from "./retry-after.ts";
import { toldTrace } from "./told-trace.ts";

export type { Destination, Surroundings, Told } from "./provider.ts";

export interface Upstreams extends Provider {
  /** By id. */
  readonly opened: ReadonlyMap<string, Opened>;
  /** Waits for running exchanges. */
  close(): Promise<void>;
}

/** It is told of a request by a call; who asks what it was told sees that in the house's own format. */
function builtInBody({ upstreamModel, tier }: Destination, request: TurnRequest): string {
  return redacted(responses.body(request, { upstreamModel, tier, original: false }, () => {}));
}

const builtIn: Provider = {
  turn: (destination) => (request, scope) => {
    if (request.echoUpstreamBody && request.stream) scope.trace.bodies.push(builtInBody(destination, request));
    return echo(request, scope);
  },
  rest: () => undefined,
  refusal: (_, request) => echoRefusal(request),
  losses: () => [],
  told: (destination, request) => ({ losses: echoLosses(request), bodyJson: builtInBody(destination, request) }),
};

const dialects: Readonly<Record<string, Dialect>> = { chat, converse, gemini, messages, responses };

/** The vendor of two of the formats. */
const originalHost = "api.openai.com";

/**
 * @param before those until now: a provider whose settings stay goes on as it is
 * @throws ConfigError for a provider whose package has not been loaded
 */
export function openUpstreams(
  providers: readonly ProviderSettings[],
  surroundings: Surroundings,
  before?: Upstreams,
): Upstreams {
  const opened = new Map(
    providers.map((settings) => {
      const old = before?.opened.get(settings.id);
      const same = old && isDeepStrictEqual(old.settings, settings);
      return [settings.id, same ? old : openProvider(settings, surroundings)];
    }),
  );
  const used = new Set(opened.values());
  for (const old of before?.opened.values() ?? []) if (!used.has(old)) old.connections?.retire();
  const providerOf = ({ provider }: Destination) => opened.get(provider)?.provider;
  return {
    opened,
    turn: (destination, patience) =>
      providerOf(destination)?.turn(destination, patience) ?? unknownProvider(destination),
    rest: (destination) => providerOf(destination)?.rest(destination),
    refusal: (destination, request) => providerOf(destination)?.refusal(destination, request),
    losses: (destination, request) => providerOf(destination)?.losses(destination, request) ?? [],
    told: (destination, request) => providerOf(destination)?.told(destination, request) ?? untold,
    close: async () => void (await Promise.all([...used].flatMap(({ connections }) => connections?.close() ?? []))),
  };
}

const untold: Told = { losses: [], bodyJson: undefined };

/** A provider that is spoken to. */
interface Opened {
  readonly settings: ProviderSettings;
  readonly provider: Provider;
  /** Absent where nothing is connected to. */
  readonly connections?: Connections;
}

function openProvider(settings: ProviderSettings, surroundings: Surroundings): Opened {
  if (isSdk(settings)) return { settings, provider: sdkProvider(settings, surroundings) };
  const dialect = dialects[settings.dialect];
  if (dialect === undefined || settings.base_url === undefined) return { settings, provider: builtIn };
  const url = new URL(settings.base_url);
  const connections = new Connections(url.origin, settings.timeouts.connect_ms);
  return { settings, connections, provider: httpProvider(settings, url, dialect, connections, surroundings) };
}

function unknownProvider(destination: Destination): Turn {
  return () => Promise.reject(new Fault(FaultReason.INTERNAL, "", { cause: new Error(destination.provider) }));
}

function httpProvider(
  provider: ProviderSettings,
  url: URL,
  dialect: Dialect,
  connections: Connections,
  { version, log, now }: Surroundings,
): Provider {
  const userAgent = `sluice/${version}`;
  const keys = new KeyRing(provider.api_keys ?? [], now);
  const noteKey = keyNotes(provider.id, keys, log);
  // The name of the service in signatures; its hosts are called otherwise.
  const signer = provider.aws && new AwsSigner("bedrock", provider.aws);
  const base = url.pathname.replace(/\/$/, "");
  const original = url.hostname === originalHost;
  const nativeTools = provider.native_tools && new Set(provider.native_tools);
  const reasoningFormat = reasoningFormatOf(url.hostname);

  function fault(head: AnswerHead, body: unknown): Fault {
    signer?.note(head);
    const hint = retryAfterMs(head.headers);
    return providerFault({
      ...dialect.error(head.status, body, head.headers),
      ...(hint !== undefined && { retryAfterMs: hint }),
    });
  }

  const pathOf = (request: TurnRequest, target: Target) =>
    withQuery(`${base}${dialect.path(request, target)}`, url.search);
  const content = { "content-type": "application/json" };

  /** Headers that prove who asks. */
  async function sign(by: AwsSigner, path: string, body: string): Promise<Readonly<Record<string, string>>> {
    return by.sign({ url: new URL(path, url.origin), method: "POST", headers: content, body });
  }

  function open(
    request: TurnRequest,
    scope: Scope,
    target: Target,
    patience: Patience,
    body: string,
    proof: Proof,
  ): Exchange {
    return new Exchange({
      options: {
        path: pathOf(request, target),
        method: "POST",
        body,
        headers: {
          ...content,
          accept: request.stream ? dialect.framing.type : "application/json",
          "accept-encoding": "identity",
          "user-agent": userAgent,
          ...proof,
          ...(provider.trace_context && toldTrace(scope)),
        },
      },
      timeouts: provider.timeouts,
      patience,
      keyHash: scope.caller.keyHash,
      signal: scope.signal,
      stream: request.stream,
      framing: dialect.framing,
      translate: (emit) => dialect.open(request, target, emit),
      reported: (usage) => scope.trace.report(usage),
      abandoned: () => scope.trace.abandon(),
      fault,
    });
  }

  const toTarget = ({ upstreamModel, tier, supportedParameters, maxOutputTokens }: Destination): Target => ({
    upstreamModel,
    tier,
    original,
    ...(supportedParameters && { supportedParameters }),
    ...(nativeTools && { nativeTools }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(reasoningFormat && { reasoningFormat: reasoningFormat(upstreamModel) }),
  });

  /** Destinations are those of the configuration, and each is asked about at every request. */
  const targets = new WeakMap<Destination, Target>();
  function targetOf(destination: Destination): Target {
    let target = targets.get(destination);
    if (target === undefined) targets.set(destination, (target = toTarget(destination)));
    return target;
  }

  function turn(destination: Destination, patience: Patience): Turn {
    const target = targetOf(destination);
    return async (request, scope) => {
      const body = dialect.body(request, target, (path, reason) => scope.trace.losses.push({ path, reason }));
      if (request.echoUpstreamBody && request.stream) scope.trace.bodies.push(redacted(body));
      const key = keys.take(destination.upstreamModel);
      const aheadMs = signer?.aheadMs;
      const proof = signer ? await sign(signer, pathOf(request, target), body) : dialect.headers(key.secret);
      throwIfAborted(scope.signal);
      const exchange = open(request, scope, target, patience, body, proof);
      const connection = connections.take();
      try {
        return await exchange.start(connection, (reusable) =>
          reusable ? connections.release(connection) : connections.discard(connection),
        );
      } catch (error) {
        const failure = Fault.from(error);
        // What was signed with the wrong time says nothing about the key, and was not looked at.
        if (signer?.aheadMs !== aheadMs) throw failure.with({ repeat: "now" });
        noteKey(key, destination.upstreamModel, failure);
        const repeat = repeatOf(exchange, failure);
        throw repeat ? failure.with({ repeat }) : failure;
      }
    };
  }

  function bodyOf(destination: Destination, request: TurnRequest) {
    const losses: Loss[] = [];
    const body = dialect.body(request, targetOf(destination), (path, reason) => losses.push({ path, reason }));
    return { losses, body };
  }

  function told(destination: Destination, request: TurnRequest): Told {
    const { losses, body } = bodyOf(destination, request);
    return { losses, bodyJson: redacted(body) };
  }

  return {
    turn,
    rest: ({ upstreamModel }) => keys.rest(upstreamModel),
    told,
    losses: (destination, request) => bodyOf(destination, request).losses,
    refusal: (destination, request) => dialect.refusal(request, targetOf(destination)),
  };
}

type Proof = Readonly<Record<string, string>>;

/** @param search of the base URL; the path may bring a query of its own */
const withQuery = (path: string, search: string): string =>
  path + (path.includes("?") ? search.replace("?", "&") : search);
