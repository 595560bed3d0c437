/** The catalogue as shown to clients: prices are exact. */
import { expect, test } from "@jest/globals";
import { Catalog } from "@sluice/inference-svc/models/routing/catalog.js";
import { listModels } from "@sluice/inference-svc/models/routing/records/listing.js";
import { toPricePerToken } from "@sluice/inference-svc/models/routing/price/price.js";
import fc from "../../../support/properties.js";
import { testConfig } from "../../asking.js";

const provider = { id: "a", dialect: "chat", base_url: "http://127.0.0.1:1/v1" };

test("the list of models has the prices of the cheapest endpoint of the default tier", () => {
  const pricing = (prompt: string, completion: string) => ({ provider: "a", pricing: { prompt, completion } });
  const catalog = new Catalog(
    testConfig({
      providers: [provider],
      models: [
        {
          id: "a/x",
          name: "X",
          context_length: 8_000,
          max_output_tokens: 500,
          input_modalities: ["text", "image"],
          endpoints: [
            { ...pricing("10.00", "20"), supported_parameters: ["tools", "temperature"] },
            { ...pricing("2.50", "30.125"), supported_parameters: ["tools", "reasoning"] },
            { ...pricing("2.5", "31"), provider: "a" },
            { ...pricing("1", "2"), tier: "flex" },
          ],
        },
        { id: "a/y", endpoints: [{ provider: "a" }] },
        { id: "a/z", endpoints: [{ provider: "a" }, { ...pricing("1", "2"), tier: "flex" }] },
      ],
    }),
  );
  expect(listModels(catalog)).toMatchObject([
    {
      id: "a/x",
      name: "X",
      contextLength: 8_000,
      maxOutputTokens: 500,
      inputModalities: ["text", "image"],
      outputModalities: ["text"],
      supportedParameters: ["tools", "temperature", "reasoning"],
      promptPrice: "0.0000025",
      completionPrice: "0.000030125",
    },
    {
      id: "a/y",
      name: "a/y",
      contextLength: 128_000,
      inputModalities: ["text"],
      outputModalities: ["text"],
      supportedParameters: [],
      promptPrice: "",
      completionPrice: "",
    },
    { id: "a/z", promptPrice: "0.000001", completionPrice: "0.000002" },
  ]);
});

test.each([
  ["0", "0"],
  ["0.25", "0.00000025"],
  ["2.00", "0.000002"],
  ["1000000", "1"],
  ["1234567.000000000001", "1.234567000000000001"],
  ["0.000000000001", "0.000000000000000001"],
])("a price of %s a million tokens is %s a token", (price, expected) => {
  expect(toPricePerToken(price)).toBe(expected);
});

test("a price per token times a million is the price per million", () => {
  fc.assert(
    fc.property(fc.bigInt(0n, 10n ** 20n), fc.integer({ min: 0, max: 12 }), (digits, decimals) => {
      const text = digits.toString().padStart(decimals + 1, "0");
      const price = decimals === 0 ? text : `${text.slice(0, -decimals)}.${text.slice(-decimals)}`;
      const [whole = "", fraction = ""] = toPricePerToken(price).split(".");
      expect(BigInt(whole + fraction.padEnd(18, "0"))).toBe(digits * 10n ** BigInt(12 - decimals));
    }),
  );
});
