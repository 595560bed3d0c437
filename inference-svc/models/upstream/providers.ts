/** The configured providers, each with its dialect, its connections and its keys. */
import { isDeepStrictEqual } from "node:util";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { ProviderSettings } from "@sluice/proto/config/config-file.js";
import type { Turn } from "../../turn/turn.ts";
import { isSdk } from "./ai-sdk/load.ts";
import { sdkProvider } from "./ai-sdk/provider.ts";
import { chat } from "./chat/dialect.ts";
import { cloudDialect } from "./clouds.ts";
import { cohere } from "./cohere/dialect.ts";
import { converse } from "./converse/dialect.ts";
import type { Dialect } from "./dialect.ts";
import { echoProvider } from "./echo/provider.ts";
import { gemini } from "./gemini/dialect.ts";
import { HttpProvider } from "./http-provider.ts";
import { messages } from "./messages/dialect.ts";
import type { Destination, RequestPreview, Provider, ProviderDependencies } from "./provider.ts";
import { mistralOcr } from "./mistral-ocr/dialect.ts";
import { responses } from "./responses/dialect.ts";
import { Connections } from "./transport/connections.ts";

export type { Destination, RequestPreview, ProviderDependencies } from "./provider.ts";

const dialects: Readonly<Record<string, Dialect>> = {
  chat,
  cohere,
  converse,
  gemini,
  messages,
  "mistral-ocr": mistralOcr,
  responses,
};

export interface Upstreams extends Provider {
  /** The opened providers, by id. */
  readonly opened: ReadonlyMap<string, OpenedProvider>;
  readonly rest: (destination: Destination) => ReturnType<Provider["rest"]>;
  /** Waits for running exchanges. */
  close(): Promise<void>;
}

interface OpenedProvider {
  readonly settings: ProviderSettings;
  readonly provider: Provider;
  /** Connections to the server; absent for the built-in model, and for packages, which make their own. */
  readonly connections?: Connections;
}

/**
 * @param before providers of the previous configuration: those with unchanged settings keep their connections and the
 * state of their keys
 * @throws ConfigError for a provider whose package was not loaded
 */
export function openUpstreams(
  providers: readonly ProviderSettings[],
  dependencies: ProviderDependencies,
  before?: Upstreams,
): Upstreams {
  const opened = new Map(
    providers.map((settings) => {
      const old = before?.opened.get(settings.id);
      const same = old && isDeepStrictEqual(old.settings, settings);
      return [settings.id, same ? old : openProvider(settings, dependencies)];
    }),
  );
  const used = new Set(opened.values());
  for (const old of before?.opened.values() ?? []) if (!used.has(old)) old.connections?.retire();
  const find = ({ provider }: Destination) => opened.get(provider)?.provider;
  return {
    opened,
    turn: (destination) => find(destination)?.turn(destination) ?? unknownProvider(destination),
    rest: (destination) => find(destination)?.rest(destination),
    refusal: (destination, request) => find(destination)?.refusal(destination, request),
    droppedFields: (destination, request) => find(destination)?.droppedFields(destination, request) ?? [],
    preview: (destination, request) => find(destination)?.preview(destination, request) ?? noOutgoingRequest,
    close: async () => void (await Promise.all([...used].flatMap(({ connections }) => connections?.close() ?? []))),
  };
}

const noOutgoingRequest: RequestPreview = { droppedFields: [], bodyJson: undefined };

function openProvider(settings: ProviderSettings, dependencies: ProviderDependencies): OpenedProvider {
  if (isSdk(settings)) return { settings, provider: sdkProvider(settings, dependencies) };
  const dialect = cloudDialect(settings) ?? dialects[settings.dialect];
  if (dialect === undefined || settings.base_url === undefined) return { settings, provider: echoProvider };
  const connections = new Connections(new URL(settings.base_url).origin, settings.timeouts.connect_ms);
  return { settings, connections, provider: new HttpProvider(settings, dialect, connections, dependencies) };
}

function unknownProvider(destination: Destination): Turn {
  return () => {
    throw new Fault(FaultReason.INTERNAL, "", { cause: new Error(destination.provider) });
  };
}
