/** Processes that rejected the current configuration file: this gateway, every inference process, and the connected admin-svc. */
import { create } from "@bufbuild/protobuf";
import type { Client } from "@grpc/grpc-js";
import { SessionService } from "@sluice/proto/gen/sluice/admin/v1/session_service_pb.js";
import type { ConfigRefusal } from "@sluice/proto/gen/sluice/common/v1/configuration_pb.js";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { type CallOrigin, call, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";
import type { LiveTurns } from "./live.ts";

const timeoutMs = 1_000;

export interface ConfigurationParts {
  readonly admin: Client;
  readonly token: ServiceToken;
  readonly live: Pick<LiveTurns, "requestAll">;
  /** The changed configuration file, if this process rejected it. */
  readonly configRefusal: () => ConfigRefusal | undefined;
}

/** Lists the processes that rejected the configuration file, without processes that do not answer or are too old to know this call. */
export async function listConfigRefusals(parts: ConfigurationParts, caller: CallOrigin): Promise<object> {
  const requests = [requestAdmin(parts, caller), requestInference(parts, caller)];
  const refusals = [parts.configRefusal(), ...(await Promise.all(requests)).flat()];
  return { data: refusals.flatMap((refusal) => (refusal ? [toShown(refusal)] : [])) };
}

type Refusals = readonly (ConfigRefusal | undefined)[];

async function requestAdmin({ admin, token }: ConfigurationParts, caller: CallOrigin): Promise<Refusals> {
  const { findConfigRefusal: method } = SessionService.method;
  const response = call(admin, method, create(method.input), serviceMetadata(token, caller), timeoutMs);
  return [await response.then(({ refusal }) => refusal).catch(() => undefined)];
}

async function requestInference({ live }: ConfigurationParts, caller: CallOrigin): Promise<Refusals> {
  const { findConfigRefusal: method } = InferenceService.method;
  return (await live.requestAll(method, create(method.input), caller)).map(({ refusal }) => refusal);
}

const toShown = ({ process, refusedAtMs, problems }: ConfigRefusal): object => ({
  process,
  refused_at: new Date(Number(refusedAtMs)).toISOString(),
  problems,
});
