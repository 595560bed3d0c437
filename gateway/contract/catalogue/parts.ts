/** Fields common to models and endpoints. */
import { array, described, integer, named, nullable, object, string } from "@sluice/proto/lib/validation/shape.js";

const decimal = string({ pattern: { form: /^(-1|\d+(\.\d+)?)$/, message: "must be a decimal number" } });

const rates = {
  prompt: described(decimal, "Price of an input token."),
  completion: described(decimal, "Price of an output token."),
  input_cache_read: described(decimal, "Price of an input token read from a cache."),
  input_cache_write: described(decimal, "Price of an input token written to a cache."),
  input_cache_write_1h: described(decimal, "Price of an input token written to a cache for an hour."),
};

const override = object(
  { min_prompt_tokens: described(integer({ min: 1 }), "The input has more tokens than these."), ...rates },
  { required: ["min_prompt_tokens", "prompt", "completion"] },
);

export const pricing = named(
  "Pricing",
  object(
    {
      ...rates,
      request: described(decimal, "Price of a request."),
      image: described(decimal, "Price of an image in the request."),
      image_output: described(decimal, "Price of an image in the answer."),
      page: described(decimal, "Price of a page that the provider reads of a file."),
      audio: described(decimal, "Price of a unit of audio."),
      web_search: described(decimal, "Price of a search that the provider runs."),
      overrides: described(
        array(override),
        "Prices of requests with a long input, of the whole request; the last one counts whose bound it passes.",
      ),
    },
    {
      required: ["prompt", "completion"],
      description: "US dollars as decimal text; `prompt` and `completion` are -1 when no price is known.",
    },
  ),
);

export const architecture = named(
  "Architecture",
  object(
    {
      input_modalities: described(array(string()), "What it reads: text, image, file, audio, video."),
      output_modalities: described(array(string()), "What it produces."),
      modality: described(nullable(string()), "Both in one word, such as `text+image->text`."),
      tokenizer: described(nullable(string()), "Family of its tokenizer; `Other` when it is not known."),
      instruct_type: nullable(string()),
    },
    { required: ["input_modalities", "output_modalities", "modality", "tokenizer", "instruct_type"] },
  ),
);

export const supportedParameters = described(
  array(string()),
  "Settings that are sent: those that the endpoints are declared to know, all when nothing is declared.",
);
