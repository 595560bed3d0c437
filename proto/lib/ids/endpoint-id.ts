/** Id of an endpoint in answers, lists and metrics: `provider/model[:tier]`. */

export interface EndpointName {
  /** Id of the provider. */
  readonly provider: string;
  /** Slug of the model. */
  readonly model: string;
  /** Service tier of the answer; empty when unknown. */
  readonly serviceTier?: string;
}

/** Leaves the default tier out. */
export const endpointId = ({ provider, model, serviceTier = "" }: EndpointName): string =>
  serviceTier === "" || serviceTier === "default" ? `${provider}/${model}` : `${provider}/${model}:${serviceTier}`;
