/** A condition that an endpoint must meet to serve a request. */
import type { ModelSettings } from "@sluice/proto/config/config-file.js";
import type { PermissionKind } from "../../../turn/permissions.ts";
import type { Endpoint } from "../catalog.ts";

/** Reasons for excluding an endpoint, as `excluded_by` in the receipt names them. */
export type ExclusionReason =
  | "permissions.models"
  | "permissions.providers"
  | "allowed_models"
  | "allowed_providers"
  | "data_region"
  | "data_policy:zdr"
  | "data_policy:training"
  | "data_policy:publication"
  | "distillable"
  | "modality"
  | "context_length"
  | "quantization"
  | "require_parameters"
  | "max_price"
  | "service_tier";

export interface Filter {
  readonly reason: ExclusionReason;
  /** Text after the model's name in the error when no endpoint is left, such as "gives no image output". */
  readonly refusal: string;
  admits(endpoint: Endpoint, model: ModelSettings): boolean;
  /** Set when the key may not use what the filter excludes; the error is then a 403 instead of a 404. */
  readonly forbids?: true;
  /**
   * For permissions of the key: the name the key may not use. When nothing else excludes an endpoint, the error is a
   * 403 with this name.
   */
  readonly refused?: (endpoint: Endpoint) => { readonly kind: PermissionKind; readonly value: string };
  /** Set when an endpoint that fails the filter may serve if no other can; the request is then changed for it. */
  readonly yields?: true;
}

export const buildFilter = (reason: ExclusionReason, refusal: string, admits: Filter["admits"]): Filter => ({
  reason,
  refusal,
  admits,
});
