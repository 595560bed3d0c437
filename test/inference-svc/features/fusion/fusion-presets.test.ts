/** The catalogue's panels of fusion. */
import { expect, test } from "@jest/globals";
import { defaultPresets } from "@sluice/inference-svc/features/fusion/default-presets.js";
import { openDecider, pricedEndpoint } from "../routers/deciding.ts";

const model = (id: string, price: number | undefined, general?: number, more: object = {}) => ({
  id,
  endpoints: [pricedEndpoint(id, price)],
  ...(general !== undefined && { scores: { general } }),
  ...more,
});

test("a fusion panel has the best model of each author, at most three; the budget panel only cheaper ones", () => {
  const { catalog } = openDecider([
    model("x/large", 20, 0.9),
    model("x/small", 1, 0.5),
    model("y/large", 10, 0.8),
    model("y/small", 2, 0.6),
    model("z/middle", 3, 0.7),
    model("w/middle", 30, 0.65),
    model("v/none", 1),
    model("u/painter", 1, 1, { output_modalities: ["image"] }),
  ]);
  expect(defaultPresets(catalog)).toEqual({
    "general-high": { analysis_models: ["x/large", "y/large", "z/middle"] },
    "general-budget": { analysis_models: ["z/middle", "y/small", "x/small"] },
  });
});

test("no fusion panel is made of models of fewer than two authors or without scores", () => {
  expect(defaultPresets(openDecider([model("x/a", 1, 0.5), model("x/b", 1, 0.4), model("y/c", 1)]).catalog)).toEqual(
    {},
  );
});
