/** FindLocalServers: finds model servers on the machine of this process. Concurrent calls share one search. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  FindLocalServersResponseSchema,
  type InferenceService,
} from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { CurrentConfig } from "../../engine/current-config.ts";
import { type LocalServer, findLocalServers } from "../../models/trial/local-servers.ts";
import { type AdministratorDeps, requireManager } from "./administrator.ts";

export interface LocalServersDeps extends AdministratorDeps {
  readonly config: CurrentConfig;
}

export function findLocalServersHandler(
  deps: LocalServersDeps,
): ServiceImpl<typeof InferenceService>["findLocalServers"] {
  let running: Promise<LocalServer[]> | undefined;
  return async (_, { requestHeader }) => {
    const { account } = await requireManager(deps, requestHeader);
    if (!account) {
      throw new Fault(
        FaultReason.PERMISSION_DENIED,
        "Only management keys of the account look for servers; `keys create --management --account` makes one",
      );
    }
    running ??= findLocalServers({ environment: process.env }).finally(() => (running = undefined));
    const servers = await running;
    return create(FindLocalServersResponseSchema, {
      servers: servers.map((server) => {
        const provider = providerAt(deps.config, server.baseUrl);
        return { ...server, models: [...server.models], ...(provider !== undefined && { provider }) };
      }),
    });
  };
}

const loopback = new Set(["127.0.0.1", "localhost", "[::1]"]);

/** The configured provider at this port of the machine, by whatever name its address calls the machine. */
function providerAt({ file }: CurrentConfig, address: string): string | undefined {
  const { port } = new URL(address);
  const isThere = (given: string | undefined): boolean => {
    if (given === undefined) return false;
    const url = new URL(given);
    return loopback.has(url.hostname) && url.port === port;
  };
  return file.providers.find(({ base_url: url }) => isThere(url))?.id;
}
