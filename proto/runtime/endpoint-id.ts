/** The name of an endpoint in every answer, list and metric: `provider/model[:tier]`. */

export interface EndpointName {
  /** Id of the provider. */
  readonly provider: string;
  /** Slug of the model. */
  readonly model: string;
  /** The tier that served; empty where it is not known. */
  readonly serviceTier?: string;
}

/** The default tier is not written. */
export const endpointId = ({ provider, model, serviceTier = "" }: EndpointName): string =>
  serviceTier === "" || serviceTier === "default" ? `${provider}/${model}` : `${provider}/${model}:${serviceTier}`;
