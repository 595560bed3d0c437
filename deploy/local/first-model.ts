/** The model in the banner's first request. */
import type { ModelSettings } from "@sluice/proto/config/config-file.js";
import { echoModel } from "@sluice/proto/config/seeded.js";

/**
 * The cheapest model with text answers, so trying Sluice costs next to nothing. Models without a price come last, and the built-in model only if
 * there is no other.
 */
export function findCheapestModel(models: readonly ModelSettings[]): string | undefined {
  const answering = models.filter(({ output_modalities: modalities }) => modalities.includes("text"));
  const configured = answering.filter(({ id }) => id !== echoModel);
  return (configured.toSorted((a, b) => priceOf(a) - priceOf(b))[0] ?? answering[0])?.id;
}

/** USD per million tokens, input plus output, at the model's cheapest endpoint. */
function priceOf({ endpoints }: ModelSettings): number {
  const prices = endpoints.map(({ pricing }) =>
    pricing === undefined ? Number.MAX_VALUE : Number(pricing.prompt) + Number(pricing.completion),
  );
  return Math.min(Number.MAX_VALUE, ...prices);
}
