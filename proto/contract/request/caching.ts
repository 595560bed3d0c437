/** Cache marks of a request: a provider may cache its prompt up to each mark. */
import { described, named, nullable, object, string, word } from "../../lib/validation/shape.ts";

export const cacheControl = named(
  "CacheControl",
  object(
    {
      type: word("ephemeral"),
      ttl: described(word("5m", "1h"), "How long the cache is to live; 5m when absent."),
    },
    { required: ["type"], description: "A place up to which the provider may cache." },
  ),
);

const cacheBreakpoint = named(
  "PromptCacheBreakpoint",
  object({ mode: word("explicit") }, { required: ["mode"], description: "An explicit breakpoint of the cache." }),
);

export const promptCacheOptions = named(
  "PromptCacheOptions",
  object(
    {
      mode: described(word("explicit"), "Only blocks with a `prompt_cache_breakpoint` count."),
      ttl: described(nullable(string()), 'How long the cache is to live, such as "30m".'),
    },
    { required: ["mode"], description: "How the provider caches; ignored by providers without such an option." },
  ),
);

/** Cache marks, valid on any content part. */
export const cacheMarks = {
  cache_control: nullable(cacheControl),
  prompt_cache_breakpoint: nullable(cacheBreakpoint),
} as const;
