/** FindConfigRefusal: tells the console whether this process rejected the changed configuration file. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { ConfigRefusal } from "@sluice/proto/gen/sluice/common/v1/configuration_pb.js";
import {
  FindConfigRefusalResponseSchema,
  type InferenceService,
} from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { requireServiceToken } from "@sluice/proto/lib/rpc/caller.js";
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";

export interface ConfigurationDeps {
  readonly token: ServiceToken;
  /** The changed configuration file, if this process rejected it. */
  readonly configRefusal: () => ConfigRefusal | undefined;
}

export const findConfigRefusalHandler =
  ({ token, configRefusal }: ConfigurationDeps): ServiceImpl<typeof InferenceService>["findConfigRefusal"] =>
  (_, { requestHeader }) => {
    requireServiceToken(requestHeader, token);
    const refusal = configRefusal();
    return create(FindConfigRefusalResponseSchema, refusal && { refusal });
  };
