/** The verbs of `providers` on another Sluice installation over HTTP. */
import { providerOperations } from "@sluice/proto/contract/operations/providers.js";
import { CommandError, escapeUnprintable, readArguments } from "@sluice/proto/lib/process/cli.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { providerLines, readProviderSettings, serverLines } from "../providers.ts";
import { jsonOption, textOption } from "../terminal.ts";
import { type RemoteCommands, withoutUnset } from "./command.ts";

export const remoteProviders: RemoteCommands = {
  list: async (args, sluice) => {
    const { values } = readArguments(args, jsonOption);
    const { data } = await sluice.call(providerOperations.listConfiguredProviders);
    return values.json === true ? [JSON.stringify(data)] : providerLines(data as readonly JsonObject[]);
  },
  found: async (args, sluice) => {
    const { values } = readArguments(args, jsonOption);
    const { data } = await sluice.call(providerOperations.findLocalServers);
    const servers = data as readonly JsonObject[];
    if (values.json === true) return [JSON.stringify(servers)];
    return servers.length === 0
      ? ["no server of models answers on the machine of the installation"]
      : serverLines(servers);
  },
  create: async (args, sluice) => {
    const { id, body, asJson } = readProviderSettings(args);
    const { data } = await sluice.call(providerOperations.createProvider, { body: withoutUnset({ ...body, id }) });
    return [asJson ? JSON.stringify(data) : `${id} serves ${modelsOf(data)}`];
  },
  update: async (args, sluice) => {
    const { id, body, asJson } = readProviderSettings(args);
    const change = { parameters: { id }, body: withoutUnset(body) };
    const { data } = await sluice.call(providerOperations.updateProvider, change);
    return [asJson ? JSON.stringify(data) : `${id} changed, and serves ${modelsOf(data)}`];
  },
  test: async (args, sluice) => {
    const { values, named } = readArguments(args, { ...jsonOption, model: textOption }, "ID");
    const body = withoutUnset({ model: values.model });
    const { data } = await sluice.call(providerOperations.testProvider, { parameters: { id: named.ID }, body });
    if (values.json === true) return [JSON.stringify(data)];
    const { ok, model, latency_ms: ms, cause } = data as JsonObject;
    if (ok !== true) throw new CommandError(escapeUnprintable(String((cause as JsonObject)["message"])));
    return [`${escapeUnprintable(String(model))} answered in ${String(ms)} ms`];
  },
  delete: async (args, sluice) => {
    const { named } = readArguments(args, {}, "ID");
    await sluice.call(providerOperations.deleteProvider, { parameters: { id: named.ID } });
    return [`${named.ID} deleted`];
  },
};

function modelsOf(data: unknown): string {
  const { models } = data as JsonObject;
  return models === 1 ? "1 model" : `${String(models)} models`;
}
