/** Answers the operations on configured providers. An inference process checks and encrypts them, and admin-svc stores them. */
import {
  type MessageInitShape,
  type DescMethodUnary,
  type DescMessage,
  type MessageShape,
  create,
} from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import {
  type ConfiguredProvider,
  InferenceService,
} from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import type { providerOperations } from "@sluice/proto/contract/operations/providers.js";
import { call, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import type { Handlers } from "../operation.ts";
import type { CatalogueCall } from "./parts.ts";
import { testProvider } from "./providers.ts";

/**
 * Timeout of a change of a configured provider: within a second every process acknowledges the change; the rest is for the database and a check of
 * all providers.
 */
const timeoutMs = 20_000;

const { method } = InferenceService;

function ask<Input extends DescMessage, Output extends DescMessage>(
  { parts: { inference, token }, caller }: CatalogueCall,
  method: DescMethodUnary<Input, Output>,
  request: MessageInitShape<Input>,
): Promise<MessageShape<Output>> {
  return call(inference, method, create(method.input, request), serviceMetadata(token, caller), timeoutMs);
}

const bytesOf = (body: JsonObject): Uint8Array => Buffer.from(JSON.stringify(body));

const dataOf = ({ provider }: { readonly provider?: ConfiguredProvider | undefined }): object => ({
  data: provider && providerJson(provider),
});

const providerJson = (provider: ConfiguredProvider): JsonObject => ({
  id: provider.id,
  source: provider.source,
  problem: provider.problem ?? null,
  models: provider.models,
  api_key_ends: provider.keyEnds,
  settings: JSON.parse(Buffer.from(provider.settingsJson).toString() || "{}") as JsonObject,
  created_at: provider.createdAt ? timestampDate(provider.createdAt).toISOString() : null,
  updated_at: provider.updatedAt ? timestampDate(provider.updatedAt).toISOString() : null,
});

export const configuredProviderHandlers: Handlers<typeof providerOperations> = {
  listConfiguredProviders: async (call) => {
    const { providers } = await ask(call, method.listConfiguredProviders, {});
    return { data: providers.map(providerJson) };
  },
  findLocalServers: async (call) => {
    const { servers } = await ask(call, method.findLocalServers, {});
    const data = servers.map(({ id, name, baseUrl: base_url, models, provider = null }) => ({
      id,
      name,
      base_url,
      models,
      provider,
    }));
    return { data };
  },
  createProvider: async (call) => dataOf(await ask(call, method.createProvider, { settingsJson: bytesOf(call.body) })),
  updateProvider: async (call) => {
    const { parameters, body } = call;
    return dataOf(await ask(call, method.updateProvider, { id: parameters.id, settingsJson: bytesOf(body) }));
  },
  deleteProvider: async (call) => {
    await ask(call, method.deleteProvider, { id: call.parameters.id });
    return { deleted: true };
  },
  testProvider,
};
