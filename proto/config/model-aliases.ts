/** `model_aliases`: further names under which clients can request models. */
import { z } from "zod";
import { slug } from "./scalars.ts";

export const modelAliases = z
  .array(
    z.strictObject({
      match: z
        .string()
        .min(1)
        .max(256)
        .describe("Name, or a pattern in which an asterisk stands for any characters, such as claude-*."),
      model: slug.describe(
        "Slug of the model that serves, maybe with a variant; one of service/auto and the other routers is possible. While no provider that is set up serves the model, the alias is passed over.",
      ),
      workspace: z
        .uuid()
        .optional()
        .describe(
          "Id of the workspace whose keys alone may use the name, as `admin workspaces list` shows it; every workspace when absent.",
        ),
    }),
  )
  .max(1_024)
  .default([])
  .describe(
    "Models for names that are no slugs; the first match wins, also over the vendors' own names, which otherwise need no alias.",
  );

type Aliases = z.infer<typeof modelAliases>;

/** Slugs of the routers, which aliases may target although they are no models of the catalogue. */
const routers: ReadonlySet<string> = new Set(
  ["auto", "auto-beta", "pareto-code", "switchyard", "jev-router", "fusion"].map((name) => `service/${name}`),
);

/**
 * Selects the aliases whose model is served.
 * @param served slugs of the served models
 * @param unserved slugs of models whose providers are not set up; their aliases are skipped
 * @param problems receives a problem for each alias of an unknown model
 */
export function servedAliases(
  aliases: Aliases,
  served: ReadonlySet<string>,
  unserved: ReadonlySet<string>,
  problems: string[],
): Aliases {
  return aliases.filter(({ model }, index) => {
    const base = model.replace(/:(nitro|floor|exacto|online)$/, "");
    if (served.has(model) || served.has(base) || routers.has(base)) return true;
    if (!unserved.has(base)) problems.push(`model_aliases.${index}.model: no model is called ${model}`);
    return false;
  });
}
